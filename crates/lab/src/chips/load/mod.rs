//! `corelace chips load`: how a chip's network bears a load, as the fast model has it and with finite buffers in its routers.
//!
//! Runs on the machine of `sim` alone: no ranks, no messages.

mod curve;
mod text;
mod traffic;

use std::io::IsTerminal;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use clap::Args;
use sim::Chip;
use sim::chip::Buffers;

use crate::lab::{bar, in_parallel};
use curve::{Experiment, Point, Quiet};
use traffic::{Pattern, Traffic};

/// Loads that are tried, in steps of the bound.
const STEPS: u32 = 20;

/// Packets that the routers' buffers have room for where nobody says.
const BUFFERED_PACKETS: u32 = 2;

/// Two latencies agree if they differ by this share of the one with buffers at most.
const AGREEMENT: f64 = 0.1;

/// What `corelace chips load` takes.
#[derive(Args)]
pub struct LoadArgs {
    /// A name from the list, or a file of your own
    #[arg(value_name = "NAME|FILE.toml")]
    chip: String,
    /// Who sends to whom
    #[arg(long, value_enum, default_value = "uniform")]
    traffic: Traffic,
    /// Payload of each packet in bytes (default: the largest of the chip)
    #[arg(long, value_name = "N")]
    bytes: Option<u16>,
    /// Flits that each channel of a link has room for (default: as the chip says, or two of the largest packets)
    #[arg(long, value_name = "FLITS")]
    buffers: Option<u32>,
    /// Channels of a link (default: as the chip says, or the least that cannot stand still)
    #[arg(long, value_name = "N")]
    channels: Option<u8>,
    /// Packets that are measured at each load
    #[arg(long, value_name = "N", default_value_t = 40_000, value_parser = clap::value_parser!(u32).range(100..))]
    packets: u32,
    /// Print everything as JSON
    #[arg(long)]
    json: bool,
    /// Write the curves to this file, as SVG
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,
}

/// What was found.
struct Found {
    chip: String,
    traffic: String,
    bytes: u16,
    flits: u32,
    senders: usize,
    buffers: Buffers,
    quiet: Quiet,
    rows: Vec<Row>,
}

/// A load, on routers that are never full and on such with finite buffers.
struct Row {
    load: f64,
    fast: Point,
    buffered: Point,
}

/// Measures and prints.
pub fn main(args: &LoadArgs) -> Result<u8, String> {
    let chip = Chip::find(&args.chip).map_err(|error| error.to_string())?;
    let found = measure(args, &chip)?;
    if let Some(file) = &args.plot {
        std::fs::write(file, text::plot(&found))
            .map_err(|error| format!("--plot {}: {error}", file.display()))?;
    }
    cli::say(&if args.json { text::json(&found) } else { text::table(&found) })?;
    Ok(0)
}

fn measure(args: &LoadArgs, chip: &Chip) -> Result<Found, String> {
    let network = &chip.network;
    let bytes = args.bytes.unwrap_or(network.packet_payload);
    if bytes == 0 || bytes > network.packet_payload {
        return Err(format!("--bytes is {bytes}, expected 1 to {} (one packet)", network.packet_payload));
    }
    let described = network.buffers;
    let flits = args.buffers.or(described.map(|buffers| buffers.flits));
    let channels = args.channels.or(described.map(|buffers| buffers.channels));
    let buffers = Buffers {
        flits: flits.unwrap_or(BUFFERED_PACKETS * network.packet_flits()),
        channels: channels.unwrap_or(network.channels_min()),
    };
    let (mut fast, mut buffered) = (chip.clone(), chip.clone());
    fast.set_buffers(None)?;
    buffered.set_buffers(Some(buffers))?;
    let pattern = Pattern::new(args.traffic, chip)?;
    let experiment = Experiment { pattern: &pattern, bytes, packets: args.packets };
    let quiet = experiment.alone(&fast);
    let loads: Vec<f64> = (1..=STEPS).map(|step| quiet.bound * f64::from(step) / f64::from(STEPS)).collect();
    let trials: Vec<(f64, &Chip)> =
        loads.iter().flat_map(|load| [(*load, &fast), (*load, &buffered)]).collect();
    let done = AtomicUsize::new(0);
    let points = in_parallel(&trials, |(load, chip)| {
        let point = experiment.under(chip, *load);
        show_progress(done.fetch_add(1, Ordering::Relaxed) + 1, trials.len());
        point
    });
    show_progress(0, 0);
    let rows = loads.iter().zip(points.chunks(2));
    let rows = rows.map(|(load, points)| Row { load: *load, fast: points[0], buffered: points[1] });
    Ok(Found {
        chip: chip.name.clone(),
        traffic: traffic::name(args.traffic),
        bytes,
        flits: (u32::from(bytes) + network.data.header_bytes).div_ceil(network.data.flit_bytes),
        senders: pattern.senders().len(),
        buffers,
        quiet,
        rows: rows.collect(),
    })
}

/// A line on a terminal that is taken away when nothing is expected.
fn show_progress(done: usize, expected: usize) {
    if std::io::stderr().is_terminal() {
        eprint!("\r\x1b[K{}", bar(done, expected));
    }
}

impl Found {
    /// The highest load up to which both models agree in a latency at every load that was tried.
    fn safe(&self, latency: fn(&Point) -> f64) -> Option<f64> {
        self.rows.iter().take_while(|row| row.agrees(latency)).last().map(|row| row.load)
    }

    /// The load from which on a model is saturated, if it was seen.
    fn saturation(&self, model: fn(&Row) -> &Point) -> Option<f64> {
        let last = self.rows.iter().rposition(|row| !model(row).saturated);
        self.rows.get(last.map_or(0, |last| last + 1)).map(|row| row.load)
    }

    /// The most that landed at any load.
    fn throughput(&self, model: fn(&Row) -> &Point) -> f64 {
        self.rows.iter().map(|row| model(row).accepted).fold(0.0, f64::max)
    }

    /// What the curves mean for users of the fast model.
    fn sentence(&self) -> String {
        let bound = self.quiet.bound;
        let share = |load: f64| format!("{load:.3} ({:.0} % of what the links bound)", 100.0 * load / bound);
        let high = match self.safe(|point| point.high) {
            Some(load) => format!("Its 99th percentile is up to {}.", share(load)),
            None => "Its 99th percentile is not at any.".to_owned(),
        };
        let safe = match self.safe(|point| point.mean) {
            Some(load) => format!(
                "The fast model is safe up to a load of {}: until there its mean latency is within 10 % of that with finite buffers. {high}",
                share(load)
            ),
            None => "The fast model is not safe at any load that was tried: its mean latency is not within 10 % of that with finite buffers.".to_owned(),
        };
        let saturation = match self.saturation(|row| &row.buffered) {
            Some(load) => format!(
                "With finite buffers the network is saturated from {} on and takes {:.3} at most; the fast model takes {:.3}.",
                share(load),
                self.throughput(|row| &row.buffered),
                self.throughput(|row| &row.fast)
            ),
            None => "With finite buffers the network is saturated at no load that was tried.".to_owned(),
        };
        format!("{safe}\n{saturation}\n")
    }
}

impl Row {
    fn agrees(&self, latency: fn(&Point) -> f64) -> bool {
        let Row { fast, buffered, .. } = self;
        let (one, other) = (latency(fast), latency(buffered));
        !fast.saturated && !buffered.saturated && (one - other).abs() <= AGREEMENT * other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(mean: f64, saturated: bool) -> Point {
        Point { offered: 0.1, accepted: 0.1, mean, high: 2.0 * mean, saturated }
    }

    fn found(means: &[(f64, f64, bool)]) -> Found {
        let rows = (1u8..).zip(means).map(|(step, (fast, buffered, saturated))| Row {
            load: f64::from(step) / 10.0,
            fast: point(*fast, false),
            buffered: point(*buffered, *saturated),
        });
        Found {
            chip: "mesh16".into(),
            traffic: "uniform".into(),
            bytes: 400,
            flits: 100,
            senders: 16,
            buffers: Buffers { flits: 200, channels: 1 },
            quiet: Quiet { latency: 100.0, bound: 0.5 },
            rows: rows.collect(),
        }
    }

    #[test]
    fn the_fast_model_is_safe_until_it_differs_for_the_first_time() {
        let found = found(&[
            (100.0, 101.0, false),
            (110.0, 119.0, false),
            (120.0, 140.0, false),
            (130.0, 131.0, false),
        ]);
        assert_eq!(found.safe(|point| point.mean), Some(0.2));
        assert!(
            found
                .sentence()
                .starts_with("The fast model is safe up to a load of 0.200 (40 % of what the links bound)")
        );
    }

    #[test]
    fn a_saturated_network_agrees_with_nothing() {
        let found = found(&[(100.0, 100.0, false), (100.0, 100.0, true)]);
        assert_eq!(
            (found.safe(|point| point.high), found.saturation(|row| &row.buffered)),
            (Some(0.1), Some(0.2))
        );
        assert_eq!(found.saturation(|row| &row.fast), None);
        let sentence = found.sentence();
        assert!(sentence.contains("saturated from 0.200 (40 %"), "{sentence}");
    }

    #[test]
    fn without_any_agreement_the_sentence_says_so() {
        assert!(found(&[(100.0, 200.0, false)]).sentence().contains("not safe at any load"));
    }
}

//! Figures of DCFA-MPI (Si, Ishikawa, Takagi, "Direct MPI Library for Intel Xeon Phi co-processors"): round trips and bandwidths between cards, directions
//! of RDMA writes, the shadow of long messages, a program that only communicates, and a five-point stencil in three modes.
//!
//! They run on the machine under study if it has places of several kinds, otherwise on the cluster of the paper. Bandwidth is, as there, the bytes over half of
//! a round trip.

use sim::Chip;

use super::figure::{Figure, Published};
use super::study::Study;
use crate::chart::{AxisOf, Chart, Scale};
use crate::lab::{Run, Trial};

/// Who communicates, with which software: flags of the launcher.
type Mode = &'static [&'static str];

const DCFA: Mode = &["--ipc", "dcfa"];
/// Without the shadow of long messages.
const DIRECT: Mode = &["--ipc", "dcfa-direct"];
/// With the shadow for all that are not eager.
const SHADOW: Mode = &["--ipc", "dcfa-shadow"];
const INTEL: Mode = &["--ipc", "intel-phi"];
const HOSTS: Mode = &["--on", "host"];
const OFFLOAD: Mode = &["--on", "host,card", "--ipc", "intel-offload"];

/// Sizes of a series.
const SIZES: &str = "4,64,256,1024,4096,8192,16384,65536,262144,1048576,4194304";
const LARGE: f64 = 4_194_304.0;
const MEGA: f64 = 1_048_576.0;

/// Sizes among which the shadow begins to pay.
const AROUND: &str = "1024,2048,4096,6144,8192,12288,16384,32768,65536";

/// Sizes of the program that only communicates.
const EXCHANGED: &str = "4,64,1024,8192,65536,262144,524288,1048576";
const SHORT: f64 = 64.0;

/// Steps of the stencil, also for a quick look: in fewer, what is done once counts.
const STEPS: &str = "100";

/// Nothing is eager, so that ways of longer messages are compared at short sizes, too.
const NOT_EAGER: &[(&str, &str)] = &[("CORELACE_EAGER_MAX", "0")];

/// MHz of the description's clock, which is what `cycles=` counts in.
const MHZ: &str = "1000";

/// All of them.
pub fn figures() -> Vec<Figure> {
    let mut figures: Vec<Figure> = messages().into();
    figures.extend(directions());
    figures.extend(communication());
    figures.extend(registration());
    figures.extend(stencil());
    figures
}

/// The machine that the figures are measured on, given that of the others.
pub fn machine(chip: &str) -> String {
    let has_kinds = Chip::find(chip).is_ok_and(|chip| !chip.kinds.is_empty());
    if has_kinds { chip.to_owned() } else { "xeonphi-ib8".to_owned() }
}

fn number(value: f64, within: f64) -> Published {
    Published::Number { value, within }
}

fn messages() -> [Figure; 7] {
    [
        Figure::new("c.rtt.4", "round trip of 4 bytes, DCFA-MPI", "us", number(15.0, 0.01), |study| {
            Ok(2e6 * half(study, DCFA, "send", 4.0)?)
        }),
        Figure::new("c.rtt.4.intel", "the same, Intel MPI on the card", "us", number(28.0, 0.01), |study| {
            Ok(2e6 * half(study, INTEL, "send", 4.0)?)
        }),
        Figure::new("c.bw.direct", "bandwidth without the shadow", "GB/s", Published::AtMost(1.0), |study| {
            bandwidth(study, DIRECT, LARGE)
        }),
        Figure::new("c.bw.offload", "bandwidth with it", "GB/s", number(2.8, 0.01), |study| {
            bandwidth(study, DCFA, LARGE)
        }),
        Figure::new(
            "c.bw.intel",
            "DCFA-MPI / Intel MPI on the card, 1 MiB",
            "x",
            number(3.0, 0.1),
            |study| Ok(bandwidth(study, DCFA, MEGA)? / bandwidth(study, INTEL, MEGA)?),
        ),
        Figure::new(
            "c.rtt.1m",
            "non-blocking round trip / the hosts', 1 MiB",
            "x",
            number(2.0, 0.1),
            |study| Ok(half(study, DCFA, "isend", MEGA)? / half(study, HOSTS, "isend", MEGA)?),
        ),
        Figure::new(
            "c.offload.start",
            "size from which the shadow pays",
            "bytes",
            Published::Range { low: 4096.0, high: 16384.0, within: 0.0 },
            offload_start,
        ),
    ]
}

fn directions() -> [Figure; 3] {
    let same = || number(1.0, 0.05);
    [
        Figure::new("c.dir.in", "RDMA write, host to card / host to host", "x", same(), |study| {
            Ok(rdma_write(study, "host,card", 3)? / rdma_write(study, "host", 1)?)
        }),
        Figure::new("c.dir.target", "RDMA write, card to host / card to card", "x", same(), |study| {
            Ok(rdma_write(study, "card,host", 3)? / rdma_write(study, "card", 1)?)
        }),
        Figure::new(
            "c.dir.out",
            "RDMA write, host to host / card to card",
            "x",
            Published::AtLeast(4.0),
            |study| Ok(rdma_write(study, "host", 1)? / rdma_write(study, "card", 1)?),
        ),
    ]
}

fn communication() -> [Figure; 4] {
    let (small, large) = ("communication only, offload / DCFA, 64 B", "the same, 1 MiB");
    [
        Figure::new("c.comm.small", small, "x", number(12.0, 0.01), |study| offload_over_dcfa(study, SHORT)),
        Figure::new("c.comm.large", large, "x", number(2.0, 0.15), |study| offload_over_dcfa(study, MEGA)),
        Figure::new("c.comm.plain", "the same without overlap", "x", Published::Nothing, |study| {
            let plain = exchange(study, OFFLOAD, &["--mode", "offload", "--plain"])?;
            Ok(at(&plain, MEGA)? / at(&exchange(study, DCFA, &[])?, MEGA)?)
        }),
        Figure::new(
            "c.comm.shape",
            "greatest step of the ratio to the next size",
            "x",
            Published::AtMost(1.0),
            |study| {
                let ratios = advantages(study)?;
                let steps = ratios.windows(2).map(|pair| pair[1].1 / pair[0].1);
                Ok(steps.fold(0.0, f64::max))
            },
        ),
    ]
}

fn registration() -> [Figure; 2] {
    let words = ["--sizes", "65536"];
    [
        Figure::new(
            "c.mr.reused",
            "registrations of 10 more messages, same buffers",
            "commands",
            Published::Count(0.0),
            move |study| {
                let count = |repeat: &str| {
                    let words = [&words[..], &["--repeat", repeat]].concat();
                    run(study, "commonly", (2, DCFA), &[], &words)?.stat("/registrations")
                };
                Ok(count("20")? - count("10")?)
            },
        ),
        Figure::new(
            "c.mr.fresh",
            "time with new buffers / same buffers, 64 KiB",
            "x",
            Published::Nothing,
            move |study| {
                let time = |more: &[&str]| {
                    let words = [&words[..], &["--repeat", "10"], more].concat();
                    run(study, "commonly", (2, DCFA), &[], &words)?.line()?.number("time")
                };
                Ok(time(&["--fresh"])? / time(&[])?)
            },
        ),
    ]
}

fn stencil() -> [Figure; 5] {
    let over_serial = "stencil, 8 ranks of 56 threads, over serial";
    [
        Figure::new("c.stencil.dcfa", over_serial, "x", number(117.0, 0.01), |study| {
            Ok(seconds(study, DCFA, 1, 1)? / seconds(study, DCFA, 8, 56)?)
        }),
        Figure::new(
            "c.stencil.intel",
            "the same, Intel MPI on the card",
            "x",
            number(113.0, 0.01),
            |study| Ok(seconds(study, DCFA, 1, 1)? / seconds(study, INTEL, 8, 56)?),
        ),
        Figure::new("c.stencil.offload", "the same, offloaded from hosts", "x", number(74.0, 0.1), |study| {
            Ok(seconds(study, DCFA, 1, 1)? / seconds(study, OFFLOAD, 8, 56)?)
        }),
        Figure::new("c.stencil.1", "1 rank of 1 thread, offload / DCFA", "x", number(2.0, 0.15), |study| {
            Ok(seconds(study, OFFLOAD, 1, 1)? / seconds(study, DCFA, 1, 1)?)
        }),
        // The text and the abstract say 4, the speed-ups of the same page 117 / 74 = 1.58.
        Figure::new(
            "c.stencil.best",
            "8 ranks of 56 threads, offload / DCFA",
            "x",
            Published::Nothing,
            |study| Ok(seconds(study, OFFLOAD, 8, 56)? / seconds(study, DCFA, 8, 56)?),
        ),
    ]
}

fn run(
    study: &Study,
    app: &'static str,
    (ranks, mode): (u32, Mode),
    settings: &'static [(&'static str, &'static str)],
    words: &[&str],
) -> Result<Run, String> {
    let run = study.lab.run(&Trial {
        app,
        chip: machine(&study.chip),
        ranks,
        map: "scatter",
        protocol: "auto",
        io: false,
        flags: mode,
        settings,
        arguments: words.iter().chain(&["--mhz", MHZ]).map(|word| (*word).to_owned()).collect(),
    })?;
    match run.lines.iter().find(|line| line.text("check").is_ok_and(|check| check != "passed")) {
        None => Ok(run),
        Some(_) => Err(format!("{app}: its own check has failed")),
    }
}

/// Bytes, and seconds from a send to the end of its receive.
fn series(
    study: &Study,
    mode: Mode,
    send: &str,
    (sizes, settings): (&str, &'static [(&'static str, &'static str)]),
) -> Result<Vec<(f64, f64)>, String> {
    let repeat = if study.quick { "3" } else { "10" };
    let words = ["--send", send, "--sizes", sizes, "--repeat", repeat];
    let run = run(study, "pingpong", (2, mode), settings, &words)?;
    let forth = run.lines.iter().filter(|line| line.text("from") == Ok("0"));
    forth.map(|line| Ok((line.number("bytes")?, line.number("half_time")?))).collect()
}

fn at(series: &[(f64, f64)], bytes: f64) -> Result<f64, String> {
    let found = series.iter().find(|(size, _)| *size == bytes);
    found.map(|(_, value)| *value).ok_or_else(|| format!("no {bytes} bytes in a series"))
}

/// Half of a round trip, in seconds.
fn half(study: &Study, mode: Mode, send: &str, bytes: f64) -> Result<f64, String> {
    at(&series(study, mode, send, (SIZES, &[]))?, bytes)
}

/// In 10^9 bytes a second.
fn bandwidth(study: &Study, mode: Mode, bytes: f64) -> Result<f64, String> {
    Ok(bytes / half(study, mode, "send", bytes)? * 1e-9)
}

/// Where the times with and without the shadow meet, on straight lines between the sizes.
fn offload_start(study: &Study) -> Result<f64, String> {
    let [shadow, direct] = [SHADOW, DIRECT].map(|mode| series(study, mode, "send", (AROUND, NOT_EAGER)));
    let gains: Vec<(f64, f64)> =
        shadow?.iter().zip(direct?).map(|((bytes, with), (_, without))| (*bytes, without - with)).collect();
    let meet = gains.windows(2).find(|pair| pair[0].1 < 0.0 && pair[1].1 >= 0.0);
    let [(low, loss), (high, gain)] = meet.ok_or("the shadow pays at all sizes or at none")? else {
        return Err("two sizes were expected".into());
    };
    Ok(low + (high - low) * loss / (loss - gain))
}

/// 1 MiB from rank 0 on a place of the first kind into memory of another node, in 10^9 bytes a second. With two kinds, rank 3 is on the second node's place of
/// the second.
fn rdma_write(study: &Study, on: &'static str, target: u32) -> Result<f64, String> {
    let mode: Mode = match on {
        "host" => &["--ipc", "dcfa-direct", "--on", "host"],
        "card" => &["--ipc", "dcfa-direct", "--on", "card"],
        "host,card" => &["--ipc", "dcfa-direct", "--on", "host,card"],
        _ => &["--ipc", "dcfa-direct", "--on", "card,host"],
    };
    let ranks = if target == 1 { 2 } else { 4 };
    let target = target.to_string();
    let words = ["--operation", "put", "--sizes", "1048576", "--target", &target];
    let time = run(study, "rma", (ranks, mode), &[], &words)?.line()?.number("time")?;
    Ok(MEGA / time * 1e-9)
}

/// Bytes, and seconds of an iteration of the program that only communicates.
fn exchange(study: &Study, mode: Mode, more: &[&str]) -> Result<Vec<(f64, f64)>, String> {
    let repeat = if study.quick { "4" } else { "20" };
    let words = [&["--sizes", EXCHANGED, "--repeat", repeat], more].concat();
    let run = run(study, "commonly", (if mode == OFFLOAD { 4 } else { 2 }, mode), &[], &words)?;
    run.lines.iter().map(|line| Ok((line.number("bytes")?, line.number("time")?))).collect()
}

/// Bytes, and how many times longer offloading takes.
fn advantages(study: &Study) -> Result<Vec<(f64, f64)>, String> {
    let (offload, dcfa) = (exchange(study, OFFLOAD, &["--mode", "offload"])?, exchange(study, DCFA, &[])?);
    Ok(offload.into_iter().zip(dcfa).map(|((bytes, offload), (_, dcfa))| (bytes, offload / dcfa)).collect())
}

fn offload_over_dcfa(study: &Study, bytes: f64) -> Result<f64, String> {
    at(&advantages(study)?, bytes)
}

/// Seconds of the stencil on so many ranks of so many threads.
fn seconds(study: &Study, mode: Mode, ranks: u32, threads: u32) -> Result<f64, String> {
    let (all, name) = if mode == OFFLOAD { (2 * ranks, "offload") } else { (ranks, "dcfa") };
    let words = ["--steps", STEPS, "--threads", &threads.to_string(), "--mode", name];
    let line_time = |run: Run| run.line()?.number("time");
    run(study, "stencil5", (all, mode), &[], &words).and_then(line_time)
}

/// Bandwidth and communication beside what the paper says of them: names of files, and pictures.
pub fn pictures(study: &Study) -> Result<Vec<(String, String)>, String> {
    let bandwidths = |mode, name: &str| {
        let times = series(study, mode, "send", (SIZES, &[]))?;
        let points = times.into_iter().map(|(bytes, half)| (bytes, bytes / half * 1e-9)).collect();
        Ok((name.to_owned(), points))
    };
    let lines: Result<Vec<_>, String> =
        [(HOSTS, "hosts"), (DCFA, "DCFA-MPI"), (DIRECT, "without shadow"), (INTEL, "Intel MPI, cards")]
            .into_iter()
            .map(|(mode, name)| bandwidths(mode, name))
            .collect();
    let mut lines = lines?;
    lines.push(("paper: 2.8 GB/s".to_owned(), vec![(MEGA, 2.8), (LARGE, 2.8)]));
    lines.push(("paper: below 1".to_owned(), vec![(MEGA, 1.0), (LARGE, 1.0)]));
    let bandwidth = Chart {
        title: "Bandwidth between two cards, by half of a round trip",
        x: AxisOf { title: "message size", scale: Scale::Bytes },
        y: AxisOf { title: "GB/s", scale: Scale::Linear },
        lines,
    };
    let exchanged = Chart {
        title: "Communication only: offloading from hosts / DCFA-MPI",
        x: AxisOf { title: "bytes sent and received", scale: Scale::Bytes },
        y: AxisOf { title: "times longer", scale: Scale::Linear },
        lines: vec![
            ("ours".to_owned(), advantages(study)?),
            ("paper: 12 times".to_owned(), vec![(4.0, 12.0), (128.0, 12.0)]),
            ("paper: 2 times".to_owned(), vec![(524_288.0, 2.0), (MEGA, 2.0)]),
        ],
    };
    Ok(vec![
        ("dcfa-bandwidth.svg".to_owned(), bandwidth.svg()),
        ("dcfa-offload.svg".to_owned(), exchanged.svg()),
    ])
}

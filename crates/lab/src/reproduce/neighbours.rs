//! Figures of machines that nothing was fitted to: what section VII of MPPA-MPI quotes of its neighbours, the Intel SCC and the Tilera TILE64.
//!
//! Their descriptions have no calibrated number. They say by which rules they were written, and these were not changed when the figures were seen.

use sim::Chip;

use super::figure::{Figure, Published};
use super::study::Study;
use crate::lab::Trial;

/// Sizes of a ping-pong: the longest is the longest of the paper on the TILE64.
const SIZES: &str = "1024,8192,65536,262144";
const LONGEST: f64 = 262_144.0;

/// A communication software of one of them, by its `--ipc`.
type Software = &'static [&'static str; 2];

const RCCE: Software = &["--ipc", "rcce"];
const IRCCE: Software = &["--ipc", "ircce"];
const UDN: Software = &["--ipc", "udn"];

/// All of them.
pub fn figures() -> Vec<Figure> {
    let peak = |value| Published::Number { value, within: 0.15 };
    let (scc, tile) = ("Intel SCC, largest throughput of RCCE", "TILE64, MPI_Send of 256 KiB");
    vec![
        Figure::new("a.neighbours.rcce", scc, "MB/s", peak(55.0), |study| largest(study, RCCE)),
        Figure::new("a.neighbours.ircce", "the same, iRCCE", "MB/s", peak(150.0), |study| {
            largest(study, IRCCE)
        }),
        Figure::new("a.neighbours.scc-mpich", "the same, an MPI over iRCCE", "MB/s", peak(120.0), |study| {
            largest(study, IRCCE)
        }),
        Figure::new("a.neighbours.gain", "the same, iRCCE / RCCE", "x", peak(150.0 / 55.0), |study| {
            Ok(largest(study, IRCCE)? / largest(study, RCCE)?)
        }),
        Figure::new(TILE, tile, "MB/s", peak(250.0), |study| {
            let series = throughputs(study, UDN)?;
            let longest = series.iter().find(|(bytes, _)| *bytes == LONGEST);
            longest.map(|(_, throughput)| *throughput).ok_or_else(|| "no message of 256 KiB".into())
        }),
    ]
}

/// The only figure of the TILE64.
const TILE: &str = "a.neighbours.tile64";

/// The machines that the figures are measured on, given that of the others.
pub fn machines(chip: &str) -> Result<[Chip; 2], String> {
    let find = |software| Chip::find(&machine(software, chip)).map_err(|error| error.to_string());
    Ok([find(IRCCE)?, find(UDN)?])
}

/// Which of them a figure is measured on; `None`: it is of no neighbour.
pub fn machine_of(figure: &str) -> Option<usize> {
    figure.starts_with("a.neighbours.").then_some(usize::from(figure == TILE))
}

/// The machine that a software runs on: that under study if it has it.
fn machine([_, name]: Software, chip: &str) -> String {
    let has_it = Chip::find(chip).is_ok_and(|chip| chip.ipc(name).is_some());
    match *name {
        _ if has_it => chip.to_owned(),
        "udn" => "tile64".to_owned(),
        _ => "intel-scc".to_owned(),
    }
}

/// The largest throughput of a ping-pong between neighbours, in 10^6 bytes a second.
fn largest(study: &Study, software: Software) -> Result<f64, String> {
    let series = throughputs(study, software)?;
    Ok(series.iter().map(|(_, throughput)| *throughput).fold(0.0, f64::max))
}

/// Bytes of a message, and 10^6 bytes a second from its send to the end of its receive.
fn throughputs(study: &Study, software: Software) -> Result<Vec<(f64, f64)>, String> {
    let run = study.lab.run(&Trial {
        app: "pingpong",
        chip: machine(software, &study.chip),
        ranks: 2,
        map: "scatter",
        protocol: "auto",
        io: false,
        flags: software,
        settings: &[],
        arguments: ["--sizes", SIZES, "--repeat", "3"].map(str::to_owned).into(),
    })?;
    let forth = run.lines.iter().filter(|line| line.text("from") == Ok("0"));
    forth
        .map(|line| {
            let bytes = line.number("bytes")?;
            Ok((bytes, bytes / line.number("half_time")? * 1e-6))
        })
        .collect()
}

//! Figures of MPI/ES (Earth Simulator Center, "Message Passing Interface (MPI)"): four cases by where the two buffers are, one-sided operations, barrier.
//!
//! They run on the machine under study if it has kinds of memory, otherwise on the Earth Simulator. A throughput is that of the longest messages: bytes more
//! over time more, so that it does not depend on how long the longest are.

use sim::Chip;

use super::figure::{Figure, Published};
use super::study::Study;
use crate::lab::{Law, Run, Trial};

/// Where the two processes and their buffers are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Case {
    /// `compact`: on one node; `scatter`: on two.
    map: &'static str,
    memory: &'static str,
}

const CASE_1: Case = Case { map: "compact", memory: "lmem" };
const CASE_2: Case = Case { map: "scatter", memory: "lmem" };
const CASE_3: Case = Case { map: "compact", memory: "gmem" };
const CASE_4: Case = Case { map: "scatter", memory: "gmem" };

/// Sizes of a series: dense where the method changes.
const SIZES: &str = "512,768,896,1000,1024,1032,1152,1280,2048,65536,114688,122880,131064,131072,147456,163840,262144,524288,1048576,2097152,4194304,8388608";
/// From here on messages go by the last method.
const LONG: f64 = 131_072.0;
const LONGEST: f64 = 8_388_608.0;

/// Repetitions after which the begin of a run does not count any more.
const MANY: u32 = 50;

/// All of them.
pub fn figures() -> Vec<Figure> {
    let mut figures: Vec<Figure> = messages().into();
    figures.extend(steps());
    figures.extend(local_memory());
    figures.extend(one_sided());
    figures.extend(barriers());
    figures.extend(copies());
    figures
}

/// The machine that the figures are measured on, given that of the others.
pub fn machine(chip: &str) -> String {
    let has_kinds = Chip::find(chip).is_ok_and(|chip| chip.memory.is_some());
    if has_kinds { chip.to_owned() } else { "earth-simulator".to_owned() }
}

fn number(value: f64) -> Published {
    Published::Number { value, within: 0.01 }
}

fn messages() -> [Figure; 6] {
    let (inside, between) = ("GMEM to GMEM in a node", "GMEM to GMEM between nodes");
    [
        Figure::new("d.case3.bw", inside, "GB/s", number(14.8), |study| throughput(study, CASE_3)),
        Figure::new("d.case3.start", inside, "us", number(1.38), |study| start(study, CASE_3)),
        Figure::new("d.case3.half", "its size at half of the peak", "KiB", number(256.0), |study| {
            half(study, CASE_3)
        }),
        Figure::new("d.case4.bw", between, "GB/s", number(11.8), |study| throughput(study, CASE_4)),
        Figure::new("d.case4.start", between, "us", number(5.58), |study| start(study, CASE_4)),
        Figure::new("d.case4.half", "its size at half of the peak", "KiB", number(512.0), |study| {
            half(study, CASE_4)
        }),
    ]
}

fn steps() -> [Figure; 2] {
    let near = |value| Published::Number { value, within: 0.2 };
    [
        Figure::new("d.steps.short", "first gap between nodes, at", "bytes", near(1024.0), |study| {
            step(study, CASE_4, 512.0..=2048.0)
        }),
        Figure::new("d.steps.long", "second gap between nodes, at", "bytes", near(LONG), |study| {
            step(study, CASE_4, 65_536.0..=262_144.0)
        }),
    ]
}

fn local_memory() -> [Figure; 4] {
    let order = "least of case 3 / 4, 4 / 1, 1 / 2 at 8 MiB";
    [
        Figure::new("d.case1.bw", "LMEM to LMEM in a node", "GB/s", Published::Nothing, |study| {
            throughput(study, CASE_1)
        }),
        Figure::new("d.case2.bw", "LMEM to LMEM between nodes", "GB/s", Published::Nothing, |study| {
            throughput(study, CASE_2)
        }),
        Figure::new("d.order", order, "x", Published::AtLeast(1.0), |study| least_step_down(study, "send")),
        Figure::new("d.order.isend", "the same by MPI_Isend", "x", Published::AtLeast(1.0), |study| {
            least_step_down(study, "isend")
        }),
    ]
}

fn one_sided() -> [Figure; 6] {
    let (put, get, acc) = ("MPI_Put between nodes", "MPI_Get between nodes", "MPI_Accumulate, sum");
    [
        Figure::new("d.put.bw", put, "GB/s", number(11.62), |study| rma(study, "put", LONGEST)),
        Figure::new("d.put.start", put, "us", number(6.68), |study| rma(study, "put", 8.0)),
        Figure::new("d.get.bw", get, "GB/s", number(11.62), |study| rma(study, "get", LONGEST)),
        Figure::new("d.get.start", get, "us", number(6.36), |study| rma(study, "get", 8.0)),
        Figure::new("d.acc.bw", acc, "GB/s", number(3.16), |study| rma(study, "accumulate", LONGEST)),
        Figure::new("d.acc.start", acc, "us", number(7.65), |study| rma(study, "accumulate", 8.0)),
    ]
}

fn barriers() -> [Figure; 4] {
    let micro = || number(3.25);
    [
        Figure::new("d.barrier.2", "barrier of 2 nodes", "us", micro(), |study| barrier(study, 2, "world")),
        Figure::new("d.barrier.64", "barrier of 64 nodes", "us", micro(), |study| {
            barrier(study, 64, "world")
        }),
        Figure::new("d.barrier.512", "barrier of 512 nodes", "us", micro(), |study| {
            barrier(study, 512, "world")
        }),
        Figure::new(
            "d.barrier.messages",
            "by messages, 512 over 2 nodes",
            "x",
            Published::Nothing,
            |study| Ok(barrier(study, 512, "messages")? / barrier(study, 2, "messages")?),
        ),
    ]
}

fn copies() -> impl Iterator<Item = Figure> {
    let cases = [
        ("d.alloc.case1", CASE_1, 2.0),
        ("d.alloc.case2", CASE_2, 3.0),
        ("d.alloc.case3", CASE_3, 1.0),
        ("d.alloc.case4", CASE_4, 1.0),
    ];
    cases.into_iter().map(|(id, case, count)| {
        Figure::new(id, "times that a message is copied", "copies", Published::Count(count), move |study| {
            let repeat = 5;
            let run = ping_pong(study, case, "send", "65536", repeat)?;
            // Two messages an exchange, and one exchange that is not measured.
            Ok(run.stat("/copies")? / f64::from(2 * (repeat + 1)))
        })
    })
}

fn ping_pong(study: &Study, case: Case, send: &str, sizes: &str, repeat: u32) -> Result<Run, String> {
    let words =
        [("--memory", case.memory), ("--send", send), ("--sizes", sizes), ("--repeat", &repeat.to_string())];
    run(study, "pingpong", (2, case.map), &words)
}

fn run(
    study: &Study,
    app: &'static str,
    (ranks, map): (u32, &'static str),
    words: &[(&str, &str)],
) -> Result<Run, String> {
    study.lab.run(&Trial {
        app,
        chip: machine(&study.chip),
        ranks,
        map,
        protocol: "auto",
        io: false,
        flags: &[],
        settings: &[],
        arguments: words.iter().flat_map(|(key, value)| [(*key).to_owned(), (*value).to_owned()]).collect(),
    })
}

/// Bytes, and microseconds from a send to the end of its receive.
fn series(study: &Study, case: Case, send: &str) -> Result<Vec<(f64, f64)>, String> {
    let repeat = if study.quick { 3 } else { 10 };
    let run = ping_pong(study, case, send, SIZES, repeat)?;
    let forth = run.lines.iter().filter(|line| line.text("from") == Ok("0"));
    forth.map(|line| Ok((line.number("bytes")?, line.number("half_time")? * 1e6))).collect()
}

/// The law of long messages.
fn long_law(study: &Study, case: Case) -> Result<Law, String> {
    let long: Vec<(f64, f64)> =
        series(study, case, "send")?.into_iter().filter(|(bytes, _)| *bytes >= LONG).collect();
    Law::through(&long).ok_or_else(|| "too few sizes for a law".into())
}

/// Of long messages, in 10^9 bytes a second.
fn throughput(study: &Study, case: Case) -> Result<f64, String> {
    Ok(1e-3 / long_law(study, case)?.per_byte)
}

/// What a byte takes, in microseconds.
fn start(study: &Study, case: Case) -> Result<f64, String> {
    let run = ping_pong(study, case, "send", "1", MANY)?;
    Ok(run.line()?.number("half_time")? * 1e6)
}

/// Where a long message takes twice as long as its bytes, in KiB.
fn half(study: &Study, case: Case) -> Result<f64, String> {
    let law = long_law(study, case)?;
    Ok(law.per_call / law.per_byte / 1024.0)
}

/// The size of a range before which the time rises most beyond the size.
fn step(study: &Study, case: Case, range: std::ops::RangeInclusive<f64>) -> Result<f64, String> {
    let times = series(study, case, "send")?;
    let rise = |pair: &[(f64, f64)]| pair[1].1 / pair[0].1 * pair[0].0 / pair[1].0;
    let inside = times.windows(2).filter(|pair| range.contains(&pair[0].0) && range.contains(&pair[1].0));
    let steepest = inside.max_by(|a, b| rise(a).total_cmp(&rise(b)));
    steepest.map(|pair| pair[1].0).ok_or_else(|| "too few sizes for a step".into())
}

/// The least ratio between the throughputs of one case and the next, from the one that should be fastest on.
fn least_step_down(study: &Study, send: &str) -> Result<f64, String> {
    let time = |case| {
        let times = series(study, case, send)?;
        let longest = times.iter().find(|(bytes, _)| *bytes == LONGEST);
        longest.map(|(_, time)| *time).ok_or_else(|| "no message of 8 MiB".to_owned())
    };
    let times = [time(CASE_3)?, time(CASE_4)?, time(CASE_1)?, time(CASE_2)?];
    Ok(times.windows(2).map(|pair| pair[1] / pair[0]).fold(f64::INFINITY, f64::min))
}

/// A one-sided operation: its throughput if it is of the longest, otherwise its microseconds.
fn rma(study: &Study, operation: &str, bytes: f64) -> Result<f64, String> {
    let sizes = format!("8,{LONGEST}");
    let words = [("--operation", operation), ("--sizes", sizes.as_str())];
    let run = run(study, "rma", (2, "scatter"), &words)?;
    let line = run.lines.iter().find(|line| line.number("bytes") == Ok(bytes));
    let time = line.ok_or_else(|| format!("no operation of {bytes} bytes"))?.number("time")?;
    Ok(if bytes == LONGEST { bytes / time * 1e-9 } else { time * 1e6 })
}

/// A barrier of one process a node, in microseconds.
fn barrier(study: &Study, nodes: u32, of: &str) -> Result<f64, String> {
    let run = run(study, "barrier", (nodes, "scatter"), &[])?;
    let line = run.lines.iter().find(|line| line.text("of") == Ok(of));
    Ok(line.ok_or_else(|| format!("no barrier of {of}"))?.number("time")? * 1e6)
}

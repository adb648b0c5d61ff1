//! `corelace bench`: micro-benchmarks of this MPI, and of others built from the same C source, in one interleaved run.
//!
//! Machines are shared and noisy, so contestants take turns: one round runs every program with every contestant, and
//! the best of all rounds counts for each. Ratios within one run mean something; figures of different runs do not compare.

mod contestant;
mod figure;
mod instructions;
mod plot;
mod table;

use std::path::PathBuf;

use clap::Args;

use contestant::Contestant;
use figure::Figures;

/// The arguments of `corelace bench`.
#[derive(Args, Debug)]
pub struct BenchArgs {
    /// Installations of other MPIs to compare with (each with bin/mpicc and bin/mpiexec), separated by commas.
    #[arg(long, value_delimiter = ',', value_name = "PREFIX")]
    against: Vec<PathBuf>,
    /// Print the figures as JSON instead of a table.
    #[arg(long)]
    json: bool,
    /// Draw latency by message size into this SVG file.
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,
    /// Rounds; the best of all of them counts.
    #[arg(long, default_value_t = 5, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// A tenth of the repetitions: a look rather than a measurement.
    #[arg(long)]
    quick: bool,
    /// Only figures whose name contains this.
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Show by function what the instructions of a message are.
    #[arg(long)]
    breakdown: bool,
}

/// One program run with a number of ranks.
struct Case {
    source: &'static str,
    text: &'static str,
    ranks: u32,
    /// Figures that it prints, for `--only`.
    prints: &'static [&'static str],
}

const PAIRS: &str = include_str!("../../bench/pairs.c");
const TOGETHER: &str = include_str!("../../bench/together.c");
const WINDOWS: &str = include_str!("../../bench/windows.c");
const FILES: &str = include_str!("../../bench/files.c");
const IDLE: &str = include_str!("../../bench/idle.c");
/// The program that is run with a trace, which only this MPI has.
const TRACED: &str = "traced.c";
const TRACED_TEXT: &str = include_str!("../../bench/traced.c");
/// The program that counts its ranks' instructions, which have to be processes.
const COUNTED: &str = "instructions.c";
const COUNTED_TEXT: &str = include_str!("../../bench/instructions.c");
const COLLECTIVES: &[&str] = &["barrier", "bcast", "allreduce", "allgather", "alltoall"];
const ONE_SIDED: &[&str] = &[
    "rma-put",
    "rma-get",
    "rma-accumulate",
    "rma-fetch-and-op",
    "rma-compare-and-swap",
    "rma-fence",
    "rma-start",
    "rma-lock",
    "rma-message",
];

/// A gigabyte and more in the temporary directory: for those who ask for it by `--only files`.
const ON_REQUEST: &str = "files.c";
const FILE_FIGURES: &[&str] = &[
    "files-dd-write",
    "files-dd-read",
    "files-matrix-write",
    "files-matrix-read",
    "files-segments-write",
    "files-segments-read",
];

const CASES: [Case; 9] = [
    Case { source: "pairs.c", text: PAIRS, ranks: 2, prints: &["latency", "rate", "copy"] },
    Case { source: "together.c", text: TOGETHER, ranks: 2, prints: COLLECTIVES },
    Case { source: "together.c", text: TOGETHER, ranks: 8, prints: COLLECTIVES },
    Case { source: "windows.c", text: WINDOWS, ranks: 2, prints: ONE_SIDED },
    Case { source: ON_REQUEST, text: FILES, ranks: 4, prints: FILE_FIGURES },
    Case { source: "idle.c", text: IDLE, ranks: 8, prints: &["private", "start"] },
    Case { source: "idle.c", text: IDLE, ranks: 64, prints: &["private", "start"] },
    Case { source: TRACED, text: TRACED_TEXT, ranks: 2, prints: &["trace"] },
    Case { source: COUNTED, text: COUNTED_TEXT, ranks: 2, prints: &["instructions"] },
];

/// Runs the benchmark with this installation as the first contestant.
pub fn main(args: &BenchArgs) -> Result<u8, String> {
    let prefix = crate::prefix::locate()?;
    let mut contestants =
        vec![Contestant::ours(prefix.root(), "process"), Contestant::ours(prefix.root(), "fiber")];
    for other in &args.against {
        contestants.push(Contestant::other(other)?);
    }
    let cases: Vec<&Case> = CASES
        .iter()
        .filter(|case| match &args.only {
            Some(text) => case.prints.iter().any(|name| name.contains(text.as_str())),
            None => case.source != ON_REQUEST,
        })
        .collect();
    if cases.is_empty() {
        let known: Vec<&str> = CASES.iter().flat_map(|case| case.prints).copied().collect();
        return Err(format!(
            "--only is \"{}\", expected a part of one of: {}",
            args.only.as_deref().unwrap_or_default(),
            known.join(", ")
        ));
    }
    let workshop = tempfile::tempdir().map_err(|error| format!("no temporary directory: {error}"))?;
    for contestant in &mut contestants {
        for case in &cases {
            if contestant.takes(case.source) {
                contestant.build(workshop.path(), case.source, case.text)?;
            }
        }
    }
    let mut figures = Figures::default();
    let pairs = || cases.iter().flat_map(|case| contestants.iter().map(move |contestant| (case, contestant)));
    let pairs = || pairs().filter(|(case, contestant)| contestant.takes(case.source));
    let turns = args.rounds as usize * pairs().count();
    let mut turn = 0;
    let mut steps = Vec::new();
    for _ in 0..args.rounds {
        for (case, contestant) in pairs() {
            turn += 1;
            progress(turn, turns, contestant.name(), case.source, case.ranks);
            let printed = contestant.run(case.source, case.ranks, args.quick)?;
            figures.add(contestant.name(), case.ranks, printed.samples);
            if case.source == COUNTED && contestant.name() == contestants[0].name() {
                steps = printed.steps;
            }
        }
    }
    clear_progress();
    if let Some(text) = &args.only {
        figures.keep(|name| name.contains(text.as_str()));
    }
    let names: Vec<&str> = contestants.iter().map(Contestant::name).collect();
    crate::say(&if args.json {
        table::json(&figures, &names, args.rounds) + "\n"
    } else {
        table::text(&figures, &names)
    })?;
    if args.breakdown {
        crate::say(&instructions::breakdown(&steps))?;
    }
    if let Some(file) = &args.plot {
        std::fs::write(file, plot::latency(&figures, &names))
            .map_err(|error| format!("--plot {}: {error}", file.display()))?;
    }
    Ok(0)
}

/// A line on a terminal's stderr that the next one overwrites; nothing elsewhere.
fn progress(turn: usize, turns: usize, name: &str, source: &str, ranks: u32) {
    use std::io::{IsTerminal, Write};
    if std::io::stderr().is_terminal() {
        eprint!("\r\x1b[K[{turn}/{turns}] {name}: {source} on {ranks} ranks");
        let _ = std::io::stderr().flush();
    }
}

fn clear_progress() {
    use std::io::IsTerminal;
    if std::io::stderr().is_terminal() {
        eprint!("\r\x1b[K");
    }
}

//! `corelace bench`: micro-benchmarks of this MPI, and of others built from the same C source, in one interleaved run.
//!
//! Machines are shared and noisy, so contestants take turns: one round runs every program with every contestant (`rounds`), and
//! of all rounds the best counts and the interval of the median is shown. Ratios within one run mean something; figures of different runs compare only as far as
//! `baseline` lets them.

mod allowed;
mod baseline;
mod cliffs;
mod contestant;
mod counts;
mod document;
mod figure;
mod instructions;
mod machine;
mod paired;
mod plot;
mod progress;
mod rounds;
mod run;
mod runs;
mod statistics;
mod suite;
mod summary;
mod table;
mod targets;
mod tune;

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use crate::runners::Runners;
use contestant::{Contestant, Installation};
use runs::Runs;

/// The arguments of `corelace bench`.
#[derive(Args, Debug)]
pub struct BenchArgs {
    /// What to measure: p2p, coll, rma, threads, types, start, memory, growth, overlap, pause, instructions, plain, trace, files; everything but files if none is named.
    #[arg(value_name = "SUITE", value_parser = suite::named)]
    suites: Vec<suite::Suite>,
    /// Installations of other MPIs to compare with (each with bin/mpicc and bin/mpiexec), separated by commas.
    #[arg(long, value_delimiter = ',', value_name = "PREFIX")]
    against: Vec<PathBuf>,
    /// How our ranks run: process, thread, fiber, separated by commas.
    #[arg(long, value_delimiter = ',', value_name = "KIND", default_value = "process,fiber", value_parser = ["process", "thread", "fiber"])]
    ranks: Vec<String>,
    /// Rounds; in each every contestant takes its turn.
    #[arg(long, default_value_t = 5, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Runs of the whole comparison, one after the other: the tables are those of the first, and the summary says in how many of them who is ahead in what.
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// A program that takes longer is ended, and not run again with that contestant (default 120); with --tune or --cliffs, the time for all of it (default 900); with --counts, for each number of ranks (default 900).
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    limit: Option<u64>,
    /// Measure on this machine where one way of doing a collective, or of sending a message, becomes quicker than another, and say what a profile gains.
    #[arg(long, conflicts_with_all = ["suites", "against", "ranks", "runs", "breakdown", "check", "json", "baseline", "from", "plot", "document"])]
    tune: bool,
    /// Look for cliffs: allreduce, bcast, allgather and alltoall of 8 bytes to 4 MiB on 2 to 16 ranks that take more than twice the time of a call with hardly less to do.
    #[arg(long, conflicts_with_all = ["tune", "suites", "against", "runs", "breakdown", "check", "json", "baseline", "from", "plot", "document"])]
    cliffs: bool,
    /// Count the cache lines that go from core to core in collectives, and the rounds, as if every rank had a core of its own; no time is measured.
    #[arg(long, conflicts_with_all = ["tune", "cliffs", "suites", "against", "ranks", "runs", "rounds", "quick", "breakdown", "check", "json", "baseline", "from", "plot"])]
    counts: bool,
    /// With --counts: how many ranks, 2 to 64, separated by commas (default 8,16,64).
    #[arg(long, value_delimiter = ',', value_name = "N", requires = "counts", value_parser = clap::value_parser!(u32).range(2..=64))]
    members: Vec<u32>,
    /// With --tune: write the profile into this file, which `mpirun --profile` reads.
    #[arg(long, value_name = "FILE.toml", requires = "tune")]
    output: Option<PathBuf>,
    /// A tenth of the repetitions: a look rather than a measurement.
    #[arg(long)]
    quick: bool,
    /// Only figures whose name contains this.
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Show by function what the instructions of a message are.
    #[arg(long)]
    breakdown: bool,
    /// Exit with 1 if a target is missed, in any of the runs.
    #[arg(long)]
    check: bool,
    /// Print the whole run, or all of them, as JSON instead of a table: machine, date, versions and all samples.
    #[arg(long)]
    json: bool,
    /// Compare with a run of before, or with the samples of several, which `--json` has printed into this file; exit with 1 if a figure of ours is worse by more than the noise.
    #[arg(long, value_name = "FILE.json")]
    baseline: Option<PathBuf>,
    /// Measure nothing: take the runs from these files, separated by commas, which `--json` has printed; they have to be of one comparison.
    #[arg(long, value_delimiter = ',', value_name = "FILE.json", conflicts_with_all = ["suites", "against", "runs", "quick", "only", "breakdown"])]
    from: Vec<PathBuf>,
    /// Draw latency, rate, collectives, growth and pauses into this SVG file.
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,
    /// Write the tables into this document, between the marks that it has for them.
    #[arg(long, value_name = "FILE.md")]
    document: Option<PathBuf>,
}

/// The status when a target is missed or a figure is worse than before.
const MISSED: u8 = 1;

/// Runs the benchmark with this installation as the first contestant.
pub fn main(args: &BenchArgs) -> Result<u8, String> {
    if args.tune {
        return tune::main(&tune::Wish {
            rounds: args.rounds,
            quick: args.quick,
            limit: Duration::from_secs(args.limit.unwrap_or(900)),
            only: args.only.as_deref(),
            output: args.output.as_deref(),
        });
    }
    if args.cliffs {
        return cliffs::main(&cliffs::Wish {
            rounds: args.rounds,
            quick: args.quick,
            limit: Duration::from_secs(args.limit.unwrap_or(900)),
            only: args.only.as_deref(),
            ranks: &args.ranks[0],
        });
    }
    if args.counts {
        return counts::main(&counts::Wish {
            members: &args.members,
            limit: Duration::from_secs(args.limit.unwrap_or(900)),
            only: args.only.as_deref(),
            document: args.document.as_deref(),
        });
    }
    // What is to be compared with is read first: a measurement may take an hour.
    let before = args.baseline.as_ref().map(|file| Runs::read("--baseline", std::slice::from_ref(file)));
    let before = before.transpose()?;
    let Measured { runs, breakdown, interrupted } = match &args.from[..] {
        [] => measured(args)?,
        files => Measured { runs: Runs::read("--from", files)?, breakdown: String::new(), interrupted: None },
    };
    // What reads JSON reads nothing else.
    let remark = |text: &str| match args.json {
        true => {
            eprint!("{text}");
            Ok(())
        }
        false => cli::say(text),
    };
    cli::say(&if args.json { runs.json() } else { table::text(&runs) })?;
    remark(&breakdown)?;
    // Half a run is worth a look, and nothing more.
    if let Some(status) = interrupted {
        return Ok(status);
    }
    if let Some(file) = &args.plot {
        std::fs::write(file, plot::svg(runs.first()))
            .map_err(|error| format!("--plot is \"{}\": {error}", file.display()))?;
    }
    if let Some(file) = &args.document {
        document::write(&runs, file)?;
    }
    let mut is_worse = args.check && summary::misses(&runs);
    if let Some(before) = &before {
        let before = before.pooled();
        let changes = baseline::changes(&before, &runs.pooled());
        remark(&baseline::text(&before, &changes))?;
        is_worse |= changes.iter().any(baseline::Change::is_regression);
    }
    Ok(if is_worse { MISSED } else { 0 })
}

/// What came of measuring.
struct Measured {
    runs: Runs,
    /// The instructions of a message by function, if somebody wants to know.
    breakdown: String,
    /// The status, if somebody has interrupted.
    interrupted: Option<u8>,
}

/// Measures what is asked for.
fn measured(args: &BenchArgs) -> Result<Measured, String> {
    let cases = suite::chosen(&args.suites, args.only.as_deref())?;
    let prefix = cli::prefix::locate()?;
    let mut installations = vec![Installation::ours(prefix.root())];
    let mut contestants: Vec<Contestant> = Vec::new();
    for kind in &args.ranks {
        let contestant = Contestant::ours(0, kind);
        if contestants.iter().all(|known| known.name != contestant.name) {
            contestants.push(contestant);
        }
    }
    for other in &args.against {
        let mut installation = Installation::other(other)?;
        if installations.iter().any(|known| known.is_same(&installation)) {
            return Err(format!(
                "--against has \"{}\" twice, or it is this one, expected others",
                other.display()
            ));
        }
        if installations.iter().any(|known| known.name == installation.name) {
            installation.name = other.display().to_string().replace('/', "-");
        }
        contestants.push(Contestant::other(installations.len(), &installation));
        installations.push(installation);
    }
    let runners = Runners::new()?;
    let mut plan = rounds::Plan {
        cases,
        contestants,
        installations,
        runs: args.runs,
        rounds: args.rounds,
        quick: args.quick,
        limit: Duration::from_secs(args.limit.unwrap_or(120)),
        only: args.only.as_deref(),
    };
    if args.breakdown {
        instructions::asked(&plan)?;
    }
    let workshop = tempfile::tempdir().map_err(|error| format!("no temporary directory: {error}"))?;
    let runs = plan.measure(workshop.path(), &runners)?;
    let interrupted = runners.status_if_interrupted();
    let breakdown = match args.breakdown && interrupted.is_none() {
        true => instructions::breakdown(&plan, &prefix, workshop.path(), &runners)?,
        false => String::new(),
    };
    Ok(Measured { runs, breakdown, interrupted })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(path: &str) -> String {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        std::fs::read_to_string(root.join(path)).unwrap()
    }

    #[test]
    fn help_and_guide_name_every_suite() {
        let help = BenchArgs::augment_args(clap::Command::new("bench")).render_long_help().to_string();
        let guide = document("docs/guide/measuring.md");
        for suite in suite::SUITES {
            assert!(
                help.contains(&format!("{},", suite.name)) || help.contains(&format!("{};", suite.name)),
                "{help}"
            );
            assert!(guide.contains(&format!("\n| `{}` | ", suite.name)), "{}", suite.name);
        }
    }

    #[test]
    fn the_document_of_figures_has_a_place_for_tables() {
        let page = document("docs/performance.md");
        assert!(document::TABLES.are_in(&page) && counts::MARKS.are_in(&page));
    }
}

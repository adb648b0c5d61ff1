//! `corelace sweep`: a program on copies of a chip with other numbers.

mod runs;
mod table;
mod vary;

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use clap::Args;
use sim::Chip;
use sim::chip::Description;

use crate::lab::{Progress, with_workers};
use crate::runners::Runners;
use cli::cache::Cache;
use cli::{compile, count};
use runs::Recipe;
use table::Results;
use vary::Axis;

/// The arguments of `corelace sweep`.
#[derive(Args, Debug)]
pub struct SweepArgs {
    /// The chip: a name or a description.
    #[arg(value_name = "NAME|FILE.toml")]
    chip: String,
    /// A number of the description, by its path or the end of it, and values; `*` for a part of a path means all such numbers, `:` joins numbers that
    /// vary together. Every --vary is combined with every other.
    #[arg(long, required = true, value_name = "KEY=VALUE,…[:KEY=VALUE,…]")]
    vary: Vec<String>,
    /// How many ranks.
    #[arg(short = 'n', long = "np", default_value_t = 1, value_name = "N")]
    ranks: u32,
    /// Which cores ranks get, as of mpirun.
    #[arg(long, value_name = "compact|scatter")]
    map: Option<String>,
    /// How messages travel, as of mpirun.
    #[arg(long, value_name = "PROTOCOL")]
    protocol: Option<String>,
    /// The program of the I/O rank, as of mpirun.
    #[arg(long, value_name = "PROGRAM")]
    io: Option<OsString>,
    /// End a run that takes longer, in seconds of this machine.
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<String>,
    /// Runs at a time (default: the cores of this machine).
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    /// Print everything as JSON.
    #[arg(long)]
    json: bool,
    /// Draw virtual time by the first varied number into this SVG file.
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,
    /// The program, or a C or C++ file, and its arguments.
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "PROGRAM")]
    command: Vec<OsString>,
}

/// Runs all combinations and prints what came out.
pub fn main(args: &SweepArgs) -> Result<u8, String> {
    let description = Description::find(&args.chip).map_err(|error| error.to_string())?;
    let chip = Chip::from_toml(&description.text, &description.origin).map_err(|error| error.to_string())?;
    let axes: Result<Vec<Axis>, String> = args.vary.iter().map(|word| Axis::parse(word, &chip)).collect();
    let axes = axes?;
    let variants = vary::variants(&axes, &chip, &description);
    if let Some(refusal) = variants.first().and_then(|first| first.copy.as_ref().err())
        && variants.iter().all(|variant| variant.copy.is_err())
    {
        return Err(format!("no combination is a chip; the first: {refusal}"));
    }
    let (command, compiled) = command(&args.command, count::is_usual(&chip))?;
    let workshop = tempfile::tempdir().map_err(|error| format!("no temporary directory: {error}"))?;
    let recipe = Recipe { launcher: cli::prefix::locate()?.launcher(), flags: flags(args), command };
    let runners = Runners::new()?;
    let progress = Progress::of(variants.len());
    let numbered: Vec<_> = variants.iter().enumerate().collect();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let outcomes = with_workers(args.jobs.map_or(cores, usize::from), &numbered, |(number, variant)| {
        let outcome = variant.copy.clone().and_then(|text| {
            let file = workshop.path().join(format!("{number}.toml"));
            std::fs::write(&file, text).map_err(|error| format!("{}: {error}", file.display()))?;
            runs::run(&runners, &recipe, &file)
        });
        progress.advance();
        progress.show("");
        outcome
    });
    progress.clear();
    drop(compiled);
    if let Some(status) = runners.status_if_interrupted() {
        return Ok(status);
    }
    let results = Results { chip: &chip.name, axes: &axes, rows: variants.iter().zip(outcomes).collect() };
    cli::say(&if args.json { results.json() } else { results.text() })?;
    if let Some(file) = &args.plot {
        std::fs::write(file, results.picture())
            .map_err(|error| format!("--plot {}: {error}", file.display()))?;
    }
    Ok(0)
}

/// The words that start the program; a source file is compiled once for all runs.
fn command(words: &[OsString], counted: bool) -> Result<(Vec<OsString>, Option<compile::Compiled>), String> {
    let mut words = words.to_vec();
    let source = Path::new(&words[0]);
    let Some(language) = compile::language(source).filter(|_| source.exists()) else {
        return Ok((words, None));
    };
    let settings = compile::Settings { counted, cache: Cache::of_the_user(), ..Default::default() };
    let compiled = compile::compile(language, source, &cli::prefix::locate()?, &settings)?;
    words[0] = compiled.path().into();
    Ok((words, Some(compiled)))
}

fn flags(args: &SweepArgs) -> Vec<OsString> {
    let mut flags: Vec<OsString> = vec!["-n".into(), args.ranks.to_string().into()];
    let mut add = |flag: &str, value: Option<OsString>| {
        if let Some(value) = value {
            flags.extend([flag.into(), value]);
        }
    };
    add("--map", args.map.as_ref().map(Into::into));
    add("--protocol", args.protocol.as_ref().map(Into::into));
    add("--io", args.io.clone());
    add("--timeout", args.timeout.as_ref().map(Into::into));
    flags
}

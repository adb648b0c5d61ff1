//! `cargo xtask soak [files|random] [--minutes M] [--runs N] [--seed S] [--prefix DIR]`: what only
//! time finds.
//!
//! Without a word random traffic of all kinds (`tests/c/soak.c`), on four processes and then on sixty-four fibers: every byte is compared, and memory must
//! not grow. With `files`, random writes and faults ([`files`]). With `random`, random
//! operations against models ([`random`]): N runs of each instead of minutes.

mod files;
mod random;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::install;
use crate::workspace::{self, Outcome};

/// Kinds of ranks, and how many.
const JOBS: [(&str, u32); 2] = [("process", 4), ("fiber", 64)];

/// Runs the command.
pub fn command(arguments: &[&str]) -> Outcome {
    let usage = || {
        "usage: cargo xtask soak [files] [--minutes M] [--seed S] [--prefix DIR], \
         or cargo xtask soak random [--runs N] [--seed S] [--prefix DIR]"
            .to_owned()
    };
    let (kind, arguments) = match arguments {
        [kind @ ("files" | "random"), rest @ ..] => (*kind, rest),
        all => ("traffic", all),
    };
    let (mut minutes, mut runs, mut seed, mut prefix) = (10.0, 100u64, 1u64, None);
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let value = words.next().ok_or_else(usage)?;
        match *word {
            "--minutes" if kind != "random" => minutes = value.parse::<f64>().map_err(|_| usage())?,
            "--runs" if kind == "random" => runs = value.parse().map_err(|_| usage())?,
            "--seed" => seed = value.parse().map_err(|_| usage())?,
            "--prefix" => prefix = Some(PathBuf::from(value)),
            _ => return Err(usage()),
        }
    }
    if !(0.0..1e6).contains(&minutes) {
        return Err(format!("--minutes is {minutes}, expected zero or more"));
    }
    let prefix = install::for_tests(prefix.as_deref())?;
    let room = install::target_directory(&workspace::root()).join("soak");
    fs::create_dir_all(&room).map_err(|error| format!("{}: {error}", room.display()))?;
    if kind == "random" {
        let programs: Outcome<Vec<_>> =
            random::PROGRAMS.iter().map(|name| compiled(name, &prefix, &room)).collect();
        return random::run(runs, seed, &prefix, &room, &programs?);
    }
    if kind == "files" {
        let program = compiled("files_faults", &prefix, &room)?;
        return files::run(minutes, seed, &prefix, &room, &program);
    }
    let program = compiled("soak", &prefix, &room)?;
    for (ranks, number) in JOBS {
        println!("soak: {minutes} minutes on {number} ranks ({ranks}), seed {seed}");
        let mut job = Command::new(prefix.join("bin/mpirun"));
        job.args(["-n", &number.to_string(), "--ranks", ranks]).arg(&program);
        job.args([(minutes * 60.0).to_string(), seed.to_string()]);
        workspace::run(&mut job)?;
    }
    Ok(())
}

/// A program of `tests/c`.
fn compiled(name: &str, prefix: &Path, room: &Path) -> Outcome<PathBuf> {
    let program = room.join(name);
    let mut compile = Command::new(prefix.join("bin/mpicc"));
    compile.args(["-O2", "-o"]).arg(&program);
    compile.arg(workspace::root().join("tests/c").join(name).with_extension("c"));
    workspace::run(&mut compile)?;
    Ok(program)
}

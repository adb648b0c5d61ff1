//! `cargo xtask soak [--minutes M] [--seed S] [--prefix DIR]`: random traffic of all kinds (`tests/c/soak.c`) for a while, on four processes and then on
//! sixty-four fibers: every byte is compared, and memory must not grow.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::install;
use crate::workspace::{self, Outcome};

/// Kinds of ranks, and how many.
const JOBS: [(&str, u32); 2] = [("process", 4), ("fiber", 64)];

/// Runs the command.
pub fn command(arguments: &[&str]) -> Outcome {
    let usage = || "usage: cargo xtask soak [--minutes M] [--seed S] [--prefix DIR]".to_owned();
    let (mut minutes, mut seed, mut prefix) = (10.0, 1u64, None);
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let value = words.next().ok_or_else(usage)?;
        match *word {
            "--minutes" => minutes = value.parse::<f64>().map_err(|_| usage())?,
            "--seed" => seed = value.parse().map_err(|_| usage())?,
            "--prefix" => prefix = Some(PathBuf::from(value)),
            _ => return Err(usage()),
        }
    }
    if !(minutes > 0.0 && minutes < 1e6) {
        return Err(format!("--minutes is {minutes}, expected a number above zero"));
    }
    let root = workspace::root();
    let prefix = install::for_tests(prefix.as_deref())?;
    let room = install::target_directory(&root).join("soak");
    fs::create_dir_all(&room).map_err(|error| format!("{}: {error}", room.display()))?;
    let program = room.join("soak");
    let mut compile = Command::new(prefix.join("bin/mpicc"));
    compile.args(["-O2", "-o"]).arg(&program).arg(root.join("tests/c/soak.c"));
    workspace::run(&mut compile)?;
    for (ranks, number) in JOBS {
        println!("soak: {minutes} minutes on {number} ranks ({ranks}), seed {seed}");
        let mut job = Command::new(prefix.join("bin/mpirun"));
        job.args(["-n", &number.to_string(), "--ranks", ranks]).arg(&program);
        job.args([(minutes * 60.0).to_string(), seed.to_string()]);
        workspace::run(&mut job)?;
    }
    Ok(())
}

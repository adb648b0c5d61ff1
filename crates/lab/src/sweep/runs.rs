//! A run of a sweep, and why it failed.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::runners::Runners;

/// What a run came to: the launcher's account of it, or why there is none.
pub type Outcome = Result<Value, String>;

/// How every run is started.
pub struct Recipe {
    /// The launcher.
    pub launcher: PathBuf,
    /// Its flags besides the chip.
    pub flags: Vec<OsString>,
    /// The program and its words.
    pub command: Vec<OsString>,
}

/// Runs a program on a chip.
pub fn run(runners: &Runners, recipe: &Recipe, chip: &Path) -> Outcome {
    let mut command = Command::new(&recipe.launcher);
    command
        .args(["run", "--stats=json", "--chip"])
        .arg(chip)
        .args(&recipe.flags)
        .arg("--")
        .args(&recipe.command);
    let output = runners.output(command.stdout(Stdio::null()))?;
    let said = String::from_utf8_lossy(&output.stderr);
    let account = said.lines().rev().find_map(|line| serde_json::from_str(line).ok());
    match account.filter(|_| output.status.success()) {
        Some(account) => Ok(account),
        None => Err(reason(&said, output.status.code())),
    }
}

/// Why a run failed, in a line: memory that did not suffice, or the first thing that the launcher said.
fn reason(said: &str, status: Option<i32>) -> String {
    let own = |line: &str| {
        ["corelace: ", "mpirun: "].iter().find_map(|name| line.strip_prefix(name).map(str::to_owned))
    };
    let lines = || said.lines().filter_map(own);
    if let Some(line) = lines().find(|line| line.contains("do not fit")) {
        let short = line.split(" (").next().unwrap_or(&line);
        return format!("does not fit: {}", short.trim_end_matches("; malloc returns NULL"));
    }
    let ended = status.map_or("the launcher was killed".into(), |status| format!("status {status}"));
    let said =
        lines().next().or_else(|| said.lines().find(|line| !line.trim().is_empty()).map(str::to_owned));
    said.map_or(ended.clone(), |line| format!("{ended}: {line}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_does_not_suffice_is_told_before_what_follows_from_it() {
        let said = "out of memory\ncorelace: rank 3: 2000 bytes for heap do not fit: 9 of 10 bytes are in use (9 by stack); malloc returns NULL\n\
                    corelace: rank 3 exited with status 1\n";
        assert_eq!(
            reason(said, Some(1)),
            "does not fit: rank 3: 2000 bytes for heap do not fit: 9 of 10 bytes are in use"
        );
    }

    #[test]
    fn other_failures_are_told_in_the_launchers_words_or_by_the_status() {
        assert_eq!(
            reason("corelace: rank 0 was killed by SIGSEGV\n", Some(139)),
            "status 139: rank 0 was killed by SIGSEGV"
        );
        assert_eq!(reason("usage: prog\n", Some(2)), "status 2: usage: prog");
        assert_eq!(reason("", Some(7)), "status 7");
        assert_eq!(reason("", None), "the launcher was killed");
    }
}

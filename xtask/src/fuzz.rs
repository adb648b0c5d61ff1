//! `cargo xtask fuzz`: what comes from outside of a process, fed with its corpus and with mutations of it (see `fuzz/`).

use crate::test;
use crate::workspace::{self, Outcome};

/// Runs the command; the words are those of the binary in `fuzz/`.
pub fn command(words: &[&str]) -> Outcome {
    let mut cargo = test::cargo();
    cargo.current_dir(workspace::root());
    cargo.args(["run", "--quiet", "-p", "corelace-fuzz", "--"]).args(words);
    match cargo.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{status}: {cargo:?}")),
        Err(error) => Err(format!("cannot start {cargo:?}: {error}")),
    }
}

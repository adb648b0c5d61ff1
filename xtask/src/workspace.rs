//! Where things are in the working tree, and the tools of [`assemble::files`].

use std::path::{Path, PathBuf};
use std::process::Command;

pub use assemble::files::{Outcome, beside, read, replace, run};

/// The root of the workspace: the directory above this package.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace").to_path_buf()
}

/// The commit that is checked out, and whether something is changed since; `unknown` without git.
pub fn commit() -> String {
    said("git", &["describe", "--always", "--dirty", "--abbrev=8", "--exclude", "*"])
}

/// The day, as 2026-01-31.
pub fn today() -> String {
    said("date", &["+%Y-%m-%d"])
}

fn said(program: &str, words: &[&str]) -> String {
    let output = Command::new(program).args(words).current_dir(root()).output();
    let output = output.ok().filter(|output| output.status.success());
    output.map_or("unknown".into(), |output| String::from_utf8_lossy(&output.stdout).trim().into())
}

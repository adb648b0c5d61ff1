//! `cargo xtask test [FILTER]`: every test, from units to launched jobs, and one line at the end
//! that says how many passed.
//!
//! The installation under test is a quick one; what only the release build has is tested by
//! `cargo xtask size` and by the smoke tests of `cargo xtask nightly`. Tests run in the dev profile.
//! Several test programs run side by side; those tests that measure time or fill the machine
//! stand in modules named `alone` and run afterwards, one by one.

mod cargo;
mod programs;
mod schedule;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

pub use cargo::{cargo, cargo_in, of, of_modules};
use programs::Program;
use schedule::Tally;

use crate::install::{self, Build};
use crate::workspace::{self, Outcome};

/// What to run.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Only tests of these packages; all if there are none.
    pub packages: Vec<String>,
    /// Only tests whose name contains one of these; all if there are none.
    pub filters: Vec<String>,
    /// Without the tests of documentation.
    pub without_documentation: bool,
}

/// Runs the command.
pub fn command(arguments: &[&str]) -> Outcome {
    let filters = match arguments {
        [] => vec![],
        [filter] if !filter.starts_with('-') => vec![(*filter).to_owned()],
        _ => return Err("usage: cargo xtask test [FILTER]".to_owned()),
    };
    need("cc", "a C compiler (on Debian: apt-get install gcc)")?;
    need("c++", "a C++ compiler (on Debian: apt-get install g++)")?;
    need("python3", "Python 3 with venv (on Debian: apt-get install python3-venv python3-dev)")?;
    run(&Selection { filters, ..Selection::default() })
}

/// The installation that tests use.
fn prefix() -> PathBuf {
    install::target_directory(&workspace::root()).join("test-prefix")
}

/// Builds and runs the selected tests, with a quick installation that is made for them.
pub fn run(selection: &Selection) -> Outcome {
    let began = Instant::now();
    let prefix = prefix();
    // Both builds end with steps that occupy one core, so they run side by side.
    let (installed, programs) = std::thread::scope(|scope| {
        let installed = scope.spawn(|| install::install(&prefix, Build::Quick));
        let programs = programs::build(&selection.packages);
        (installed.join().expect("the installing thread does not panic"), programs)
    });
    installed?;
    judge(&programs?, selection, Some(&prefix), began)
}

/// The same with an installation that is there.
pub fn run_with(selection: &Selection, prefix: &Path) -> Outcome {
    let began = Instant::now();
    judge(&programs::build(&selection.packages)?, selection, Some(prefix), began)
}

/// The same without one: tests that launch jobs make their own.
pub fn run_alone(selection: &Selection) -> Outcome {
    let began = Instant::now();
    judge(&programs::build(&selection.packages)?, selection, None, began)
}

fn judge(programs: &[Program], selection: &Selection, prefix: Option<&Path>, began: Instant) -> Outcome {
    println!("xtask: built {} test programs in {}", programs.len(), seconds(began));
    let began = Instant::now();
    let tally = schedule::run(programs, selection, prefix)?;
    println!("xtask: tested in {}", seconds(began));
    println!("{} passed, {} failed", tally.passed, tally.failed);
    match tally {
        Tally { failed: 1.., .. } => Err("some tests failed".to_owned()),
        Tally { passed: 0, .. } if !selection.filters.is_empty() => {
            Err(format!("no test matches {}", selection.filters.join(" ")))
        }
        _ => Ok(()),
    }
}

/// Time since then, as people read it.
pub fn seconds(began: Instant) -> String {
    format!("{:.0} s", began.elapsed().as_secs_f64())
}

fn need(program: &str, what: &str) -> Outcome {
    let found = Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    match found {
        Ok(status) if status.success() => Ok(()),
        _ => Err(format!("the tests need {what}: `{program}` was not found or does not work")),
    }
}

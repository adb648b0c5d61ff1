//! `cargo xtask test [FILTER]`: every test, from units to launched jobs, and one line at the end that says how many passed.
//!
//! The prefix is built once, as users get it (release); the tests run in the dev profile, whose builds are quick. The closing
//! line is the sum over all test binaries and documentation tests.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::install;
use crate::workspace::{self, Outcome};

/// Runs the command.
pub fn command(arguments: &[&str]) -> Outcome {
    let filter = match arguments {
        [] => None,
        [filter] if !filter.starts_with('-') => Some(*filter),
        _ => return Err("usage: cargo xtask test [FILTER]".to_owned()),
    };
    need("cc", "a C compiler (on Debian: apt-get install gcc)")?;
    need("c++", "a C++ compiler (on Debian: apt-get install g++)")?;
    need("python3", "Python 3 with venv (on Debian: apt-get install python3-venv python3-dev)")?;

    let root = workspace::root();
    let prefix = install::target_directory(&root).join("test-prefix");
    say("building and installing into", &prefix.display().to_string());
    let began = Instant::now();
    install::command(&["--prefix", &prefix.display().to_string()])?;
    say("installed in", &seconds(began));

    let began = Instant::now();
    let mut cargo = cargo();
    cargo.current_dir(&root).args(["test", "--workspace", "--no-fail-fast"]).args(filter);
    cargo.env("CORELACE_TEST_PREFIX", &prefix).stdout(Stdio::piped());
    say("running", "cargo test --workspace");
    let (tally, success) = counted(cargo)?;
    say("tested in", &seconds(began));
    println!("{} passed, {} failed", tally.passed, tally.failed);
    match tally {
        Tally { failed: 1.., .. } => Err("some tests failed".to_owned()),
        _ if !success => Err("the tests could not be built or run: see above".to_owned()),
        Tally { passed: 0, .. } => Err(format!("no test matches {}", filter.unwrap_or("anything"))),
        _ => Ok(()),
    }
}

/// The cargo that runs this.
pub fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Cargo with a build directory of this name, for other flags than usual.
pub fn cargo_in(directory: &str) -> Command {
    let mut cargo = cargo();
    cargo.env("CARGO_TARGET_DIR", install::target_directory(&workspace::root()).join(directory));
    cargo
}

/// Time since then, as people read it.
pub fn seconds(began: Instant) -> String {
    format!("{:.0} s", began.elapsed().as_secs_f64())
}

fn say(what: &str, detail: &str) {
    println!("xtask: {what} {detail}");
}

/// How many tests ended how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Tally {
    passed: u64,
    failed: u64,
}

/// Passes the output on while counting; whether the command succeeded.
fn counted(mut command: Command) -> Outcome<(Tally, bool)> {
    let fail = |error: std::io::Error| format!("cannot run the tests: {error}");
    let mut child = command.spawn().map_err(fail)?;
    let mut tally = Tally::default();
    let mut output = BufReader::new(child.stdout.take().expect("piped"));
    let mut line = Vec::new();
    while output.read_until(b'\n', &mut line).map_err(fail)? > 0 {
        let text = String::from_utf8_lossy(&line);
        print!("{text}");
        if let Some(result) = result(&text) {
            tally.passed += result.passed;
            tally.failed += result.failed;
        }
        line.clear();
    }
    Ok((tally, child.wait().map_err(fail)?.success()))
}

/// The numbers of a line `test result: ok. 3 passed; 0 failed; …`.
fn result(line: &str) -> Option<Tally> {
    let numbers = line.strip_prefix("test result: ")?.split_once(". ")?.1;
    let number = |name: &str| {
        numbers.split("; ").find_map(|part| part.trim().strip_suffix(name)?.trim().parse::<u64>().ok())
    };
    Some(Tally { passed: number("passed")?, failed: number("failed")? })
}

fn need(program: &str, what: &str) -> Outcome {
    let found = Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    match found {
        Ok(status) if status.success() => Ok(()),
        _ => Err(format!("the tests need {what}: `{program}` was not found or does not work")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_results_of_a_test_binary_are_read() {
        let line = "test result: FAILED. 14 passed; 2 failed; 1 ignored; 0 measured; 36 filtered out; finished in 1.34s\n";
        assert_eq!(result(line), Some(Tally { passed: 14, failed: 2 }));
        assert_eq!(result("test result: ok. 0 passed; 0 failed; 0 ignored\n"), Some(Tally::default()));
        assert_eq!(result("test resulting ... ok\n"), None);
    }
}

//! `cargo xtask ci`: what has to pass before a change lands, cheapest first, each step timed.
//!
//! The last steps look once more at what the tests have run, under models and sanitizers. With `--within MINUTES` none of these is begun after that
//! time, and those left out are named: a machine that others slow down to half of its speed is no reason for red.
//!
//! Steps that compile with other flags have build directories of their own, so that they do not throw away each other's work.

use std::process::Command;
use std::time::{Duration, Instant};

use crate::workspace::{self, Outcome};
use crate::{chaos, conformance, fuzz, r#gen, sanitize, size, soak, test};

/// One step by its name.
type Step = (&'static str, fn() -> Outcome);

/// What has to pass.
const NEEDED: [Step; 9] = [
    ("format", || run(test::cargo().args(["fmt", "--all", "--check"]))),
    ("generated files", || r#gen::command(&["--check"])),
    ("clippy", || {
        let deny = ["--", "-D", "warnings"];
        run(test::cargo().args(["clippy", "--workspace", "--all-targets", "--quiet"]).args(deny))
    }),
    ("tests", || test::command(&[])),
    ("boards of a release", || {
        // A build that checks itself has fewer notes.
        let mut cargo = test::cargo_in("unchecked");
        cargo.env("CARGO_PROFILE_DEV_DEBUG_ASSERTIONS", "false");
        run(cargo.args(["test", "--quiet", "-p", "corelace-engine", "--test", "boards"]))
    }),
    ("sizes", || size::command(&[])),
    ("conformance", || conformance::command(&["--fast"])),
    ("jobs with faults", || {
        chaos::command(&["--jobs", "60"])?;
        soak::command(&["files", "--minutes", "0.15"])
    }),
    ("fibers of other processors", || {
        let features = ["--features", "portable-switch"];
        run(test::cargo().args(["test", "--quiet", "-p", "corelace-fabric-local"]).args(features))
    }),
];

/// What looks at the same once more.
const IN_TIME: [Step; 4] = [
    ("loom models of rings, sleepers, crews and windows", loom),
    ("address sanitizer", sanitize::address),
    ("fuzz targets", || fuzz::command(&["--seconds", "4"])),
    ("thread sanitizer", sanitize::thread),
];

const USAGE: &str = "usage: cargo xtask ci [STEP…] [--within MINUTES]";

/// Runs the command.
///
/// With words, only the steps whose name holds one of them.
pub fn command(arguments: &[&str]) -> Outcome {
    let (words, within) = asked(arguments)?;
    let steps = || NEEDED.iter().chain(&IN_TIME);
    if let Some(word) = words.iter().find(|word| !steps().any(|(name, _)| name.contains(**word))) {
        let names: Vec<_> = steps().map(|(name, _)| *name).collect();
        return Err(format!("no step is called \"{word}\", expected part of one of: {}", names.join(", ")));
    }
    let began = Instant::now();
    let (mut times, mut left_out) = (Vec::new(), Vec::new());
    for (index, (name, step)) in steps().enumerate() {
        if !words.is_empty() && !words.iter().any(|word| name.contains(word)) {
            continue;
        }
        if index >= NEEDED.len() && within.is_some_and(|within| began.elapsed() > within) {
            left_out.push(*name);
            continue;
        }
        println!("ci: {name}");
        let started = Instant::now();
        step().map_err(|error| format!("{name}: {error}"))?;
        times.push(format!("{:>8}  {name}", test::seconds(started)));
    }
    println!("{}\n{:>8}  all: passed", times.join("\n"), test::seconds(began));
    if !left_out.is_empty() {
        println!(
            "left out, since the time was up: {} (`cargo xtask ci STEP` runs them)",
            left_out.join(", ")
        );
    }
    Ok(())
}

/// The words, and the time after which nothing more is begun that looks at the same once more.
fn asked<'a>(arguments: &[&'a str]) -> Outcome<(Vec<&'a str>, Option<Duration>)> {
    let (mut words, mut within) = (Vec::new(), None);
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        match *argument {
            "--within" => {
                let given = arguments.next().ok_or(USAGE)?;
                let minutes = given.parse::<u32>().map_err(|_| {
                    format!("--within is \"{given}\", expected a whole number of minutes\n{USAGE}")
                })?;
                within = Some(Duration::from_secs(60) * minutes);
            }
            option if option.starts_with('-') => {
                return Err(format!("no option is called \"{option}\"\n{USAGE}"));
            }
            word => words.push(word),
        }
    }
    Ok((words, within))
}

/// As fast as in a release, but built without its optimisation across crates, which takes longer than the models.
fn loom() -> Outcome {
    let mut cargo = test::cargo_in("loom");
    cargo.env("CARGO_PROFILE_RELEASE_LTO", "off").env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16");
    run(cargo
        .args([
            "test",
            "--quiet",
            "--release",
            "-p",
            "corelace-ring",
            "-p",
            "corelace-fabric-local",
            "-p",
            "corelace-engine",
            "--test",
            "loom*",
        ])
        .env("RUSTFLAGS", "--cfg loom"))
}

fn run(command: &mut Command) -> Outcome {
    workspace::run(command.current_dir(workspace::root()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_minutes_are_told_apart() {
        assert_eq!(
            asked(&["fuzz", "--within", "2", "loom"]),
            Ok((vec!["fuzz", "loom"], Some(Duration::from_secs(120))))
        );
        assert_eq!(asked(&[]), Ok((vec![], None)));
        assert!(asked(&["--within"]).is_err());
        assert!(asked(&["--within", "soon"]).is_err_and(|error| error.contains("\"soon\"")));
        assert!(asked(&["--without", "loom"]).is_err_and(|error| error.contains("\"--without\"")));
    }

    #[test]
    fn a_word_that_is_no_step_runs_nothing() {
        let error = command(&["format", "lint"]).unwrap_err();
        assert!(error.contains("\"lint\"") && error.contains("thread sanitizer"), "{error}");
    }
}

//! `cargo xtask ci`: what has to pass before a change lands, cheapest first, each step timed.
//!
//! Steps that compile with other flags have build directories of their own, so that they do not throw away each other's work.

use std::process::Command;
use std::time::Instant;

use crate::workspace::{self, Outcome};
use crate::{chaos, conformance, fuzz, r#gen, sanitize, size, soak, test};

type Step = fn() -> Outcome;

/// Runs the command.
///
/// With words, only the steps whose name holds one of them.
pub fn command(words: &[&str]) -> Outcome {
    let steps: [(&str, Step); 13] = [
        ("format", || run(test::cargo().args(["fmt", "--all", "--check"]))),
        ("generated files", || r#gen::command(&["--check"])),
        ("clippy", || {
            run(test::cargo().args([
                "clippy",
                "--workspace",
                "--all-targets",
                "--quiet",
                "--",
                "-D",
                "warnings",
            ]))
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
        ("fuzz targets", || fuzz::command(&["--seconds", "4"])),
        ("loom models of rings, sleepers, crews and windows", loom),
        ("address sanitizer", sanitize::address),
        ("thread sanitizer", sanitize::thread),
    ];
    let began = Instant::now();
    let mut times = Vec::new();
    let wanted = |name: &str| words.is_empty() || words.iter().any(|word| name.contains(word));
    if let Some(word) = words.iter().find(|word| !steps.iter().any(|(name, _)| name.contains(*word))) {
        let names = steps.map(|(name, _)| name).join(", ");
        return Err(format!("no step is called \"{word}\", expected part of one of: {names}"));
    }
    for (name, step) in steps.into_iter().filter(|(name, _)| wanted(name)) {
        println!("ci: {name}");
        let started = Instant::now();
        step().map_err(|error| format!("{name}: {error}"))?;
        times.push(format!("{:>8}  {name}", test::seconds(started)));
    }
    println!("{}\n{:>8}  all: passed", times.join("\n"), test::seconds(began));
    Ok(())
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

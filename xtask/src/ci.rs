//! `cargo xtask ci`: what has to pass before a change lands, cheapest first, each step timed.
//!
//! Steps that compile with other flags have build directories of their own, so that they do not throw away each other's work.

use std::process::Command;
use std::time::Instant;

use crate::workspace::{self, Outcome};
use crate::{chaos, fuzz, r#gen, install, test};

/// The sanitizers need it named: without, their flags would reach build scripts and macros too.
const TARGET: &str = "x86_64-unknown-linux-gnu";

/// What the address sanitizer watches: everything lock-free, and everything that runs on it.
const ADDRESS: &[&str] = &["-p", "corelace-ring", "-p", "corelace-engine", "--lib", "--tests"];

/// What the thread sanitizer watches: the same without the sweep of the collectives through their algorithms, which is mostly
/// jobs of one thread and takes minutes; `schedules` runs collectives on several.
const THREAD: &[&str] = &[
    "-p",
    "corelace-ring",
    "-p",
    "corelace-engine",
    "--lib",
    "--test",
    "model",
    "--test",
    "communicators",
    "--test",
    "point_to_point",
    "--test",
    "schedules",
];

type Step = fn() -> Outcome;

/// Runs the command.
pub fn command() -> Outcome {
    let steps: [(&str, Step); 10] = [
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
        ("jobs with faults", || chaos::command(&["--jobs", "100"])),
        ("fibers of other processors", || {
            let features = ["--features", "portable-switch"];
            run(test::cargo().args(["test", "--quiet", "-p", "corelace-fabric-local"]).args(features))
        }),
        ("fuzz targets", || fuzz::command(&["--seconds", "4"])),
        ("loom models of rings, sleepers and crews", loom),
        ("address sanitizer", || sanitizer("address", ADDRESS)),
        ("thread sanitizer", || sanitizer("thread", THREAD)),
    ];
    let began = Instant::now();
    let mut times = Vec::new();
    for (name, step) in steps {
        println!("ci: {name}");
        let started = Instant::now();
        step().map_err(|error| format!("{name}: {error}"))?;
        times.push(format!("{:>8}  {name}", test::seconds(started)));
    }
    println!("{}\n{:>8}  all: passed", times.join("\n"), test::seconds(began));
    Ok(())
}

fn loom() -> Outcome {
    let mut cargo = elsewhere("loom");
    run(cargo
        .args([
            "test",
            "--quiet",
            "--release",
            "-p",
            "corelace-ring",
            "-p",
            "corelace-fabric-local",
            "--test",
            "loom",
        ])
        .env("RUSTFLAGS", "--cfg loom"))
}

/// Std is the installed one: it is not instrumented, and suppressions name what the sanitizer cannot see of it.
fn sanitizer(name: &str, watched: &[&str]) -> Outcome {
    let suppressions = workspace::root().join("crates/ring/tsan.supp");
    let mut cargo = elsewhere(&format!("sanitizer-{name}"));
    cargo.args(["test", "--quiet", "--target", TARGET]).args(watched);
    let flags = format!("-Zsanitizer={name} -Cunsafe-allow-abi-mismatch=sanitizer");
    cargo.env("RUSTC_BOOTSTRAP", "1").env("RUSTFLAGS", flags);
    cargo.env("TSAN_OPTIONS", format!("suppressions={}", suppressions.display()));
    run(&mut cargo)
}

/// Cargo with a build directory of this name.
fn elsewhere(name: &str) -> Command {
    let root = workspace::root();
    let mut cargo = test::cargo();
    cargo.env("CARGO_TARGET_DIR", install::target_directory(&root).join(name));
    cargo
}

fn run(command: &mut Command) -> Outcome {
    command.current_dir(workspace::root());
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{status}: {command:?}")),
        Err(error) => Err(format!("cannot start {command:?}: {error}")),
    }
}

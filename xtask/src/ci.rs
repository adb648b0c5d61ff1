//! `cargo xtask ci`: what has to pass before a change lands, cheapest first, each step timed.
//!
//! Steps that compile with other flags have build directories of their own, so that they do not throw away each other's work.

use std::process::Command;
use std::time::Instant;

use crate::workspace::{self, Outcome};
use crate::{chaos, conformance, fuzz, r#gen, install, test};

/// The sanitizers need it named: without, their flags would reach build scripts and macros too.
const TARGET: &str = "x86_64-unknown-linux-gnu";

/// Tests that a sanitizer watches, and what it is told.
struct Watched {
    tests: &'static [&'static str],
    options: &'static str,
}

/// Everything lock-free, everything that runs on it, and everything with unsafe code that programs call.
///
/// Fibers need no annotations as long as frames stay on their stacks (no `detect_stack_use_after_return`, which moves them to the
/// thread's) and none goes on after it has caught a panic: the sanitizer then misses that the frames in between are gone. So jobs of
/// the Rust interface whose ranks do that run as threads here. Ranks that panic or stall are leaked on purpose, so leaks are looked
/// for only where none does. Left out are jobs on chips and reductions by every algorithm, which take minutes and touch no memory in
/// other ways.
const ADDRESS: &[Watched] = &[
    Watched { tests: &["-p", "corelace-ring", "--lib", "--tests"], options: "" },
    Watched {
        tests: &[
            "-p",
            "corelace-engine",
            "--lib",
            "--test",
            "communicators",
            "--test",
            "faults",
            "--test",
            "observing",
            "--test",
            "point_to_point",
            "--test",
            "schedules",
            "--test",
            "waits",
        ],
        options: "",
    },
    Watched {
        tests: &["-p", "corelace-engine", "--test", "collectives", "--", "--skip", "reduc"],
        options: "",
    },
    Watched {
        tests: &["-p", "corelace-fabric-local", "--lib", "--tests"],
        options: "detect_stack_use_after_return=0:detect_leaks=0",
    },
    Watched {
        tests: &[
            "-p",
            "corelace",
            "--lib",
            "--test",
            "adversarial",
            "--test",
            "collectives",
            "--test",
            "messages",
            "--test",
            "requests",
            "--",
            "--skip",
            "on_a_chip",
            "--skip",
            "panic_in",
        ],
        options: "detect_stack_use_after_return=0:detect_leaks=0",
    },
    Watched {
        tests: &["-p", "corelace-capi", "--lib"],
        options: "detect_stack_use_after_return=0:detect_leaks=0",
    },
];

/// The same without the C interface, which starts no thread of its own, without what of the Rust interface adds no threads to the rest (datatypes, topologies,
/// persistent operations), and without the sweep of the collectives through their
/// algorithms, which is mostly jobs of one thread and takes minutes; `schedules` runs collectives on several. Programs that start
/// scoped threads, or that queue at a lock of std's, are left out: the sanitizer does not see how std waits for those. Fibers of one worker are one thread to it.
const THREAD: &[Watched] = &[
    Watched {
        tests: &[
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
        ],
        options: "",
    },
    Watched { tests: &["-p", "corelace-fabric-local", "--lib", "--tests"], options: "" },
    Watched {
        tests: &[
            "-p",
            "corelace",
            "--lib",
            "--test",
            "adversarial",
            "--test",
            "collectives",
            "--test",
            "jobs",
            "--test",
            "messages",
            "--test",
            "requests",
            "--",
            "--skip",
            "threads_inside_of_ranks",
            "--skip",
            "ends_the_threads",
        ],
        options: "",
    },
];

type Step = fn() -> Outcome;

/// Runs the command.
///
/// With words, only the steps whose name holds one of them.
pub fn command(words: &[&str]) -> Outcome {
    let steps: [(&str, Step); 11] = [
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
        ("conformance", || conformance::command(&["--fast"])),
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
    let mut cargo = elsewhere("loom");
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
            "--test",
            "loom*",
        ])
        .env("RUSTFLAGS", "--cfg loom"))
}

/// Std is the installed one: it is not instrumented, and suppressions name what the sanitizer cannot see of it.
fn sanitizer(name: &str, watched: &[Watched]) -> Outcome {
    let suppressions = workspace::root().join("crates/ring/tsan.supp");
    let flags = format!("-Zsanitizer={name} -Cunsafe-allow-abi-mismatch=sanitizer");
    watched.iter().try_for_each(|Watched { tests, options }| {
        let mut cargo = elsewhere(&format!("sanitizer-{name}"));
        cargo.args(["test", "--quiet", "--target", TARGET]).args(*tests);
        cargo.env("RUSTC_BOOTSTRAP", "1").env("RUSTFLAGS", &flags).env("ASAN_OPTIONS", options);
        // Random cases have been run without it: it looks at how memory is used, which does not take so many.
        cargo.env("PROPTEST_CASES", "64");
        if name == "address" {
            cargo.env("CORELACE_TEST_RANKS", "threads");
        }
        cargo.env("TSAN_OPTIONS", format!("suppressions={}:{options}", suppressions.display()));
        run(&mut cargo)
    })
}

/// Cargo with a build directory of this name.
fn elsewhere(name: &str) -> Command {
    let root = workspace::root();
    let mut cargo = test::cargo();
    cargo.env("CARGO_TARGET_DIR", install::target_directory(&root).join(name));
    cargo
}

fn run(command: &mut Command) -> Outcome {
    workspace::run(command.current_dir(workspace::root()))
}

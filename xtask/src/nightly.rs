//! `cargo xtask nightly [STEP…]`: what takes too long for every change: models, sanitizers,
//! fuzzing, MPICH's whole suite on every kind of ranks, long random runs, the oldest compiler.
//!
//! Every step runs, whatever became of those before it. `docs/nightly.md` gets a line for each:
//! the day, the commit, the outcome and the time. A line of a step that was not run stays.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::steps::{self, Ran, Step};
use crate::test::{Selection, cargo, cargo_in};
use crate::workspace::{self, Outcome};
use crate::{chaos, conformance, fuzz, install, sanitize, soak, test};

const STEPS: [Step; 15] = [
    Step { name: "models by loom", run: loom },
    Step { name: "address sanitizer", run: sanitize::address },
    Step { name: "thread sanitizer", run: sanitize::thread },
    Step { name: "programs under the thread sanitizer", run: sanitize::programs },
    Step { name: "fuzzing", run: || fuzz::command(&["--seconds", "60"]) },
    Step { name: "more random cases", run: random_cases },
    Step { name: "collectives without self-checks", run: unchecked },
    Step { name: "fibers of other processors", run: portable_fibers },
    Step { name: "tests with the release build", run: released },
    Step { name: "conformance, processes", run: || whole_conformance("process") },
    Step { name: "conformance, threads", run: || whole_conformance("thread") },
    Step { name: "conformance, fibers", run: || whole_conformance("fiber") },
    Step { name: "faults", run: || chaos::command(&["--jobs", "1000", "--prefix", &released_prefix()?]) },
    Step {
        name: "soak",
        run: || {
            soak::command(&["--minutes", "10", "--prefix", &released_prefix()?])?;
            soak::command(&["files", "--minutes", "3", "--prefix", &released_prefix()?])?;
            soak::command(&["random", "--runs", "300", "--prefix", &released_prefix()?])
        },
    },
    Step { name: "oldest compiler", run: oldest_compiler },
];

const HEADING: &str = "\
# Nightly

What `cargo xtask nightly` found, step by step: the command writes this page. A step that fails is
to be mended before an issue is called resolved.

| step | day | commit | outcome | seconds |
| --- | --- | --- | --- | ---: |
";

/// Runs the command: with words, only the steps whose name holds one of them.
pub fn command(words: &[&str]) -> Outcome {
    let mut ran = Vec::new();
    for step in steps::chosen(&STEPS, words)? {
        let one = steps::run("nightly", step)?;
        if let Err(error) = &one.outcome {
            println!("nightly: {}: {error}", one.name);
        }
        // After every step: what was found is not lost when a later step is interrupted.
        write(&one)?;
        ran.push(one);
    }
    println!("{}", steps::table(&ran));
    match ran.iter().filter(|ran| ran.outcome.is_err()).count() {
        0 => Ok(()),
        failed => Err(format!("{failed} of {} steps failed", ran.len())),
    }
}

/// Puts the line of a step into the page.
fn write(ran: &Ran) -> Outcome {
    let page = workspace::root().join("docs/nightly.md");
    let before = std::fs::read_to_string(&page).unwrap_or_default();
    let line = format!(
        "| {} | {} | {} | {} | {:.0} |",
        ran.name,
        workspace::today(),
        workspace::commit(),
        ran.word(),
        ran.took.as_secs_f64()
    );
    workspace::replace(&page, renewed(&before, ran.name, &line).as_bytes())?;
    Ok(())
}

/// The page with another line for a step. Steps that no longer exist are left out.
fn renewed(before: &str, name: &str, line: &str) -> String {
    let of_step = |line: &str| line.strip_prefix("| ")?.split_once(" | ").map(|(name, _)| name.to_owned());
    let mut lines: BTreeMap<String, String> =
        before.lines().filter_map(|line| Some((of_step(line)?, line.to_owned()))).collect();
    lines.insert(name.to_owned(), line.to_owned());
    let known = STEPS.iter().filter_map(|step| lines.get(step.name));
    known.fold(HEADING.to_owned(), |page, line| page + line + "\n")
}

/// The models run as fast as in a release.
fn loom() -> Outcome {
    let mut cargo = cargo_in("loom");
    cargo.args(["test", "--quiet", "--release", "-p", "corelace-ring", "-p", "corelace-fabric-local"]);
    cargo.args(["-p", "corelace-engine", "--test", "*", "loom"]).env("RUSTFLAGS", "--cfg loom");
    run(&mut cargo)
}

/// A build that checks itself has fewer member slots, so other paths run.
fn unchecked() -> Outcome {
    let mut cargo = cargo_in("unchecked");
    cargo.env("CARGO_PROFILE_DEV_DEBUG_ASSERTIONS", "false");
    run(test::of_modules(cargo.args(["test", "--quiet"]), &["corelace-engine"], &["boards"])?)
}

fn portable_fibers() -> Outcome {
    let features = ["--features", "portable-switch"];
    run(cargo().args(["test", "--quiet", "-p", "corelace-fabric-local"]).args(features))
}

/// Property tests with sixteen times the usual number of cases.
fn random_cases() -> Outcome {
    run(cargo().env("PROPTEST_CASES", "4096").args(["test", "--quiet", "--workspace", "--tests", "--lib"]))
}

/// What users get passes the tests that launch jobs, too.
fn released() -> Outcome {
    let prefix = PathBuf::from(released_prefix()?);
    let packages = ["corelace-tests", "corelace-capi"].map(str::to_owned).to_vec();
    test::run_with(&Selection { packages, filters: vec![], without_documentation: true }, &prefix)
}

fn whole_conformance(ranks: &str) -> Outcome {
    conformance::command(&["--ranks", ranks, "--prefix", &released_prefix()?])
}

/// The compiler that the manifest promises, from rustup.
fn oldest_compiler() -> Outcome {
    let manifest = workspace::read(&workspace::root().join("Cargo.toml"))?;
    let version = manifest.split("rust-version = \"").nth(1).and_then(|rest| rest.split('"').next());
    let toolchain = format!("+{}", version.ok_or("Cargo.toml names no rust-version")?);
    let there = Command::new("cargo").args([&toolchain, "--version"]).stdout(Stdio::null()).status();
    if !there.is_ok_and(|status| status.success()) {
        let name = toolchain.trim_start_matches('+');
        run(Command::new("rustup").args(["toolchain", "install", "--profile", "minimal", name]))?;
    }
    let mut cargo = Command::new("cargo");
    // Cargo of rustup's sets these for the compiler that runs this.
    cargo.env_remove("RUSTC").env_remove("RUSTUP_TOOLCHAIN");
    let directory = install::target_directory(&workspace::root()).join("oldest");
    run(cargo.arg(&toolchain).args(["check", "--workspace"]).env("CARGO_TARGET_DIR", directory))
}

/// The installation that users get.
fn released_prefix() -> Outcome<String> {
    Ok(install::as_released(None)?.display().to_string())
}

fn run(command: &mut Command) -> Outcome {
    workspace::run(command.current_dir(workspace::root()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_replaces_the_one_of_its_step_and_leaves_the_others() {
        let first = renewed("", "soak", "| soak | 2026-11-01 | 0a | passed | 780 |");
        let second = renewed(&first, "faults", "| faults | 2026-11-02 | 0b | FAILED | 9 |");
        let third = renewed(&second, "soak", "| soak | 2026-11-03 | 0c | passed | 781 |");
        let lines: Vec<_> = third.lines().skip(HEADING.lines().count()).collect();
        assert_eq!(
            lines,
            ["| faults | 2026-11-02 | 0b | FAILED | 9 |", "| soak | 2026-11-03 | 0c | passed | 781 |"]
        );
        let unknown = "| gone | 2026-11-01 | 0a | passed | 1 |\n";
        assert!(!renewed(unknown, "soak", "| soak |").contains("gone"));
    }
}

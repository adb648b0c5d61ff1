//! `cargo xtask ci [STEP…]`: what has to pass before a change lands, cheapest first.
//!
//! Tests run with a quick build of the library. The last steps need the release build, and so
//! try it too. What looks at the same code once more, under models, sanitizers and for longer, is
//! `cargo xtask nightly`.

use std::process::Command;

use crate::steps::{self, Step};
use crate::workspace::{self, Outcome};
use crate::{chaos, conformance, r#gen, install, size, soak, test};

const STEPS: [Step; 7] = [
    Step { name: "format", run: || run(test::cargo().args(["fmt", "--all", "--check"])) },
    Step { name: "generated files", run: || r#gen::command(&["--check"]) },
    Step {
        name: "lints",
        run: || {
            let deny = ["--", "-D", "warnings"];
            run(test::cargo().args(["clippy", "--workspace", "--all-targets", "--quiet"]).args(deny))
        },
    },
    Step { name: "tests", run: || test::command(&[]) },
    Step { name: "sizes", run: || size::command(&[]) },
    Step { name: "conformance", run: || conformance::command(&["--fast", "--prefix", &released()?]) },
    Step {
        name: "jobs with faults",
        run: || {
            let prefix = released()?;
            chaos::command(&["--jobs", "60", "--prefix", &prefix])?;
            soak::command(&["files", "--minutes", "0.15", "--prefix", &prefix])
        },
    },
];

/// Runs the command: with words, only the steps whose name holds one of them.
pub fn command(words: &[&str]) -> Outcome {
    let mut ran = Vec::new();
    for step in steps::chosen(&STEPS, words)? {
        ran.push(steps::run("ci", step)?);
        if let Some(Err(error)) = ran.last().map(|ran| &ran.outcome) {
            return Err(format!("{}\n{}: {error}", steps::table(&ran), step.name));
        }
    }
    println!("{}", steps::table(&ran));
    Ok(())
}

/// The installation that users get.
fn released() -> Outcome<String> {
    Ok(install::as_released(None)?.display().to_string())
}

fn run(command: &mut Command) -> Outcome {
    workspace::run(command.current_dir(workspace::root()))
}

//! Instructions of one message, by function: what the lines `step send|receive MODULE+0xADDRESS` of `instructions.c` add up to.
//!
//! An installed library has no names. Its archive has them, and is linked into a library for this one run.

use std::collections::HashMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use symbols::{Spot, Symbols};

use super::contestant::{Contestant, Turn};
use super::rounds::Plan;
use super::suite::{COUNTED, Case};
use crate::runners::Runners;
use cli::prefix::Prefix;

/// One executed instruction: of which call, and where.
#[derive(Clone, PartialEq, Debug)]
pub struct Step {
    call: String,
    at: Spot,
}

impl Step {
    /// Reads a line; `None` if it is another.
    pub fn parse(line: &str) -> Option<Step> {
        let (call, at) = line.strip_prefix("step ")?.split_once(' ')?;
        let mut at = Spot::parse(at)?;
        // Spots are return addresses, which lie behind the instruction that they speak of.
        at.offset += 1;
        Some(Step { call: call.into(), at })
    }
}

/// What is broken down and by whom it is run; an error says what the plan lacks for it.
pub fn asked<'p>(plan: &'p Plan<'_>) -> Result<(&'p Case, &'p Contestant), String> {
    let case = plan.cases.iter().find(|case| case.program == COUNTED);
    let case =
        case.ok_or("--breakdown shows what instructions a message takes, expected the suite instructions")?;
    let taker =
        plan.contestants.iter().find(|contestant| contestant.is_ours && contestant.takes(case, false));
    let taker =
        taker.ok_or("--breakdown needs ranks that are processes, expected --ranks with process in it")?;
    Ok((case, taker))
}

/// Runs the program once more with a library that has names, and adds up its steps.
pub fn breakdown(
    plan: &Plan<'_>,
    prefix: &Prefix,
    workshop: &Path,
    runners: &Runners,
) -> Result<String, String> {
    let (case, taker) = asked(plan)?;
    let library = named_library(prefix, workshop)?;
    let environment = &[("LD_PRELOAD".to_owned(), library.into_os_string())];
    let (quick, limit) = (plan.quick, plan.limit);
    let turn = Turn { workshop, quick, limit, runners, environment, arguments: &[] };
    let printed = taker.run(&plan.installations[taker.installation], case, &turn)?;
    match printed.failure {
        Some(failure) => Err(format!("--breakdown: {}: {}", case.program.file, failure.long)),
        None => Ok(by_function(&printed.steps)),
    }
}

/// The library, linked from its archive without taking names away.
fn named_library(prefix: &Prefix, workshop: &Path) -> Result<PathBuf, String> {
    let library = workshop.join("libmpi_abi.so.1");
    let mut link = Command::new("cc");
    link.args(["-shared", "-Wl,-soname,libmpi_abi.so.1", "-Wl,--gc-sections", "-Wl,--whole-archive"]);
    link.arg(prefix.lib().join("libmpi_abi.a")).args(["-Wl,--no-whole-archive", "-Wl,--as-needed"]);
    link.args(["-lgcc_s", "-lpthread", "-ldl", "-lm", "-lc", "-o"]).arg(&library);
    let output = link.output().map_err(|error| format!("--breakdown: cc: {error}"))?;
    match output.status.success() {
        true => Ok(library),
        false => Err(format!("--breakdown: cc: {}", String::from_utf8_lossy(&output.stderr).trim())),
    }
}

/// A table: instructions of each call, by function, most first.
fn by_function(steps: &[Step]) -> String {
    let mut symbols = Symbols::new();
    let mut calls: Vec<(&str, HashMap<String, usize>)> = Vec::new();
    for step in steps {
        let site = symbols.site(&step.at);
        let function = site.function.clone().unwrap_or_else(|| format!("in {}", site.module));
        let at = calls.iter().position(|(call, _)| *call == step.call).unwrap_or_else(|| {
            calls.push((&step.call, HashMap::new()));
            calls.len() - 1
        });
        *calls[at].1.entry(function).or_default() += 1;
    }
    // In the order of a message's way.
    calls.sort_by(|a, b| b.0.cmp(a.0));
    let mut text = String::new();
    for (call, functions) in calls {
        let total: usize = functions.values().sum();
        _ = writeln!(text, "{call}: {total} instructions");
        let mut functions: Vec<_> = functions.into_iter().collect();
        functions.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        for (function, count) in functions {
            _ = writeln!(text, "{count:>7}  {:>4.1} %  {function}", count as f64 * 100.0 / total as f64);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_added_up_by_call_and_most_come_first() {
        let lines = ["step send /nowhere/a+0x10", "step send /nowhere/b+0x10", "step send /nowhere/b+0x20"];
        let lines = lines.iter().chain(&["step receive /nowhere/a+0x10"]);
        let steps: Vec<Step> = lines.filter_map(|line| Step::parse(line)).collect();
        let text = by_function(&steps);
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        assert_eq!(
            lines,
            [
                "send: 3 instructions",
                "2  66.7 %  in b",
                "1  33.3 %  in a",
                "receive: 1 instructions",
                "1  100.0 %  in a",
            ]
        );
    }

    #[test]
    fn lines_that_are_no_steps_are_passed_over() {
        for line in ["", "figure instructions 8 944 instructions", "step send", "step send nowhere"] {
            assert_eq!(Step::parse(line), None, "{line}");
        }
    }
}

//! Instructions of one message, by function: what the lines `step send|receive MODULE+0xADDRESS` of `instructions.c` add up to.

use std::collections::HashMap;
use std::fmt::Write;

use symbols::{Spot, Symbols};

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

/// A table: instructions of each call, by function, most first.
pub fn breakdown(steps: &[Step]) -> String {
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
        let text = breakdown(&steps);
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

//! One run of an application on a chip: what to run, and what it said.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::runners::Runners;

/// What to run. Two equal trials give equal results.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Trial {
    /// Name of the application.
    pub app: &'static str,
    /// Name or file of the chip.
    pub chip: String,
    /// How many ranks.
    pub ranks: u32,
    /// `compact` or `scatter`.
    pub map: &'static str,
    /// As of `mpirun --protocol`.
    pub protocol: &'static str,
    /// Whether the application also runs as the I/O rank.
    pub io: bool,
    /// Further flags of the launcher, such as where ranks run.
    pub flags: &'static [&'static str],
    /// Environment variables that set thresholds, and their values.
    pub settings: &'static [(&'static str, &'static str)],
    /// The application's own words.
    pub arguments: Vec<String>,
}

/// What a run printed: its lines of results, and the launcher's account of the chip.
#[derive(Clone, Debug)]
pub struct Run {
    /// Lines of words `key=value`.
    pub lines: Vec<Line>,
    /// What `mpirun --stats=json` says.
    pub stats: Value,
}

/// A line of words `key=value`.
#[derive(Clone, Debug, Default)]
pub struct Line(BTreeMap<String, String>);

impl Line {
    fn parse(text: &str) -> Option<Line> {
        let words: Option<BTreeMap<String, String>> = text
            .split_whitespace()
            .map(|word| word.split_once('=').map(|(key, value)| (key.to_owned(), value.to_owned())))
            .collect();
        words.filter(|words| words.contains_key("app")).map(Line)
    }

    /// The number of a key; a unit after it is ignored.
    pub fn number(&self, key: &str) -> Result<f64, String> {
        let text = self.text(key)?;
        let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        digits.parse().map_err(|_| format!("{key}={text} is not a number"))
    }

    /// The word of a key.
    pub fn text(&self, key: &str) -> Result<&str, String> {
        self.0.get(key).map(String::as_str).ok_or_else(|| format!("no {key}= in a line of results"))
    }
}

impl Run {
    /// The one line of results of applications that print one.
    pub fn line(&self) -> Result<&Line, String> {
        self.lines.first().ok_or_else(|| "no line of results".to_owned())
    }

    /// A number of the launcher's account, by its JSON pointer.
    pub fn stat(&self, pointer: &str) -> Result<f64, String> {
        let number = self.stats.pointer(pointer).and_then(Value::as_f64);
        number.ok_or_else(|| format!("no {pointer} in the account of the run: {}", self.stats))
    }
}

impl Trial {
    /// Runs it with the launcher.
    pub fn run(&self, runners: &Runners, launcher: &Path, program: &Path) -> Result<Run, String> {
        let mut command = Command::new(launcher);
        command.args(["run", "--chip", &self.chip, "-n", &self.ranks.to_string(), "--map", self.map]);
        command.args(self.flags);
        command.args(["--protocol", self.protocol, "--stats=json"]).envs(self.settings.iter().copied());
        if self.io {
            command.arg("--io").arg(program);
        }
        command.arg(program).args(&self.arguments);
        let output =
            runners.output(command.stdout(Stdio::piped())).map_err(|error| format!("{self}: {error}"))?;
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        if !output.status.success() {
            return Err(format!("{self}: {}: {}", output.status, err.trim()));
        }
        let stats = err.lines().rev().find_map(|line| serde_json::from_str(line).ok());
        let lines = out.lines().filter_map(Line::parse).collect();
        Ok(Run {
            lines,
            stats: stats.ok_or_else(|| format!("{self}: no account of the run: {}", err.trim()))?,
        })
    }
}

impl fmt::Display for Trial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} on {} of {}, {}, {}", self.app, ranks(self.ranks), self.chip, self.map, self.protocol)?;
        self.flags.iter().try_for_each(|flag| write!(f, " {flag}"))?;
        if self.arguments.is_empty() { Ok(()) } else { write!(f, " ({})", self.arguments.join(" ")) }
    }
}

fn ranks(count: u32) -> String {
    if count == 1 { "1 rank".into() } else { format!("{count} ranks") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_words_gives_numbers_with_or_without_units() {
        let line = Line::parse("app=fn ranks=12 check=passed time=1.5s").unwrap();
        assert_eq!(line.number("time"), Ok(1.5));
        assert_eq!(line.number("ranks"), Ok(12.0));
        assert!(line.number("check").unwrap_err().contains("check=passed"));
        assert!(line.number("cycles").unwrap_err().contains("cycles"));
    }

    #[test]
    fn other_lines_are_not_results() {
        assert!(Line::parse("a remark").is_none());
        assert!(Line::parse("time=1").is_none());
        assert!(Line::parse("").is_none());
    }
}

//! A whole measurement: when, where, who, and every sample; as JSON a file that later runs are held against.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::figure::Figure;
use super::machine::Machine;

/// The form of the file; another number is another form.
const FORM: u32 = 2;

/// A measurement.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Run {
    form: u32,
    /// The day and the time, UTC.
    pub date: String,
    pub machine: Machine,
    pub rounds: u32,
    pub quick: bool,
    pub contestants: Vec<Entry>,
    pub figures: Vec<Figure>,
    /// What could not be measured.
    pub failures: Vec<Missing>,
}

/// Who took part.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Entry {
    pub name: String,
    pub ours: bool,
    pub version: String,
}

/// A program that a contestant could not run to its end.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Missing {
    pub contestant: String,
    pub program: String,
    pub ranks: u32,
    pub why: String,
}

impl Run {
    /// Without figures yet.
    pub fn new(date: String, machine: Machine, (rounds, quick): (u32, bool), contestants: Vec<Entry>) -> Run {
        let (figures, failures) = (Vec::new(), Vec::new());
        Run { form: FORM, date, machine, rounds, quick, contestants, figures, failures }
    }

    /// Reads a file that `--json` has written; `argument` is the one that names it.
    pub fn read(argument: &str, file: &Path) -> Result<Run, String> {
        let bytes =
            std::fs::read(file).map_err(|error| format!("{argument} is \"{}\": {error}", file.display()))?;
        let run: Result<Run, _> = serde_json::from_slice(&bytes);
        let wrong = |what: String| {
            format!(
                "{argument} is \"{}\": {what}, expected a file from `corelace bench --json`",
                file.display()
            )
        };
        let run = run.map_err(|error| wrong(error.to_string()))?;
        if run.form != FORM {
            return Err(wrong(format!("its form is {}, this version reads {FORM}", run.form)));
        }
        Ok(run)
    }

    /// The file.
    pub fn json(&self) -> String {
        serde_json::to_string_pretty(self).expect("plain data") + "\n"
    }

    /// Names of all that took part.
    pub fn names(&self) -> Vec<&str> {
        self.contestants.iter().map(|entry| entry.name.as_str()).collect()
    }

    /// This MPI in its ways.
    pub fn ours(&self) -> Vec<&str> {
        self.contestants.iter().filter(|entry| entry.ours).map(|entry| entry.name.as_str()).collect()
    }

    /// The others.
    pub fn peers(&self) -> Vec<&str> {
        self.contestants.iter().filter(|entry| !entry.ours).map(|entry| entry.name.as_str()).collect()
    }

    /// Figures of a suite.
    pub fn of_suite<'r>(&'r self, suite: &'r str) -> impl Iterator<Item = &'r Figure> {
        self.figures.iter().filter(move |figure| figure.suite == suite)
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// A run of our processes and fibers, and of two others.
    pub fn run(figures: Vec<Figure>) -> Run {
        let entry =
            |(name, ours): (&str, bool)| Entry { name: name.into(), ours, version: format!("{name} 1.0") };
        let names =
            [("corelace process", true), ("corelace fiber", true), ("openmpi", false), ("mpich", false)];
        let run = Run::new(
            "2026-01-02 03:04 UTC".into(),
            Machine { cores: 2, ..Machine::default() },
            (3, false),
            names.map(entry).to_vec(),
        );
        Run { figures, ..run }
    }

    #[test]
    fn a_run_survives_its_file() {
        let figures = vec![crate::bench::figure::tests::figure("latency", 8, 2, &[("openmpi", &[1.0, 2.5])])];
        let run = run(figures);
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), run.json()).unwrap();
        assert_eq!(Run::read("--baseline", file.path()), Ok(run));
    }

    #[test]
    fn a_file_of_something_else_is_refused_by_its_name_and_what_is_wrong() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "{\"rounds\": 3}").unwrap();
        let error = Run::read("--baseline", file.path()).unwrap_err();
        assert!(error.starts_with("--baseline is \"/") && error.contains("missing field"), "{error}");
        assert!(error.ends_with("expected a file from `corelace bench --json`"), "{error}");
        let mut other = run(Vec::new());
        other.form = 1;
        std::fs::write(file.path(), other.json()).unwrap();
        let error = Run::read("--from", file.path()).unwrap_err();
        assert!(error.contains("its form is 1, this version reads 2"), "{error}");
    }
}

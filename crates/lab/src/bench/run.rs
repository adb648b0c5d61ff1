//! A whole measurement: when, where, who, and every sample.

use serde::{Deserialize, Serialize};

use super::figure::Figure;
use super::machine::Machine;

/// The form of a run in a file; another number is another form.
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

    /// Whether this version reads it; the error says what is wrong.
    pub fn check_form(&self) -> Result<(), String> {
        match self.form {
            FORM => Ok(()),
            form => Err(format!("its form is {form}, this version reads {FORM}")),
        }
    }

    /// This figure of another run, if there is one here.
    pub fn same(&self, figure: &Figure) -> Option<&Figure> {
        self.figures.iter().find(|known| known.is_same(figure))
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
}

//! A number as the file says it: for people who want to know what a chip is made of and who says so.

use std::fmt;

/// One number of a chip file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact {
    /// Where it stands: `network.data.router`.
    pub path: String,
    /// The value as written.
    pub value: String,
    /// Its unit; empty where there is none.
    pub unit: String,
    /// Who says so.
    pub provenance: Provenance,
    /// The line in the file, from 1.
    pub line: usize,
}

/// Where a number comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Provenance {
    /// `from`: published, measured by somebody, or chosen, in the words of the file.
    From(String),
    /// `calibrated`: set so that the named figure comes out.
    Calibrated(String),
}

impl fmt::Display for Provenance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::From(source) => f.write_str(source),
            Self::Calibrated(figure) => write!(f, "calibrated: {figure}"),
        }
    }
}

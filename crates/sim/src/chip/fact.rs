//! A number as the file says it: for people who want to know what a chip is made of and who says so.

use std::fmt;
use std::ops::Range;

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
    /// Where in the file's text all of it stands, from brace to brace.
    pub span: Range<usize>,
}

/// Where a number comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Provenance {
    /// `from`: published, or measured by somebody, in the words of the file.
    From(String),
    /// `from = "chosen: …"`: nobody published it.
    Chosen {
        /// Why this value.
        why: String,
        /// `knowing`: the figures that whoever chose it had in view.
        knowing: Vec<String>,
    },
    /// `calibrated`: set so that a measured figure comes out.
    Calibrated {
        /// Which, in words.
        what: String,
        /// `by`: the same by their names. A figure that is named here is no prediction.
        by: Vec<String>,
    },
}

/// The beginning of a `from` that tells a choice.
pub(super) const CHOSEN: &str = "chosen: ";

impl Provenance {
    /// The names of the figures that had a part in it.
    pub fn figures(&self) -> &[String] {
        match self {
            Self::From(_) => &[],
            Self::Chosen { knowing: figures, .. } | Self::Calibrated { by: figures, .. } => figures,
        }
    }
}

impl fmt::Display for Provenance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::From(source) => f.write_str(source)?,
            Self::Chosen { why, .. } => write!(f, "{CHOSEN}{why}")?,
            Self::Calibrated { what, .. } => write!(f, "calibrated: {what}")?,
        }
        match self.figures() {
            [] => Ok(()),
            figures => write!(f, " ({})", figures.join(", ")),
        }
    }
}

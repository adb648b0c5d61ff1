//! Units: what a number in a chip file may be measured in, and what that is in the model's integers.

use crate::CYCLE;

/// What a number measures. Each kind accepts a few spellings and turns them into one integer unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A count of the named things.
    Count(&'static str),
    /// Bytes.
    Bytes,
    /// A duration, in thousandths of a cycle.
    Cycles,
    /// A duration a byte, in thousandths of a cycle.
    CyclesPerByte,
    /// A rate, in thousandths of a byte a cycle.
    BytesPerCycle,
    /// Hertz.
    Frequency,
    /// Microwatts.
    Power,
    /// Femtojoules.
    Energy,
}

impl Kind {
    /// How many of the model's units one of `unit` is, if the kind can be measured in it.
    pub(super) fn scale(self, unit: &str) -> Option<f64> {
        let scales = self.scales();
        scales.iter().find(|(name, _)| *name == unit).map(|(_, scale)| *scale)
    }

    /// The spellings that are accepted, for messages.
    pub(super) fn accepted(self) -> String {
        let names: Vec<String> = self.scales().iter().map(|(name, _)| format!("\"{name}\"")).collect();
        names.join(" or ")
    }

    fn scales(self) -> Vec<(&'static str, f64)> {
        const TICKS: f64 = CYCLE as f64;
        match self {
            Self::Count(things) => vec![(things, 1.0)],
            Self::Bytes => {
                vec![("bytes", 1.0), ("KiB", 1024.0), ("MiB", 1048576.0), ("GiB", 1073741824.0)]
            }
            Self::Cycles => vec![("cycles", TICKS)],
            Self::CyclesPerByte => vec![("cycles/byte", TICKS)],
            Self::BytesPerCycle => vec![("bytes/cycle", TICKS)],
            Self::Frequency => vec![("MHz", 1e6), ("GHz", 1e9)],
            Self::Power => vec![("W", 1e6), ("mW", 1e3)],
            Self::Energy => vec![("pJ", 1e3), ("nJ", 1e6)],
        }
    }
}

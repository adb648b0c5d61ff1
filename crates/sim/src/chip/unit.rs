//! Units: what a number in a chip file may be measured in, and what that is in the model's integers.

use crate::{CYCLE, Rate};

/// What a number measures. Each kind accepts a few spellings and turns them into one integer unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A count of the named things.
    Count(&'static str),
    /// Bytes.
    Bytes,
    /// A duration, in thousandths of a cycle.
    Cycles,
    /// A duration a byte, in the steps of a [`Rate`].
    CyclesPerByte,
    /// A width, in millionths of a byte a cycle.
    BytesPerCycle,
    /// Hertz.
    Frequency,
    /// Microwatts.
    Power,
    /// Femtojoules.
    Energy,
}

/// From a number in some unit to the model's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Scale {
    /// So many of the model's units each; a fraction of one is refused.
    Exact(f64),
    /// So many each, to the nearest: the unit is not the model's own.
    Nearest(f64),
    /// The model's number falls as this one grows: so many divided by it, to the nearest.
    Inverse(f64),
}

impl Scale {
    /// The number in the model's units, not rounded.
    pub(super) fn apply(self, number: f64) -> f64 {
        match self {
            Self::Exact(scale) | Self::Nearest(scale) => number * scale,
            Self::Inverse(scale) => scale / number,
        }
    }

    /// How far off a number may be after rounding.
    pub(super) fn tolerance(self, exact: f64) -> f64 {
        match self {
            Self::Exact(_) => 1e-6 * exact.abs().max(1.0),
            Self::Nearest(_) | Self::Inverse(_) => 1e-3 * exact.abs(),
        }
    }

    /// The least and the greatest number of the file for these of the model.
    pub(super) fn back(self, low: f64, high: f64) -> (f64, f64) {
        match self {
            Self::Exact(scale) | Self::Nearest(scale) => (low / scale, high / scale),
            Self::Inverse(scale) => (scale / high, scale / low),
        }
    }
}

impl Kind {
    /// What a number in `unit` is in the model's, under a clock of so many hertz, if the kind can be measured in it.
    pub(super) fn scale(self, unit: &str, clock_hz: f64) -> Option<Scale> {
        let scales = self.scales(clock_hz);
        scales.iter().find(|(name, _)| *name == unit).map(|(_, scale)| *scale)
    }

    /// The spellings that are accepted, for messages.
    pub(super) fn accepted(self) -> String {
        let names: Vec<String> = self.scales(1.0).iter().map(|(name, _)| format!("\"{name}\"")).collect();
        names.join(" or ")
    }

    fn scales(self, clock_hz: f64) -> Vec<(&'static str, Scale)> {
        use Scale::{Exact, Inverse, Nearest};
        const TICKS: f64 = CYCLE as f64;
        const STEPS: f64 = TICKS * Rate::STEPS as f64;
        match self {
            Self::Count(things) => vec![(things, Exact(1.0))],
            Self::Bytes => vec![
                ("bytes", Exact(1.0)),
                ("KiB", Exact(1024.0)),
                ("MiB", Exact(1048576.0)),
                ("GiB", Exact(1073741824.0)),
            ],
            Self::Cycles => vec![
                ("cycles", Exact(TICKS)),
                ("ns", Nearest(clock_hz * 1e-9 * TICKS)),
                ("us", Nearest(clock_hz * 1e-6 * TICKS)),
            ],
            Self::CyclesPerByte => vec![
                ("cycles/byte", Nearest(STEPS)),
                ("ns/byte", Nearest(clock_hz * 1e-9 * STEPS)),
                ("GB/s", Inverse(clock_hz * 1e-9 * STEPS)),
            ],
            Self::BytesPerCycle => vec![("bytes/cycle", Exact(1e6)), ("GB/s", Nearest(1e15 / clock_hz))],
            Self::Frequency => vec![("MHz", Exact(1e6)), ("GHz", Exact(1e9))],
            Self::Power => vec![("W", Exact(1e6)), ("mW", Exact(1e3))],
            Self::Energy => vec![("pJ", Exact(1e3)), ("nJ", Exact(1e6))],
        }
    }
}

//! What the instructions of a core cost: for programs whose computing is counted (`mpicc --count`).
//!
//! An instruction counts as one kind of work or several (an addition to memory is a load, an addition and a store). The costs of a description are
//! cycles that each adds to a long run of them, not latencies: a core that issues two instructions in a cycle has costs of a half.

use super::read::Section;
use super::schema::{COST_MAX, Result};
use super::unit::Kind;
use crate::Time;

/// What an instruction may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// Adds, shifts, compares, moves between registers.
    Integer,
    /// Multiplies integers.
    Multiply,
    /// Divides integers.
    Divide,
    /// Reads memory.
    Load,
    /// Writes memory.
    Store,
    /// Jumps, calls, returns.
    Branch,
    /// Adds, multiplies, compares or converts floating-point numbers.
    Float,
    /// Divides them, or takes their root.
    FloatDivide,
    /// Calls a function of the mathematical library.
    Function,
}

/// How many kinds of work there are.
pub const KINDS_OF_WORK: usize = Work::ALL.len();

impl Work {
    /// All kinds, each at its own number.
    pub const ALL: [Work; 9] = [
        Work::Integer,
        Work::Multiply,
        Work::Divide,
        Work::Load,
        Work::Store,
        Work::Branch,
        Work::Float,
        Work::FloatDivide,
        Work::Function,
    ];

    /// Its key in `[core]`.
    pub fn name(self) -> &'static str {
        match self {
            Work::Integer => "integer",
            Work::Multiply => "multiply",
            Work::Divide => "divide",
            Work::Load => "load",
            Work::Store => "store",
            Work::Branch => "branch",
            Work::Float => "float",
            Work::FloatDivide => "float_divide",
            Work::Function => "function",
        }
    }
}

/// What each kind of work takes a core.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Core {
    /// By kind.
    pub costs: [Time; KINDS_OF_WORK],
}

impl Core {
    /// The time of so much work of each kind.
    pub fn time(&self, counts: &[u64; KINDS_OF_WORK]) -> Time {
        self.costs
            .iter()
            .zip(counts)
            .fold(0, |sum: Time, (cost, count)| sum.saturating_add(cost.saturating_mul(*count)))
    }

    pub(super) fn read(section: &Section<'_>) -> Result<Core> {
        let mut core = Core::default();
        for work in Work::ALL {
            core.costs[work as usize] = section.number(work.name(), Kind::Cycles, 0..=COST_MAX)?;
        }
        section.finish()?;
        Ok(core)
    }
}

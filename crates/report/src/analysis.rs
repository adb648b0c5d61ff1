//! What is worth knowing about a run: one file a question.

mod accesses;
mod chip;
mod critical;
mod patterns;
mod profile;
mod shares;
mod traffic;
mod waits;

pub use accesses::Accesses;
pub use chip::{ChipUse, LinkLoad, STEPS};
pub use critical::{CriticalPath, Piece};
pub use patterns::{Pattern, PatternSite, PatternSum};
pub use profile::CallSite;
pub use shares::{Imbalance, Shares};
pub use traffic::{SizeClass, Traffic};
pub use waits::{Cause, WaitGroup, Waits};

use crate::run::Run;

/// The answers.
pub struct Analysis {
    /// Where each rank's time went.
    pub shares: Vec<Shares>,
    /// How unequal the ranks' work was.
    pub imbalance: Option<Imbalance>,
    /// Who waited for whom.
    pub waits: Waits,
    /// The waits by pattern, longest first.
    pub patterns: Vec<PatternSum>,
    /// Calls by function and call site, longest first.
    pub profile: Vec<CallSite>,
    /// The chain of work and messages that decided how long the run took.
    pub critical: CriticalPath,
    /// Who sent how much to whom, and how.
    pub traffic: Traffic,
    /// Who reached how much of whose memory.
    pub accesses: Accesses,
    /// The chip's links, memories and power.
    pub chip: Option<ChipUse>,
}

impl Analysis {
    /// Analyses a run.
    pub fn of(run: &Run) -> Analysis {
        let shares: Vec<Shares> = run.ranks.iter().map(Shares::of).collect();
        let waits = Waits::of(run);
        Analysis {
            patterns: PatternSum::all(run, &waits),
            profile: CallSite::all(run),
            imbalance: Imbalance::of(&shares),
            shares,
            waits,
            critical: CriticalPath::of(run),
            traffic: Traffic::of(run),
            accesses: Accesses::of(run),
            chip: run.chip.as_ref().map(|chip| ChipUse::of(chip, run.duration)),
        }
    }
}

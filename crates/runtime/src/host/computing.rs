//! Where the time of computing on a chip came from: the program declared it, or it was counted; and what to say if neither was.

use std::rc::Rc;

use engine::CountedWork;

use crate::chip::{Chip, Stats};
use crate::loader::Tally;

/// The cycles that all ranks have computed.
pub(super) struct Computing {
    pub declared: u64,
    pub counted: u64,
    /// Some program declares, if only that it computes nothing.
    declares: bool,
    /// Some program counts.
    counts: bool,
}

impl Computing {
    pub(super) fn of(tallies: &[Rc<Tally>], stats: &Stats) -> Computing {
        let counted: u64 = tallies.iter().map(|tally| tally.total()).sum();
        Computing {
            declared: stats.worked.saturating_sub(counted),
            counted,
            declares: stats.declared,
            counts: tallies.iter().any(|tally| tally.is_counted()),
        }
    }

    /// Why the virtual time may be less than the program's, in a sentence.
    pub(super) fn doubt(&self, chip: &Chip, measured: bool) -> Option<String> {
        if self.counts && chip.core.is_none() {
            return Some(format!(
                "the program counts what it computes, but {} does not say what instructions cost ([core]): computing takes no time in this run",
                chip.name
            ));
        }
        (!self.counts && !self.declares && !measured).then(|| {
            "the program neither declares nor counts what it computes, so virtual time is that of communication alone: build it with mpicc \
             --count, call MPIX_Compute, or run it with --scale"
                .into()
        })
    }
}

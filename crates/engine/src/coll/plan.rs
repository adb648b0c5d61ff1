//! A collective that is described and ready to run, in one of MPI's three forms.

use super::barrier;
use crate::progress::request::RequestId;
use crate::rank::Rank;
use crate::schedule::Steps;
use crate::values::comm::Comm;
use crate::values::error::Result;

/// What this member does in a collective. Its place among the collectives of the communicator is taken: the others wait for it.
#[must_use = "the other members wait for it"]
pub struct Plan<'r> {
    rank: &'r Rank,
    what: What,
}

enum What {
    Steps(Steps),
    /// A barrier by the fabric's signals, which have a blocking form only.
    Signals(Comm),
    /// It was begun.
    Gone,
}

impl<'r> Plan<'r> {
    pub(super) fn of(rank: &'r Rank, steps: Steps) -> Plan<'r> {
        Plan { rank, what: What::Steps(steps) }
    }

    pub(super) fn by_signals(rank: &'r Rank, comm: &Comm) -> Plan<'r> {
        Plan { rank, what: What::Signals(comm.clone()) }
    }

    /// Takes part and waits until it is done (the blocking form).
    #[inline]
    pub fn wait(mut self) -> Result<()> {
        match core::mem::replace(&mut self.what, What::Gone) {
            What::Steps(steps) => self.rank.run(steps),
            What::Signals(comm) => barrier::signals::run(self.rank, &comm),
            What::Gone => Ok(()),
        }
    }

    /// Takes part as long as the rank makes progress (the non-blocking form).
    pub fn start(mut self) -> Result<RequestId> {
        let steps = self.steps()?;
        self.rank.launch(steps)
    }

    /// Keeps it for [`Rank::start`](Rank::start), again and again (the persistent form).
    pub fn keep(mut self) -> Result<RequestId> {
        let steps = self.steps()?;
        self.rank.keep(steps)
    }

    fn steps(&mut self) -> Result<Steps> {
        match core::mem::replace(&mut self.what, What::Gone) {
            What::Steps(steps) => Ok(steps),
            What::Signals(comm) => barrier::plan(self.rank, &comm),
            What::Gone => unreachable!("a plan is begun once"),
        }
    }
}

impl Drop for Plan<'_> {
    /// One that nobody began gives its memory back.
    fn drop(&mut self) {
        if let What::Steps(steps) = core::mem::replace(&mut self.what, What::Gone) {
            self.rank.recycle(steps);
        }
    }
}

impl core::fmt::Debug for Plan<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("a collective that has not begun")
    }
}

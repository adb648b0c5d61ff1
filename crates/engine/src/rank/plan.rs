//! A collective that is described and ready to run, in one of MPI's three forms.

use crate::lane::Lane;
use crate::schedule::{Call, Steps};
use crate::values::comm::Comm;
use crate::values::error::Result;
use crate::values::request::RequestId;

/// What this member does in a collective. Its place among the collectives of the communicator is taken: the others wait for it.
#[must_use = "the other members wait for it"]
pub struct Plan<'r> {
    lane: &'r Lane,
    what: What,
}

enum What {
    Steps(Steps),
    /// What memory that the members share may serve, or signals, which have a blocking form only.
    Call(Comm, Call),
    /// It was begun.
    Gone,
}

impl<'r> Plan<'r> {
    pub(crate) fn of(lane: &'r Lane, steps: Steps) -> Plan<'r> {
        Plan { lane, what: What::Steps(steps) }
    }

    #[inline]
    pub(crate) fn to_be_made(lane: &'r Lane, comm: &Comm, call: Call) -> Plan<'r> {
        Plan { lane, what: What::Call(comm.clone(), call) }
    }

    /// Takes part and waits until it is done (the blocking form).
    #[inline]
    pub fn wait(mut self) -> Result<()> {
        let ended = match core::mem::replace(&mut self.what, What::Gone) {
            What::Steps(steps) => self.lane.run(steps),
            What::Call(comm, call) => call.run(self.lane, &comm),
            What::Gone => Ok(()),
        };
        if ended.is_ok() {
            self.lane.takes_in();
        }
        ended
    }

    /// The same where it lies: it is long, and short collectives take no longer than to move it a few times.
    #[inline(never)]
    pub fn take_part(&mut self) -> Result<()> {
        match &self.what {
            What::Call(comm, call) => {
                let ended = call.run(self.lane, comm);
                if ended.is_ok() {
                    self.lane.takes_in();
                }
                ended
            }
            _ => Plan { lane: self.lane, what: core::mem::replace(&mut self.what, What::Gone) }.wait(),
        }
    }

    /// Takes part as long as the rank makes progress (the non-blocking form).
    pub fn start(mut self) -> Result<RequestId> {
        let steps = match core::mem::replace(&mut self.what, What::Gone) {
            What::Steps(steps) => steps,
            What::Call(comm, call) => self.lane.under_way(&comm, call)?,
            What::Gone => unreachable!("a plan is begun once"),
        };
        self.lane.launch(steps)
    }

    /// Keeps it for [`Rank::start`](crate::Rank::start), again and again (the persistent form).
    pub fn keep(mut self) -> Result<RequestId> {
        let steps = match core::mem::replace(&mut self.what, What::Gone) {
            What::Steps(steps) => steps,
            What::Call(comm, call) => self.lane.kept(&comm, call)?,
            What::Gone => unreachable!("a plan is begun once"),
        };
        self.lane.keep(steps)
    }
}

impl Drop for Plan<'_> {
    /// One that nobody began gives its memory back.
    fn drop(&mut self) {
        if let What::Steps(steps) = core::mem::replace(&mut self.what, What::Gone) {
            self.lane.discard(steps);
        }
    }
}

impl core::fmt::Debug for Plan<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("a collective that has not begun")
    }
}

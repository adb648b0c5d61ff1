//! The direct receive: a blocking receive that stays out of the tables.
//!
//! A rank that waits in MPI_Recv for a short message, with no other receive posted, needs neither a request nor an entry in
//! the posted index: it is the only one that can take what arrives. It waits in one slot that arriving messages look at first.
//! If its message turns out to be anything but a whole eager one, the receive moves into the tables and goes on as any other.
//!
//! Invariant: the slot is filled only while the posted index is empty, so the receive in it is older than any posted later.

use fabric::Fabric;

use crate::comm::Comm;
use crate::core::Core;
use crate::envelope::Envelope;
use crate::error::Result;
use crate::ids::{Source, TagMatch};
use crate::matching::Pattern;
use crate::memory::RecvBuffer;
use crate::p2p::tag_of;
use crate::rank::Rank;
use crate::request::{RequestId, Status};

/// The receive that the rank waits in.
#[derive(Debug)]
pub(crate) struct Direct {
    pattern: Pattern,
    buffer: RecvBuffer,
    state: Progress,
}

#[derive(Debug)]
enum Progress {
    Waiting,
    /// The message is in the buffer, or was too long for it.
    Done(Result<Status>),
    /// It went on as a posted receive.
    Posted(RequestId),
}

impl Rank {
    /// Receives without the tables, if that is possible now.
    #[inline]
    pub(crate) fn recv_directly(
        &self,
        buffer: &RecvBuffer,
        source: Source,
        tag: TagMatch,
        comm: &Comm,
    ) -> Option<Result<Status>> {
        let source = match source {
            Source::Null => return None,
            Source::Any => None,
            Source::Rank(rank) => Some(rank),
        };
        let pattern = Pattern { context: comm.context(), source, tag: tag_of(tag) };
        if !self.core.borrow_mut().begin_direct(buffer, pattern) {
            return None;
        }
        Some(self.wait_for_direct())
    }

    /// As [`wait_until`](Rank::wait_until), with the core borrowed once a round: this is the loop of the shortest messages.
    fn wait_for_direct(&self) -> Result<Status> {
        let mut rounds = 0;
        loop {
            let idle = {
                let mut core = self.core.borrow_mut();
                if self.progress_with(&mut core) > 0 {
                    rounds = 0;
                }
                match &mut core.direct {
                    Some(Direct { state: Progress::Waiting, .. }) => {}
                    over => {
                        let over = over.take().map(|direct| direct.state);
                        drop(core);
                        return self.direct_outcome(over);
                    }
                }
                if let Err(error) = core.take_fault() {
                    core.direct = None;
                    return Err(error);
                }
                core.idle()
            };
            self.rest(rounds, idle);
            rounds += 1;
        }
    }

    fn direct_outcome(&self, over: Option<Progress>) -> Result<Status> {
        match over {
            Some(Progress::Done(outcome)) => outcome,
            Some(Progress::Posted(id)) => self.wait(id),
            Some(Progress::Waiting) | None => {
                Err(crate::Error::Internal { reason: "a receive ended without its message" })
            }
        }
    }
}

impl Core {
    /// Fills the slot; false if the receive has to go through the tables.
    #[inline]
    fn begin_direct(&mut self, buffer: &RecvBuffer, pattern: Pattern) -> bool {
        // Large receives are announced to their sender, which takes a request.
        let possible = self.direct.is_none()
            && self.posted.is_empty()
            && buffer.bytes() < self.tuning.receiver_first_min as u64
            && self.unexpected.find(&pattern).is_none();
        if possible {
            self.direct = Some(Direct { pattern, buffer: buffer.clone(), state: Progress::Waiting });
        }
        possible
    }

    /// True if the direct receive waits for this message.
    #[inline]
    pub(crate) fn direct_fits(&self, envelope: &Envelope) -> bool {
        matches!(&self.direct, Some(Direct { state: Progress::Waiting, pattern, .. }) if pattern.fits(envelope))
    }

    /// Completes the direct receive with a whole message.
    #[inline]
    pub(crate) fn finish_direct(&mut self, store: impl FnOnce(&RecvBuffer) -> Result<Status>) {
        if let Some(direct) = &mut self.direct {
            direct.state = Progress::Done(store(&direct.buffer));
        }
    }

    /// Moves the direct receive into the tables, where all other kinds of messages find it.
    pub(crate) fn post_direct(&mut self, fabric: &dyn Fabric) {
        let Some(Direct { pattern, buffer, .. }) = &self.direct else { return };
        let (pattern, buffer) = (*pattern, buffer.clone());
        let state = match self.start_receive(fabric, &buffer, pattern, None, true) {
            Ok(id) => Progress::Posted(id),
            Err(error) => Progress::Done(Err(error)),
        };
        if let Some(direct) = &mut self.direct {
            direct.state = state;
        }
    }
}

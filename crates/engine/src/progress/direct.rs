//! The direct receive: a blocking receive that stays out of the tables.
//!
//! A rank that waits in MPI_Recv for a short message, with no other receive posted, needs neither a request nor an entry in
//! the posted index: it is the only one that can take what arrives. It waits in one slot that arriving messages look at first.
//! If its message turns out to be anything but a whole eager one, the receive moves into the tables and goes on as any other.
//!
//! Invariant: the slot is filled only while the posted index is empty, so the receive in it is older than any posted later.

use fabric::{Fabric, Idle, Woke};

use crate::lane::waits::Interest;
use crate::progress::core::Core;
use crate::progress::matching::Pattern;
use crate::progress::request::{RequestId, Status};
use crate::rank::Rank;
use crate::rank::p2p::tag_of;
use crate::values::comm::Comm;
use crate::values::envelope::{Envelope, Kind};
use crate::values::error::{Error, Result};
use crate::values::ids::{ContextId, Source, TagMatch};
use crate::values::memory::RecvBuffer;

/// The slot. Plain numbers rather than nested values: they are written and read back within a few nanoseconds, and a copy of a
/// struct by wide moves right after its fields were written stalls for longer than everything else here takes.
#[derive(Debug, Default)]
pub(crate) struct Direct {
    stage: Stage,
    /// What it waits for.
    context: u32,
    source: Option<u32>,
    tag: Option<i32>,
    /// Where it goes; there while the slot is in use.
    buffer: Option<RecvBuffer>,
    /// Source and tag of what came, as one word: meaningful in [`Stage::Received`].
    received: u64,
    bytes: u64,
    /// Meaningful in [`Stage::Failed`].
    error: Option<Error>,
    /// Meaningful in [`Stage::Posted`].
    request: Option<RequestId>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Stage {
    #[default]
    Unused,
    Waiting,
    /// The message is in the buffer.
    Received,
    /// It was too long.
    Failed,
    /// The receive went on as a posted one.
    Posted,
}

impl Rank {
    /// Begins a receive that stays out of the tables, if that is possible now; [`wait_for_direct`](Rank::wait_for_direct)
    /// must follow.
    #[inline]
    pub(crate) fn begin_direct(
        &self,
        buffer: &RecvBuffer,
        source: Source,
        tag: TagMatch,
        comm: &Comm,
    ) -> bool {
        let source = match source {
            Source::Null => return false,
            Source::Any => None,
            Source::Rank(rank) => Some(rank),
        };
        let mut core = self.core.borrow_mut();
        let begun = core.begin_direct(buffer, comm.context(), source, tag_of(tag));
        if begun && core.watch.is_some() {
            let from = source.map(|rank| comm.node(rank));
            core.tell_of_receive(self.fabric(), from, (tag_of(tag), comm.context()), buffer.bytes());
            core.keep_direct_post();
        }
        begun
    }

    /// As [`wait_until`](Rank::wait_until), with the core borrowed once a round: this is the loop of the shortest messages.
    pub(crate) fn wait_for_direct(&self) -> Result<Status> {
        let mut rounds = 0;
        let mut stretch = 0;
        let mut shown = false;
        if self.parks_first {
            let idle = {
                let mut core = self.core.borrow_mut();
                core.begin_direct_wait(self.fabric(), &mut shown);
                // Nothing may come any more for a rank that is poisoned.
                core.fault.is_none().then(|| core.idle())
            };
            if let Some(idle) = idle {
                stretch = self.rest_in_direct(0, idle, stretch)?;
            }
        }
        loop {
            let idle = {
                let mut core = self.core.borrow_mut();
                if self.progress_with(&mut core) > 0 {
                    (rounds, stretch) = (0, 0);
                }
                if shown && core.direct.stage != Stage::Waiting {
                    core.end_direct_wait(self.fabric());
                }
                match core.direct.stage {
                    Stage::Waiting => {}
                    Stage::Received => {
                        core.direct.end();
                        let received = Envelope::of(&[0, core.direct.received, 0]);
                        return Ok(Status::received(&received, core.direct.bytes));
                    }
                    _ => {
                        drop(core);
                        return self.end_direct();
                    }
                }
                if let Err(error) = core.check_fault(self.fabric()) {
                    core.end_direct_wait(self.fabric());
                    core.direct.end();
                    return Err(error);
                }
                core.begin_direct_wait(self.fabric(), &mut shown);
                core.idle()
            };
            stretch = self.rest_in_direct(rounds, idle, stretch)?;
            rounds += 1;
        }
    }

    /// As [`rest`](Rank::rest), within a stretch of waiting; a receive that ends here lets go of its buffer.
    #[inline]
    fn rest_in_direct(&self, rounds: u32, idle: Idle, stretch: u64) -> Result<u64> {
        match self.rest(rounds, idle) {
            Woke::Again => Ok(stretch),
            woke => self
                .look_up(woke, stretch, Interest::Open)
                .inspect_err(|_| self.core.borrow_mut().direct.end()),
        }
    }

    /// The result of a direct receive that did not simply get its message.
    #[cold]
    fn end_direct(&self) -> Result<Status> {
        let (request, error) = {
            let direct = &mut self.core.borrow_mut().direct;
            direct.end();
            (direct.request.take(), direct.error.take())
        };
        match (request, error) {
            (Some(id), _) => self.wait(id),
            (None, Some(error)) => Err(error),
            (None, None) => Err(Error::Internal { reason: "a receive ended without its message" }),
        }
    }
}

impl Direct {
    #[inline]
    fn end(&mut self) {
        self.stage = Stage::Unused;
        self.buffer = None;
    }
}

impl Core {
    /// Fills the slot; false if the receive has to go through the tables.
    #[inline]
    fn begin_direct(
        &mut self,
        buffer: &RecvBuffer,
        context: ContextId,
        source: Option<u32>,
        tag: Option<i32>,
    ) -> bool {
        // Large receives are announced to their sender, which takes a request.
        let possible = self.direct.stage == Stage::Unused
            && self.posted.is_empty()
            && buffer.bytes() < self.choice.announce_min
            && (self.unexpected.is_empty()
                || self.unexpected.find(&Pattern { context, source, tag }).is_none());
        if possible {
            let direct = &mut self.direct;
            direct.context = context.0;
            direct.source = source;
            direct.tag = tag;
            direct.buffer = Some(buffer.clone());
            direct.stage = Stage::Waiting;
        }
        possible
    }

    /// What the direct receive waits for, if there is one.
    pub(crate) fn direct_pattern(&self) -> Option<Pattern> {
        let Direct { context, source, tag, .. } = self.direct;
        (self.direct.stage == Stage::Waiting).then_some(Pattern { context: ContextId(context), source, tag })
    }

    /// Bytes that the direct receive has room for.
    pub(crate) fn direct_bytes(&self) -> u64 {
        self.direct.buffer.as_ref().map_or(0, RecvBuffer::bytes)
    }

    /// True if the direct receive waits for this message.
    #[inline]
    pub(crate) fn direct_fits(&self, envelope: &Envelope) -> bool {
        let direct = &self.direct;
        direct.stage == Stage::Waiting
            && direct.context == envelope.context.0
            && match direct.source {
                Some(source) => source == envelope.source,
                None => envelope.source < self.peers.len(),
            }
            && match direct.tag {
                Some(tag) => tag == envelope.tag,
                None => envelope.tag >= 0,
            }
    }

    /// Completes the direct receive with a whole message, which `store` puts into its buffer.
    #[inline]
    pub(crate) fn finish_direct(
        &mut self,
        envelope: Envelope,
        bytes: u64,
        store: impl FnOnce(&RecvBuffer) -> Result<()>,
    ) {
        let direct = &mut self.direct;
        let Some(buffer) = &direct.buffer else { return };
        match store(buffer) {
            Ok(()) => {
                direct.received = envelope.header(Kind::Eager, 0)[1];
                direct.bytes = bytes;
                direct.stage = Stage::Received;
            }
            Err(error) => {
                direct.error = Some(error);
                direct.stage = Stage::Failed;
            }
        }
    }

    /// Moves the direct receive into the tables, where all other kinds of messages find it.
    pub(crate) fn post_direct(&mut self, fabric: &dyn Fabric) {
        let Direct { context, source, tag, .. } = self.direct;
        let Some(buffer) = self.direct.buffer.clone() else { return };
        let pattern = Pattern { context: ContextId(context), source, tag };
        match self.find_or_post(fabric, &buffer, pattern, None, true) {
            Ok(id) => {
                self.direct.request = Some(id);
                self.direct.stage = Stage::Posted;
            }
            Err(error) => {
                self.direct.error = Some(error);
                self.direct.stage = Stage::Failed;
            }
        }
    }
}

//! The direct receive: a blocking receive that stays out of the tables.
//!
//! A rank that waits in MPI_Recv for a short message, with no other receive posted, needs neither a request nor an entry in
//! the posted index: it is the only one that can take what arrives. It waits in one slot that arriving messages look at first.
//! If its message turns out to be anything but a whole eager one, the receive moves into the tables and goes on as any other.
//!
//! Invariant: the slot is filled only while the posted index is empty, so the receive in it is older than any posted later.

use fabric::Fabric;

use crate::progress::core::Core;
use crate::progress::tables::matching::Pattern;
use crate::progress::tables::slot::{Direct, Stage};
use crate::values::envelope::{Envelope, Kind};
use crate::values::error::Result;
use crate::values::ids::ContextId;
use crate::values::memory::RecvBuffer;

impl Core {
    /// Fills the slot; false if the receive has to go through the tables.
    #[inline]
    pub fn begin_direct(
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

    /// True if the next message that comes can only be for the receive that is begun now, and nothing but messages is to be seen to.
    #[inline(always)]
    pub fn is_quiet(&self) -> bool {
        let waiting = self.posted.len() | self.unexpected.len();
        waiting | self.backlog() == 0 && self.watch.is_none() && self.fault.is_none()
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

//! Starting sends and receives.

use fabric::Node;

use crate::lane::Lane;
use crate::progress::core::Core;
use crate::progress::protocol::{Completion, Manner, Meanwhile};
use crate::progress::tables::matching::Pattern;
use crate::progress::tables::request::Request;
use crate::values::comm::Comm;
use crate::values::envelope::Envelope;
use crate::values::error::Result;
use crate::values::ids::{ContextId, Source, Tag, TagMatch};
use crate::values::memory::{RecvBuffer, SendBuffer};
use crate::values::request::{RequestId, Status};

impl Lane {
    /// Starts a send in a given context: collectives have one of their own.
    #[inline]
    pub fn begin_send(
        &self,
        context: ContextId,
        buffer: &SendBuffer,
        to: u32,
        tag: Tag,
        comm: &Comm,
        manner: Manner,
    ) -> Result<RequestId> {
        buffer.check()?;
        let envelope = Envelope { context, source: comm.rank(), tag: tag.value() };
        let mut core = self.core.borrow_mut();
        let node = comm.node(to);
        if buffer.bytes() >= core.choice.announce_min {
            self.look_before_send(&mut core, node, buffer.bytes());
        }
        core.start_send(self.fabric(), buffer, node, envelope, manner)
    }

    /// Sends a short message to a rank that there is, if that takes no more than a letter; false, and nothing was sent, if it does.
    #[inline(always)]
    pub fn send_at_once(&self, message: &[u8], to: u32, tag: Tag, comm: &Comm) -> bool {
        let Some(node) = comm.node_if_any(to) else { return false };
        let envelope = Envelope { context: comm.context(), source: comm.rank(), tag: tag.value() };
        self.core.borrow_mut().send_at_once(self.fabric(), message, node, &envelope)
    }

    /// Begins a receive of a short message of one tag from one rank; `None`, and nothing was begun, if it takes more than most do.
    #[inline(always)]
    pub fn begin_at_once(&self, buffer: &RecvBuffer, from: u32, tag: Tag, comm: &Comm) -> Option<RequestId> {
        if from >= comm.peers().size() {
            return None;
        }
        let pattern = Pattern { context: comm.context(), source: Some(from), tag: Some(tag.value()) };
        self.core.borrow_mut().receive_plainly(self.fabric(), buffer, pattern)
    }

    /// A rendezvous looks at its mailbox before it chooses: the announcement of the receive, or the offer of the send, may lie there, and saves
    /// the letters by which the two would cross. Where messages go both ways nobody announces anything, and what lies there may be the offer of as long a message: to fetch that before this one is offered would let the peer wait,
    /// who could fetch this one meanwhile.
    #[cold]
    #[inline(never)]
    fn look_before_send(&self, core: &mut Core, to: Node, bytes: u64) {
        if !core.liked_letters(to, bytes) && core.may_be_announced_by(to) {
            self.progress_with(core);
        }
    }

    /// The same before a receive. One that does not announce itself is posted first: pieces of a message in letters that lie there would be kept before they are received.
    #[cold]
    #[inline(never)]
    fn look_before_receive(&self, core: &mut Core, pattern: &Pattern, from: Option<Node>) {
        if from.is_some_and(|from| core.announces_to(from)) && core.posted.is_next(pattern) {
            self.progress_with(core);
        }
    }

    /// As [`begin_send`](Lane::begin_send), in the usual manner.
    #[inline]
    pub fn isend_in(
        &self,
        context: ContextId,
        buffer: &SendBuffer,
        to: u32,
        tag: Tag,
        comm: &Comm,
    ) -> Result<RequestId> {
        let manner = Manner { completion: Completion::Local, booked: None, meanwhile: Meanwhile::Anything };
        self.begin_send(context, buffer, to, tag, comm, manner)
    }

    /// Starts a receive in a given context. `waiting` says that the caller does nothing but wait for it.
    #[inline]
    pub fn begin_receive(
        &self,
        context: ContextId,
        buffer: &RecvBuffer,
        source: Source,
        tag: TagMatch,
        comm: &Comm,
        waiting: bool,
    ) -> Result<RequestId> {
        buffer.check()?;
        let mut core = self.core.borrow_mut();
        let source = match source {
            Source::Null => return core.add_request(self.fabric(), Request::complete(Ok(Status::NULL))),
            Source::Any => None,
            Source::Rank(rank) => Some(rank),
        };
        let pattern = Pattern { context, source, tag: tag.value() };
        let node = source.map(|rank| comm.node(rank));
        if buffer.bytes() >= core.choice.announce_min {
            self.look_before_receive(&mut core, &pattern, node);
        }
        core.start_receive(self.fabric(), buffer, pattern, node, waiting)
    }
}

//! Sends and receives (MPI sections 3.2 to 3.7 and 3.11).

use crate::progress::matching::Pattern;
use crate::progress::protocol::{Completion, Manner};
use crate::progress::request::{Request, RequestId, Status};
use crate::rank::Rank;
use crate::values::comm::Comm;
use crate::values::envelope::Envelope;
use crate::values::error::Result;
use crate::values::ids::{ContextId, Dest, Source, Tag, TagMatch};
use crate::values::memory::{RecvBuffer, SendBuffer};

/// The four send modes (MPI section 3.4).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Completes when the buffer may be reused.
    Standard,
    /// Completes when the receive has started, too.
    Synchronous,
    /// Completes at once: the message is copied into the attached buffer.
    Buffered,
    /// The caller knows that the receive is posted. Sent as in standard mode.
    Ready,
}

impl Rank {
    /// Sends and waits until the buffer may be reused.
    #[inline]
    pub fn send(&self, mode: Mode, buffer: &SendBuffer, dest: Dest, tag: Tag, comm: &Comm) -> Result<()> {
        let id = self.begin_send(comm.context(), mode, buffer, dest, tag, comm, true)?;
        if id != RequestId::SENT {
            self.wait(id)?;
        }
        Ok(())
    }

    /// Starts a send.
    #[inline]
    pub fn isend(
        &self,
        mode: Mode,
        buffer: &SendBuffer,
        dest: Dest,
        tag: Tag,
        comm: &Comm,
    ) -> Result<RequestId> {
        self.isend_in(comm.context(), mode, buffer, dest, tag, comm)
    }

    /// Receives and waits for the message.
    #[inline]
    pub fn recv(&self, buffer: &RecvBuffer, source: Source, tag: TagMatch, comm: &Comm) -> Result<Status> {
        if self.begin_direct(buffer, source, tag, comm) {
            return self.wait_for_direct();
        }
        let id = self.begin_receive(comm.context(), buffer, source, tag, comm, true)?;
        self.wait(id)
    }

    /// Starts a receive.
    #[inline]
    pub fn irecv(
        &self,
        buffer: &RecvBuffer,
        source: Source,
        tag: TagMatch,
        comm: &Comm,
    ) -> Result<RequestId> {
        self.irecv_in(comm.context(), buffer, source, tag, comm)
    }

    /// Sends one message and receives another at the same time.
    pub fn sendrecv(
        &self,
        send: (&SendBuffer, Dest, Tag),
        receive: (&RecvBuffer, Source, TagMatch),
        comm: &Comm,
    ) -> Result<Status> {
        let (sending, receiving) = self.begin_both(send, receive, comm)?;
        let received = self.wait(receiving);
        self.wait(sending)?;
        received
    }

    /// As [`sendrecv`](Rank::sendrecv) without waiting. The result of the request is that of the receive.
    pub fn isendrecv(
        &self,
        send: (&SendBuffer, Dest, Tag),
        receive: (&RecvBuffer, Source, TagMatch),
        comm: &Comm,
    ) -> Result<RequestId> {
        let (sending, receiving) = self.begin_both(send, receive, comm)?;
        self.join("sendrecv", &[sending, receiving], Some(receiving))
    }

    fn begin_both(
        &self,
        send: (&SendBuffer, Dest, Tag),
        receive: (&RecvBuffer, Source, TagMatch),
        comm: &Comm,
    ) -> Result<(RequestId, RequestId)> {
        let receiving = self.irecv(receive.0, receive.1, receive.2, comm)?;
        match self.isend(Mode::Standard, send.0, send.1, send.2, comm) {
            Ok(sending) => Ok((sending, receiving)),
            Err(error) => {
                // Not before the receive is over: until then the buffer is not the caller's.
                self.cancel(receiving)?;
                let _ = self.wait(receiving);
                Err(error)
            }
        }
    }

    /// Sends the contents of `buffer` and receives another message into it.
    pub fn sendrecv_replace(
        &self,
        buffer: &RecvBuffer,
        to: (Dest, Tag),
        from: (Source, TagMatch),
        comm: &Comm,
    ) -> Result<Status> {
        let outgoing = SendBuffer::owned(buffer.copied());
        self.sendrecv((&outgoing, to.0, to.1), (buffer, from.0, from.1), comm)
    }

    /// As [`sendrecv_replace`](Rank::sendrecv_replace) without waiting.
    pub fn isendrecv_replace(
        &self,
        buffer: &RecvBuffer,
        to: (Dest, Tag),
        from: (Source, TagMatch),
        comm: &Comm,
    ) -> Result<RequestId> {
        let outgoing = SendBuffer::owned(buffer.copied());
        self.isendrecv((&outgoing, to.0, to.1), (buffer, from.0, from.1), comm)
    }

    /// As [`isend`](Rank::isend), in a given context: collectives have one of their own.
    #[inline]
    pub(crate) fn isend_in(
        &self,
        context: ContextId,
        mode: Mode,
        buffer: &SendBuffer,
        dest: Dest,
        tag: Tag,
        comm: &Comm,
    ) -> Result<RequestId> {
        self.begin_send(context, mode, buffer, dest, tag, comm, false)
    }

    /// As [`irecv`](Rank::irecv), in a given context.
    #[inline]
    pub(crate) fn irecv_in(
        &self,
        context: ContextId,
        buffer: &RecvBuffer,
        source: Source,
        tag: TagMatch,
        comm: &Comm,
    ) -> Result<RequestId> {
        self.begin_receive(context, buffer, source, tag, comm, false)
    }

    /// `waiting` says that the caller does nothing but wait for this send, and may be asked to help with the copy.
    #[inline]
    #[allow(clippy::too_many_arguments, reason = "an MPI send has that many")]
    fn begin_send(
        &self,
        context: ContextId,
        mode: Mode,
        buffer: &SendBuffer,
        dest: Dest,
        tag: Tag,
        comm: &Comm,
        waiting: bool,
    ) -> Result<RequestId> {
        let Dest::Rank(rank) = dest else { return Ok(RequestId::SENT) };
        buffer.check()?;
        let to = comm.node(rank);
        let envelope = Envelope { context, source: comm.rank(), tag: tag.value() };
        if mode == Mode::Buffered {
            return self.send_buffered(buffer, to, envelope);
        }
        let completion = if mode == Mode::Synchronous { Completion::Matched } else { Completion::Local };
        let manner = Manner { completion, booked: None, waiting };
        self.core.borrow_mut().start_send(self.fabric(), buffer, to, envelope, manner)
    }

    #[inline]
    fn begin_receive(
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
        let pattern = Pattern { context, source, tag: tag_of(tag) };
        let node = source.map(|rank| comm.node(rank));
        core.start_receive(self.fabric(), buffer, pattern, node, waiting)
    }
}

pub(crate) fn tag_of(tag: TagMatch) -> Option<i32> {
    match tag {
        TagMatch::Any => None,
        TagMatch::Is(tag) => Some(tag.value()),
    }
}

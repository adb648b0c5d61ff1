//! Sends and receives (MPI sections 3.2 to 3.7 and 3.11).

use crate::progress::protocol::{Completion, Manner, Meanwhile};
use crate::rank::Rank;
use crate::values::comm::Comm;
use crate::values::error::{Error, Result};
use crate::values::ids::{Dest, Source, Tag, TagMatch};
use crate::values::memory::{RecvBuffer, SendBuffer};
use crate::values::mode::Mode;
use crate::values::request::{RequestId, Status};

impl Rank {
    /// Sends and waits until the buffer may be reused.
    #[inline]
    pub fn send(&self, mode: Mode, buffer: &SendBuffer, dest: Dest, tag: Tag, comm: &Comm) -> Result<()> {
        let id = self.begin_send(mode, buffer, dest, tag, comm, Meanwhile::Waits)?;
        if id != RequestId::SENT {
            self.wait(id)?;
        }
        Ok(())
    }

    /// Sends a short message, if that takes no more than a letter; false, and nothing was sent, if it does.
    #[inline(always)]
    pub fn send_at_once(&self, message: &[u8], to: u32, tag: Tag, comm: &Comm) -> bool {
        self.lane.send_at_once(message, to, tag, comm)
    }

    /// Receives a short message that is the next to come, and here or about to be. Its bytes; `None`, and nothing was received, if it is not so.
    #[inline(always)]
    pub fn receive_at_once(&self, room: &mut [u8], from: u32, tag: Tag, comm: &Comm) -> Option<u64> {
        self.lane.receive_at_once(room, from, tag, comm)
    }

    /// The message that was just [sent](Rank::send_at_once) crosses the one that is [received](Rank::receive_at_once) next.
    #[inline(always)]
    pub fn crosses(&self) {
        self.lane.fabric().crosses();
    }

    /// Starts a receive of a short message of one source and tag; `None`, and nothing was begun, if it takes more than most do.
    #[inline(always)]
    pub fn begin_at_once(&self, buffer: &RecvBuffer, from: u32, tag: Tag, comm: &Comm) -> Option<RequestId> {
        self.lane.begin_at_once(buffer, from, tag, comm)
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
        self.begin_send(mode, buffer, dest, tag, comm, Meanwhile::Anything)
    }

    /// Receives and waits for the message.
    #[inline]
    pub fn recv(&self, buffer: &RecvBuffer, source: Source, tag: TagMatch, comm: &Comm) -> Result<Status> {
        if self.lane.begin_direct(buffer, source, tag, comm) {
            return self.lane.wait_for_direct();
        }
        let id = self.lane.begin_receive(comm.context(), buffer, source, tag, comm, true)?;
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
        self.lane.begin_receive(comm.context(), buffer, source, tag, comm, false)
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
        self.lane.join("sendrecv", &[sending, receiving], Some(receiving))
    }

    /// The receive is posted first, so that what comes finds it; but where messages that cross are offered, what it finds may be the offer of as long a message. To fetch that before this one is offered would let the
    /// peer wait, who could fetch this one meanwhile.
    fn begin_both(
        &self,
        send: (&SendBuffer, Dest, Tag),
        receive: (&RecvBuffer, Source, TagMatch),
        comm: &Comm,
    ) -> Result<(RequestId, RequestId)> {
        let begin_send =
            || self.begin_send(Mode::Standard, send.0, send.1, send.2, comm, Meanwhile::Receives);
        let begin_receive = || self.irecv(receive.0, receive.1, receive.2, comm);
        let sends_first = self.lane.core.borrow().choice.offers_first(send.0.bytes());
        if sends_first {
            receive.0.check()?;
            let sending = begin_send()?;
            let receiving = begin_receive().or_else(|error| self.end_other(sending, error))?;
            return Ok((sending, receiving));
        }
        let receiving = begin_receive()?;
        let sending = begin_send().or_else(|error| self.end_other(receiving, error))?;
        Ok((sending, receiving))
    }

    /// Ends what was begun together with something that failed. Not before it is over: until then the buffer is not the caller's.
    #[cold]
    fn end_other(&self, begun: RequestId, error: Error) -> Result<RequestId> {
        if begun != RequestId::SENT {
            self.cancel(begun)?;
            let _ = self.wait(begun);
        }
        Err(error)
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

    #[inline]
    fn begin_send(
        &self,
        mode: Mode,
        buffer: &SendBuffer,
        dest: Dest,
        tag: Tag,
        comm: &Comm,
        meanwhile: Meanwhile,
    ) -> Result<RequestId> {
        let Dest::Rank(to) = dest else { return Ok(RequestId::SENT) };
        if mode == Mode::Buffered {
            return self.send_buffered(buffer, to, tag, comm);
        }
        let completion = if mode == Mode::Synchronous { Completion::Matched } else { Completion::Local };
        let manner = Manner { completion, booked: None, meanwhile };
        self.lane.begin_send(comm.context(), buffer, to, tag, comm, manner)
    }
}

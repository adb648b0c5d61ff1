//! Probing, and messages taken out of matching (MPI section 3.8).

use crate::lane::statement::Interest;
use crate::progress::tables::matching::Pattern;
use crate::progress::tables::request::Request;
use crate::rank::Rank;
use crate::values::comm::Comm;
use crate::values::error::{Error, Result};
use crate::values::ids::{Source, TagMatch};
use crate::values::memory::RecvBuffer;
use crate::values::request::{RequestId, Status};
use crate::values::slab::Key;

/// A message that a matched probe has taken out: only its holder can receive it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Message {
    /// A message in the rank's table.
    Waiting(MessageId),
    /// The message of a null process (MPI_MESSAGE_NO_PROC).
    Null,
}

/// Names a message of one rank; stale once it is received.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MessageId(Key);

impl MessageId {
    /// As one word: never below 2^32, never reused.
    pub const fn to_bits(self) -> u64 {
        self.0
    }

    /// From a word; an arbitrary one names no message, and using it is an error.
    pub const fn from_bits(bits: u64) -> MessageId {
        MessageId(bits)
    }
}

impl Rank {
    /// Waits for a message that fits and tells of it without receiving it.
    pub fn probe(&self, source: Source, tag: TagMatch, comm: &Comm) -> Result<Status> {
        let Some(pattern) = pattern(source, tag, comm) else { return Ok(Status::NULL) };
        let mut found = self.look(&pattern);
        if found.is_none() {
            self.lane.wait_about(Interest::Probe(pattern), |_| {
                found = self.look(&pattern);
                found.is_some()
            })?;
        }
        found.ok_or(Error::Internal { reason: "a probe ended without a message" })
    }

    /// As [`probe`](Rank::probe), without waiting.
    pub fn iprobe(&self, source: Source, tag: TagMatch, comm: &Comm) -> Result<Option<Status>> {
        let Some(pattern) = pattern(source, tag, comm) else { return Ok(Some(Status::NULL)) };
        if let Some(status) = self.look(&pattern) {
            return Ok(Some(status));
        }
        self.lane.poke_about(Interest::Probe(pattern))?;
        Ok(self.look(&pattern))
    }

    /// Whether a message that fits is there already. Neither waits nor makes progress, so that asking is no waiting either.
    pub fn has_arrived(&self, source: Source, tag: TagMatch, comm: &Comm) -> bool {
        pattern(source, tag, comm).is_some_and(|pattern| self.look(&pattern).is_some())
    }

    /// Waits for a message that fits and takes it out of matching.
    pub fn mprobe(&self, source: Source, tag: TagMatch, comm: &Comm) -> Result<(Message, Status)> {
        loop {
            self.probe(source, tag, comm)?;
            // None if its sender has cancelled it meanwhile.
            if let Some(taken) = self.extract(source, tag, comm)? {
                return Ok(taken);
            }
        }
    }

    /// As [`mprobe`](Rank::mprobe), without waiting.
    pub fn improbe(&self, source: Source, tag: TagMatch, comm: &Comm) -> Result<Option<(Message, Status)>> {
        match self.iprobe(source, tag, comm)? {
            Some(_) => self.extract(source, tag, comm),
            None => Ok(None),
        }
    }

    /// Receives a message that a probe has taken out.
    pub fn mrecv(&self, buffer: &RecvBuffer, message: Message) -> Result<Status> {
        let id = self.imrecv(buffer, message)?;
        self.wait(id)
    }

    /// As [`mrecv`](Rank::mrecv), without waiting.
    pub fn imrecv(&self, buffer: &RecvBuffer, message: Message) -> Result<RequestId> {
        let mut core = self.lane.core.borrow_mut();
        match message {
            Message::Null => core.add_request(self.fabric(), Request::complete(Ok(Status::NULL))),
            Message::Waiting(MessageId(key)) => core.receive_message(self.fabric(), buffer, key),
        }
    }

    fn look(&self, pattern: &Pattern) -> Option<Status> {
        let mut core = self.lane.core.borrow_mut();
        let message = core.find_unexpected(self.fabric(), pattern)?;
        let arrived = core.messages.get(message)?;
        Some(Status::received(&arrived.envelope, arrived.length))
    }

    fn extract(&self, source: Source, tag: TagMatch, comm: &Comm) -> Result<Option<(Message, Status)>> {
        let Some(pattern) = pattern(source, tag, comm) else {
            return Ok(Some((Message::Null, Status::NULL)));
        };
        let mut core = self.lane.core.borrow_mut();
        let Some(key) = core.take_unexpected(self.fabric(), &pattern) else { return Ok(None) };
        let Some(arrived) = core.messages.get(key) else {
            return Err(Error::Internal { reason: "a probed message vanished" });
        };
        let status = Status::received(&arrived.envelope, arrived.length);
        Ok(Some((Message::Waiting(MessageId(key)), status)))
    }
}

fn pattern(source: Source, tag: TagMatch, comm: &Comm) -> Option<Pattern> {
    let source = match source {
        Source::Null => return None,
        Source::Any => None,
        Source::Rank(rank) => Some(rank),
    };
    Some(Pattern { context: comm.context(), source, tag: tag.value() })
}

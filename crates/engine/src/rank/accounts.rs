//! The attached buffers of a rank, as accounts of bytes (see `buffered`).

use alloc::vec::Vec;

use crate::values::comm::Comm;
use crate::values::ids::ContextId;
use crate::values::request::RequestId;

/// Whose messages a buffer is for.
#[derive(Clone, Copy, Debug)]
pub enum Holder<'a> {
    /// All that have no other.
    Process,
    /// A communicator's.
    Comm(&'a Comm),
    /// Those of the communicators of a session that have none of their own.
    Session(u32),
}

/// A holder, as the table knows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Of {
    Process,
    Comm(ContextId),
    Session(u32),
}

impl From<Holder<'_>> for Of {
    fn from(holder: Holder<'_>) -> Of {
        match holder {
            Holder::Process => Of::Process,
            Holder::Comm(comm) => Of::Comm(comm.context()),
            Holder::Session(number) => Of::Session(number),
        }
    }
}

/// The attached buffers.
#[derive(Debug, Default)]
pub(crate) struct Accounts(pub Vec<Attached>);

/// An attached buffer, and the messages that are booked on it.
#[derive(Debug)]
pub(crate) struct Attached {
    pub of: Of,
    pub address: usize,
    pub bytes: u64,
    pub in_flight: Vec<InFlight>,
}

/// A message that is booked on a buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct InFlight {
    /// Its lane, and its request there.
    pub lane: u32,
    pub id: RequestId,
    pub bytes: u64,
}

impl Attached {
    pub fn used(&self) -> u64 {
        self.in_flight.iter().map(|message| message.bytes).sum()
    }

    /// Takes one out that is in this lane.
    pub fn pop(&mut self, lane: u32) -> Option<RequestId> {
        let at = self.in_flight.iter().rposition(|message| message.lane == lane)?;
        Some(self.in_flight.swap_remove(at).id)
    }
}

impl Accounts {
    pub fn at(&mut self, of: Of) -> Option<&mut Attached> {
        self.0.iter_mut().find(|attached| attached.of == of)
    }

    /// The one that a message on a communicator is booked on.
    pub fn for_message(&mut self, comm: &Comm) -> Option<&mut Attached> {
        let nearest = [Of::Comm(comm.context()), Of::Session(comm.group().session())];
        let of = nearest.into_iter().find(|of| self.0.iter().any(|attached| attached.of == *of));
        self.at(of.unwrap_or(Of::Process))
    }
}

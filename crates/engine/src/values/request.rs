//! What requests are called, and what they tell when they are complete (MPI sections 3.2.5 and 3.7).

use crate::values::envelope::Envelope;
use crate::values::ids::{Source, Tag, TagMatch};
use crate::values::slab::Key;

/// Names a request of one rank. Stale once the request has been completed and taken, or freed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct RequestId(Key);

impl RequestId {
    /// The request of a send that was complete when it was started. Shared by all of them, so that small sends need no
    /// entry in the table; completing it changes nothing.
    pub const SENT: RequestId = RequestId(u64::MAX);

    /// As one word: never below 2^32, never reused.
    pub const fn to_bits(self) -> u64 {
        self.0
    }

    /// From a word; an arbitrary one names no request, and using it is an error.
    pub const fn from_bits(bits: u64) -> RequestId {
        RequestId(bits)
    }

    pub(crate) const fn key(self) -> Key {
        self.0
    }
}

/// Requests of a program, of which it waits for the first: an array that may have gaps.
#[allow(clippy::len_without_is_empty, reason = "nobody asks")]
pub trait List {
    /// How many places it has.
    fn len(&self) -> usize;

    /// The request at a place; none behind the last.
    fn get(&self, place: usize) -> Option<RequestId>;

    /// The first place from `from` on whose request is not the one that was seen there.
    fn differs(&self, seen: &[u64], from: usize) -> Option<usize> {
        (from..self.len()).find(|place| seen.get(*place) != Some(&word(self.get(*place))))
    }
}

/// A request as it is remembered, 0 for none. A number that names no request is another one.
pub(crate) fn word(request: Option<RequestId>) -> u64 {
    request.map_or(0, |id| id.to_bits().max(1))
}

impl<T: AsRef<[Option<RequestId>]>> List for T {
    fn len(&self) -> usize {
        self.as_ref().len()
    }

    fn get(&self, place: usize) -> Option<RequestId> {
        self.as_ref().get(place).copied().flatten()
    }
}

/// What a completed operation tells (MPI section 3.2.5).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Status {
    /// Where the message came from; [`Source::Null`] for a null process, [`Source::Any`] for operations without a source.
    pub source: Source,
    /// Its tag; [`TagMatch::Any`] for operations without one.
    pub tag: TagMatch,
    /// Bytes received.
    pub bytes: u64,
    /// The operation was cancelled.
    pub cancelled: bool,
}

impl Status {
    /// The status of sends, collectives and inactive requests.
    pub const EMPTY: Status = Status { source: Source::Any, tag: TagMatch::Any, bytes: 0, cancelled: false };
    /// The status of a receive from a null process.
    pub const NULL: Status = Status { source: Source::Null, tag: TagMatch::Any, bytes: 0, cancelled: false };
    pub(crate) const CANCELLED: Status = Status { cancelled: true, ..Status::EMPTY };

    /// The status of a message.
    pub fn of_message(source: u32, tag: Tag, bytes: u64) -> Status {
        Status { source: Source::Rank(source), tag: TagMatch::Is(tag), bytes, cancelled: false }
    }

    pub(crate) fn received(envelope: &Envelope, bytes: u64) -> Status {
        Status::of_message(envelope.source, Tag::from_wire(envelope.tag), bytes)
    }
}

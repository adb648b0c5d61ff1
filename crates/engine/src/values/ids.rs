//! Numbers that must not be mixed up.

use crate::values::error::{Error, Result};

/// A message tag: 0 to [`Tag::MAX`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Tag(i32);

impl Tag {
    /// The largest tag (MPI_TAG_UB).
    pub const MAX: i32 = i32::MAX;

    /// Checks the range.
    pub fn new(value: i64) -> Result<Tag> {
        if (0..=Tag::MAX as i64).contains(&value) {
            Ok(Tag(value as i32))
        } else {
            Err(Error::Tag { given: value })
        }
    }

    /// A tag known to be valid, for the library's own traffic.
    pub const fn own(value: u16) -> Tag {
        Tag(value as i32)
    }

    pub(crate) const fn from_wire(value: i32) -> Tag {
        Tag(value)
    }

    /// The number.
    pub const fn value(self) -> i32 {
        self.0
    }
}

/// Which tags a receive takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TagMatch {
    /// MPI_ANY_TAG.
    Any,
    /// This one.
    Is(Tag),
}

impl TagMatch {
    /// The number; `None` for any.
    pub(crate) const fn value(self) -> Option<i32> {
        match self {
            TagMatch::Any => None,
            TagMatch::Is(tag) => Some(tag.0),
        }
    }
}

/// Whom a receive takes messages from: a rank of the communicator (of its remote group on an intercommunicator).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Source {
    /// MPI_ANY_SOURCE.
    Any,
    /// This rank.
    Rank(u32),
    /// MPI_PROC_NULL: the receive completes at once with nothing.
    Null,
}

/// Where a send goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dest {
    /// This rank.
    Rank(u32),
    /// MPI_PROC_NULL: the send does nothing.
    Null,
}

/// The root of a collective, as this process sees it (MPI section 6.2.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Root {
    /// This rank: of the communicator, or of the remote group of an intercommunicator.
    Rank(u32),
    /// This process, on an intercommunicator (MPI_ROOT).
    Me,
    /// Another process of the local group, on an intercommunicator (MPI_PROC_NULL).
    Beside,
}

impl From<u32> for Root {
    fn from(rank: u32) -> Root {
        Root::Rank(rank)
    }
}

/// Separates the traffic of communicators. A communicator has a number, and two neighbouring contexts by it: the even one for
/// point-to-point messages, the odd one for collectives; and a few more for what goes on beside these.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct ContextId(pub(crate) u32);

impl ContextId {
    pub(crate) const WORLD: ContextId = ContextId(0);
    pub(crate) const SELF: ContextId = ContextId(2);
    pub(crate) const LOCAL: ContextId = ContextId(4);
    pub(crate) const UNIVERSE: ContextId = ContextId(6);
    /// Numbers are below this: what is above tells the contexts of one communicator apart.
    pub(crate) const NUMBERS: u32 = ContextId::SECOND / 2;
    /// Of a communicator that is being created.
    pub(crate) const PENDING: ContextId = ContextId(u32::MAX - 1);

    /// The context of the communicator with this number.
    pub(crate) const fn of_number(number: u32) -> ContextId {
        ContextId(2 * number)
    }

    /// The number of the communicator that has this context.
    pub(crate) const fn number(self) -> u32 {
        self.0 / 2
    }

    /// As one word.
    pub const fn to_bits(self) -> u32 {
        self.0
    }

    /// Set in the contexts of companions: above all numbers that communicators get in the life of a job.
    const COMPANION: u32 = 1 << 30;
    /// Set in those of second companions.
    const SECOND: u32 = 1 << 28;
    /// Set in the contexts of partitioned messages.
    const PARTITIONED: u32 = 1 << 29;

    /// The context of this communicator's partitioned messages.
    pub(crate) const fn partitioned(self) -> ContextId {
        ContextId(self.0 | ContextId::PARTITIONED)
    }

    /// The context of one of this communicator's companions, for messages about its messages.
    pub(crate) const fn companion(self, second: bool) -> ContextId {
        ContextId(self.0 | ContextId::COMPANION | if second { ContextId::SECOND } else { 0 })
    }

    /// The context of the communicator whose traffic this is, or is about; and whether it is that of its collectives. The first companion is
    /// for them.
    pub const fn subject(self) -> (ContextId, bool) {
        if !self.is_companion() {
            return (ContextId(self.0 & !(1 | ContextId::PARTITIONED)), self.0 & 1 != 0);
        }
        let base = self.0 & !(ContextId::COMPANION | ContextId::SECOND);
        (ContextId(base), self.0 & ContextId::SECOND == 0)
    }

    /// True for the messages of checkers, which no program knows of.
    pub const fn is_companion(self) -> bool {
        self.0 < ContextId::PENDING.0 / 2 && self.0 & ContextId::COMPANION != 0
    }

    /// True for the messages that programs send each other: not those of collectives and of companions.
    pub(crate) const fn is_point_to_point(self) -> bool {
        self.0 & (ContextId::COMPANION | ContextId::PARTITIONED | 1) == 0
    }

    /// True for contexts whose tags are the library's own.
    pub(crate) const fn has_own_tags(self) -> bool {
        self.0 & 1 != 0 || (self.0 & ContextId::PARTITIONED != 0 && !self.is_companion())
    }

    /// The context of this communicator's collectives.
    pub(crate) const fn collective(self) -> ContextId {
        ContextId(self.0 | 1)
    }
}

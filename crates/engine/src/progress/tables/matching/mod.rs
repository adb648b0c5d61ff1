//! Which receive gets which message (MPI section 3.5).
//!
//! Two indices: posted receives that wait for a message, and messages that wait for a receive. Both keep a queue per
//! (context, source, tag), so a fully specified look-up is one hash look-up however many entries wait. Wildcards have queues of their own:
//! those of receives (source or tag or both "any") are looked at only while there are some; those of messages are made when a
//! wildcard first meets more messages than are quickly walked, and go when none is left.
//!
//! Invariant: among the entries that fit, the oldest is taken: receives by the order in which they were posted, messages by
//! the order in which they arrived.

mod posted;
mod queues;
mod unexpected;

use crate::values::envelope::Envelope;
use crate::values::ids::ContextId;

use queues::Bin;

pub(crate) use posted::Posted;
pub(crate) use queues::Place;
pub(crate) use unexpected::Unexpected;

/// What a receive or probe asks for; `None` is a wildcard.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Pattern {
    pub context: ContextId,
    pub source: Option<u32>,
    pub tag: Option<i32>,
}

impl Pattern {
    pub fn is_wild(&self) -> bool {
        self.source.is_none() || self.tag.is_none()
    }

    fn bin(&self) -> Bin {
        Bin {
            context: self.context.0,
            source: self.source.unwrap_or(Bin::ANY_SOURCE),
            tag: self.tag.unwrap_or(Bin::ANY_TAG),
        }
    }

    #[inline]
    pub fn fits(&self, envelope: &Envelope) -> bool {
        self.context == envelope.context
            && self.source.is_none_or(|source| source == envelope.source)
            && self.tag.is_none_or(|tag| tag == envelope.tag)
    }
}

/// True if a message can have this tag: it would not be taken for a wildcard, and only the library's own may be negative.
pub(crate) fn is_possible(message: &Envelope) -> bool {
    message.tag != Bin::ANY_TAG && (message.tag >= 0 || message.context.has_own_tags())
}

#[cfg(test)]
mod tests;

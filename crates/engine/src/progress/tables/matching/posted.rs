//! Receives that wait for a message.

use super::Pattern;
use super::queues::{Bin, Place, Queues};
use crate::values::envelope::Envelope;
use crate::values::ids::ContextId;
use crate::values::slab::Key;

/// Posted receives.
#[derive(Default)]
pub(crate) struct Posted {
    queues: Queues,
    /// Waiting receives with (any source, any tag, any both).
    wild: [usize; 3],
}

impl Posted {
    /// Files a receive.
    #[inline(always)]
    pub fn push(&mut self, pattern: Pattern, request: Key) -> Place {
        if let Some(class) = wild_class(&pattern) {
            self.wild[class] += 1;
        }
        self.queues.push(pattern.bin(), request)
    }

    /// How many wait.
    #[inline]
    pub fn len(&self) -> usize {
        self.queues.len()
    }

    /// Takes out the oldest receive that fits the message.
    #[inline]
    pub fn take(&mut self, message: &Envelope) -> Option<Key> {
        self.find(message).map(|place| self.remove(place))
    }

    /// The oldest receive that fits the message, left in place.
    #[inline]
    pub fn find(&self, message: &Envelope) -> Option<Place> {
        let exact = Bin::of(message);
        let first = self.queues.front(&exact);
        if self.wild == [0; 3] { first } else { self.older_wild(exact, first) }
    }

    /// The oldest of `first` and the receives with wildcards that fit.
    #[inline(never)]
    fn older_wild(&self, exact: Bin, first: Option<Place>) -> Option<Place> {
        let candidates = [
            Bin { source: Bin::ANY_SOURCE, ..exact },
            Bin { tag: Bin::ANY_TAG, ..exact },
            Bin { source: Bin::ANY_SOURCE, tag: Bin::ANY_TAG, ..exact },
        ];
        let mut best = first;
        for (bin, waiting) in candidates.iter().zip(self.wild) {
            if waiting > 0
                && let Some(found) = self.queues.front(bin)
                && best.is_none_or(|best| self.queues.order(found) < self.queues.order(best))
            {
                best = Some(found);
            }
        }
        best
    }

    /// Takes out a receive whose place is known.
    #[inline]
    pub fn remove(&mut self, place: Place) -> Key {
        let (bin, request) = self.queues.remove(place);
        match (bin.source == Bin::ANY_SOURCE, bin.tag == Bin::ANY_TAG) {
            (false, false) => {}
            (true, false) => self.wild[0] -= 1,
            (false, true) => self.wild[1] -= 1,
            (true, true) => self.wild[2] -= 1,
        }
        request
    }

    /// What a receive waits for whose place is known.
    pub fn pattern(&self, place: Place) -> Pattern {
        let bin = self.queues.bin(place);
        Pattern {
            context: ContextId(bin.context),
            source: (bin.source != Bin::ANY_SOURCE).then_some(bin.source),
            tag: (bin.tag != Bin::ANY_TAG).then_some(bin.tag),
        }
    }

    /// True if no receive waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.queues.is_empty()
    }

    /// True if a message for this receive would go to no receive posted before it: none waits with the same source and tag, and
    /// none with a wildcard.
    pub fn is_next(&self, pattern: &Pattern) -> bool {
        self.wild == [0; 3] && self.queues.front(&pattern.bin()).is_none()
    }
}

fn wild_class(pattern: &Pattern) -> Option<usize> {
    match (pattern.source, pattern.tag) {
        (Some(_), Some(_)) => None,
        (None, Some(_)) => Some(0),
        (Some(_), None) => Some(1),
        (None, None) => Some(2),
    }
}

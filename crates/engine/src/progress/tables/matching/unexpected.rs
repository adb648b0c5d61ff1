//! Messages that wait for a receive.

use alloc::boxed::Box;

use super::Pattern;
use super::queues::{Bin, Ends, Line, Named, Place, Queues};
use crate::values::envelope::Envelope;
use crate::values::slab::Key;

/// A wildcard walks up to so many messages; before it would walk more, they get queues that it can look up.
const WALKED: usize = 16;

/// Messages that no receive has been posted for.
#[derive(Default)]
pub(crate) struct Unexpected {
    queues: Queues,
    /// All of them, in order of arrival.
    arrivals: Line,
    ends: Ends,
    wild: Option<Box<Wild>>,
}

/// Queues of the same messages under the names that wildcards ask for.
#[derive(Default)]
struct Wild {
    ends: Named,
    /// For any source, any tag, and both.
    lines: [Line; 3],
}

impl Wild {
    /// The names that wildcards find a message under, in the order of the lines.
    fn names(bin: Bin) -> [Bin; 3] {
        let (source, tag) = (Bin::ANY_SOURCE, Bin::ANY_TAG);
        [Bin { source, ..bin }, Bin { tag, ..bin }, Bin { source, tag, ..bin }]
    }

    fn append(&mut self, bin: Bin, place: Place) {
        for (name, line) in Wild::names(bin).into_iter().zip(&mut self.lines) {
            line.append(self.ends.entry(name).or_default(), place);
        }
    }

    fn remove(&mut self, bin: Bin, place: Place) {
        for (name, line) in Wild::names(bin).into_iter().zip(&mut self.lines) {
            let ends = self.ends.get_mut(&name).expect("a message has its queues");
            line.remove(ends, place);
            if ends.is_empty() {
                self.ends.remove(&name);
            }
        }
    }
}

impl Unexpected {
    /// Bytes that an entry costs, for the budget; not those of the queues for wildcards.
    pub const ENTRY_BYTES: usize = Queues::ENTRY_BYTES + Line::ENTRY_BYTES;

    /// Files a message.
    pub fn push(&mut self, envelope: &Envelope, message: Key) {
        let bin = Bin::of(envelope);
        let place = self.queues.push(bin, message);
        self.arrivals.append(&mut self.ends, place);
        if let Some(wild) = &mut self.wild {
            wild.append(bin, place);
        }
    }

    /// The oldest message that fits, left in place.
    #[inline]
    pub fn find(&mut self, pattern: &Pattern) -> Option<(Place, Key)> {
        if self.queues.is_empty() {
            return None;
        }
        let place =
            if pattern.is_wild() { self.find_wild(pattern) } else { self.queues.front(&pattern.bin()) }?;
        Some((place, self.queues.entry(place)))
    }

    fn find_wild(&mut self, pattern: &Pattern) -> Option<Place> {
        if self.wild.is_none() && self.queues.len() > WALKED {
            let mut wild = Box::<Wild>::default();
            self.arrivals.walk(&self.ends).for_each(|place| wild.append(self.queues.bin(place), place));
            self.wild = Some(wild);
        }
        match &self.wild {
            Some(wild) => wild.ends.get(&pattern.bin()).and_then(Ends::front),
            None => {
                let fits = |place: &Place| pattern.fits(&self.queues.bin(*place).envelope());
                self.arrivals.walk(&self.ends).find(fits)
            }
        }
    }

    /// Takes out the oldest message that fits.
    #[inline]
    pub fn take(&mut self, pattern: &Pattern) -> Option<Key> {
        let (place, _) = self.find(pattern)?;
        Some(self.remove(place))
    }

    /// Takes out a message whose place is known.
    pub fn remove(&mut self, place: Place) -> Key {
        let (bin, message) = self.queues.remove(place);
        self.arrivals.remove(&mut self.ends, place);
        if self.queues.is_empty() {
            self.wild = None;
        } else if let Some(wild) = &mut self.wild {
            wild.remove(bin, place);
        }
        message
    }

    /// The place of the first message for which `wanted` holds.
    pub fn search(&self, mut wanted: impl FnMut(Key) -> bool) -> Option<Place> {
        self.arrivals.walk(&self.ends).find(|place| wanted(self.queues.entry(*place)))
    }

    /// The messages, oldest first.
    pub fn in_arrival_order(&self) -> impl Iterator<Item = Key> + '_ {
        self.arrivals.walk(&self.ends).map(|place| self.queues.entry(place))
    }

    /// How many wait.
    #[inline]
    pub fn len(&self) -> usize {
        self.queues.len()
    }

    /// True if no message waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.queues.is_empty()
    }
}

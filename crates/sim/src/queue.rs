//! The order of everything: events by time, then place, then the order in which they were asked for.
//!
//! Most events are a few cycles away: the next router. They wait in a wheel of slots, each about a cycle wide, and are sorted only
//! among those of their slot, when it is reached; what is further away than the wheel reaches waits in a heap, and so does what comes
//! to a slot that has been reached. What waits in the wheel is in one place that is used again and again, each slot a chain in it: there are seldom
//! more than a thousand entries, which the nearest cache holds, where four thousand lists of their own would not fit.
//!
//! Invariants: no two entries compare equal, so the order is total and does not depend on where an entry waited. `current` and `late`
//! hold every entry of slot `cursor` and before, and are empty only if the queue is.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use crate::Time;

/// Bits of the sequence number below the spot.
const SEQUENCE_BITS: u32 = 48;

/// Bits of the time inside a slot: about a cycle.
const SLOT_BITS: u32 = 10;

/// Slots of the wheel: about four thousand cycles, more than packets wait for each other where it is not very crowded.
const SLOTS: u64 = 4096;

/// The end of a chain.
const NONE: u32 = u32::MAX;

/// A queue of things that are due.
pub(crate) struct Queue<T> {
    sequence: u64,
    cursor: u64,
    /// What the slot held when the cursor reached it, the first entry last.
    current: Vec<Entry<T>>,
    /// What came to it, or before it, since.
    late: BinaryHeap<Entry<T>>,
    /// The first entry of each slot's chain.
    wheel: Vec<u32>,
    waiting: Vec<Waiting<T>>,
    /// The first of those in `waiting` that wait for nothing, in a chain as well.
    unused: u32,
    /// A bit for each slot of the wheel that holds something.
    occupied: [u64; SLOTS as usize / 64],
    far: BinaryHeap<Entry<T>>,
}

/// An entry in the wheel.
struct Waiting<T> {
    entry: Entry<T>,
    /// The next of its slot.
    next: u32,
}

/// Something that is due.
#[derive(Clone, Copy)]
pub(crate) struct Entry<T> {
    pub(crate) time: Time,
    /// Spot and sequence number.
    pub(crate) order: u64,
    pub(crate) due: T,
}

impl<T: Copy> Queue<T> {
    pub(crate) fn new() -> Self {
        Self {
            sequence: 0,
            cursor: 0,
            current: Vec::new(),
            late: BinaryHeap::new(),
            wheel: vec![NONE; SLOTS as usize],
            waiting: Vec::new(),
            unused: NONE,
            occupied: [0; SLOTS as usize / 64],
            far: BinaryHeap::new(),
        }
    }

    /// Lets `due` happen at `time`. The spot is where it happens: an end point or a link. Called from everywhere, and long: one copy does.
    #[inline(never)]
    pub(crate) fn push(&mut self, time: Time, spot: u16, due: T) {
        let order = u64::from(spot) << SEQUENCE_BITS | self.sequence;
        self.sequence += 1;
        let entry = Entry { time, order, due };
        let slot = time >> SLOT_BITS;
        if self.current.is_empty() && self.late.is_empty() {
            self.cursor = slot;
        }
        if slot <= self.cursor {
            self.late.push(entry);
        } else if slot - self.cursor < SLOTS {
            let index = (slot % SLOTS) as usize;
            self.wheel[index] = self.wait(entry, self.wheel[index]);
            self.occupied[index / 64] |= 1 << (index % 64);
        } else {
            self.far.push(entry);
        }
    }

    /// Puts an entry before the chain that begins with `next`. Where it is now.
    fn wait(&mut self, entry: Entry<T>, next: u32) -> u32 {
        let place = self.unused;
        let waiting = Waiting { entry, next };
        match self.waiting.get_mut(place as usize) {
            Some(unused) => {
                self.unused = std::mem::replace(unused, waiting).next;
                place
            }
            None => {
                self.waiting.push(waiting);
                (self.waiting.len() - 1) as u32
            }
        }
    }

    pub(crate) fn next_time(&self) -> Option<Time> {
        let (current, late) = (self.current.last(), self.late.peek());
        match (current, late) {
            (Some(current), Some(late)) => Some(current.time.min(late.time)),
            (one, other) => one.or(other).map(|entry| entry.time),
        }
    }

    /// Takes the first entry if it is due at `limit` or before.
    #[inline]
    pub(crate) fn pop_until(&mut self, limit: Time) -> Option<Entry<T>> {
        let is_late = match (self.current.last(), self.late.peek()) {
            // The greater entry is the one that comes first.
            (Some(current), Some(late)) => late > current,
            (current, _) => current.is_none(),
        };
        let first = if is_late { self.late.peek() } else { self.current.last() };
        if first?.time > limit {
            return None;
        }
        let first = if is_late { self.late.pop() } else { self.current.pop() };
        if self.current.is_empty() && self.late.is_empty() {
            self.advance();
        }
        first
    }

    /// Goes on to the next slot that holds something.
    fn advance(&mut self) {
        let near = self.next_occupied();
        let far = self.far.peek().map(Entry::slot);
        let Some(slot) = near.into_iter().chain(far).min() else { return };
        self.cursor = slot;
        if near == Some(slot) {
            let index = (slot % SLOTS) as usize;
            let mut place = std::mem::replace(&mut self.wheel[index], NONE);
            while let Some(waiting) = self.waiting.get_mut(place as usize) {
                self.current.push(waiting.entry);
                let next = std::mem::replace(&mut waiting.next, self.unused);
                self.unused = std::mem::replace(&mut place, next);
            }
            self.occupied[index / 64] &= !(1 << (index % 64));
        }
        while self.far.peek().is_some_and(|entry| entry.slot() == slot) {
            self.current.extend(self.far.pop());
        }
        self.current.sort_unstable();
    }

    /// The first slot after the cursor that holds something: its word from the cursor on, the words after it all the way round, and
    /// what its own word holds before the cursor.
    fn next_occupied(&self) -> Option<u64> {
        let words = self.occupied.len() as u64;
        let first = self.cursor + 1;
        let (word, bit) = (first % SLOTS / 64, first % 64);
        let ahead = |offset: u64, bits: u64| {
            (bits != 0).then(|| first - bit + 64 * offset + u64::from(bits.trailing_zeros()))
        };
        let here = self.occupied[word as usize];
        ahead(0, here & (!0 << bit))
            .or_else(|| {
                (1..words).find_map(|offset| ahead(offset, self.occupied[((word + offset) % words) as usize]))
            })
            .or_else(|| ahead(words, here & !(!0 << bit)))
    }
}

impl<T> Entry<T> {
    #[inline]
    fn key(&self) -> u128 {
        u128::from(self.time) << 64 | u128::from(self.order)
    }

    fn slot(&self) -> u64 {
        self.time >> SLOT_BITS
    }
}

/// Reversed, because the standard heap has its greatest entry first.
impl<T> Ord for Entry<T> {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        other.key().cmp(&self.key())
    }
}

impl<T> PartialOrd for Entry<T> {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for Entry<T> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl<T> Eq for Entry<T> {}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn drain(mut queue: Queue<char>) -> String {
        std::iter::from_fn(|| queue.pop_until(Time::MAX)).map(|entry| entry.due).collect()
    }

    #[test]
    fn events_come_by_time_then_spot_then_sequence() {
        let mut queue = Queue::new();
        queue.push(7, 0, 'e');
        queue.push(5, 2, 'c');
        queue.push(5, 1, 'a');
        queue.push(5, 2, 'd');
        queue.push(5, 1, 'b');
        assert_eq!(drain(queue), "abcde");
    }

    proptest! {
        #[test]
        fn the_order_is_that_of_a_sorted_list(
            pushes in prop::collection::vec((prop_oneof![0u64..5_000, 0u64..10_000_000], 0u16..3, any::<bool>()), 1..300),
        ) {
            let mut queue = Queue::new();
            let mut list = std::collections::BTreeSet::new();
            let mut now = 0;
            for (index, (after, spot, pop)) in pushes.into_iter().enumerate() {
                queue.push(now + after, spot, index);
                list.insert((now + after, spot, index));
                prop_assert_eq!(queue.next_time(), list.first().map(|first| first.0));
                if pop {
                    let first = queue.pop_until(Time::MAX).map(|entry| (entry.time, entry.due));
                    prop_assert_eq!(first, list.pop_first().map(|(time, _, index)| (time, index)));
                    now = first.unwrap().0;
                }
            }
            while let Some(entry) = queue.pop_until(Time::MAX) {
                prop_assert_eq!(Some((entry.time, entry.due)), list.pop_first().map(|(time, _, index)| (time, index)));
            }
            prop_assert!(list.is_empty());
        }
    }

    #[test]
    fn nothing_is_handed_out_after_the_limit() {
        let mut queue = Queue::new();
        queue.push(5, 0, 'a');
        assert!(queue.pop_until(4).is_none());
        assert_eq!(queue.pop_until(5).unwrap().due, 'a');
        assert_eq!(queue.next_time(), None);
    }
}

//! The order of everything: events by time, then place, then the order in which they were asked for.
//!
//! Invariant: no two entries compare equal, so the order is total and does not depend on the heap's shape.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use crate::Time;

/// Bits of the sequence number below the spot.
const SEQUENCE_BITS: u32 = 48;

/// A queue of things that are due.
pub(crate) struct Queue<T> {
    heap: BinaryHeap<Entry<T>>,
    sequence: u64,
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
        Self { heap: BinaryHeap::with_capacity(4096), sequence: 0 }
    }

    /// Lets `due` happen at `time`. The spot is where it happens: an end point or a link.
    #[inline]
    pub(crate) fn push(&mut self, time: Time, spot: u16, due: T) {
        let order = u64::from(spot) << SEQUENCE_BITS | self.sequence;
        self.sequence += 1;
        self.heap.push(Entry { time, order, due });
    }

    pub(crate) fn next_time(&self) -> Option<Time> {
        self.heap.peek().map(|entry| entry.time)
    }

    /// Takes the first entry if it is due at `limit` or before.
    #[inline]
    pub(crate) fn pop_until(&mut self, limit: Time) -> Option<Entry<T>> {
        if self.next_time()? > limit {
            return None;
        }
        self.heap.pop()
    }
}

impl<T> Entry<T> {
    #[inline]
    fn key(&self) -> u128 {
        u128::from(self.time) << 64 | u128::from(self.order)
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

    #[test]
    fn nothing_is_handed_out_after_the_limit() {
        let mut queue = Queue::new();
        queue.push(5, 0, 'a');
        assert!(queue.pop_until(4).is_none());
        assert_eq!(queue.pop_until(5).unwrap().due, 'a');
        assert_eq!(queue.next_time(), None);
    }
}

//! Slots for payloads that are too long for a cell.
//!
//! Each has a *home*: the rank in whose area it lies. A rank takes slots from a private list, so taking needs no atomic. Who has read a letter has two ways to be done with the slot:
//!
//! - It gives it back, with one release store to a word in the slot's own cache line. The home notices lazily, when its list has run out.
//! - It keeps it, and writes a letter of its own into it, to anybody. The lines are in its cache, after all: a letter that is answered in the slot it came in crosses from core to core once, where one
//!   that is answered in another slot finds every line of that in the cache of who read it last.
//!
//! ```text
//! slot:  | away (u32) ... pad | slot_bytes of payload                         |
//!        |<--- 64 bytes ----->|
//! ```
//!
//! **Invariant:** a slot is on the list of one rank, or lent to exactly one letter. The word of a slot is 0 only if it was given back, or never left.
//!
//! Last in, first out, so that a rank writes what is still in its cache. A rank keeps as many slots as it has sent letters in: one that only receives leaves them to those who send. Only half of the slots of a rank may be kept by others, and
//! no rank keeps more than half as many as it has: what nobody may keep comes back whenever a letter is read, so a rank can always send if others read.

use alloc::boxed::Box;
use core::cell;

use crate::sync::{AtomicU32, Ordering};

/// The line in front of every slot.
#[repr(C, align(64))]
pub struct Lent(AtomicU32);

/// Bytes of a [`Lent`] line.
pub const LENT_BYTES: usize = 64;

#[cfg(not(loom))]
const _: () = assert!(size_of::<Lent>() == LENT_BYTES);

impl Lent {
    /// The line of a slot that was never used; the same as zeroed memory.
    pub fn new() -> Lent {
        Lent(AtomicU32::new(0))
    }

    /// Gives the slot back to its sender: what the receiver does after its last read of the payload.
    #[inline(always)]
    pub fn give_back(&self) {
        self.0.store(0, Ordering::Release);
    }

    /// Relaxed, because the letter that names the slot is published with release after this.
    #[inline(always)]
    fn lend(&self) {
        self.0.store(1, Ordering::Relaxed);
    }

    /// Acquire, so that the sender's next write to the slot comes after the receiver's last read.
    #[inline(always)]
    fn is_back(&self) -> bool {
        self.0.load(Ordering::Acquire) == 0
    }
}

impl Default for Lent {
    fn default() -> Lent {
        Lent::new()
    }
}

/// A slot of any rank.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Slot {
    /// The rank in whose area it lies.
    pub home: u32,
    /// Which one of that rank's.
    pub number: u32,
}

/// A rank's private list of slots that it may write to.
pub struct Pool {
    me: u32,
    slots: u32,
    free: Box<[cell::Cell<Slot>]>,
    count: cell::Cell<usize>,
    /// How many of the free ones are others'.
    kept: cell::Cell<u32>,
    /// How many more letters were sent than came, as far as slots may be kept for them.
    ahead: cell::Cell<u32>,
}

impl Pool {
    /// The pool of rank `me`, with its `slots` slots, all free.
    pub fn new(me: u32, slots: u32) -> Pool {
        // The lowest slots on top: a rank that has few letters in flight touches few pages. Behind them there is room for those that are kept.
        let lowest_last = (0..slots).rev().chain(0..slots / 2);
        let free = lowest_last.map(|number| cell::Cell::new(Slot { home: me, number })).collect();
        Pool {
            me,
            slots,
            free,
            count: cell::Cell::new(slots as usize),
            kept: cell::Cell::new(0),
            ahead: cell::Cell::new(0),
        }
    }

    /// Takes a free slot, or `None` if all are away. `line` finds the line of a slot.
    #[inline]
    pub fn take<'l>(&self, line: impl Fn(Slot) -> &'l Lent) -> Option<Slot> {
        if self.count.get() == 0 {
            self.reclaim(&line);
        }
        let top = self.count.get().checked_sub(1)?;
        self.count.set(top);
        let slot = self.free[top].get();
        self.ahead.set((self.ahead.get() + 1).min(self.slots / 2));
        if slot.home == self.me {
            line(slot).lend();
        } else {
            self.kept.set(self.kept.get() - 1);
        }
        Some(slot)
    }

    /// The slot that will be taken next, as far as is known.
    #[inline]
    pub fn next(&self) -> Option<Slot> {
        Some(self.free[self.count.get().checked_sub(1)?].get())
    }

    /// Whether more letters were sent than came.
    #[inline]
    pub fn is_ahead(&self) -> bool {
        self.ahead.get() > 0
    }

    /// Puts back a slot that was taken but not sent.
    pub fn untake(&self, slot: Slot) {
        self.ahead.set(self.ahead.get().saturating_sub(1));
        if slot.home != self.me {
            self.kept.set(self.kept.get() + 1);
        }
        self.push(slot);
    }

    /// A letter that came in `slot` has been read. `keeps` is whether this rank would rather write there next than give it back.
    #[inline]
    pub fn read<'l>(&self, slot: Slot, keeps: bool, line: impl Fn(Slot) -> &'l Lent) {
        let ahead = self.ahead.get();
        self.ahead.set(ahead.saturating_sub(1));
        if slot.home == self.me {
            self.push(slot);
        } else if keeps && ahead > 0 && slot.number < self.slots / 2 && self.kept.get() < self.slots / 2 {
            self.kept.set(self.kept.get() + 1);
            self.push(slot);
        } else {
            line(slot).give_back();
        }
    }

    /// Called when every slot is away: collects those that came back.
    #[cold]
    fn reclaim<'l>(&self, line: &impl Fn(Slot) -> &'l Lent) {
        for number in (0..self.slots).rev() {
            let slot = Slot { home: self.me, number };
            if line(slot).is_back() {
                self.push(slot);
            }
        }
    }

    /// A slot that was named by a letter twice, by a defect or damage, may find no place.
    #[inline]
    fn push(&self, slot: Slot) {
        if let Some(place) = self.free.get(self.count.get()) {
            place.set(slot);
            self.count.set(self.count.get() + 1);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    /// The lines of two ranks with so many slots each.
    fn lines(slots: usize) -> [Vec<Lent>; 2] {
        core::array::from_fn(|_| (0..slots).map(|_| Lent::new()).collect())
    }

    fn own(number: u32) -> Slot {
        Slot { home: 0, number }
    }

    #[test]
    fn slots_come_back_only_after_the_receiver_gave_them_back() {
        let [lines, _] = lines(3);
        let pool = Pool::new(0, 3);
        let line = |slot: Slot| &lines[slot.number as usize];
        assert_eq!([0; 3].map(|_| pool.take(line)), [0, 1, 2].map(|number| Some(own(number))));
        assert_eq!(pool.take(line), None);
        lines[1].give_back();
        assert_eq!(pool.take(line), Some(own(1)));
        assert_eq!(pool.take(line), None);
        lines[2].give_back();
        lines[0].give_back();
        assert_eq!([0; 3].map(|_| pool.take(line)), [Some(own(0)), Some(own(2)), None]);
    }

    #[test]
    fn a_slot_that_was_not_sent_is_taken_again_first() {
        let lines = lines(2);
        let line = |slot: Slot| &lines[slot.home as usize][slot.number as usize];
        let pool = Pool::new(0, 2);
        let slot = pool.take(line).unwrap();
        pool.untake(slot);
        assert!(!pool.is_ahead(), "nothing was sent");
        assert_eq!(pool.take(line), Some(slot));
        let other = Slot { home: 1, number: 0 };
        pool.read(other, true, line);
        assert_eq!(pool.take(line), Some(other));
        pool.untake(other);
        assert_eq!([0; 3].map(|_| pool.take(line)), [Some(other), Some(own(1)), None]);
    }

    #[test]
    fn an_answer_goes_back_in_the_slot_of_the_letter_and_so_on() {
        let lines = lines(4);
        let line = |slot: Slot| &lines[slot.home as usize][slot.number as usize];
        let (one, other) = (Pool::new(0, 4), Pool::new(1, 4));
        let (first, second) = (one.take(line).unwrap(), other.take(line).unwrap());
        for _ in 0..10 {
            one.read(second, true, line);
            other.read(first, true, line);
            assert_eq!((one.take(line), other.take(line)), (Some(second), Some(first)));
            one.read(first, true, line);
            other.read(second, true, line);
            assert_eq!((one.take(line), other.take(line)), (Some(first), Some(second)));
        }
        assert!(!line(first).is_back() && !line(second).is_back(), "nobody has written to their lines");
    }

    #[test]
    fn a_rank_that_only_receives_keeps_no_slot() {
        let lines = lines(4);
        let line = |slot: Slot| &lines[slot.home as usize][slot.number as usize];
        let (sender, receiver) = (Pool::new(0, 4), Pool::new(1, 4));
        for _ in 0..10 {
            let sent = [0; 4].map(|_| sender.take(line).expect("all of them came back"));
            for slot in sent {
                receiver.read(slot, true, line);
            }
        }
        assert_eq!(receiver.take(line), Some(Slot { home: 1, number: 0 }));
    }

    #[test]
    fn half_of_the_slots_come_back_however_many_the_receiver_would_keep() {
        let lines = lines(4);
        let line = |slot: Slot| &lines[slot.home as usize][slot.number as usize];
        let (sender, receiver) = (Pool::new(0, 4), Pool::new(1, 4));
        (0..4).for_each(|_| assert!(receiver.take(line).is_some()));
        for letter in 0..100 {
            let slot = sender.take(line).unwrap_or_else(|| panic!("no slot for letter {letter}"));
            receiver.read(slot, true, line);
        }
        assert_eq!([0; 3].map(|_| receiver.take(line)), [Some(own(1)), Some(own(0)), None]);
    }

    #[test]
    fn a_rank_keeps_half_as_many_slots_as_it_has_and_none_that_it_does_not_want() {
        let lines: Vec<Vec<Lent>> = (0..4).map(|_| (0..4).map(|_| Lent::new()).collect()).collect();
        let line = |slot: Slot| &lines[slot.home as usize][slot.number as usize];
        let pool = Pool::new(0, 4);
        (0..4).for_each(|_| assert!(pool.take(line).is_some()));
        let sent = [1, 2, 3].map(|home| Slot { home, number: 0 });
        for slot in sent {
            line(slot).lend();
        }
        for slot in sent {
            pool.read(slot, true, line);
        }
        assert_eq!(sent.map(|slot| line(slot).is_back()), [false, false, true]);
        assert_eq!(pool.take(line), Some(sent[1]));
        pool.read(sent[1], false, line);
        assert!(line(sent[1]).is_back());
    }

    #[test]
    fn slots_that_are_named_twice_do_not_overflow_the_list() {
        let lines = lines(2);
        let line = |slot: Slot| &lines[slot.home as usize][slot.number as usize];
        let pool = Pool::new(0, 2);
        for _ in 0..10 {
            pool.read(own(0), true, line);
        }
        assert_eq!((0..20).filter_map(|_| pool.take(line)).count(), 3);
    }
}

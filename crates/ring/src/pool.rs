//! Slots for payloads that are too long for a cell.
//!
//! They belong to the *sender*: it alone takes them, so taking is a private pop and needs no atomic. The receiver reads the
//! payload in place and gives the slot back with one release store to a word in the slot's own cache line; the sender
//! notices lazily, when its free list has run out.
//!
//! ```text
//! slot:  | in flight (u32) ... pad | slot_bytes of payload                         |
//!        |<------ 64 bytes ------->|
//! ```
//!
//! **Invariant:** a slot is either on the sender's free list, or in flight: lent to exactly one letter. Last in, first out,
//! so that a quiet sender reuses the slots that are still in its cache.

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

/// The sender's private list of free slots.
pub struct Pool {
    free: Box<[cell::Cell<u32>]>,
    count: cell::Cell<usize>,
}

impl Pool {
    /// A pool of `slots` slots, all free.
    pub fn new(slots: u32) -> Pool {
        // The lowest slots on top: a rank that has few letters in flight touches few pages.
        let free = (0..slots).rev().map(cell::Cell::new).collect();
        Pool { free, count: cell::Cell::new(slots as usize) }
    }

    /// Takes a free slot, or `None` if all are in flight. `line` finds the line of a slot.
    #[inline]
    pub fn take<'l>(&self, line: impl Fn(u32) -> &'l Lent) -> Option<u32> {
        if self.count.get() == 0 {
            self.reclaim(&line);
        }
        let top = self.count.get().checked_sub(1)?;
        self.count.set(top);
        let slot = self.free[top].get();
        line(slot).lend();
        Some(slot)
    }

    /// The slot that will be taken next, as far as is known.
    #[inline]
    pub fn next(&self) -> Option<u32> {
        Some(self.free[self.count.get().checked_sub(1)?].get())
    }

    /// Puts back a slot that was taken but not sent.
    pub fn untake<'l>(&self, slot: u32, line: impl Fn(u32) -> &'l Lent) {
        line(slot).give_back();
        self.push(slot);
    }

    /// Called when every slot is in flight: collects those that came back.
    #[cold]
    fn reclaim<'l>(&self, line: &impl Fn(u32) -> &'l Lent) {
        for slot in (0..self.free.len() as u32).rev() {
            if line(slot).is_back() {
                self.push(slot);
            }
        }
    }

    fn push(&self, slot: u32) {
        self.free[self.count.get()].set(slot);
        self.count.set(self.count.get() + 1);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn slots_come_back_only_after_the_receiver_gave_them_back() {
        let lines: Vec<Lent> = (0..3).map(|_| Lent::new()).collect();
        let pool = Pool::new(3);
        let line = |slot: u32| &lines[slot as usize];
        assert_eq!([pool.take(line), pool.take(line), pool.take(line)], [Some(0), Some(1), Some(2)]);
        assert_eq!(pool.take(line), None);
        lines[1].give_back();
        assert_eq!(pool.take(line), Some(1));
        assert_eq!(pool.take(line), None);
        lines[2].give_back();
        lines[0].give_back();
        assert_eq!([pool.take(line), pool.take(line), pool.take(line)], [Some(0), Some(2), None]);
    }

    #[test]
    fn a_slot_that_was_not_sent_is_taken_again_first() {
        let lines: Vec<Lent> = (0..2).map(|_| Lent::new()).collect();
        let pool = Pool::new(2);
        let line = |slot: u32| &lines[slot as usize];
        let slot = pool.take(line).unwrap();
        pool.untake(slot, line);
        assert_eq!(pool.take(line), Some(slot));
    }
}

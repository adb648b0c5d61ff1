//! Words in memory of another rank, changed by the fabric's atomics.
//!
//! **Invariant:** as in `place`: whoever makes one has found the words inside of what the member lets others reach, each at a multiple of its width.

use alloc::boxed::Box;
use alloc::vec::Vec;

use fabric::{Atomic, AtomicOp, Fabric, Key, Node, PortalError, Ticket, Width, Word};

use crate::values::memory::Kernel;
use crate::values::memory::place::{word_of, write_word};

/// How this rank reaches the others: the fabric, and what waits for a transfer.
#[derive(Clone, Copy)]
pub(crate) struct Reach<'a> {
    pub fabric: &'a dyn Fabric,
    pub settle: &'a dyn Fn(Ticket) -> Result<(), PortalError>,
}

/// Words that lie one after the other.
#[derive(Clone, Copy)]
pub(crate) struct FarWords<'a> {
    pub node: Node,
    pub key: &'a Key,
    /// Where the first lies in its region.
    pub offset: usize,
    pub width: Width,
}

/// Atomics that are under way at a time.
const UNDER_WAY: usize = 16;

impl FarWords<'_> {
    fn word(&self, index: usize) -> Word {
        Word { offset: self.offset + index * self.width.bytes(), width: self.width }
    }

    /// Changes one of them; what it was.
    pub fn change(&self, reach: Reach<'_>, index: usize, act: Atomic) -> Result<u64, PortalError> {
        let before = Box::leak(Box::new(0));
        let place = &raw mut *before;
        // SAFETY: the invariant of this file; the answer has its place until the ticket is done, and for ever if that never is known.
        unsafe {
            let ticket = reach.fabric.atomic(self.node, self.key, self.word(index), act, place)?;
            (reach.settle)(ticket)?;
            Ok(*Box::from_raw(place))
        }
    }

    /// Combines each with its operand, by what atomics can do; `before` gets what they were, unless it is empty. To read words, no operands are needed.
    pub fn change_each(
        &self,
        reach: Reach<'_>,
        (op, count): (AtomicOp, usize),
        operands: &[u8],
        before: &mut [u8],
    ) -> Result<(), PortalError> {
        let width = self.width.bytes();
        let fabric = reach.fabric;
        if before.is_empty() && count > 1 && fabric.route(self.node).array_atomics {
            assert!(operands.len() >= count * width);
            // SAFETY: as above; the operands are the caller's, who waits.
            let ticket = unsafe {
                fabric.atomic_array(self.node, self.key, self.word(0), op, operands.as_ptr(), count)?
            };
            return (reach.settle)(ticket);
        }
        for first in (0..count).step_by(UNDER_WAY) {
            let indices = first..count.min(first + UNDER_WAY);
            let (mut found, mut tickets) = (alloc::vec![0; indices.len()], Vec::with_capacity(indices.len()));
            let mut result = Ok(());
            let place: *mut u64 = found.as_mut_ptr();
            for index in indices.clone() {
                let operand = operands.get(index * width..(index + 1) * width).map_or(0, word_of);
                let (word, act) = (self.word(index), Atomic::Fetch { op, operand });
                // SAFETY: as above; every answer has its own place.
                match unsafe { fabric.atomic(self.node, self.key, word, act, place.add(index - first)) } {
                    Ok(ticket) => tickets.push(ticket),
                    Err(error) => result = Err(error),
                }
            }
            for ticket in tickets {
                if let Err(error) = (reach.settle)(ticket) {
                    result = Err(error);
                }
            }
            if let Err(error) = result {
                // An answer may come yet.
                core::mem::forget(found);
                return Err(error);
            }
            for (index, found) in indices.zip(found) {
                if let Some(before) = before.get_mut(index * width..(index + 1) * width) {
                    write_word(found, before);
                }
            }
        }
        Ok(())
    }

    /// As [`change_each`](FarWords::change_each), by what atomics cannot do: each word is looked at, and replaced if it is still the same.
    pub fn combine_each(
        &self,
        reach: Reach<'_>,
        (kernel, count): (&Kernel, usize),
        operands: &[u8],
        before: &mut [u8],
    ) -> Result<(), PortalError> {
        let width = self.width.bytes();
        for index in 0..count {
            let bytes = index * width..(index + 1) * width;
            let mut expected = self.change(reach, index, Atomic::Fetch { op: AtomicOp::Read, operand: 0 })?;
            loop {
                let mut after = [0; 8];
                let after = &mut after[..width];
                write_word(expected, after);
                kernel(&operands[bytes.clone()], after);
                let desired = word_of(after);
                let found = self.change(reach, index, Atomic::CompareSwap { expected, desired })?;
                if found == expected {
                    break;
                }
                expected = found;
            }
            if let Some(before) = before.get_mut(bytes) {
                write_word(expected, before);
            }
        }
        Ok(())
    }
}

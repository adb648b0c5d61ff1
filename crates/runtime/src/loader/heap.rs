//! The heap of a rank whose memory is counted: what the program allocates is booked on the budget of its cluster.
//!
//! The program's `malloc` and relatives (`shim/heap.c`) call here, on the thread that runs the rank. Only blocks that were booked
//! are known; others, which libc has allocated, pass.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ffi::{c_int, c_void};

use fabric::Budget;

/// What the budget calls a program's own allocations.
const HEAP: &str = "heap";

/// Blocks are rounded up to this many bytes, as an allocator on a chip would.
const GRAIN: usize = 16;

/// What the shim is told was booked for a block that is not: anything but 0.
const STRANGER: usize = 1;

/// The account of one rank's heap.
pub struct Heap {
    budget: Budget,
    rank: u32,
    /// The booked bytes of each block, by address.
    blocks: RefCell<HashMap<usize, usize>>,
    /// It has been said that there was no room.
    told: Cell<bool>,
}

/// Same layout as `struct corelace_heap` in `shim/corelace_program.h`.
#[repr(C)]
pub(super) struct Calls {
    book: extern "C" fn(*const Heap, *mut c_void, usize) -> c_int,
    unbook: extern "C" fn(*const Heap, *mut c_void),
    resize: extern "C" fn(*const Heap, *mut c_void, usize) -> usize,
    moved: extern "C" fn(*const Heap, *mut c_void, *mut c_void),
    account: *const Heap,
}

const _: () = assert!(size_of::<Calls>() == 40);

impl Heap {
    /// The heap of `rank`, whose blocks are booked on `budget`.
    pub fn new(budget: Budget, rank: u32) -> Heap {
        Heap { budget, rank, blocks: RefCell::default(), told: Cell::new(false) }
    }

    /// What the program is given. Leaked: its exit handlers may free memory until the process ends.
    pub(super) fn into_calls(self) -> *const Calls {
        let account = Box::leak(Box::new(self));
        Box::leak(Box::new(Calls { book, unbook, resize, moved, account }))
    }

    fn reserve(&self, bytes: usize) -> bool {
        match self.budget.reserve(HEAP, bytes) {
            Ok(()) => true,
            Err(exceeded) => {
                if !self.told.replace(true) {
                    eprintln!("corelace: rank {}: {exceeded}; malloc returns NULL", self.rank);
                }
                false
            }
        }
    }

    fn book(&self, block: usize, bytes: usize) -> bool {
        let bytes = rounded(bytes);
        self.reserve(bytes) && {
            self.blocks.borrow_mut().insert(block, bytes);
            true
        }
    }

    fn unbook(&self, block: usize) {
        if let Some(bytes) = self.blocks.borrow_mut().remove(&block) {
            self.budget.release(HEAP, bytes);
        }
    }

    /// What was booked before, which undoes it if libc then fails; `None` if there is no room.
    fn resize(&self, block: usize, bytes: usize) -> Option<usize> {
        let bytes = rounded(bytes);
        let mut blocks = self.blocks.borrow_mut();
        let Some(held) = blocks.get_mut(&block) else { return Some(STRANGER) };
        if bytes > *held && !self.reserve(bytes - *held) {
            return None;
        }
        if bytes < *held {
            self.budget.release(HEAP, *held - bytes);
        }
        Some(std::mem::replace(held, bytes))
    }

    fn moved(&self, block: usize, to: usize) {
        let mut blocks = self.blocks.borrow_mut();
        if let Some(bytes) = blocks.remove(&block) {
            blocks.insert(to, bytes);
        }
    }
}

fn rounded(bytes: usize) -> usize {
    bytes.max(1).checked_next_multiple_of(GRAIN).unwrap_or(usize::MAX)
}

extern "C" fn book(heap: *const Heap, block: *mut c_void, bytes: usize) -> c_int {
    // SAFETY: the shim passes the account that it was given with these functions, which lives for ever, on the rank's own thread.
    c_int::from(unsafe { &*heap }.book(block.addr(), bytes))
}

extern "C" fn unbook(heap: *const Heap, block: *mut c_void) {
    // SAFETY: as above.
    unsafe { &*heap }.unbook(block.addr());
}

extern "C" fn resize(heap: *const Heap, block: *mut c_void, bytes: usize) -> usize {
    // SAFETY: as above.
    unsafe { &*heap }.resize(block.addr(), bytes).unwrap_or(0)
}

extern "C" fn moved(heap: *const Heap, block: *mut c_void, to: *mut c_void) {
    // SAFETY: as above.
    unsafe { &*heap }.moved(block.addr(), to.addr());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_booked_while_they_live_and_strangers_pass() {
        let budget = Budget::new(1000);
        let heap = Heap::new(budget.of_rank(3), 3);
        assert!(heap.book(0x10, 500));
        assert!(!heap.book(0x20, 500), "the first took 512");
        assert_eq!(heap.resize(0x10, 900), Some(512));
        assert_eq!(heap.resize(0x10, 1001), None);
        assert_eq!((heap.resize(0x10, 512), budget.used()), (Some(912), 512), "as after a failure of libc");
        assert_eq!(heap.resize(0x10, 900), Some(512));
        heap.moved(0x10, 0x30);
        heap.unbook(0x10);
        assert_eq!(budget.used(), 912);
        heap.unbook(0x30);
        assert_eq!(budget.used(), 0);
        assert_eq!(heap.resize(0x40, 5000), Some(STRANGER), "a block of libc's");
        heap.unbook(0x40);
    }
}

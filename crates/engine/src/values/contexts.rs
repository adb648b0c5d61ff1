//! The context numbers of a rank, and the communicators that have them.

use alloc::vec::Vec;
use core::cell::{Cell, RefCell};

use crate::values::comm::{Comm, WeakComm};
use crate::values::ids::ContextId;

/// What a rank knows of contexts.
pub(crate) struct Contexts {
    /// The lowest number above all that this rank has used.
    next: Cell<u32>,
    /// The communicators that this rank has made, for naming their members.
    known: RefCell<Vec<WeakComm>>,
}

impl Contexts {
    pub fn new() -> Contexts {
        Contexts { next: Cell::new(ContextId::FIRST_FREE), known: RefCell::default() }
    }

    /// A number that is free at this rank.
    pub fn proposal(&self) -> u32 {
        self.next.get()
    }

    /// Takes a number, with the odd one above it; false if it is in use.
    pub fn take(&self, number: u32) -> bool {
        let free = number >= self.next.get();
        if free {
            self.next.set(number + 2);
        }
        free
    }

    /// Remembers a communicator, so that its members can be named by its context.
    pub fn remember(&self, comm: &Comm) {
        let mut known = self.known.borrow_mut();
        known.retain(WeakComm::is_alive);
        known.push(comm.weak());
    }

    /// The communicator of a context, if it is still there.
    pub fn comm_of(&self, context: ContextId) -> Option<Comm> {
        self.known.borrow().iter().filter_map(WeakComm::get).find(|comm| comm.context() == context)
    }
}

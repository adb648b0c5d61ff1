//! Generalized requests (MPI section 13.2): the functions that the program has given with each, by the request's number.

use core::ffi::c_void;
use std::cell::{Cell, RefCell};

use engine::RequestId;

use crate::abi::types::*;

/// The generalized requests of a process.
#[derive(Default)]
pub(crate) struct Generalized {
    /// How many there are: nearly always none, and every wait asks.
    live: Cell<usize>,
    known: RefCell<Vec<(RequestId, Functions)>>,
}

/// What the program gave with a request.
#[derive(Clone, Copy)]
pub(crate) struct Functions {
    pub(crate) query: MPI_Grequest_query_function,
    pub(crate) free: MPI_Grequest_free_function,
    pub(crate) cancel: MPI_Grequest_cancel_function,
    pub(crate) extra: *mut c_void,
    pub(crate) complete: bool,
    /// The program has freed it before it was complete.
    pub(crate) freed: bool,
}

impl Generalized {
    /// Whether this request is one of them.
    #[inline]
    pub(crate) fn has(&self, id: RequestId) -> bool {
        self.live.get() > 0 && self.find(id).is_some()
    }

    /// Whether there is none.
    #[inline]
    pub(crate) fn are_none(&self) -> bool {
        self.live.get() == 0
    }

    pub(crate) fn find(&self, id: RequestId) -> Option<Functions> {
        self.known.borrow().iter().find(|(known, _)| *known == id).map(|(_, functions)| *functions)
    }

    pub(crate) fn change(&self, id: RequestId, change: impl FnOnce(&mut Functions)) {
        if let Some((_, functions)) = self.known.borrow_mut().iter_mut().find(|(known, _)| *known == id) {
            change(functions);
        }
    }

    pub(crate) fn insert(&self, id: RequestId, functions: Functions) {
        self.known.borrow_mut().push((id, functions));
        self.live.set(self.known.borrow().len());
    }

    pub(crate) fn forget(&self, id: RequestId) {
        self.known.borrow_mut().retain(|(known, _)| *known != id);
        self.live.set(self.known.borrow().len());
    }
}

//! Addresses of data to send and to receive into.

use core::ffi::c_void;
use std::rc::Rc;

use engine::{RecvBuffer, SendBuffer};

use crate::errors::{Fault, Outcome};
use crate::r#gen::constants::*;
use crate::handles::Type;

/// The address of data, together with the caller's promise: what the call is told to read there is readable, and what it is
/// told to write is writable, until the operation is complete, and nobody touches it meanwhile.
#[derive(Clone, Copy)]
pub(crate) struct Buf(*mut c_void);

impl Buf {
    /// # Safety
    /// See the module `convert`.
    #[inline]
    pub(crate) unsafe fn new(address: *mut c_void) -> Self {
        Self(address)
    }

    pub(crate) fn address(self) -> *mut c_void {
        self.0
    }

    /// MPI_IN_PLACE stands where an address could.
    #[inline]
    pub(crate) fn is_in_place(self) -> bool {
        self.0 == MPI_IN_PLACE
    }

    /// Data to send.
    #[inline]
    pub(crate) fn send(self, count: i64, datatype: &Rc<Type>) -> Outcome<SendBuffer> {
        if !datatype.committed.get() {
            return Err(uncommitted());
        }
        // SAFETY: the promise that came with the address.
        Ok(unsafe { SendBuffer::new(self.0.cast(), count as u64, &datatype.datatype) })
    }

    /// Room to receive into.
    #[inline]
    pub(crate) fn receive(self, count: i64, datatype: &Rc<Type>) -> Outcome<RecvBuffer> {
        if !datatype.committed.get() {
            return Err(uncommitted());
        }
        // SAFETY: the promise that came with the address.
        Ok(unsafe { RecvBuffer::new(self.0.cast(), count as u64, &datatype.datatype) })
    }
}

#[cold]
fn uncommitted() -> Fault {
    Fault::new(MPI_ERR_TYPE, "the datatype is not committed, expected MPI_Type_commit before communication")
}

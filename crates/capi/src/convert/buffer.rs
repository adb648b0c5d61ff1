//! Addresses of data to send and to receive into.

use core::ffi::c_void;

use engine::{Counted, Datatype, RecvBuffer, SendBuffer};

use crate::abi::constants::*;
use crate::errors::{Fault, Outcome};
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
    pub(crate) fn send(self, count: i64, datatype: &Counted<Type>) -> Outcome<SendBuffer> {
        if !datatype.is_committed() {
            return Err(uncommitted());
        }
        if self.0.is_null() {
            let (base, relative) = rebased(&datatype.datatype);
            // SAFETY: the promise that came with the address: it holds for the addresses in the datatype.
            return Ok(unsafe { SendBuffer::new(base, count as u64, &relative) });
        }
        // SAFETY: the promise that came with the address.
        Ok(unsafe { SendBuffer::new(self.0.cast(), count as u64, &datatype.datatype) })
    }

    /// Room to receive into.
    #[inline]
    pub(crate) fn receive(self, count: i64, datatype: &Counted<Type>) -> Outcome<RecvBuffer> {
        if !datatype.is_committed() {
            return Err(uncommitted());
        }
        if self.0.is_null() {
            let (base, relative) = rebased(&datatype.datatype);
            // SAFETY: the promise that came with the address: it holds for the addresses in the datatype.
            return Ok(unsafe { RecvBuffer::new(base, count as u64, &relative) });
        }
        // SAFETY: the promise that came with the address.
        Ok(unsafe { RecvBuffer::new(self.0.cast(), count as u64, &datatype.datatype) })
    }
}

/// MPI_BOTTOM: the datatype's displacements are addresses. The same data from a base that is not null: nothing may be reached
/// from a null pointer in Rust, however far.
#[cold]
fn rebased(datatype: &Datatype) -> (*mut u8, Datatype) {
    let layout = datatype.layout();
    let base = layout.true_lower_bound();
    if base == 0 {
        return (std::ptr::null_mut(), datatype.clone());
    }
    let moved = datatype.moved(-base).expect("data between addresses that there are");
    (std::ptr::with_exposed_provenance_mut(base as usize), moved)
}

#[cold]
fn uncommitted() -> Fault {
    Fault::new(MPI_ERR_TYPE, "the datatype is not committed, expected MPI_Type_commit before communication")
}

//! Addresses of data to send and to receive into.

use core::ffi::c_void;

use engine::{Block, Datatype, Exposed, Lent, RecvBuffer, SendBuffer};
use fabric::Shape;

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

    /// Stores bytes here, and `at` so many further: the value of a variable, of which the program knows the type.
    pub(crate) fn store(self, at: usize, bytes: &[u8]) {
        // SAFETY: the promise that came with the address.
        unsafe { core::ptr::copy_nonoverlapping(bytes.as_ptr(), self.0.cast::<u8>().add(at), bytes.len()) };
    }

    /// Reads bytes that begin here, and `at` so many further.
    pub(crate) fn load<const BYTES: usize>(self, at: usize) -> [u8; BYTES] {
        // SAFETY: the promise that came with the address; an array of bytes lies anywhere.
        unsafe { self.0.cast::<u8>().add(at).cast::<[u8; BYTES]>().read() }
    }

    /// Memory for others to reach.
    pub(crate) fn exposed(self, bytes: usize) -> Exposed {
        // SAFETY: the promise that came with the address: until the window is freed, or the memory detached.
        unsafe { Exposed::new(self.0.cast(), bytes) }
    }

    /// A block of an array that begins here, for as long as its transfer lasts.
    pub(crate) fn block(self, shape: Shape) -> Block {
        // SAFETY: the promise that came with the address.
        unsafe { Block::new(self.0.cast(), shape) }
    }

    /// A part of the memory that was attached by addresses of which this is one.
    pub(crate) fn part(self, range: &std::ops::Range<usize>) -> Exposed {
        let base = std::ptr::with_exposed_provenance_mut(range.start);
        // SAFETY: the promise that came with the addresses: until the memory is detached.
        unsafe { Exposed::new(base, range.len()) }
    }

    /// Data to send.
    #[inline]
    pub(crate) fn send(self, count: i64, datatype: &Type) -> Outcome<Lent<'_, SendBuffer>> {
        let (base, datatype) = self.whole(count, datatype)?;
        // SAFETY: the promise that came with the address, or the addresses in the datatype.
        Ok(unsafe { Lent::to_send(base, count as u64, datatype) })
    }

    /// Room to receive into.
    #[inline]
    pub(crate) fn receive(self, count: i64, datatype: &Type) -> Outcome<Lent<'_, RecvBuffer>> {
        let (base, datatype) = self.whole(count, datatype)?;
        // SAFETY: the promise that came with the address, or the addresses in the datatype.
        Ok(unsafe { Lent::to_receive(base, count as u64, datatype) })
    }

    /// The address of the first element, and the datatype from there on. Displacements from
    /// MPI_BOTTOM are addresses. No elements need no address: their datatype stays what it is.
    #[inline]
    fn whole(self, count: i64, datatype: &Type) -> Outcome<(*mut u8, &Datatype)> {
        committed(datatype)?;
        let is_bottom = self.0.is_null() && count != 0;
        Ok(if is_bottom { datatype.at_an_address() } else { (self.0.cast(), &datatype.datatype) })
    }
}

/// An error unless messages may have this type.
#[inline]
pub(crate) fn committed(datatype: &Type) -> Outcome {
    if datatype.is_committed() { Ok(()) } else { Err(uncommitted()) }
}

#[cold]
fn uncommitted() -> Fault {
    Fault::new(MPI_ERR_TYPE, "the datatype is not committed, expected MPI_Type_commit before communication")
}

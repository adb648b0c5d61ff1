//! What is known of a call: whose it is, what its error handler belongs to, its arguments as words.

use core::ffi::{c_int, c_void};
use std::ops::Deref;

use crate::abi::constants::*;
use crate::abi::types::*;
use crate::process::State;

/// What an implementation knows of the call: whose it is and what it is called.
pub(crate) struct Call {
    pub(crate) state: &'static State,
    /// `MPI_Send`, ….
    pub(crate) name: &'static str,
}

/// A call whose conversions of handles and arrays are the library's one copy (`convert/shared`).
pub(crate) struct Shared(Call);

impl Shared {
    #[inline(always)]
    pub(super) fn new(call: Call) -> Self {
        Self(call)
    }
}

impl Deref for Shared {
    type Target = Call;

    #[inline]
    fn deref(&self) -> &Call {
        &self.0
    }
}

/// The object among the arguments whose error handler is called.
#[derive(Clone, Copy)]
pub(crate) enum Scope {
    Comm(MPI_Comm),
    File(MPI_File),
    Request(MPI_Request),
    Session(MPI_Session),
    /// A request or a message that is given by its address, which may be null.
    RequestAt(*const MPI_Request),
    MessageAt(*const MPI_Message),
    /// None of these: MPI_COMM_SELF.
    Process,
}

/// An argument as a word: a number by its value, everything else by its address or handle.
pub(crate) trait Word {
    fn word(self) -> u64;
}

impl Word for c_int {
    #[inline(always)]
    fn word(self) -> u64 {
        i64::from(self) as u64
    }
}

impl Word for i64 {
    #[inline(always)]
    fn word(self) -> u64 {
        self as u64
    }
}

impl Word for isize {
    #[inline(always)]
    fn word(self) -> u64 {
        self as u64
    }
}

impl<T> Word for *const T {
    #[inline(always)]
    fn word(self) -> u64 {
        self.expose_provenance() as u64
    }
}

impl<T> Word for *mut T {
    #[inline(always)]
    fn word(self) -> u64 {
        self.expose_provenance() as u64
    }
}

macro_rules! word_of_handles {
    ($($handle:ty),*) => {
        $(impl Word for $handle {
            #[inline(always)]
            fn word(self) -> u64 {
                self.0 as u64
            }
        })*
    };
}
word_of_handles!(MPI_Comm, MPI_Datatype, MPI_Errhandler, MPI_File, MPI_Group, MPI_Info, MPI_Message, MPI_Op);
word_of_handles!(MPI_Request, MPI_Session, MPI_Win);

/// Whether MPI_IN_PLACE stands where a buffer could.
#[inline]
pub(crate) fn in_place(buffer: *const c_void) -> bool {
    buffer == MPI_IN_PLACE.cast_const()
}

/// The datatype of a buffer, which may be anything if the buffer is MPI_IN_PLACE (spec: `ignored_with`).
#[inline]
pub(crate) fn unless_in_place(buffer: *const c_void, datatype: MPI_Datatype) -> MPI_Datatype {
    if in_place(buffer) { MPI_BYTE } else { datatype }
}

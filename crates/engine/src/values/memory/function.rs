//! How elements are combined: a kernel of the library's, or the engine's one call into code of the user's (MPI section 6.9.5).

use crate::values::datatype::Datatype;

/// A user-defined operation (MPI_Op_create).
pub trait UserFunction {
    /// Computes `inout[i] = input[i] op inout[i]` for `count` elements. It may use the rank for anything but communication.
    ///
    /// # Safety
    /// Only the engine calls this, with `input` readable and `inout` readable and writable for `count` elements of
    /// `datatype` (extents apart), not overlapping each other, and used by nobody else during the call. Both are aligned as
    /// the user's own buffers, or to 16 bytes.
    unsafe fn apply(&self, input: *const u8, inout: *mut u8, count: u64, datatype: &Datatype);
}

/// Combines the elements of the first slice with those of the second, which gets the result.
pub(crate) type Kernel = fn(&[u8], &mut [u8]);

/// How elements are combined.
pub(crate) enum Apply<'a> {
    Kernel(Kernel),
    User(&'a dyn UserFunction),
}

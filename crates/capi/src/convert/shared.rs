//! The conversions of handles and arrays for functions that are not hot: each compiled once and called, not copied into every entry point.
//!
//! What is converted and how it is checked is the same: these only stand before the ones of [`Call`](crate::call::Call).

use core::ffi::{c_int, c_void};
use std::rc::Rc;
use std::sync::Arc;

use engine::Counted;

use crate::abi::types::*;
use crate::call::{Call, Shared};
use crate::convert::Numbers;
use crate::convert::memory::Number;
use crate::errors::Outcome;
use crate::handles::{CommRef, Errhandler, File, Group, Op, Type, Window};

/// An array of numbers of one of the two widths, as given.
#[derive(Clone, Copy)]
pub(crate) struct NumberArray {
    address: *const c_void,
    is_large: bool,
}

impl NumberArray {
    /// Of 64 bits each if `is_large`, else of `int`.
    #[inline]
    pub(crate) fn new(address: *const c_void, is_large: bool) -> Self {
        Self { address, is_large }
    }
}

impl<T: Number> From<*const T> for NumberArray {
    #[inline]
    fn from(address: *const T) -> Self {
        Self::new(address.cast(), !T::SMALL)
    }
}

impl Shared {
    /// An array of numbers of any sign.
    ///
    /// # Safety
    /// See the module `convert`.
    #[inline]
    pub(crate) unsafe fn numbers<'a>(
        &self,
        name: &'static str,
        array: impl Into<NumberArray>,
        length: usize,
    ) -> Outcome<Numbers<'a>> {
        // SAFETY: passed on.
        unsafe { numbers(self, name, array.into(), length) }
    }

    /// An array of counts, none negative.
    ///
    /// # Safety
    /// See the module `convert`.
    #[inline]
    pub(crate) unsafe fn counts<'a>(
        &self,
        name: &'static str,
        array: impl Into<NumberArray>,
        length: usize,
    ) -> Outcome<Numbers<'a>> {
        // SAFETY: passed on.
        unsafe { counts(self, name, array.into(), length) }
    }

    /// A communicator.
    #[inline(never)]
    pub(crate) fn comm(&self, name: &'static str, handle: MPI_Comm) -> Outcome<&CommRef> {
        Ok(self.comms.hold((**self).comm(name, handle)?))
    }

    /// A datatype.
    #[inline(never)]
    pub(crate) fn datatype(&self, name: &'static str, handle: MPI_Datatype) -> Outcome<&Counted<Type>> {
        Ok(self.types.hold((**self).datatype(name, handle)?))
    }

    /// A group.
    #[inline(never)]
    pub(crate) fn group(&self, name: &'static str, handle: MPI_Group) -> Outcome<&Group> {
        Ok(self.groups.hold((**self).group(name, handle)?))
    }

    /// An open file.
    #[inline(never)]
    pub(crate) fn file(&self, name: &'static str, handle: MPI_File) -> Outcome<&Rc<File>> {
        Ok(self.files.hold((**self).file(name, handle)?))
    }

    /// A window.
    #[inline(never)]
    pub(crate) fn window(&self, name: &'static str, handle: MPI_Win) -> Outcome<&Window> {
        Ok(self.windows.hold((**self).window(name, handle)?))
    }

    /// An error handler.
    #[inline(never)]
    pub(crate) fn errhandler(&self, name: &'static str, handle: MPI_Errhandler) -> Outcome<&Arc<Errhandler>> {
        Ok(self.errhandlers.hold((**self).errhandler(name, handle)?))
    }

    /// A reduction operation.
    #[inline(never)]
    pub(crate) fn op(&self, name: &'static str, handle: MPI_Op) -> Outcome<&Op> {
        Ok(self.ops.hold((**self).op(name, handle)?))
    }
}

/// # Safety
/// See the module `convert`.
#[inline(never)]
unsafe fn numbers<'a>(
    call: &Call,
    name: &'static str,
    array: NumberArray,
    length: usize,
) -> Outcome<Numbers<'a>> {
    // SAFETY: passed on, and the array has the width that it says.
    unsafe {
        if array.is_large {
            call.numbers(name, array.address.cast::<i64>(), length)
        } else {
            call.numbers(name, array.address.cast::<c_int>(), length)
        }
    }
}

/// # Safety
/// See the module `convert`.
#[inline(never)]
unsafe fn counts<'a>(
    call: &Call,
    name: &'static str,
    array: NumberArray,
    length: usize,
) -> Outcome<Numbers<'a>> {
    // SAFETY: passed on, and the array has the width that it says.
    unsafe {
        if array.is_large {
            call.counts(name, array.address.cast::<i64>(), length)
        } else {
            call.counts(name, array.address.cast::<c_int>(), length)
        }
    }
}

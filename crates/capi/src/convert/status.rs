//! MPI_Status: what the library keeps in its five private words.
//!
//! | word | holds |
//! | --- | --- |
//! | 0, 1 | bytes received, low and high half |
//! | 2 | 1 if the operation was cancelled |
//! | 3, 4 | basic elements set by MPI_Status_set_elements plus one, low and high half; zero: not set |

use core::ffi::c_int;
use std::cell::Cell;
use std::mem::MaybeUninit;

use engine::{Source, Status, TagMatch};

use crate::abi::constants::*;
use crate::abi::types::MPI_Status;

/// Where a status goes; nowhere with MPI_STATUS_IGNORE.
#[derive(Clone, Copy)]
pub(crate) struct StatusOut<'a>(Option<&'a Cell<MaybeUninit<MPI_Status>>>);

impl StatusOut<'_> {
    /// # Safety
    /// See the module `convert`.
    #[inline]
    pub(crate) unsafe fn new(address: *mut MPI_Status) -> Self {
        // SAFETY: the contract of `convert`; MPI_STATUS_IGNORE is null.
        Self(unsafe { address.cast::<Cell<MaybeUninit<MPI_Status>>>().as_ref() })
    }

    /// Stores the empty status of a null or inactive request, which has an error field, too (MPI section 3.7.3).
    #[inline]
    pub(crate) fn set_empty(&self) {
        self.set(&Status::EMPTY);
        if let Some(cell) = self.0 {
            // SAFETY: the contract of `convert`: a writable MPI_Status.
            unsafe { (&raw mut (*cell.as_ptr().cast::<MPI_Status>()).MPI_ERROR).write(MPI_SUCCESS) };
        }
    }

    /// Stores what a call that completes one operation tells: all but the error field (MPI section 3.2.5).
    #[inline]
    pub(crate) fn set(&self, status: &Status) {
        if let Some(cell) = self.0 {
            let place = cell.as_ptr().cast::<MPI_Status>();
            let fresh = write_status(status, MPI_SUCCESS);
            // SAFETY: the contract of `convert`: a writable MPI_Status; the error field, possibly uninitialised, is not
            // read or written.
            unsafe {
                (&raw mut (*place).MPI_SOURCE).write(fresh.MPI_SOURCE);
                (&raw mut (*place).MPI_TAG).write(fresh.MPI_TAG);
                (&raw mut (*place).MPI_internal).write(fresh.MPI_internal);
            }
        }
    }

    /// Stores a whole status but for its error field.
    pub(crate) fn overwrite(&self, status: &MPI_Status) {
        if let Some(cell) = self.0 {
            let place = cell.as_ptr().cast::<MPI_Status>();
            // SAFETY: as in `set`.
            unsafe {
                (&raw mut (*place).MPI_SOURCE).write(status.MPI_SOURCE);
                (&raw mut (*place).MPI_TAG).write(status.MPI_TAG);
                (&raw mut (*place).MPI_internal).write(status.MPI_internal);
            }
        }
    }
}

/// An empty status of the program's.
pub(crate) fn empty_status() -> MPI_Status {
    write_status(&Status::EMPTY, MPI_SUCCESS)
}

/// Where an array of statuses goes; nowhere with MPI_STATUSES_IGNORE.
#[derive(Clone, Copy)]
pub(crate) struct StatusesOut<'a> {
    address: *mut MPI_Status,
    length: usize,
    call: std::marker::PhantomData<&'a Cell<MPI_Status>>,
}

impl StatusesOut<'_> {
    /// # Safety
    /// See the module `convert`.
    pub(crate) unsafe fn new(address: *mut MPI_Status, length: usize) -> Self {
        Self { address, length, call: std::marker::PhantomData }
    }

    /// Where one of them goes.
    pub(crate) fn at(&self, index: usize) -> StatusOut<'_> {
        assert!(index < self.length);
        if self.address.is_null() {
            return StatusOut(None);
        }
        // SAFETY: the contract of `convert`: `length` statuses.
        unsafe { StatusOut::new(self.address.add(index)) }
    }

    /// Stores one of them, leaving its error field alone.
    #[inline(always)]
    pub(crate) fn set(&self, index: usize, status: &Status) {
        if !self.address.is_null() {
            self.store(index, status);
        }
    }

    fn store(&self, index: usize, status: &Status) {
        assert!(index < self.length);
        // SAFETY: the contract of `convert`: `length` statuses.
        unsafe { StatusOut::new(self.address.add(index)) }.set(status);
    }

    /// Stores an empty status, its error field included.
    pub(crate) fn set_empty(&self, index: usize) {
        self.set(index, &Status::EMPTY);
        self.set_error(index, MPI_SUCCESS);
    }

    /// Stores the error field of one, which calls that return MPI_ERR_IN_STATUS do.
    pub(crate) fn set_error(&self, index: usize, error: c_int) {
        assert!(index < self.length);
        if !self.address.is_null() {
            // SAFETY: the contract of `convert`: `length` statuses.
            unsafe { (&raw mut (*self.address.add(index)).MPI_ERROR).write(error) }
        }
    }
}

/// The C form of a status.
#[inline]
pub(crate) fn write_status(status: &Status, error: c_int) -> MPI_Status {
    MPI_Status {
        MPI_SOURCE: match status.source {
            Source::Rank(rank) => rank as c_int,
            Source::Any => MPI_ANY_SOURCE,
            Source::Null => MPI_PROC_NULL,
        },
        MPI_TAG: match status.tag {
            TagMatch::Is(tag) => tag.value(),
            TagMatch::Any => MPI_ANY_TAG,
        },
        MPI_ERROR: error,
        MPI_internal: [
            status.bytes as c_int,
            (status.bytes >> 32) as c_int,
            c_int::from(status.cancelled),
            0,
            0,
        ],
    }
}

/// What the private words say.
pub(crate) fn read_status(status: &MPI_Status) -> Words {
    let [low, high, cancelled, elements_low, elements_high] = status.MPI_internal;
    let join = |low: c_int, high: c_int| u64::from(high as u32) << 32 | u64::from(low as u32);
    Words {
        bytes: join(low, high),
        cancelled: cancelled != 0,
        elements: join(elements_low, elements_high).checked_sub(1),
    }
}

/// The private words, unpacked.
pub(crate) struct Words {
    pub(crate) bytes: u64,
    pub(crate) cancelled: bool,
    /// Set by MPI_Status_set_elements.
    pub(crate) elements: Option<u64>,
}

impl Words {
    pub(crate) fn pack(&self) -> [c_int; 5] {
        let elements = self.elements.map_or(0, |elements| elements + 1);
        [
            self.bytes as c_int,
            (self.bytes >> 32) as c_int,
            c_int::from(self.cancelled),
            elements as c_int,
            (elements >> 32) as c_int,
        ]
    }
}

#[cfg(test)]
mod tests {
    use engine::{Source, Status, Tag, TagMatch};

    use super::{Words, read_status, write_status};

    #[test]
    fn byte_counts_above_four_gigabytes_survive() {
        let tag = TagMatch::Is(Tag::new(9).unwrap());
        let status = Status { source: Source::Rank(3), tag, bytes: 5 << 32 | 0xffff_ffff, cancelled: false };
        let written = write_status(&status, 0);
        assert_eq!((written.MPI_SOURCE, written.MPI_TAG), (3, 9));
        assert_eq!(read_status(&written).bytes, status.bytes);
    }

    #[test]
    fn zero_elements_set_differ_from_none_set() {
        let mut status = write_status(&Status::EMPTY, 0);
        assert_eq!(read_status(&status).elements, None);
        status.MPI_internal = Words { bytes: 0, cancelled: true, elements: Some(0) }.pack();
        let words = read_status(&status);
        assert_eq!((words.elements, words.cancelled), (Some(0), true));
    }
}

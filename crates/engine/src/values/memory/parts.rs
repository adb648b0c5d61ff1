//! User memory in one part a rank, for the collectives with varying counts (MPI sections 6.5 to 6.8, the `v` and `w` forms).
//!
//! The arrays are borrowed for the call only, also of non-blocking forms: a schedule takes what it needs when it is built.

use crate::values::datatype::Datatype;
use crate::values::error::{Error, Result};
use crate::values::memory::{RecvBuffer, SendBuffer};

/// Memory to send from, in one part a rank.
#[derive(Clone, Copy, Debug)]
pub struct SendParts<'a> {
    base: *const u8,
    shape: Parts<'a>,
    /// The parts themselves, if that is how they were given.
    buffers: Option<&'a [SendBuffer]>,
}

/// Memory to receive into, in one part a rank.
#[derive(Clone, Copy, Debug)]
pub struct RecvParts<'a> {
    base: *mut u8,
    shape: Parts<'a>,
    /// The parts themselves, if that is how they were given.
    buffers: Option<&'a [RecvBuffer]>,
}

/// Counts, places and types of the parts.
#[derive(Clone, Copy, Debug)]
struct Parts<'a> {
    counts: &'a [u64],
    displacements: &'a [i64],
    types: Types<'a>,
}

#[derive(Clone, Copy, Debug)]
enum Types<'a> {
    /// One type; displacements count its extents.
    One(&'a Datatype),
    /// A type for each part; displacements count bytes.
    Each(&'a [Datatype]),
}

impl Parts<'_> {
    /// Byte offset, count and type of a part.
    #[inline]
    fn part(&self, rank: u32) -> (i64, u64, &Datatype) {
        let index = rank as usize;
        match self.types {
            Types::One(datatype) => {
                (self.displacements[index] * datatype.extent(), self.counts[index], datatype)
            }
            Types::Each(types) => (self.displacements[index], self.counts[index], &types[index]),
        }
    }

    fn check(&self, ranks: u32) -> Result<()> {
        let ranks = ranks as usize;
        let enough = self.counts.len() >= ranks
            && self.displacements.len() >= ranks
            && match self.types {
                Types::One(_) => true,
                Types::Each(types) => types.len() >= ranks,
            };
        if enough {
            return Ok(());
        }
        Err(too_few(self.counts.len()))
    }
}

fn too_few(given: usize) -> Error {
    let reason = "counts, displacements and types need an entry for each rank";
    Error::Argument { reason, given: given as i64 }
}

impl<'a> SendParts<'a> {
    /// Part `i` is `counts[i]` elements at `displacements[i]` extents from `base`.
    ///
    /// # Safety
    /// As [`SendBuffer::new`], for each part.
    pub unsafe fn new(
        base: *const u8,
        counts: &'a [u64],
        displacements: &'a [i64],
        datatype: &'a Datatype,
    ) -> SendParts<'a> {
        SendParts { base, shape: Parts { counts, displacements, types: Types::One(datatype) }, buffers: None }
    }

    /// Part `i` is `counts[i]` elements of `types[i]` at `displacements[i]` bytes from `base` (MPI_Alltoallw).
    ///
    /// # Safety
    /// As [`SendBuffer::new`], for each part.
    pub unsafe fn with_types(
        base: *const u8,
        counts: &'a [u64],
        displacements: &'a [i64],
        types: &'a [Datatype],
    ) -> SendParts<'a> {
        SendParts { base, shape: Parts { counts, displacements, types: Types::Each(types) }, buffers: None }
    }

    /// Part `i` is `buffers[i]`, wherever that lies.
    pub fn of(buffers: &'a [SendBuffer]) -> SendParts<'a> {
        let shape = Parts { counts: &[], displacements: &[], types: Types::Each(&[]) };
        SendParts { base: core::ptr::null(), shape, buffers: Some(buffers) }
    }

    /// The part of a rank.
    pub(crate) fn part(&self, rank: u32) -> SendBuffer {
        if let Some(buffers) = self.buffers {
            return buffers[rank as usize].clone();
        }
        let (offset, count, datatype) = self.shape.part(rank);
        // SAFETY: the constructor's caller vouched for each part. A part without bytes may have any base.
        unsafe { SendBuffer::new(self.base.wrapping_offset(offset as isize), count, datatype) }
    }

    /// An error unless there is a part for each of `ranks` ranks.
    pub(crate) fn check(&self, ranks: u32) -> Result<()> {
        match self.buffers {
            Some(buffers) if buffers.len() >= ranks as usize => Ok(()),
            Some(buffers) => Err(too_few(buffers.len())),
            None => self.shape.check(ranks),
        }
    }
}

impl<'a> RecvParts<'a> {
    /// Part `i` is `counts[i]` elements at `displacements[i]` extents from `base`.
    ///
    /// # Safety
    /// As [`RecvBuffer::new`], for each part; parts must not overlap.
    pub unsafe fn new(
        base: *mut u8,
        counts: &'a [u64],
        displacements: &'a [i64],
        datatype: &'a Datatype,
    ) -> RecvParts<'a> {
        RecvParts { base, shape: Parts { counts, displacements, types: Types::One(datatype) }, buffers: None }
    }

    /// Part `i` is `counts[i]` elements of `types[i]` at `displacements[i]` bytes from `base` (MPI_Alltoallw).
    ///
    /// # Safety
    /// As [`RecvBuffer::new`], for each part; parts must not overlap.
    pub unsafe fn with_types(
        base: *mut u8,
        counts: &'a [u64],
        displacements: &'a [i64],
        types: &'a [Datatype],
    ) -> RecvParts<'a> {
        RecvParts { base, shape: Parts { counts, displacements, types: Types::Each(types) }, buffers: None }
    }

    /// Part `i` is `buffers[i]`, wherever that lies. They must not overlap.
    pub fn of(buffers: &'a [RecvBuffer]) -> RecvParts<'a> {
        let shape = Parts { counts: &[], displacements: &[], types: Types::Each(&[]) };
        RecvParts { base: core::ptr::null_mut(), shape, buffers: Some(buffers) }
    }

    /// The part of a rank.
    pub(crate) fn part(&self, rank: u32) -> RecvBuffer {
        if let Some(buffers) = self.buffers {
            return buffers[rank as usize].clone();
        }
        let (offset, count, datatype) = self.shape.part(rank);
        // SAFETY: the constructor's caller vouched for each part. A part without bytes may have any base.
        unsafe { RecvBuffer::new(self.base.wrapping_offset(offset as isize), count, datatype) }
    }

    /// An error unless there is a part for each of `ranks` ranks.
    pub(crate) fn check(&self, ranks: u32) -> Result<()> {
        match self.buffers {
            Some(buffers) if buffers.len() >= ranks as usize => Ok(()),
            Some(buffers) => Err(too_few(buffers.len())),
            None => self.shape.check(ranks),
        }
    }
}

//! Elements in one piece: what a quick form of a call takes its arguments for.

use core::ffi::{c_int, c_void};

use crate::abi::constants::MPI_IN_PLACE;
use crate::abi::types::*;
use crate::process::State;

/// So many elements of a predefined type that lie in one piece, as the program gives them.
#[derive(Clone, Copy)]
pub(super) struct Block {
    pub(super) address: *mut u8,
    pub(super) bytes: usize,
}

impl Block {
    /// None if it is anything else.
    #[inline(always)]
    pub(super) fn of(
        state: &State,
        buf: *const c_void,
        count: c_int,
        datatype: MPI_Datatype,
    ) -> Option<Block> {
        if count < 0 || buf.addr() <= MPI_IN_PLACE.addr() {
            return None;
        }
        let bytes = count as usize * state.types.dense_bytes(datatype)?;
        Some(Block { address: buf.cast_mut().cast(), bytes })
    }

    /// As many bytes elsewhere, for the result of a reduction. None if that is in place, or they share bytes.
    #[inline(always)]
    pub(super) fn to_target(self, buf: *mut c_void) -> Option<Block> {
        let target = Block { address: buf.cast(), bytes: self.bytes };
        (buf.addr() > MPI_IN_PLACE.addr() && self.is_apart(target.address, target.bytes)).then_some(target)
    }

    /// True if it shares no bytes with so many from an address on.
    #[inline(always)]
    pub(super) fn is_apart(self, from: *const u8, bytes: usize) -> bool {
        let first = self.address.addr();
        first + self.bytes <= from.addr() || from.addr() + bytes <= first
    }

    /// # Safety
    /// The contract of `convert`: so many bytes, and those of `times` as many, can be read, and nobody writes them during the call.
    #[inline(always)]
    pub(super) unsafe fn given<'a>(self, times: u32) -> &'a [u8] {
        // SAFETY: as the caller says.
        unsafe { core::slice::from_raw_parts(self.address, self.bytes * times as usize) }
    }

    /// # Safety
    /// The contract of `convert`: so many bytes, and those of `times` as many, can be written, and nobody else uses them during the call.
    #[inline(always)]
    pub(super) unsafe fn room<'a>(self, times: u32) -> &'a mut [u8] {
        // SAFETY: as the caller says.
        unsafe { core::slice::from_raw_parts_mut(self.address, self.bytes * times as usize) }
    }
}

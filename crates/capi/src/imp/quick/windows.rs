//! Chapter 12: what most operations on windows come to. Elements of a predefined type, the same on both sides, in memory that the caller addresses.

use core::ffi::{c_int, c_void};

use engine::Builtin;

use super::block::Block;
use crate::abi::constants::{MPI_LOCK_EXCLUSIVE, MPI_LOCK_SHARED};
use crate::abi::types::*;
use crate::handles::Type;
use crate::process::State;

/// The elements of both sides, as given.
#[derive(Clone, Copy)]
struct Both {
    origin: (c_int, MPI_Datatype),
    target: (c_int, MPI_Datatype),
}

impl Both {
    /// What the origin has; none if the target has anything else.
    #[inline(always)]
    fn block(self, state: &State, origin_addr: *const c_void) -> Option<Block> {
        let (count, datatype) = self.origin;
        if self.target == self.origin { Block::of(state, origin_addr, count, datatype) } else { None }
    }
}

/// # Safety
/// See the module `convert`.
#[inline(always)]
#[allow(clippy::too_many_arguments, reason = "those of MPI_Put")]
pub(crate) unsafe fn mpi_put(
    state: &State,
    origin_addr: *const c_void,
    origin_count: c_int,
    origin_datatype: MPI_Datatype,
    target_rank: c_int,
    target_disp: MPI_Aint,
    target_count: c_int,
    target_datatype: MPI_Datatype,
    win: MPI_Win,
) -> bool {
    let both = Both { origin: (origin_count, origin_datatype), target: (target_count, target_datatype) };
    let Some(block) = both.block(state, origin_addr) else { return false };
    let Some(window) = state.windows.look(win) else { return false };
    // SAFETY: the contract of `convert`.
    let bytes = unsafe { block.given(1) };
    state.rank().put_at_once(window, bytes, target_rank as u32, target_disp as i64)
}

/// # Safety
/// See the module `convert`.
#[inline(always)]
#[allow(clippy::too_many_arguments, reason = "those of MPI_Get")]
pub(crate) unsafe fn mpi_get(
    state: &State,
    origin_addr: *mut c_void,
    origin_count: c_int,
    origin_datatype: MPI_Datatype,
    target_rank: c_int,
    target_disp: MPI_Aint,
    target_count: c_int,
    target_datatype: MPI_Datatype,
    win: MPI_Win,
) -> bool {
    let both = Both { origin: (origin_count, origin_datatype), target: (target_count, target_datatype) };
    let Some(block) = both.block(state, origin_addr) else { return false };
    let Some(window) = state.windows.look(win) else { return false };
    // SAFETY: the contract of `convert`.
    let into = unsafe { block.room(1) };
    state.rank().get_at_once(window, into, target_rank as u32, target_disp as i64)
}

/// # Safety
/// See the module `convert`.
#[inline(always)]
#[allow(clippy::too_many_arguments, reason = "those of MPI_Accumulate")]
pub(crate) unsafe fn mpi_accumulate(
    state: &State,
    origin_addr: *const c_void,
    origin_count: c_int,
    origin_datatype: MPI_Datatype,
    target_rank: c_int,
    target_disp: MPI_Aint,
    target_count: c_int,
    target_datatype: MPI_Datatype,
    op: MPI_Op,
    win: MPI_Win,
) -> bool {
    let both = Both { origin: (origin_count, origin_datatype), target: (target_count, target_datatype) };
    let Some(block) = both.block(state, origin_addr) else { return false };
    let Some((op, datatype)) = operation(state, op, origin_datatype) else { return false };
    let Some(window) = state.windows.look(win) else { return false };
    let aim = (target_rank as u32, target_disp as i64);
    // SAFETY: the contract of `convert`.
    let input = unsafe { block.given(1) };
    state.rank().accumulate_at_once(window, input, &datatype.datatype, aim, op)
}

/// # Safety
/// See the module `convert`.
#[inline(always)]
#[allow(clippy::too_many_arguments, reason = "those of MPI_Fetch_and_op")]
pub(crate) unsafe fn mpi_fetch_and_op(
    state: &State,
    origin_addr: *const c_void,
    result_addr: *mut c_void,
    datatype: MPI_Datatype,
    target_rank: c_int,
    target_disp: MPI_Aint,
    op: MPI_Op,
    win: MPI_Win,
) -> bool {
    let Some(input) = Block::of(state, origin_addr, 1, datatype) else { return false };
    let Some(fetched) = input.to_target(result_addr) else { return false };
    let Some((op, datatype)) = operation(state, op, datatype) else { return false };
    let Some(window) = state.windows.look(win) else { return false };
    let aim = (target_rank as u32, target_disp as i64);
    // SAFETY: the contract of `convert`, and they do not overlap.
    let both = unsafe { (input.given(1), fetched.room(1)) };
    state.rank().fetch_and_op_at_once(window, both, &datatype.datatype, aim, op)
}

/// # Safety
/// See the module `convert`.
#[inline(always)]
#[allow(clippy::too_many_arguments, reason = "those of MPI_Compare_and_swap")]
pub(crate) unsafe fn mpi_compare_and_swap(
    state: &State,
    origin_addr: *const c_void,
    compare_addr: *const c_void,
    result_addr: *mut c_void,
    datatype: MPI_Datatype,
    target_rank: c_int,
    target_disp: MPI_Aint,
    win: MPI_Win,
) -> bool {
    let Some(desired) = Block::of(state, origin_addr, 1, datatype) else { return false };
    let Some(expected) = Block::of(state, compare_addr, 1, datatype) else { return false };
    let Some(fetched) = desired.to_target(result_addr) else { return false };
    let Some(datatype) = state.types.used(datatype) else { return false };
    let Some(window) = state.windows.look(win) else { return false };
    if !expected.is_apart(fetched.address, fetched.bytes) {
        return false;
    }
    let aim = (target_rank as u32, target_disp as i64);
    // SAFETY: the contract of `convert`, and what is written overlaps nothing.
    let elements = unsafe { (desired.given(1), expected.given(1), fetched.room(1)) };
    state.rank().compare_and_swap_at_once(window, elements, &datatype.datatype, aim)
}

/// # Safety
/// None is needed: it is called as the others are.
#[inline(always)]
pub(crate) unsafe fn mpi_win_lock(
    state: &State,
    lock_type: c_int,
    rank: c_int,
    assert: c_int,
    win: MPI_Win,
) -> bool {
    let is_exclusive = lock_type == MPI_LOCK_EXCLUSIVE;
    if assert != 0 || !(is_exclusive || lock_type == MPI_LOCK_SHARED) {
        return false;
    }
    let Some(window) = state.windows.look(win) else { return false };
    state.rank().lock_at_once(window, rank as u32, is_exclusive)
}

/// # Safety
/// None is needed: it is called as the others are.
#[inline(always)]
pub(crate) unsafe fn mpi_win_unlock(state: &State, rank: c_int, win: MPI_Win) -> bool {
    let Some(window) = state.windows.look(win) else { return false };
    state.rank().unlock_at_once(window, rank as u32)
}

/// # Safety
/// None is needed: it is called as the others are.
#[inline(always)]
pub(crate) unsafe fn mpi_win_flush(state: &State, rank: c_int, win: MPI_Win) -> bool {
    let Some(window) = state.windows.look(win) else { return false };
    state.rank().flush_at_once(window, rank as u32)
}

/// A predefined operation, and a predefined type that was used before.
#[inline(always)]
fn operation(state: &State, op: MPI_Op, datatype: MPI_Datatype) -> Option<(Builtin, &Type)> {
    Some((state.ops.get(op)?.predefined()?, state.types.used(datatype)?))
}

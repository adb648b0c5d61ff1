//! Chapter 6: what most collectives with a root, and scans, come to where they are short. A few bytes of a predefined type, among members who share a board, where this member can do its part now.

use core::ffi::{c_int, c_void};

use engine::Reduction;

use crate::abi::constants::MPI_IN_PLACE;
use crate::abi::types::*;
use crate::handles::Comm;
use crate::process::State;

/// So many elements of a predefined type that lie in one piece, as a member gives them.
#[derive(Clone, Copy)]
struct Block {
    address: *mut u8,
    bytes: usize,
}

impl Block {
    /// None if it is anything else.
    #[inline(always)]
    fn of(state: &State, buf: *const c_void, count: c_int, datatype: MPI_Datatype) -> Option<Block> {
        if count < 0 || buf.addr() <= MPI_IN_PLACE.addr() {
            return None;
        }
        let bytes = count as usize * state.types.dense_bytes(datatype)?;
        Some(Block { address: buf.cast_mut().cast(), bytes })
    }

    /// As many bytes elsewhere, for the result of a reduction. None if that is in place, or they share bytes.
    #[inline(always)]
    fn to_target(self, buf: *mut c_void) -> Option<Block> {
        let target = Block { address: buf.cast(), bytes: self.bytes };
        (buf.addr() > MPI_IN_PLACE.addr() && self.is_apart(target.address, target.bytes)).then_some(target)
    }

    /// True if it shares no bytes with so many from an address on.
    #[inline(always)]
    fn is_apart(self, from: *const u8, bytes: usize) -> bool {
        let first = self.address.addr();
        first + self.bytes <= from.addr() || from.addr() + bytes <= first
    }

    /// # Safety
    /// The contract of `convert`: so many bytes, and those of `times` as many, can be read, and nobody writes them during the call.
    #[inline(always)]
    unsafe fn given<'a>(self, times: u32) -> &'a [u8] {
        // SAFETY: as the caller says.
        unsafe { core::slice::from_raw_parts(self.address, self.bytes * times as usize) }
    }

    /// # Safety
    /// The contract of `convert`: so many bytes, and those of `times` as many, can be written, and nobody else uses them during the call.
    #[inline(always)]
    unsafe fn room<'a>(self, times: u32) -> &'a mut [u8] {
        // SAFETY: as the caller says.
        unsafe { core::slice::from_raw_parts_mut(self.address, self.bytes * times as usize) }
    }
}

/// What the root has beside the blocks of all: a block elsewhere, or nothing for `MPI_IN_PLACE`. None if it is anything else, or lies there too.
fn beside(
    state: &State,
    (buf, count, datatype): (*const c_void, c_int, MPI_Datatype),
    all: Block,
    comm: &Comm,
) -> Option<Option<Block>> {
    if buf == MPI_IN_PLACE {
        return Some(None);
    }
    let own = Block::of(state, buf, count, datatype)?;
    own.is_apart(all.address, all.bytes * comm.comm.size() as usize).then_some(Some(own))
}

/// # Safety
/// See the module `convert`.
#[inline(always)]
pub(crate) unsafe fn mpi_bcast(
    state: &State,
    buffer: *mut c_void,
    count: c_int,
    datatype: MPI_Datatype,
    root: c_int,
    comm: MPI_Comm,
) -> bool {
    let Some(comm) = state.comms.look(comm) else { return false };
    let Some(block) = Block::of(state, buffer, count, datatype) else { return false };
    // SAFETY: the contract of `convert`.
    state.rank().bcast_at_once(unsafe { block.room(1) }, root as u32, &comm.comm)
}

/// # Safety
/// See the module `convert`.
#[inline(always)]
#[allow(clippy::too_many_arguments, reason = "those of MPI_Gather")]
pub(crate) unsafe fn mpi_gather(
    state: &State,
    sendbuf: *const c_void,
    sendcount: c_int,
    sendtype: MPI_Datatype,
    recvbuf: *mut c_void,
    recvcount: c_int,
    recvtype: MPI_Datatype,
    root: c_int,
    comm: MPI_Comm,
) -> bool {
    let Some(comm) = state.comms.look(comm) else { return false };
    let rank = state.rank();
    if root as u32 != comm.comm.rank() {
        let Some(own) = Block::of(state, sendbuf, sendcount, sendtype) else { return false };
        // SAFETY: the contract of `convert`.
        return rank.gather_at_once(unsafe { own.given(1) }, root as u32, &comm.comm);
    }
    let Some(all) = Block::of(state, recvbuf, recvcount, recvtype) else { return false };
    let Some(own) = beside(state, (sendbuf, sendcount, sendtype), all, comm) else { return false };
    // SAFETY: the contract of `convert`, and they do not overlap.
    let (own, all) = unsafe { (own.map(|own| own.given(1)), all.room(comm.comm.size())) };
    rank.gather_here_at_once(own, all, &comm.comm)
}

/// # Safety
/// See the module `convert`.
#[inline(always)]
#[allow(clippy::too_many_arguments, reason = "those of MPI_Scatter")]
pub(crate) unsafe fn mpi_scatter(
    state: &State,
    sendbuf: *const c_void,
    sendcount: c_int,
    sendtype: MPI_Datatype,
    recvbuf: *mut c_void,
    recvcount: c_int,
    recvtype: MPI_Datatype,
    root: c_int,
    comm: MPI_Comm,
) -> bool {
    let Some(comm) = state.comms.look(comm) else { return false };
    let rank = state.rank();
    if root as u32 != comm.comm.rank() {
        let Some(own) = Block::of(state, recvbuf, recvcount, recvtype) else { return false };
        // SAFETY: the contract of `convert`.
        return rank.scatter_at_once(unsafe { own.room(1) }, root as u32, &comm.comm);
    }
    let Some(all) = Block::of(state, sendbuf, sendcount, sendtype) else { return false };
    let Some(own) = beside(state, (recvbuf, recvcount, recvtype), all, comm) else { return false };
    // SAFETY: the contract of `convert`, and they do not overlap.
    let (own, all) = unsafe { (own.map(|own| own.room(1)), all.given(comm.comm.size())) };
    rank.scatter_here_at_once(own, all, &comm.comm)
}

/// # Safety
/// See the module `convert`.
#[inline(always)]
#[allow(clippy::too_many_arguments, reason = "those of MPI_Reduce")]
pub(crate) unsafe fn mpi_reduce(
    state: &State,
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: c_int,
    datatype: MPI_Datatype,
    op: MPI_Op,
    root: c_int,
    comm: MPI_Comm,
) -> bool {
    let Some(comm) = state.comms.look(comm) else { return false };
    let Some(how) = reduction(state, op, datatype) else { return false };
    let Some(value) = Block::of(state, sendbuf, count, datatype) else { return false };
    let target = value.to_target(recvbuf);
    let is_root = root as u32 == comm.comm.rank();
    if is_root && target.is_none() {
        return false;
    }
    // SAFETY: the contract of `convert`, and they do not overlap.
    let (value, target) =
        unsafe { (value.given(1), target.filter(|_| is_root).map(|target| target.room(1))) };
    state.rank().reduce_at_once(value, target, how, root as u32, &comm.comm)
}

/// How a predefined operation combines elements of a predefined type.
#[inline(always)]
fn reduction(state: &State, op: MPI_Op, datatype: MPI_Datatype) -> Option<Reduction> {
    Reduction::new(state.ops.get(op)?.predefined()?, &state.types.used(datatype)?.datatype)
}

/// # Safety
/// See the module `convert`.
#[inline(always)]
pub(crate) unsafe fn mpi_scan(
    state: &State,
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: c_int,
    datatype: MPI_Datatype,
    op: MPI_Op,
    comm: MPI_Comm,
) -> bool {
    // SAFETY: passed on.
    unsafe { scan(state, (sendbuf, recvbuf), (count, datatype), op, comm, true) }
}

/// # Safety
/// See the module `convert`.
#[inline(always)]
pub(crate) unsafe fn mpi_exscan(
    state: &State,
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: c_int,
    datatype: MPI_Datatype,
    op: MPI_Op,
    comm: MPI_Comm,
) -> bool {
    // SAFETY: passed on.
    unsafe { scan(state, (sendbuf, recvbuf), (count, datatype), op, comm, false) }
}

/// # Safety
/// See the module `convert`.
#[inline(never)]
unsafe fn scan(
    state: &State,
    (sendbuf, recvbuf): (*const c_void, *mut c_void),
    (count, datatype): (c_int, MPI_Datatype),
    op: MPI_Op,
    comm: MPI_Comm,
    with_own: bool,
) -> bool {
    let Some(comm) = state.comms.look(comm) else { return false };
    let Some(how) = reduction(state, op, datatype) else { return false };
    let Some(value) = Block::of(state, sendbuf, count, datatype) else { return false };
    let Some(target) = value.to_target(recvbuf) else { return false };
    // SAFETY: the contract of `convert`, and they do not overlap.
    let (value, target) = unsafe { (value.given(1), target.room(1)) };
    state.rank().scan_at_once(value, target, how, with_own, &comm.comm)
}

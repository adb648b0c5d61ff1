//! Chapter 6: what most collectives come to where they are short. A few bytes of a predefined type, among members who share a board, where this member can do its part now, or meets the others soon.

use core::ffi::{c_int, c_void};

use engine::Reduction;

use super::block::Block;
use crate::abi::constants::MPI_IN_PLACE;
use crate::abi::types::*;
use crate::handles::Comm;
use crate::process::State;

/// What a member has beside so many blocks: one elsewhere, or nothing for `MPI_IN_PLACE`. None if it is anything else, or lies there too.
#[inline]
fn elsewhere(
    state: &State,
    (buf, count, datatype): (*const c_void, c_int, MPI_Datatype),
    blocks: Block,
    number: u32,
) -> Option<Option<Block>> {
    if buf == MPI_IN_PLACE {
        return Some(None);
    }
    let own = Block::of(state, buf, count, datatype)?;
    own.is_apart(blocks.address, blocks.bytes * number as usize).then_some(Some(own))
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
    let own = elsewhere(state, (sendbuf, sendcount, sendtype), all, comm.comm.size());
    let Some(own) = own else { return false };
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
    let own = elsewhere(state, (recvbuf, recvcount, recvtype), all, comm.comm.size());
    let Some(own) = own else { return false };
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

/// A communicator whose members may meet at once.
#[inline(always)]
fn meeting(state: &State, comm: MPI_Comm) -> Option<&Comm> {
    state.comms.look(comm).filter(|comm| state.rank().may_meet_at_once(&comm.comm))
}

/// # Safety
/// None: it is as the others are, by which the generator tells them from the general ones.
#[inline(always)]
pub(crate) unsafe fn mpi_barrier(state: &State, comm: MPI_Comm) -> bool {
    meeting(state, comm).is_some_and(|comm| state.rank().barrier_at_once(&comm.comm))
}

/// # Safety
/// See the module `convert`.
#[inline(always)]
pub(crate) unsafe fn mpi_allreduce(
    state: &State,
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: c_int,
    datatype: MPI_Datatype,
    op: MPI_Op,
    comm: MPI_Comm,
) -> bool {
    let Some(comm) = meeting(state, comm) else { return false };
    let Some(how) = reduction(state, op, datatype) else { return false };
    let Some(target) = Block::of(state, recvbuf, count, datatype) else { return false };
    let Some(value) = elsewhere(state, (sendbuf, count, datatype), target, 1) else { return false };
    // SAFETY: the contract of `convert`, and they do not overlap.
    let (value, target) = unsafe { (value.map(|value| value.given(1)), target.room(1)) };
    state.rank().allreduce_at_once(value, target, how, &comm.comm)
}

/// # Safety
/// See the module `convert`.
#[inline(always)]
#[allow(clippy::too_many_arguments, reason = "those of MPI_Allgather")]
pub(crate) unsafe fn mpi_allgather(
    state: &State,
    sendbuf: *const c_void,
    sendcount: c_int,
    sendtype: MPI_Datatype,
    recvbuf: *mut c_void,
    recvcount: c_int,
    recvtype: MPI_Datatype,
    comm: MPI_Comm,
) -> bool {
    let Some(comm) = meeting(state, comm) else { return false };
    let members = comm.comm.size();
    let Some(all) = Block::of(state, recvbuf, recvcount, recvtype) else { return false };
    let own = elsewhere(state, (sendbuf, sendcount, sendtype), all, members);
    let Some(own) = own else { return false };
    // SAFETY: the contract of `convert`, and they do not overlap.
    let (own, all) = unsafe { (own.map(|own| own.given(1)), all.room(members)) };
    state.rank().allgather_at_once(own, all, &comm.comm)
}

/// # Safety
/// See the module `convert`.
#[inline(always)]
#[allow(clippy::too_many_arguments, reason = "those of MPI_Alltoall")]
pub(crate) unsafe fn mpi_alltoall(
    state: &State,
    sendbuf: *const c_void,
    sendcount: c_int,
    sendtype: MPI_Datatype,
    recvbuf: *mut c_void,
    recvcount: c_int,
    recvtype: MPI_Datatype,
    comm: MPI_Comm,
) -> bool {
    let Some(comm) = meeting(state, comm) else { return false };
    let members = comm.comm.size();
    let Some(recv) = Block::of(state, recvbuf, recvcount, recvtype) else { return false };
    let Some(send) = Block::of(state, sendbuf, sendcount, sendtype) else { return false };
    let both = |block: Block| Block { bytes: 2 * block.bytes, ..block };
    if members != 2 || send.bytes != recv.bytes || !both(send).is_apart(recv.address, both(recv).bytes) {
        return false;
    }
    // SAFETY: the contract of `convert`, and they do not overlap.
    let (send, recv) = unsafe { (send.given(members), recv.room(members)) };
    state.rank().alltoall_at_once(send, recv, &comm.comm)
}

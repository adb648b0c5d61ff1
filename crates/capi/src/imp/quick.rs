//! Chapter 3: what most sends and receives come to. A message of a predefined type that lies in one piece and fits into a letter, to or from a rank that is named, with nothing in
//! its way, takes a look at each argument and one visit to the engine.
//!
//! Each function does all of its call or nothing, but for [`mpi_sendrecv`], which says what it has done: what is false here is begun again by the function in `p2p`, which knows all
//! cases and all errors. So nothing is explained here, and nothing is checked twice in a call that goes well, but for what [`mpi_sendrecv`] receives. Called while the process is active and nobody watches it (`call::quick`).

mod block;
mod collectives;
mod windows;

use core::ffi::{c_int, c_void};

pub(crate) use collectives::*;
use engine::{Lent, RequestId, Status, Tag};
pub(crate) use windows::*;

use crate::abi::constants::*;
use crate::abi::types::*;
use crate::convert::StatusOut;
use crate::handles::Comm;
use crate::process::State;

/// The arguments that say which message it is, as given.
#[derive(Clone, Copy)]
struct Given {
    count: c_int,
    datatype: MPI_Datatype,
    rank: c_int,
    tag: c_int,
    comm: MPI_Comm,
}

/// What they mean.
struct Meant<'a> {
    bytes: usize,
    rank: u32,
    tag: Tag,
    comm: &'a Comm,
}

impl Given {
    #[inline(always)]
    fn meaning<'a>(self, state: &'a State, buf: *const c_void) -> Option<Meant<'a>> {
        if self.count < 0 || buf.addr() <= MPI_IN_PLACE.addr() {
            return None;
        }
        let tag = Tag::new(i64::from(self.tag)).ok()?;
        let comm = state.comms.look(self.comm)?;
        let bytes = self.count as usize * state.types.dense_bytes(self.datatype)?;
        Some(Meant { bytes, rank: self.rank as u32, tag, comm })
    }
}

/// # Safety
/// See the module `convert`.
#[inline(always)]
pub(crate) unsafe fn mpi_send(
    state: &State,
    buf: *const c_void,
    count: c_int,
    datatype: MPI_Datatype,
    dest: c_int,
    tag: c_int,
    comm: MPI_Comm,
) -> bool {
    let Some(meant) = (Given { count, datatype, rank: dest, tag, comm }).meaning(state, buf) else {
        return false;
    };
    // SAFETY: the contract of `convert`: so many bytes can be read, and nobody writes them during the call.
    let message = unsafe { core::slice::from_raw_parts(buf.cast(), meant.bytes) };
    state.rank().send_at_once(message, meant.rank, meant.tag, &meant.comm.comm)
}

/// # Safety
/// See the module `convert`.
#[inline(always)]
#[allow(clippy::too_many_arguments, reason = "those of MPI_Isend")]
pub(crate) unsafe fn mpi_isend(
    state: &State,
    buf: *const c_void,
    count: c_int,
    datatype: MPI_Datatype,
    dest: c_int,
    tag: c_int,
    comm: MPI_Comm,
    request: *mut MPI_Request,
) -> bool {
    // SAFETY: passed on.
    if request.is_null() || !unsafe { mpi_send(state, buf, count, datatype, dest, tag, comm) } {
        return false;
    }
    // SAFETY: the contract of `convert`: a writable request.
    unsafe { request.write(MPI_Request(RequestId::SENT.to_bits() as usize)) };
    true
}

/// # Safety
/// See the module `convert`.
#[inline(always)]
#[allow(clippy::too_many_arguments, reason = "those of MPI_Recv")]
pub(crate) unsafe fn mpi_recv(
    state: &State,
    buf: *mut c_void,
    count: c_int,
    datatype: MPI_Datatype,
    source: c_int,
    tag: c_int,
    comm: MPI_Comm,
    status: *mut MPI_Status,
) -> bool {
    let Some(meant) = (Given { count, datatype, rank: source, tag, comm }).meaning(state, buf) else {
        return false;
    };
    // SAFETY: the contract of `convert`: so many bytes can be written, and nobody uses them during the call.
    let room = unsafe { core::slice::from_raw_parts_mut(buf.cast(), meant.bytes) };
    let Some(bytes) = state.rank().receive_at_once(room, meant.rank, meant.tag, &meant.comm.comm) else {
        return false;
    };
    if !status.is_null() {
        // SAFETY: passed on.
        unsafe { StatusOut::new(status) }.set(&Status::of_message(meant.rank, meant.tag, bytes));
    }
    true
}

/// Sends and receives at once. If the message is gone and the other one is not here, `dest` is nobody, and what is left of the call is to receive.
///
/// # Safety
/// See the module `convert`.
#[inline(always)]
#[allow(clippy::too_many_arguments, reason = "those of MPI_Sendrecv")]
pub(crate) unsafe fn mpi_sendrecv(
    state: &State,
    sendbuf: *const c_void,
    sendcount: c_int,
    sendtype: MPI_Datatype,
    dest: &mut c_int,
    sendtag: c_int,
    recvbuf: *mut c_void,
    recvcount: c_int,
    recvtype: MPI_Datatype,
    source: c_int,
    recvtag: c_int,
    comm: MPI_Comm,
    status: *mut MPI_Status,
) -> bool {
    // Nothing is sent if the arguments of the receive are wrong.
    let incoming = Given { count: recvcount, datatype: recvtype, rank: source, tag: recvtag, comm };
    let may_receive =
        incoming.meaning(state, recvbuf).is_some_and(|meant| meant.rank < meant.comm.comm.peers().size());
    // SAFETY: passed on.
    unsafe {
        if !may_receive || !mpi_send(state, sendbuf, sendcount, sendtype, *dest, sendtag, comm) {
            return false;
        }
        *dest = MPI_PROC_NULL;
        state.rank().crosses();
        mpi_recv(state, recvbuf, recvcount, recvtype, source, recvtag, comm, status)
    }
}

/// # Safety
/// See the module `convert`.
#[inline(always)]
#[allow(clippy::too_many_arguments, reason = "those of MPI_Irecv")]
pub(crate) unsafe fn mpi_irecv(
    state: &State,
    buf: *mut c_void,
    count: c_int,
    datatype: MPI_Datatype,
    source: c_int,
    tag: c_int,
    comm: MPI_Comm,
    request: *mut MPI_Request,
) -> bool {
    // Requests of other communicators are remembered with these.
    if request.is_null() || comm != MPI_COMM_WORLD {
        return false;
    }
    let Some(meant) = (Given { count, datatype, rank: source, tag, comm }).meaning(state, buf) else {
        return false;
    };
    let Some(datatype) = state.types.used(datatype) else { return false };
    // SAFETY: passed on.
    let buffer = unsafe { Lent::to_receive(buf.cast(), count as u64, &datatype.datatype) };
    let Some(id) = state.rank().begin_at_once(&buffer, meant.rank, meant.tag, &meant.comm.comm) else {
        return false;
    };
    // SAFETY: the contract of `convert`: a writable request.
    unsafe { request.write(MPI_Request(id.to_bits() as usize)) };
    true
}

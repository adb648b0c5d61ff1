//! Chapter 3: sends and receives.

use std::rc::Rc;

use engine::{Counted, Holder, Mode};

use crate::abi::constants::*;
use crate::abi::types::*;
use crate::call::Call;
use crate::convert::{Buf, Out, RankArg, StatusOut, TagArg};
use crate::errors::{Fault, Outcome};
use crate::handles::{Comm, Type};
use crate::imp::requests::failed_status;

/// A blocking send in any mode.
#[inline(always)]
fn send(
    call: &Call,
    mode: Mode,
    (buf, count, datatype): (Buf, i64, &Counted<Type>),
    dest: RankArg,
    tag: TagArg,
    comm: &Comm,
) -> Outcome {
    let (dest, tag) = (dest.dest(comm)?, tag.of_send()?);
    let buffer = buf.send(count, datatype)?;
    let sent = call.rank().send(mode, &buffer, dest, tag, &comm.comm);
    match sent {
        Ok(()) => Ok(()),
        Err(error) => {
            make_room(call, mode, error)?;
            Ok(call.rank().send(mode, &buffer, dest, tag, &comm.comm)?)
        }
    }
}

/// A buffer that seems full may have room: each lane knows of its own messages whether they are sent. Anything else stays an error.
#[cold]
fn make_room(call: &Call, mode: Mode, error: engine::Error) -> Outcome {
    if mode != Mode::Buffered
        || !call.state.has_lanes()
        || !matches!(error, engine::Error::BufferExhausted { .. })
    {
        return Err(error.into());
    }
    call.in_each_lane(|call| {
        call.rank().mind();
        Ok(())
    })
}

/// A non-blocking send in any mode.
#[inline(always)]
fn isend(
    call: &Call,
    mode: Mode,
    (buf, count, datatype): (Buf, i64, &Counted<Type>),
    dest: RankArg,
    tag: TagArg,
    comm: &Comm,
    request: Out<MPI_Request>,
) -> Outcome {
    let (dest, tag) = (dest.dest(comm)?, tag.of_send()?);
    let buffer = buf.send(count, datatype)?;
    let id = match call.rank().isend(mode, &buffer, dest, tag, &comm.comm) {
        Ok(id) => id,
        Err(error) => {
            make_room(call, mode, error)?;
            call.rank().isend(mode, &buffer, dest, tag, &comm.comm)?
        }
    };
    request.set(call.requests().started(id, comm));
    Ok(())
}

#[inline(always)]
pub(crate) fn mpi_send(
    call: &Call,
    buf: Buf,
    count: i64,
    datatype: &Counted<Type>,
    dest: RankArg,
    tag: TagArg,
    comm: &Rc<Comm>,
) -> Outcome {
    send(call, Mode::Standard, (buf, count, datatype), dest, tag, comm)
}

pub(crate) fn mpi_ssend(
    call: &Call,
    buf: Buf,
    count: i64,
    datatype: &Counted<Type>,
    dest: RankArg,
    tag: TagArg,
    comm: &Rc<Comm>,
) -> Outcome {
    send(call, Mode::Synchronous, (buf, count, datatype), dest, tag, comm)
}

pub(crate) fn mpi_bsend(
    call: &Call,
    buf: Buf,
    count: i64,
    datatype: &Counted<Type>,
    dest: RankArg,
    tag: TagArg,
    comm: &Rc<Comm>,
) -> Outcome {
    send(call, Mode::Buffered, (buf, count, datatype), dest, tag, comm)
}

pub(crate) fn mpi_rsend(
    call: &Call,
    buf: Buf,
    count: i64,
    datatype: &Counted<Type>,
    dest: RankArg,
    tag: TagArg,
    comm: &Rc<Comm>,
) -> Outcome {
    send(call, Mode::Ready, (buf, count, datatype), dest, tag, comm)
}

#[inline(always)]
pub(crate) fn mpi_isend(
    call: &Call,
    buf: Buf,
    count: i64,
    datatype: &Counted<Type>,
    dest: RankArg,
    tag: TagArg,
    comm: &Rc<Comm>,
    request: Out<MPI_Request>,
) -> Outcome {
    isend(call, Mode::Standard, (buf, count, datatype), dest, tag, comm, request)
}

pub(crate) fn mpi_issend(
    call: &Call,
    buf: Buf,
    count: i64,
    datatype: &Counted<Type>,
    dest: RankArg,
    tag: TagArg,
    comm: &Rc<Comm>,
    request: Out<MPI_Request>,
) -> Outcome {
    isend(call, Mode::Synchronous, (buf, count, datatype), dest, tag, comm, request)
}

pub(crate) fn mpi_ibsend(
    call: &Call,
    buf: Buf,
    count: i64,
    datatype: &Counted<Type>,
    dest: RankArg,
    tag: TagArg,
    comm: &Rc<Comm>,
    request: Out<MPI_Request>,
) -> Outcome {
    isend(call, Mode::Buffered, (buf, count, datatype), dest, tag, comm, request)
}

pub(crate) fn mpi_irsend(
    call: &Call,
    buf: Buf,
    count: i64,
    datatype: &Counted<Type>,
    dest: RankArg,
    tag: TagArg,
    comm: &Rc<Comm>,
    request: Out<MPI_Request>,
) -> Outcome {
    isend(call, Mode::Ready, (buf, count, datatype), dest, tag, comm, request)
}

#[inline(always)]
pub(crate) fn mpi_recv(
    call: &Call,
    buf: Buf,
    count: i64,
    datatype: &Counted<Type>,
    source: RankArg,
    tag: TagArg,
    comm: &Rc<Comm>,
    status: StatusOut,
) -> Outcome {
    let (source, tag) = (source.source(comm)?, tag.of_receive()?);
    let buffer = buf.receive(count, datatype)?;
    let received = call.rank().recv(&buffer, source, tag, &comm.comm);
    status.set(&received.inspect_err(|error| status.set(&failed_status(error)))?);
    Ok(())
}

#[inline(always)]
pub(crate) fn mpi_irecv(
    call: &Call,
    buf: Buf,
    count: i64,
    datatype: &Counted<Type>,
    source: RankArg,
    tag: TagArg,
    comm: &Rc<Comm>,
    request: Out<MPI_Request>,
) -> Outcome {
    let (source, tag) = (source.source(comm)?, tag.of_receive()?);
    let buffer = buf.receive(count, datatype)?;
    let id = call.rank().irecv(&buffer, source, tag, &comm.comm)?;
    request.set(call.requests().started(id, comm));
    Ok(())
}

pub(crate) fn mpi_sendrecv(
    call: &Call,
    sendbuf: Buf,
    sendcount: i64,
    sendtype: &Counted<Type>,
    dest: RankArg,
    sendtag: TagArg,
    recvbuf: Buf,
    recvcount: i64,
    recvtype: &Counted<Type>,
    source: RankArg,
    recvtag: TagArg,
    comm: &Rc<Comm>,
    status: StatusOut,
) -> Outcome {
    let (dest, sendtag) = (dest.dest(comm)?, sendtag.of_send()?);
    let (source, recvtag) = (source.source(comm)?, recvtag.of_receive()?);
    let outgoing = sendbuf.send(sendcount, sendtype)?;
    let incoming = recvbuf.receive(recvcount, recvtype)?;
    let received =
        call.rank().sendrecv((&outgoing, dest, sendtag), (&incoming, source, recvtag), &comm.comm)?;
    status.set(&received);
    Ok(())
}

pub(crate) fn mpi_sendrecv_replace(
    call: &Call,
    buf: Buf,
    count: i64,
    datatype: &Counted<Type>,
    dest: RankArg,
    sendtag: TagArg,
    source: RankArg,
    recvtag: TagArg,
    comm: &Rc<Comm>,
    status: StatusOut,
) -> Outcome {
    let to = (dest.dest(comm)?, sendtag.of_send()?);
    let from = (source.source(comm)?, recvtag.of_receive()?);
    let buffer = buf.receive(count, datatype)?;
    let received = call.rank().sendrecv_replace(&buffer, to, from, &comm.comm)?;
    status.set(&received);
    Ok(())
}

pub(crate) fn mpi_isendrecv(
    call: &Call,
    sendbuf: Buf,
    sendcount: i64,
    sendtype: &Counted<Type>,
    dest: RankArg,
    sendtag: TagArg,
    recvbuf: Buf,
    recvcount: i64,
    recvtype: &Counted<Type>,
    source: RankArg,
    recvtag: TagArg,
    comm: &Rc<Comm>,
    request: Out<MPI_Request>,
) -> Outcome {
    let (dest, sendtag) = (dest.dest(comm)?, sendtag.of_send()?);
    let (source, recvtag) = (source.source(comm)?, recvtag.of_receive()?);
    let outgoing = sendbuf.send(sendcount, sendtype)?;
    let incoming = recvbuf.receive(recvcount, recvtype)?;
    let rank = call.rank();
    let id = rank.isendrecv((&outgoing, dest, sendtag), (&incoming, source, recvtag), &comm.comm)?;
    request.set(call.requests().started(id, comm));
    Ok(())
}

pub(crate) fn mpi_isendrecv_replace(
    call: &Call,
    buf: Buf,
    count: i64,
    datatype: &Counted<Type>,
    dest: RankArg,
    sendtag: TagArg,
    source: RankArg,
    recvtag: TagArg,
    comm: &Rc<Comm>,
    request: Out<MPI_Request>,
) -> Outcome {
    let to = (dest.dest(comm)?, sendtag.of_send()?);
    let from = (source.source(comm)?, recvtag.of_receive()?);
    let buffer = buf.receive(count, datatype)?;
    let id = call.rank().isendrecv_replace(&buffer, to, from, &comm.comm)?;
    request.set(call.requests().started(id, comm));
    Ok(())
}

/// What an automatic buffer holds: more than any memory.
const AUTOMATIC: u64 = 1 << 62;

/// Attaches a buffer to a communicator, or to the process.
pub(crate) fn attach(call: &Call, of: Holder<'_>, buffer: Buf, size: i64) -> Outcome {
    let address = buffer.address();
    if address.is_null() && size > 0 {
        let text = format_args!("buffer is a null pointer, expected the address of {size} bytes");
        return Err(Fault::new(MPI_ERR_BUFFER, text));
    }
    // An automatic account grows as it needs; the size is not significant.
    let bytes = if address == MPI_BUFFER_AUTOMATIC { AUTOMATIC } else { size as u64 };
    call.rank().attach_buffer(of, address as usize, bytes)?;
    Ok(())
}

pub(crate) fn detach(
    call: &Call,
    of: Holder<'_>,
    buffer_addr: Out<*mut core::ffi::c_void>,
    size: crate::convert::OutNumber,
) -> Outcome {
    flush(call, of)?;
    let (address, bytes) = call.rank().detach_buffer(of)?;
    buffer_addr.set(address as *mut core::ffi::c_void);
    size.set(if bytes == AUTOMATIC { 0 } else { bytes as i64 });
    Ok(())
}

pub(crate) fn mpi_buffer_attach(call: &Call, buffer: Buf, size: i64) -> Outcome {
    attach(call, Holder::Process, buffer, size)
}

pub(crate) fn mpi_comm_attach_buffer(call: &Call, comm: &Rc<Comm>, buffer: Buf, size: i64) -> Outcome {
    attach(call, Holder::Comm(&comm.comm), buffer, size)
}

pub(crate) fn mpi_buffer_detach(
    call: &Call,
    buffer_addr: Out<*mut core::ffi::c_void>,
    size: crate::convert::OutNumber,
) -> Outcome {
    detach(call, Holder::Process, buffer_addr, size)
}

pub(crate) fn mpi_comm_detach_buffer(
    call: &Call,
    comm: &Rc<Comm>,
    buffer_addr: Out<*mut core::ffi::c_void>,
    size: crate::convert::OutNumber,
) -> Outcome {
    detach(call, Holder::Comm(&comm.comm), buffer_addr, size)
}

pub(crate) fn mpi_buffer_flush(call: &Call) -> Outcome {
    flush(call, Holder::Process)
}

/// Waits until all messages of a buffer are sent, in all lanes that they may be in.
pub(crate) fn flush(call: &Call, of: Holder<'_>) -> Outcome {
    match of {
        Holder::Comm(_) => Ok(call.rank().flush_buffer(of)?),
        _ => call.in_each_lane(|call| Ok(call.rank().flush_buffer(of)?)),
    }
}

pub(crate) fn mpi_comm_flush_buffer(call: &Call, comm: &Rc<Comm>) -> Outcome {
    call.rank().flush_buffer(Holder::Comm(&comm.comm))?;
    Ok(())
}

pub(crate) fn mpi_buffer_iflush(call: &Call, request: Out<MPI_Request>) -> Outcome {
    let id = call.rank().iflush_buffer(Holder::Process)?;
    request.set(call.requests().started_on(id, MPI_COMM_WORLD));
    Ok(())
}

pub(crate) fn mpi_comm_iflush_buffer(call: &Call, comm: &Rc<Comm>, request: Out<MPI_Request>) -> Outcome {
    let id = call.rank().iflush_buffer(Holder::Comm(&comm.comm))?;
    request.set(call.requests().started(id, comm));
    Ok(())
}

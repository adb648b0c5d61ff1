//! Chapter 3: persistent operations.

use std::cell::Cell;
use std::rc::Rc;

use engine::{Counted, Mode, RequestId, State as Progress};

use crate::abi::types::*;
use crate::call::Call;
use crate::convert::{Buf, Out, RankArg, TagArg, given};
use crate::errors::Outcome;
use crate::handles::{Comm, Type, lane_of};

fn send_init(
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
    let id = call.rank().send_init(mode, &buffer, dest, tag, &comm.comm)?;
    request.set(call.requests().started(id, comm));
    Ok(())
}

pub(crate) fn mpi_send_init(
    call: &Call,
    buf: Buf,
    count: i64,
    datatype: &Counted<Type>,
    dest: RankArg,
    tag: TagArg,
    comm: &Rc<Comm>,
    request: Out<MPI_Request>,
) -> Outcome {
    send_init(call, Mode::Standard, (buf, count, datatype), dest, tag, comm, request)
}

pub(crate) fn mpi_ssend_init(
    call: &Call,
    buf: Buf,
    count: i64,
    datatype: &Counted<Type>,
    dest: RankArg,
    tag: TagArg,
    comm: &Rc<Comm>,
    request: Out<MPI_Request>,
) -> Outcome {
    send_init(call, Mode::Synchronous, (buf, count, datatype), dest, tag, comm, request)
}

pub(crate) fn mpi_bsend_init(
    call: &Call,
    buf: Buf,
    count: i64,
    datatype: &Counted<Type>,
    dest: RankArg,
    tag: TagArg,
    comm: &Rc<Comm>,
    request: Out<MPI_Request>,
) -> Outcome {
    send_init(call, Mode::Buffered, (buf, count, datatype), dest, tag, comm, request)
}

pub(crate) fn mpi_rsend_init(
    call: &Call,
    buf: Buf,
    count: i64,
    datatype: &Counted<Type>,
    dest: RankArg,
    tag: TagArg,
    comm: &Rc<Comm>,
    request: Out<MPI_Request>,
) -> Outcome {
    send_init(call, Mode::Ready, (buf, count, datatype), dest, tag, comm, request)
}

pub(crate) fn mpi_recv_init(
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
    let id = call.rank().recv_init(&buffer, source, tag, &comm.comm)?;
    request.set(call.requests().started(id, comm));
    Ok(())
}

/// An active request keeps its parts: it cannot be started.
#[inline]
fn start(call: &Call, id: RequestId) -> Outcome {
    let rank = call.rank();
    if rank.state(id)? != Progress::Active {
        call.requests().partitioned.begin(id);
    }
    rank.start(id)?;
    Ok(())
}

pub(crate) fn mpi_start(call: &Call, request: &Cell<MPI_Request>) -> Outcome {
    start(call, given("request", request.get())?)
}

pub(crate) fn mpi_startall(call: &Call, count: usize, array_of_requests: &[Cell<MPI_Request>]) -> Outcome {
    debug_assert_eq!(count, array_of_requests.len());
    for request in array_of_requests {
        let id = given("array_of_requests", request.get())?;
        call.in_lane(lane_of(request.get().0), |call| start(call, id))?;
    }
    Ok(())
}

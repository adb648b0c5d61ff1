//! Chapter 6: collectives with a root.

use std::rc::Rc;

use engine::{Rank, RecvBuffer, RecvParts, SendBuffer, SendParts};

use super::{deliver, outgoing, parts::Shape};
use crate::call::Call;
use crate::convert::{Buf, Numbers, Out, RankArg};
use crate::errors::Outcome;
use crate::r#gen::types::*;
use crate::handles::{Comm, Type};

/// Copies the root's data to all.
pub(super) fn bcast<R>(
    call: &Call,
    buffer: Buf,
    count: i64,
    datatype: &Rc<Type>,
    root: RankArg,
    comm: &Rc<Comm>,
    run: impl FnOnce(&Rank, &RecvBuffer, u32, &engine::Comm) -> engine::Result<R>,
) -> Outcome<R> {
    let root = root.root(comm)?;
    Ok(run(call.state.rank(), &buffer.receive(count, datatype)?, root, &comm.comm)?)
}

pub(crate) fn mpi_bcast(
    call: &Call,
    buffer: Buf,
    count: i64,
    datatype: &Rc<Type>,
    root: RankArg,
    comm: &Rc<Comm>,
) -> Outcome {
    bcast(call, buffer, count, datatype, root, comm, Rank::bcast)
}

pub(crate) fn mpi_ibcast(
    call: &Call,
    buffer: Buf,
    count: i64,
    datatype: &Rc<Type>,
    root: RankArg,
    comm: &Rc<Comm>,
    request: Out<MPI_Request>,
) -> Outcome {
    let id = bcast(call, buffer, count, datatype, root, comm, Rank::ibcast)?;
    deliver(call, comm, id, request);
    Ok(())
}

/// Collects equal blocks at the root.
pub(super) fn gather<R>(
    call: &Call,
    sendbuf: Buf,
    sendcount: i64,
    sendtype: &Rc<Type>,
    recvbuf: Buf,
    recvcount: i64,
    recvtype: Option<Rc<Type>>,
    root: RankArg,
    comm: &Rc<Comm>,
    run: impl FnOnce(&Rank, Option<&SendBuffer>, Option<&RecvBuffer>, u32, &engine::Comm) -> engine::Result<R>,
) -> Outcome<R> {
    let root = root.root(comm)?;
    let send = outgoing(sendbuf, sendcount, sendtype)?;
    let recv = recvtype.map(|datatype| recvbuf.receive(recvcount, &datatype)).transpose()?;
    Ok(run(call.state.rank(), send.as_ref(), recv.as_ref(), root, &comm.comm)?)
}

pub(crate) fn mpi_gather(
    call: &Call,
    sendbuf: Buf,
    sendcount: i64,
    sendtype: &Rc<Type>,
    recvbuf: Buf,
    recvcount: i64,
    recvtype: Option<Rc<Type>>,
    root: RankArg,
    comm: &Rc<Comm>,
) -> Outcome {
    gather(call, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm, Rank::gather)
}

pub(crate) fn mpi_igather(
    call: &Call,
    sendbuf: Buf,
    sendcount: i64,
    sendtype: &Rc<Type>,
    recvbuf: Buf,
    recvcount: i64,
    recvtype: Option<Rc<Type>>,
    root: RankArg,
    comm: &Rc<Comm>,
    request: Out<MPI_Request>,
) -> Outcome {
    let id =
        gather(call, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm, Rank::igather)?;
    deliver(call, comm, id, request);
    Ok(())
}

/// Collects blocks of varying size at the root.
pub(super) fn gatherv<R>(
    call: &Call,
    sendbuf: Buf,
    sendcount: i64,
    sendtype: &Rc<Type>,
    recvbuf: Buf,
    recvcounts: Numbers,
    displs: Numbers,
    recvtype: Option<Rc<Type>>,
    root: RankArg,
    comm: &Rc<Comm>,
    run: impl FnOnce(&Rank, Option<&SendBuffer>, Option<&RecvParts<'_>>, u32, &engine::Comm) -> engine::Result<R>,
) -> Outcome<R> {
    let root = root.root(comm)?;
    let send = outgoing(sendbuf, sendcount, sendtype)?;
    let shape = recvtype.map(|datatype| Shape::new(recvcounts, displs, &datatype)).transpose()?;
    let recv = shape.as_ref().map(|shape| shape.receive(recvbuf));
    Ok(run(call.state.rank(), send.as_ref(), recv.as_ref(), root, &comm.comm)?)
}

pub(crate) fn mpi_gatherv(
    call: &Call,
    sendbuf: Buf,
    sendcount: i64,
    sendtype: &Rc<Type>,
    recvbuf: Buf,
    recvcounts: Numbers,
    displs: Numbers,
    recvtype: Option<Rc<Type>>,
    root: RankArg,
    comm: &Rc<Comm>,
) -> Outcome {
    gatherv(
        call,
        sendbuf,
        sendcount,
        sendtype,
        recvbuf,
        recvcounts,
        displs,
        recvtype,
        root,
        comm,
        Rank::gatherv,
    )
}

pub(crate) fn mpi_igatherv(
    call: &Call,
    sendbuf: Buf,
    sendcount: i64,
    sendtype: &Rc<Type>,
    recvbuf: Buf,
    recvcounts: Numbers,
    displs: Numbers,
    recvtype: Option<Rc<Type>>,
    root: RankArg,
    comm: &Rc<Comm>,
    request: Out<MPI_Request>,
) -> Outcome {
    let id = gatherv(
        call,
        sendbuf,
        sendcount,
        sendtype,
        recvbuf,
        recvcounts,
        displs,
        recvtype,
        root,
        comm,
        Rank::igatherv,
    )?;
    deliver(call, comm, id, request);
    Ok(())
}

/// Deals out equal blocks from the root.
pub(super) fn scatter<R>(
    call: &Call,
    sendbuf: Buf,
    sendcount: i64,
    sendtype: Option<Rc<Type>>,
    recvbuf: Buf,
    recvcount: i64,
    recvtype: &Rc<Type>,
    root: RankArg,
    comm: &Rc<Comm>,
    run: impl FnOnce(&Rank, Option<&SendBuffer>, Option<&RecvBuffer>, u32, &engine::Comm) -> engine::Result<R>,
) -> Outcome<R> {
    let root = root.root(comm)?;
    let send = sendtype.map(|datatype| sendbuf.send(sendcount, &datatype)).transpose()?;
    let recv = incoming(recvbuf, recvcount, recvtype)?;
    Ok(run(call.state.rank(), send.as_ref(), recv.as_ref(), root, &comm.comm)?)
}

pub(crate) fn mpi_scatter(
    call: &Call,
    sendbuf: Buf,
    sendcount: i64,
    sendtype: Option<Rc<Type>>,
    recvbuf: Buf,
    recvcount: i64,
    recvtype: &Rc<Type>,
    root: RankArg,
    comm: &Rc<Comm>,
) -> Outcome {
    scatter(call, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm, Rank::scatter)
}

pub(crate) fn mpi_iscatter(
    call: &Call,
    sendbuf: Buf,
    sendcount: i64,
    sendtype: Option<Rc<Type>>,
    recvbuf: Buf,
    recvcount: i64,
    recvtype: &Rc<Type>,
    root: RankArg,
    comm: &Rc<Comm>,
    request: Out<MPI_Request>,
) -> Outcome {
    let id = scatter(
        call,
        sendbuf,
        sendcount,
        sendtype,
        recvbuf,
        recvcount,
        recvtype,
        root,
        comm,
        Rank::iscatter,
    )?;
    deliver(call, comm, id, request);
    Ok(())
}

/// Deals out blocks of varying size from the root.
pub(super) fn scatterv<R>(
    call: &Call,
    sendbuf: Buf,
    sendcounts: Numbers,
    displs: Numbers,
    sendtype: Option<Rc<Type>>,
    recvbuf: Buf,
    recvcount: i64,
    recvtype: &Rc<Type>,
    root: RankArg,
    comm: &Rc<Comm>,
    run: impl FnOnce(&Rank, Option<&SendParts<'_>>, Option<&RecvBuffer>, u32, &engine::Comm) -> engine::Result<R>,
) -> Outcome<R> {
    let root = root.root(comm)?;
    let shape = sendtype.map(|datatype| Shape::new(sendcounts, displs, &datatype)).transpose()?;
    let send = shape.as_ref().map(|shape| shape.send(sendbuf));
    let recv = incoming(recvbuf, recvcount, recvtype)?;
    Ok(run(call.state.rank(), send.as_ref(), recv.as_ref(), root, &comm.comm)?)
}

pub(crate) fn mpi_scatterv(
    call: &Call,
    sendbuf: Buf,
    sendcounts: Numbers,
    displs: Numbers,
    sendtype: Option<Rc<Type>>,
    recvbuf: Buf,
    recvcount: i64,
    recvtype: &Rc<Type>,
    root: RankArg,
    comm: &Rc<Comm>,
) -> Outcome {
    scatterv(
        call,
        sendbuf,
        sendcounts,
        displs,
        sendtype,
        recvbuf,
        recvcount,
        recvtype,
        root,
        comm,
        Rank::scatterv,
    )
}

pub(crate) fn mpi_iscatterv(
    call: &Call,
    sendbuf: Buf,
    sendcounts: Numbers,
    displs: Numbers,
    sendtype: Option<Rc<Type>>,
    recvbuf: Buf,
    recvcount: i64,
    recvtype: &Rc<Type>,
    root: RankArg,
    comm: &Rc<Comm>,
    request: Out<MPI_Request>,
) -> Outcome {
    let id = scatterv(
        call,
        sendbuf,
        sendcounts,
        displs,
        sendtype,
        recvbuf,
        recvcount,
        recvtype,
        root,
        comm,
        Rank::iscatterv,
    )?;
    deliver(call, comm, id, request);
    Ok(())
}

/// Room to receive into, or nothing for MPI_IN_PLACE.
fn incoming(buf: Buf, count: i64, datatype: &Rc<Type>) -> Outcome<Option<RecvBuffer>> {
    if buf.is_in_place() { Ok(None) } else { buf.receive(count, datatype).map(Some) }
}

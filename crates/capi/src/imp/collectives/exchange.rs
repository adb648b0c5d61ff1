//! Chapter 6: collectives in which all send to all.

use std::rc::Rc;

use engine::{Rank, RecvBuffer, RecvParts, SendBuffer, SendParts};

use super::{deliver, outgoing, parts::Shape};
use crate::call::Call;
use crate::convert::{Buf, Numbers, Out};
use crate::errors::Outcome;
use crate::r#gen::types::*;
use crate::handles::{Comm, Type};

/// Collects equal blocks at all.
pub(super) fn allgather<R>(
    call: &Call,
    sendbuf: Buf,
    sendcount: i64,
    sendtype: &Rc<Type>,
    recvbuf: Buf,
    recvcount: i64,
    recvtype: &Rc<Type>,
    comm: &Rc<Comm>,
    run: impl FnOnce(&Rank, Option<&SendBuffer>, &RecvBuffer, &engine::Comm) -> engine::Result<R>,
) -> Outcome<R> {
    let send = outgoing(sendbuf, sendcount, sendtype)?;
    let recv = recvbuf.receive(recvcount, recvtype)?;
    Ok(run(call.state.rank(), send.as_ref(), &recv, &comm.comm)?)
}

pub(crate) fn mpi_allgather(
    call: &Call,
    sendbuf: Buf,
    sendcount: i64,
    sendtype: &Rc<Type>,
    recvbuf: Buf,
    recvcount: i64,
    recvtype: &Rc<Type>,
    comm: &Rc<Comm>,
) -> Outcome {
    allgather(call, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, Rank::allgather)
}

pub(crate) fn mpi_iallgather(
    call: &Call,
    sendbuf: Buf,
    sendcount: i64,
    sendtype: &Rc<Type>,
    recvbuf: Buf,
    recvcount: i64,
    recvtype: &Rc<Type>,
    comm: &Rc<Comm>,
    request: Out<MPI_Request>,
) -> Outcome {
    let id =
        allgather(call, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, Rank::iallgather)?;
    deliver(call, comm, id, request);
    Ok(())
}

/// Exchanges equal blocks between all.
pub(super) fn alltoall<R>(
    call: &Call,
    sendbuf: Buf,
    sendcount: i64,
    sendtype: &Rc<Type>,
    recvbuf: Buf,
    recvcount: i64,
    recvtype: &Rc<Type>,
    comm: &Rc<Comm>,
    run: impl FnOnce(&Rank, Option<&SendBuffer>, &RecvBuffer, &engine::Comm) -> engine::Result<R>,
) -> Outcome<R> {
    let send = outgoing(sendbuf, sendcount, sendtype)?;
    let recv = recvbuf.receive(recvcount, recvtype)?;
    Ok(run(call.state.rank(), send.as_ref(), &recv, &comm.comm)?)
}

pub(crate) fn mpi_alltoall(
    call: &Call,
    sendbuf: Buf,
    sendcount: i64,
    sendtype: &Rc<Type>,
    recvbuf: Buf,
    recvcount: i64,
    recvtype: &Rc<Type>,
    comm: &Rc<Comm>,
) -> Outcome {
    alltoall(call, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, Rank::alltoall)
}

pub(crate) fn mpi_ialltoall(
    call: &Call,
    sendbuf: Buf,
    sendcount: i64,
    sendtype: &Rc<Type>,
    recvbuf: Buf,
    recvcount: i64,
    recvtype: &Rc<Type>,
    comm: &Rc<Comm>,
    request: Out<MPI_Request>,
) -> Outcome {
    let id =
        alltoall(call, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, Rank::ialltoall)?;
    deliver(call, comm, id, request);
    Ok(())
}

/// Collects blocks of varying size at all.
pub(super) fn allgatherv<R>(
    call: &Call,
    sendbuf: Buf,
    sendcount: i64,
    sendtype: &Rc<Type>,
    recvbuf: Buf,
    recvcounts: Numbers,
    displs: Numbers,
    recvtype: &Rc<Type>,
    comm: &Rc<Comm>,
    run: impl FnOnce(&Rank, Option<&SendBuffer>, &RecvParts<'_>, &engine::Comm) -> engine::Result<R>,
) -> Outcome<R> {
    let send = outgoing(sendbuf, sendcount, sendtype)?;
    let shape = Shape::new(recvcounts, displs, recvtype)?;
    Ok(run(call.state.rank(), send.as_ref(), &shape.receive(recvbuf), &comm.comm)?)
}

pub(crate) fn mpi_allgatherv(
    call: &Call,
    sendbuf: Buf,
    sendcount: i64,
    sendtype: &Rc<Type>,
    recvbuf: Buf,
    recvcounts: Numbers,
    displs: Numbers,
    recvtype: &Rc<Type>,
    comm: &Rc<Comm>,
) -> Outcome {
    allgatherv(
        call,
        sendbuf,
        sendcount,
        sendtype,
        recvbuf,
        recvcounts,
        displs,
        recvtype,
        comm,
        Rank::allgatherv,
    )
}

pub(crate) fn mpi_iallgatherv(
    call: &Call,
    sendbuf: Buf,
    sendcount: i64,
    sendtype: &Rc<Type>,
    recvbuf: Buf,
    recvcounts: Numbers,
    displs: Numbers,
    recvtype: &Rc<Type>,
    comm: &Rc<Comm>,
    request: Out<MPI_Request>,
) -> Outcome {
    let id = allgatherv(
        call,
        sendbuf,
        sendcount,
        sendtype,
        recvbuf,
        recvcounts,
        displs,
        recvtype,
        comm,
        Rank::iallgatherv,
    )?;
    deliver(call, comm, id, request);
    Ok(())
}

/// Exchanges blocks of varying size between all.
pub(super) fn alltoallv<R>(
    call: &Call,
    sendbuf: Buf,
    sendcounts: Numbers,
    sdispls: Numbers,
    sendtype: &Rc<Type>,
    recvbuf: Buf,
    recvcounts: Numbers,
    rdispls: Numbers,
    recvtype: &Rc<Type>,
    comm: &Rc<Comm>,
    run: impl FnOnce(&Rank, Option<&SendParts<'_>>, &RecvParts<'_>, &engine::Comm) -> engine::Result<R>,
) -> Outcome<R> {
    let sending = Shape::new(sendcounts, sdispls, sendtype)?;
    let receiving = Shape::new(recvcounts, rdispls, recvtype)?;
    let send = (!sendbuf.is_in_place()).then(|| sending.send(sendbuf));
    Ok(run(call.state.rank(), send.as_ref(), &receiving.receive(recvbuf), &comm.comm)?)
}

pub(crate) fn mpi_alltoallv(
    call: &Call,
    sendbuf: Buf,
    sendcounts: Numbers,
    sdispls: Numbers,
    sendtype: &Rc<Type>,
    recvbuf: Buf,
    recvcounts: Numbers,
    rdispls: Numbers,
    recvtype: &Rc<Type>,
    comm: &Rc<Comm>,
) -> Outcome {
    alltoallv(
        call,
        sendbuf,
        sendcounts,
        sdispls,
        sendtype,
        recvbuf,
        recvcounts,
        rdispls,
        recvtype,
        comm,
        Rank::alltoallv,
    )
}

pub(crate) fn mpi_ialltoallv(
    call: &Call,
    sendbuf: Buf,
    sendcounts: Numbers,
    sdispls: Numbers,
    sendtype: &Rc<Type>,
    recvbuf: Buf,
    recvcounts: Numbers,
    rdispls: Numbers,
    recvtype: &Rc<Type>,
    comm: &Rc<Comm>,
    request: Out<MPI_Request>,
) -> Outcome {
    let id = alltoallv(
        call,
        sendbuf,
        sendcounts,
        sdispls,
        sendtype,
        recvbuf,
        recvcounts,
        rdispls,
        recvtype,
        comm,
        Rank::ialltoallv,
    )?;
    deliver(call, comm, id, request);
    Ok(())
}

/// Exchanges blocks of varying size and type between all.
pub(super) fn alltoallw<R>(
    call: &Call,
    sendbuf: Buf,
    sendcounts: Numbers,
    sdispls: Numbers,
    sendtypes: &[MPI_Datatype],
    recvbuf: Buf,
    recvcounts: Numbers,
    rdispls: Numbers,
    recvtypes: &[MPI_Datatype],
    comm: &Rc<Comm>,
    run: impl FnOnce(&Rank, Option<&SendParts<'_>>, &RecvParts<'_>, &engine::Comm) -> engine::Result<R>,
) -> Outcome<R> {
    let sending = Shape::with_types(call, "sendtypes", sendcounts, sdispls, sendtypes)?;
    let receiving = Shape::with_types(call, "recvtypes", recvcounts, rdispls, recvtypes)?;
    let send = (!sendbuf.is_in_place()).then(|| sending.send(sendbuf));
    Ok(run(call.state.rank(), send.as_ref(), &receiving.receive(recvbuf), &comm.comm)?)
}

pub(crate) fn mpi_alltoallw(
    call: &Call,
    sendbuf: Buf,
    sendcounts: Numbers,
    sdispls: Numbers,
    sendtypes: &[MPI_Datatype],
    recvbuf: Buf,
    recvcounts: Numbers,
    rdispls: Numbers,
    recvtypes: &[MPI_Datatype],
    comm: &Rc<Comm>,
) -> Outcome {
    alltoallw(
        call,
        sendbuf,
        sendcounts,
        sdispls,
        sendtypes,
        recvbuf,
        recvcounts,
        rdispls,
        recvtypes,
        comm,
        Rank::alltoallw,
    )
}

pub(crate) fn mpi_ialltoallw(
    call: &Call,
    sendbuf: Buf,
    sendcounts: Numbers,
    sdispls: Numbers,
    sendtypes: &[MPI_Datatype],
    recvbuf: Buf,
    recvcounts: Numbers,
    rdispls: Numbers,
    recvtypes: &[MPI_Datatype],
    comm: &Rc<Comm>,
    request: Out<MPI_Request>,
) -> Outcome {
    let id = alltoallw(
        call,
        sendbuf,
        sendcounts,
        sdispls,
        sendtypes,
        recvbuf,
        recvcounts,
        rdispls,
        recvtypes,
        comm,
        Rank::ialltoallw,
    )?;
    deliver(call, comm, id, request);
    Ok(())
}

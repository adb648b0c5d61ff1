//! Chapter 6: reductions.

use std::rc::Rc;

use engine::{Rank, RecvBuffer, SendBuffer};

use super::{deliver, outgoing, parts::unsigned};
use crate::call::Call;
use crate::convert::{Buf, Numbers, Out, RankArg};
use crate::errors::Outcome;
use crate::r#gen::types::*;
use crate::handles::{Comm, Op, Type};

/// Combines data at the root.
pub(super) fn reduce<R>(
    call: &Call,
    sendbuf: Buf,
    recvbuf: Buf,
    count: i64,
    datatype: &Rc<Type>,
    op: &Op,
    root: RankArg,
    comm: &Rc<Comm>,
    run: impl FnOnce(
        &Rank,
        Option<&SendBuffer>,
        Option<&RecvBuffer>,
        &engine::Op,
        u32,
        &engine::Comm,
    ) -> engine::Result<R>,
) -> Outcome<R> {
    let at_root = comm.is_root(&root);
    let root = root.root(comm)?;
    let send = outgoing(sendbuf, count, datatype)?;
    let recv = if at_root { Some(recvbuf.receive(count, datatype)?) } else { None };
    let op = op.bind(call.state, datatype);
    Ok(run(call.state.rank(), send.as_ref(), recv.as_ref(), &op, root, &comm.comm)?)
}

pub(crate) fn mpi_reduce(
    call: &Call,
    sendbuf: Buf,
    recvbuf: Buf,
    count: i64,
    datatype: &Rc<Type>,
    op: &Op,
    root: RankArg,
    comm: &Rc<Comm>,
) -> Outcome {
    reduce(call, sendbuf, recvbuf, count, datatype, op, root, comm, Rank::reduce)
}

pub(crate) fn mpi_ireduce(
    call: &Call,
    sendbuf: Buf,
    recvbuf: Buf,
    count: i64,
    datatype: &Rc<Type>,
    op: &Op,
    root: RankArg,
    comm: &Rc<Comm>,
    request: Out<MPI_Request>,
) -> Outcome {
    let id = reduce(call, sendbuf, recvbuf, count, datatype, op, root, comm, Rank::ireduce)?;
    deliver(call, comm, id, request);
    Ok(())
}

/// Combines data at all.
pub(super) fn allreduce<R>(
    call: &Call,
    sendbuf: Buf,
    recvbuf: Buf,
    count: i64,
    datatype: &Rc<Type>,
    op: &Op,
    comm: &Rc<Comm>,
    run: impl FnOnce(&Rank, Option<&SendBuffer>, &RecvBuffer, &engine::Op, &engine::Comm) -> engine::Result<R>,
) -> Outcome<R> {
    let send = outgoing(sendbuf, count, datatype)?;
    let recv = recvbuf.receive(count, datatype)?;
    let op = op.bind(call.state, datatype);
    Ok(run(call.state.rank(), send.as_ref(), &recv, &op, &comm.comm)?)
}

pub(crate) fn mpi_allreduce(
    call: &Call,
    sendbuf: Buf,
    recvbuf: Buf,
    count: i64,
    datatype: &Rc<Type>,
    op: &Op,
    comm: &Rc<Comm>,
) -> Outcome {
    allreduce(call, sendbuf, recvbuf, count, datatype, op, comm, Rank::allreduce)
}

pub(crate) fn mpi_iallreduce(
    call: &Call,
    sendbuf: Buf,
    recvbuf: Buf,
    count: i64,
    datatype: &Rc<Type>,
    op: &Op,
    comm: &Rc<Comm>,
    request: Out<MPI_Request>,
) -> Outcome {
    let id = allreduce(call, sendbuf, recvbuf, count, datatype, op, comm, Rank::iallreduce)?;
    deliver(call, comm, id, request);
    Ok(())
}

/// Combines the data of this process and of those of lower rank.
pub(super) fn scan<R>(
    call: &Call,
    sendbuf: Buf,
    recvbuf: Buf,
    count: i64,
    datatype: &Rc<Type>,
    op: &Op,
    comm: &Rc<Comm>,
    run: impl FnOnce(&Rank, Option<&SendBuffer>, &RecvBuffer, &engine::Op, &engine::Comm) -> engine::Result<R>,
) -> Outcome<R> {
    let send = outgoing(sendbuf, count, datatype)?;
    let recv = recvbuf.receive(count, datatype)?;
    let op = op.bind(call.state, datatype);
    Ok(run(call.state.rank(), send.as_ref(), &recv, &op, &comm.comm)?)
}

pub(crate) fn mpi_scan(
    call: &Call,
    sendbuf: Buf,
    recvbuf: Buf,
    count: i64,
    datatype: &Rc<Type>,
    op: &Op,
    comm: &Rc<Comm>,
) -> Outcome {
    scan(call, sendbuf, recvbuf, count, datatype, op, comm, Rank::scan)
}

pub(crate) fn mpi_iscan(
    call: &Call,
    sendbuf: Buf,
    recvbuf: Buf,
    count: i64,
    datatype: &Rc<Type>,
    op: &Op,
    comm: &Rc<Comm>,
    request: Out<MPI_Request>,
) -> Outcome {
    let id = scan(call, sendbuf, recvbuf, count, datatype, op, comm, Rank::iscan)?;
    deliver(call, comm, id, request);
    Ok(())
}

/// Combines the data of the processes of lower rank.
pub(super) fn exscan<R>(
    call: &Call,
    sendbuf: Buf,
    recvbuf: Buf,
    count: i64,
    datatype: &Rc<Type>,
    op: &Op,
    comm: &Rc<Comm>,
    run: impl FnOnce(&Rank, Option<&SendBuffer>, &RecvBuffer, &engine::Op, &engine::Comm) -> engine::Result<R>,
) -> Outcome<R> {
    let send = outgoing(sendbuf, count, datatype)?;
    let recv = recvbuf.receive(count, datatype)?;
    let op = op.bind(call.state, datatype);
    Ok(run(call.state.rank(), send.as_ref(), &recv, &op, &comm.comm)?)
}

pub(crate) fn mpi_exscan(
    call: &Call,
    sendbuf: Buf,
    recvbuf: Buf,
    count: i64,
    datatype: &Rc<Type>,
    op: &Op,
    comm: &Rc<Comm>,
) -> Outcome {
    exscan(call, sendbuf, recvbuf, count, datatype, op, comm, Rank::exscan)
}

pub(crate) fn mpi_iexscan(
    call: &Call,
    sendbuf: Buf,
    recvbuf: Buf,
    count: i64,
    datatype: &Rc<Type>,
    op: &Op,
    comm: &Rc<Comm>,
    request: Out<MPI_Request>,
) -> Outcome {
    let id = exscan(call, sendbuf, recvbuf, count, datatype, op, comm, Rank::iexscan)?;
    deliver(call, comm, id, request);
    Ok(())
}

/// Combines blocks of equal size; each process gets its own.
pub(super) fn reduce_scatter_block<R>(
    call: &Call,
    sendbuf: Buf,
    recvbuf: Buf,
    recvcount: i64,
    datatype: &Rc<Type>,
    op: &Op,
    comm: &Rc<Comm>,
    run: impl FnOnce(&Rank, Option<&SendBuffer>, &RecvBuffer, &engine::Op, &engine::Comm) -> engine::Result<R>,
) -> Outcome<R> {
    let blocks = recvcount.saturating_mul(comm.peer_size() as i64);
    let send = outgoing(sendbuf, blocks, datatype)?;
    let recv = recvbuf.receive(recvcount, datatype)?;
    let op = op.bind(call.state, datatype);
    Ok(run(call.state.rank(), send.as_ref(), &recv, &op, &comm.comm)?)
}

pub(crate) fn mpi_reduce_scatter_block(
    call: &Call,
    sendbuf: Buf,
    recvbuf: Buf,
    recvcount: i64,
    datatype: &Rc<Type>,
    op: &Op,
    comm: &Rc<Comm>,
) -> Outcome {
    reduce_scatter_block(call, sendbuf, recvbuf, recvcount, datatype, op, comm, Rank::reduce_scatter_block)
}

pub(crate) fn mpi_ireduce_scatter_block(
    call: &Call,
    sendbuf: Buf,
    recvbuf: Buf,
    recvcount: i64,
    datatype: &Rc<Type>,
    op: &Op,
    comm: &Rc<Comm>,
    request: Out<MPI_Request>,
) -> Outcome {
    let id = reduce_scatter_block(
        call,
        sendbuf,
        recvbuf,
        recvcount,
        datatype,
        op,
        comm,
        Rank::ireduce_scatter_block,
    )?;
    deliver(call, comm, id, request);
    Ok(())
}

/// Combines blocks of varying size; each process gets its own.
pub(super) fn reduce_scatter<R>(
    call: &Call,
    sendbuf: Buf,
    recvbuf: Buf,
    recvcounts: Numbers,
    datatype: &Rc<Type>,
    op: &Op,
    comm: &Rc<Comm>,
    run: impl FnOnce(
        &Rank,
        Option<&SendBuffer>,
        &RecvBuffer,
        &[u64],
        &engine::Op,
        &engine::Comm,
    ) -> engine::Result<R>,
) -> Outcome<R> {
    let counts = unsigned(recvcounts);
    let all: u64 = counts.iter().sum();
    let send = outgoing(sendbuf, all as i64, datatype)?;
    let own = if sendbuf.is_in_place() { all } else { counts[comm.comm.rank() as usize] };
    let recv = recvbuf.receive(own as i64, datatype)?;
    let op = op.bind(call.state, datatype);
    Ok(run(call.state.rank(), send.as_ref(), &recv, &counts, &op, &comm.comm)?)
}

pub(crate) fn mpi_reduce_scatter(
    call: &Call,
    sendbuf: Buf,
    recvbuf: Buf,
    recvcounts: Numbers,
    datatype: &Rc<Type>,
    op: &Op,
    comm: &Rc<Comm>,
) -> Outcome {
    reduce_scatter(call, sendbuf, recvbuf, recvcounts, datatype, op, comm, Rank::reduce_scatter)
}

pub(crate) fn mpi_ireduce_scatter(
    call: &Call,
    sendbuf: Buf,
    recvbuf: Buf,
    recvcounts: Numbers,
    datatype: &Rc<Type>,
    op: &Op,
    comm: &Rc<Comm>,
    request: Out<MPI_Request>,
) -> Outcome {
    let id = reduce_scatter(call, sendbuf, recvbuf, recvcounts, datatype, op, comm, Rank::ireduce_scatter)?;
    deliver(call, comm, id, request);
    Ok(())
}

pub(crate) fn mpi_reduce_local(
    call: &Call,
    inbuf: Buf,
    inoutbuf: Buf,
    count: i64,
    datatype: &Rc<Type>,
    op: &Op,
) -> Outcome {
    let op = op.bind(call.state, datatype);
    let (input, inout) = (inbuf.send(count, datatype)?, inoutbuf.receive(count, datatype)?);
    call.state.rank().reduce_local(&input, &inout, &op)?;
    Ok(())
}

//! Chapter 6: reductions.

use std::rc::Rc;

use engine::{Counted, Plan};

use super::{Held, apart, outgoing, parts::unsigned};
use crate::call::Call;
use crate::convert::{Buf, Numbers, RankArg};
use crate::errors::Outcome;
use crate::handles::{Comm, Op, Type};

/// Combines data at the root.
pub(crate) fn plan_reduce(
    call: &Call,
    sendbuf: Buf,
    recvbuf: Buf,
    count: i64,
    datatype: &Counted<Type>,
    op: &Op,
    root: RankArg,
    comm: &Rc<Comm>,
) -> Outcome<Plan<'static>> {
    let at_root = comm.is_root(root.value);
    let root = root.root(comm)?;
    let send = outgoing(sendbuf, count, datatype)?;
    if at_root {
        apart(Held(sendbuf, count, datatype).first(0), Held(recvbuf, count, datatype).first(0))?;
    }
    let recv = if at_root { Some(recvbuf.receive(count, datatype)?) } else { None };
    let op = op.bind(&call.state.types, datatype);
    Ok(call.rank().reduce(send.as_deref(), recv.as_deref(), &op, root, &comm.comm)?)
}

/// Combines data at all.
pub(crate) fn plan_allreduce(
    call: &Call,
    sendbuf: Buf,
    recvbuf: Buf,
    count: i64,
    datatype: &Counted<Type>,
    op: &Op,
    comm: &Rc<Comm>,
) -> Outcome<Plan<'static>> {
    let send = outgoing(sendbuf, count, datatype)?;
    apart(Held(sendbuf, count, datatype).first(0), Held(recvbuf, count, datatype).first(0))?;
    let recv = recvbuf.receive(count, datatype)?;
    let op = op.bind(&call.state.types, datatype);
    Ok(call.rank().allreduce(send.as_deref(), &recv, &op, &comm.comm)?)
}

/// Combines the data of this process and of those of lower rank.
pub(crate) fn plan_scan(
    call: &Call,
    sendbuf: Buf,
    recvbuf: Buf,
    count: i64,
    datatype: &Counted<Type>,
    op: &Op,
    comm: &Rc<Comm>,
) -> Outcome<Plan<'static>> {
    let send = outgoing(sendbuf, count, datatype)?;
    apart(Held(sendbuf, count, datatype).first(0), Held(recvbuf, count, datatype).first(0))?;
    let recv = recvbuf.receive(count, datatype)?;
    let op = op.bind(&call.state.types, datatype);
    Ok(call.rank().scan(send.as_deref(), &recv, &op, &comm.comm)?)
}

/// Combines the data of the processes of lower rank.
pub(crate) fn plan_exscan(
    call: &Call,
    sendbuf: Buf,
    recvbuf: Buf,
    count: i64,
    datatype: &Counted<Type>,
    op: &Op,
    comm: &Rc<Comm>,
) -> Outcome<Plan<'static>> {
    let send = outgoing(sendbuf, count, datatype)?;
    apart(Held(sendbuf, count, datatype).first(0), Held(recvbuf, count, datatype).first(0))?;
    let recv = recvbuf.receive(count, datatype)?;
    let op = op.bind(&call.state.types, datatype);
    Ok(call.rank().exscan(send.as_deref(), &recv, &op, &comm.comm)?)
}

/// Combines blocks of equal size; each process gets its own.
pub(crate) fn plan_reduce_scatter_block(
    call: &Call,
    sendbuf: Buf,
    recvbuf: Buf,
    recvcount: i64,
    datatype: &Counted<Type>,
    op: &Op,
    comm: &Rc<Comm>,
) -> Outcome<Plan<'static>> {
    let blocks = recvcount.saturating_mul(comm.local_size() as i64);
    let send = outgoing(sendbuf, blocks, datatype)?;
    apart(Held(sendbuf, blocks, datatype).first(0), Held(recvbuf, recvcount, datatype).first(0))?;
    let recv = recvbuf.receive(recvcount, datatype)?;
    let op = op.bind(&call.state.types, datatype);
    Ok(call.rank().reduce_scatter_block(send.as_deref(), &recv, &op, &comm.comm)?)
}

/// Combines blocks of varying size; each process gets its own.
pub(crate) fn plan_reduce_scatter(
    call: &Call,
    sendbuf: Buf,
    recvbuf: Buf,
    recvcounts: Numbers,
    datatype: &Counted<Type>,
    op: &Op,
    comm: &Rc<Comm>,
) -> Outcome<Plan<'static>> {
    let counts = unsigned(recvcounts);
    let all: u64 = counts.iter().sum();
    let send = outgoing(sendbuf, all as i64, datatype)?;
    let own = if sendbuf.is_in_place() { all } else { counts[comm.comm.rank() as usize] };
    apart(Held(sendbuf, all as i64, datatype).first(0), Held(recvbuf, own as i64, datatype).first(0))?;
    let recv = recvbuf.receive(own as i64, datatype)?;
    let op = op.bind(&call.state.types, datatype);
    Ok(call.rank().reduce_scatter(send.as_deref(), &recv, &counts, &op, &comm.comm)?)
}

pub(crate) fn mpi_reduce_local(
    call: &Call,
    inbuf: Buf,
    inoutbuf: Buf,
    count: i64,
    datatype: &Counted<Type>,
    op: &Op,
) -> Outcome {
    let op = op.bind(&call.state.types, datatype);
    let (input, inout) = (inbuf.send(count, datatype)?, inoutbuf.receive(count, datatype)?);
    call.rank().reduce_local(&input, &inout, &op)?;
    Ok(())
}

//! Chapter 6: collectives with a root.

use std::rc::Rc;

use engine::{Counted, Lent, Plan, RecvBuffer};

use super::{Held, apart, outgoing, own_block, parts::Shape};
use crate::call::Call;
use crate::convert::{Buf, Numbers, RankArg};
use crate::errors::Outcome;
use crate::handles::{Comm, Type};

/// Copies the root's data to all.
pub(crate) fn plan_bcast(
    call: &Call,
    buffer: Buf,
    count: i64,
    datatype: &Counted<Type>,
    root: RankArg,
    comm: &Rc<Comm>,
) -> Outcome<Plan<'static>> {
    let root = root.root(comm)?;
    Ok(call.rank().bcast(&*buffer.receive(count, datatype)?, root, &comm.comm)?)
}

/// Collects equal blocks at the root.
pub(crate) fn plan_gather(
    call: &Call,
    sendbuf: Buf,
    sendcount: i64,
    sendtype: &Counted<Type>,
    recvbuf: Buf,
    recvcount: i64,
    recvtype: Option<&Counted<Type>>,
    root: RankArg,
    comm: &Rc<Comm>,
) -> Outcome<Plan<'static>> {
    let root = root.root(comm)?;
    let send = outgoing(sendbuf, sendcount, sendtype)?;
    if let Some(of) = &recvtype {
        let own = own_block(comm);
        apart(Held(sendbuf, sendcount, sendtype).first(0), Held(recvbuf, recvcount, of).first(own))?;
    }
    let recv = recvtype.as_ref().map(|datatype| recvbuf.receive(recvcount, datatype)).transpose()?;
    Ok(call.rank().gather(send.as_deref(), recv.as_deref(), root, &comm.comm)?)
}

/// Collects blocks of varying size at the root.
pub(crate) fn plan_gatherv(
    call: &Call,
    sendbuf: Buf,
    sendcount: i64,
    sendtype: &Counted<Type>,
    recvbuf: Buf,
    recvcounts: Numbers,
    displs: Numbers,
    recvtype: Option<&Counted<Type>>,
    root: RankArg,
    comm: &Rc<Comm>,
) -> Outcome<Plan<'static>> {
    let root = root.root(comm)?;
    let send = outgoing(sendbuf, sendcount, sendtype)?;
    let shape = recvtype.map(|datatype| Shape::new(recvcounts, displs, datatype)).transpose()?;
    if let Some(shape) = &shape {
        apart(Held(sendbuf, sendcount, sendtype).first(0), shape.first(recvbuf, own_block(comm)))?;
    }
    let recv = shape.as_ref().map(|shape| shape.receive(recvbuf));
    Ok(call.rank().gatherv(send.as_deref(), recv.as_ref(), root, &comm.comm)?)
}

/// Deals out equal blocks from the root.
pub(crate) fn plan_scatter(
    call: &Call,
    sendbuf: Buf,
    sendcount: i64,
    sendtype: Option<&Counted<Type>>,
    recvbuf: Buf,
    recvcount: i64,
    recvtype: &Counted<Type>,
    root: RankArg,
    comm: &Rc<Comm>,
) -> Outcome<Plan<'static>> {
    let root = root.root(comm)?;
    if let Some(of) = &sendtype {
        let own = own_block(comm);
        apart(Held(sendbuf, sendcount, of).first(own), Held(recvbuf, recvcount, recvtype).first(0))?;
    }
    let send = sendtype.as_ref().map(|datatype| sendbuf.send(sendcount, datatype)).transpose()?;
    let recv = incoming(recvbuf, recvcount, recvtype)?;
    Ok(call.rank().scatter(send.as_deref(), recv.as_deref(), root, &comm.comm)?)
}

/// Deals out blocks of varying size from the root.
pub(crate) fn plan_scatterv(
    call: &Call,
    sendbuf: Buf,
    sendcounts: Numbers,
    displs: Numbers,
    sendtype: Option<&Counted<Type>>,
    recvbuf: Buf,
    recvcount: i64,
    recvtype: &Counted<Type>,
    root: RankArg,
    comm: &Rc<Comm>,
) -> Outcome<Plan<'static>> {
    let root = root.root(comm)?;
    let shape = sendtype.map(|datatype| Shape::new(sendcounts, displs, datatype)).transpose()?;
    if let Some(shape) = &shape {
        apart(shape.first(sendbuf, own_block(comm)), Held(recvbuf, recvcount, recvtype).first(0))?;
    }
    let send = shape.as_ref().map(|shape| shape.send(sendbuf));
    let recv = incoming(recvbuf, recvcount, recvtype)?;
    Ok(call.rank().scatterv(send.as_ref(), recv.as_deref(), root, &comm.comm)?)
}

/// Room to receive into, or nothing for MPI_IN_PLACE.
fn incoming(buf: Buf, count: i64, datatype: &Type) -> Outcome<Option<Lent<'_, RecvBuffer>>> {
    if buf.is_in_place() { Ok(None) } else { buf.receive(count, datatype).map(Some) }
}

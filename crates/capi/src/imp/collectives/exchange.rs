//! Chapter 6: collectives in which all send to all.

use std::rc::Rc;

use engine::{Counted, Plan};

use super::{Held, apart, outgoing, own_block, parts::Shape};
use crate::abi::types::*;
use crate::call::Call;
use crate::convert::{Buf, Numbers};
use crate::errors::Outcome;
use crate::handles::{Comm, Type};

/// Collects equal blocks at all.
pub(crate) fn plan_allgather(
    call: &Call,
    sendbuf: Buf,
    sendcount: i64,
    sendtype: &Counted<Type>,
    recvbuf: Buf,
    recvcount: i64,
    recvtype: &Counted<Type>,
    comm: &Rc<Comm>,
) -> Outcome<Plan<'static>> {
    let send = outgoing(sendbuf, sendcount, sendtype)?;
    let own = own_block(comm);
    apart(Held(sendbuf, sendcount, sendtype).first(0), Held(recvbuf, recvcount, recvtype).first(own))?;
    let recv = recvbuf.receive(recvcount, recvtype)?;
    Ok(call.rank().allgather(send.as_deref(), &recv, &comm.comm)?)
}

/// Exchanges equal blocks between all.
pub(crate) fn plan_alltoall(
    call: &Call,
    sendbuf: Buf,
    sendcount: i64,
    sendtype: &Counted<Type>,
    recvbuf: Buf,
    recvcount: i64,
    recvtype: &Counted<Type>,
    comm: &Rc<Comm>,
) -> Outcome<Plan<'static>> {
    let send = outgoing(sendbuf, sendcount, sendtype)?;
    apart(Held(sendbuf, sendcount, sendtype).first(0), Held(recvbuf, recvcount, recvtype).first(0))?;
    let recv = recvbuf.receive(recvcount, recvtype)?;
    Ok(call.rank().alltoall(send.as_deref(), &recv, &comm.comm)?)
}

/// Collects blocks of varying size at all.
pub(crate) fn plan_allgatherv(
    call: &Call,
    sendbuf: Buf,
    sendcount: i64,
    sendtype: &Counted<Type>,
    recvbuf: Buf,
    recvcounts: Numbers,
    displs: Numbers,
    recvtype: &Counted<Type>,
    comm: &Rc<Comm>,
) -> Outcome<Plan<'static>> {
    let send = outgoing(sendbuf, sendcount, sendtype)?;
    let shape = Shape::new(recvcounts, displs, recvtype)?;
    apart(Held(sendbuf, sendcount, sendtype).first(0), shape.first(recvbuf, own_block(comm)))?;
    Ok(call.rank().allgatherv(send.as_deref(), &shape.receive(recvbuf), &comm.comm)?)
}

/// Exchanges blocks of varying size between all.
pub(crate) fn plan_alltoallv(
    call: &Call,
    sendbuf: Buf,
    sendcounts: Numbers,
    sdispls: Numbers,
    sendtype: &Counted<Type>,
    recvbuf: Buf,
    recvcounts: Numbers,
    rdispls: Numbers,
    recvtype: &Counted<Type>,
    comm: &Rc<Comm>,
) -> Outcome<Plan<'static>> {
    let sending = Shape::new(sendcounts, sdispls, sendtype)?;
    let receiving = Shape::new(recvcounts, rdispls, recvtype)?;
    apart(sending.first(sendbuf, own_block(comm)), receiving.first(recvbuf, own_block(comm)))?;
    let send = (!sendbuf.is_in_place()).then(|| sending.send(sendbuf));
    Ok(call.rank().alltoallv(send.as_ref(), &receiving.receive(recvbuf), &comm.comm)?)
}

/// Exchanges blocks of varying size and type between all.
pub(crate) fn plan_alltoallw(
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
) -> Outcome<Plan<'static>> {
    let sending = Shape::with_types(call, "sendtypes", sendcounts, sdispls, sendtypes)?;
    let receiving = Shape::with_types(call, "recvtypes", recvcounts, rdispls, recvtypes)?;
    apart(sending.first(sendbuf, own_block(comm)), receiving.first(recvbuf, own_block(comm)))?;
    let send = (!sendbuf.is_in_place()).then(|| sending.send(sendbuf));
    Ok(call.rank().alltoallw(send.as_ref(), &receiving.receive(recvbuf), &comm.comm)?)
}

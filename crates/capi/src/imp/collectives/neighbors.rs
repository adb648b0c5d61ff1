//! Chapter 8: collectives of neighbours.

use std::rc::Rc;

use engine::{Counted, Plan};

use super::parts::Shape;
use crate::abi::types::MPI_Datatype;
use crate::call::Call;
use crate::convert::{Buf, Numbers};
use crate::errors::Outcome;
use crate::handles::{Comm, Type};

/// Sends the same data to all neighbours and collects equal blocks.
pub(crate) fn plan_neighbor_allgather(
    call: &Call,
    sendbuf: Buf,
    sendcount: i64,
    sendtype: &Counted<Type>,
    recvbuf: Buf,
    recvcount: i64,
    recvtype: &Counted<Type>,
    comm: &Rc<Comm>,
) -> Outcome<Plan<'static>> {
    let (sendcount, recvcount) = (comm.blocks_out(sendcount), comm.blocks_in(recvcount));
    let (send, recv) = (sendbuf.send(sendcount, sendtype)?, recvbuf.receive(recvcount, recvtype)?);
    Ok(call.rank().neighbor_allgather(&send, &recv, &comm.comm)?)
}

/// Sends the same data to all neighbours and collects blocks of varying size.
pub(crate) fn plan_neighbor_allgatherv(
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
    let send = sendbuf.send(comm.blocks_out(sendcount), sendtype)?;
    let receiving = Shape::new(recvcounts, displs, recvtype)?;
    Ok(call.rank().neighbor_allgatherv(&send, &receiving.receive(recvbuf), &comm.comm)?)
}

/// Exchanges equal blocks with all neighbours.
pub(crate) fn plan_neighbor_alltoall(
    call: &Call,
    sendbuf: Buf,
    sendcount: i64,
    sendtype: &Counted<Type>,
    recvbuf: Buf,
    recvcount: i64,
    recvtype: &Counted<Type>,
    comm: &Rc<Comm>,
) -> Outcome<Plan<'static>> {
    let (sendcount, recvcount) = (comm.blocks_out(sendcount), comm.blocks_in(recvcount));
    let (send, recv) = (sendbuf.send(sendcount, sendtype)?, recvbuf.receive(recvcount, recvtype)?);
    Ok(call.rank().neighbor_alltoall(&send, &recv, &comm.comm)?)
}

/// Exchanges blocks of varying size with all neighbours.
pub(crate) fn plan_neighbor_alltoallv(
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
    let rank = call.rank();
    Ok(rank.neighbor_alltoallv(&sending.send(sendbuf), &receiving.receive(recvbuf), &comm.comm)?)
}

/// Exchanges blocks of varying size and type with all neighbours.
pub(crate) fn plan_neighbor_alltoallw(
    call: &Call,
    sendbuf: Buf,
    sendcounts: Numbers,
    sdispls: &[isize],
    sendtypes: &[MPI_Datatype],
    recvbuf: Buf,
    recvcounts: Numbers,
    rdispls: &[isize],
    recvtypes: &[MPI_Datatype],
    comm: &Rc<Comm>,
) -> Outcome<Plan<'static>> {
    let sending =
        Shape::with_types(call, "sendtypes", sendcounts, Numbers::of_addresses(sdispls), sendtypes)?;
    let receiving =
        Shape::with_types(call, "recvtypes", recvcounts, Numbers::of_addresses(rdispls), recvtypes)?;
    let rank = call.rank();
    Ok(rank.neighbor_alltoallw(&sending.send(sendbuf), &receiving.receive(recvbuf), &comm.comm)?)
}

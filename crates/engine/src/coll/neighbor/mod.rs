//! Collectives of neighbours (MPI section 8.6): each member exchanges with those that the communicator's topology names.
//!
//! Direct. Cost: one message to each destination that is somebody and gets bytes, all under way at once. Restrictions: none but that the
//! communicator has a topology.

use super::prelude::*;
use crate::values::topology::{Neighbors, Pairing};

/// MPI_Neighbor_allgather: the same data to all, a block from each.
pub(crate) fn allgather(
    shop: Workshop<'_>,
    send: &SendBuffer,
    recv: &RecvBuffer,
    comm: &Comm,
) -> Result<Steps> {
    let (source, target) = (Region::from(send), Region::from(recv));
    plan(shop, comm, "neighbor_allgather", |_| source.clone(), |index| target.block(index))
}

/// MPI_Neighbor_allgatherv: the same data to all, a part from each.
pub(crate) fn allgatherv(
    shop: Workshop<'_>,
    send: &SendBuffer,
    recv: &RecvParts<'_>,
    comm: &Comm,
) -> Result<Steps> {
    recv.check(neighbors(comm)?.sources.len() as u32)?;
    let source = Region::from(send);
    let part = |index| Region::from(&recv.part(index));
    plan(shop, comm, "neighbor_allgatherv", |_| source.clone(), part)
}

/// MPI_Neighbor_alltoall: a block to each, a block from each.
pub(crate) fn alltoall(
    shop: Workshop<'_>,
    send: &SendBuffer,
    recv: &RecvBuffer,
    comm: &Comm,
) -> Result<Steps> {
    let (source, target) = (Region::from(send), Region::from(recv));
    plan(shop, comm, "neighbor_alltoall", |index| source.block(index), |index| target.block(index))
}

/// MPI_Neighbor_alltoallv and MPI_Neighbor_alltoallw: a part to each, a part from each.
pub(crate) fn alltoallv(
    shop: Workshop<'_>,
    send: &SendParts<'_>,
    recv: &RecvParts<'_>,
    comm: &Comm,
) -> Result<Steps> {
    let around = neighbors(comm)?;
    send.check(around.destinations.len() as u32)?;
    recv.check(around.sources.len() as u32)?;
    let (leaving, coming) =
        (|index| Region::from(&send.part(index)), |index| Region::from(&recv.part(index)));
    plan(shop, comm, "neighbor_alltoallv", leaving, coming)
}

fn neighbors(comm: &Comm) -> Result<&Neighbors> {
    comm.neighbors().ok_or(Error::Topology { expected: "a topology" })
}

fn plan(
    shop: Workshop<'_>,
    comm: &Comm,
    name: &'static str,
    leaving: impl Fn(u32) -> Region,
    coming: impl Fn(u32) -> Region,
) -> Result<Steps> {
    let Neighbors { sources, destinations, pairing } = neighbors(comm)?;
    let mut b = Builder::new(shop, comm, name);
    // Messages between the same two members have one tag and keep their order, so receives are posted in the order in which the other side
    // sends.
    for index in 0..sources.len() {
        let place = match pairing {
            Pairing::InOrder => index,
            Pairing::Opposite => index ^ 1,
        };
        if let Some(from) = sources[place] {
            b.receive(from, &coming(place as u32));
        }
    }
    for (index, to) in destinations.iter().enumerate() {
        if let Some(to) = to {
            b.send(*to, &leaving(index as u32));
        }
    }
    Ok(b.finish())
}

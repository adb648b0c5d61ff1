//! Collectives of neighbours on borrowed memory (MPI section 8.6). Blocks lie in the order of the neighbours.

use engine::{Comm, Rank, RecvParts, SendParts};

use super::Process;
use super::collective::{Coming, Leaving, Lengths, Lent, Planned, recv_blocks, send_blocks};
use super::datatype::Datatype;
use super::elements::private::{Incoming, Outgoing};
use super::elements::{Exclusive, Shared, send_buffer};
use super::view::{View, ViewMut};
use crate::activity::Collective;
use crate::error::{Error, Result};

/// From how many this rank receives in a neighbourhood, and to how many it sends.
pub fn degrees(comm: &Comm) -> (usize, usize) {
    comm.neighbors().map_or((0, 0), |around| (around.sources.len(), around.destinations.len()))
}

/// The same data to all, a block from each.
pub fn allgather<'b, T: Datatype>(
    process: &Process,
    send: Shared<'b, [T]>,
    recv: Exclusive<'b, [T]>,
    comm: &Comm,
) -> Result<Lent<'b, impl Planned + use<T>>> {
    let (sources, _) = degrees(comm);
    // SAFETY: borrowed for the `'b` of what is returned; as many elements a neighbour as fit into the slice.
    let (send, recv) = unsafe { (send_buffer(process, send.0), recv_blocks(process, recv, sources)?) };
    let comm = comm.clone();
    Ok(Lent::new(Collective::NeighborAllgather, move |rank: &Rank| {
        rank.neighbor_allgather(&send, &recv, &comm)
    }))
}

/// The same data to all, a part from each.
pub fn allgatherv<'b, T: Datatype>(
    process: &Process,
    send: Shared<'b, [T]>,
    recv: (Exclusive<'b, [T]>, Lengths),
    comm: &Comm,
) -> Result<Lent<'b, impl Planned + use<T>>> {
    let recv = Coming::new(process, recv.0, recv.1, degrees(comm).0)?;
    // SAFETY: borrowed for the `'b` of what is returned.
    let (send, comm) = (unsafe { send_buffer(process, send.0) }, comm.clone());
    Ok(Lent::new(Collective::NeighborAllgatherv, move |rank: &Rank| {
        rank.neighbor_allgatherv(&send, &recv.parts(), &comm)
    }))
}

/// A block to each, a block from each.
pub fn alltoall<'b, T: Datatype>(
    process: &Process,
    send: Shared<'b, [T]>,
    recv: Exclusive<'b, [T]>,
    comm: &Comm,
) -> Result<Lent<'b, impl Planned + use<T>>> {
    let (sources, destinations) = degrees(comm);
    // SAFETY: as in `allgather`.
    let (send, recv) =
        unsafe { (send_blocks(process, send, destinations)?, recv_blocks(process, recv, sources)?) };
    let comm = comm.clone();
    Ok(Lent::new(Collective::NeighborAlltoall, move |rank: &Rank| {
        rank.neighbor_alltoall(&send, &recv, &comm)
    }))
}

/// A part to each, a part from each.
pub fn alltoallv<'b, T: Datatype>(
    process: &Process,
    send: (Shared<'b, [T]>, Lengths),
    recv: (Exclusive<'b, [T]>, Lengths),
    comm: &Comm,
) -> Result<Lent<'b, impl Planned + use<T>>> {
    let (sources, destinations) = degrees(comm);
    let send = Leaving::new(process, send.0, send.1, destinations)?;
    let recv = Coming::new(process, recv.0, recv.1, sources)?;
    let comm = comm.clone();
    Ok(Lent::new(Collective::NeighborAlltoallv, move |rank: &Rank| {
        rank.neighbor_alltoallv(&send.parts(), &recv.parts(), &comm)
    }))
}

/// A view to each, a view from each: the form in which parts have types of their own.
pub fn alltoallw<'b, T: Datatype>(
    process: &Process,
    send: &'b [View<'_, T>],
    recv: &'b mut [ViewMut<'_, T>],
    comm: &Comm,
) -> Result<Lent<'b, impl Planned + use<T>>> {
    let (sources, destinations) = degrees(comm);
    for (given, expected, what) in
        [(send.len(), destinations, "to send from"), (recv.len(), sources, "to receive into")]
    {
        if given != expected {
            return Err(Error::length(format!(
                "there are {given} views {what}, expected one for each of the {expected} neighbours"
            )));
        }
    }
    // SAFETY: borrowed for the `'b` of what is returned, each view as well as its slice.
    let (out, into): (Vec<_>, Vec<_>) = unsafe {
        (
            send.iter().map(|view| View::outgoing(view, process)).collect(),
            recv.iter_mut().map(|view| ViewMut::incoming(view, process)).collect(),
        )
    };
    let comm = comm.clone();
    Ok(Lent::new(Collective::NeighborAlltoallw, move |rank: &Rank| {
        rank.neighbor_alltoallw(&SendParts::of(&out), &RecvParts::of(&into), &comm)
    }))
}

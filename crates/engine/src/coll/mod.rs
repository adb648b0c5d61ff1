//! Collectives (MPI chapter 6): one room a collective, one algorithm a file.
//!
//! A collective's `mod.rs` checks arguments, and picks an algorithm from a table ([`select`]); an algorithm's file states its cost
//! and restrictions and writes a schedule. In the cost lines `p` is the number of members, `n` the bytes of one member's buffer (of
//! one block where the collective has a block for each), and bytes are those that one member sends.
//!
//! Lengths are compared in packed bytes, because members may describe the same data by different types. Reductions are cut
//! between elements, whose types all members share.

mod accumulator;
mod halving;
mod ring;
mod select;

pub(crate) mod allgather;
pub(crate) mod allgatherv;
pub(crate) mod allreduce;
pub(crate) mod alltoall;
pub(crate) mod alltoallv;
pub(crate) mod barrier;
pub(crate) mod bcast;
pub(crate) mod gather;
pub(crate) mod gatherv;
pub(crate) mod neighbor;
pub(crate) mod reduce;
pub(crate) mod reduce_scatter;
pub(crate) mod scan;
pub(crate) mod scatter;
pub(crate) mod scatterv;

/// What every collective uses.
mod prelude {
    pub(super) use super::select::{Rule, choose};
    pub(super) use crate::schedule::{Builder, Steps, Workshop};
    pub(super) use crate::values::comm::Comm;
    pub(super) use crate::values::error::{Error, Result};
    pub(super) use crate::values::memory::{RecvBuffer, RecvParts, Region, SendBuffer, SendParts};
    pub(super) use crate::values::op::Op;
}

use prelude::*;

/// The largest power of two that is not above `size`.
fn power_below(size: u32) -> u32 {
    1 << size.ilog2()
}

/// The place of a member when members are counted from the root on.
fn from_root(member: u32, root: u32, size: u32) -> u32 {
    if member >= root { member - root } else { member + size - root }
}

/// The member at a place counted from the root on.
fn member_at(place: u32, root: u32, size: u32) -> u32 {
    ((u64::from(place) + u64::from(root)) % u64::from(size)) as u32
}

fn check_root(root: u32, comm: &Comm) -> Result<()> {
    comm.root(i64::from(root)).map(|_| ())
}

fn in_place_off_root() -> Error {
    Error::Buffer { reason: "MPI_IN_PLACE is allowed at the root only" }
}

fn missing_at_root() -> Error {
    Error::Buffer { reason: "the root needs a buffer for all members" }
}

/// What is wrong if this member's own block does not fit into the place that it has for it. It takes part nevertheless, as one that has
/// failed ([`Builder::fail`]): the others wait for it.
fn own_block(sent: u64, room: u64, comm: &Comm) -> Option<Error> {
    if sent > room {
        return Some(Error::Truncated { source: comm.rank(), tag: 0, received: sent, capacity: room });
    }
    (sent < room).then_some(Error::Argument {
        reason: "this rank sends fewer bytes than it receives from each member",
        given: sent as i64,
    })
}

/// Buffers of a reduction that all members get something from: (value, where the result goes).
fn reduction_buffers(send: Option<&SendBuffer>, recv: &RecvBuffer, op: &Op) -> Result<(Region, Region)> {
    op.check_reduction(recv.datatype())?;
    let target = Region::from(recv);
    let value = send.map_or_else(|| target.clone(), |send| Region::from(send).elements(0, recv.count()));
    Ok((value, target))
}

/// The collective and its algorithm of these names, if there are such; `None` for the algorithm stands for none.
pub(crate) fn find_algorithm(
    collective: &str,
    algorithm: Option<&str>,
) -> Option<(&'static str, Option<&'static str>)> {
    let (collective, known) = ALGORITHMS.iter().find(|(name, _)| *name == collective)?;
    match algorithm {
        None => Some((collective, None)),
        Some(wanted) => known().find(|name| *name == wanted).map(|name| (*collective, Some(name))),
    }
}

/// The algorithms of each collective that has several, in the order of its table.
pub(crate) fn algorithms() -> impl Iterator<Item = (&'static str, &'static str)> {
    ALGORITHMS.iter().flat_map(|(collective, known)| known().map(move |name| (*collective, name)))
}

type Names = alloc::boxed::Box<dyn Iterator<Item = &'static str>>;

/// A collective, and the names of its algorithms.
type Table = (&'static str, fn() -> Names);

/// The collectives that have a table.
const ALGORITHMS: &[Table] = &[
    (allgather::NAME, || select::names(allgather::RULES)),
    (allgatherv::NAME, || select::names(allgatherv::RULES)),
    (allreduce::NAME, || select::names(allreduce::RULES)),
    (alltoall::NAME, || select::names(alltoall::RULES)),
    (barrier::NAME, || select::names(barrier::RULES)),
    (bcast::NAME, || select::names(bcast::RULES)),
    (gather::NAME, || select::names(gather::RULES)),
    (reduce::NAME, || select::names(reduce::RULES)),
    (reduce_scatter::NAME, || select::names(reduce_scatter::RULES)),
    (scatter::NAME, || select::names(scatter::RULES)),
];

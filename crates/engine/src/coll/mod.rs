//! Collectives (MPI chapter 6): one room a collective, one algorithm a file.
//!
//! A collective's `mod.rs` checks arguments, and picks an algorithm from a table ([`select`]); an algorithm's file states its cost
//! and restrictions and writes a schedule. In the cost lines `p` is the number of members, `n` the bytes of one member's buffer (of
//! one block where the collective has a block for each), and bytes are those that one member sends.
//!
//! Lengths are compared in packed bytes, because members may describe the same data by different types. Reductions are cut
//! between elements, whose types all members share.

mod accumulator;
mod api;
mod halving;
mod plan;
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
pub(crate) mod inter;
pub(crate) mod neighbor;
pub(crate) mod reduce;
pub(crate) mod reduce_scatter;
pub(crate) mod scan;
pub(crate) mod scatter;
pub(crate) mod scatterv;

pub use plan::Plan;

/// What every collective uses.
mod prelude {
    pub(super) use super::select::{Rule, choose};
    pub(super) use crate::rank::Rank;
    pub(super) use crate::schedule::{Builder, Steps};
    pub(super) use crate::values::comm::Comm;
    pub(super) use crate::values::error::{Error, Result};
    pub(super) use crate::values::ids::Root;
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

/// The root of a collective on an intracommunicator.
fn intra_root(root: Root, comm: &Comm) -> Result<u32> {
    match root {
        Root::Rank(rank) => Ok(rank),
        Root::Me | Root::Beside => Err(Error::Root { given: -1, size: comm.size() }),
    }
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

impl Rank {
    /// Prefers an algorithm for a collective wherever its restrictions allow it; `None` goes back to the table. False if there
    /// is no algorithm of that name. For measurements and tests; all members must prefer the same.
    pub fn prefer_algorithm(&self, collective: &str, algorithm: Option<&str>) -> bool {
        let Some((collective, known)) = ALGORITHMS.iter().find(|(name, _)| *name == collective) else {
            return false;
        };
        let name = algorithm.map(|wanted| known().find(|name| *name == wanted));
        if name == Some(None) {
            return false;
        }
        self.schedules.prefer(collective, name.flatten());
        true
    }

    /// The algorithms of each collective that has several, in the order of its table.
    pub fn algorithms() -> impl Iterator<Item = (&'static str, &'static str)> {
        ALGORITHMS.iter().flat_map(|(collective, known)| known().map(move |name| (*collective, name)))
    }
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

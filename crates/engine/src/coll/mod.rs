//! Collectives (MPI chapter 6): one room a collective, one algorithm a file.
//!
//! A collective's `mod.rs` picks an algorithm from a table ([`select`]); an algorithm's file states its cost
//! and restrictions and writes a schedule. Arguments are checked before that: in the same file, or, of a [`Call`](crate::schedule::Call), where it is made. In the cost lines `p` is the number of members, `n` the bytes of one member's buffer (of
//! one block where the collective has a block for each), and bytes are those that one member sends.
//!
//! Lengths are compared in packed bytes, because members may describe the same data by different types. Reductions are cut
//! between elements, whose types all members share.

mod accumulator;
mod algorithms;
mod arguments;
mod blocks;
#[cfg(all(test, not(loom)))]
mod cost;
mod halving;
mod members;
mod prelude;
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

pub(crate) use algorithms::{algorithms, find_algorithm};
pub(crate) use arguments::{
    check_root, in_place_off_root, intra_root, missing_at_root, own_block, reduction_buffers,
};
pub(crate) use blocks::Blocks;

//! What a program calls: the methods of [`Rank`], one file a subject.

pub(crate) mod accounts;
mod buffered;
mod cancel;
mod collectives;
pub(crate) mod comm_create;
pub(crate) mod complete;
mod compute;
pub(crate) mod leftovers;
pub(crate) mod levels;
mod observe;
mod p2p;
mod partitioned;
mod persistent;
pub(crate) mod plan;
mod poison;
pub(crate) mod probe;
mod process;
mod raw;
mod reduce_local;
pub(crate) mod sets;
mod shared_memory;
pub(crate) mod topo_create;
pub(crate) mod window;

pub use process::Rank;

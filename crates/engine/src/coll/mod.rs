//! Collectives
pub(crate) mod allgather;
pub(crate) mod allgatherv;
pub(crate) mod allreduce;
pub(crate) mod alltoall;
pub(crate) mod alltoallv;
mod api;
pub(crate) mod barrier;
pub(crate) mod bcast;
pub(crate) mod gather;
pub(crate) mod gatherv;
pub(crate) mod reduce;
pub(crate) mod reduce_scatter;
pub(crate) mod scan;
pub(crate) mod scatter;
pub(crate) mod scatterv;

mod prelude {
    pub(crate) use crate::comm::Comm;
    pub(crate) use crate::error::{Error, Result};
    pub(crate) use crate::memory::{RecvBuffer, RecvParts, SendBuffer, SendParts};
    pub(crate) use crate::op::Op;
    pub(crate) use crate::rank::Rank;
    pub(crate) use crate::schedule::Plan;
}

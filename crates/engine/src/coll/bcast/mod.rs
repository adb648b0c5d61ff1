//! bcast
use super::prelude::*;

pub(crate) fn plan(rank: &Rank, buffer: &RecvBuffer, root: u32, comm: &Comm) -> Result<Plan> {
    unimplemented!()
}

//! alltoall
use super::prelude::*;

pub(crate) fn plan(rank: &Rank, send: Option<&SendBuffer>, recv: &RecvBuffer, comm: &Comm) -> Result<Plan> {
    unimplemented!()
}

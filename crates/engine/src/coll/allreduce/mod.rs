//! allreduce
use super::prelude::*;

pub(crate) fn plan(
    rank: &Rank,
    send: Option<&SendBuffer>,
    recv: &RecvBuffer,
    op: &Op,
    comm: &Comm,
) -> Result<Plan> {
    unimplemented!()
}

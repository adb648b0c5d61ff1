//! reduce_scatter
use super::prelude::*;

pub(crate) fn plan(
    rank: &Rank,
    send: Option<&SendBuffer>,
    recv: &RecvBuffer,
    counts: &[u64],
    op: &Op,
    comm: &Comm,
) -> Result<Plan> {
    unimplemented!()
}

pub(crate) fn plan_block(
    rank: &Rank,
    send: Option<&SendBuffer>,
    recv: &RecvBuffer,
    op: &Op,
    comm: &Comm,
) -> Result<Plan> {
    unimplemented!()
}

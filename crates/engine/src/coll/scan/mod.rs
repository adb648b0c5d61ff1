//! scan
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

pub(crate) fn plan_exclusive(
    rank: &Rank,
    send: Option<&SendBuffer>,
    recv: &RecvBuffer,
    op: &Op,
    comm: &Comm,
) -> Result<Plan> {
    unimplemented!()
}

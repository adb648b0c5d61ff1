//! reduce
use super::prelude::*;

pub(crate) fn plan(
    rank: &Rank,
    send: Option<&SendBuffer>,
    recv: Option<&RecvBuffer>,
    op: &Op,
    root: u32,
    comm: &Comm,
) -> Result<Plan> {
    unimplemented!()
}

//! scatter
use super::prelude::*;

pub(crate) fn plan(
    rank: &Rank,
    send: Option<&SendBuffer>,
    recv: Option<&RecvBuffer>,
    root: u32,
    comm: &Comm,
) -> Result<Plan> {
    unimplemented!()
}

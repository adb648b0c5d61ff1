//! scatterv
use super::prelude::*;

pub(crate) fn plan(
    rank: &Rank,
    send: Option<&SendParts<'_>>,
    recv: Option<&RecvBuffer>,
    root: u32,
    comm: &Comm,
) -> Result<Plan> {
    unimplemented!()
}

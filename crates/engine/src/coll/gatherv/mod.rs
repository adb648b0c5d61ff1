//! gatherv
use super::prelude::*;

pub(crate) fn plan(
    rank: &Rank,
    send: Option<&SendBuffer>,
    recv: Option<&RecvParts<'_>>,
    root: u32,
    comm: &Comm,
) -> Result<Plan> {
    unimplemented!()
}

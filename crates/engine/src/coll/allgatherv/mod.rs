//! allgatherv
use super::prelude::*;

pub(crate) fn plan(
    rank: &Rank,
    send: Option<&SendBuffer>,
    recv: &RecvParts<'_>,
    comm: &Comm,
) -> Result<Plan> {
    unimplemented!()
}

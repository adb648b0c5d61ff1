//! alltoallv
use super::prelude::*;

pub(crate) fn plan(
    rank: &Rank,
    send: Option<&SendParts<'_>>,
    recv: &RecvParts<'_>,
    comm: &Comm,
) -> Result<Plan> {
    unimplemented!()
}

//! barrier
use super::prelude::*;

pub(crate) fn plan(rank: &Rank, comm: &Comm) -> Result<Plan> {
    unimplemented!()
}

pub(crate) mod signals;

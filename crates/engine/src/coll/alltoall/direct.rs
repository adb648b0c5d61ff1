//! All messages at once, beginning with the next neighbour so that not all hit the same member first.
//!
//! Cost: one round, n(p - 1) bytes sent, p - 1 messages under way at a time. For medium blocks. No restrictions, no scratch.

use crate::coll::alltoallv::exchange;
use crate::coll::prelude::*;

pub(super) fn build(b: &mut Builder<'_>, source: &Region, target: &Region) -> Result<()> {
    exchange(b, u32::MAX, |member| source.block(member), |member| target.block(member));
    Ok(())
}

//! Pairwise: in round i, to the member i places ahead and from the one i places behind.
//!
//! Cost: p - 1 messages in rounds of four, n(p - 1) bytes sent. For large blocks and many members. No restrictions, no scratch.

use crate::coll::alltoallv::{WINDOW, exchange};
use crate::coll::prelude::*;

pub(super) fn build(b: &mut Builder<'_>, source: &Region, target: &Region) -> Result<()> {
    exchange(b, WINDOW, |member| source.block(member), |member| target.block(member));
    Ok(())
}

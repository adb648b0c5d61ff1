//! Ring: blocks go around, each where it belongs.
//!
//! Cost: p - 1 rounds, n(p - 1) bytes sent, to one neighbour only. For large blocks. No restrictions, no scratch.

use crate::coll::prelude::*;

pub(super) fn build(b: &mut Builder<'_>, own: &Region, all: &Region) -> Result<()> {
    b.copy(own, &all.block(b.me));
    crate::coll::ring::pass_around(b, b.me, |place| place, |place| all.block(place));
    Ok(())
}

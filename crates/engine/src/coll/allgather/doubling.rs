//! Recursive doubling: at distance 1, 2, 4, … partners exchange all blocks that they have, in place.
//!
//! Cost: log2 p rounds, n(p - 1) bytes sent; p log2 p messages in all. Restriction: p is a power of two. No scratch.

use crate::coll::prelude::*;

pub(super) fn build(b: &mut Builder<'_>, own: &Region, all: &Region) -> Result<()> {
    b.copy(own, &all.block(b.me));
    let mut distance = 1;
    while distance < b.size {
        let (mine, theirs) = (b.me & !(distance - 1), (b.me ^ distance) & !(distance - 1));
        b.receive(b.me ^ distance, &all.blocks(theirs, distance));
        b.send(b.me ^ distance, &all.blocks(mine, distance));
        b.wait();
        distance *= 2;
    }
    Ok(())
}

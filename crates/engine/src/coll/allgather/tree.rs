//! Gathering at rank 0, then a broadcast of everything, both by binomial trees.
//!
//! Cost: 2 ceil(log2 p) rounds, but only 2(p - 1) messages in all, against p log2 p of the exchanges: for many members that share
//! cores. No restrictions.

use crate::coll::blocks::Blocks;
use crate::coll::gather::binomial;
use crate::coll::prelude::*;

pub(super) fn build(b: &mut Builder<'_>, own: &Region, all: &Region) -> Result<()> {
    let blocks = Blocks { own: own.clone(), all: (b.me == 0).then(|| all.clone()), root: 0 };
    binomial::build(b, &blocks)?;
    b.wait();
    crate::coll::bcast::binomial::build(b, &all.blocks(0, b.size), 0)
}

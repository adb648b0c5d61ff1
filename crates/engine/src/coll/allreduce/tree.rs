//! Reduction to rank 0 in rank order, then a broadcast, both by binomial trees.
//!
//! Cost: 2 ceil(log2 p) rounds, but only 2(p - 1) messages in all, against p log2 p of recursive doubling: for many members that
//! share cores. No restrictions.

use crate::coll::prelude::*;
use crate::coll::reduce::{Reduction, ordered};

pub(super) fn build(b: &mut Builder<'_>, value: &Region, target: &Region) -> Result<()> {
    let at_root = b.me == 0;
    let reduction = Reduction { value: value.clone(), target: at_root.then(|| target.clone()), root: 0 };
    ordered::build(b, &reduction)?;
    b.wait();
    crate::coll::bcast::binomial::build(b, target, 0)
}

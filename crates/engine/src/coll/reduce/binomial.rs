//! Binomial tree towards the root, in the order in which members stand from the root on.
//!
//! Cost: ceil(log2 p) rounds, n bytes sent; p - 1 messages in all. Restriction: commutative operations, because ranks after the
//! root come first.

use super::Reduction;
use crate::coll::accumulator::Accumulator;
use crate::coll::members::{from_root, member_at};
use crate::coll::prelude::*;

pub(in crate::coll) fn build(b: &mut Builder<'_>, reduction: &Reduction) -> Result<()> {
    let (p, root) = (b.size, reduction.root);
    let place = from_root(b.me, root, p);
    let mut value = Accumulator::new(&reduction.value, reduction.target.as_ref());
    let mut distance = 1;
    while distance < p {
        if place & distance != 0 {
            b.send(member_at(place - distance, root, p), &value.value);
            return Ok(());
        }
        if place + distance < p {
            value.merge(b, member_at(place + distance, root, p))?;
        }
        distance *= 2;
    }
    if let Some(target) = &reduction.target {
        value.store(b, target);
    }
    Ok(())
}

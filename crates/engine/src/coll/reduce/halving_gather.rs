//! Rabenseifner's reduction: recursive halving, then every member sends its piece of the result to the root.
//!
//! Cost: log2 p + 1 rounds, 2n bytes sent, n combined by each instead of n log2 p by the root. For large messages. Needs at
//! least as many elements as members; keeps rank order.

use super::Reduction;
use crate::coll::halving;
use crate::coll::prelude::*;

pub(super) fn build(b: &mut Builder<'_>, reduction: &Reduction) -> Result<()> {
    let count = reduction.value.count();
    let work = match &reduction.target {
        Some(target) => target.clone(),
        None => b.scratch_like(&reduction.value)?,
    };
    b.copy(&reduction.value, &work);
    let halves = halving::build(b, &work)?;
    if reduction.target.is_none() {
        if halves.place.is_some() {
            let (first, end) = halves.range;
            b.send(reduction.root, &work.elements(first, end - first));
        }
        return Ok(());
    }
    for place in 0..halves.active {
        if Some(place) != halves.place {
            let (first, end) = halves.range_of(place, count);
            b.receive(halves.member(place), &work.elements(first, end - first));
        }
    }
    Ok(())
}

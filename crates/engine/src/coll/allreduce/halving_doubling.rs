//! Rabenseifner's all-reduction: recursive halving, then the pieces are collected the same way back.
//!
//! Cost: 2 log2 p rounds, 2n bytes sent, n combined; two more rounds of n bytes if p is no power of two. For large messages.
//! Needs at least as many elements as members; keeps rank order.

use crate::coll::halving;
use crate::coll::prelude::*;

pub(super) fn build(b: &mut Builder<'_>, value: &Region, target: &Region) -> Result<()> {
    b.copy(value, target);
    let mut halves = halving::build(b, target)?;
    if let Some(place) = halves.place {
        let mut distance = halves.active / 2;
        while let Some((first, end)) = halves.before.pop() {
            let (mine, upper) = (halves.range, halves.range.0 > first);
            let other = if upper { (first, mine.0) } else { (mine.1, end) };
            let partner = halves.member(place ^ distance);
            b.receive(partner, &target.elements(other.0, other.1 - other.0));
            b.send(partner, &target.elements(mine.0, mine.1 - mine.0));
            b.wait();
            halves.range = (first, end);
            distance /= 2;
        }
    }
    if let Some(partner) = halves.fold_partner(b.me) {
        if halves.place.is_some() {
            b.send(partner, target);
        } else {
            b.receive(partner, target);
        }
    }
    Ok(())
}

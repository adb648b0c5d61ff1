//! Reduce-scatter by recursive halving: the first half of Rabenseifner's algorithm, for all-reductions and reductions to a root.
//!
//! Members beyond a power of two fold their value into a neighbour's first. Then, at distance 1, 2, 4, …, two partners split what
//! they both hold and each keeps one half, combined. Partners are always neighbouring blocks of ranks, so the order of
//! non-commutative operations is kept (at the price of a copy). Cost: log2 p rounds, n bytes sent, n combined; one more round of n
//! bytes if p is no power of two.

use smallvec::SmallVec;

use super::members::power_below;
use super::prelude::*;

/// What a member holds after the halving.
pub(super) struct Halves {
    /// Place among the members that take part; `None` for one that was folded into its neighbour.
    pub place: Option<u32>,
    /// Elements that it holds the result of.
    pub range: (u64, u64),
    /// What it held before each round.
    pub before: SmallVec<[(u64, u64); 16]>,
    /// Members that take part: a power of two.
    pub active: u32,
    folded: u32,
}

impl Halves {
    /// The member at a place among those that take part.
    pub fn member(&self, place: u32) -> u32 {
        if place < self.folded { place * 2 + 1 } else { place + self.folded }
    }

    /// The elements that the member at a place holds the result of.
    pub fn range_of(&self, place: u32, count: u64) -> (u64, u64) {
        let mut range = (0, count);
        let mut distance = 1;
        while distance < self.active {
            range = half(range, place & distance != 0);
            distance *= 2;
        }
        range
    }

    /// The neighbour that this member is folded into, or that is folded into it.
    pub fn fold_partner(&self, me: u32) -> Option<u32> {
        (me < 2 * self.folded).then_some(me ^ 1)
    }
}

/// Writes the halving of `work`, which holds this member's value and is overwritten.
pub(super) fn build(b: &mut Builder<'_>, work: &Region) -> Result<Halves> {
    let active = power_below(b.size);
    let folded = b.size - active;
    let me = b.me;
    let place = match me {
        _ if me >= 2 * folded => Some(me - folded),
        _ if me % 2 == 1 => Some(me / 2),
        _ => None,
    };
    let mut halves = Halves { place, range: (0, work.count()), before: SmallVec::new(), active, folded };
    let Some(place) = place else {
        b.send(me + 1, work);
        b.wait();
        return Ok(halves);
    };
    let room = if me < 2 * folded { work.count() } else { work.count().div_ceil(2) };
    let operand = b.scratch(room, work.datatype())?;
    if me < 2 * folded {
        b.receive(me - 1, &operand);
        b.combine(&operand, work);
    }
    let mut distance = 1;
    while distance < active {
        let partner = halves.member(place ^ distance);
        let upper = place & distance != 0;
        halves.before.push(halves.range);
        let (first, end) = half(halves.range, !upper);
        b.send(partner, &work.elements(first, end - first));
        halves.range = half(halves.range, upper);
        let (first, end) = halves.range;
        let (kept, operand) = (work.elements(first, end - first), operand.elements(0, end - first));
        b.receive(partner, &operand);
        if upper || b.is_commutative() {
            b.combine(&operand, &kept);
        } else {
            b.combine(&kept, &operand);
            b.copy(&operand, &kept);
        }
        distance *= 2;
    }
    Ok(halves)
}

fn half((first, end): (u64, u64), upper: bool) -> (u64, u64) {
    let middle = first + (end - first) / 2;
    if upper { (middle, end) } else { (first, middle) }
}

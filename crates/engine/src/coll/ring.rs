//! Passing blocks around a ring until every place has all of them.
//!
//! Cost: p - 1 rounds, (p - 1) blocks sent. Every link is used in every round, which suits large blocks.

use super::prelude::*;

/// Writes the ring for the member at `place`; `member` gives the member at a place, `block` the memory of a place's block.
pub(super) fn pass_around(
    b: &mut Builder<'_>,
    place: u32,
    member: impl Fn(u32) -> u32,
    block: impl Fn(u32) -> Region,
) {
    let p = b.size;
    let (right, left) = (member((place + 1) % p), member((place + p - 1) % p));
    for round in 0..p - 1 {
        b.receive(left, &block((place + 2 * p - round - 1) % p));
        b.send(right, &block((place + p - round) % p));
        b.wait();
    }
}

//! Recursive halving, after which each member gets its block from those who hold the result of it.
//!
//! Cost: log2 p rounds and one more, n bytes sent and n combined, and a block from one or two
//! members. For large blocks. Needs at least as many elements as members; keeps rank order.
//! Scratch: up to twice all blocks.

use crate::coll::halving;
use crate::coll::prelude::*;
use crate::schedule::Dealing;

pub(super) fn build(b: &mut Builder<'_>, dealing: &Dealing) -> Result<()> {
    let work = b.scratch_like(&dealing.value)?;
    b.copy(&dealing.value, &work);
    let halves = halving::build(b, &work)?;
    b.wait();
    let block = |member: u32| (dealing.bounds[member as usize], dealing.bounds[member as usize + 1]);
    let common = |(a, b): (u64, u64), (c, d): (u64, u64)| (a.max(c), b.min(d).max(a.max(c)));
    let (begin, count) = (block(b.me).0, work.count());
    if halves.place.is_some() {
        // First, as a copy waits for all messages before it.
        let (first, end) = common(halves.range, block(b.me));
        let own = work.elements(first, end - first);
        b.copy(&own, &dealing.target.elements(first.max(begin) - begin, end - first));
        for member in 0..b.size {
            let (first, end) = common(halves.range, block(member));
            if first < end && member != b.me {
                b.send(member, &work.elements(first, end - first));
            }
        }
    }
    for place in 0..halves.active {
        let (first, end) = common(halves.range_of(place, count), block(b.me));
        if first < end && Some(place) != halves.place {
            b.receive(halves.member(place), &dealing.target.elements(first - begin, end - first));
        }
    }
    Ok(())
}

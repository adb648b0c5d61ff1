//! Binomial tree: whoever has the data passes it on, farthest first.
//!
//! Cost: ceil(log2 p) rounds; p - 1 messages in all, the root sends ceil(log2 p) n bytes. No restrictions.

use crate::coll::members::{from_root, member_at};
use crate::coll::prelude::*;

pub(crate) fn build(b: &mut Builder<'_>, region: &Region, root: u32) -> Result<()> {
    let p = b.size;
    let place = from_root(b.me, root, p);
    pass_on(b, region, (place, p), &|place| member_at(place, root, p));
    Ok(())
}

/// The tree among `p` members, of which this one has the place that is given and the first has the data.
pub(super) fn pass_on(
    b: &mut Builder<'_>,
    region: &Region,
    (place, p): (u32, u32),
    member: &dyn Fn(u32) -> u32,
) {
    let reach = if place == 0 { p.next_power_of_two() } else { 1 << place.trailing_zeros() };
    if place > 0 {
        b.receive(member(place - reach), region);
        b.wait();
    }
    let mut distance = reach / 2;
    while distance > 0 {
        if place + distance < p {
            b.send(member(place + distance), region);
        }
        distance /= 2;
    }
}

//! Scatter and ring (van de Geijn): the root deals out p pieces by a binomial tree, then a ring collects them everywhere.
//!
//! Cost: log2 p + p - 1 rounds, 2n(p - 1)/p bytes sent by each member instead of the root's n log2 p. For large messages. No
//! restrictions; data with gaps is packed into n bytes of scratch.

use crate::coll::members::{from_root, member_at};
use crate::coll::prelude::*;
use crate::coll::ring;

pub(super) fn build(b: &mut Builder<'_>, region: &Region, root: u32) -> Result<()> {
    let p = b.size;
    let place = from_root(b.me, root, p);
    let bytes = region.bytes();
    let whole = match region.as_bytes(b.byte()) {
        Some(whole) => whole,
        None => b.scratch_bytes(bytes)?,
    };
    if place == 0 && !region.is_contiguous() {
        b.copy(region, &whole);
    }
    let piece = bytes.div_ceil(u64::from(p));
    let pieces = |first: u32, end: u32| {
        let first = (u64::from(first) * piece).min(bytes);
        let end = (u64::from(end.min(p)) * piece).min(bytes);
        whole.elements(first, end - first)
    };
    let reach = if place == 0 { p.next_power_of_two() } else { 1 << place.trailing_zeros() };
    if place > 0 {
        b.receive(member_at(place - reach, root, p), &pieces(place, place + reach));
        b.wait();
    }
    let mut distance = reach / 2;
    while distance > 0 {
        let child = place + distance;
        if child < p {
            b.send(member_at(child, root, p), &pieces(child, child + distance));
        }
        distance /= 2;
    }
    ring::pass_around(b, place, |place| member_at(place, root, p), |place| pieces(place, place + 1));
    if place > 0 && !region.is_contiguous() {
        b.copy(&whole, region);
    }
    Ok(())
}

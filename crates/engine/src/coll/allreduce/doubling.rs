//! Recursive doubling: at distance 1, 2, 4, … partners exchange what they have and both combine it.
//!
//! Cost: log2 p rounds, n log2 p bytes sent; two more rounds if p is no power of two, for members that fold into a neighbour. No
//! restrictions: partners stand for neighbouring blocks of ranks, so the order is kept, and all members get the same bits.

use crate::coll::accumulator::Accumulator;
use crate::coll::members::power_below;
use crate::coll::prelude::*;

pub(super) fn build(b: &mut Builder<'_>, value: &Region, target: &Region) -> Result<()> {
    let me = b.me;
    let active = power_below(b.size);
    let folded = b.size - active;
    if me < 2 * folded && me.is_multiple_of(2) {
        b.send(me + 1, value);
        // In place the two are the same memory: what arrives must not overtake what leaves.
        b.wait();
        b.receive(me + 1, target);
        return Ok(());
    }
    let mut total = Accumulator::new(value, Some(target));
    let place = if me < 2 * folded {
        total.prepend(b, me - 1, false)?;
        me / 2
    } else {
        me - folded
    };
    let mut distance = 1;
    while distance < active {
        let partner = place ^ distance;
        let member = if partner < folded { partner * 2 + 1 } else { partner + folded };
        if partner < place {
            total.prepend(b, member, true)?;
        } else {
            total.append(b, member, true)?;
        }
        distance *= 2;
    }
    total.store(b, target);
    if me < 2 * folded {
        b.send(me - 1, target);
    }
    Ok(())
}

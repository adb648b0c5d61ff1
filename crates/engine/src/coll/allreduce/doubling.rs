//! Recursive doubling: at distance 1, 2, 4, … partners exchange what they have and both combine it.
//!
//! Cost: log2 p rounds, n log2 p bytes sent; two more rounds if p is no power of two, for members that fold into a neighbour. No
//! restrictions: partners stand for neighbouring blocks of ranks, so the order is kept, and all members get the same bits.
//!
//! Where members may share memory nobody is folded, so that the order is that of `values::pairing`:
//! the members of the largest power of two, and the rest by themselves, exchange what they have
//! together.

use crate::coll::accumulator::Accumulator;
use crate::coll::members::power_below;
use crate::coll::prelude::*;

pub(super) fn build(b: &mut Builder<'_>, value: &Region, target: &Region) -> Result<()> {
    if b.is_paired() && !b.size.is_power_of_two() {
        let mut total = Accumulator::new(value, Some(target));
        in_blocks(b, &mut total, (0, b.size))?;
        total.store(b, target);
        return Ok(());
    }
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

/// The same for the members from the first on, so many, among which this one is. What the rest have
/// together goes along with the exchanges of the others, from those who get it from the rest to
/// their partners.
fn in_blocks(b: &mut Builder<'_>, total: &mut Accumulator, (first, size): (u32, u32)) -> Result<()> {
    let active = power_below(size);
    let (middle, rest) = (first + active, size - active);
    let given = if rest > 0 { power_below(rest) } else { active };
    if b.me >= middle {
        in_blocks(b, total, (middle, rest))?;
        let place = b.me - middle;
        return total.prepend(b, first + place, place < given);
    }
    let place = b.me - first;
    let higher = if rest > 0 { Some(b.scratch_like(&total.value)?) } else { None };
    let mut distance = 1;
    while distance < active {
        let partner = first + (place ^ distance);
        if let Some(higher) = &higher {
            if distance == given && place < given {
                b.receive(middle + place, higher);
                b.wait();
            }
            if distance >= given && place < distance {
                b.send(partner, higher);
            } else if distance >= given && place < 2 * distance {
                b.receive(partner, higher);
            }
        }
        if partner < b.me {
            total.prepend(b, partner, true)?;
        } else {
            total.append(b, partner, true)?;
        }
        distance *= 2;
    }
    if let Some(higher) = higher {
        if place < rest {
            b.send(middle + place, &total.value);
        }
        total.append_held(b, higher);
    }
    Ok(())
}

//! MPI_Scan, MPI_Exscan and their non-blocking forms (sections 6.11, 6.12.11 and 6.12.12).
//!
//! Recursive doubling: at distance 1, 2, 4, … partners exchange the total of their blocks of ranks; the upper one puts what it gets
//! in front of its prefix. Cost: ceil(log2 p) rounds, n log2 p bytes sent. No restrictions: rank order is kept. Totals of blocks
//! that p cuts off are incomplete, but no member of higher rank exists that would use them. Scratch: 3n bytes.
//!
//! Where members may share memory, values are combined from the left, one after the other, as a
//! board does it: each member hands its prefix to the next, in pieces, so that all work at the same
//! time. Cost: p - 1 + n / piece rounds, n bytes sent.

use super::accumulator::Accumulator;
use super::prelude::*;

/// The value of a member is no part of its own result if not `with_own`.
pub(crate) fn plan(
    shop: Workshop<'_>,
    value: &Region,
    prefix: &Region,
    op: &Op,
    with_own: bool,
    comm: &Comm,
) -> Result<Steps> {
    let mut b = Builder::new(shop, comm, "scan");
    b.set_op(op);
    b.all_agree_on(value.bytes());
    if b.is_paired() {
        chain(&mut b, value, prefix, with_own)?;
        return Ok(b.finish());
    }
    // The total changes apart from the prefix, so it cannot stay in the receive buffer.
    let own = if value.same_place(prefix) {
        let copy = b.scratch_like(value)?;
        b.copy(value, &copy);
        copy
    } else {
        value.clone()
    };
    let mut started = with_own;
    if started {
        b.copy(&own, prefix);
    }
    let mut total = Accumulator::new(&own, None);
    let mut distance = 1u32;
    while distance < b.size {
        let partner = b.me ^ distance;
        // Nobody asks for the totals of the last round.
        let last = distance * 2 >= b.size;
        if partner < b.me {
            let before = if last {
                total.receive(&mut b, partner, false)?
            } else {
                total.prepend_keeping(&mut b, partner)?
            };
            if started {
                b.combine(&before, prefix);
            } else {
                b.copy(&before, prefix);
                started = true;
            }
        } else if partner < b.size && last {
            b.send(partner, &total.value);
        } else if partner < b.size {
            total.append(&mut b, partner, true)?;
        }
        distance *= 2;
    }
    Ok(b.finish())
}

/// Bytes that are handed on at a time.
const PIECE: u64 = 32 << 10;

fn chain(b: &mut Builder<'_>, value: &Region, prefix: &Region, with_own: bool) -> Result<()> {
    let (me, is_last, count) = (b.me, b.me + 1 == b.size, value.count());
    let each = (PIECE / value.datatype().size().max(1)).max(1);
    // What is handed on, if that is not this member's result; and the prefix before it, if that is
    // not.
    let first = each.min(count);
    let room =
        if me > 0 && (with_own || !is_last) { Some(b.scratch(first, value.datatype())?) } else { None };
    let mut at = 0;
    loop {
        let many = each.min(count - at);
        let (own, result) = (value.elements(at, many), prefix.elements(at, many));
        let room = room.as_ref().map(|room| room.elements(0, many));
        let handed_on = match room {
            None if me == 0 && with_own => {
                b.copy(&own, &result);
                own
            }
            None if me == 0 => own,
            None => {
                b.receive(me - 1, &result);
                result
            }
            Some(before) if with_own => {
                b.copy(&own, &result);
                b.receive(me - 1, &before);
                b.combine(&before, &result);
                result
            }
            Some(total) => {
                b.copy(&own, &total);
                b.receive(me - 1, &result);
                b.combine(&result, &total);
                total
            }
        };
        if !is_last {
            b.send(me + 1, &handed_on);
        }
        at += many;
        if at >= count {
            return Ok(());
        }
    }
}

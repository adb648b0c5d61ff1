//! MPI_Scan, MPI_Exscan and their non-blocking forms (sections 6.11, 6.12.11 and 6.12.12).
//!
//! Recursive doubling: at distance 1, 2, 4, … partners exchange the total of their blocks of ranks; the upper one puts what it gets
//! in front of its prefix. Cost: ceil(log2 p) rounds, n log2 p bytes sent. No restrictions: rank order is kept. Totals of blocks
//! that p cuts off are incomplete, but no member of higher rank exists that would use them. Scratch: 3n bytes.

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

//! Binomial tree towards rank 0 that combines in rank order, then one message to the root.
//!
//! Cost: ceil(log2 p) rounds and n bytes sent, one more of each if the root is not rank 0. No restrictions: this is the form for
//! non-commutative operations, evaluated as a0 op a1 op … (MPI section 6.9.1).

use super::Reduction;
use crate::coll::accumulator::Accumulator;
use crate::coll::prelude::*;

pub(in crate::coll) fn build(b: &mut Builder<'_>, reduction: &Reduction) -> Result<()> {
    let (p, me, root) = (b.size, b.me, reduction.root);
    let mut value = Accumulator::new(&reduction.value, reduction.target.as_ref());
    let mut distance = 1;
    while distance < p && me & distance == 0 {
        if me + distance < p {
            value.append(b, me + distance, false)?;
        }
        distance *= 2;
    }
    if me != 0 {
        b.send(me - (1 << me.trailing_zeros()), &value.value);
    } else if root != 0 {
        b.send(root, &value.value);
    } else if let Some(target) = &reduction.target {
        value.store(b, target);
        return Ok(());
    }
    if let Some(target) = &reduction.target {
        // The root's own value, which may lie there, must have left.
        b.wait();
        b.receive(0, target);
    }
    Ok(())
}

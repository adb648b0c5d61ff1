//! Binomial tree that combines in rank order: pairs of neighbours, then pairs of these, and so on
//! (`values::pairing`).
//!
//! Cost: ceil(log2 p) rounds and n bytes sent. What a part of the members has combined is at its
//! first one, or at the root if that is among them, so the result is where it is wanted. No
//! restrictions: this is also the form for non-commutative operations, evaluated as a0 op a1 op …
//! (MPI section 6.9.1).

use super::Reduction;
use crate::coll::accumulator::Accumulator;
use crate::coll::prelude::*;

pub(in crate::coll) fn build(b: &mut Builder<'_>, reduction: &Reduction) -> Result<()> {
    let (p, me, root) = (b.size, b.me, reduction.root);
    // Who has what the members from `first` on have combined, as many as `span` or as there are.
    let holder = |first: u32, span: u32| if root / span == first / span { root } else { first };
    let mut value = Accumulator::new(&reduction.value, reduction.target.as_ref());
    let mut span = 1;
    while span < p {
        let (mine, other) = (me & !(span - 1), (me & !(span - 1)) ^ span);
        if other < p {
            let (partner, parent) = (holder(other, span), holder(mine.min(other), 2 * span));
            if parent != me {
                b.send(parent, &value.value);
                return Ok(());
            }
            if mine < other {
                value.append(b, partner, false)?;
            } else {
                value.prepend(b, partner, false)?;
            }
        }
        span *= 2;
    }
    if let Some(target) = &reduction.target {
        value.store(b, target);
    }
    Ok(())
}

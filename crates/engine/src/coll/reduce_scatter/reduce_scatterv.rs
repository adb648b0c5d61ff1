//! Reduction of everything to rank 0, which then sends each member its block.
//!
//! Cost: ceil(log2 p) + 1 rounds, 2(p - 1) messages in all; all blocks sent once by each member. For small blocks, and for
//! non-commutative operations. No restrictions. Scratch: up to three times all blocks.

use crate::coll::prelude::*;
use crate::coll::reduce::{Reduction, ordered};
use crate::schedule::Dealing;

pub(super) fn build(b: &mut Builder<'_>, dealing: &Dealing) -> Result<()> {
    let total = if b.me == 0 { Some(b.scratch_like(&dealing.value)?) } else { None };
    ordered::build(b, &Reduction { value: dealing.value.clone(), target: total.clone(), root: 0 })?;
    b.wait();
    let Some(total) = total else {
        b.receive(0, &dealing.target);
        return Ok(());
    };
    for member in 1..b.size {
        b.send(member, &dealing.block(&total, member));
    }
    b.copy(&dealing.block(&total, 0), &dealing.target);
    Ok(())
}

//! Pairwise exchange: in round i, send the block of the member i places ahead and combine what the one i places behind sends.
//!
//! Cost: p - 1 rounds, every block but one's own sent once. For large blocks. Restriction: commutative operations, because members
//! behind come in falling order. Scratch: one block; two in place, where the other blocks must stay as they are.

use crate::coll::prelude::*;
use crate::schedule::Dealing;

pub(super) fn build(b: &mut Builder<'_>, dealing: &Dealing) -> Result<()> {
    let (p, me) = (b.size, b.me);
    // In place the result belongs where a block lies that still waits to be sent.
    let in_place = dealing.target.same_place(&dealing.value);
    let sum = if in_place { b.scratch_like(&dealing.target)? } else { dealing.target.clone() };
    b.copy(&dealing.block(&dealing.value, me), &sum);
    let operand = b.scratch_like(&sum)?;
    for distance in 1..p {
        let (to, from) = ((me + distance) % p, (me + p - distance) % p);
        b.receive(from, &operand);
        b.send(to, &dealing.block(&dealing.value, to));
        b.combine(&operand, &sum);
    }
    b.copy(&sum, &dealing.target);
    Ok(())
}

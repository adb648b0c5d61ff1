//! Bruck's algorithm: every round doubles the blocks that a member has, its own first, in packed form; then they are put in place.
//!
//! Cost: ceil(log2 p) rounds, n(p - 1) bytes sent; p log2 p messages in all. For small blocks and any p. Scratch: p n bytes.

use crate::coll::prelude::*;

pub(super) fn build(b: &mut Builder<'_>, own: &Region, all: &Region) -> Result<()> {
    let (p, me, n) = (b.size, b.me, own.bytes());
    let arrived = b.scratch_bytes(n * u64::from(p))?;
    b.copy(own, &arrived.elements(0, n));
    let mut have = 1;
    while have < p {
        let more = have.min(p - have);
        b.receive((me + have) % p, &arrived.elements(n * u64::from(have), n * u64::from(more)));
        b.send((me + p - have) % p, &arrived.elements(0, n * u64::from(more)));
        b.wait();
        have += more;
    }
    let after = p - me;
    b.copy(&arrived.elements(0, n * u64::from(after)), &all.blocks(me, after));
    b.copy(&arrived.elements(n * u64::from(after), n * u64::from(me)), &all.blocks(0, me));
    Ok(())
}

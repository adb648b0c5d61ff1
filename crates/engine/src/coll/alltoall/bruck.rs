//! Bruck's algorithm: blocks travel by the binary digits of their distance, many in one message.
//!
//! Cost: ceil(log2 p) rounds, n p/2 bytes sent in each; p log2 p messages in all, against p(p - 1). For small blocks. No
//! restrictions. Scratch: 1.5 p n bytes.

use alloc::vec::Vec;

use crate::coll::prelude::*;
use crate::values::datatype::{Block, Datatype, Layout};

pub(super) fn build(b: &mut Builder<'_>, source: &Region, target: &Region) -> Result<()> {
    let (p, me, n) = (b.size, b.me, target.bytes());
    let rotated = b.scratch_bytes(n * u64::from(p))?;
    let leaving = b.scratch_bytes(n * u64::from(p.div_ceil(2)))?;
    // Block i is for the member i places ahead.
    let after = p - me;
    b.copy(&source.blocks(me, after), &rotated.elements(0, n * u64::from(after)));
    b.copy(&source.blocks(0, me), &rotated.elements(n * u64::from(after), n * u64::from(me)));
    let mut distance = 1;
    while distance < p {
        let blocks: Vec<Block> = (0..p)
            .filter(|block| block & distance != 0)
            .map(|block| Block { offset: (n * u64::from(block)) as i64, len: n })
            .collect();
        let layout = Layout::new(blocks, 0, (n * u64::from(p)) as i64);
        let moving = rotated.retyped(1, &Datatype::derived(layout, None));
        let leaving = leaving.elements(0, moving.bytes());
        b.copy(&moving, &leaving);
        b.receive((me + p - distance) % p, &moving);
        b.send((me + distance) % p, &leaving);
        b.wait();
        distance *= 2;
    }
    // Block i has come from the member i places behind.
    for block in 0..p {
        b.copy(&rotated.elements(n * u64::from(block), n), &target.block((me + p - block) % p));
    }
    Ok(())
}

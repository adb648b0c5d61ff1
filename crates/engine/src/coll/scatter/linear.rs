//! The root sends everybody its block, from where it lies.
//!
//! Cost: one round; the root sends p - 1 messages, n(p - 1) bytes. For large blocks, which it moves once. No restrictions.

use crate::coll::blocks::Blocks;
use crate::coll::prelude::*;

pub(super) fn build(b: &mut Builder<'_>, blocks: &Blocks) -> Result<()> {
    let Some(all) = &blocks.all else {
        b.receive(blocks.root, &blocks.own);
        return Ok(());
    };
    b.copy(&all.block(b.me), &blocks.own);
    for member in 0..b.size {
        if member != b.me {
            b.send(member, &all.block(member));
        }
    }
    Ok(())
}

//! Everybody sends to the root, which receives from all at once, where the blocks belong.
//!
//! Cost: one round; n bytes sent, p - 1 messages received by the root. For large blocks, which it moves once. No restrictions.

use crate::coll::blocks::Blocks;
use crate::coll::prelude::*;

pub(super) fn build(b: &mut Builder<'_>, blocks: &Blocks) -> Result<()> {
    let Some(all) = &blocks.all else {
        b.send(blocks.root, &blocks.own);
        return Ok(());
    };
    b.copy(&blocks.own, &all.block(b.me));
    for member in 0..b.size {
        if member != b.me {
            b.receive(member, &all.block(member));
        }
    }
    Ok(())
}

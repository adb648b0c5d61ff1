//! Everybody sends to the root, which receives from all at once, where the blocks belong.
//!
//! Cost: one round; n bytes sent, p - 1 messages received by the root. For large blocks, which it moves once. No restrictions.

use super::Gathering;
use crate::coll::prelude::*;

pub(super) fn build(b: &mut Builder<'_>, gathering: &Gathering) -> Result<()> {
    let Some(all) = &gathering.all else {
        b.send(gathering.root, &gathering.own);
        return Ok(());
    };
    b.copy(&gathering.own, &all.block(b.me));
    for member in 0..b.size {
        if member != b.me {
            b.receive(member, &all.block(member));
        }
    }
    Ok(())
}

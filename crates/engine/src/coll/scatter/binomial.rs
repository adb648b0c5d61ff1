//! Binomial tree: members get the blocks of all below them in one message, in packed form, and deal them out.
//!
//! Cost: ceil(log2 p) rounds; p - 1 messages in all, the root sends ceil(log2 p) of them; n log2 p / 2 bytes sent on average. For
//! small blocks. No restrictions; up to p n bytes of scratch.

use crate::coll::blocks::Blocks;
use crate::coll::members::{from_root, member_at};
use crate::coll::prelude::*;

pub(super) fn build(b: &mut Builder<'_>, blocks: &Blocks) -> Result<()> {
    let (p, root) = (b.size, blocks.root);
    let n = blocks.own.bytes();
    let place = from_root(b.me, root, p);
    let reach = if place == 0 { p.next_power_of_two() } else { 1 << place.trailing_zeros() };
    let below = reach.min(p - place);
    if below == 1 && place > 0 {
        b.receive(member_at(place - reach, root, p), &blocks.own);
        return Ok(());
    }
    let dealt = match &blocks.all {
        None => {
            let dealt = b.scratch_bytes(n * u64::from(below))?;
            b.receive(member_at(place - reach, root, p), &dealt);
            b.wait();
            dealt
        }
        Some(all) => match all.blocks(0, p).as_bytes(b.byte()).filter(|_| root == 0) {
            Some(bytes) => bytes,
            None => {
                let dealt = b.scratch_bytes(n * u64::from(p))?;
                let after = p - root;
                b.copy(&all.blocks(root, after), &dealt.elements(0, n * u64::from(after)));
                b.copy(&all.blocks(0, root), &dealt.elements(n * u64::from(after), n * u64::from(root)));
                dealt
            }
        },
    };
    let mut distance = reach / 2;
    while distance > 0 {
        if place + distance < p {
            let count = distance.min(p - place - distance);
            let part = dealt.elements(n * u64::from(distance), n * u64::from(count));
            b.send(member_at(place + distance, root, p), &part);
        }
        distance /= 2;
    }
    // In place, the root's block is where it belongs, in memory that may not be writable.
    if !blocks.all.as_ref().is_some_and(|all| all.block(b.me).same_place(&blocks.own)) {
        b.copy(&dealt.elements(0, n), &blocks.own);
    }
    Ok(())
}

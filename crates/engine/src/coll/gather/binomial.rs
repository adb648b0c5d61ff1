//! Binomial tree: members collect the blocks of those below them, in packed form, and pass them on in one message.
//!
//! Cost: ceil(log2 p) rounds; p - 1 messages in all, the root receives ceil(log2 p) of them; n log2 p / 2 bytes sent on average. For
//! small blocks. No restrictions; up to p n bytes of scratch.

use crate::coll::blocks::Blocks;
use crate::coll::members::{from_root, member_at};
use crate::coll::prelude::*;

pub(in crate::coll) fn build(b: &mut Builder<'_>, blocks: &Blocks) -> Result<()> {
    let (p, root) = (b.size, blocks.root);
    let n = blocks.own.bytes();
    let place = from_root(b.me, root, p);
    let reach = if place == 0 { p.next_power_of_two() } else { 1 << place.trailing_zeros() };
    let below = reach.min(p - place);
    if below == 1 && place > 0 {
        b.send(member_at(place - reach, root, p), &blocks.own);
        return Ok(());
    }
    // Rank order is the order of places if the root is rank 0: then the blocks can arrive where they belong.
    let direct =
        blocks.all.as_ref().filter(|_| root == 0).and_then(|all| all.blocks(0, p).as_bytes(b.byte()));
    let arrived = match &direct {
        Some(all) => all.clone(),
        None => b.scratch_bytes(n * u64::from(below))?,
    };
    b.copy(&blocks.own, &arrived.elements(0, n));
    let mut distance = 1;
    while distance < reach {
        if place + distance < p {
            let count = distance.min(p - place - distance);
            let room = arrived.elements(n * u64::from(distance), n * u64::from(count));
            b.receive(member_at(place + distance, root, p), &room);
        }
        distance *= 2;
    }
    b.wait();
    match &blocks.all {
        None => b.send(member_at(place - reach, root, p), &arrived),
        Some(_) if direct.is_some() => {}
        Some(all) => {
            let after = p - root;
            b.copy(&arrived.elements(0, n * u64::from(after)), &all.blocks(root, after));
            b.copy(&arrived.elements(n * u64::from(after), n * u64::from(root)), &all.blocks(0, root));
        }
    }
    Ok(())
}

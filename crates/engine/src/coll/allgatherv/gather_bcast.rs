//! Everybody sends its part to rank 0, which broadcasts all of them in packed form by a binomial tree.
//!
//! Cost: 1 + ceil(log2 p) rounds; 2(p - 1) messages in all, against p(p - 1) of the ring. For small results. No restrictions;
//! scratch for the whole result.

use super::Places;
use crate::coll::prelude::*;

pub(super) fn build(b: &mut Builder<'_>, places: &Places) -> Result<()> {
    let total = places.iter().map(Region::bytes).sum();
    let packed = b.scratch_bytes(total)?;
    let mut offset = 0;
    let parts: Places = places
        .iter()
        .map(|place| {
            let part = packed.elements(offset, place.bytes());
            offset += place.bytes();
            part
        })
        .collect();
    let own = &places[b.me as usize];
    if b.me == 0 {
        b.copy(own, &parts[0]);
        for member in 1..b.size {
            b.receive(member, &parts[member as usize]);
        }
    } else {
        b.send(0, own);
    }
    b.wait();
    crate::coll::bcast::binomial::build(b, &packed, 0)?;
    for (member, (part, place)) in parts.iter().zip(places).enumerate() {
        if member != b.me as usize {
            b.copy(part, place);
        }
    }
    Ok(())
}

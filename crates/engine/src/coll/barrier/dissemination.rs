//! Dissemination barrier (Hensgen, Finkel and Manber, 1988): in round k, tell the member 2^k places ahead.
//!
//! Cost: ceil(log2 p) rounds, one empty message each. No restrictions.

use crate::coll::prelude::*;

pub(super) fn build(b: &mut Builder<'_>) {
    let p = b.size;
    let mut distance = 1;
    while distance < p {
        b.await_notice((b.me + p - distance) % p);
        b.notify((b.me + distance) % p);
        b.wait();
        distance *= 2;
    }
}

//! Binomial tree of arrivals towards rank 0, and releases back.
//!
//! Cost: 2 ceil(log2 p) rounds, but only 2(p - 1) empty messages in all, against p log2 p of the dissemination: for many members
//! that share cores. No restrictions.

use crate::coll::prelude::*;

pub(super) fn build(b: &mut Builder<'_>) {
    let (p, me) = (b.size, b.me);
    let reach = if me == 0 { p.next_power_of_two() } else { 1 << me.trailing_zeros() };
    let children = || (0..reach.ilog2()).map(|level| me + (1 << level)).filter(|child| *child < p);
    for child in children() {
        b.await_notice(child);
    }
    b.wait();
    if me > 0 {
        b.await_notice(me - reach);
        b.notify(me - reach);
        b.wait();
    }
    for child in children() {
        b.notify(child);
    }
}

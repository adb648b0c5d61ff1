//! How members who share memory tell each other that something lies there: marks that are published, counters of arrivals, and who sleeps until somebody else has published.
//! Nothing here waits.
//!
//! The words are [`sync`](super::sync)'s, so that `engine/tests/loom.rs` runs this very file under every order of its steps.

use super::sync::{
    AtomicU32, AtomicU64, Ordering, in_order, light_fence, write_in_order, write_long_in_order,
};

/// Publishes a mark: whoever sees it sees what this member wrote before. In order with the look for [sleepers](is_awaited) that follows.
#[inline]
pub(crate) fn publish(word: &AtomicU64, mark: u64) {
    write_long_in_order(word, mark);
}

/// As [`publish`], where whoever lies down makes sure that all others see it, and that it sees what they have written before they look: then neither this nor the look needs
/// more than the compiler's order.
#[inline]
pub(crate) fn publish_lightly(word: &AtomicU64, mark: u64) {
    word.store(mark, Ordering::Release);
    light_fence();
}

/// True once exactly this mark is there.
#[inline]
pub(crate) fn shows(word: &AtomicU64, mark: u64) -> bool {
    word.load(Ordering::SeqCst) == mark
}

/// The number that a member was last done with.
#[inline]
pub(crate) fn reached(word: &AtomicU64) -> u64 {
    word.load(Ordering::SeqCst)
}

/// One more has arrived: true for the last of `members`, who sees what all others wrote before they arrived. Nobody arrives again before the last has let all go on.
#[inline]
pub(crate) fn is_last(arrivals: &AtomicU64, members: u64) -> bool {
    (arrivals.fetch_add(1, Ordering::AcqRel) + 1).is_multiple_of(members)
}

/// Whom a member waits for that waits for all others.
pub(crate) const ANYBODY: u32 = u32::MAX;

/// A member that waits says whom it waits for, and looks once more before it sleeps; after the barrier of [`publish_lightly`], where members publish so. Whom it waited for before:
/// none, or one of those for whom it waits now.
pub(crate) fn lie_down(sleepers: &AtomicU32, asleep: &AtomicU32, whom: u32) -> u32 {
    sleepers.fetch_add(1, Ordering::SeqCst);
    let before = asleep.load(Ordering::Relaxed);
    write_in_order(asleep, whom);
    before
}

/// It waits for nobody but those from before.
pub(crate) fn get_up(sleepers: &AtomicU32, asleep: &AtomicU32, before: u32) {
    asleep.store(before, Ordering::Release);
    sleepers.fetch_sub(1, Ordering::Release);
}

/// After something was published: true if anybody sleeps at all, who then may wait for it.
#[inline]
pub(crate) fn anybody_sleeps(sleepers: &AtomicU32) -> bool {
    in_order();
    sleepers.load(Ordering::SeqCst) != 0
}

/// True if the member sleeps until this one has published.
pub(crate) fn is_awaited(asleep: &AtomicU32, by: u32) -> bool {
    let whom = asleep.load(Ordering::SeqCst);
    whom == by || whom == ANYBODY
}

/// A member begins to read what others have named; after that it looks whether that is still offered ([`shows`]).
pub(crate) fn begin_reading(reading: &AtomicU32) {
    write_in_order(reading, 1);
}

/// It has read.
pub(crate) fn end_reading(reading: &AtomicU32) {
    reading.store(0, Ordering::Release);
}

/// Takes back what was published: whoever looks from now on does not find it, and once a member is [seen](reads) not to read, it will not.
pub(crate) fn withdraw(word: &AtomicU64) {
    write_long_in_order(word, 0);
}

pub(crate) fn reads(reading: &AtomicU32) -> bool {
    reading.load(Ordering::SeqCst) != 0
}

/// Takes one of the parts of a transfer, a bit each: true for whoever comes to it first. What it did before is seen by who sees the bit; in order with the look for [sleepers](is_awaited) that may follow.
#[inline]
pub(crate) fn claim(claims: &AtomicU64, part: u64) -> bool {
    let before = claims.fetch_or(part, Ordering::SeqCst);
    in_order();
    before & part == 0
}

/// Two meet here in each step, which has a number of its own: true for the second, who sees what the first wrote before.
#[inline]
pub(crate) fn meets(met: &AtomicU64, step: u64) -> bool {
    met.swap(step, Ordering::AcqRel) == step
}

/// True if the other one of two has been here in this step: then this one need not [come](meets) at all.
#[inline]
pub(crate) fn has_met(met: &AtomicU64, step: u64) -> bool {
    met.load(Ordering::Acquire) == step
}

//! What the members of a window race for, as words that all of them have in memory: locks, who is changing what, and who sleeps. Nothing here waits; an attempt that
//! fails changes nothing.
//!
//! The words are [`sync`](super::sync)'s, so that `engine/tests/loom.rs` runs this very file under every order of its steps.

use super::sync::{AtomicU32, AtomicU64, Ordering, in_order, write_in_order};

/// A member's lock that nobody shares.
const EXCLUSIVE: u64 = 1 << 63;

/// Takes the lock of a member together with others who share it.
pub(crate) fn take_shared(member: &AtomicU64) -> bool {
    add_unless(member, 1, EXCLUSIVE)
}

pub(crate) fn give_shared(member: &AtomicU64) {
    member.fetch_sub(1, Ordering::SeqCst);
}

/// Takes the lock of a member alone; `all` counts those who have locked all members. Whoever wants all says so and looks for members that are locked alone, whoever
/// wants one alone takes it and looks whether somebody has all: one of the two sees the other, and gives back what it has, so that nobody waits for somebody who
/// only wants a lock.
pub(crate) fn take_exclusive(member: &AtomicU64, all: &AtomicU64) -> bool {
    if member.compare_exchange(0, EXCLUSIVE, Ordering::SeqCst, Ordering::Relaxed).is_err() {
        return false;
    }
    in_order();
    let taken = all.load(Ordering::SeqCst) == 0;
    if !taken {
        give_exclusive(member);
    }
    taken
}

pub(crate) fn give_exclusive(member: &AtomicU64) {
    member.store(0, Ordering::Release);
}

/// Takes the lock of all members together with others who share it.
pub(crate) fn take_all<'a>(all: &AtomicU64, mut members: impl Iterator<Item = &'a AtomicU64>) -> bool {
    all.fetch_add(1, Ordering::SeqCst);
    in_order();
    let taken = members.all(|member| member.load(Ordering::SeqCst) & EXCLUSIVE == 0);
    if !taken {
        give_all(all);
    }
    taken
}

pub(crate) fn give_all(all: &AtomicU64) {
    all.fetch_sub(1, Ordering::SeqCst);
}

/// Adds to a word that has none of these bits; false if it has.
fn add_unless(word: &AtomicU64, amount: u64, bits: u64) -> bool {
    // The first guess is right as a rule, and saves a look at a line that another core has.
    let mut now = 0;
    loop {
        match word.compare_exchange(now, now + amount, Ordering::SeqCst, Ordering::Relaxed) {
            Ok(_) => return true,
            Err(found) if found & bits != 0 => return false,
            Err(found) => now = found,
        }
    }
}

/// A member begins to change words of another by atomic operations: false if somebody has that one's lock for accumulates. [`go`] ends it, also after false.
#[inline]
pub(crate) fn come(busy: &AtomicU32, lock: &AtomicU32) -> bool {
    write_in_order(busy, 1);
    lock.load(Ordering::SeqCst) == 0
}

#[inline]
pub(crate) fn go(busy: &AtomicU32) {
    busy.store(0, Ordering::Release);
}

/// Whoever [has](take_alone) the lock for accumulates of a member may change its words by loads and stores once each of the others is gone.
#[inline]
pub(crate) fn is_gone(busy: &AtomicU32) -> bool {
    busy.load(Ordering::SeqCst) == 0
}

/// A member that waits for a word says that it may sleep, and looks at the word once more before it does. Whoever has written a word, [in order](write_in_order),
/// looks whether to [wake](may_sleep) it.
#[inline]
pub(crate) fn lie_down(sleeps: &AtomicU32) {
    write_in_order(sleeps, 1);
}

#[inline]
pub(crate) fn get_up(sleeps: &AtomicU32) {
    sleeps.store(0, Ordering::Release);
}

#[inline]
pub(crate) fn may_sleep(sleeps: &AtomicU32) -> bool {
    sleeps.load(Ordering::SeqCst) != 0
}

/// The states of a desk (see `desk`), in the order in which they follow each other; a desk that was asked at may also be taken again, by whoever asked.
const FREE: u32 = 0;
const TAKEN: u32 = 1;
const ASKED: u32 = 2;
const SERVED: u32 = 3;
const DONE: u32 = 4;

pub(crate) fn take_desk(state: &AtomicU32) -> bool {
    step(state, FREE, TAKEN)
}

pub(crate) fn ask(state: &AtomicU32) {
    state.store(ASKED, Ordering::Release);
}

pub(crate) fn withdraw(state: &AtomicU32) -> bool {
    step(state, ASKED, TAKEN)
}

pub(crate) fn is_done(state: &AtomicU32) -> bool {
    state.load(Ordering::Acquire) == DONE
}

pub(crate) fn leave_desk(state: &AtomicU32) {
    state.store(FREE, Ordering::Release);
}

#[inline]
pub(crate) fn is_asked(state: &AtomicU32) -> bool {
    state.load(Ordering::Relaxed) == ASKED
}

pub(crate) fn begin(state: &AtomicU32) -> bool {
    step(state, ASKED, SERVED)
}

pub(crate) fn finish(state: &AtomicU32) {
    state.store(DONE, Ordering::Release);
}

fn step(state: &AtomicU32, from: u32, to: u32) -> bool {
    state.compare_exchange(from, to, Ordering::Acquire, Ordering::Relaxed).is_ok()
}

/// Takes a lock that one has at a time, before it reads any other word.
#[inline]
pub(crate) fn take_alone(lock: &AtomicU32) -> bool {
    let taken = lock.compare_exchange(0, 1, Ordering::SeqCst, Ordering::Relaxed).is_ok();
    in_order();
    taken
}

#[inline]
pub(crate) fn give_alone(lock: &AtomicU32) {
    lock.store(0, Ordering::Release);
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn locks_that_exclude_each_other_are_not_held_at_once() {
        let (word, other, all) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
        assert!(take_shared(&word) && take_shared(&word));
        assert!(!take_exclusive(&word, &all) && all.load(Ordering::Relaxed) == 0);
        give_shared(&word);
        give_shared(&word);
        assert!(take_exclusive(&word, &all) && take_exclusive(&other, &all));
        assert!(!take_shared(&word) && !take_exclusive(&word, &all));
        let take_all = || take_all(&all, [&word, &other].into_iter());
        assert!(!take_all(), "no lock of all members while one of them is locked exclusively");
        give_exclusive(&word);
        assert!(!take_all() && all.load(Ordering::Relaxed) == 0, "whoever waits holds nothing");
        give_exclusive(&other);
        assert!(take_shared(&other), "locks that are shared do not mind each other");
        assert!(take_all() && take_all());
        give_shared(&other);
        assert!(!take_exclusive(&other, &all));
        assert_eq!(other.load(Ordering::Relaxed), 0, "whoever waits holds nothing");
    }
}

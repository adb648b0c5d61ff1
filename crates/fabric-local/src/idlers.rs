//! Threads that sleep until they are woken, and noticing when nobody is left to do that.
//!
//! `busy` counts the threads that are awake. A thread counts itself out before it sleeps; whoever wakes it counts it in again
//! *before* taking its announcement away, while being awake itself. So the count reaches zero only when every thread
//! sleeps and no wake-up is under way: then none ever will be, and the thread that counted down to zero knows it.
//!
//! **Invariant:** a thread is counted exactly once while it is awake, and at most once too often while somebody wakes it.

use ring::Doorbell;
#[cfg(not(loom))]
use ring::linux::yield_core;
use ring::sync::{AtomicBool, AtomicU8, AtomicUsize, Ordering};
#[cfg(not(loom))]
use ring::waiting::Waiting;

#[cfg(loom)]
use crate::modelled::{Waiting, yield_core};

/// The threads of one job.
pub struct Idlers {
    busy: AtomicUsize,
    /// Whether reaching zero means a stall.
    watched: AtomicBool,
    /// [`STALLED`] and [`ASKED`]: one word, so that a waiter looks at both at the price of one.
    calls: AtomicU8,
}

/// Nobody is awake, so nobody will ever be.
const STALLED: u8 = 1;
/// Somebody outside wants to know what the ranks wait for.
const ASKED: u8 = 2;

impl Idlers {
    /// `threads` threads, all awake. Unless `watched`, a stall is not noticed before [`watch`](Idlers::watch).
    pub fn new(threads: usize, watched: bool) -> Idlers {
        Idlers { busy: AtomicUsize::new(threads), watched: AtomicBool::new(watched), calls: AtomicU8::new(0) }
    }

    /// Sleeps on `bell` unless there is something `pending`. True if this was the last thread awake of a watched job: the
    /// caller then calls [`stall`](Idlers::stall).
    #[cold]
    pub fn sleep(&self, waiting: &Waiting, bell: &Doorbell, pending: impl Fn() -> bool) -> bool {
        let word = waiting.arm(bell);
        if pending() || self.stalled() {
            self.disarm(bell);
            // Whoever waits on although something is pending waits for something else, which others must run for.
            yield_core();
            return false;
        }
        self.sleep_armed(waiting, bell, word)
    }

    /// The second half of [`sleep`](Idlers::sleep), for a thread that has armed `bell` and found nothing.
    #[cold]
    pub fn sleep_armed(&self, waiting: &Waiting, bell: &Doorbell, word: u32) -> bool {
        if self.count_out() {
            return true;
        }
        while bell.is_armed() {
            waiting.sleep(bell, word, None);
        }
        false
    }

    /// As [`sleep_armed`](Idlers::sleep_armed) for `limit_ns` nanoseconds at most: a thread that comes back by itself counts as awake.
    #[cold]
    pub fn doze_armed(&self, waiting: &Waiting, bell: &Doorbell, word: u32, limit_ns: u64) {
        waiting.sleep(bell, word, Some(limit_ns));
        self.disarm(bell);
    }

    /// Sleeps on `bell` for `limit_ns` nanoseconds at most, unless there is something `pending`: false then.
    #[cold]
    pub fn nap(&self, waiting: &Waiting, bell: &Doorbell, limit_ns: u64, pending: impl Fn() -> bool) -> bool {
        let word = waiting.arm(bell);
        let quiet = !pending() && !self.stalled();
        if quiet {
            self.doze_armed(waiting, bell, word, limit_ns);
        } else {
            self.disarm(bell);
        }
        quiet
    }

    /// Takes an announcement back that was not slept on, by a thread that is counted.
    #[cold]
    pub fn disarm(&self, bell: &Doorbell) {
        if !bell.clear() {
            // Somebody who took this thread for asleep has counted it in once more.
            self.busy.fetch_sub(1, Ordering::SeqCst);
        }
    }

    /// To be called by a thread of the job after it has published something for the owner of `bell`; or during a
    /// [visit](Idlers::visit), to make the owner look up.
    #[inline(always)]
    pub fn wake(&self, waiting: &Waiting, bell: &Doorbell) {
        if waiting.finds_asleep(bell) {
            self.wake_sleeper(waiting, bell);
        }
    }

    #[cold]
    fn wake_sleeper(&self, waiting: &Waiting, bell: &Doorbell) {
        self.busy.fetch_add(1, Ordering::SeqCst);
        if bell.clear() {
            waiting.wake(bell);
        } else {
            self.busy.fetch_sub(1, Ordering::SeqCst);
        }
    }

    /// Lets somebody `wake` threads who is none of them. Awake in their sense meanwhile: otherwise the last of them could fall asleep
    /// while a wake-up is under way, and so take the wait of the others for a stall, or not notice one. True as for
    /// [`sleep`](Idlers::sleep).
    #[cold]
    pub fn visit(&self, wake: impl FnOnce()) -> bool {
        self.busy.fetch_add(1, Ordering::SeqCst);
        wake();
        self.count_out()
    }

    /// Counts a thread out that ends. True as for [`sleep`](Idlers::sleep).
    pub fn depart(&self) -> bool {
        self.count_out()
    }

    /// From now on a stall is noticed.
    pub fn watch(&self) {
        self.watched.store(true, Ordering::SeqCst);
    }

    /// Wakes all sleepers and tells them that they wait in vain.
    pub fn stall<'b>(&self, waiting: &Waiting, bells: impl Iterator<Item = &'b Doorbell>) {
        self.calls.fetch_or(STALLED, Ordering::SeqCst);
        bells.filter(|bell| bell.clear()).for_each(|bell| waiting.wake(bell));
    }

    /// True once the job has stalled.
    #[inline(always)]
    pub fn stalled(&self) -> bool {
        self.calls.load(Ordering::Relaxed) & STALLED != 0
    }

    /// True once the job has stalled, and while somebody asks.
    #[inline(always)]
    pub fn called(&self) -> bool {
        self.calls.load(Ordering::Relaxed) != 0
    }

    /// Somebody asks, or no longer does.
    pub fn ask(&self, asks: bool) {
        if asks {
            self.calls.fetch_or(ASKED, Ordering::SeqCst);
        } else {
            self.calls.fetch_and(!ASKED, Ordering::SeqCst);
        }
    }

    /// How many threads are awake.
    #[cfg(loom)]
    pub fn awake(&self) -> usize {
        self.busy.load(Ordering::SeqCst)
    }

    fn count_out(&self) -> bool {
        self.busy.fetch_sub(1, Ordering::SeqCst) == 1 && self.watched.load(Ordering::SeqCst)
    }
}

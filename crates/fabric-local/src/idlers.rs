//! Threads that sleep until they are woken, and noticing when nobody is left to do that.
//!
//! `busy` counts the threads that are awake. A thread counts itself out before it sleeps; whoever wakes it counts it in again
//! *before* taking its announcement away, while being awake itself. So the count reaches zero only when every thread
//! sleeps and no wake-up is under way: then none ever will be, and the thread that counted down to zero knows it.
//!
//! **Invariant:** a thread is counted exactly once while it is awake, and at most once too often while somebody wakes it.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use ring::Doorbell;
use ring::linux::yield_core;
use ring::waiting::Waiting;

/// The threads of one job.
pub(crate) struct Idlers {
    busy: AtomicUsize,
    /// Whether reaching zero means a stall.
    watched: AtomicBool,
    stalled: AtomicBool,
}

impl Idlers {
    /// `threads` threads, all awake. Unless `watched`, a stall is not noticed before [`watch`](Idlers::watch).
    pub(crate) fn new(threads: usize, watched: bool) -> Idlers {
        Idlers {
            busy: AtomicUsize::new(threads),
            watched: AtomicBool::new(watched),
            stalled: AtomicBool::new(false),
        }
    }

    /// Sleeps on `bell` unless there is something `pending`. True if this was the last thread awake of a watched job: the
    /// caller then calls [`stall`](Idlers::stall).
    #[cold]
    pub(crate) fn sleep(&self, waiting: &Waiting, bell: &Doorbell, pending: impl Fn() -> bool) -> bool {
        let word = waiting.arm(bell);
        if pending() || self.stalled() {
            if !bell.clear() {
                // Somebody who took this thread for asleep has counted it in once more.
                self.busy.fetch_sub(1, Ordering::SeqCst);
            }
            // Whoever waits on although something is pending waits for something else, which others must run for.
            yield_core();
            return false;
        }
        if self.count_out() {
            return true;
        }
        while bell.is_armed() {
            waiting.sleep(bell, word);
        }
        false
    }

    /// To be called by a thread of the job after it has published something for the owner of `bell`.
    #[inline(always)]
    pub(crate) fn wake(&self, waiting: &Waiting, bell: &Doorbell) {
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

    /// Counts a thread out that ends. True as for [`sleep`](Idlers::sleep).
    pub(crate) fn depart(&self) -> bool {
        self.count_out()
    }

    /// From now on a stall is noticed.
    pub(crate) fn watch(&self) {
        self.watched.store(true, Ordering::SeqCst);
    }

    /// Wakes all sleepers and tells them that they wait in vain.
    pub(crate) fn stall<'b>(&self, waiting: &Waiting, bells: impl Iterator<Item = &'b Doorbell>) {
        self.stalled.store(true, Ordering::SeqCst);
        bells.filter(|bell| bell.clear()).for_each(|bell| waiting.wake(bell));
    }

    /// True once the job has stalled.
    #[inline(always)]
    pub(crate) fn stalled(&self) -> bool {
        self.stalled.load(Ordering::Relaxed)
    }

    fn count_out(&self) -> bool {
        self.busy.fetch_sub(1, Ordering::SeqCst) == 1 && self.watched.load(Ordering::SeqCst)
    }
}

//! Which parked fiber is woken by whom: the part of a [crew](crate::crew) that its threads race for.
//!
//! ```text
//!   fiber, parking:            parked = true, barrier, look once more
//!   post on the same worker:   parked?  -> parked = false, ready                            (no atomic read-modify-write)
//!   post from another thread:  barrier, parked?  -> notified.swap(true) was false?  -> into the worker's inbox, wake the worker
//!   worker, before each fiber: inbox -> for each: notified = false; parked? -> parked = false, ready
//! ```
//!
//! **Invariants.**
//! * `parked` of a fiber is written by its worker's thread only.
//! * A fiber is in the inbox at most once: who sets `notified` puts it there, who takes it out clears `notified` first.
//! * No wake-up is lost: a fiber sets `parked`, passes a barrier and looks once more; a remote poster publishes, passes a barrier
//!   and looks at `parked`. If the poster finds `notified` set, the worker has yet to clear it, and after that the fiber runs.
//!
//! Both barriers are fences; or, where fibers have a core each and hardly ever park, the parking fiber runs a heavy one that acts on the posters' cores too, and
//! theirs is the compiler's alone (see [`ring::doorbell`], where ranks that are processes or threads do the same).

use ring::sync::{AtomicBool, AtomicU32, Ordering, compiler_fence, fence};

/// One fiber, as those who wake it see it.
pub struct Sleeper {
    parked: AtomicBool,
    notified: AtomicBool,
    /// The entry below in the inbox, while in it.
    below: AtomicU32,
}

impl Sleeper {
    /// A fiber that is not parked.
    pub fn awake() -> Sleeper {
        Sleeper { parked: AtomicBool::new(false), notified: AtomicBool::new(false), below: AtomicU32::new(0) }
    }

    /// Marks the fiber as parked, unless something has come for it meanwhile, which only another thread can have done: there is
    /// nothing to look for, and no `barrier`, if its worker is the only one. On the worker's thread only.
    #[inline(always)]
    pub fn parks(&self, barrier: Option<impl FnOnce()>, pending: impl FnOnce() -> bool) -> bool {
        self.parked.store(true, Ordering::Relaxed);
        if let Some(barrier) = barrier {
            barrier();
            if pending() {
                self.parked.store(false, Ordering::Relaxed);
                return false;
            }
        }
        true
    }

    /// True if the fiber is parked. On the worker's thread only.
    #[inline(always)]
    pub fn is_parked(&self) -> bool {
        self.parked.load(Ordering::Relaxed)
    }

    /// True if the fiber was parked: it no longer is, and the caller makes it ready. On the worker's thread only.
    #[inline(always)]
    pub fn unparks(&self) -> bool {
        let parked = self.is_parked();
        if parked {
            self.parked.store(false, Ordering::Relaxed);
        }
        parked
    }

    /// **Another thread**, after it has published something: true if the fiber is parked. `light` says that it parks by a heavy barrier, which reaches the caller.
    #[inline(always)]
    pub fn seems_parked(&self, light: bool) -> bool {
        if light {
            compiler_fence(Ordering::SeqCst);
        } else {
            fence(Ordering::SeqCst);
        }
        self.parked.load(Ordering::Relaxed)
    }

    /// The same: true if the caller must [put](Inbox::put) the fiber in the inbox of its worker and wake that.
    #[inline(always)]
    pub fn needs_notice(&self, light: bool) -> bool {
        self.seems_parked(light) && !self.notified.swap(true, Ordering::AcqRel)
    }
}

/// The fibers of one worker that other threads have something for: a stack, linked through [`Sleeper::below`].
pub struct Inbox {
    /// The rank on top, plus one; 0 if it is empty.
    top: AtomicU32,
}

impl Inbox {
    /// Nobody is in it.
    pub fn new() -> Inbox {
        Inbox { top: AtomicU32::new(0) }
    }

    /// Puts `rank` on top, which [needs notice](Sleeper::needs_notice).
    #[inline(always)]
    pub fn put(&self, rank: u32, sleeper: &Sleeper) {
        let mut top = self.top.load(Ordering::Relaxed);
        loop {
            sleeper.below.store(top, Ordering::Relaxed);
            match self.top.compare_exchange_weak(top, rank + 1, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => break,
                Err(now) => top = now,
            }
        }
    }

    /// True if nobody is in it.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.top.load(Ordering::Relaxed) == 0
    }

    /// Empties it and hands those to `ready` that were parked. What came last comes first: order among fibers of different posters is
    /// nobody's right. On the worker's thread only.
    #[inline(always)]
    pub fn take<'s>(&self, sleeper: impl Fn(u32) -> &'s Sleeper, mut ready: impl FnMut(u32)) {
        let mut entry = self.top.swap(0, Ordering::Acquire);
        while entry != 0 {
            let rank = entry - 1;
            let sleeper = sleeper(rank);
            // Read before `notified` falls: from then on a poster may link the sleeper anew.
            entry = sleeper.below.load(Ordering::Relaxed);
            sleeper.notified.swap(false, Ordering::AcqRel);
            if sleeper.unparks() {
                ready(rank);
            }
        }
    }
}

impl Default for Inbox {
    fn default() -> Inbox {
        Inbox::new()
    }
}

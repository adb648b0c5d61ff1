//! How long a waiter with a core of its own spins before it sleeps: by the clock, up to a limit, and as its last waits teach.
//!
//! To be woken costs some 10 us and slows the sender down; to spin costs nobody anything while nobody else wants the core. So a waiter
//! spins through all waits that end within its limit, and sleeps in those that do not. What it learns keeps this from hurting others:
//!
//! * **Another rank of the job sits on the same core**, as far as is known: the waiter then yields when the wait has lasted for 50 us, twice that, and so on. If
//!   waits end in a yield, again and again, it is the awaited one: the waiter loses its patience and yields almost at once. It finds it again when
//!   a wait ends by spinning after all, when yielding did not help either, or for one wait in [`PROBE_EVERY`], to see whether things have changed.
//! * **Other threads of the process want the core**, because it has more of them than cores. The waiter
//!   yields at each look at the clock, and loses its patience at the first.
//! * **Another program wants the core.** To yield would be to lose it for a time slice, while the kernel shares it fairly anyway; so the waiter does not. To be
//!   without the core shows as a gap between two looks at the clock, or as a yield that comes back late. The waiter then sleeps; after two such waits in a row it
//!   sleeps early for a while.
//! * **Waits are long.** Spinning is in vain. After [`STRIKES`] of them the waiter sleeps early, until a wait is over within the limit.
//!
//! **Invariant:** patience changes only how soon a waiter yields and sleeps, never whether it notices a letter.

use core::cell::Cell;
use core::hint;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Rounds of a wait before the waiter looks at the clock, and uses `pause`: the answer of a peer that is awake comes sooner than one `pause`
/// (some 140 cycles on recent x86 cores) would let it be noticed.
const EAGER: u32 = 512;

/// The same of a waiter without patience: about the time that a peer needs which is just about to answer.
const IMPATIENT: u32 = 16;

/// Yields of an impatient waiter before it sleeps: with the peer on the same core each is a turn for it.
const IMPATIENT_YIELDS: u32 = 64;

/// Rounds from one look at the clock to the next: about a microsecond.
const CLOCK_EVERY: u32 = 16;

/// For how long a waiter spins before its first yield, and for how long one that sleeps early. The next yields come when the wait has
/// lasted twice as long, and so on.
const EARLY_NS: u64 = 50_000;

/// A yield that takes longer has let somebody run, for more than an answer; and so has a gap between two looks at the clock.
const LATE_NS: u64 = 100_000;

/// Waits in a row that must end in the same way before something is learnt: an occasional late answer proves nothing.
const STRIKES: u32 = 4;

/// The same for waits that lost the core, each of which costs a time slice.
const LOSSES: u32 = 2;

/// Waits that sleep early when the core was lost.
const EARLY_WAITS: u32 = 64;

/// One wait in so many is patient although the peer sits on the same core: at 50 us a time it costs 0.2 us a message.
const PROBE_EVERY: u32 = 256;

/// The limit by default. A waiter that waits for seconds spins it away once, which is nothing; ranks that wait for each other in every step of
/// a simulation mostly find each other within it.
pub const LIMIT_NS: u64 = 4_000_000;

/// How a rank waits that has nothing to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Manner {
    /// It never sleeps.
    Spin,
    /// It spins while that is worth it, for so many nanoseconds at most, then sleeps.
    Adaptive(u64),
    /// It sleeps as soon as it finds nothing.
    Sleep,
}

impl Default for Manner {
    fn default() -> Manner {
        Manner::Adaptive(LIMIT_NS)
    }
}

/// The core that a waiter runs on.
pub trait Ground {
    /// The time, in nanoseconds.
    fn now_ns(&self) -> u64;

    /// Lets another thread that wants the core have it.
    fn give_away(&self);

    /// True if another rank of the job was last seen on it.
    fn is_shared(&self) -> bool;

    /// True if the waiter's process has more threads than cores.
    fn is_crowded(&self) -> bool;
}

/// The patience of one waiter.
#[derive(Debug)]
pub struct Patience {
    limit_ns: u64,
    /// Rounds of the current kind of wait that need no thought.
    eager: Cell<u32>,
    /// The last round of the current wait.
    round: Cell<u32>,
    /// When the clock was first looked at in it, and when last; zero if it was not. One who [wakes](Patience::wakes) may look at the first while another thread waits in its place.
    begun: AtomicU64,
    looked: Cell<u64>,
    /// How long it lasts when the waiter yields next.
    next_yield: Cell<u64>,
    /// For how long it spins.
    spin_ns: Cell<u64>,
    /// The round of the last yield.
    yielded: Cell<u32>,
    /// It is to sleep.
    over: Cell<bool>,
    /// It was without the core.
    lost: Cell<bool>,
    /// It was longer than the limit, as one who wakes has found.
    overlong: AtomicBool,
    /// Waits in a row that ended in a yield, that lost the core, and that were longer than the limit.
    strikes: Cell<u32>,
    losses: Cell<u32>,
    long: Cell<u32>,
    /// Waits to come that sleep early because of losses.
    early: Cell<u32>,
    /// Waits that were not over at once.
    waits: Cell<u32>,
}

/// No round of a wait.
const NEVER: u32 = u32::MAX - 1;

impl Patience {
    /// A waiter that spins for so many nanoseconds at most, and has learnt nothing yet.
    pub const fn new(limit_ns: u64) -> Patience {
        Patience {
            limit_ns,
            eager: Cell::new(if limit_ns == 0 { IMPATIENT } else { EAGER }),
            round: Cell::new(0),
            begun: AtomicU64::new(0),
            looked: Cell::new(0),
            next_yield: Cell::new(EARLY_NS),
            spin_ns: Cell::new(limit_ns),
            yielded: Cell::new(NEVER),
            over: Cell::new(false),
            lost: Cell::new(false),
            overlong: AtomicBool::new(false),
            strikes: Cell::new(0),
            losses: Cell::new(0),
            long: Cell::new(0),
            early: Cell::new(0),
            waits: Cell::new(0),
        }
    }

    /// Spends a round of a wait with spinning, or by a yield; false if the waiter should sleep.
    #[inline(always)]
    pub fn lasts(&self, round: u32, ground: &impl Ground) -> bool {
        if round == 0 {
            self.judge();
        }
        self.round.set(round);
        round < self.eager.get() || self.lasts_on(round, ground)
    }

    /// The round with which a wait goes on whose patience is over; zero if it was not: then another begins.
    pub fn rounds_spent(&self) -> u32 {
        if self.over.get() { self.round.get().saturating_add(1) } else { 0 }
    }

    #[cold]
    fn lasts_on(&self, round: u32, ground: &impl Ground) -> bool {
        // Whoever counts no rounds does not want to spin.
        if self.over.get() || round == u32::MAX {
            return false;
        }
        if self.eager.get() == IMPATIENT {
            let yields = round < IMPATIENT + IMPATIENT_YIELDS && self.limit_ns > 0;
            if yields {
                self.yielded.set(round);
                ground.give_away();
            }
            self.over.set(!yields);
            return yields;
        }
        if self.begun.load(Ordering::Relaxed) == 0 || round.is_multiple_of(CLOCK_EVERY) {
            self.look(round, ground);
        }
        hint::spin_loop();
        !self.over.get()
    }

    /// Looks at the clock: is it time to yield, or to sleep?
    #[inline(never)]
    fn look(&self, round: u32, ground: &impl Ground) {
        let now = ground.now_ns();
        if self.begun.load(Ordering::Relaxed) == 0 {
            self.begun.store(now, Ordering::Relaxed);
            self.looked.set(now);
        }
        let before = self.looked.replace(now);
        let lasted = now.saturating_sub(self.begun.load(Ordering::Relaxed));
        let yields = lasted > self.next_yield.get();
        if yields {
            self.next_yield.set(2 * lasted);
        }
        let is_crowded = ground.is_crowded();
        if is_crowded {
            self.strikes.set(self.strikes.get().max(STRIKES));
        }
        if is_crowded || yields && ground.is_shared() {
            self.yielded.set(round);
            ground.give_away();
            self.looked.set(ground.now_ns());
        }
        // That a thread of the same process has run meanwhile is what the yield was for.
        let gap = now.saturating_sub(before).max(self.looked.get().saturating_sub(now));
        self.lost.set(gap > LATE_NS && !is_crowded);
        self.over.set(self.lost.get() || lasted > self.spin_ns.get());
    }

    /// The waiter has slept, and is awake. Of several threads that wait in turn, another may wait by now: then its wait may be taken for this one's, which costs a judgement at most.
    #[cold]
    pub fn wakes(&self, ground: &impl Ground) {
        let begun = self.begun.load(Ordering::Relaxed);
        if begun != 0 {
            let lasted = ground.now_ns().saturating_sub(begun);
            self.overlong.store(lasted > self.limit_ns, Ordering::Relaxed);
        }
    }

    /// A new wait begins: what did the last one teach?
    #[inline]
    fn judge(&self) {
        if self.round.get() < self.eager.get() {
            // It was over at once, as most are; short of that nothing is to be changed.
            if self.strikes.get() != 0 {
                self.find_patience();
            }
        } else {
            self.judge_long();
        }
    }

    fn find_patience(&self) {
        self.strikes.set(0);
        self.eager.set(if self.limit_ns == 0 { IMPATIENT } else { EAGER });
    }

    #[cold]
    fn judge_long(&self) {
        let in_yield = self.yielded.replace(NEVER) == self.round.get() && !self.over.get();
        let (lost, overlong) = (self.lost.replace(false), self.overlong.load(Ordering::Relaxed));
        self.overlong.store(false, Ordering::Relaxed);
        let waits = self.waits.get().wrapping_add(1);
        self.waits.set(waits);
        if in_yield {
            self.strikes.set(self.strikes.get().saturating_add(1));
            let probe = waits.is_multiple_of(PROBE_EVERY);
            self.eager.set(if self.strikes.get() < STRIKES || probe { EAGER } else { IMPATIENT });
        } else {
            self.find_patience();
        }
        self.long.set(if overlong { self.long.get().saturating_add(1) } else { 0 });
        if self.early.get() > 0 {
            // Such a wait tells nothing of the core. After the last of them the first loss counts as the second.
            self.early.set(self.early.get() - 1);
        } else {
            self.losses.set(if lost { self.losses.get() + 1 } else { 0 });
            if self.losses.get() >= LOSSES {
                self.losses.set(LOSSES - 1);
                self.early.set(EARLY_WAITS);
            }
        }
        let early = self.early.get() > 0 || self.long.get() >= STRIKES;
        self.spin_ns.set(if early { EARLY_NS.min(self.limit_ns) } else { self.limit_ns });
        self.next_yield.set(if early { u64::MAX } else { EARLY_NS });
        self.begun.store(0, Ordering::Relaxed);
        self.over.set(false);
    }
}

#[cfg(test)]
#[path = "patience_tests.rs"]
mod tests;

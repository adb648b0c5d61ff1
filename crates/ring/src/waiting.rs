//! When a waiting rank of a host spins, yields and sleeps.
//!
//! Decided from the number of ranks and of the cores they share: with a core for every rank, spinning gives the best latency; with
//! fewer, it keeps the awaited rank from running. How long it is worth spinning is [learnt](crate::patience).
//!
//! **Invariant:** a rank sleeps only on its own doorbell, and only after it has announced that, run the barrier that the
//! doorbell asks for, and looked for work once more.

use fabric::{Idle, Woke};

use crate::doorbell::Doorbell;
use crate::linux::{HeavyBarrier, Sharing, futex_wait, futex_wake, yield_core};
use crate::patience::Patience;
use crate::sync::{Ordering, fence};

/// Empty rounds before a waiter with a core of its own uses `pause`: the answer of a peer that is awake comes sooner than
/// one `pause` (some 140 cycles on recent x86 cores) would let it be noticed.
const EAGER_ROUNDS: u32 = 512;

/// Yields before a waiter that shares its core sleeps. Few: each one delays the rank that has something to do.
const CROWDED_YIELD_ROUNDS: u32 = 2;

/// A waiter that only yields, because nobody would wake it, looks up once in so many rounds: tens of microseconds where its core is
/// its own, and a second where ten others want it.
const LOOK_EVERY: u32 = 1 << 6;

/// How one rank (or one worker thread) waits and wakes others.
#[derive(Clone, Copy, Debug)]
pub struct Waiting {
    /// Every waiter has a core of its own.
    roomy: bool,
    sharing: Sharing,
    /// The heavy barriers of sleepers reach this process: its posts need no fence where the receiver has promised one.
    registered: bool,
    /// The heavy barrier that this waiter runs before it sleeps; a fence if there is none.
    heavy: Option<HeavyBarrier>,
    /// The same for sleeps until a ring has room, which are rare enough wherever it runs; it does not sleep so if there is none.
    for_room: Option<HeavyBarrier>,
}

impl Waiting {
    /// Every rank has a core of its own.
    pub fn is_roomy(&self) -> bool {
        self.roomy
    }

    /// For one of `ranks` waiters on `cores` cores, which sleeps on `bell`. All of them register for heavy barriers, if the
    /// kernel lets them. Only those with a core of their own promise to run them: the others sleep so often that an
    /// interrupt on every core each time would cost more than the posters' fences.
    pub fn new(ranks: usize, cores: usize, sharing: Sharing, bell: &Doorbell) -> Waiting {
        let registration = HeavyBarrier::register(sharing);
        let roomy = ranks <= cores;
        let heavy = registration.filter(|_| roomy);
        if heavy.is_some() {
            bell.promise_heavy_barrier();
        }
        Waiting { roomy, sharing, registered: registration.is_some(), heavy, for_room: registration }
    }

    /// Makes the promise of [`new`](Waiting::new) at another doorbell that this waiter sleeps on.
    pub fn promise_on(&self, bell: &Doorbell) {
        if self.heavy.is_some() {
            bell.promise_heavy_barrier();
        }
    }

    /// For waiters that never promise heavy barriers, because they sleep often or are posted to rarely.
    pub const fn fenced(roomy: bool, sharing: Sharing) -> Waiting {
        Waiting { roomy, sharing, registered: false, heavy: None, for_room: None }
    }

    /// Spends the first rounds of a wait. `None` when it is time to sleep.
    #[inline(always)]
    pub fn bides(&self, patience: &Patience, rounds: u32, idle: Idle) -> Option<Woke> {
        if self.roomy && patience.spins(rounds) {
            if rounds >= EAGER_ROUNDS {
                core::hint::spin_loop();
            }
            return Some(Woke::Again);
        }
        self.yields(patience, rounds, idle)
    }

    #[cold]
    fn yields(&self, patience: &Patience, rounds: u32, idle: Idle) -> Option<Woke> {
        let early = if self.roomy { patience.yields(rounds) } else { rounds < CROWDED_YIELD_ROUNDS };
        let yields = early || idle == Idle::Briefly;
        if !yields {
            return None;
        }
        yield_core();
        Some(if rounds % LOOK_EVERY == LOOK_EVERY - 1 { Woke::Look } else { Woke::Again })
    }

    /// Announces sleep on `bell` (see [`Doorbell::arm`]).
    pub fn arm(&self, bell: &Doorbell) -> u32 {
        bell.arm(|| match self.heavy {
            Some(heavy) => heavy.run(),
            None => fence(Ordering::SeqCst),
        })
    }

    /// Sleeps on `bell`, which was armed and had this `word`, for `limit_ns` nanoseconds at most if there is a limit. True if
    /// that has passed; otherwise it may return without cause.
    pub fn sleep(&self, bell: &Doorbell, word: u32, limit_ns: Option<u64>) -> bool {
        futex_wait(bell.word(), word, self.sharing, limit_ns)
    }

    /// After [`arm`](Waiting::arm): makes sure that receivers, who run no barrier of their own, see what this waiter has
    /// [asked](crate::ring::Ring::ask_for_room) of them before, unless it sees the room that they have made. False if that cannot be had.
    #[cold]
    pub fn is_seen_by_receivers(&self) -> bool {
        if let (None, Some(barrier)) = (self.heavy, self.for_room) {
            barrier.run();
        }
        self.for_room.is_some()
    }

    /// Runs the heavy barrier, if there is one: it reaches all who have [registered](Waiting::new).
    #[cold]
    pub fn fence_all(&self) -> bool {
        if let Some(barrier) = self.for_room {
            barrier.run();
        }
        self.for_room.is_some()
    }

    /// True if the owner of `bell` sleeps (see [`Doorbell::finds_asleep`]).
    #[inline(always)]
    pub fn finds_asleep(&self, bell: &Doorbell) -> bool {
        bell.finds_asleep(self.registered)
    }

    /// Wakes the owner of `bell`, whose announcement the caller has cleared.
    #[cold]
    pub fn wake(&self, bell: &Doorbell) {
        futex_wake(bell.word(), self.sharing);
    }
}

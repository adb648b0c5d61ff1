//! When a waiting rank of a host spins, yields and sleeps.
//!
//! Decided from the number of ranks and of the cores they share: with a core for every rank, spinning gives the best latency; with
//! fewer, it keeps the awaited rank from running. How long it is worth spinning is [learnt](crate::patience), unless the user
//! [says](Manner) what to do.
//!
//! **Invariant:** a rank sleeps only on its own doorbell, and only after it has announced that, run the barrier that the
//! doorbell asks for, and looked for work once more.

use core::hint::spin_loop;

use fabric::{Idle, Woke};

use crate::doorbell::Doorbell;
use crate::linux::{HeavyBarrier, Sharing, futex_wait, futex_wake, yield_core};
use crate::patience::{Ground, LIMIT_NS, Manner, Patience};
use crate::sync::{Ordering, fence};

/// Yields before a waiter that shares its core sleeps. Few: each one delays the rank that has something to do.
const CROWDED_YIELD_ROUNDS: u32 = 2;

/// A waiter that only yields, because nobody would wake it, looks up once in so many rounds: tens of microseconds where its core is
/// its own, and a second where ten others want it.
const LOOK_EVERY: u32 = 1 << 6;

/// The same for one that only spins: some milliseconds.
const SPINS_A_LOOK: u32 = 1 << 16;

/// How one rank (or one worker thread) waits and wakes others.
#[derive(Clone, Copy, Debug)]
pub struct Waiting {
    /// Every waiter has a core of its own.
    roomy: bool,
    /// The cores that threads of this waiter's process may count on.
    cores: u32,
    manner: Manner,
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

    /// The cores that threads of this waiter's process may count on.
    pub fn cores_of_process(&self) -> u32 {
        self.cores
    }

    /// For one of `ranks` waiters on `cores` cores, which sleeps on `bell`. All of them register for heavy barriers, if the
    /// kernel lets them. Only those with a core of their own promise to run them: the others, and those who are told to, sleep so often
    /// that an interrupt on every core each time would cost more than the posters' fences.
    pub fn new(ranks: usize, cores: usize, manner: Manner, sharing: Sharing, bell: &Doorbell) -> Waiting {
        let registration = HeavyBarrier::register(sharing);
        let roomy = ranks <= cores;
        let heavy = registration.filter(|_| roomy && manner != Manner::Sleep);
        if heavy.is_some() {
            bell.promise_heavy_barrier();
        }
        let cores = match sharing {
            Sharing::Processes => cores / ranks.max(1),
            Sharing::Threads => cores,
        };
        let cores = u32::try_from(cores).unwrap_or(u32::MAX).max(1);
        let registered = registration.is_some();
        Waiting { roomy, cores, manner, sharing, registered, heavy, for_room: registration }
    }

    /// Makes the promise of [`new`](Waiting::new) at another doorbell that this waiter sleeps on.
    pub fn promise_on(&self, bell: &Doorbell) {
        if self.heavy.is_some() {
            bell.promise_heavy_barrier();
        }
    }

    /// For waiters that never promise heavy barriers, because they sleep often or are posted to rarely.
    pub const fn fenced(roomy: bool, manner: Manner, sharing: Sharing) -> Waiting {
        let cores = u32::MAX;
        Waiting { roomy, cores, manner, sharing, registered: false, heavy: None, for_room: None }
    }

    /// For those who wake others and never wait themselves.
    pub const fn waker(sharing: Sharing) -> Waiting {
        Waiting::fenced(false, Manner::Sleep, sharing)
    }

    /// The patience of a waiter that begins.
    pub const fn patience(&self) -> Patience {
        Patience::new(match self.manner {
            Manner::Adaptive(limit_ns) => limit_ns,
            Manner::Spin => LIMIT_NS,
            Manner::Sleep => 0,
        })
    }

    /// Spends the first rounds of a wait. `None` when it is time to sleep.
    #[inline(always)]
    pub fn bides(&self, patience: &Patience, ground: &impl Ground, rounds: u32, idle: Idle) -> Option<Woke> {
        if self.spins(patience, ground, rounds) {
            return Some(Woke::Again);
        }
        self.yields(rounds, idle)
    }

    /// Spends a round by spinning, as patience lasts where there is a core for that.
    #[inline(always)]
    pub fn spins(&self, patience: &Patience, ground: &impl Ground, rounds: u32) -> bool {
        self.roomy && patience.lasts(rounds, ground)
    }

    /// Spends a round after those: yields, unless it is time to sleep.
    #[cold]
    pub fn yields(&self, rounds: u32, idle: Idle) -> Option<Woke> {
        let every = if self.roomy && self.manner == Manner::Spin {
            spin_loop();
            SPINS_A_LOOK
        } else {
            let early = !self.roomy && rounds < CROWDED_YIELD_ROUNDS;
            if !(early || idle == Idle::Briefly || self.manner == Manner::Spin) {
                return None;
            }
            yield_core();
            LOOK_EVERY
        };
        Some(if rounds % every == every - 1 { Woke::Look } else { Woke::Again })
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

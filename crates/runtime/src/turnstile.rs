//! Threads of one rank taking turns (MPI_THREAD_MULTIPLE).
//!
//! One thread at a time is *inside*: it uses the rank. A thread that has to wait there gives its turn up meanwhile:
//!
//! ```text
//!            enter                         leave
//!   outside ───────► inside ─────────────────────► outside
//!                     │  ▲
//!          has to wait│  │what it waits for may have come
//!                     ▼  │
//!                   waiting:  one thread *minds* the fabric, and sleeps there; the others sleep until somebody stirs
//! ```
//!
//! Invariants: only who is inside touches the rank, but for the sleep of the one who minds, which reads nothing but the fabric's doorbell. Whoever
//! moves something on stirs: all who wait look again. When the one who minds goes outside, the others are stirred, so that one of
//! them minds next.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};

use engine::Gate;
use fabric::{Alarm, Fabric, Idle, Woke};
use ring::linux::{Sharing, futex_wait, futex_wake, futex_wake_all, yield_core};

/// Nobody is inside.
const FREE: u32 = 0;
/// Somebody is.
const TAKEN: u32 = 1;
/// Somebody is, and others want to be.
const WANTED: u32 = 2;

/// Looks at a taken turnstile before a thread sleeps in front of it: a call that does not wait takes less.
const LOOKS: u32 = 200;

/// How long the turnstile is open in each round of a wait, in spins.
const OPEN_SPINS: u32 = 8;

/// How long a waiting thread sleeps that nobody stirs.
const NAP_NS: u64 = 100_000_000;

/// Where the threads of a rank take turns.
#[derive(Default)]
pub struct Turnstile {
    word: AtomicU32,
    /// The thread that is inside, and how many calls deep: callbacks of the program may call.
    owner: AtomicUsize,
    depth: AtomicU32,
    /// Times that somebody has come in: so a thread that makes way sees that another has come.
    entries: AtomicU32,
    /// The thread that minds the fabric; 0 for none.
    minding: AtomicUsize,
    /// It sleeps there.
    asleep: AtomicBool,
    /// Counts stirs.
    stirs: AtomicU32,
    /// Threads that sleep until the next one.
    sleepers: AtomicU32,
    /// The thread that does nothing but mind; 0 for none.
    agent: AtomicUsize,
    /// The thread that came in last, and whether it was ever another.
    latest: AtomicUsize,
    shared: AtomicBool,
}

/// A number of the calling thread that no other has while it lives.
#[inline(always)]
fn me() -> usize {
    // SAFETY: no arguments; the result is this thread's.
    unsafe { libc::__errno_location() }.addr()
}

impl Turnstile {
    /// The calling thread comes in, as soon as nobody else is inside.
    #[inline]
    pub fn enter(&self) {
        let me = me();
        if self.owner.load(Ordering::Relaxed) == me {
            self.depth.store(self.depth.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        } else {
            self.take(me, 1);
        }
    }

    /// As [`enter`](Turnstile::enter) where one thread at a time has promised to call: false if another is inside.
    pub fn try_enter(&self) -> bool {
        let me = me();
        if self.owner.load(Ordering::Relaxed) == me {
            self.enter();
            return true;
        }
        let free = self.word.compare_exchange(FREE, TAKEN, Ordering::Acquire, Ordering::Relaxed).is_ok();
        if free {
            self.settle(me, 1);
        }
        free
    }

    /// The calling thread leaves, unless it is in an inner call.
    #[inline]
    pub fn leave(&self) {
        let depth = self.depth.load(Ordering::Relaxed) - 1;
        self.depth.store(depth, Ordering::Relaxed);
        if depth > 0 {
            return;
        }
        if self.minding.load(Ordering::Relaxed) == me() {
            self.minding.store(0, Ordering::Relaxed);
            self.call_sleepers();
        }
        self.give();
    }

    /// The calling thread does nothing but wait: it minds the fabric whenever no other does, and never spins.
    pub fn serve(&self) {
        self.agent.store(me(), Ordering::Relaxed);
    }

    #[inline]
    fn take(&self, me: usize, depth: u32) {
        if self.word.compare_exchange(FREE, TAKEN, Ordering::Acquire, Ordering::Relaxed).is_err() {
            self.queue();
        }
        self.settle(me, depth);
    }

    /// This thread is inside now.
    #[inline]
    fn settle(&self, me: usize, depth: u32) {
        self.owner.store(me, Ordering::Relaxed);
        self.depth.store(depth, Ordering::Relaxed);
        if self.latest.load(Ordering::Relaxed) != me {
            self.shared.store(self.latest.swap(me, Ordering::Relaxed) != 0, Ordering::Relaxed);
        }
        self.entries.store(self.entries.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    }

    #[cold]
    fn queue(&self) {
        for _ in 0..LOOKS {
            if self.word.load(Ordering::Relaxed) == FREE
                && self.word.compare_exchange(FREE, TAKEN, Ordering::Acquire, Ordering::Relaxed).is_ok()
            {
                return;
            }
            std::hint::spin_loop();
        }
        while self.word.swap(WANTED, Ordering::Acquire) != FREE {
            futex_wait(&self.word, WANTED, Sharing::Threads, None);
        }
    }

    #[inline]
    fn give(&self) {
        self.owner.store(0, Ordering::Relaxed);
        if self.word.swap(FREE, Ordering::Release) == WANTED {
            futex_wake(&self.word, Sharing::Threads);
        }
    }

    /// Gives the turn up for as long as `meanwhile` takes.
    pub fn outside<T>(&self, meanwhile: impl FnOnce() -> T) -> T {
        let depth = self.depth.load(Ordering::Relaxed);
        self.give();
        let result = meanwhile();
        self.take(me(), depth);
        result
    }

    /// Lets one of those in who want to be inside.
    #[cold]
    fn make_way(&self) {
        let before = self.entries.load(Ordering::Relaxed);
        self.outside(|| {
            for _ in 0..LOOKS {
                if self.entries.load(Ordering::Relaxed) != before {
                    return;
                }
                yield_core();
            }
        });
    }

    #[inline]
    fn call_sleepers(&self) {
        self.stirs.fetch_add(1, Ordering::SeqCst);
        if self.sleepers.load(Ordering::SeqCst) > 0 {
            futex_wake_all(&self.stirs, Sharing::Threads);
        }
    }
}

/// The turnstile as the engine knows it.
pub struct TurnstileGate {
    turnstile: &'static Turnstile,
    /// Wakes the thread that minds the fabric.
    alarm: Option<Box<dyn Alarm>>,
}

impl TurnstileGate {
    /// For a rank on this fabric.
    pub fn new(turnstile: &'static Turnstile, fabric: &dyn Fabric) -> TurnstileGate {
        TurnstileGate { turnstile, alarm: fabric.alarm() }
    }
}

impl Gate for TurnstileGate {
    fn park(&self, fabric: &dyn Fabric, rounds: u32, idle: Idle) -> Woke {
        match self.wait(fabric, rounds, idle) {
            Woke::Stalled => Woke::Stalled,
            // What one thread waits for does not say what the rank waits for: the others may be on their way to end it.
            _ => Woke::Again,
        }
    }

    fn stir(&self) {
        self.turnstile.call_sleepers();
        if self.turnstile.asleep.load(Ordering::SeqCst)
            && let Some(alarm) = &self.alarm
        {
            alarm.ring();
        }
    }
}

impl TurnstileGate {
    fn wait(&self, fabric: &dyn Fabric, rounds: u32, idle: Idle) -> Woke {
        let turnstile = self.turnstile;
        if turnstile.word.load(Ordering::Relaxed) == WANTED {
            turnstile.make_way();
            return Woke::Again;
        }
        if turnstile.shared.load(Ordering::Relaxed) {
            // A door that opens now and then is passed sooner than one that somebody has to be woken at.
            turnstile.outside(|| (0..OPEN_SPINS).for_each(|_| std::hint::spin_loop()));
        }
        let me = me();
        let (minding, agent) =
            (turnstile.minding.load(Ordering::Relaxed), turnstile.agent.load(Ordering::Relaxed));
        // The agent steps back for those who wait for something: they may spin.
        let is_free = minding == 0 || minding == agent;
        if !is_free && minding != me && idle == Idle::UntilWoken {
            // Another looks after the fabric. It is outside now, or asleep, or it would be here.
            let stirs = turnstile.stirs.load(Ordering::SeqCst);
            turnstile.outside(|| {
                turnstile.sleepers.fetch_add(1, Ordering::SeqCst);
                futex_wait(&turnstile.stirs, stirs, Sharing::Threads, Some(NAP_NS));
                turnstile.sleepers.fetch_sub(1, Ordering::SeqCst);
            });
            return Woke::Again;
        }
        if is_free {
            turnstile.minding.store(me, Ordering::Relaxed);
        }
        if let Some(woke) = fabric.bide(if me == agent { u32::MAX } else { rounds }, idle) {
            return woke;
        }
        if turnstile.asleep.load(Ordering::Relaxed) {
            // The one who minded before has not noticed yet: two announcements of sleep would be one too many.
            self.stir();
            turnstile.outside(yield_core);
            return Woke::Again;
        }
        let armed = fabric.arm();
        if fabric.pending() {
            fabric.disarm(armed);
            return fabric.bide(rounds, Idle::Briefly).unwrap_or(Woke::Again);
        }
        turnstile.asleep.store(true, Ordering::SeqCst);
        // Nobody has stirred since this thread last looked: it has been inside.
        let woke = turnstile.outside(|| fabric.sleep(armed, None));
        turnstile.asleep.store(false, Ordering::Relaxed);
        woke
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// Data that only who is inside may touch.
    struct Guarded(Cell<u64>);
    // SAFETY: used by whoever is inside only; that this holds is what the test is for.
    unsafe impl Sync for Guarded {}

    #[test]
    fn one_thread_at_a_time_is_inside_however_deep() {
        let (turnstile, counter) = (Turnstile::default(), Guarded(Cell::new(0)));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let counter = &counter;
                    for n in 0..20_000 {
                        turnstile.enter();
                        if n % 3 == 0 {
                            turnstile.enter();
                            turnstile.leave();
                        }
                        let seen = counter.0.get();
                        if n % 64 == 0 {
                            std::thread::yield_now();
                        }
                        counter.0.set(seen + 1);
                        turnstile.leave();
                    }
                });
            }
        });
        assert_eq!(counter.0.get(), 80_000);
    }

    #[test]
    fn a_thread_that_waits_lets_others_in() {
        let turnstile = Turnstile::default();
        turnstile.enter();
        std::thread::scope(|scope| {
            let other = scope.spawn(|| {
                turnstile.enter();
                turnstile.leave();
            });
            turnstile.outside(|| other.join().unwrap());
        });
        turnstile.leave();
        assert_eq!(turnstile.word.load(Ordering::Relaxed), FREE);
    }
}

//! Waiting at a turnstile, as the engine asks for it.

use std::sync::atomic::Ordering;

use engine::Gate;
use fabric::{Alarm, Fabric, Idle, Woke};
use ring::linux::{Sharing, futex_wait, yield_core};

use super::{Turnstile, get, me};
use crate::lanes::{Looked, Others};

/// How long the turnstile is open in each round of a wait, in spins. Long in tests, so that others do
/// come in.
const OPEN_SPINS: u32 = if cfg!(test) { 500 } else { 8 };

/// How long a waiting thread sleeps that nobody stirs. Every sleep ends by a stir: tests wait for
/// longer, and count the sleeps that do not.
const NAP_NS: u64 = if cfg!(test) { 20_000_000_000 } else { 100_000_000 };

/// How long a waiting thread sleeps while the thread that minds the fabric is awake. That one sees
/// messages, and stirs. A flag that another process sets in shared memory is seen only by a look.
const SHORT_NAP_NS: u64 = 200_000;

/// Rounds of a wait before it looks after other lanes; then four times as many, and so on; and the most between two looks.
const FIRST_LOOK: u32 = 1 << 8;
const LOOK_EVERY: u32 = 1 << 12;

/// How long a thread sleeps that looks after other lanes, one of which was in use at the last look: it may be out of use since.
const NEXT_LOOK_NS: u64 = 4_000_000;

/// The same where it has announced its sleep in all of them. Somebody may have come and gone there, and taken the announcement away.
const LATER_LOOK_NS: u64 = 20_000_000;

/// The turnstile as the engine knows it.
pub struct TurnstileGate {
    turnstile: &'static Turnstile,
    /// Wakes the thread that minds the fabric.
    alarm: Option<Box<dyn Alarm>>,
    /// The other lanes, where there are some.
    others: Others,
}

impl TurnstileGate {
    /// For a lane on this fabric.
    pub fn new(turnstile: &'static Turnstile, fabric: &dyn Fabric) -> TurnstileGate {
        turnstile.lean();
        TurnstileGate { turnstile, alarm: fabric.alarm(), others: Others::default() }
    }

    pub(crate) fn others(&self) -> &Others {
        &self.others
    }
}

impl Gate for TurnstileGate {
    fn park(&self, fabric: &dyn Fabric, rounds: u32, idle: Idle) -> Woke {
        let short =
            if self.turnstile.is_alone() && rounds < FIRST_LOOK { fabric.bide(rounds, idle) } else { None };
        match short.unwrap_or_else(|| self.wait(fabric, rounds, idle)) {
            Woke::Stalled => Woke::Stalled,
            // What one thread waits for does not say what the rank waits for: the others may be on their way to end it.
            _ => Woke::Again,
        }
    }

    fn stir(&self) {
        self.turnstile.call_sleepers();
        if self.turnstile.asleep.load(Ordering::Relaxed)
            && let Some(alarm) = &self.alarm
        {
            alarm.ring();
        }
    }
}

impl TurnstileGate {
    #[inline(never)]
    fn wait(&self, fabric: &dyn Fabric, rounds: u32, idle: Idle) -> Woke {
        let turnstile = self.turnstile;
        // The caller has just found that what it waits for is not there. From now on a stir says that it
        // may be: this thread looks again, and does not sleep, if one has come while others were inside.
        let stirs = get(&turnstile.stirs);
        let is_stirred = || get(&turnstile.stirs) != stirs;
        if turnstile.is_wanted() {
            turnstile.make_way();
            return Woke::Again;
        }
        if turnstile.shared.load(Ordering::Relaxed) && turnstile.by_word.load(Ordering::Relaxed) {
            // A door that opens now and then is passed sooner than one that somebody has to be woken at.
            turnstile.outside(|| (0..OPEN_SPINS).for_each(|_| std::hint::spin_loop()));
            if is_stirred() {
                return Woke::Again;
            }
        }
        let me = me();
        let (minding, agent) =
            (turnstile.minding.load(Ordering::Relaxed), turnstile.agent.load(Ordering::Relaxed));
        // The agent steps back for those who wait for something: they may spin.
        let is_free = minding == 0 || minding == agent;
        if !is_free && minding != me && idle == Idle::UntilWoken {
            // Another looks after the fabric. It is outside now, or asleep, or it would be here.
            turnstile.sleepers.store(get(&turnstile.sleepers) + 1, Ordering::Relaxed);
            let is_alarmed = turnstile.asleep.load(Ordering::Relaxed);
            turnstile.outside(|| self.nap(stirs, if is_alarmed { NAP_NS } else { SHORT_NAP_NS }));
            turnstile.sleepers.store(get(&turnstile.sleepers) - 1, Ordering::Relaxed);
            return Woke::Again;
        }
        if is_free {
            turnstile.minding.store(me, Ordering::Relaxed);
        }
        if is_time_to_look(rounds) && (self.look_after_others(false) == Looked::Moved || is_stirred()) {
            return Woke::Again;
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
        turnstile.asleep.store(true, Ordering::Relaxed);
        // No other thread has stirred since this one last looked. One that does from now on ends the sleep.
        let limit = match self.look_after_others(true) {
            Looked::Alone => Some(None),
            Looked::Quiet => Some(Some(LATER_LOOK_NS)),
            Looked::Busy => Some(Some(NEXT_LOOK_NS)),
            Looked::Moved => None,
        };
        let woke = match limit {
            Some(limit) if turnstile.minding.load(Ordering::Relaxed) == me => {
                turnstile.outside(|| fabric.sleep(armed, limit.map(|limit| fabric.now() + limit)))
            }
            // There is something to do, or another minds the fabric now.
            _ => {
                fabric.disarm(armed);
                Woke::Again
            }
        };
        turnstile.asleep.store(false, Ordering::Relaxed);
        if woke == Woke::Again {
            // Whoever has rung may have meant another thread: a flag in shared memory names none.
            turnstile.call_sleepers();
        }
        woke
    }

    /// Sleeps until somebody stirs who has not by now, but not for ever.
    fn nap(&self, stirs: u32, limit_ns: u64) {
        let _expired = futex_wait(&self.turnstile.stirs, stirs, Sharing::Threads, Some(limit_ns));
        #[cfg(test)]
        self.turnstile.expired.fetch_add((_expired && limit_ns == NAP_NS).into(), Ordering::Relaxed);
    }

    /// Looks after the other lanes, from outside. Another thread may mind the fabric meanwhile: a reduction of the program's may be called, and take its time.
    fn look_after_others(&self, sleeps: bool) -> Looked {
        if self.others.are_unused() {
            return Looked::Alone;
        }
        let (turnstile, me) = (self.turnstile, me());
        let minds = turnstile.minding.load(Ordering::Relaxed) == me;
        if minds {
            turnstile.minding.store(0, Ordering::Relaxed);
        }
        let looked = turnstile.outside(|| self.others.look_after(sleeps));
        if minds && turnstile.minding.load(Ordering::Relaxed) == 0 {
            turnstile.minding.store(me, Ordering::Relaxed);
        }
        looked
    }
}

/// Of the time that is spun away, hardly any; but also in a program that tests in a loop, again and again.
#[inline]
fn is_time_to_look(rounds: u32) -> bool {
    rounds >= FIRST_LOOK
        && (rounds.is_multiple_of(LOOK_EVERY)
            || rounds.is_power_of_two() && rounds.trailing_zeros().is_multiple_of(2))
}

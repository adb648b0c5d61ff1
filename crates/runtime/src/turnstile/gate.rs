//! Waiting at a turnstile, as the engine asks for it.

use std::sync::atomic::Ordering;

use engine::Gate;
use fabric::{Alarm, Fabric, Idle, Woke};
use ring::linux::{Sharing, futex_wait, yield_core};

use super::{Turnstile, get, me};
use crate::lanes::{Looked, Others};

/// How long the turnstile is open in each round of a wait, in spins.
const OPEN_SPINS: u32 = 8;

/// How long a waiting thread sleeps that nobody stirs.
const NAP_NS: u64 = 100_000_000;

/// Rounds of a wait before it looks after other lanes, and how many times as many until the next time.
const FIRST_LOOK: u32 = 1 << 8;
const LOOK_FACTOR_BITS: u32 = 2;

/// How long a thread sleeps that looks after other lanes: one that was in use at the last look may be out of use since.
const LOOK_UP_NS: u64 = 4_000_000;

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
        match self.wait(fabric, rounds, idle) {
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
    fn wait(&self, fabric: &dyn Fabric, rounds: u32, idle: Idle) -> Woke {
        let turnstile = self.turnstile;
        if turnstile.is_wanted() {
            turnstile.make_way();
            return Woke::Again;
        }
        if turnstile.shared.load(Ordering::Relaxed) && turnstile.by_word.load(Ordering::Relaxed) {
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
            let stirs = get(&turnstile.stirs);
            turnstile.sleepers.store(get(&turnstile.sleepers) + 1, Ordering::Relaxed);
            turnstile.outside(|| _ = futex_wait(&turnstile.stirs, stirs, Sharing::Threads, Some(NAP_NS)));
            turnstile.sleepers.store(get(&turnstile.sleepers) - 1, Ordering::Relaxed);
            return Woke::Again;
        }
        if is_free {
            turnstile.minding.store(me, Ordering::Relaxed);
        }
        if is_time_to_look(rounds) && turnstile.outside(|| self.others.look_after(false)) == Looked::Moved {
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
        // Nobody has stirred since this thread last looked: it has been inside. Who does from now on ends the sleep.
        let woke = turnstile.outside(|| match self.others.look_after(true) {
            Looked::Alone => fabric.sleep(armed, None),
            Looked::Quiet => fabric.sleep(armed, Some(fabric.now() + LOOK_UP_NS)),
            Looked::Moved => {
                fabric.disarm(armed);
                Woke::Again
            }
        });
        turnstile.asleep.store(false, Ordering::Relaxed);
        woke
    }
}

/// At the first look and at four times as many rounds, and so on: of the time that is spun away, hardly any.
#[inline]
fn is_time_to_look(rounds: u32) -> bool {
    rounds >= FIRST_LOOK
        && rounds.is_power_of_two()
        && rounds.trailing_zeros().is_multiple_of(LOOK_FACTOR_BITS)
}

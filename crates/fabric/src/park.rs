//! Time and waiting.

use alloc::boxed::Box;

use crate::VirtualTime;

/// The only source of time.
pub trait Clock {
    /// Ticks since an arbitrary start, never going back; [`Caps::ticks_per_second`](crate::Caps::ticks_per_second) gives
    /// their length. Cheap (tens of nanoseconds at most), never blocks.
    fn now(&self) -> u64;

    /// Where time is virtual: what to tell it besides the calls of the fabric. `None`, the default, where time is real.
    fn virtual_time(&self) -> Option<&dyn VirtualTime> {
        None
    }
}

/// Why a rank waits, for the fabric to choose how.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Idle {
    /// Nothing to do until a letter or a signal comes: the fabric may put the rank to sleep.
    UntilWoken,
    /// A post was answered [`Full`](crate::PostError::Full), or a ticket is not done: not every fabric wakes a rank for that, so it lets
    /// others run and comes back soon.
    Briefly,
}

/// How a park ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Woke {
    /// The rank goes on looking for what it waits for.
    Again,
    /// The rank has waited for long, or somebody wants to know what it waits for: a moment to answer. Never while messages
    /// come and go, so that answering may be slow.
    Look,
    /// As [`Look`](Woke::Look), but the rank has not been woken: it answers and parks again at once, using nothing of the fabric in
    /// between, so that a simulation is not changed by being asked.
    Glance,
    /// Nobody is left who could wake this rank: its last moment to say what it waits for. The next park does not return.
    InVain,
    /// The job has stalled: every rank that has not ended is parked and nobody is left to wake one. Nothing will ever come; the
    /// caller ends what it does, and its job, without waiting again, and without touching memory of other ranks, which may be gone.
    Stalled,
}

/// An announcement of sleep, as [`Park::arm`] has made it. Its number is the fabric's business.
#[derive(PartialEq, Eq, Debug)]
#[must_use = "an announcement is slept on or taken back"]
pub struct Armed(pub u64);

/// The only way to wait: in three steps, which compose.
///
/// ```text
///   let armed = fabric.arm();                  // from here on, whatever comes wakes the rank
///   if fabric.pending() { disarm } else { fabric.sleep(armed, until) }
/// ```
///
/// A rank on one fabric calls [`park`](Park::park), which is these steps. One that waits on two fabrics arms and looks at both, then sleeps on one of
/// them, whose [`alarm`](Park::alarm) the other rings when something has come: one place to sleep, one way to be woken.
pub trait Park {
    /// Spends a round of a wait without going to sleep: a process spins or yields, a fiber lets others run. `None` when it is time to sleep,
    /// never with [`Idle::Briefly`]. `rounds` is the number of rounds since the caller last found something to do, so that the fabric can
    /// spin first and sleep later; it keeps no such state itself. **Reentrant:** no; never inside a sink.
    fn bide(&self, rounds: u32, idle: Idle) -> Option<Woke>;

    /// Announces that this rank is about to sleep. From now on a letter to it, a raise of one of its lanes and its alarm end its next
    /// [`sleep`](Park::sleep), or keep it from beginning. Nothing but [`pending`](Park::pending), `now` and posts may come between this and
    /// `sleep` or [`disarm`](Park::disarm). Never blocks.
    fn arm(&self) -> Armed;

    /// True if a letter waits that `poll` has not handed out, or a lane was raised that `raised` has not reported. Never blocks.
    fn pending(&self) -> bool;

    /// Gives the core away until something comes that [`arm`](Park::arm) names, or the clock shows `until`. It may return without cause.
    ///
    /// * **No lost wake-up:** it returns if something has come since `arm`.
    /// * **Stalled:** said only by fabrics that notice, and then by every sleep. Where ranks may not go on after a stall, because frames
    ///   of other languages lie on their stacks, [`Woke::InVain`] is said instead, once, and the next sleep never returns. A rank that sleeps
    ///   with a deadline is not stalled.
    /// * **Reentrant:** no; never inside a sink.
    fn sleep(&self, armed: Armed, until: Option<u64>) -> Woke;

    /// Takes an announcement back, for a rank that has found something to do after all. Others may run meanwhile.
    fn disarm(&self, armed: Armed);

    /// One round of a wait, as long as the fabric thinks right: with [`Idle::UntilWoken`] possibly until this node is posted a letter or raised a
    /// signal. Returns at once if something is pending. A fabric may have a shorter way than these steps.
    ///
    /// What comes back says whether the rank should look up (see [`Woke`]); a caller that has nobody to look up to ignores all but
    /// [`Woke::Stalled`]. **Reentrant:** no; never inside a sink.
    #[inline]
    fn park(&self, rounds: u32, idle: Idle) -> Woke {
        if let Some(woke) = self.bide(rounds, idle) {
            return woke;
        }
        let armed = self.arm();
        if self.pending() {
            self.disarm(armed);
            // Whoever waits on although something is pending waits for something else, which others must run for.
            return self.bide(rounds, Idle::Briefly).unwrap_or(Woke::Again);
        }
        self.sleep(armed, None)
    }

    /// Runs a barrier on every core that runs a node of the job: what this node wrote before, all others see when they look next; what they wrote before they last
    /// looked, this one sees. So one that is about to sleep takes the cost of order on itself, and those who would wake it need no fence. False where there is no
    /// such barrier, or it does not reach all nodes, as by default. Not for the path of messages. Never blocks.
    fn fence_all(&self) -> bool {
        false
    }

    /// What wakes this rank from outside of the fabric; `None` where nothing can, as by default.
    fn alarm(&self) -> Option<Box<dyn Alarm>> {
        None
    }
}

/// Wakes one rank, from any thread: what a second source of events rings.
pub trait Alarm: Send + Sync {
    /// Ends the sleep of the rank, or keeps it from beginning if the rank is armed. One that is awake hears nothing. Never blocks. Nothing if the
    /// rank has left its job.
    fn ring(&self);
}

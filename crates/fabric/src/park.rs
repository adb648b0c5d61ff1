//! Time and waiting.

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
    /// A post was answered [`Full`](crate::PostError::Full), or a ticket is not done: nobody will wake this rank, so the fabric lets
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

/// The only way to wait.
pub trait Park {
    /// Gives the core away: a process spins, yields or sleeps on a futex, a fiber switches, a simulated core lets virtual
    /// time advance. `rounds` is the number of parks since the caller last found something to do, so that the fabric can
    /// spin first and sleep later; it keeps no such state itself.
    ///
    /// * **Blocks:** with [`Idle::UntilWoken`] possibly until this node is posted a letter or raised a signal.
    /// * **No lost wake-up:** it returns at once if a letter waits that `poll` has not handed out, or a lane was raised that
    ///   `raised` has not reported. It may return without cause.
    /// * **Stalled:** said only by fabrics that notice, and then by every park. Where ranks may not go on after a stall, because frames
    ///   of other languages lie on their stacks, [`Woke::InVain`] is said instead, once, and the next park never returns.
    /// * **Reentrant:** no; never inside a sink.
    ///
    /// What comes back says whether the rank should look up (see [`Woke`]); a caller that has nobody to look up to ignores all but
    /// [`Woke::Stalled`].
    fn park(&self, rounds: u32, idle: Idle) -> Woke;
}

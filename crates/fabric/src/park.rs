//! Time and waiting.

/// The only source of time.
pub trait Clock {
    /// Ticks since an arbitrary start, never going back; [`Caps::ticks_per_second`](crate::Caps::ticks_per_second) gives
    /// their length. Cheap (tens of nanoseconds at most), never blocks.
    fn now(&self) -> u64;
}

/// Why a rank waits, for the fabric to choose how.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Idle {
    /// Nothing to do until a letter or a signal comes: the fabric may put the rank to sleep.
    UntilWoken,
    /// A post was answered [`Full`](crate::Full), or a ticket is not done: nobody will wake this rank, so the fabric lets
    /// others run and comes back soon.
    Briefly,
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
    /// * **Reentrant:** no; never inside a sink.
    fn park(&self, rounds: u32, idle: Idle);
}

//! What only a clock in virtual time needs to be told. Ports to real machines have no part in it.

/// The costs of a rank's own doing, where time is simulated: reached by [`Clock::virtual_time`](crate::Clock::virtual_time).
pub trait VirtualTime {
    /// The most cores that may work for this rank.
    fn cores(&self) -> u32;

    /// Lets `cores` cores of this rank compute for `cycles` cycles each, side by side: the declared work of a program. Bringing more than one to it
    /// and waiting for the last takes time besides.
    ///
    /// * **Requires:** 1 to [`cores`](VirtualTime::cores) cores; the same number until all of the work is done.
    /// * **Blocks:** until the work is done or interrupted; other ranks run meanwhile.
    /// * **Interrupted:** only where [`Caps::agent`](crate::Caps::agent) holds: something has come that the agent may handle
    ///   (a letter, a transfer that ended), or it was `called` for something that it has to do. The caller handles it between
    ///   [`as_agent`](VirtualTime::as_agent) calls, then works on what is left.
    /// * **Reentrant:** no; never inside a sink.
    fn work(&self, cycles: u64, cores: u32, called: bool) -> Worked;

    /// From now on, memory of this rank lies outside the chip, behind the I/O subsystem of that number: transfers to and from it go there, and no rank's
    /// core has a part in them. False if there is no such memory.
    fn lies_behind(&self, base: *const u8, bytes: usize, subsystem: u32) -> bool;

    /// Tells the clock that the core has copied `bytes` bytes from one buffer to another: packing, a lazy copy, a message taken
    /// out of a slot. Never blocks; may be called inside a sink.
    fn copied(&self, bytes: u64);

    /// Between `as_agent(true)` and `as_agent(false)`, what the rank does is done by the helper core of
    /// [`Caps::agent`](crate::Caps::agent): its costs are charged there and the rank's own core goes on computing. The two calls
    /// come in pairs, not nested; the rank does not park between them. Never blocks.
    fn as_agent(&self, on: bool);
}

/// How a piece of declared work ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Worked {
    /// All of it is done.
    Done,
    /// The agent has something to handle first.
    Interrupted {
        /// Cycles still to work.
        left: u64,
    },
}

//! What a node can do, as data. What it can do *with a peer* is its [`Route`](crate::Route) there.

/// The capabilities of a node, constant for its life and the same on every node of a job.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Caps {
    /// Transfers can run on a DMA engine while the core goes on ([`Mover::Dma`](crate::Mover::Dma)).
    pub dma: bool,
    /// A helper core can run the engine's letter handler while the rank computes ([`VirtualTime::work`](crate::VirtualTime::work)).
    pub agent: bool,
    /// Signals reach every node of the job, so that a barrier of all of them can be built from raises; otherwise they reach those of this node's
    /// cluster only ([`Route::signals`](crate::Route::signals)).
    pub world_signals: bool,
    /// A park costs no more than a poll and lets another rank of the same core run, which is what the rank most likely waits
    /// for: one that has to wait parks before it looks.
    pub cheap_park: bool,
    /// Every node has a core of its own, so that one that waits may as well look at memory which others write: they are running.
    pub own_cores: bool,
    /// Nodes have memories of their own, and map what others have [allocated to be shared](crate::Memory::allocate_shared): messages from there need
    /// no call of the system, so a program that asks the library for memory is given such.
    pub maps_shared: bool,
    /// Nodes of a cluster share memory in which each sees soon what another has written, and costs nobody but the two anything: collectives may go by it
    /// instead of messages.
    pub boards: bool,
    /// Transfers that wait for each other are quicker together ([`Mover::Together`](crate::Mover::Together)).
    pub gathers: bool,
    /// Length of a tick of [`Clock::now`](crate::Clock::now).
    pub ticks_per_second: u64,
}

impl Caps {
    /// A node without an engine or helper of its own, which signals to all others and whose clock counts nanoseconds.
    pub const PLAIN: Caps = Caps {
        dma: false,
        agent: false,
        world_signals: true,
        cheap_park: false,
        own_cores: false,
        maps_shared: false,
        boards: false,
        gathers: false,
        ticks_per_second: 1_000_000_000,
    };

    /// The same with a core of its own.
    pub const ROOMY: Caps = Caps { own_cores: true, ..Caps::PLAIN };
}

//! What a fabric can do, as data.

/// A measured cost law: a call that moves `n` bytes takes `per_byte * n + per_call` ticks. In thousandths of a tick, so
/// that integer arithmetic gives the same result everywhere.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CostLaw {
    /// Thousandths of a tick a byte (K).
    pub per_byte: u64,
    /// Thousandths of a tick a call (h).
    pub per_call: u64,
}

impl CostLaw {
    /// Ticks for `bytes` bytes, rounded up.
    pub const fn ticks(&self, bytes: u64) -> u64 {
        (self.per_byte * bytes + self.per_call).div_ceil(1000)
    }
}

/// The message sizes at which the protocol changes. A fabric states the defaults that were measured on it; users override
/// them by environment variables.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Thresholds {
    /// Largest message in bytes that travels eagerly, inside letters.
    pub eager_max: usize,
    /// A posted receive of at least this many bytes announces itself to the sender (receiver-first rendezvous).
    pub receiver_first_min: usize,
    /// A transfer of at least this many bytes uses the DMA engine, where there is one.
    pub dma_min: usize,
    /// A transfer of at least this many bytes is copied by both ranks, half each, if both wait for it. `usize::MAX` where
    /// they do not have a core each.
    pub share_min: usize,
    /// Largest message in bytes that is copied into memory of the sender's and leaves later (lazy); 0 for none.
    pub lazy_max: usize,
    /// Bytes that one rank may hold in lazy copies at a time; a message that does not fit goes by rendezvous.
    pub lazy_buffer: usize,
}

/// The capabilities of a fabric, constant for its life.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Caps {
    /// Most payload bytes of one letter.
    pub letter_max: usize,
    /// Payload bytes up to which a letter needs no second buffer: the cheapest kind.
    pub letter_inline: usize,
    /// Letters that one mailbox holds before posters are told `Full`.
    pub mailbox_letters: usize,
    /// Puts and gets must start and end at multiples of this many bytes (1: anywhere).
    pub portal_granularity: usize,
    /// Transfers run on a DMA engine while the core goes on.
    pub dma: bool,
    /// A helper core can run the engine's letter handler while the rank computes.
    pub agent: bool,
    /// Time is virtual: the engine reports what costs core time and is no call of the fabric ([`Clock::copied`](crate::Clock::copied)).
    pub timed: bool,
    /// A park costs no more than a poll and lets another rank of the same core run, which is what the rank most likely waits
    /// for: one that has to wait parks before it looks.
    pub cheap_park: bool,
    /// Cost of a letter.
    pub letter_cost: CostLaw,
    /// Cost of a put or get done by the core.
    pub copy_cost: CostLaw,
    /// Cost of a put or get done by the DMA engine.
    pub dma_cost: CostLaw,
    /// Length of a tick of [`Clock::now`](crate::Clock::now).
    pub ticks_per_second: u64,
    /// Where protocols change by default.
    pub thresholds: Thresholds,
}

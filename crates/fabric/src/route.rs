//! The way to one peer, as data.
//!
//! A job whose nodes share a machine, or sit on one chip, has one or two kinds of route; where shared memory and a network are joined,
//! each peer is reached by one of the two, and has its numbers.

/// How one peer is reached: a row of a small table of the fabric, the same row for all peers that are reached alike.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Route {
    /// The group of nodes that share a memory with cheap access (a compute cluster of a chip, a machine) to which the peer belongs: equal
    /// numbers mean equal groups. The same on every node.
    pub cluster: u32,
    /// Most payload bytes of one letter.
    pub letter_max: usize,
    /// Payload bytes up to which a letter needs no second buffer: the cheapest kind.
    pub letter_inline: usize,
    /// Letters that the peer's mailbox holds before posters are told [`Full`](crate::PostError::Full).
    pub mailbox_letters: usize,
    /// [`Portal::put`](crate::Portal::put) works towards this peer.
    pub put: bool,
    /// [`Portal::get`](crate::Portal::get) works from this peer.
    pub get: bool,
    /// Both sides can address each other's memory directly, so that a transfer is a plain copy.
    pub same_memory: bool,
    /// A put towards this peer may carry a notice ([`Delivery::notice`](crate::Delivery::notice)).
    pub notice: bool,
    /// Puts and gets must start and end at multiples of this many bytes (1: anywhere).
    pub granularity: usize,
    /// Cost of a letter.
    pub letter_cost: CostLaw,
    /// Cost of a put or get done by the core.
    pub copy_cost: CostLaw,
    /// Cost of a put or get done by the DMA engine.
    pub dma_cost: CostLaw,
    /// Where protocols change by default.
    pub thresholds: Thresholds,
}

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

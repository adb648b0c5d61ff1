//! The way to one peer, as data.
//!
//! A job whose nodes share a machine, or sit on one chip, has one or two kinds of route; where shared memory and a network are joined,
//! each peer is reached by one of the two, and has its numbers.

use crate::Atomics;

/// How one peer is reached: a row of a small table of the fabric, the same row for all peers that are reached alike.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Route {
    /// The group of nodes that share a memory with cheap access (a compute cluster of a chip, a machine) to which the peer belongs: equal
    /// numbers mean equal groups. The same on every node.
    pub cluster: u32,
    /// Most payload bytes of one letter.
    pub letter_max: usize,
    /// The same of letters that are posted [in bulk](crate::Mailbox::in_bulk): not less.
    pub letter_bulk: usize,
    /// Payload bytes up to which a letter needs no second buffer: the cheapest kind.
    pub letter_inline: usize,
    /// Bytes that stay free in the last letter of a message that travels in letters, because that is how its receiver knows the last: a message
    /// that fills its letters is followed by an empty one. 0 where the first letter says how long the message is.
    pub letter_spare: usize,
    /// Letters that the peer's mailbox holds before posters are told [`Full`](crate::PostError::Full).
    pub mailbox_letters: usize,
    /// Letters leave while the peer takes the ones before: scattered data is packed into them piece by piece, as the peer unpacks them, and not
    /// as a whole before the first byte can leave.
    pub pipelined: bool,
    /// [`Portal::put`](crate::Portal::put) works towards this peer.
    pub put: bool,
    /// [`Portal::get`](crate::Portal::get) works from this peer.
    pub get: bool,
    /// [`Portal::get`](crate::Portal::get) works from memory of this peer that was [allocated to be shared](crate::Memory::allocate_shared), also
    /// where `get` does not hold.
    pub get_shared: bool,
    /// [`Portal::get`](crate::Portal::get) works from this peer although `get` does not hold: somebody there, not the peer's own code, is asked to
    /// put. A word more than a put that the peer begins itself, so messages go other ways; windows have none.
    pub get_on_request: bool,
    /// Both sides can address each other's memory directly, so that a transfer is a plain copy.
    pub same_memory: bool,
    /// A put towards this peer may carry a notice ([`Delivery::notice`](crate::Delivery::notice)).
    pub notice: bool,
    /// Which memory of this peer [`Portal::atomic`](crate::Portal::atomic) works on.
    pub atomics: Atomics,
    /// [`Portal::atomic_array`](crate::Portal::atomic_array) works there, too.
    pub array_atomics: bool,
    /// [`Signal::raise`](crate::Signal::raise) reaches this peer: always inside a cluster.
    pub signals: bool,
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

impl Route {
    /// True if [`Portal::get`](crate::Portal::get) works from this peer, in whichever way.
    pub const fn gets(&self) -> bool {
        self.get || self.get_on_request
    }

    /// The least that a way can be: letters of up to `letter_max` bytes into a mailbox of `mailbox_letters`, and signals. A port begins with this
    /// and adds what its machine has.
    pub const fn of_letters(letter_max: usize, mailbox_letters: usize) -> Route {
        const UNKNOWN: CostLaw = CostLaw { per_byte: 0, per_call: 0 };
        Route {
            cluster: 0,
            letter_max,
            letter_bulk: letter_max,
            letter_inline: letter_max,
            letter_spare: 0,
            mailbox_letters,
            pipelined: false,
            put: false,
            get: false,
            get_shared: false,
            get_on_request: false,
            same_memory: false,
            notice: false,
            atomics: Atomics::None,
            array_atomics: false,
            signals: true,
            granularity: 1,
            letter_cost: UNKNOWN,
            copy_cost: UNKNOWN,
            dma_cost: UNKNOWN,
            thresholds: Thresholds {
                eager_max: letter_max,
                receiver_first_min: usize::MAX,
                one_way_min: 0,
                dma_min: usize::MAX,
                share_min: usize::MAX,
                lazy_max: 0,
                lazy_buffer: 0,
                fresh_max: 0,
            },
        }
    }
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
    /// It does so only after this many rendezvous from that sender without one to it; 0 for always.
    pub one_way_min: usize,
    /// A transfer of at least this many bytes uses the DMA engine, where there is one.
    pub dma_min: usize,
    /// A transfer of at least this many bytes is copied by both ranks, half each, if both wait for it. `usize::MAX` where
    /// they do not have a core each.
    pub share_min: usize,
    /// Largest message in bytes that is copied into memory of the sender's and leaves later (lazy); 0 for none.
    pub lazy_max: usize,
    /// Bytes that one rank may hold in lazy copies at a time; a message that does not fit goes by rendezvous.
    pub lazy_buffer: usize,
    /// Largest message in bytes that travels in letters where these turn out to be quicker than an offer; 0 for none.
    pub fresh_max: usize,
}

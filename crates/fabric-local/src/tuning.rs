//! The numbers that were measured, or guessed and wait to be measured, in one place.

use fabric::{Atomics, Caps, CostLaw, Route, Thresholds};
use ring::{Geometry, INLINE_BYTES};

/// Cells of each rank's ring: 8 KiB, so that an idle rank stays small.
pub const RING_CELLS: u32 = 64;

/// Slots of each rank's pool: how many long letters a rank may have in flight. Their pages are touched on first use.
pub const POOL_SLOTS: u32 = 16;

/// Longest letter.
pub const LETTER_MAX: u32 = 2048;

/// Longest message that travels in letters. Short, because beyond it one direct copy does.
pub const EAGER_MAX: usize = LETTER_MAX as usize;

/// From here on a posted receive announces itself.
pub const RECEIVER_FIRST_MIN: usize = 16 << 10;

/// Stack of a fiber. Mapped lazily: a rank uses the pages it touches.
pub const FIBER_STACK_BYTES: usize = 256 << 10;

/// Empty rounds for which a fiber whose worker has nothing else to do goes on polling: some 20 us.
pub const SPIN_ROUNDS: u32 = 300;

/// Those of them without a `pause`: the answer of a peer that runs comes sooner than a `pause` would let it be noticed.
pub const EAGER_ROUNDS: u32 = 64;

/// Brief parks in a row after which a fiber that is the only ready one gives the core away.
pub const BRIEF_ROUNDS: u32 = 64;

/// The layout of the exchange for a job of `ranks` ranks.
pub const fn geometry(ranks: u32) -> Geometry {
    Geometry::new(ranks, RING_CELLS, POOL_SLOTS, LETTER_MAX)
}

/// The same for ranks that have a core each, which are few, and memory without a limit: what was just written is quicker in long letters.
pub const fn wide_geometry(ranks: u32) -> Geometry {
    Geometry::new(ranks, RING_CELLS, WIDE_POOL_SLOTS, WIDE_LETTER_BULK)
}

/// Slots of a [wide](wide_geometry) pool.
pub const WIDE_POOL_SLOTS: u32 = 32;

/// Longest letter in a [wide](wide_geometry) pool.
pub const WIDE_LETTER_MAX: u32 = 16 << 10;

/// The same in bulk.
pub const WIDE_LETTER_BULK: u32 = 32 << 10;

/// Up to here a message may go in letters of a [wide](wide_geometry) pool, if these turn out to be quicker than one copy.
pub const FRESH_MAX: usize = 1 << 20;

/// From here on two ranks that wait for one message copy half of it each.
pub const SHARE_MIN: usize = 32 << 10;

/// So many messages in one direction are a stream, of which sender and receiver may each move what they come to first.
pub const ONE_WAY_MIN: usize = 16;

/// The caps of fibers that share cores: a park is a switch.
pub const FIBER_CAPS: Caps = Caps { cheap_park: true, boards: true, ..Caps::PLAIN };

/// What a thread or fiber can do that has a core of its own.
pub const ROOMY_CAPS: Caps = Caps { boards: true, ..Caps::ROOMY };

/// What one can do that shares its core with others.
pub const CROWDED_CAPS: Caps = Caps { boards: true, ..Caps::PLAIN };

/// The route between ranks with a core each: two of them can copy at the same time. Where messages go both ways nobody announces receives: each
/// would be written by the one or the other as it happens, and its lines go to and fro between their caches.
pub const ROOMY_ROUTE: Route = Route {
    thresholds: Thresholds { share_min: SHARE_MIN, one_way_min: ONE_WAY_MIN, ..ROUTE.thresholds },
    ..ROUTE
};

/// The same where letters are long.
pub const WIDE_ROUTE: Route = Route {
    letter_max: WIDE_LETTER_MAX as usize,
    letter_bulk: WIDE_LETTER_BULK as usize,
    thresholds: Thresholds { fresh_max: FRESH_MAX, ..ROOMY_ROUTE.thresholds },
    ..ROOMY_ROUTE
};

/// The route between ranks that share cores. The clock ticks in nanoseconds, so a cost law counts picoseconds.
pub const ROUTE: Route = Route {
    cluster: 0,
    letter_max: LETTER_MAX as usize,
    letter_bulk: LETTER_MAX as usize,
    letter_inline: INLINE_BYTES,
    letter_spare: 0,
    mailbox_letters: RING_CELLS as usize,
    pipelined: true,
    put: true,
    get: true,
    get_shared: false,
    get_on_request: false,
    same_memory: true,
    notice: false,
    atomics: Atomics::All,
    array_atomics: true,
    signals: true,
    granularity: 1,
    letter_cost: CostLaw { per_byte: 100, per_call: 20_000 },
    copy_cost: CostLaw { per_byte: 50, per_call: 10_000 },
    dma_cost: CostLaw { per_byte: 0, per_call: 0 },
    thresholds: Thresholds {
        eager_max: EAGER_MAX,
        receiver_first_min: RECEIVER_FIRST_MIN,
        one_way_min: 0,
        dma_min: usize::MAX,
        share_min: usize::MAX,
        lazy_max: 0,
        lazy_buffer: 0,
        fresh_max: 0,
    },
};

// The budget of an idle rank besides its stack.
const _: () = assert!(geometry(1).rank_bytes() < 64 << 10);

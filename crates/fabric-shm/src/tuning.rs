//! The numbers that were measured, or guessed and wait to be measured, in one place.

use fabric::{Caps, CostLaw, Thresholds};
use ring::{Geometry, INLINE_BYTES};

/// Cells of each rank's ring. 32 KiB of sparse memory a rank.
pub const RING_CELLS: u32 = 256;

/// Slots of each rank's pool: how many long letters a rank may have in flight.
pub const POOL_SLOTS: u32 = 32;

/// Longest letter.
pub const LETTER_MAX: u32 = 16 << 10;

/// Longest message that travels in letters: up to here two copies cost less than the system call and page look-up of one.
pub const EAGER_MAX: usize = LETTER_MAX as usize;

/// From here on a posted receive announces itself.
pub const RECEIVER_FIRST_MIN: usize = 32 << 10;

/// From here on two ranks that wait for one message copy half of it each. A letter more, half the time for the copy.
pub const SHARE_MIN: usize = 128 << 10;

/// A rank that sleeps looks up so often, to see whether somebody asks what it waits for: twice a second costs nothing that can be
/// measured, and is soon enough for people.
pub const LOOK_AFTER_NS: u64 = 500_000_000;

/// The layout of the exchange for a job of `ranks` ranks.
pub const fn geometry(ranks: u32) -> Geometry {
    Geometry::new(ranks, RING_CELLS, POOL_SLOTS, LETTER_MAX)
}

/// The caps where ranks share cores: while one copies, the other could not.
pub const CROWDED_CAPS: Caps =
    Caps { thresholds: Thresholds { share_min: usize::MAX, ..CAPS.thresholds }, ..CAPS };

/// The caps where every rank has a core of its own. The clock ticks in nanoseconds, so a cost law counts picoseconds.
pub const CAPS: Caps = Caps {
    letter_max: LETTER_MAX as usize,
    letter_inline: INLINE_BYTES,
    mailbox_letters: RING_CELLS as usize,
    portal_granularity: 1,
    dma: false,
    agent: false,
    timed: false,
    cheap_park: false,
    letter_cost: CostLaw { per_byte: 100, per_call: 200_000 },
    copy_cost: CostLaw { per_byte: 50, per_call: 500_000 },
    dma_cost: CostLaw { per_byte: 0, per_call: 0 },
    ticks_per_second: 1_000_000_000,
    thresholds: Thresholds {
        eager_max: EAGER_MAX,
        receiver_first_min: RECEIVER_FIRST_MIN,
        dma_min: usize::MAX,
        share_min: SHARE_MIN,
        lazy_max: 0,
        lazy_buffer: 0,
    },
};

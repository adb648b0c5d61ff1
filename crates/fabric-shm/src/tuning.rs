//! The numbers that were measured, or guessed and wait to be measured, in one place.

use fabric::{Atomics, CostLaw, Route, Thresholds};
use ring::{Geometry, INLINE_BYTES};

/// Cells of each rank's ring. 32 KiB of sparse memory a rank.
pub const RING_CELLS: u32 = 256;

/// Lanes that a rank with several threads may have: end-points of its own kind. Nothing exists of their memory before it is written.
pub const LANES: u32 = 8;

/// Slots of each rank's pool: how many long letters a rank may have in flight.
pub const POOL_SLOTS: u32 = 32;

/// Longest letter.
pub const LETTER_MAX: u32 = 16 << 10;

/// The same in bulk: half as many letters, while the receiver of few of them would begin later.
pub const LETTER_BULK: u32 = 32 << 10;

/// Longest message that travels in letters: up to here two copies cost less than the system call and page look-up of one.
pub const EAGER_MAX: usize = LETTER_MAX as usize;

/// From here on a posted receive announces itself.
pub const RECEIVER_FIRST_MIN: usize = 32 << 10;

/// So many messages in one direction are a stream, of which sender and receiver may each move what they come to first. Where messages go both ways and every rank has a core, each
/// would be written by the one or the other as it happens, and its lines go to and fro between their caches.
pub const ONE_WAY_MIN: usize = 16;

/// Up to here a message may go in letters, if these turn out to be quicker. So many bytes may come without being asked for.
pub const FRESH_MAX: usize = 1 << 20;

/// From here on two ranks that wait for one message copy half of it each. A letter more, half the time for the copy.
pub const SHARE_MIN: usize = 32 << 10;

/// A rank that sleeps looks up so often, to see whether somebody asks what it waits for: twice a second costs nothing that can be
/// measured, and is soon enough for people.
pub const LOOK_AFTER_NS: u64 = 500_000_000;

/// Bytes of a page: shared allocations are made of whole ones.
pub const PAGE_BYTES: u64 = 4096;

/// Bytes that a rank may have in shared allocations: more than machines have, so that the memory itself is the limit. Nothing exists of it
/// before it is written.
pub const SLICE_BYTES: u64 = 1 << 40;

/// The layout of the exchange for a job of `ranks` ranks.
pub const fn geometry(ranks: u32) -> Geometry {
    Geometry::new(ranks, RING_CELLS, POOL_SLOTS, LETTER_BULK)
}

/// The routes of a rank: to itself, to peers whose memory the kernel lets it reach, and to the others.
#[derive(Clone, Copy, Debug)]
pub struct Routes {
    /// To itself.
    pub own: Route,
    /// To a peer whose memory can be reached.
    pub near: Route,
    /// To a peer that takes letters only.
    pub far: Route,
}

/// The routes where ranks share cores: while one copies, the other could not.
pub const CROWDED_ROUTES: Routes = routes(Route {
    thresholds: Thresholds { one_way_min: 0, share_min: usize::MAX, fresh_max: 0, ..NEAR.thresholds },
    ..NEAR
});

/// The routes where every rank has a core of its own.
pub const ROUTES: Routes = routes(NEAR);

const fn routes(near: Route) -> Routes {
    Routes {
        own: Route { same_memory: true, atomics: Atomics::All, ..near },
        near,
        far: Route { put: false, get: false, ..near },
    }
}

/// The clock ticks in nanoseconds, so a cost law counts picoseconds.
const NEAR: Route = Route {
    cluster: 0,
    letter_max: LETTER_MAX as usize,
    letter_bulk: LETTER_BULK as usize,
    letter_inline: INLINE_BYTES,
    letter_spare: 0,
    mailbox_letters: RING_CELLS as usize,
    pipelined: true,
    put: true,
    get: true,
    get_shared: true,
    get_on_request: false,
    same_memory: false,
    notice: false,
    atomics: Atomics::Shared,
    array_atomics: true,
    signals: true,
    granularity: 1,
    letter_cost: CostLaw { per_byte: 100, per_call: 200_000 },
    copy_cost: CostLaw { per_byte: 50, per_call: 500_000 },
    dma_cost: CostLaw { per_byte: 0, per_call: 0 },
    thresholds: Thresholds {
        eager_max: EAGER_MAX,
        receiver_first_min: RECEIVER_FIRST_MIN,
        one_way_min: ONE_WAY_MIN,
        dma_min: usize::MAX,
        share_min: SHARE_MIN,
        lazy_max: 0,
        lazy_buffer: 0,
        fresh_max: FRESH_MAX,
    },
};

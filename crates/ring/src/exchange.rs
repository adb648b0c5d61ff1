//! Where everything lies in the memory that the ranks of a job share.
//!
//! ```text
//! region:  | rank 0        | rank 1        | ... | rank n-1      |     each rank_bytes long, a multiple of 4 KiB
//!
//! rank:    0     128    256    384            512                  512 + 128 cells               next page
//!          +------+------+------+--------------+--------------------+-----------------------------+------------+
//!          | bell | tail | head | 4 lanes      | cells of 128 bytes | slots of 64 + slot_bytes    | 512 claims |
//!          +------+------+------+--------------+--------------------+-----------------------------+------------+
//!           owner  senders owner  senders        senders write,       whoever has one writes,      owner opens,
//!           sleeps claim   publi- raise,         owner reads          its receiver reads           all claim
//!           on it          shes   owner reads
//! ```
//!
//! **Invariant:** zeroed memory is a valid exchange. Areas start on pages of their own, so that on sparse memory a rank that
//! is idle, and the pool of a rank that sends only short letters, cost nothing.

use core::ptr::NonNull;
use core::slice;

use fabric::LANES;

use crate::cell::{CELL_BYTES, Cell, INLINE_BYTES, LENGTH_MAX, SENDERS_MAX};
use crate::claim::Claim;
use crate::doorbell::Doorbell;
use crate::pool::{LENT_BYTES, Lent, Slot};
use crate::ring::{CELLS_MAX, Head, Ring, Tail};
use crate::sync::AtomicU64;

/// The sizes that fix the layout; the same on every rank of a job.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Geometry {
    ranks: u32,
    cells: u32,
    slots: u32,
    slot_bytes: u32,
}

impl Geometry {
    /// `ranks` ranks, each with a ring of `cells` cells and a pool of `slots` slots of `slot_bytes` bytes.
    ///
    /// # Panics
    /// If `cells` is not a power of two, a pool slot is not longer than a cell's payload or not a multiple of 64, or a
    /// number does not fit in the control word.
    pub const fn new(ranks: u32, cells: u32, slots: u32, slot_bytes: u32) -> Geometry {
        assert!(ranks > 0 && ranks <= SENDERS_MAX, "the number of ranks does not fit in a control word");
        assert!(cells.is_power_of_two(), "a ring has a power of two of cells");
        assert!(cells as usize <= CELLS_MAX, "the number of cells does not fit in a control word");
        assert!(
            slots > 0 && slot_bytes as usize > INLINE_BYTES,
            "a pool slot must hold more than a cell's payload"
        );
        assert!(slot_bytes.is_multiple_of(64), "pool slots fill whole cache lines");
        assert!(slot_bytes as usize <= LENGTH_MAX, "the slot size does not fit in a control word");
        Geometry { ranks, cells, slots, slot_bytes }
    }

    /// How many ranks share the region.
    pub const fn ranks(&self) -> u32 {
        self.ranks
    }

    /// Cells of each ring.
    pub const fn cells(&self) -> u32 {
        self.cells
    }

    /// Slots of each pool.
    pub const fn slots(&self) -> u32 {
        self.slots
    }

    /// Most payload bytes of a letter.
    pub const fn letter_max(&self) -> usize {
        self.slot_bytes as usize
    }

    /// Bytes of one rank's area.
    pub const fn rank_bytes(&self) -> usize {
        self.claims_offset() + CLAIMS * size_of::<Claim>()
    }

    /// Bytes of the whole region.
    pub const fn bytes(&self) -> usize {
        self.rank_bytes() * self.ranks as usize
    }

    const fn slots_offset(&self) -> usize {
        size_of::<Front>() + self.cells as usize * CELL_BYTES
    }

    const fn claims_offset(&self) -> usize {
        (self.slots_offset() + self.slots as usize * self.slot_stride()).next_multiple_of(PAGE_BYTES)
    }

    const fn slot_stride(&self) -> usize {
        LENT_BYTES + self.slot_bytes as usize
    }
}

const PAGE_BYTES: usize = 4096;

/// Words of each rank that others may [claim](Claim): a page of them.
pub const CLAIMS: usize = PAGE_BYTES / size_of::<Claim>();

/// A rank's counters, together on one line: a rank that looks whether any was raised reads one line, and raises of different
/// lanes at the same time are rare.
#[repr(C, align(128))]
pub(crate) struct Lanes(pub(crate) [AtomicU64; LANES]);

/// The fixed part of a rank's area.
#[repr(C, align(128))]
pub(crate) struct Front {
    pub(crate) doorbell: Doorbell,
    pub(crate) tail: Tail,
    pub(crate) head: Head,
    pub(crate) lanes: Lanes,
}

const _: () = {
    assert!(LANES * 8 <= 64, "the counters share a line");
    assert!(size_of::<Front>() == 512);
    assert!(core::mem::offset_of!(Front, tail) == 128);
    assert!(core::mem::offset_of!(Front, head) == 256);
    assert!(core::mem::offset_of!(Front, lanes) == 384);
};

/// The region of a job, as one rank has mapped it.
#[derive(Clone, Copy)]
pub struct Exchange {
    base: NonNull<u8>,
    geometry: Geometry,
    rank_bytes: usize,
    slots_offset: usize,
    slot_stride: usize,
    claims_offset: usize,
}

impl Exchange {
    /// The exchange at `base`.
    ///
    /// # Safety
    /// `base` must be aligned to 128 bytes and valid for reads and writes of [`Geometry::bytes`] bytes for as long as the value,
    /// copies of it or anything borrowed from them are used; the bytes must have been zero before the first rank used
    /// them, and all ranks must use an equal `geometry`.
    pub unsafe fn new(base: NonNull<u8>, geometry: Geometry) -> Exchange {
        debug_assert!(base.as_ptr().cast::<Front>().is_aligned());
        Exchange {
            base,
            geometry,
            rank_bytes: geometry.rank_bytes(),
            slots_offset: geometry.slots_offset(),
            slot_stride: geometry.slot_stride(),
            claims_offset: geometry.claims_offset(),
        }
    }

    /// The sizes.
    #[inline(always)]
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// The doorbell of `rank`.
    #[inline(always)]
    pub fn doorbell(&self, rank: u32) -> &Doorbell {
        &self.front(rank).doorbell
    }

    #[inline(always)]
    pub(crate) fn front(&self, rank: u32) -> &Front {
        // SAFETY: `area` checks the rank; a front lies at the start of each area, is made of atomics only, and is valid zeroed.
        unsafe { self.area(rank).cast::<Front>().as_ref() }
    }

    #[inline(always)]
    pub(crate) fn ring(&self, rank: u32) -> Ring<'_> {
        // SAFETY: the result borrows the exchange, and by the contract of `new` the memory lives as long.
        unsafe { self.ring_for(rank) }
    }

    /// The ring of `rank` with a lifetime of the caller's choice.
    ///
    /// # Safety
    /// The memory must live as long as the result.
    #[inline(always)]
    pub(crate) unsafe fn ring_for<'m>(&self, rank: u32) -> Ring<'m> {
        // SAFETY: an area of this exchange; the rest is the caller's promise.
        unsafe { self.ring_in(self.area(rank)) }
    }

    /// The ring in an area of this exchange.
    ///
    /// # Safety
    /// It must be [one](Exchange::area), and the memory must live as long as the result.
    #[inline(always)]
    pub(crate) unsafe fn ring_in<'m>(&self, area: NonNull<u8>) -> Ring<'m> {
        // SAFETY: the front and the cells behind it lie inside the area, which the caller keeps alive; they are shared
        // through atomics and unsafe cells, and valid zeroed. The geometry has a power of two of cells.
        unsafe {
            let cells = area.add(size_of::<Front>()).cast::<Cell>();
            let cells = slice::from_raw_parts(cells.as_ptr(), self.geometry.cells as usize);
            let front = area.cast::<Front>().as_ref();
            Ring::new_unchecked(&front.tail, &front.head, cells)
        }
    }

    /// The line in front of a slot.
    #[inline(always)]
    pub(crate) fn lent(&self, slot: Slot) -> &Lent {
        // SAFETY: `slot` yields a place inside the area; the line is an atomic, valid zeroed.
        unsafe { &*self.slot(slot).cast::<Lent>() }
    }

    /// Where the payload of a slot starts.
    #[inline(always)]
    pub(crate) fn slot_payload(&self, slot: Slot) -> *mut u8 {
        // SAFETY: the payload follows the line inside the slot.
        unsafe { self.slot(slot).add(LENT_BYTES) }
    }

    /// Receivers get slot numbers out of shared memory, and have checked them; this is for the defect that forgets to.
    #[inline(always)]
    fn slot(&self, Slot { home, number }: Slot) -> *mut u8 {
        if number >= self.geometry.slots {
            no_such_slot(number, self.geometry.slots);
        }
        // SAFETY: below the number of slots, so inside the area.
        unsafe { self.area(home).as_ptr().add(self.slots_offset + number as usize * self.slot_stride) }
    }

    /// A word of `rank`, if it has so many. The number may come from a peer, so it is asked rather than promised.
    #[inline(always)]
    pub(crate) fn claim(&self, rank: u32, number: u32) -> Option<&Claim> {
        if number as usize >= CLAIMS {
            return None;
        }
        // SAFETY: the words end the area, and the number was checked; a word is an atomic, valid zeroed.
        Some(unsafe { self.area(rank).add(self.claims_offset).cast::<Claim>().add(number as usize).as_ref() })
    }

    /// Where what belongs to `rank` begins, its [front](Front) first.
    #[inline(always)]
    pub(crate) fn area(&self, rank: u32) -> NonNull<u8> {
        if rank >= self.geometry.ranks {
            no_such_rank(rank, self.geometry.ranks);
        }
        // SAFETY: inside the region, by the check above and the contract of `new`.
        unsafe { self.base.add(rank as usize * self.rank_bytes) }
    }
}

// Apart: what prints a sentence would be in every place that asks for an area.
#[cold]
#[inline(never)]
fn no_such_rank(rank: u32, ranks: u32) -> ! {
    panic!("rank {rank} is not one of the {ranks} of this job");
}

#[cold]
#[inline(never)]
fn no_such_slot(slot: u32, slots: u32) -> ! {
    panic!("pool slot {slot} of {slots}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn areas_hold_all_their_parts_and_are_whole_pages() {
        const LOCAL: Geometry = Geometry::new(5, 64, 16, 2048);
        assert_eq!(LOCAL.slots_offset(), 512 + 64 * 128);
        assert!(LOCAL.claims_offset() >= LOCAL.slots_offset() + 16 * (64 + 2048));
        assert_eq!(LOCAL.rank_bytes(), LOCAL.claims_offset() + 8 * CLAIMS);
        assert_eq!(LOCAL.rank_bytes() % PAGE_BYTES, 0);
        assert_eq!(LOCAL.bytes(), 5 * LOCAL.rank_bytes());
    }

    #[test]
    #[should_panic(expected = "power of two")]
    fn a_ring_of_an_odd_size_is_refused() {
        Geometry::new(2, 48, 16, 2048);
    }
}

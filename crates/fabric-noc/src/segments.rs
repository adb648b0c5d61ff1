//! Memory of ranks that lies outside the chip behind another I/O subsystem than their own: which, by address.

use sim::{Chip, Memory, Place};

use crate::portal::memory_of;

/// Segments, each with the place that its bytes are behind. There are few, and the last one said counts.
#[derive(Default)]
pub(crate) struct Segments(Vec<(usize, usize, Place)>);

impl Segments {
    pub(crate) fn place(&mut self, base: *const u8, bytes: usize, place: Place) {
        self.0.push((base.addr(), bytes, place));
    }

    /// The place behind which an address lies, if that was said.
    pub(crate) fn of(&self, address: *const u8) -> Option<Place> {
        let within = |(base, bytes, _): &&(usize, usize, Place)| address.addr().wrapping_sub(*base) < *bytes;
        self.0.iter().rev().find(within).map(|(.., place)| *place)
    }
}

/// The place of the I/O subsystem of that number, if it has memory of its own.
pub(crate) fn behind(chip: &Chip, subsystem: u32) -> Option<Place> {
    let place = chip.io_place(subsystem as u16);
    (memory_of(chip, place) != Memory::Scratchpad).then_some(place)
}

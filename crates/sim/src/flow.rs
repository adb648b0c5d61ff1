//! A transfer on its way: how it is cut into packets, and how many of them may be on the way at once.
//!
//! A flow needs memory for its credits, not for its packets: those that are on the way exist only as events.

use std::collections::VecDeque;

use crate::ddr::{Layout, Way};
use crate::machine::{Memory, Mover, Transfer, Tree};
use crate::topology::{Interfaces, Route};
use crate::{Rate, Time};

/// A transfer between being asked for and having landed.
pub(crate) struct Flow {
    pub(crate) transfer: Transfer,
    pub(crate) interfaces: Interfaces,
    pub(crate) route: Route,
    /// Time a credit needs back, as long as the way there; known when the route is.
    pub(crate) way_back: Time,
    /// Time that a flit takes on the slowest link of the route; known when that is.
    pub(crate) slowest: Rate,
    /// What the source has still to take out of its memory.
    pub(crate) fetched: Pieces,
    /// The same cut, as far as packets have come to the destination's memory.
    pub(crate) deposited: Pieces,
    /// Bytes that were given to the source's interface.
    pub(crate) sent: u64,
    /// Bytes whose time of arrival in memory is known.
    pub(crate) arrived: u64,
    pub(crate) credits: Credits,
    /// Its way through the memory outside the chip, at the end that has one.
    pub(crate) way: Way,
    /// The ways of a transfer that has several destinations, in place of the route.
    pub(crate) tree: Option<Box<Tree>>,
    /// Whether one of leaving and landing has happened: the other is then the flow's end. Without any latency between source and
    /// destination both are at one time, and either may come first.
    pub(crate) half_over: bool,
}

/// Cuts bytes into rows and rows into packets.
#[derive(Clone, Copy)]
pub(crate) struct Pieces {
    /// Rows that were not begun, of `row` bytes each, the first `longer` of them one byte more.
    rows: u32,
    longer: u32,
    row: u64,
    /// Bytes left in the row that was begun.
    rest: u64,
}

/// A packet's payload, and whether a row begins with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cut {
    pub(crate) payload: u16,
    pub(crate) begins_row: bool,
}

impl Flow {
    /// A flow that has not begun; the route is found when it does.
    pub(crate) fn new(transfer: Transfer, layout: Layout, interfaces: Interfaces, credits: u16) -> Self {
        let pieces = Pieces::new(transfer.bytes, transfer.rows);
        Self {
            transfer,
            interfaces,
            route: Route::default(),
            way_back: 0,
            slowest: Rate::default(),
            fetched: pieces,
            deposited: pieces,
            sent: 0,
            arrived: 0,
            credits: Credits::new(credits),
            way: Way::new(layout),
            tree: None,
            half_over: false,
        }
    }
}

impl Transfer {
    /// Whether the next packet is fetched when the interface is rid of the one before. Otherwise fetching takes time of its own
    /// and goes on beside the sending.
    pub(crate) fn is_paced_by_interface(&self) -> bool {
        self.mover == Mover::Dma && self.from_memory == Memory::Scratchpad
    }
}

impl Pieces {
    pub(crate) fn new(bytes: u64, rows: u32) -> Self {
        // A row has at least one byte; nothing at all is one empty row, so that it travels too.
        let rows = u64::from(rows).min(bytes).max(1);
        Self { rows: rows as u32, longer: (bytes % rows) as u32, row: bytes / rows, rest: 0 }
    }

    pub(crate) fn next(&mut self, packet_payload: u16) -> Cut {
        let begins_row = self.rest == 0;
        if begins_row {
            self.rest = self.row + u64::from(self.longer > 0);
            self.longer = self.longer.saturating_sub(1);
            self.rows -= 1;
        }
        let payload = self.rest.min(u64::from(packet_payload)) as u16;
        self.rest -= u64::from(payload);
        Cut { payload, begins_row }
    }

    /// Bytes of the row that are still to come.
    pub(crate) fn rest(&self) -> u64 {
        self.rest
    }

    pub(crate) fn is_done(&self) -> bool {
        self.rest == 0 && self.rows == 0
    }
}

/// The right to have packets on the way. A packet takes a credit when it is fetched and returns it when it has left the network.
#[derive(Default)]
pub(crate) struct Credits {
    unused: u16,
    /// When credits come back, as far as that is known, in order: packets of a flow do not overtake each other.
    returning: VecDeque<Time>,
    /// The next packet could be fetched from this time on, but there is no credit in sight.
    stalled: Option<Time>,
}

impl Credits {
    pub(crate) fn new(credits: u16) -> Self {
        Self { unused: credits, ..Self::default() }
    }

    /// Takes a credit for a packet that can be fetched at `from`. When it can be, or nothing: then [`Self::give_back`] tells.
    pub(crate) fn take(&mut self, from: Time) -> Option<Time> {
        if self.unused > 0 {
            self.unused -= 1;
            return Some(from);
        }
        match self.returning.pop_front() {
            Some(back) => Some(from.max(back)),
            None => {
                self.stalled = Some(from);
                None
            }
        }
    }

    /// A credit will be back at `at`. When the packet that waited for it can be fetched, if one did.
    pub(crate) fn give_back(&mut self, at: Time) -> Option<Time> {
        match self.stalled.take() {
            Some(from) => Some(from.max(at)),
            None => {
                self.returning.push_back(at);
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cuts(bytes: u64, rows: u32) -> Vec<(u16, bool)> {
        let mut pieces = Pieces::new(bytes, rows);
        let mut cuts = Vec::new();
        while !pieces.is_done() {
            let cut = pieces.next(100);
            cuts.push((cut.payload, cut.begins_row));
        }
        cuts
    }

    #[test]
    fn bytes_are_cut_into_full_packets_and_a_rest() {
        assert_eq!(cuts(250, 1), [(100, true), (100, false), (50, false)]);
    }

    #[test]
    fn a_packet_never_holds_two_rows() {
        assert_eq!(cuts(250, 2), [(100, true), (25, false), (100, true), (25, false)]);
        assert_eq!(cuts(7, 3), [(3, true), (2, true), (2, true)]);
    }

    #[test]
    fn nothing_is_one_empty_packet_and_more_rows_than_bytes_are_one_byte_each() {
        assert_eq!(cuts(0, 5), [(0, true)]);
        assert_eq!(cuts(2, 5), [(1, true), (1, true)]);
    }

    #[test]
    fn a_credit_that_is_known_to_come_back_delays_and_one_that_is_not_stalls() {
        let mut credits = Credits::new(1);
        assert_eq!(credits.take(10), Some(10));
        assert_eq!(credits.take(20), None);
        assert_eq!(credits.give_back(50), Some(50));
        assert_eq!(credits.give_back(60), None);
        assert_eq!(credits.take(55), Some(60));
    }
}

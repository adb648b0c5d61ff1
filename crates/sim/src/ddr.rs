//! Rows of a memory outside the chip: what an access takes, given what is open, and where the bytes of a transfer lie.
//!
//! **Law.** A controller serves one access after the other. An access is to bytes of one row. It takes its bursts, whole ones, and before them
//! the opening of the row if its bank has another one open, and a turn if the access before went the other way. While the bursts of a transfer's access run, the
//! row that the transfer goes on to is opened already: where bytes lie side by side only what the bursts do not hide is lost.

use crate::chip::Rows;
use crate::{Rate, Time};

/// Where the bytes of a transfer lie in a memory: rows of bytes, some distance apart, in planes some distance apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Layout {
    /// The first byte.
    pub offset: u64,
    /// From one contiguous piece to the next.
    pub stride: u64,
    /// Pieces of a plane; 0: all of them.
    pub pieces: u32,
    /// From one plane to the next.
    pub plane: u64,
}

impl Layout {
    /// The first byte of a piece.
    fn piece(&self, number: u32) -> u64 {
        let pieces = if self.pieces == 0 { u32::MAX } else { self.pieces };
        self.offset + u64::from(number / pieces) * self.plane + u64::from(number % pieces) * self.stride
    }
}

/// The banks of a memory.
pub(crate) struct Banks {
    /// The open row of each, plus one; 0: none.
    open: Vec<u64>,
    writes: bool,
}

/// What an access takes: first what is lost, then the bursts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Access {
    pub(crate) lost: Time,
    pub(crate) bursts: Time,
}

impl Banks {
    pub(crate) fn new(rows: &Rows) -> Self {
        Self { open: vec![0; rows.banks as usize], writes: false }
    }

    /// Accesses bytes from `from` to `to` of one row. `hidden` is how long the row could be opened before: the bursts of the transfer's access just
    /// before this one, if it went up to here.
    pub(crate) fn access(
        &mut self,
        rows: &Rows,
        per_byte: Rate,
        (from, to): (u64, u64),
        writes: bool,
        hidden: Time,
    ) -> Access {
        let row = from / u64::from(rows.bytes);
        let open = &mut self.open[(row % u64::from(rows.banks)) as usize];
        let opening = if *open == row + 1 { 0 } else { rows.activate.saturating_sub(hidden) };
        *open = row + 1;
        let turn = if self.writes == writes { 0 } else { rows.turn };
        self.writes = writes;
        Access { lost: opening + turn, bursts: bursts(rows, per_byte, from, to) }
    }
}

/// The time of all bursts that these bytes touch.
pub(crate) fn bursts(rows: &Rows, per_byte: Rate, from: u64, to: u64) -> Time {
    let burst = u64::from(rows.burst);
    per_byte.of((to.div_ceil(burst) - from / burst) * burst)
}

/// A transfer's way through a memory with rows.
#[derive(Clone, Copy, Default)]
pub(crate) struct Way {
    layout: Layout,
    begun: u32,
    /// The first byte that no packet has taken or brought.
    next: u64,
    /// Of a read: the first byte that was not asked for. Of a write: the first that waits to be written.
    reached: u64,
    /// Where the last access began, when its first burst came, and how long its bursts took.
    access: (u64, Time, Time),
    /// Of a read that asks for a little at a time: when all that it asked for has come.
    came: Time,
}

/// What a packet needs of the memory: bytes from one address to another, all in one row.
pub(crate) type Span = (u64, u64);

impl Way {
    pub(crate) fn new(layout: Layout) -> Self {
        Self { layout, ..Self::default() }
    }

    /// A packet of `payload` bytes is next, the first of its piece or not.
    pub(crate) fn packet(&mut self, payload: u16, begins_piece: bool) {
        if begins_piece {
            let first = self.layout.piece(self.begun);
            if self.begun == 0 || first != self.next {
                // Nothing of the row was known before.
                self.access.2 = 0;
                self.reached = first;
            }
            self.next = first;
            self.begun += 1;
        }
        self.next += u64::from(payload);
    }

    /// What must still be read before the packet is complete: as much of the row as the piece has, of which `rest` bytes come after the packet.
    pub(crate) fn unread(&self, rows: &Rows, rest: u64) -> Option<Span> {
        (self.reached < self.next).then(|| (self.reached, row_end(rows, self.reached).min(self.next + rest)))
    }

    /// What can be written now: up to the end of a row, or of the piece if the packet was its last.
    pub(crate) fn unwritten(&self, rows: &Rows, ends_piece: bool) -> Option<Span> {
        let end = row_end(rows, self.reached).min(self.next);
        let complete = end < self.next || ends_piece || end == row_end(rows, self.reached);
        (self.reached < end && complete).then_some((self.reached, end))
    }

    /// How long the bursts of the transfer's access just before this one hide its opening.
    pub(crate) fn hidden(&self) -> Time {
        self.access.2
    }

    /// An access was served: its bursts come from `at` on.
    pub(crate) fn served(&mut self, (from, to): Span, at: Time, bursts: Time) {
        self.access = (from, at, bursts);
        self.reached = to;
    }

    /// When the bytes of the packet have come, of an access that reads them; not before a transfer that has asked only now can have them.
    pub(crate) fn come(&mut self, rows: &Rows, per_byte: Rate, now: Time, payload: u16) -> Time {
        let (from, at, _) = self.access;
        let served = at + bursts(rows, per_byte, from, self.next) + rows.latency;
        if rows.asked == 0 {
            return served.max(now);
        }
        // One question after the other: each waits for its answer.
        let questions = u64::from(payload).div_ceil(u64::from(rows.asked));
        let answered = self.came.max(now) + questions * rows.latency + per_byte.of(payload.into());
        self.came = answered.max(served);
        self.came
    }
}

fn row_end(rows: &Rows, address: u64) -> u64 {
    let bytes = u64::from(rows.bytes);
    (address / bytes + 1) * bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A nanosecond is a tick here, and a byte takes one.
    const ROWS: Rows =
        Rows { bytes: 2048, banks: 4, burst: 64, activate: 100, turn: 30, latency: 7, asked: 0 };
    const BYTE: Rate = Rate::ticks(1);

    fn access(banks: &mut Banks, from: u64, to: u64, writes: bool, hidden: Time) -> (Time, Time) {
        let Access { lost, bursts } = banks.access(&ROWS, BYTE, (from, to), writes, hidden);
        (lost, bursts)
    }

    #[test]
    fn bytes_take_the_bursts_that_they_touch() {
        for (from, to, count) in
            [(0, 64, 1), (0, 65, 2), (63, 65, 2), (4, 60, 1), (60, 60 + 256, 5), (0, 2048, 32)]
        {
            assert_eq!(bursts(&ROWS, BYTE, from, to), count * 64, "{from} to {to}");
        }
    }

    #[test]
    fn a_row_is_opened_once_until_its_bank_opens_another() {
        let mut banks = Banks::new(&ROWS);
        assert_eq!(access(&mut banks, 0, 64, false, 0), (100, 64));
        assert_eq!(access(&mut banks, 1024, 1088, false, 0), (0, 64));
        // Other banks.
        assert_eq!(access(&mut banks, 2048, 2112, false, 0), (100, 64));
        assert_eq!(access(&mut banks, 64, 128, false, 0), (0, 64));
        // The same bank.
        assert_eq!(access(&mut banks, 4 * 2048, 4 * 2048 + 64, false, 0), (100, 64));
        assert_eq!(access(&mut banks, 0, 64, false, 0), (100, 64));
    }

    #[test]
    fn changing_between_reading_and_writing_costs_a_turn() {
        let mut banks = Banks::new(&ROWS);
        assert_eq!(access(&mut banks, 0, 64, true, 0), (130, 64));
        assert_eq!(access(&mut banks, 64, 128, true, 0), (0, 64));
        assert_eq!(access(&mut banks, 0, 64, false, 0), (30, 64));
    }

    #[test]
    fn bursts_hide_the_opening_of_the_next_row_as_far_as_they_last() {
        let mut banks = Banks::new(&ROWS);
        assert_eq!(access(&mut banks, 0, 2048, false, 0), (100, 2048));
        assert_eq!(access(&mut banks, 2048, 2112, false, 2048), (0, 64));
        assert_eq!(access(&mut banks, 4096, 4160, false, 64), (36, 64));
    }

    /// All accesses of a read in packets of 256 bytes.
    fn read(layout: Layout, piece: u64, pieces: u32) -> Vec<Span> {
        let mut way = Way::new(layout);
        let mut spans = Vec::new();
        for _ in 0..pieces {
            let mut left = piece;
            while left > 0 {
                let payload = left.min(256);
                way.packet(payload as u16, left == piece);
                left -= payload;
                while let Some(span) = way.unread(&ROWS, left) {
                    way.served(span, 0, 1);
                    spans.push(span);
                }
            }
        }
        spans
    }

    #[test]
    fn a_read_asks_for_as_much_of_a_row_as_a_piece_has() {
        let apart = Layout { offset: 100, stride: 20_480, ..Layout::default() };
        assert_eq!(read(apart, 760, 2), [(100, 860), (20_580, 21_340)]);
        let across = Layout { offset: 1900, stride: 10_000, ..Layout::default() };
        assert_eq!(read(across, 760, 1), [(1900, 2048), (2048, 2660)]);
        let planes = Layout { offset: 0, stride: 4096, pieces: 2, plane: 100_000 };
        assert_eq!(read(planes, 100, 3), [(0, 100), (4096, 4196), (100_000, 100_100)]);
    }

    #[test]
    fn a_write_waits_for_the_end_of_a_row_or_of_a_piece() {
        let mut way = Way::new(Layout { offset: 2000, ..Layout::default() });
        way.packet(40, true);
        assert_eq!(way.unwritten(&ROWS, false), None);
        way.packet(256, false);
        assert_eq!(way.unwritten(&ROWS, false), Some((2000, 2048)));
        way.served((2000, 2048), 0, 48);
        assert_eq!(way.unwritten(&ROWS, false), None);
        assert_eq!(way.unwritten(&ROWS, true), Some((2048, 2296)));
        way.served((2048, 2296), 0, 256);
        assert_eq!(way.unwritten(&ROWS, true), None);
    }
}

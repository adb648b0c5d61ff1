//! When a board's memory may be used again: what a member knows of the turns that all others are done with, of those that it has left open itself, and of how the hall, the rooms and the notes were last used.
//!
//! Nothing here is shared: each member keeps this for itself, and comes to the same as the others by the order of turns, which is the same at all, and by what they have agreed on.

use core::cell::{Cell, RefCell};

use smallvec::SmallVec;

use super::board::{NOTE_BYTES, ROOMS, SLOTS};

/// What a member knows of its board's memory.
#[derive(Debug)]
pub(crate) struct Reuse {
    /// Notes of a seat.
    notes: u64,
    /// A turn that all members are known to be done with.
    known: Cell<u64>,
    hall_use: Cell<HallUse>,
    chain_use: Cell<ChainUse>,
    row: Cell<Row>,
    /// Turns that this member has left open, in their order, and the last that it is done with.
    open: RefCell<SmallVec<[u64; 4]>>,
    finished: Cell<u64>,
    /// Those of them that are long, and go on one after the other.
    line: RefCell<SmallVec<[u64; 4]>>,
    /// The first and the last turn that was left open since all were known to be done with such.
    loose: Cell<(u64, u64)>,
}

/// How a hall was last used.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct HallUse {
    pub turn: u64,
    pub way: HallWay,
    /// The last turn before that, and before those right before it that used it in the same way.
    other: u64,
}

/// What may follow without a wait depends on it.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) enum HallWay {
    /// Nothing is known of its places.
    #[default]
    Pieces,
    /// All have combined values there. Then its places are free for the next values, except the result's, which is free when all have come again.
    Reduction,
    /// One of so many slots was filled: those of other turns are free, or are what these have filled.
    Slots(u64),
}

/// What the pieces of a chain are, that pass through all rooms of a member.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) enum Pieces {
    /// Prefixes, each for the next member.
    #[default]
    Prefixes,
    /// Data that one of two members gives the other.
    Given,
    /// Data that both give each other, through the rooms of both.
    Exchanged,
}

/// How the rooms of this member were last used by chains.
#[derive(Clone, Copy, Default, Debug)]
struct ChainUse {
    /// The last turn that was one, and the last before it and those right before it that was none, or one of other pieces.
    turn: u64,
    other: u64,
    pieces: Pieces,
    /// The last step in which each slot was used.
    slots: [u64; SLOTS as usize],
}

/// Blocking scans, in one turn right after the other: from the second on a member's notes are read by the next one alone.
#[derive(Clone, Copy, Default, Debug)]
struct Row {
    /// The first of them, of which all after a member may read its note, and the last.
    first: u64,
    last: u64,
    /// A turn that the next member is known to be done with.
    passed: u64,
}

impl Reuse {
    pub fn new(notes: u64) -> Reuse {
        Reuse {
            notes,
            known: Cell::new(0),
            hall_use: Cell::default(),
            chain_use: Cell::default(),
            row: Cell::default(),
            open: RefCell::default(),
            finished: Cell::new(0),
            line: RefCell::default(),
            loose: Cell::default(),
        }
    }

    /// The turn that all must be done with before this member may lay so many bytes down.
    pub fn needs(&self, turn: u64, bytes: u64) -> u64 {
        if bytes <= NOTE_BYTES {
            turn.saturating_sub(self.notes)
        } else {
            // A chain uses all rooms, when all are done with what was begun before it.
            let chain = self.chain_use.get().turn;
            turn.saturating_sub(ROOMS).max(if chain < turn { chain } else { 0 })
        }
    }

    /// True if all are known to be done with a turn.
    #[inline]
    pub fn is_passed(&self, turn: u64) -> bool {
        self.known.get() >= turn && (self.loose.get().1 == 0 || self.is_closed(turn))
    }

    /// True if this member is done with a turn and those before, if it has left any open: it may not have looked yet at what all others are done with.
    pub fn is_closed(&self, turn: u64) -> bool {
        self.open.borrow().first().is_none_or(|first| *first > turn)
    }

    /// This member has learnt that all others are done with a turn.
    #[inline]
    pub fn has_passed(&self, turn: u64) {
        self.known.set(self.known.get().max(turn));
    }

    /// This member uses the hall in this turn, or cannot tell whether others do. When it was used before.
    pub fn enter_hall(&self, turn: u64) -> HallUse {
        self.hall_use.replace(HallUse { turn, ..HallUse::default() })
    }

    /// How the hall was last used.
    pub fn hall_use(&self) -> HallUse {
        self.hall_use.get()
    }

    /// All members have combined their values in the hall in this turn, and know it of each other.
    pub fn has_reduced(&self, turn: u64) {
        self.hall_use.set(HallUse { turn, way: HallWay::Reduction, other: 0 });
    }

    /// A slot of the hall is used in this turn, one of so many. The turn that all must be done with before anybody fills it.
    pub fn enter_slot(&self, turn: u64, slots: u64) -> u64 {
        let (used, way) = (self.hall_use.get(), HallWay::Slots(slots));
        let other = if used.way == way { used.other } else { used.turn };
        self.hall_use.set(HallUse { turn, way, other });
        other.max(turn.saturating_sub(slots))
    }

    /// The turn that all must be done with before this member may lay down a piece of a chain in this turn. Of those right before it that had the same pieces the slots are free that [were read](super::board::Board::is_free); pieces that
    /// are exchanged leave no trace of that.
    pub fn needs_for_chain(&self, turn: u64, pieces: Pieces) -> u64 {
        let before = self.chain_use.get();
        let goes_on = before.turn + 1 == turn && before.pieces == pieces && pieces != Pieces::Exchanged;
        if goes_on { before.other } else { turn - 1 }
    }

    /// This turn is a chain, and all are done with what [it needs](Reuse::needs_for_chain): until then, what was begun before may still wait for room among the pieces of an earlier one.
    pub fn enter_chain(&self, turn: u64, pieces: Pieces) {
        let other = self.needs_for_chain(turn, pieces);
        self.chain_use.set(ChainUse { turn, other, pieces, ..self.chain_use.get() });
    }

    /// This turn is a blocking scan, of whatever length: that is what members agree on who do not on the length.
    pub fn enter_row(&self, turn: u64) {
        let row = self.row.get();
        self.row.set(Row { first: if row.last + 1 == turn { row.first } else { turn }, last: turn, ..row });
    }

    /// True if this turn is a blocking scan, and so was the one before.
    pub fn is_in_row(&self, turn: u64) -> bool {
        let row = self.row.get();
        row.last == turn && row.first < turn
    }

    /// The turn that the next member must be done with before this one may lay down its prefix in this turn, a scan of a few bytes; none if all others must be done with what lay there.
    #[inline]
    pub fn needs_of_next(&self, turn: u64) -> Option<u64> {
        let (row, before) = (self.row.get(), turn.saturating_sub(self.notes));
        (row.last + 1 >= turn && before > row.first).then_some(before)
    }

    /// True if the next member is done with a turn; `done` is the last that it says it is done with.
    #[inline]
    pub fn is_passed_by_next(&self, turn: u64, done: impl FnOnce() -> u64) -> bool {
        let mut row = self.row.get();
        if row.passed < turn {
            row.passed = done();
            self.row.set(row);
        }
        row.passed >= turn
    }

    /// This member fills a slot in this step.
    pub fn fill(&self, slot: u64, step: u64) {
        let mut chain = self.chain_use.get();
        chain.slots[slot as usize] = step;
        self.chain_use.set(chain);
    }

    /// The last step in which a slot was filled.
    pub fn filled_in(&self, slot: u64) -> u64 {
        self.chain_use.get().slots[slot as usize]
    }

    /// This member is done with a turn. The last of which it is done with all before, too.
    #[inline]
    pub fn finish(&self, turn: u64) -> u64 {
        if self.loose.get().1 == 0 { turn } else { self.close(turn) }
    }

    #[cold]
    fn close(&self, turn: u64) -> u64 {
        let mut open = self.open.borrow_mut();
        open.retain(|other| *other != turn);
        self.finished.set(self.finished.get().max(turn));
        open.first().map_or(self.finished.get(), |first| first - 1)
    }

    /// This member leaves a turn open, and may begin others before it is done with it; so do all members.
    #[cold]
    pub fn leave_open(&self, turn: u64) {
        self.open.borrow_mut().push(turn);
        let (first, last) = self.loose.get();
        self.loose.set((if self.is_passed(last) { turn } else { first }, turn));
        self.finished.set(self.finished.get().max(turn - 1));
    }

    /// A turn that is left open is long: it goes on when those before it are done.
    pub fn line_up(&self, turn: u64) {
        self.line.borrow_mut().push(turn);
    }

    pub fn is_first_in_line(&self, turn: u64) -> bool {
        self.line.borrow().first() == Some(&turn)
    }

    pub fn has_line(&self) -> bool {
        !self.line.borrow().is_empty()
    }

    /// It is done, or given up.
    pub fn leave_line(&self, turn: u64) {
        self.line.borrow_mut().retain(|other| *other != turn);
    }

    /// All members have begun a turn: they are done with the ones before, except those that they may have left open.
    #[inline]
    pub fn has_met(&self, turn: u64) {
        let (first, last) = self.loose.get();
        self.has_passed(if self.is_passed(last) { turn - 1 } else { (turn - 1).min(first - 1) });
    }
}

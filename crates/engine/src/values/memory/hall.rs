//! The hall of a board: shared memory through which long data pass where members share cores.
//!
//! ```text
//! | filled | result | arrivals | nodes | progress of the members | places |
//! ```
//!
//! To read another process's memory needs the system, for each page and each call; where every core serves several members that is most of the time. So long data are copied into a
//! *place* by one member and out of it by the others, in pieces; those that are not so long in one piece, each turn's in a *slot* of its own.
//!
//! **Invariant:** a piece stays in its place until all who need it have read it. Whoever writes knows that: from the others' [progress](Hall::progress) in a broadcast, and in a reduction because all have
//! arrived at a round who have read the result of the one before.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::turns;
use crate::values::datatype::Datatype;
use crate::values::memory::Region;

/// Members that write to different lines do not take them from each other: a line, and the one that is fetched with it.
const LINE: usize = 128;

/// Bytes of all places: they are taken from the machine when first used.
const BYTES: usize = 4 << 20;

/// The longest piece of a value that is combined: so much of it, and of what it is combined with, stays in a core's cache.
const MOST_COMBINED: usize = 128 << 10;

/// A piece of a broadcast: those on other cores begin with it while the next one is written.
pub(crate) const SENT: u64 = 128 << 10;

/// Pieces of one that may be written before the first has been read by all.
pub(crate) const SENT_AHEAD: u64 = BYTES as u64 / SENT;

/// Slots for data that are filled by one turn each, and the bytes of one. The more slots there are, the further members may be ahead of each other; but what whoever runs finds in them should lie in a core's
/// cache, and on few pages.
const SLOTS: [(u64, u64); 4] = [(128, 8 << 10), (32, 64 << 10), (8, 512 << 10), (2, 2 << 20)];

#[repr(C)]
struct Front {
    filled: Apart<AtomicU64>,
    result: Apart<AtomicU64>,
    arrivals: Apart<AtomicU64>,
}

/// Where two parts of the members meet. Named after the first member of the right part.
#[repr(C)]
struct Node {
    met: AtomicU64,
    /// The places in which the left and the right part have left what they have combined.
    place: [AtomicU32; 2],
}

#[repr(C, align(128))]
struct Apart<T>(T);

/// The memory, as one member has it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hall {
    base: *mut u8,
    members: u32,
}

/// A step of a turn, in the order of all steps of all turns.
pub(crate) fn step(turn: u64, steps: u64) -> u64 {
    turn << 24 | steps
}

/// The turn of a step.
pub(super) fn turn_of(step: u64) -> u64 {
    step >> 24
}

impl Hall {
    /// Bytes of the hall of so many members.
    pub const fn bytes(members: u32) -> usize {
        Hall::front_bytes(members) + BYTES
    }

    const fn front_bytes(members: u32) -> usize {
        size_of::<Front>() + 2 * members as usize * LINE
    }

    /// The hall in memory of that many bytes, which lives as long as the board that it belongs to and is zero at first.
    pub(super) fn new(base: *mut u8, members: u32) -> Hall {
        Hall { base, members }
    }

    /// Bytes of a value that are combined at a time.
    pub fn combined(&self) -> u64 {
        let fair = BYTES / (self.members as usize + 1) / LINE * LINE;
        fair.min(MOST_COMBINED) as u64
    }

    /// The place that belongs to a member in a reduction, for elements that fit into it.
    pub fn place(&self, member: u32, count: u64, datatype: &Datatype) -> Region {
        assert!(member <= self.members && count * datatype.size() <= self.combined(), "elements of a place");
        self.at(u64::from(member) * self.combined(), count, datatype)
    }

    /// The place of the result.
    pub fn result(&self, count: u64, datatype: &Datatype) -> Region {
        self.place(self.members, count, datatype)
    }

    /// The place of a piece of a broadcast.
    pub fn sent(&self, piece: u64, bytes: u64, byte: &Datatype) -> Region {
        assert!(bytes <= SENT, "bytes of a piece");
        self.at(piece % SENT_AHEAD * SENT, bytes, byte)
    }

    /// How many slots there are for so many bytes, if any holds them.
    pub fn slots(bytes: u64) -> Option<u64> {
        SLOTS.into_iter().find(|(_, each)| bytes <= *each).map(|(slots, _)| slots)
    }

    /// Bytes of a turn's slot, one of so many, from byte `from` on.
    pub fn slot(&self, turn: u64, slots: u64, (from, bytes): (u64, u64), byte: &Datatype) -> Region {
        let each = SLOTS.into_iter().find(|(many, _)| *many == slots).map_or(0, |(_, each)| each);
        assert!(from + bytes <= each, "bytes of a slot");
        self.at(turn % slots * each + from, bytes, byte)
    }

    fn at(&self, from: u64, count: u64, datatype: &Datatype) -> Region {
        let places = self.base.wrapping_add(Hall::front_bytes(self.members));
        Region::at(places.wrapping_add(from as usize), count, datatype)
    }

    /// The last piece of a broadcast that was written.
    pub fn filled(&self) -> &AtomicU64 {
        &self.front().filled.0
    }

    /// The last result that was written.
    pub fn results(&self) -> &AtomicU64 {
        &self.front().result.0
    }

    /// The last piece of a broadcast that a member has read.
    pub fn progress(&self, member: u32) -> &AtomicU64 {
        let place = self.line(self.members + member).cast::<AtomicU64>();
        // SAFETY: a line of its own in memory that lives as long as the board, and valid zeroed.
        unsafe { &*place }
    }

    /// True for the last who arrives in a round.
    pub fn is_last(&self) -> bool {
        turns::is_last(&self.front().arrivals.0, self.members.into())
    }

    /// The place in which the other part of a node has left its share of a step, if it has.
    pub fn other_part(&self, node: u32, step: u64, is_right: bool) -> Option<u32> {
        let node = self.node(node);
        turns::has_met(&node.met, step).then(|| node.place[usize::from(!is_right)].load(Ordering::Relaxed))
    }

    /// This member's part has left its share of a step in a place. The place of the other part, if that was there before: then this member goes on with both.
    pub fn meet(&self, node: u32, step: u64, is_right: bool, place: u32) -> Option<u32> {
        let node = self.node(node);
        node.place[usize::from(is_right)].store(place, Ordering::Relaxed);
        turns::meets(&node.met, step).then(|| node.place[usize::from(!is_right)].load(Ordering::Relaxed))
    }

    fn front(&self) -> &Front {
        // SAFETY: the memory begins with it, lives as long as the board, and is valid zeroed.
        unsafe { &*self.base.cast::<Front>() }
    }

    fn node(&self, node: u32) -> &Node {
        assert!(node < self.members, "a node of the hall");
        // SAFETY: as above.
        unsafe { &*self.line(node).cast::<Node>() }
    }

    fn line(&self, line: u32) -> *mut u8 {
        assert!(line < 2 * self.members, "a line of the hall");
        self.base.wrapping_add(size_of::<Front>() + line as usize * LINE)
    }
}

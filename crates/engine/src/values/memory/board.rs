//! The board of a communicator: memory that its members share, where each has a seat to lay down what the others read in a collective.
//!
//! ```text
//! | arrivals | sleepers | who is asleep, a word a member | seat of 0 | seat of 1 | ... | the middle | the hall, if there is one |
//! seat: | standing | 32 to 128 notes of 128 bytes | ROOMS rooms |
//! ```
//!
//! Collectives on a board are counted: its *turns*. In a turn a member may lay down data at its seat, short ones in the turn's note and longer ones in the turn's room, and then
//! publishes the note's mark: turn and kind. Others read what lies under the mark that they expect. The *middle* is a seat that the last who arrives writes to.
//!
//! **Invariant:** what was laid down in a turn stays until all members are done with that turn. A member says of itself that it is done, and lays something down in a note
//! or room only when all are done with the turn that used it before ([`Reuse::needs`]): so one reads what nobody writes, and this file's copies are safe to call. In a *chain* a
//! member's rooms are for pieces that one other member alone reads, and that may be written over when it has.

use alloc::rc::Rc;
use alloc::vec::Vec;
use core::cell::{Cell, RefCell, UnsafeCell};
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use fabric::{Fabric, Key, PortalError};
use smallvec::SmallVec;

use super::groups::Groups;
use super::hall::{Hall, turn_of};
use super::reuse::Reuse;
use super::tried::{Going, Tried};
use super::{lines, turns};
use crate::values::datatype::Datatype;
use crate::values::memory::{Kernel, Region};
use crate::values::trial::Copies;

/// Members that write to different lines do not take them from each other: a line, and the one that is fetched with it.
const LINE: usize = 128;

/// Notes of a seat, used in turn: so far a member may be ahead of the others in collectives that need not wait for them. Where members share a core that is how many of them one does before it
/// lets another run. A build that checks itself has fewer, so that its tests come round.
const NOTES_MOST: u64 = if cfg!(debug_assertions) { 32 } else { 128 };

/// The fewest.
const NOTES_LEAST: u64 = 32;

/// Bytes that the notes of all seats may take together.
const NOTES_TOGETHER: usize = 4 << 20;

/// Rooms of a seat.
pub(crate) const ROOMS: u64 = 4;

/// Slots for the pieces of a chain in the rooms of a seat.
pub(super) const SLOTS: u64 = 2 * ROOMS;

/// Bytes that fit into a note.
pub(crate) const NOTE_BYTES: u64 = 112;

/// Where the word lies in a note's data by which the parts of a transfer are claimed: behind the names of memory.
const CLAIMS: usize = 2 * Key::BYTES;

/// The longest room: longer data are better read where they lie.
const ROOM_MOST: usize = 32 << 10;

/// The same between two, who write where they have read last.
const ROOM_MOST_OF_TWO: usize = 64 << 10;

/// The shortest.
const ROOM_LEAST: usize = 2 << 10;

/// Bytes that the first room of all seats may take together.
const ROOMS_TOGETHER: usize = 1 << 20;

/// What a member lays down for a turn.
#[repr(C, align(128))]
struct Note {
    mark: AtomicU64,
    /// What it says of itself (see [`Said`]).
    said: AtomicU64,
    data: UnsafeCell<[u8; NOTE_BYTES as usize]>,
}

/// The start of the memory: all zero at first.
#[repr(C)]
struct Front {
    /// One for each note: members may be in several turns at a time.
    arrivals: [Apart<AtomicU64>; NOTES_MOST as usize],
    sleepers: Apart<AtomicU32>,
    /// Members that will not use it any more.
    left: Apart<AtomicU32>,
}

/// How a member stands.
#[repr(C)]
struct Standing {
    /// The turn that it is done with.
    done: AtomicU64,
    /// The last piece of a chain that it has laid down, and the last that it has taken of the other one's.
    laid: AtomicU64,
    taken: AtomicU64,
    /// The last phase that it has come to of a long collective under way.
    phase: AtomicU64,
    /// It reads what others have named.
    reading: AtomicU32,
}

/// On lines of its own.
#[repr(C, align(128))]
struct Apart<T>(T);

const _: () = assert!(
    CLAIMS + size_of::<AtomicU64>() <= NOTE_BYTES as usize
        && (core::mem::offset_of!(Note, data) + CLAIMS).is_multiple_of(align_of::<AtomicU64>())
);
const _: () = assert!(size_of::<Note>() == LINE && size_of::<Front>() == (NOTES_MOST as usize + 2) * LINE);

/// What a note says beside its mark.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Said {
    /// Of the data; of one member's block where there is one for each.
    pub bytes: u64,
    /// The member has failed, and takes part without data.
    pub failed: bool,
    /// So has one of those for whom it speaks, or expects other bytes.
    pub spoilt: bool,
    /// Which way long data go between two.
    pub going: Going,
}

const FAILED: u64 = 1 << 63;
const SPOILT: u64 = 1 << 62;
const NOW_TWICE: u64 = 1 << 61;
const NEXT_TWICE: u64 = 1 << 60;

impl Said {
    /// What a member says that has not failed.
    #[inline]
    pub const fn of(bytes: u64) -> Said {
        Said { bytes, failed: false, spoilt: false, going: Going::NOTHING }
    }

    fn to_word(self) -> u64 {
        let bit = |is: bool, bit: u64| if is { bit } else { 0 };
        let Going { now, next } = self.going;
        self.bytes
            | bit(self.failed, FAILED)
            | bit(self.spoilt, SPOILT)
            | bit(now == Copies::Two, NOW_TWICE)
            | bit(next == Copies::Two, NEXT_TWICE)
    }

    fn of_word(word: u64) -> Said {
        let copies = |bit: u64| if word & bit != 0 { Copies::Two } else { Copies::One };
        Said {
            bytes: word & !(FAILED | SPOILT | NOW_TWICE | NEXT_TWICE),
            failed: word & FAILED != 0,
            spoilt: word & SPOILT != 0,
            going: Going { now: copies(NOW_TWICE), next: copies(NEXT_TWICE) },
        }
    }
}

/// The memory, as one member has it.
#[derive(Debug)]
pub(crate) struct Board {
    base: *mut u8,
    key: Key,
    me: u32,
    members: u32,
    /// Notes of a seat, a power of two; bytes of a room, and of a seat, and where the first one is: to be found once, not in every step.
    notes: u64,
    room: u64,
    seat_bytes: usize,
    first_seat: *mut u8,
    /// In which many members with a core each meet.
    pub groups: Groups,
    /// Turns that this member has begun.
    turn: Cell<u64>,
    /// The mark and the bytes of a note that it has published before it began the turn.
    laid: Cell<(u64, u64)>,
    /// When its memory may be used again.
    pub reuse: Reuse,
    /// Which way long data go, between two.
    pub tried: Tried,
    /// What all members can do, as they have agreed.
    pub ways: Ways,
    ended: Rc<Ended>,
}

/// What the members of a board have in common.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Ways {
    /// Each has a core of its own.
    pub own_cores: bool,
    /// Each can read and write the memory of all others.
    pub reach: bool,
    /// Each addresses the memory of all others: to read there costs no more than to read the board.
    pub near: bool,
    /// Each runs a barrier on all cores before it sleeps.
    pub light: bool,
    /// There is a hall behind the seats.
    pub hall: bool,
}

/// Boards that this rank has left, until their memory is given back.
#[derive(Default, Debug)]
pub(crate) struct Ended(RefCell<Vec<Left>>);

#[derive(Debug)]
struct Left {
    base: *mut u8,
    key: Key,
    /// Its members, if this one has allocated it.
    members: Option<u32>,
}

impl Ended {
    /// Gives memory back: its mapping, and the memory itself when nobody uses it any more.
    pub fn clear(&self, fabric: &dyn Fabric) {
        self.0.borrow_mut().retain(|Left { base, key, members }| {
            // Only the owner may still look at it: for the others it may be gone since they left.
            let in_use = members.is_some_and(|members| {
                // SAFETY: mapped until its owner, this rank, releases it here.
                unsafe { &(*base.cast::<Front>()).left.0 }.load(Ordering::Acquire) < members
            });
            if !in_use {
                // SAFETY: this rank has left it; if it is the owner, all have.
                unsafe { fabric.release_shared(key) };
            }
            in_use
        });
    }
}

impl Drop for Board {
    fn drop(&mut self) {
        self.front().left.0.fetch_add(1, Ordering::AcqRel);
        let members = (self.me == 0).then_some(self.members);
        self.ended.0.borrow_mut().push(Left { base: self.base, key: self.key, members });
    }
}

impl Board {
    /// Bytes of a room where there are so many members.
    pub const fn room_of(members: u32) -> u64 {
        let fair = ROOMS_TOGETHER / (members as usize + 1) / LINE * LINE;
        let most = if members == 2 { ROOM_MOST_OF_TWO } else { ROOM_MOST };
        let most = if fair < most { fair } else { most };
        (if most < ROOM_LEAST { ROOM_LEAST } else { most }) as u64
    }

    /// Notes of a seat where there are so many members.
    const fn notes_of(members: u32) -> u64 {
        let mut notes = NOTES_MOST;
        while notes > NOTES_LEAST && (members as usize + 1) * notes as usize * LINE > NOTES_TOGETHER {
            notes /= 2;
        }
        notes
    }

    /// Memory for a board, which its first member allocates, with a hall or without.
    pub fn allocate(fabric: &dyn Fabric, members: u32, hall: bool) -> Result<Key, PortalError> {
        let hall = if hall { Hall::bytes(members) } else { 0 };
        fabric.allocate_shared(Board::bytes(members) + hall).map(|shared| shared.key)
    }

    /// Memory that was allocated, and that nobody will use.
    pub fn give_up(fabric: &dyn Fabric, key: &Key) {
        // SAFETY: as said.
        unsafe { fabric.release_shared(key) };
    }

    /// The memory at a member.
    pub fn attach(fabric: &dyn Fabric, key: &Key) -> Result<*mut u8, PortalError> {
        fabric.attach_shared(key)
    }

    /// The board in memory that all members have attached.
    pub fn new(
        (base, key): (*mut u8, Key),
        (me, members): (u32, u32),
        ways: Ways,
        ended: Rc<Ended>,
    ) -> Board {
        Board {
            base,
            key,
            me,
            members,
            notes: Board::notes_of(members),
            room: Board::room_of(members),
            seat_bytes: Board::seat_bytes(members),
            first_seat: base.wrapping_add(Board::seats(members)),
            groups: Groups::of(members),
            turn: Cell::new(0),
            laid: Cell::new((0, 0)),
            reuse: Reuse::new(Board::notes_of(members)),
            tried: Tried::default(),
            ways,
            ended,
        }
    }

    pub fn members(&self) -> u32 {
        self.members
    }

    /// Bytes of a room.
    pub fn room(&self) -> u64 {
        self.room
    }

    /// The hall, where cores are shared: so those who use it never meet in groups.
    pub fn hall(&self) -> Option<Hall> {
        debug_assert!(!(self.ways.hall && self.ways.own_cores), "a hall, and a core for each");
        self.ways.hall.then(|| Hall::new(self.base.wrapping_add(Board::bytes(self.members)), self.members))
    }

    /// The seat that the last who arrives writes to.
    pub fn middle(&self) -> u32 {
        self.members
    }

    /// The turn that this member begins next.
    #[inline]
    pub fn coming_turn(&self) -> u64 {
        self.turn.get() + 1
    }

    /// The next turn: the same at all members, who begin their collectives in one order.
    pub fn next_turn(&self) -> u64 {
        self.turn.set(self.turn.get() + 1);
        self.turn.get()
    }

    /// This member has published a note for a turn that it has not begun, of a collective of so many bytes.
    #[inline]
    pub fn lays_early(&self, turn: u64, kind: u8, bytes: u64) {
        self.laid.set((mark(turn, kind), bytes));
    }

    /// True if it has: when it begins the turn, it need not do so again.
    #[inline]
    pub fn has_laid(&self, turn: u64, kind: u8, bytes: u64) -> bool {
        self.laid.get() == (mark(turn, kind), bytes)
    }

    /// True if the next member is done with a turn.
    #[inline]
    pub fn is_passed_by_next(&self, turn: u64) -> bool {
        self.reuse.is_passed_by_next(turn, || self.done(self.me + 1))
    }

    /// Bytes of a piece of a chain.
    pub fn slot_bytes(&self) -> u64 {
        self.room * ROOMS / SLOTS
    }

    /// The slot of a piece of a chain, one of so many in its turn: those of chains of the same length follow each other.
    pub fn slot_number(turn: u64, piece: u64, pieces: u64) -> u64 {
        (turn % SLOTS * pieces + piece) % SLOTS
    }

    /// A slot of a seat, for elements that fit into it.
    #[inline(never)]
    pub fn slot(&self, seat: u32, slot: u64, count: u64, datatype: &Datatype) -> Region {
        assert!(slot < SLOTS && count * datatype.size() <= self.slot_bytes(), "elements of a slot");
        Region::at(self.rooms(seat).wrapping_add((slot * self.slot_bytes()) as usize), count, datatype)
    }

    /// A room of a seat, whatever turn it is, for elements that fit into it.
    pub fn room_at(&self, seat: u32, room: u64, count: u64, datatype: &Datatype) -> Region {
        assert!(room < ROOMS && count * datatype.size() <= self.room, "elements of a room");
        Region::at(self.rooms(seat).wrapping_add((room * self.room) as usize), count, datatype)
    }

    /// True if the member that this one's pieces are for does not need what lies in a slot.
    pub fn is_free(&self, slot: u64, reader: u32) -> bool {
        let used = self.reuse.filled_in(slot);
        let reader = self.standing(reader);
        turns::reached(&reader.taken) >= used || turns::reached(&reader.done) >= turn_of(used)
    }

    /// The last piece of a chain that a member has laid down.
    pub fn laid(&self, member: u32) -> &AtomicU64 {
        &self.standing(member).laid
    }

    /// The last that it has taken.
    pub fn taken(&self, member: u32) -> &AtomicU64 {
        &self.standing(member).taken
    }

    /// The turn that a member is done with.
    #[inline]
    pub fn done(&self, member: u32) -> u64 {
        turns::reached(&self.standing(member).done)
    }

    /// This member is done with a turn; others learn of it when it is done with all before that too.
    #[inline]
    pub fn finish(&self, turn: u64) {
        self.show(&self.standing(self.me).done, self.reuse.finish(turn));
    }

    /// The last phase of a long collective that a member has come to.
    pub fn phase(&self, member: u32) -> &AtomicU64 {
        &self.standing(member).phase
    }

    /// Copies data to a seat, for a turn; `all_do` is whether every member does so now, to read those of the others next. All members are [done](Reuse::needs) with what lay there.
    #[inline]
    pub fn lay_down(&self, seat: u32, turn: u64, data: &Region, all_do: bool) {
        let bytes = data.bytes();
        assert!(bytes <= self.room, "data for a room");
        // SAFETY: the room, or the note, holds so many bytes, and nobody else uses it now.
        unsafe { data.copy_out(self.place(seat, turn, bytes), all_do) };
    }

    /// As [`lay_down`](Board::lay_down), at this member's own seat: from byte `from` on of `whole`.
    #[inline]
    pub fn lay_bytes(&self, turn: u64, (whole, from): (u64, u64), data: &[u8]) {
        assert!(whole <= self.room && from + data.len() as u64 <= whole, "data for a room");
        let place = self.place(self.me, turn, whole).wrapping_add(from as usize);
        // SAFETY: as there.
        unsafe { data.as_ptr().copy_to_nonoverlapping(place, data.len()) };
    }

    /// Copies from a seat what lies there for a turn, `whole` bytes, from byte `from` on: as many as the region holds.
    #[inline]
    pub fn pick_up(&self, seat: u32, turn: u64, (whole, from): (u64, u64), into: &Region) {
        assert!(whole <= self.room && from + into.bytes() <= whole, "a part of a room");
        let lying = self.place(seat, turn, whole).wrapping_add(from as usize);
        if self.ways.own_cores {
            lines::will_copy(lying, into.bytes() as usize);
        }
        // SAFETY: so many bytes lie there, and nobody writes them before this member is done with the turn.
        unsafe { into.copy_in(lying) };
    }

    /// As [`pick_up`](Board::pick_up).
    #[inline]
    pub fn pick_bytes(&self, seat: u32, turn: u64, (whole, from): (u64, u64), into: &mut [u8]) {
        assert!(whole <= self.room && from + into.len() as u64 <= whole, "a part of a room");
        let lying = self.place(seat, turn, whole).wrapping_add(from as usize);
        // SAFETY: as there.
        unsafe { into.as_mut_ptr().copy_from_nonoverlapping(lying, into.len()) };
    }

    /// Combines what lies at a seat, as [`pick_bytes`](Board::pick_bytes) finds it, with as many bytes that follow it.
    #[inline]
    pub fn combine_bytes(
        &self,
        seat: u32,
        turn: u64,
        (whole, from): (u64, u64),
        kernel: Kernel,
        into: &mut [u8],
    ) {
        assert!(whole <= self.room && from + into.len() as u64 <= whole, "a part of a room");
        let lying = self.place(seat, turn, whole).wrapping_add(from as usize);
        // SAFETY: as there.
        kernel(unsafe { core::slice::from_raw_parts(lying, into.len()) }, into);
    }

    /// This member is about to wait, and will probably lay so many bytes down in the next turn.
    pub fn expect_next(&self, turn: u64, bytes: u64) {
        if self.ways.own_cores && bytes > NOTE_BYTES {
            lines::will_write(self.place(self.me, turn + 1, bytes), bytes as usize);
        }
    }

    /// Lays down the names of memory that others may read.
    pub fn lay_keys(&self, turn: u64, keys: &[Key], byte: &Datatype) {
        let bytes: SmallVec<[u8; 2 * Key::BYTES]> = keys.iter().flat_map(Key::to_bytes).collect();
        self.part(self.me, turn, bytes.len() as u64, (0, bytes.len() as u64), byte).store(&bytes);
    }

    /// The name that lies at a seat in this place among such.
    pub fn key(&self, seat: u32, turn: u64, place: usize, byte: &Datatype) -> Key {
        let mut bytes = [0; Key::BYTES];
        let from = place * Key::BYTES;
        self.part(seat, turn, NOTE_BYTES, (from as u64, Key::BYTES as u64), byte).load(&mut bytes);
        Key::from_bytes(&bytes).expect("a key's bytes")
    }

    /// The word by which two members claim the parts of what one of them gives in a turn, beside the names that it has laid down: zero when it publishes them.
    pub fn claims(&self, seat: u32, turn: u64) -> &AtomicU64 {
        let data = self.note(seat, turn).data.get().cast::<u8>();
        // SAFETY: inside of the note, aligned, and of no use but this one while the note has names of memory.
        unsafe { &*data.wrapping_add(CLAIMS).cast::<AtomicU64>() }
    }

    /// Publishes what was laid down.
    #[inline]
    pub fn publish(&self, seat: u32, turn: u64, kind: u8, said: Said) {
        let note = self.note(seat, turn);
        note.said.store(said.to_word(), Ordering::Relaxed);
        self.show(&note.mark, mark(turn, kind));
    }

    /// Publishes a word, for whoever [sleeps](Board::lie_down) or looks.
    #[inline]
    pub fn show(&self, word: &AtomicU64, mark: u64) {
        if self.ways.light { turns::publish_lightly(word, mark) } else { turns::publish(word, mark) }
    }

    /// True if a seat's note of this turn and kind is published.
    #[inline]
    pub fn shows(&self, seat: u32, turn: u64, kind: u8) -> bool {
        turns::shows(&self.note(seat, turn).mark, mark(turn, kind))
    }

    /// The kind of a seat's note of this turn, if it is published. One look, since a note may be published again as another kind.
    pub fn shown(&self, seat: u32, turn: u64) -> Option<u8> {
        let mark = turns::reached(&self.note(seat, turn).mark);
        (mark >> 8 == turn).then_some(mark as u8)
    }

    /// What it says.
    #[inline]
    pub fn said(&self, seat: u32, turn: u64) -> Said {
        Said::of_word(self.note(seat, turn).said.load(Ordering::Relaxed))
    }

    /// Which way a seat's data go in a turn of this kind, if it has said so.
    pub fn going(&self, seat: u32, (turn, kind): (u64, u8)) -> Copies {
        if self.shows(seat, turn, kind) { self.said(seat, turn).going.now } else { Copies::One }
    }

    /// A part of what lies at a seat for a turn, of `whole` bytes: `count` elements from byte `from` on.
    ///
    /// # Panics
    /// If it does not lie inside.
    pub fn part(
        &self,
        seat: u32,
        turn: u64,
        whole: u64,
        (from, count): (u64, u64),
        datatype: &Datatype,
    ) -> Region {
        assert!(whole <= self.room && from + count * datatype.size() <= whole, "a part of a room");
        Region::at(self.place(seat, turn, whole).wrapping_add(from as usize), count, datatype)
    }

    /// Where so many bytes lie at a seat for a turn.
    #[inline]
    fn place(&self, seat: u32, turn: u64, whole: u64) -> *mut u8 {
        if whole <= NOTE_BYTES {
            self.note(seat, turn).data.get().cast::<u8>()
        } else {
            self.rooms(self.host(seat, turn)).wrapping_add((turn % ROOMS * self.room) as usize)
        }
    }

    /// The seat whose rooms are used for one in a turn. Two members change rooms whenever these have all been used: each then writes to those that it has read last, whose lines are in the cache of its core.
    #[inline]
    fn host(&self, seat: u32, turn: u64) -> u32 {
        let changed = self.members == 2 && seat < 2 && turn / ROOMS % 2 == 1;
        seat ^ u32::from(changed)
    }

    fn rooms(&self, seat: u32) -> *mut u8 {
        self.seat(seat).wrapping_add(size_of::<Apart<Standing>>() + self.notes as usize * LINE)
    }

    /// This member is about to read what others have named, as far as their notes still show it then.
    pub fn begin_reading(&self) {
        turns::begin_reading(&self.standing(self.me).reading);
    }

    pub fn end_reading(&self) {
        turns::end_reading(&self.standing(self.me).reading);
    }

    /// Takes back what this member has published in a turn; who [reads](Board::reads) may still have it.
    pub fn withdraw(&self, turn: u64) {
        turns::withdraw(&self.note(self.me, turn).mark);
    }

    pub fn reads(&self, member: u32) -> bool {
        turns::reads(&self.standing(member).reading)
    }

    /// True for the last who arrives.
    #[inline]
    pub fn is_last(&self, turn: u64) -> bool {
        turns::is_last(&self.front().arrivals[(turn & (self.notes - 1)) as usize].0, self.members.into())
    }

    /// This member may sleep until a seat's note is published, or its member is done; until any is, if none is named. What it waited for before.
    pub fn lie_down(&self, seat: Option<u32>) -> u32 {
        let whom = seat.map_or(turns::ANYBODY, |seat| seat + 1);
        turns::lie_down(&self.front().sleepers.0, self.asleep(self.me), whom)
    }

    /// It waits for what it waited for before.
    pub fn get_up(&self, before: u32) {
        turns::get_up(&self.front().sleepers.0, self.asleep(self.me), before);
    }

    /// True if somebody sleeps: to be asked after something was published.
    #[inline]
    pub fn anybody_sleeps(&self) -> bool {
        turns::anybody_sleeps(&self.front().sleepers.0)
    }

    /// The members who sleep until a seat's note is published.
    pub fn waiting_for(&self, seat: u32) -> impl Iterator<Item = u32> {
        (0..self.members).filter(move |member| turns::is_awaited(self.asleep(*member), seat + 1))
    }

    /// Of all seats, and what lies before them.
    const fn bytes(members: u32) -> usize {
        Board::seats(members) + (members as usize + 1) * Board::seat_bytes(members)
    }

    /// Where the seats begin.
    const fn seats(members: u32) -> usize {
        (size_of::<Front>() + members as usize * size_of::<AtomicU32>()).next_multiple_of(LINE)
    }

    const fn seat_bytes(members: u32) -> usize {
        size_of::<Apart<Standing>>()
            + Board::notes_of(members) as usize * LINE
            + ROOMS as usize * Board::room_of(members) as usize
    }

    fn seat(&self, seat: u32) -> *mut u8 {
        assert!(seat <= self.members, "a seat of the board");
        self.first_seat.wrapping_add(seat as usize * self.seat_bytes)
    }

    fn front(&self) -> &Front {
        // SAFETY: the memory begins with it, is mapped while the board lives, and is valid zeroed.
        unsafe { &*self.base.cast::<Front>() }
    }

    fn asleep(&self, member: u32) -> &AtomicU32 {
        assert!(member < self.members, "a member of the board");
        let place =
            self.base.wrapping_add(size_of::<Front>()).cast::<AtomicU32>().wrapping_add(member as usize);
        // SAFETY: as above; there is a word for each member.
        unsafe { &*place }
    }

    fn standing(&self, member: u32) -> &Standing {
        // SAFETY: as above; a seat begins with it.
        unsafe { &(*self.seat(member).cast::<Apart<Standing>>()).0 }
    }

    fn note(&self, seat: u32, turn: u64) -> &Note {
        let notes = self.seat(seat).wrapping_add(size_of::<Apart<Standing>>()).cast::<Note>();
        // SAFETY: as above; the data of a note are touched by raw pointers alone.
        unsafe { &*notes.wrapping_add((turn & (self.notes - 1)) as usize) }
    }
}

#[inline]
fn mark(turn: u64, kind: u8) -> u64 {
    turn << 8 | u64::from(kind)
}

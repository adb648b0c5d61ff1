//! Prefix reductions on a board: MPI_Scan and MPI_Exscan, in which a member needs what those before it have, and waits for nobody else.
//!
//! Short ones: a member lays down its value, and later, in the same note or room, the prefix up to it. Whoever needs the prefix of the members before it looks back from the last of those: to the nearest
//! that has laid down its own prefix, and takes the values in between (decoupled look-back: Merrill and Garland, "Single-pass Parallel Prefix Scan with Decoupled Look-back", 2016). So a member
//! that comes late reads one line, members who are ahead lay down what they have and go on, and nobody waits for a chain of wake-ups. Of scans in a row, from the second on, a member lays down its
//! prefix alone, for the next member alone: so each waits for its neighbours, and does as many scans at a time as there are notes.
//! Long ones go in pieces from each member to the next, through the slots of its rooms: all work at the same time, each on another piece, and every member reads one prefix and its own value.
//!
//! Both combine from the left, one value after the other, whoever comes when: so the same operands give the same bits.

use crate::lane::Lane;
use crate::lane::board::hall::join;
use crate::lane::board::turn::Turn;
use crate::schedule::Call;
use crate::values::comm::Comm;
use crate::values::error::{Error, Result};
use crate::values::memory::board::{Board, NOTE_BYTES};
use crate::values::memory::hall::step;
use crate::values::memory::reuse::Pieces;
use crate::values::memory::{Region, turns};
use crate::values::op::Op;

/// The longest value that is laid down together with the prefix.
const SHORT: u64 = 2 << 10;

/// What is added to the kind of a note that has the prefix.
pub(super) const PREFIX: u8 = 0x40;

/// True if a value and a prefix of so many bytes are laid down in a room, or a note.
pub(super) fn is_short(bytes: u64, room: u64) -> bool {
    bytes <= SHORT && 2 * bytes <= room
}

/// What a member has laid down.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Laid {
    Nothing,
    Value,
    Prefix,
}

fn laid(turn: &Turn<'_>, member: u32) -> Laid {
    let (number, kind) = turn.name();
    match turn.board.shown(member, number) {
        Some(shown) if shown == kind | PREFIX => Laid::Prefix,
        Some(shown) if shown == kind => Laid::Value,
        _ => Laid::Nothing,
    }
}

/// The nearest member before this one that has laid down its prefix, if those in between have laid down their values; else one that has not.
fn look_back(turn: &Turn<'_>) -> core::result::Result<u32, u32> {
    for member in (0..turn.me()).rev() {
        match laid(turn, member) {
            Laid::Prefix => return Ok(member),
            Laid::Value => {}
            Laid::Nothing => return Err(member),
        }
    }
    // The first lays down nothing but a prefix: it has no other value.
    Err(0)
}

/// Waits until this member may lay something down, if anybody needs it.
pub(super) fn make_room(turn: &Turn<'_>, value: &Region) -> Result<()> {
    let (bytes, board, me) = (2 * value.bytes(), turn.board, turn.me());
    board.reuse.enter_row(turn.number);
    if me + 1 == turn.members() {
        return Ok(());
    }
    match board.reuse.needs_of_next(turn.number) {
        Some(needed) if bytes <= NOTE_BYTES => turn.wait_for(me + 1, &|| board.is_passed_by_next(needed)),
        _ => turn.make_room(bytes),
    }
}

/// Lays down this member's value for those after it, unless it can go on at once, or scans follow each other.
pub(super) fn lay(turn: &mut Turn<'_>, value: &Region) {
    let me = turn.me();
    let is_between = me > 0 && me + 1 < turn.members();
    if is_between && !turn.board.reuse.is_in_row(turn.number) && laid(turn, me - 1) != Laid::Prefix {
        value.copy_to(&place(turn, me, value, false));
        turn.publish(me, false);
    }
}

/// Waits until those before this member have laid down what it needs.
pub(super) fn await_before(turn: &mut Turn<'_>) -> Result<()> {
    while turn.me() > 0 {
        match look_back(turn) {
            Ok(_) => break,
            Err(member) => turn.wait_for(member, &|| laid(turn, member) != Laid::Nothing)?,
        }
    }
    sees_before(turn);
    Ok(())
}

/// True if they have: learns of those who failed. Never waits.
pub(super) fn sees_before(turn: &mut Turn<'_>) -> bool {
    let me = turn.me();
    if me == 0 {
        return true;
    }
    let Ok(nearest) = look_back(turn) else { return false };
    (nearest..me).for_each(|member| turn.inspect(member));
    true
}

/// Combines what lies there with this member's value, takes its result, and lays down the prefix for those after it.
pub(super) fn take(turn: &Turn<'_>, value: &Region, target: &Region, op: &Op, with_own: bool) {
    let (me, is_last) = (turn.me(), turn.me() + 1 == turn.members());
    let here = &place(turn, me, value, true);
    if turn.failed.is_none() {
        // They were all there before.
        let nearest = look_back(turn).unwrap_or(me);
        let mut before = (nearest..me).map(|member| place(turn, member, value, member == nearest));
        Sum { op, value, target, here, with_own, is_last }.combine(&mut before);
    }
    if !is_last {
        turn.publish_as(turn.name().1 | PREFIX, me, turn.failed.is_some());
    }
    if turn.failed.is_none() && with_own {
        here.copy_to(target);
    }
}

/// The place of a member's value, or of its prefix.
fn place(turn: &Turn<'_>, member: u32, value: &Region, is_prefix: bool) -> Region {
    let from = if is_prefix { value.bytes() } else { 0 };
    turn.board.part(member, turn.number, 2 * value.bytes(), (from, value.count()), value.datatype())
}

/// Elements of this member's value, its result, and the place of its prefix.
pub(super) struct Sum<'a> {
    pub op: &'a Op,
    pub value: &'a Region,
    pub target: &'a Region,
    pub here: &'a Region,
    pub with_own: bool,
    pub is_last: bool,
}

impl Sum<'_> {
    /// Combines them with what those before have: a prefix, and the values that follow it. The result of one that takes part in its own is its prefix.
    #[inline(never)]
    pub fn combine(&self, before: &mut dyn Iterator<Item = Region>) {
        let &Sum { op, value, target, here, with_own, is_last } = self;
        let prefix = before.next();
        // In place the value is gone when the target is written.
        if prefix.is_none() || !(with_own || is_last) {
            value.copy_to(here);
        }
        let Some(prefix) = prefix else { return };
        let sum = if with_own { here } else { target };
        prefix.copy_to(sum);
        for next in before {
            join(op, &next, sum, true);
        }
        if with_own {
            join(op, value, here, true);
        } else if !is_last {
            op.combine(target, here);
        }
    }
}

/// A long one.
#[inline(never)]
pub(super) fn run(lane: &Lane, comm: &Comm, board: &Board, call: &Call) -> Result<()> {
    let Call::Scan { value, target, op, with_own } = call else {
        return Err(Error::Internal { reason: "a collective that is no chain" });
    };
    let mut turn = Turn::begin((lane, comm, board), call);
    board.reuse.enter_row(turn.number);
    turn.enter_chain(Pieces::Prefixes)?;
    let (me, is_last) = (turn.me(), turn.me() + 1 == turn.members());
    let (count, datatype, with_own) = (value.count(), value.datatype(), *with_own);
    let each = board.slot_bytes() / datatype.size();
    let pieces = count.div_ceil(each);
    for (piece, first) in (0_u64..).zip((0..count).step_by(each as usize)) {
        let (many, reached) = (each.min(count - first), step(turn.number, piece + 1));
        let number = Board::slot_number(turn.number, piece, pieces);
        await_piece(&mut turn, (piece, number), reached)?;
        if turn.failed.is_some() {
            break;
        }
        let (value, target) = (&value.elements(first, many), &target.elements(first, many));
        let slot = |member| board.slot(member, number, many, datatype);
        // Nobody needs the prefix of the last member, whose slots are free for what cannot be combined in place.
        let here = if is_last && !value.same_place(target) { target } else { &slot(me) };
        let mut before = me.checked_sub(1).map(slot).into_iter();
        Sum { op, value, target, here, with_own, is_last }.combine(&mut before);
        turn.show(board.taken(me), reached, me);
        if !is_last {
            board.reuse.fill(number, reached);
            if piece == 0 {
                turn.publish_as(turn.name().1 | PREFIX, me, false);
            } else {
                turn.show(board.laid(me), reached, me);
            }
        }
        if with_own {
            // The first one's prefix is its value, which the next member does not look at.
            (if me == 0 { value } else { here }).copy_to(target);
        }
    }
    if turn.failed.is_some() && !is_last {
        turn.publish_as(turn.name().1 | PREFIX, me, true);
    }
    turn.finish()
}

/// Waits until this member's slot for a piece is free, and the one before has filled its own: with the first, learns whether it has failed.
fn await_piece(turn: &mut Turn<'_>, (piece, slot): (u64, u64), reached: u64) -> Result<()> {
    let (me, board) = (turn.me(), turn.board);
    if me + 1 < turn.members() {
        turn.wait_for(me + 1, &|| board.is_free(slot, me + 1))?;
    }
    let Some(before) = me.checked_sub(1) else { return Ok(()) };
    if piece > 0 {
        return turn.wait_for(before, &|| turns::reached(board.laid(before)) >= reached);
    }
    turn.wait_for(before, &|| laid(turn, before) != Laid::Nothing)?;
    turn.inspect(before);
    Ok(())
}

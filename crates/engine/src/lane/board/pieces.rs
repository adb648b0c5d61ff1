//! Long data from one to the other of two members, or from each to the other, through their rooms in pieces: each is copied twice, by both members at the same time.
//!
//! What one gives passes through the slots of its own rooms, whose pieces the other one reads in their order. What both give each other passes through the rooms of both, which change hands: a room that a member has
//! read a piece from is where it lays down the one of the next lap. Laps are odd in number, and the first of a turn begins with the rooms of the other seat than that of the turn before: so it is across calls of the
//! same length, too. (Of very many laps the last may fall away, since pieces are made longer to end with a line.)

use crate::lane::board::long::steps;
use crate::lane::board::pair;
use crate::lane::board::short::{misfit, slice};
use crate::lane::board::turn::Turn;
use crate::schedule::Call;
use crate::values::error::Result;
use crate::values::memory::board::{Board, ROOMS};
use crate::values::memory::hall::step;
use crate::values::memory::reuse::Pieces;
use crate::values::memory::{Aside, Region, Whole, turns};
use crate::values::op::Op;

/// Gives what the other one takes.
pub(super) fn give(turn: &mut Turn<'_>, call: &Call) -> Result<()> {
    turn.enter_chain(Pieces::Given)?;
    let (me, board) = (turn.me(), turn.board);
    let data = pair::passed(turn, call);
    if turn.failed.is_some() {
        turn.publish(me, true);
        return Ok(());
    }
    let whole = Whole::of(&data, turn.byte());
    let (bytes, each) = (whole.region().bytes(), board.slot_bytes());
    let pieces = bytes.div_ceil(each);
    for (piece, (from, many)) in (0_u64..).zip(steps((0, bytes), each)) {
        let (slot, reached) = (Board::slot_number(turn.number, piece, pieces), step(turn.number, piece + 1));
        turn.wait_for(1 - me, &|| board.is_free(slot, 1 - me))?;
        whole.region().elements(from, many).copy_across_to(&board.slot(me, slot, many, turn.byte()));
        board.reuse.fill(slot, reached);
        if piece == 0 {
            turn.publish(me, false);
            pair::copy_own(turn, call);
        } else {
            turn.show(board.laid(me), reached, me);
        }
    }
    Ok(())
}

/// Takes what the other one gives, whose note is there.
pub(super) fn take(turn: &mut Turn<'_>, call: &Call) -> Result<()> {
    turn.enter_chain(Pieces::Given)?;
    let (giver, board) = (1 - turn.me(), turn.board);
    let place = pair::passed(turn, call);
    turn.inspect_or_fail(giver);
    if turn.failed.is_some() {
        return Ok(());
    }
    let whole = Whole::place(&place, turn.byte());
    let (bytes, each) = (whole.region().bytes(), board.slot_bytes());
    let pieces = bytes.div_ceil(each);
    for (piece, (from, many)) in (0_u64..).zip(steps((0, bytes), each)) {
        let reached = step(turn.number, piece + 1);
        if piece > 0 {
            turn.wait(giver, || turns::reached(board.laid(giver)) >= reached)?;
        }
        let slot = Board::slot_number(turn.number, piece, pieces);
        board.slot(giver, slot, many, turn.byte()).copy_across_to(&whole.region().elements(from, many));
        turn.show(board.taken(turn.me()), reached, turn.me());
    }
    whole.spread(&place);
    pair::copy_own(turn, call);
    Ok(())
}

/// How data of both are divided: into laps of so many pieces of so many elements. The last of each may be shorter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Division {
    lap: u64,
    each: u64,
}

impl Division {
    fn of(count: u64, most: u64) -> Division {
        let laps = count.div_ceil(ROOMS * most) | 1;
        let lap = count.div_ceil(laps * most).max(1);
        // In whole lines, if these fit.
        let each = count.div_ceil(laps * lap).next_multiple_of(64).min(most);
        Division { lap, each }
    }

    /// Where a piece of so many elements lies that a member lays down in a turn.
    fn place(
        self,
        board: &Board,
        (member, turn): (u32, u64),
        piece: u64,
        (count, like): (u64, &Region),
    ) -> Region {
        let changed = (turn + piece / self.lap) % 2;
        board.room_at(member ^ changed as u32, piece % self.lap, count, like.datatype())
    }
}

/// Each gives what the other one takes.
pub(super) fn exchange(turn: &mut Turn<'_>, call: &Call) -> Result<()> {
    turn.enter_chain(Pieces::Exchanged)?;
    let other = 1 - turn.me();
    match call {
        Call::Allreduce { value, target, op } if value.bytes() >= HALVED => {
            reduce_by_halves(turn, value, target, op)
        }
        Call::Allreduce { value, target, op } => {
            swap_and_combine(turn, value, (0, value.count()), (0, value.count()), target, op)
        }
        Call::Allgather { own, all } => {
            turn.failed = misfit(own, all, turn.comm);
            let block = all.block(turn.me());
            move_across(turn, own, &all.block(other), &|| pair::copy(own, &block))
        }
        Call::Alltoall { send, recv } => {
            turn.failed = misfit(send, recv, turn.comm);
            let (own, block) = (send.block(turn.me()), recv.block(turn.me()));
            move_across(turn, &send.block(other), &recv.block(other), &|| pair::copy(&own, &block))
        }
        _ => unreachable!("a collective in which not both give"),
    }
}

/// Gives data to the other one, and takes as many to a place.
fn move_across(turn: &mut Turn<'_>, data: &Region, place: &Region, meanwhile: &dyn Fn()) -> Result<()> {
    let (data, whole) = (Whole::of(data, turn.byte()), Whole::place(place, turn.byte()));
    swap(turn, data.region(), data.region().count(), meanwhile, &|first, theirs| {
        theirs.copy_across_to(&whole.region().elements(first, theirs.count()));
    })?;
    if turn.failed.is_none() {
        whole.spread(place);
    }
    Ok(())
}

/// Values of so many bytes and more are combined by halves: with fewer it takes longer to begin twice.
const HALVED: u64 = 192 << 10;

/// Each combines one half of the values, of which it gets the other one's, and gives it what comes out: as many bytes go across as if each got all and combined all, and half as many are combined.
fn reduce_by_halves(turn: &mut Turn<'_>, value: &Region, target: &Region, op: &Op) -> Result<()> {
    let half = |member: u32| slice(value.count(), member, 2);
    let (mine, others) = (half(turn.me()), half(1 - turn.me()));
    swap_and_combine(turn, value, others, mine, target, op)?;
    if turn.failed.is_some() {
        return Ok(());
    }
    turn.close();
    turn.next()?;
    turn.enter_chain(Pieces::Exchanged)?;
    swap(turn, &target.elements(mine.0, mine.1), others.1, &|| {}, &|first, theirs| {
        theirs.copy_across_to(&target.elements(others.0 + first, theirs.count()));
    })
}

/// Gives the other one some elements of the value (the first, how many), and combines others with what it has there.
fn swap_and_combine(
    turn: &mut Turn<'_>,
    value: &Region,
    given: (u64, u64),
    combined: (u64, u64),
    target: &Region,
    op: &Op,
) -> Result<()> {
    swap(turn, &value.elements(given.0, given.1), combined.1, &|| {}, &|first, theirs| {
        let (at, many) = (combined.0 + first, theirs.count());
        combine(op, &value.elements(at, many), theirs, &target.elements(at, many));
    })
}

/// Passes elements to the other one, and gets so many from it, which may be one more or less, piece by piece: `each` is told of the first, and of the other's. `meanwhile` is done once, after the first piece is laid down.
#[inline(never)]
fn swap(
    turn: &mut Turn<'_>,
    data: &Region,
    taken: u64,
    meanwhile: &dyn Fn(),
    each: &dyn Fn(u64, &Region),
) -> Result<()> {
    let (me, other, board, number) = (turn.me(), 1 - turn.me(), turn.board, turn.number);
    let most = data.count().max(taken);
    let division = Division::of(most, board.room() / data.datatype().size());
    let part = |count: u64, first: u64, many: u64| many.min(count.saturating_sub(first));
    for (piece, (first, many)) in (0_u64..).zip(steps((0, most), division.each)) {
        let (given, got) = (part(data.count(), first, many), part(taken, first, many));
        let reached = step(number, piece + 1);
        let place = |member, count| division.place(board, (member, number), piece, (count, data));
        // From the second lap on this is where the other one's piece lay that was taken a lap before.
        if turn.failed.is_none() && given > 0 {
            data.elements(first, given).copy_in_bulk_to(&place(me, given));
        }
        if piece > 0 {
            turn.show(board.laid(me), reached, me);
            turn.wait(other, || turns::reached(board.laid(other)) >= reached)?;
        } else {
            turn.publish(me, turn.failed.is_some());
            turn.await_data(other)?;
            turn.has_met();
            if turn.failed.is_some() {
                return Ok(());
            }
            meanwhile();
        }
        if got > 0 {
            each(first, &place(other, got));
        }
    }
    Ok(())
}

/// Bytes that are fetched before they are combined: a page for each quarter that is [copied in turn](Region::copy_across_to).
const FETCHED: u64 = 16 << 10;

/// Combines what both have, a few pages at a time, while they are in the nearest cache. The place may be that of this member's own elements. These are read where they lie, not where they were laid down: the lines there
/// are the other one's by now.
fn combine(op: &Op, own: &Region, theirs: &Region, place: &Region) {
    let is_in_place = own.same_place(place);
    let mut aside = Aside::new();
    let each = if is_in_place { Aside::BYTES } else { FETCHED } / own.datatype().size();
    for (first, many) in steps((0, own.count()), each) {
        let (theirs, place) = (theirs.elements(first, many), place.elements(first, many));
        if is_in_place {
            let copy = aside.region(many, own.datatype());
            theirs.copy_to(&copy);
            op.combine(&copy, &place);
        } else {
            theirs.copy_across_to(&place);
            op.combine(&own.elements(first, many), &place);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn elements_are_divided_into_an_odd_number_of_laps_of_pieces_that_fit(count in 1_u64..200_000, most in 1_u64..5_000) {
            let division = Division::of(count, most);
            prop_assert!(division.each <= most && division.lap <= ROOMS, "{division:?}");
            let laps = (steps((0, count), division.each).count() as u64).div_ceil(division.lap);
            // With so many laps, what whole lines add to the pieces of all others may be as much as the last has.
            prop_assert!(laps % 2 == 1 || (laps + 3) * 64 > most, "{division:?}: {laps} laps");
        }
    }
}

//! Collectives of long data through the hall of a board: where members share cores.
//!
//! Cost: a broadcast is copied once by the root and once by each other member. A reduction is done in rounds of a piece each, along a binary tree over the ranks: of two parts that meet, whoever comes second
//! combines what both have and goes on, so nobody waits for a partner, every member runs once a round, and the work is shared by those who do. Which operands are combined, and in which order, does not
//! depend on who that is.

use crate::lane::Lane;
use crate::lane::board::turn::Turn;
use crate::schedule::Call;
use crate::values::comm::Comm;
use crate::values::error::{Error, Result};
use crate::values::memory::board::Board;
use crate::values::memory::hall::{Hall, SENT, SENT_AHEAD, step};
use crate::values::memory::{Aside, Region, Whole, turns};
use crate::values::op::Op;

#[inline(never)]
pub(super) fn run(lane: &Lane, comm: &Comm, board: &Board, call: &Call) -> Result<()> {
    let Some(hall) = board.hall() else {
        return Err(Error::Internal { reason: "a board without a hall" });
    };
    let mut turn = Turn::begin((lane, comm, board), call);
    turn.wait_in_line()?;
    match call {
        Call::Bcast { data, root } if turn.me() == *root => send(&mut turn, &hall, data)?,
        Call::Bcast { data, root } => receive(&mut turn, &hall, data, *root)?,
        Call::Allreduce { value, target, op } => reduce(&mut turn, &hall, value, Some((target, 0)), op)?,
        Call::Reduce { value, target, op, .. } => {
            reduce(&mut turn, &hall, value, target.as_ref().map(|target| (target, 0)), op)?;
        }
        Call::ReduceScatter { dealing, op, .. } => {
            let first = dealing.bounds[turn.me() as usize];
            reduce(&mut turn, &hall, &dealing.value, Some((&dealing.target, first)), op)?;
        }
        _ => return Err(Error::Internal { reason: "a collective that has no use for a hall" }),
    }
    turn.finish()
}

/// The pieces of a broadcast of so many bytes: (which, from, how many bytes).
fn pieces(bytes: u64) -> impl Iterator<Item = (u64, u64, u64)> {
    (0..bytes.div_ceil(SENT)).map(move |piece| (piece, piece * SENT, SENT.min(bytes - piece * SENT)))
}

#[inline(never)]
fn send(turn: &mut Turn<'_>, hall: &Hall, data: &Region) -> Result<()> {
    turn.enter_hall(false)?;
    let whole = Whole::of(data, turn.byte());
    for (piece, from, bytes) in pieces(data.bytes()) {
        if piece >= SENT_AHEAD {
            let free = step(turn.number, piece + 1 - SENT_AHEAD);
            for member in turn.others() {
                let is_free = || turns::reached(hall.progress(member)) >= free || turn.is_done(member);
                turn.wait(member, is_free)?;
            }
        }
        whole.region().elements(from, bytes).copy_to(&hall.sent(piece, bytes, turn.byte()));
        if piece == 0 {
            turn.publish(turn.me(), turn.failed.is_some());
        } else {
            turn.show(hall.filled(), step(turn.number, piece + 1), turn.me());
        }
    }
    Ok(())
}

#[inline(never)]
fn receive(turn: &mut Turn<'_>, hall: &Hall, data: &Region, root: u32) -> Result<()> {
    turn.board.reuse.enter_hall(turn.number);
    turn.await_data(root)?;
    if turn.failed.is_some() {
        return Ok(());
    }
    let whole = Whole::place(data, turn.byte());
    for (piece, from, bytes) in pieces(data.bytes()) {
        let reached = step(turn.number, piece + 1);
        if piece > 0 {
            turn.wait(root, || turns::reached(hall.filled()) >= reached)?;
        }
        hall.sent(piece, bytes, turn.byte()).copy_to(&whole.region().elements(from, bytes));
        if data.bytes() > SENT_AHEAD * SENT {
            turn.show(hall.progress(turn.me()), reached, turn.me());
        }
    }
    whole.spread(data);
    Ok(())
}

/// All combine; those who have a target take as much of the result as it holds, from an element on.
fn reduce(
    turn: &mut Turn<'_>,
    hall: &Hall,
    value: &Region,
    target: Option<(&Region, u64)>,
    op: &Op,
) -> Result<()> {
    turn.enter_hall(true)?;
    let each = hall.combined() / value.datatype().size();
    for (round, first) in (0..value.count()).step_by(each as usize).enumerate() {
        let count = each.min(value.count() - first);
        let own = value.elements(first, count);
        climb(turn, hall, step(turn.number, round as u64), op, &own);
        if round == 0 {
            turn.publish(turn.me(), turn.failed.is_some());
            turn.meet(&mut |_| {})?;
            turn.has_met();
            if turn.failed.is_some() {
                return Ok(());
            }
        } else {
            let result = step(turn.number, round as u64);
            if hall.is_last() {
                turn.show(hall.results(), result, turn.board.middle());
            } else {
                turn.wait(turn.board.middle(), || turns::reached(hall.results()) >= result)?;
            }
        }
        if let Some(target) = target {
            take(&hall.result(count, value.datatype()), first, target);
        }
    }
    turn.board.reuse.has_reduced(turn.number);
    Ok(())
}

/// Takes what a target holds, from its element on, of a result that begins at an element.
pub(super) fn take(result: &Region, first: u64, (target, from): (&Region, u64)) {
    let (begin, end) = (first.max(from), (first + result.count()).min(from + target.count()));
    let some = end.saturating_sub(begin);
    // In place it may go to elements that lie before these: they have been combined.
    result.elements(begin - first, some).copy_to(&target.elements(begin - from, some));
}

/// Takes this member's elements up the tree, together with those of parts that were there before. Whoever has all of them leaves the result.
#[inline(never)]
pub(super) fn climb(turn: &Turn<'_>, hall: &Hall, step: u64, op: &Op, own: &Region) {
    let (me, members) = (turn.me(), turn.members());
    let (count, datatype) = (own.count(), own.datatype());
    let place = |member: u32| hall.place(member, count, datatype);
    // The place of what this member's part has combined; none while that is its own value alone.
    let mut mine: Option<u32> = None;
    let mut span = 1;
    while span < members {
        let is_right = me & span != 0;
        let node = (me & !(2 * span - 1)) + span;
        span *= 2;
        if node >= members {
            continue;
        }
        let other = match mine {
            None => match hall.other_part(node, step, is_right) {
                Some(other) => {
                    join(op, own, &place(other), is_right);
                    mine = Some(other);
                    continue;
                }
                None => {
                    own.copy_to(&place(me));
                    hall.meet(node, step, is_right, me).map(|other| (me, other))
                }
            },
            Some(mine) => hall.meet(node, step, is_right, mine).map(|other| (mine, other)),
        };
        let Some((this, other)) = other else { return };
        let (left, right) = if is_right { (other, this) } else { (this, other) };
        op.combine(&place(left), &place(right));
        mine = Some(right);
    }
    // There are two members at least, so all have met somebody.
    if let Some(all) = mine {
        place(all).copy_to(&hall.result(count, datatype));
    }
}

/// Combines elements with what lies in a place, and leaves them there. The left operand is that of the lower ranks, whichever it is.
#[inline(never)]
pub(super) fn join(op: &Op, own: &Region, place: &Region, is_right: bool) {
    if !is_right || op.is_symmetric(own.datatype()) {
        op.combine(own, place);
        return;
    }
    let mut aside = Aside::new();
    let each = Aside::BYTES / own.datatype().size();
    for first in (0..own.count()).step_by(each as usize) {
        let count = each.min(own.count() - first);
        let (copy, place) = (aside.region(count, own.datatype()), place.elements(first, count));
        own.elements(first, count).copy_to(&copy);
        op.combine(&place, &copy);
        copy.copy_to(&place);
    }
}

//! Collectives whose data fit into the rooms of a board.
//!
//! Cost where every member has a core: one line written and p - 1 read by each for a barrier or a short all-reduction, no message; a broadcast writes one line, which all read. Where
//! cores are shared, or there are many members: one counter that all raise, one seat that all read, so that each member runs once a collective. Results do not depend on who
//! comes when: values are combined in the order of ranks, by one member or by each in the same way.

use crate::lane::Lane;
use crate::lane::board::call::Call;
use crate::lane::board::turn::Turn;
use crate::values::comm::Comm;
use crate::values::error::{Error, Result};
use crate::values::memory::board::{Board, NOTE_BYTES};
use crate::values::memory::{Aside, Region};
use crate::values::op::Op;

/// Longest value that every member combines by itself: reading all of it takes less time than meeting twice.
const COMBINED_BY_ALL: u64 = 512;

#[inline(never)]
pub(super) fn run(lane: &Lane, comm: &Comm, board: &Board, call: &Call) -> Result<()> {
    let begin = || Turn::begin((lane, comm, board), call);
    match call {
        Call::Barrier => barrier(begin()),
        Call::Bcast { data, root } => bcast(begin(), data, *root),
        Call::Allreduce { value, target, op } => allreduce(begin(), value, target, op),
        Call::Reduce { value, target, op, root } => reduce(begin(), value, target.as_ref(), op, *root),
        Call::Allgather { own, all } => allgather(begin(), own, all),
        Call::Gather { own, all, root } => gather(begin(), own, all.as_ref(), *root),
        Call::Scatter { own, all, root } => scatter(begin(), own, all.as_ref(), *root),
        Call::Alltoall { send, recv } => alltoall(begin(), send, recv),
    }
}

fn barrier(mut turn: Turn<'_>) -> Result<()> {
    turn.make_room(0)?;
    turn.publish(turn.me(), false);
    turn.meet(|_| {})?;
    turn.has_met();
    turn.finish()
}

fn bcast(mut turn: Turn<'_>, data: &Region, root: u32) -> Result<()> {
    if turn.me() == root {
        turn.offer(data)?;
    } else {
        turn.await_data(root)?;
        if turn.failed.is_none() {
            part(&turn, root, data.bytes(), 0, data.bytes()).copy_to(data);
        }
    }
    turn.finish()
}

fn allreduce(mut turn: Turn<'_>, value: &Region, target: &Region, op: &Op) -> Result<()> {
    turn.offer(value)?;
    let (bytes, middle) = (value.bytes(), turn.board.middle());
    turn.meet(|turn| combine(turn, op, value, (0, value.count()), &place_at(turn, middle, value)))?;
    turn.has_met();
    if turn.failed.is_some() {
        return turn.finish();
    }
    if !turn.is_flat() {
        part(&turn, middle, bytes, 0, bytes).copy_to(target);
        return turn.finish();
    }
    if turn.members() == 2 && op.is_symmetric(value.datatype()) {
        // What the other brought goes straight to its place, and this member's own value need not be read from the board.
        let (me, other) = (turn.me(), 1 - turn.me());
        place_at(&turn, other, value).copy_to(target);
        let own = if value.same_place(target) { &place_at(&turn, me, value) } else { value };
        op.combine(own, target);
        return turn.finish();
    }
    if bytes <= COMBINED_BY_ALL || turn.members() == 2 {
        combine(&turn, op, value, (0, value.count()), target);
        return turn.finish();
    }
    combine_by_slices(turn, value, target, op)
}

/// Each member combines a slice of the values, in its own room, where the others get it from.
fn combine_by_slices(mut turn: Turn<'_>, value: &Region, target: &Region, op: &Op) -> Result<()> {
    let (me, members, whole) = (turn.me(), turn.members(), value.bytes());
    let (laid, size) = (turn.number, value.datatype().size());
    let slice = |member: u32| slice(value.count(), member, members);
    let place = |member: u32| {
        let (first, count) = slice(member);
        turn.board.part(member, laid, whole, (first * size, count), value.datatype())
    };
    let places: smallvec::SmallVec<[Region; 16]> = (0..members).map(place).collect();
    let (first, count) = slice(me);
    let into = target.elements(first, count);
    combine(&turn, op, value, (first, count), &into);
    into.copy_to(&places[me as usize]);
    turn.next();
    turn.publish(me, false);
    // Who meets here is not yet done with the rooms of the turn before.
    turn.meet(|_| {})?;
    for member in turn.others() {
        let (first, count) = slice(member);
        places[member as usize].copy_to(&target.elements(first, count));
    }
    turn.finish()
}

/// The elements that a member combines: (the first, how many).
pub(super) fn slice(count: u64, member: u32, members: u32) -> (u64, u64) {
    let first = |member: u32| count * u64::from(member) / u64::from(members);
    (first(member), first(member + 1) - first(member))
}

/// Combines some elements of all values on the board, the highest rank's first, in a place that is none of them. What others wrote is copied before it is
/// combined: a copy waits for many lines of theirs at once.
fn combine(turn: &Turn<'_>, op: &Op, like: &Region, (first, count): (u64, u64), into: &Region) {
    let (datatype, whole) = (like.datatype(), like.bytes());
    let size = datatype.size();
    let of = |member: u32, first: u64, count: u64| {
        turn.board.part(member, turn.number, whole, (first * size, count), datatype)
    };
    let last = turn.members() - 1;
    of(last, first, count).copy_to(into);
    if count * size <= NOTE_BYTES {
        for member in (0..last).rev() {
            op.combine(&of(member, first, count), into);
        }
        return;
    }
    let mut aside = Aside::new();
    let each = Aside::BYTES / size;
    for at in (0..count).step_by(each as usize) {
        let many = each.min(count - at);
        let operand = aside.region(many, datatype);
        for member in (0..last).rev() {
            of(member, first + at, many).copy_to(&operand);
            op.combine(&operand, &into.elements(at, many));
        }
    }
}

/// A place for a value at a seat.
fn place_at(turn: &Turn<'_>, seat: u32, value: &Region) -> Region {
    turn.board.part(seat, turn.number, value.bytes(), (0, value.count()), value.datatype())
}

/// Bytes at a seat, of so many that lie there.
fn part(turn: &Turn<'_>, seat: u32, whole: u64, from: u64, bytes: u64) -> Region {
    turn.board.part(seat, turn.number, whole, (from, bytes), turn.byte())
}

fn reduce(mut turn: Turn<'_>, value: &Region, target: Option<&Region>, op: &Op, root: u32) -> Result<()> {
    turn.offer(value)?;
    if let Some(target) = target.filter(|_| turn.me() == root) {
        for member in turn.others() {
            turn.await_data(member)?;
        }
        turn.has_met();
        if turn.failed.is_none() {
            combine(&turn, op, value, (0, value.count()), target);
        }
    }
    turn.finish()
}

fn allgather(mut turn: Turn<'_>, own: &Region, all: &Region) -> Result<()> {
    turn.failed = misfit(own, all, turn.comm);
    let nothing = Region::empty(turn.byte());
    turn.offer(if turn.failed.is_none() { own } else { &nothing })?;
    let (block, members, middle) = (all.bytes(), turn.members(), turn.board.middle());
    let together = block * u64::from(members);
    // One copy of all blocks is sooner read by many than each block.
    let is_collected = !turn.is_flat() && together <= Board::room(members);
    turn.meet(|turn| {
        for member in (0..members).filter(|_| is_collected) {
            let place = part(turn, middle, together, block * u64::from(member), block);
            part(turn, member, block, 0, block).copy_to(&place);
        }
    })?;
    turn.has_met();
    if turn.failed.is_none() && is_collected {
        part(&turn, middle, together, 0, together).copy_to(&all.blocks(0, members));
    } else if turn.failed.is_none() {
        own.copy_to(&all.block(turn.me()));
        for member in turn.others() {
            part(&turn, member, block, 0, block).copy_to(&all.block(member));
        }
    }
    turn.finish()
}

fn gather(mut turn: Turn<'_>, own: &Region, all: Option<&Region>, root: u32) -> Result<()> {
    let Some(all) = all.filter(|_| turn.me() == root) else {
        turn.offer(own)?;
        return turn.finish();
    };
    turn.failed = misfit(own, all, turn.comm);
    for member in turn.others() {
        turn.await_data(member)?;
        if turn.failed.is_none() {
            part(&turn, member, all.bytes(), 0, all.bytes()).copy_to(&all.block(member));
        }
    }
    turn.has_met();
    if turn.failed.is_none() {
        own.copy_to(&all.block(root));
    }
    turn.finish()
}

fn scatter(mut turn: Turn<'_>, own: &Region, all: Option<&Region>, root: u32) -> Result<()> {
    let (block, members) = (own.bytes(), turn.members());
    if let Some(all) = all.filter(|_| turn.me() == root) {
        turn.failed = misfit(all, own, turn.comm);
        if turn.failed.is_none() {
            turn.offer(&all.blocks(0, members))?;
            all.block(root).copy_to(own);
        } else {
            turn.offer(&Region::empty(turn.byte()))?;
        }
    } else {
        turn.await_data(root)?;
        if turn.failed.is_none() {
            let whole = block * u64::from(members);
            part(&turn, root, whole, block * u64::from(turn.me()), block).copy_to(own);
        }
    }
    turn.finish()
}

fn alltoall(mut turn: Turn<'_>, send: &Region, recv: &Region) -> Result<()> {
    let (me, members, block) = (turn.me(), turn.members(), recv.bytes());
    turn.failed = misfit(send, recv, turn.comm);
    let nothing = Region::empty(turn.byte());
    turn.offer(&if turn.failed.is_none() { send.blocks(0, members) } else { nothing })?;
    turn.meet(|_| {})?;
    turn.has_met();
    if turn.failed.is_none() {
        let whole = block * u64::from(members);
        send.block(me).copy_to(&recv.block(me));
        for member in turn.others() {
            part(&turn, member, whole, block * u64::from(me), block).copy_to(&recv.block(member));
        }
    }
    turn.finish()
}

/// What is wrong if this member's own block does not fit into the place that it has for it.
pub(super) fn misfit(own: &Region, place: &Region, comm: &Comm) -> Option<Error> {
    crate::coll::own_block(own.bytes(), place.bytes(), comm)
}

//! Collectives whose data fit into the rooms of a board.
//!
//! Cost where every member has a core: one line written and p - 1 read by each for a barrier or a short all-reduction, no message; a broadcast writes one line, which all read. Where
//! there are many, one of each group reads the lines of its group, and all read what these write: two rounds of √p lines. Where cores are shared: one counter that all raise, one seat that
//! all read, so that each member runs once a collective. Results do not depend on who comes when:
//! values are combined in the order of `values::pairing`, by one member or by several.

use crate::lane::Lane;
use crate::lane::board::scan;
use crate::lane::board::turn::{Meeting, Turn};
use crate::schedule::Call;
use crate::values::comm::Comm;
use crate::values::error::{Error, Result};
use crate::values::memory::board::{Board, NOTE_BYTES};
use crate::values::memory::groups::Seats;
use crate::values::memory::{Aside, Region};
use crate::values::op::Op;
use crate::values::pairing::{self, Join};

/// Longest value that every member combines by itself: reading all of it takes less time than meeting twice.
const COMBINED_BY_ALL: u64 = 512;

/// Whom a member waits for after it has laid down what it has for the others.
pub(super) enum Awaits {
    Nobody,
    /// The root, for what it has laid down.
    Root(u32),
    /// All others, for what they have: the root itself.
    All,
    /// All meet.
    Meeting,
    /// Those before it, for what they have.
    Before,
}

#[inline(never)]
pub(super) fn run(lane: &Lane, comm: &Comm, board: &Board, call: &Call) -> Result<()> {
    let mut turn = Turn::begin((lane, comm, board), call);
    meet(&mut turn, call)?;
    match call {
        Call::Allreduce { value, target, op }
            if is_sliced(call, board, turn.meeting) && turn.failed.is_none() =>
        {
            combine_by_slices(turn, value, target, op)
        }
        _ => {
            take(&turn, call);
            turn.finish()
        }
    }
}

/// Does all but to say that it is done, where nobody combines slices.
pub(super) fn work(turn: &mut Turn<'_>, call: &Call) -> Result<()> {
    meet(turn, call)?;
    take(turn, call);
    Ok(())
}

/// Lays down what this member has for the others, and waits for what it needs of theirs.
#[inline]
fn meet(turn: &mut Turn<'_>, call: &Call) -> Result<()> {
    match (call, laid(turn, call)) {
        (Call::Scan { value, .. }, _) => scan::make_room(turn, value)?,
        (_, Some(bytes)) => turn.make_room(bytes)?,
        _ => {}
    }
    lay(turn, call);
    match awaits(turn, call) {
        Awaits::Nobody => {}
        Awaits::Root(root) => turn.await_data(root)?,
        Awaits::All => {
            for member in turn.others() {
                turn.await_data(member)?;
            }
            turn.has_met();
        }
        Awaits::Before => scan::await_before(turn)?,
        Awaits::Meeting => {
            turn.board.expect_next(turn.number, call.bytes());
            turn.meet(&mut |turn| join(turn, call))?;
            turn.has_met();
        }
    }
    Ok(())
}

/// Bytes for which there must be room before this member lays down anything, if it does: its own, those of its group if it speaks for that, or those of the middle, which the last who arrives writes for all.
pub(super) fn laid(turn: &Turn<'_>, call: &Call) -> Option<u64> {
    let (is_root, members) = (call.root() == Some(turn.me()), u64::from(turn.members()));
    match call {
        Call::Barrier => Some(0),
        Call::Bcast { data, .. } => is_root.then(|| data.bytes()),
        Call::Allreduce { value, .. } | Call::Reduce { value, .. } => Some(value.bytes()),
        Call::Allgather { own, all } => match turn.meeting {
            Meeting::Groups if turn.speaks() && is_collected(turn, all) => {
                Some(all.bytes() * u64::from(turn.board.groups.size()))
            }
            Meeting::Last if is_collected(turn, all) => Some(all.bytes() * members),
            _ => Some(own.bytes()),
        },
        Call::Gather { own, .. } => (!is_root).then(|| own.bytes()),
        Call::Scatter { own, .. } => is_root.then(|| dealt(turn.members(), 0, own.bytes()).0),
        Call::Alltoall { recv, .. } => Some(dealt(turn.members(), 0, recv.bytes()).0),
        Call::Scan { value, .. } => Some(2 * value.bytes()),
        Call::ReduceScatter { dealing, .. } => Some(dealing.value.bytes()),
    }
}

/// Lays it down, where there is room for it now, and publishes it.
pub(super) fn lay(turn: &mut Turn<'_>, call: &Call) {
    let (is_root, members) = (call.root() == Some(turn.me()), turn.members());
    match call {
        Call::Barrier => turn.come(),
        Call::Bcast { data, .. } if is_root => turn.offer(data),
        Call::Allreduce { value, .. } => turn.bring(value),
        Call::Reduce { value, .. } => turn.offer(value),
        Call::Gather { own, .. } if !is_root => turn.offer(own),
        Call::Gather { own, all: Some(all), .. } => turn.failed = misfit(own, all, turn.comm),
        Call::Allgather { own, all } => {
            turn.failed = misfit(own, all, turn.comm);
            turn.bring(own);
            if turn.failed.is_none() && !is_collected(turn, all) {
                own.copy_to(&all.block(turn.me()));
            }
        }
        Call::Scatter { own, all: Some(all), .. } if is_root => {
            turn.failed = misfit(all, own, turn.comm);
            turn.offer(&if members == 2 { all.block(1 - turn.me()) } else { all.blocks(0, members) });
        }
        Call::Alltoall { send, recv } => {
            turn.failed = misfit(send, recv, turn.comm);
            turn.bring(&if members == 2 { send.block(1 - turn.me()) } else { send.blocks(0, members) });
        }
        Call::Scan { value, .. } => scan::lay(turn, value),
        Call::ReduceScatter { dealing, .. } => turn.bring(&dealing.value),
        Call::Bcast { .. } | Call::Gather { .. } | Call::Scatter { .. } => {}
    }
}

pub(super) fn awaits(turn: &Turn<'_>, call: &Call) -> Awaits {
    let is_root = call.root() == Some(turn.me());
    match call {
        Call::Bcast { root, .. } | Call::Scatter { root, .. } if !is_root => Awaits::Root(*root),
        Call::Reduce { .. } | Call::Gather { .. } if is_root => Awaits::All,
        Call::Bcast { .. } | Call::Scatter { .. } | Call::Reduce { .. } | Call::Gather { .. } => {
            Awaits::Nobody
        }
        Call::Barrier
        | Call::Allreduce { .. }
        | Call::Allgather { .. }
        | Call::Alltoall { .. }
        | Call::ReduceScatter { .. } => Awaits::Meeting,
        Call::Scan { .. } => Awaits::Before,
    }
}

/// What is done for others where not all look at all: by who speaks, for its group, at its own seat; by the last who arrives, for all, in the middle.
pub(super) fn join(turn: &mut Turn<'_>, call: &Call) {
    let speaks = turn.meeting == Meeting::Groups;
    let (seat, joined) = match speaks {
        true => (turn.me(), turn.board.groups.led_by(turn.me())),
        false => (turn.board.middle(), 0..turn.members()),
    };
    match call {
        Call::Allreduce { value, op, .. } if !is_sliced(call, turn.board, turn.meeting) => {
            let seats = Seats { first: joined.start, last: joined.end - 1, step: 1 };
            let place = place_at(turn, seat, value);
            // The place of the result is that of the value of who speaks.
            let own = speaks.then_some((seat, value));
            combine((turn.board, turn.number, seats), op, value, (0, value.count()), &place, own);
        }
        Call::Allgather { own, all } if is_collected(turn, all) => {
            let (block, first) = (all.bytes(), joined.start);
            let together = block * joined.len() as u64;
            for member in joined {
                let lying = part(turn, member, block, 0, block);
                let place = part(turn, seat, together, block * u64::from(member - first), block);
                (if member == seat { own } else { &lying }).copy_to(&place);
            }
        }
        _ => {}
    }
}

/// True if blocks are laid side by side, those of all by the last who arrives, those of a group by who speaks for it: one copy of all is sooner read by many than each block. Where each has
/// a core that is so while blocks have few lines, which lie in notes.
#[inline]
fn is_collected(turn: &Turn<'_>, all: &Region) -> bool {
    match turn.meeting {
        Meeting::Flat => false,
        Meeting::Groups => is_collected_in_groups(turn.board, all.bytes()),
        Meeting::Last => all.bytes() * u64::from(turn.members()) <= turn.board.room(),
    }
}

#[inline(never)]
fn is_collected_in_groups(board: &Board, block: u64) -> bool {
    block <= NOTE_BYTES && block * u64::from(board.groups.size()) <= board.room()
}

/// What lies at the seat of one who deals blocks out, and from where on the block of a member: (bytes of all, the first of that). What is for oneself lies between the others' blocks, unless there is one other only.
#[inline(always)]
pub(super) fn dealt(members: u32, member: u32, block: u64) -> (u64, u64) {
    if members == 2 { (block, 0) } else { (block * u64::from(members), block * u64::from(member)) }
}

/// True if each member combines but a part of the values, and they meet once more.
pub(super) fn is_sliced(call: &Call, board: &Board, meeting: Meeting) -> bool {
    matches!(call, Call::Allreduce { .. })
        && meeting != Meeting::Last
        && board.members() > 2
        && call.bytes() > COMBINED_BY_ALL
}

/// Takes what this member needs of what the others have laid down, unless it has failed.
pub(super) fn take(turn: &Turn<'_>, call: &Call) {
    if let Call::Scan { value, target, op, with_own } = call {
        return scan::take(turn, value, target, op, *with_own);
    }
    if turn.failed.is_some() {
        return;
    }
    let (me, members) = (turn.me(), turn.members());
    match call {
        Call::Bcast { data, root } if me != *root => {
            pick(turn, *root, (data.bytes(), 0), data);
        }
        Call::Allreduce { value, target, .. } if turn.meeting == Meeting::Last => {
            pick(turn, turn.board.middle(), (value.bytes(), 0), target);
        }
        Call::Allreduce { value, target, op } if members == 2 && op.is_symmetric(value.datatype()) => {
            // What the other brought goes straight to its place, and this member's own value need not be read from the board.
            pick(turn, 1 - me, (value.bytes(), 0), target);
            let own = if value.same_place(target) { &place_at(turn, me, value) } else { value };
            op.combine(own, target);
        }
        Call::Allreduce { value, target, op } => {
            let (board, number, all) = all_of(turn);
            let seats = if turn.meeting == Meeting::Groups { board.groups.speakers() } else { all };
            combine((board, number, seats), op, value, (0, value.count()), target, None);
        }
        Call::Reduce { value, target: Some(target), op, root } if me == *root => {
            combine(all_of(turn), op, value, (0, value.count()), target, None);
        }
        Call::ReduceScatter { dealing, op, .. } => {
            let (first, count) = (dealing.bounds[me as usize], dealing.target.count());
            combine(all_of(turn), op, &dealing.value, (first, count), &dealing.target, None);
        }
        Call::Allgather { all, .. } if turn.meeting == Meeting::Groups && is_collected(turn, all) => {
            let groups = turn.board.groups;
            let mut group = groups.led_by(0);
            while !group.is_empty() {
                let blocks = all.blocks(group.start, group.len() as u32);
                pick(turn, group.start, (blocks.bytes(), 0), &blocks);
                group = groups.led_by(group.end);
            }
        }
        Call::Allgather { all, .. } if is_collected(turn, all) => {
            let together = all.bytes() * u64::from(members);
            pick(turn, turn.board.middle(), (together, 0), &all.blocks(0, members));
        }
        Call::Allgather { all, .. } => {
            for member in turn.others() {
                pick(turn, member, (all.bytes(), 0), &all.block(member));
            }
        }
        Call::Gather { own, all: Some(all), root } if me == *root => {
            own.copy_to(&all.block(me));
            for member in turn.others() {
                pick(turn, member, (all.bytes(), 0), &all.block(member));
            }
        }
        Call::Scatter { own, all: Some(all), root } if me == *root => all.block(me).copy_to(own),
        Call::Scatter { own, root, .. } => pick(turn, *root, dealt(members, me, own.bytes()), own),
        Call::Alltoall { send, recv } => {
            send.block(me).copy_to(&recv.block(me));
            for member in turn.others() {
                pick(turn, member, dealt(members, me, recv.bytes()), &recv.block(member));
            }
        }
        Call::Barrier
        | Call::Bcast { .. }
        | Call::Reduce { .. }
        | Call::Gather { .. }
        | Call::Scan { .. } => {}
    }
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
    combine(all_of(&turn), op, value, (first, count), &into, None);
    into.copy_to(&places[me as usize]);
    turn.next()?;
    turn.come();
    // Who meets here is not yet done with the rooms of the turn before.
    turn.meet(&mut |_| {})?;
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

/// The values of all in a turn.
fn all_of<'a>(turn: &Turn<'a>) -> (&'a Board, u64, Seats) {
    (turn.board, turn.number, Seats::all(turn.members()))
}

/// Combines some elements of the values at some seats of the board in a turn, in a place that is
/// none of them but that of this member's `own` value, if that is given. What others wrote is
/// copied before it is combined: a copy waits for many lines of theirs at once.
fn combine(
    (board, turn, seats): (&Board, u64, Seats),
    op: &Op,
    like: &Region,
    (first, count): (u64, u64),
    into: &Region,
    own: Option<(u32, &Region)>,
) {
    let (datatype, whole) = (like.datatype(), like.bytes());
    let size = datatype.size();
    let of = |number: u32, first: u64, count: u64| match (seats.seat(number), own) {
        (seat, Some((me, value))) if seat == me => value.elements(first, count),
        (seat, _) => board.part(seat, turn, whole, (first * size, count), datatype),
    };
    let is_short = count * size <= NOTE_BYTES;
    let slots = pairing::slots(seats.count()) as u64;
    let mut aside = Aside::new();
    // A part for each slot but the first, and one for what is copied.
    let each = if is_short { count } else { Aside::BYTES / slots / size }.max(1);
    for at in (0..count).step_by(each as usize) {
        let many = each.min(count - at);
        let parts = aside.region(slots * many, datatype);
        let part = |number: u64| parts.elements(number * many, many);
        let place = |slot: usize| match slot {
            0 => into.elements(at, many),
            _ => part(slot as u64 - 1),
        };
        pairing::in_pairs(seats.count(), pairing::DOWNWARDS, |step| match step {
            Join::Load { member, slot } => of(member, first + at, many).copy_to(&place(slot)),
            Join::Member { member, slot, .. } if is_short => {
                op.combine(&of(member, first + at, many), &place(slot));
            }
            Join::Member { member, slot, .. } => {
                let operand = part(slots - 1);
                of(member, first + at, many).copy_to(&operand);
                op.combine(&operand, &place(slot));
            }
            Join::Slots { slot, .. } => op.combine(&place(slot + 1), &place(slot)),
        });
    }
}

/// A place for a value at a seat.
fn place_at(turn: &Turn<'_>, seat: u32, value: &Region) -> Region {
    turn.board.part(seat, turn.number, value.bytes(), (0, value.count()), value.datatype())
}

/// Copies what lies at a seat, so many bytes, from one of them on.
fn pick(turn: &Turn<'_>, seat: u32, lying: (u64, u64), into: &Region) {
    turn.board.pick_up(seat, turn.number, lying, into);
}

/// Bytes at a seat, of so many that lie there.
fn part(turn: &Turn<'_>, seat: u32, whole: u64, from: u64, bytes: u64) -> Region {
    turn.board.part(seat, turn.number, whole, (from, bytes), turn.byte())
}

/// What is wrong if this member's own block does not fit into the place that it has for it.
pub(super) fn misfit(own: &Region, place: &Region, comm: &Comm) -> Option<Error> {
    crate::coll::own_block(own.bytes(), place.bytes(), comm)
}

//! Collectives of long data: each member names its memory on the board, and the others read it where it lies.
//!
//! Cost: every byte that a member needs is copied once, by itself, straight from whoever has it; an all-reduction reads each value once and each result once. Members meet before anybody
//! reads, and nobody changes what others may still read: who waits meets them once more, and one that is under way ends when they are done.

use fabric::{Key, PortalError, Ticket};

use crate::lane::Lane;
use crate::lane::board::hall::join;
use crate::lane::board::pair;
use crate::lane::board::short::{self, Awaits, misfit, slice};
use crate::lane::board::turn::Turn;
use crate::lane::board::under_way::{look, stage_of};
use crate::schedule::{Call, Dealing, Stage};
use crate::values::comm::Comm;
use crate::values::error::{Error, Result};
use crate::values::memory::board::Board;
use crate::values::memory::{Region, Scratch, Whole};
use crate::values::op::Op;
use crate::values::pairing::{self, Join};

/// Bytes that are combined at a time, while they are in the core's cache.
const PIECE: u64 = 64 << 10;

/// The same where a member needs all that the other one has: fewer calls of the system.
const WHOLE_PIECE: u64 = 256 << 10;

#[inline(never)]
pub(super) fn run(lane: &Lane, comm: &Comm, board: &Board, call: &Call) -> Result<()> {
    let mut turn = Turn::begin((lane, comm, board), call);
    let named = turn.number;
    // Until nobody reads it.
    let mut held = None;
    let ended = work(&mut turn, call, &mut held);
    leave(turn, named, ended)
}

/// Does all but to say that it is done.
pub(super) fn work(turn: &mut Turn<'_>, call: &Call, held: &mut Option<Whole>) -> Result<()> {
    match call {
        _ if pair::serves(turn, call) => pair::run(turn, call, held),
        Call::Allreduce { value, target, op } if is_between_two(turn, value, op) => {
            reduce_with_the_other(turn, value, target, op)
        }
        Call::Allreduce { value, target, op } => allreduce(turn, value, target, op),
        Call::Reduce { value, target, op, root } => reduce(turn, value, target.as_ref(), op, *root),
        Call::ReduceScatter { dealing, op, .. } => reduce_scatter(turn, dealing, op),
        _ => carry(turn, call, held),
    }
}

/// This member is done, or goes away from what could not end, in which it has named memory.
pub(super) fn leave(turn: Turn<'_>, named: u64, ended: Result<()>) -> Result<()> {
    match ended {
        Ok(()) => turn.finish(),
        Err(error) => {
            turn.withdraw(named);
            Err(error)
        }
    }
}

/// True for those in which nothing is combined: they go on while the rank makes progress in the same way as if it waits.
pub(super) fn only_moves(call: &Call) -> bool {
    matches!(
        call,
        Call::Bcast { .. }
            | Call::Scatter { .. }
            | Call::Gather { .. }
            | Call::Allgather { .. }
            | Call::Alltoall { .. }
    )
}

/// Does one of these, and waits.
fn carry(turn: &mut Turn<'_>, call: &Call, held: &mut Option<Whole>) -> Result<()> {
    if publishes(turn, call) {
        turn.make_room(0)?;
    }
    *held = lay(turn, call);
    match awaits(turn, call) {
        Awaits::Root(root) => turn.await_data(root)?,
        Awaits::All => {
            for member in turn.others() {
                turn.await_data(member)?;
            }
            turn.has_met();
        }
        Awaits::Meeting => {
            turn.meet(&mut |_| {})?;
            turn.has_met();
        }
        Awaits::Nobody | Awaits::Before => {}
    }
    let is_needed = is_needed(turn, call);
    take(turn, call, held.as_ref());
    match call.root() {
        _ if !is_needed => Ok(()),
        Some(_) => turn.await_all_done(),
        None => part_company(turn),
    }
}

/// Goes on with one that is under way, from a stage: the one in which it has to wait, or none if it is done.
#[inline(never)]
pub(super) fn advance(
    turn: &mut Turn<'_>,
    call: &Call,
    stage: Stage,
    held: &mut Option<Whole>,
) -> Option<Stage> {
    if pair::serves(turn, call) {
        return pair::advance(turn, call, stage, held);
    }
    let mut waits = Some(stage);
    if stage == Stage::Room {
        if publishes(turn, call) && !turn.has_room(0) {
            return waits;
        }
        *held = lay(turn, call);
        waits = stage_of(turn, awaits(turn, call));
    }
    if !matches!(waits, Some(Stage::Done(_))) {
        if let Some(stage) = waits.and_then(|stage| look(turn, stage, &mut |_| {})) {
            return Some(stage);
        }
        let is_needed = is_needed(turn, call);
        take(turn, call, held.as_ref());
        if !is_needed {
            return None;
        }
        turn.close();
        waits = Some(Stage::Done(0));
    }
    waits.and_then(|stage| look(turn, stage, &mut |_| {}))
}

/// True if this member publishes a note, for which there must be room.
fn publishes(turn: &Turn<'_>, call: &Call) -> bool {
    match call {
        Call::Bcast { root, .. } | Call::Scatter { root, .. } => *root == turn.me(),
        _ => true,
    }
}

/// Names what others read from this member or write to it, if they do, and publishes that. What it has named stays until they are done.
fn lay(turn: &mut Turn<'_>, call: &Call) -> Option<Whole> {
    let (me, members, byte) = (turn.me(), turn.members(), turn.byte());
    let is_root = call.root() == Some(me);
    match call {
        Call::Bcast { data, .. } if is_root => {
            let whole = Whole::of(data, byte);
            offer(turn, &[whole.region()]);
            Some(whole)
        }
        Call::Scatter { own, all: Some(all), .. } if is_root => {
            turn.failed = misfit(all, own, turn.comm);
            let whole = Whole::of(&all.blocks(0, members), byte);
            offer(turn, &[whole.region()]);
            if turn.failed.is_none() && !own.same_place(&all.block(me)) {
                all.block(me).copy_to(own);
            }
            Some(whole)
        }
        // The root names the memory for all blocks, and each member writes its own there: side by side, and not one after the other by the root.
        Call::Gather { own, all: Some(all), .. } if is_root => {
            turn.failed = misfit(own, all, turn.comm);
            let whole = Whole::place(&all.blocks(0, members), byte);
            offer(turn, &[whole.region()]);
            let mine = whole.region().elements(all.bytes() * u64::from(me), all.bytes());
            if turn.failed.is_none() && !own.same_place(&mine) {
                own.copy_to(&mine);
            }
            Some(whole)
        }
        Call::Allgather { own, all } => {
            turn.failed = misfit(own, all, turn.comm);
            Some(bring(turn, own))
        }
        Call::Alltoall { send, recv } => {
            turn.failed = misfit(send, recv, turn.comm);
            Some(bring(turn, &send.blocks(0, members)))
        }
        _ => None,
    }
}

/// Names data for a meeting.
#[inline(never)]
fn bring(turn: &mut Turn<'_>, data: &Region) -> Whole {
    let whole = Whole::of(data, turn.byte());
    name(turn, &[whole.region()]);
    turn.come();
    whole
}

/// Whom this member waits for before it takes or gives anything.
fn awaits(turn: &Turn<'_>, call: &Call) -> Awaits {
    match call {
        Call::Gather { root, .. } if *root != turn.me() => Awaits::Root(*root),
        _ => short::awaits(turn, call),
    }
}

/// True if others still need what this member has named when it has taken its part. Of one that has failed nobody reads anything.
fn is_needed(turn: &Turn<'_>, call: &Call) -> bool {
    turn.failed.is_none() && !matches!(call, Call::Gather { .. }) && publishes(turn, call)
}

/// Takes what this member needs of what the others have named, or gives what they need, unless it has failed.
fn take(turn: &mut Turn<'_>, call: &Call, held: Option<&Whole>) {
    let (me, is_root) = (turn.me(), call.root() == Some(turn.me()));
    let is_well = turn.failed.is_none();
    match call {
        Call::Gather { own, root, .. } if !is_root => {
            if is_well {
                let whole = Whole::of(own, turn.byte());
                let key = key(turn, *root, turn.number, 0);
                put(turn, *root, &key, own.bytes() * u64::from(me), whole.region());
            }
            turn.publish(me, turn.failed.is_some());
        }
        _ if !is_well => {}
        Call::Gather { all: Some(all), .. } => {
            if let Some(whole) = held {
                whole.spread(&all.blocks(0, turn.members()));
            }
        }
        Call::Bcast { data, root } if !is_root => get(turn, &mut [*root].into_iter(), 0, &|_| data.clone()),
        Call::Scatter { own, root, .. } if !is_root => {
            get(turn, &mut [*root].into_iter(), own.bytes() * u64::from(me), &|_| own.clone());
        }
        Call::Allgather { own, all } => {
            own.copy_to(&all.block(me));
            get(turn, &mut turn.others(), 0, &|member| all.block(member));
        }
        Call::Alltoall { send, recv } => {
            send.block(me).copy_to(&recv.block(me));
            get(turn, &mut turn.others(), recv.bytes() * u64::from(me), &|member| recv.block(member));
        }
        _ => {}
    }
}

/// Reads from byte `from` on of what members have named in this turn.
#[inline(never)]
fn get(turn: &mut Turn<'_>, members: &mut dyn Iterator<Item = u32>, from: u64, into: &dyn Fn(u32) -> Region) {
    turn.read(turn.name(), members, &mut |turn, member| {
        let key = key(turn, member, turn.number, 0);
        fetch(turn, member, &key, from, &into(member));
    });
}

/// Names memory for the others, and publishes that.
#[inline(never)]
pub(super) fn offer(turn: &mut Turn<'_>, pieces: &[&Region]) {
    name(turn, pieces);
    turn.publish(turn.me(), turn.failed.is_some());
}

/// Names memory for the others, where there is room for that.
#[inline(never)]
fn name(turn: &mut Turn<'_>, pieces: &[&Region]) {
    let mut keys = [Key([0; 4]); 2];
    for (key, piece) in keys.iter_mut().zip(pieces) {
        match piece.expose(turn.lane.fabric()) {
            Ok(exposed) => *key = exposed,
            Err(error) => fail(turn, turn.me(), error),
        }
    }
    turn.board.lay_keys(turn.number, &keys[..pieces.len()], turn.byte());
}

/// Reads from what a member has named, from byte `from` on, as many as the region holds.
#[inline(never)]
pub(super) fn fetch(turn: &mut Turn<'_>, member: u32, key: &Key, from: u64, into: &Region) {
    let fabric = turn.lane.fabric();
    let node = turn.comm.node(member);
    let read = |into: &Region| finish(turn.lane, into.get(fabric, node, key, from));
    let fetched = match into.as_bytes(turn.byte()) {
        Some(bytes) => read(&bytes),
        None => {
            let mut scratch = Scratch::unwritten(into.bytes() as usize);
            let bytes = scratch.region(into.bytes(), turn.byte());
            read(&bytes).map(|()| bytes.copy_to(into))
        }
    };
    if let Err(error) = fetched {
        fail(turn, member, error);
    }
}

/// Waits until a transfer is done.
fn finish(
    lane: &Lane,
    begun: core::result::Result<Ticket, PortalError>,
) -> core::result::Result<(), PortalError> {
    let ticket = begun?;
    while ticket != Ticket::DONE && !lane.fabric().done(ticket)? {
        core::hint::spin_loop();
    }
    Ok(())
}

#[cold]
fn fail(turn: &mut Turn<'_>, member: u32, error: PortalError) {
    turn.failed.get_or_insert(match error {
        PortalError::PeerLost => Error::PeerLost { node: turn.comm.node(member).0 },
        _ => Error::PeerMemory { node: turn.comm.node(member).0, role: "send" },
    });
}

pub(super) fn key(turn: &Turn<'_>, member: u32, number: u64, place: usize) -> Key {
    turn.board.key(member, number, place, turn.byte())
}

/// Writes to what a member has named in this turn, from byte `from` on, unless it has withdrawn it.
#[inline(never)]
pub(super) fn put(turn: &mut Turn<'_>, member: u32, key: &Key, from: u64, piece: &Region) {
    turn.read(turn.name(), &mut [member].into_iter(), &mut |turn, member| {
        let begun = piece.put(turn.lane.fabric(), turn.comm.node(member), key, from);
        if let Err(error) = finish(turn.lane, begun) {
            fail(turn, member, error);
        }
    });
}

/// Waits until all have come, with memory that they have named: false if one has failed, which all learn.
#[inline(never)]
fn meet(turn: &mut Turn<'_>) -> Result<bool> {
    turn.come();
    turn.meet(&mut |_| {})?;
    turn.has_met();
    Ok(turn.failed.is_none())
}

/// Nobody changes what others may still read.
#[inline(never)]
pub(super) fn part_company(turn: &mut Turn<'_>) -> Result<()> {
    turn.next()?;
    meet(turn)?;
    Ok(())
}

/// Offers a piece, and reads what the others offer; the piece is left alone until all have.
fn exchange(turn: &mut Turn<'_>, piece: &Region, read: impl FnOnce(&mut Turn<'_>)) -> Result<()> {
    turn.make_room(0)?;
    let named = turn.number;
    name(turn, &[piece]);
    let exchanged = || {
        if meet(turn)? {
            read(turn);
            part_company(turn)?;
        }
        Ok(())
    };
    exchanged().inspect_err(|_| turn.withdraw(named))
}

/// True if each of two members reads all that the other one has: as many bytes as half of the values and half of the results, and one meeting less.
pub(super) fn is_between_two(turn: &Turn<'_>, value: &Region, op: &Op) -> bool {
    turn.members() == 2 && op.is_symmetric(value.datatype())
}

fn reduce_with_the_other(turn: &mut Turn<'_>, value: &Region, target: &Region, op: &Op) -> Result<()> {
    // The other one reads the value while this one writes the target.
    let mut copy = value.same_place(target).then(|| Scratch::unwritten(value.bytes() as usize));
    let own = match &mut copy {
        Some(scratch) => {
            let own = scratch.region(value.count(), value.datatype());
            value.copy_to(&own);
            own
        }
        None => value.elements(0, value.count()),
    };
    exchange(turn, &own, |turn| {
        combine_with_the_other(turn, &own, target, op);
    })
}

/// Combines all that the other one of two has named with this member's own value, which is not the target.
pub(super) fn combine_with_the_other(turn: &mut Turn<'_>, own: &Region, target: &Region, op: &Op) {
    let size = own.datatype().size();
    turn.read(turn.name(), &mut turn.others(), &mut |turn, other| {
        let key = key(turn, other, turn.number, 0);
        for (first, count) in steps((0, own.count()), WHOLE_PIECE / size) {
            let into = target.elements(first, count);
            fetch(turn, other, &key, first * size, &into);
            op.combine(&own.elements(first, count), &into);
        }
    });
}

/// Elements in steps of so many: (the first, how many).
pub(super) fn steps((first, count): (u64, u64), each: u64) -> impl Iterator<Item = (u64, u64)> {
    let (each, end) = (each.max(1), first + count);
    (first..end).step_by(each as usize).map(move |at| (at, each.min(end - at)))
}

fn allreduce(turn: &mut Turn<'_>, value: &Region, target: &Region, op: &Op) -> Result<()> {
    turn.make_room(0)?;
    name(turn, &[value, target]);
    if !meet(turn)? {
        return Ok(());
    }
    let named = turn.name();
    combine_own_slice(turn, op, value, target);
    turn.next()?;
    if meet(turn)? {
        collect_slices(turn, named, target);
    }
    part_company(turn)
}

/// Combines this member's slice of the values that all have named.
pub(super) fn combine_own_slice(turn: &mut Turn<'_>, op: &Op, value: &Region, target: &Region) {
    let mine = slice(value.count(), turn.me(), turn.members());
    combine_slice(turn, op, value, mine, &target.elements(mine.0, mine.1));
}

/// Reads what the others have combined in the targets that they have named.
pub(super) fn collect_slices(turn: &mut Turn<'_>, named: (u64, u8), target: &Region) {
    let (members, size) = (turn.members(), target.datatype().size());
    turn.read(named, &mut turn.others(), &mut |turn, member| {
        let (first, count) = slice(target.count(), member, members);
        let key = key(turn, member, named.0, 1);
        fetch(turn, member, &key, first * size, &target.elements(first, count));
    });
}

/// Each member combines its block, and nobody reads that but itself.
fn reduce_scatter(turn: &mut Turn<'_>, Dealing { value, target, bounds }: &Dealing, op: &Op) -> Result<()> {
    let (first, count) = (bounds[turn.me() as usize], target.count());
    // In place the result belongs where a block lies that others read.
    let mut scratch =
        value.same_place(target).then(|| Scratch::unwritten((count * value.datatype().size()) as usize));
    let combined = scratch.as_mut().map(|scratch| scratch.region(count, value.datatype()));
    let into = combined.as_ref().unwrap_or(target);
    exchange(turn, value, |turn| combine_slice(turn, op, value, (first, count), into))?;
    into.copy_to(target);
    Ok(())
}

/// As [`allreduce`], but each writes what it has combined where the root wants it. The root's slice is longer, by as much work as that is.
fn reduce(turn: &mut Turn<'_>, value: &Region, target: Option<&Region>, op: &Op, root: u32) -> Result<()> {
    let (me, others, datatype) = (turn.me(), u64::from(turn.members()) - 1, value.datatype());
    // To read an element and to combine it with this member's takes as long as two transfers.
    let (each, all) = (2 * others, 2 * others * (others + 1) + 1);
    let bound = |member: u32| value.count() * (u64::from(member) * each + u64::from(member > root)) / all;
    let (first, count) = (bound(me), bound(me + 1) - bound(me));
    let target = target.filter(|_| me == root);
    let mut scratch = None;
    let combined = match target {
        Some(target) => target.elements(first, count),
        None => {
            scratch.insert(Scratch::unwritten((count * datatype.size()) as usize)).region(count, datatype)
        }
    };
    turn.make_room(0)?;
    name(turn, &[value, target.unwrap_or(value)]);
    if !meet(turn)? {
        return Ok(());
    }
    combine_slice(turn, op, value, (first, count), &combined);
    if me != root {
        let key = key(turn, root, turn.number, 1);
        put(turn, root, &key, first * datatype.size(), &combined);
    }
    part_company(turn)
}

/// Combines a slice of all values, a piece at a time, in a place that is no member's but perhaps
/// this one's own. Operands are in the order of `values::pairing`; each member begins with its
/// neighbour, so that not all read the same one's memory at the same time.
#[inline(never)]
fn combine_slice(turn: &mut Turn<'_>, op: &Op, value: &Region, (first, count): (u64, u64), into: &Region) {
    let (me, members, datatype) = (turn.me(), turn.members(), value.datatype());
    let size = datatype.size();
    let is_in_place = value.elements(first, count).same_place(into);
    // What comes from the only other one goes straight to its place, and none of it has to stay in the cache for a third.
    let is_straight = members == 2 && !is_in_place;
    let each = (if is_straight { WHOLE_PIECE } else { PIECE } / size).max(1);
    // A part for each slot but the first, and one for what is fetched to be combined.
    let slots = pairing::slots(members) as u64;
    let mut scratch = (!is_straight).then(|| Scratch::unwritten((slots * each * size) as usize));
    let parts =
        scratch.as_mut().map_or_else(|| into.elements(0, 0), |parts| parts.region(slots * each, datatype));
    // Its own value need not be copied if its neighbour's is in the slot, and is in the slot in
    // place.
    let begin = if is_in_place || me ^ 1 >= members { me } else { me ^ 1 };
    for (at, many) in steps((first, count), each) {
        let part = |number: u64| parts.elements(number * each, many);
        let place = |slot: usize| match slot {
            0 => into.elements(at - first, many),
            _ => part(slot as u64 - 1),
        };
        let own = value.elements(at, many);
        pairing::in_pairs(members, pairing::from(begin, members), |step| match step {
            Join::Load { member, slot } if member == me => {
                let place = place(slot);
                if !own.same_place(&place) {
                    own.copy_to(&place);
                }
            }
            Join::Load { member, slot } => fetch_value(turn, member, at * size, &place(slot)),
            Join::Member { member, slot, is_low } if member == me => join(op, &own, &place(slot), !is_low),
            Join::Member { member, slot, is_low } => {
                let operand = part(slots - 1);
                fetch_value(turn, member, at * size, &operand);
                join(op, &operand, &place(slot), !is_low);
            }
            Join::Slots { slot, is_low } => join(op, &place(slot + 1), &place(slot), !is_low),
        });
    }
}

/// Reads from byte `from` on of the value that a member has named in this turn.
#[inline(never)]
fn fetch_value(turn: &mut Turn<'_>, member: u32, from: u64, into: &Region) {
    turn.read(turn.name(), &mut [member].into_iter(), &mut |turn, member| {
        let key = key(turn, member, turn.number, 0);
        fetch(turn, member, &key, from, into);
    });
}

//! Collectives of long data: each member names its memory on the board, and the others read it where it lies.
//!
//! Cost: every byte that a member needs is copied once, by itself, straight from whoever has it; an all-reduction reads each value once and each result once. Members meet before anybody
//! reads and once more before anybody may change what was read.

use fabric::{Key, PortalError, Ticket};

use crate::lane::Lane;
use crate::lane::board::call::Call;
use crate::lane::board::short::{misfit, slice};
use crate::lane::board::turn::Turn;
use crate::values::comm::Comm;
use crate::values::error::{Error, Result};
use crate::values::memory::board::Board;
use crate::values::memory::{Region, Scratch};
use crate::values::op::Op;

/// Bytes that are combined at a time, while they are in the core's cache.
const PIECE: u64 = 64 << 10;

#[inline(never)]
pub(super) fn run(lane: &Lane, comm: &Comm, board: &Board, call: &Call) -> Result<()> {
    let mut turn = Turn::begin((lane, comm, board), call);
    let named = turn.number;
    let ended = match call {
        Call::Bcast { data, root } => bcast(&mut turn, data, *root),
        Call::Allreduce { value, target, op } => allreduce(&mut turn, value, target, op),
        Call::Allgather { own, all } => allgather(&mut turn, own, all),
        Call::Alltoall { send, recv } => alltoall(&mut turn, send, recv),
        Call::Barrier | Call::Reduce { .. } | Call::Gather { .. } | Call::Scatter { .. } => {
            Err(Error::Internal { reason: "a collective whose long form does not go by a board" })
        }
    };
    match ended {
        Ok(()) => turn.finish(),
        Err(error) => {
            turn.withdraw(named);
            Err(error)
        }
    }
}

/// Data in one piece: where they are, or a copy.
struct Piece {
    region: Region,
    _copy: Option<Scratch>,
}

impl Piece {
    fn of(data: &Region, turn: &Turn<'_>) -> Piece {
        if let Some(region) = data.as_bytes(turn.byte()) {
            return Piece { region, _copy: None };
        }
        let mut scratch = Scratch::unwritten(data.bytes() as usize);
        let region = scratch.region(data.bytes(), turn.byte());
        data.copy_to(&region);
        Piece { region, _copy: Some(scratch) }
    }
}

/// Names memory for the others, and publishes that.
fn offer(turn: &mut Turn<'_>, pieces: &[&Region]) -> Result<()> {
    turn.make_room(0)?;
    let mut keys = [Key([0; 4]); 2];
    for (key, piece) in keys.iter_mut().zip(pieces) {
        match piece.expose(turn.lane.fabric()) {
            Ok(exposed) => *key = exposed,
            Err(error) => fail(turn, turn.me(), error),
        }
    }
    turn.board.lay_keys(turn.number, &keys[..pieces.len()], turn.byte());
    turn.publish(turn.me(), turn.failed.is_some());
    Ok(())
}

/// Reads from what a member has named, from byte `from` on, as many as the region holds.
fn fetch(turn: &mut Turn<'_>, member: u32, key: &Key, from: u64, into: &Region) {
    let fabric = turn.lane.fabric();
    let node = turn.comm.node(member);
    let read = |into: &Region| -> core::result::Result<(), PortalError> {
        let ticket = into.get(fabric, node, key, from)?;
        while ticket != Ticket::DONE && !fabric.done(ticket)? {
            core::hint::spin_loop();
        }
        Ok(())
    };
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

#[cold]
fn fail(turn: &mut Turn<'_>, member: u32, error: PortalError) {
    turn.failed.get_or_insert(match error {
        PortalError::PeerLost => Error::PeerLost { node: turn.comm.node(member).0 },
        _ => Error::PeerMemory { node: turn.comm.node(member).0, role: "send" },
    });
}

fn key(turn: &Turn<'_>, member: u32, number: u64, place: usize) -> Key {
    turn.board.key(member, number, place, turn.byte())
}

fn bcast(turn: &mut Turn<'_>, data: &Region, root: u32) -> Result<()> {
    if turn.me() == root {
        let piece = Piece::of(data, turn);
        offer(turn, &[&piece.region])?;
        return turn.await_all_done().inspect_err(|_| turn.withdraw(turn.number));
    }
    turn.await_data(root)?;
    if turn.failed.is_none() {
        let key = key(turn, root, turn.number, 0);
        turn.read(turn.name(), [root].into_iter(), |turn, root| fetch(turn, root, &key, 0, data));
    }
    Ok(())
}

/// Waits until all have named their memory: false if one has failed, which all learn.
fn meet(turn: &mut Turn<'_>) -> Result<bool> {
    turn.meet(|_| {})?;
    turn.has_met();
    Ok(turn.failed.is_none())
}

/// Nobody changes what others may still read.
fn part_company(turn: &mut Turn<'_>) -> Result<()> {
    turn.next();
    turn.publish(turn.me(), turn.failed.is_some());
    turn.meet(|_| {})?;
    turn.has_met();
    Ok(())
}

fn allgather(turn: &mut Turn<'_>, own: &Region, all: &Region) -> Result<()> {
    turn.failed = misfit(own, all, turn.comm);
    let piece = Piece::of(own, turn);
    exchange(turn, &piece, |turn| {
        own.copy_to(&all.block(turn.me()));
        turn.read(turn.name(), turn.others(), |turn, member| {
            let key = key(turn, member, turn.number, 0);
            fetch(turn, member, &key, 0, &all.block(member));
        });
    })
}

fn alltoall(turn: &mut Turn<'_>, send: &Region, recv: &Region) -> Result<()> {
    turn.failed = misfit(send, recv, turn.comm);
    let (me, block) = (turn.me(), recv.bytes());
    let piece = Piece::of(&send.blocks(0, turn.members()), turn);
    exchange(turn, &piece, |turn| {
        send.block(me).copy_to(&recv.block(me));
        turn.read(turn.name(), turn.others(), |turn, member| {
            let key = key(turn, member, turn.number, 0);
            fetch(turn, member, &key, block * u64::from(me), &recv.block(member));
        });
    })
}

/// Offers a piece, and reads what the others offer; the piece is left alone until all have.
fn exchange(turn: &mut Turn<'_>, piece: &Piece, read: impl FnOnce(&mut Turn<'_>)) -> Result<()> {
    let named = turn.number;
    offer(turn, &[&piece.region])?;
    let exchanged = || {
        if meet(turn)? {
            read(turn);
            part_company(turn)?;
        }
        Ok(())
    };
    exchanged().inspect_err(|_| turn.withdraw(named))
}

fn allreduce(turn: &mut Turn<'_>, value: &Region, target: &Region, op: &Op) -> Result<()> {
    let (me, members, size) = (turn.me(), turn.members(), value.datatype().size());
    offer(turn, &[value, target])?;
    if !meet(turn)? {
        return Ok(());
    }
    let named = turn.name();
    let (first, count) = slice(value.count(), me, members);
    let each = (PIECE / size).max(1);
    let mut operand = Scratch::unwritten((each * size) as usize);
    for at in (first..first + count).step_by(each as usize) {
        let many = each.min(first + count - at);
        let operand = operand.region(many, value.datatype());
        combine(turn, op, &value.elements(at, many), &target.elements(at, many), (at * size, &operand));
    }
    turn.next();
    turn.publish(me, turn.failed.is_some());
    if meet(turn)? {
        turn.read(named, turn.others(), |turn, member| {
            let (first, count) = slice(value.count(), member, members);
            let key = key(turn, member, named.0, 1);
            fetch(turn, member, &key, first * size, &target.elements(first, count));
        });
    }
    part_company(turn)
}

/// Combines this member's elements with those of the others, which lie from byte `from` on in their values, in the order of ranks from this one on: operations
/// that a board serves are commutative. What comes goes to the target if that is free for it, else to `operand` first.
fn combine(turn: &mut Turn<'_>, op: &Op, value: &Region, target: &Region, (from, operand): (u64, &Region)) {
    let mut is_free = !value.same_place(target);
    turn.read(turn.name(), turn.others(), |turn, member| {
        let key = key(turn, member, turn.number, 0);
        fetch(turn, member, &key, from, if is_free { target } else { operand });
        op.combine(if is_free { value } else { operand }, target);
        is_free = false;
    });
}

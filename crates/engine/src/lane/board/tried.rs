//! Long data between two members who have a core each: where they lie, or through the rooms in pieces, whichever has been quicker ([`Tried`](crate::values::memory::tried::Tried)).
//!
//! What was just written is in the cache of its core: to read it where it lies waits for line after line, and so does whoever writes there again. Through the rooms it is copied twice, by both at the same time, to lines that
//! each has at hand. What nobody touches is sooner copied once.

use crate::lane::Lane;
use crate::lane::board::turn::Turn;
use crate::lane::board::{long, pair, pieces, short};
use crate::schedule::Call;
use crate::values::comm::Comm;
use crate::values::error::Result;
use crate::values::memory::Whole;
use crate::values::memory::board::Board;
use crate::values::memory::tried::Going;
use crate::values::trial::Copies;

/// The longest data that are tried: what does not fit into the caches of a core is far in any case.
const MOST: u64 = 1 << 20;

/// True for those that may go either way, if they would be read where they lie.
pub(super) fn serves(board: &Board, call: &Call) -> bool {
    let may = match call {
        Call::Allreduce { value, op, .. } => op.is_symmetric(value.datatype()),
        _ => long::only_moves(call),
    };
    may && board.members() == 2 && board.ways.own_cores && call.bytes() <= MOST
}

#[inline(never)]
pub(super) fn run(lane: &Lane, comm: &Comm, board: &Board, call: &Call) -> Result<()> {
    let mut turn = Turn::begin((lane, comm, board), call);
    let named = turn.number;
    // Until nobody reads it.
    let mut held = None;
    let ended = match call.root() {
        None => meet(&mut turn, call, &mut held),
        Some(_) if pair::gives(&turn, call) => give(&mut turn, call, &mut held),
        Some(_) => take(&mut turn, call, &mut held),
    };
    long::leave(turn, named, ended)
}

/// What a member says that leads.
fn lead(turn: &Turn<'_>, call: &Call) -> Going {
    turn.board.tried.lead(call.which().kind(), call.bytes(), turn.lane.fabric().now())
}

/// What the one who leads has said in this turn of the next such call.
fn hear(turn: &Turn<'_>, call: &Call, leader: u32, named: u64) {
    if turn.failed.is_none() {
        let said = turn.board.said(leader, named);
        turn.board.tried.hear(call.which().kind(), call.bytes(), said.going.next);
    }
}

/// Both give, and take: the first leads.
fn meet(turn: &mut Turn<'_>, call: &Call, held: &mut Option<Whole>) -> Result<()> {
    turn.going = match turn.me() {
        0 => lead(turn, call),
        _ => {
            let now = turn.board.tried.heard(call.which().kind(), call.bytes());
            Going { now, next: now }
        }
    };
    match turn.going.now {
        Copies::One => long::work(turn, call, held)?,
        Copies::Two if call.bytes() <= turn.board.room() => short::work(turn, call)?,
        Copies::Two => pieces::exchange(turn, call)?,
    }
    if turn.me() != 0 {
        // Every note of a call says it: this one lies there until this member is done.
        hear(turn, call, 0, turn.number);
    }
    Ok(())
}

/// This member gives, and leads.
fn give(turn: &mut Turn<'_>, call: &Call, held: &mut Option<Whole>) -> Result<()> {
    turn.going = lead(turn, call);
    match turn.going.now {
        Copies::One => pair::run(turn, call, held),
        Copies::Two if is_short(turn, call) => short::work(turn, call),
        Copies::Two => pieces::give(turn, call),
    }
}

/// True if what one gives is laid down in a room, and not as a piece: from a quarter of one on it gains by the [copy across](crate::values::memory::Region::copy_across_to) that pieces have. Both blocks of a scatter, which its root lays down, do not fit into a
/// room if it is tried.
fn is_short(turn: &Turn<'_>, call: &Call) -> bool {
    4 * call.bytes() <= turn.board.room() && !matches!(call, Call::Scatter { .. })
}

/// This member takes what the other one gives, whichever way that comes: names the place for it before, if it is likely to be written there.
fn take(turn: &mut Turn<'_>, call: &Call, held: &mut Option<Whole>) -> Result<()> {
    let (giver, named) = (1 - turn.me(), turn.number);
    if turn.board.tried.heard(call.which().kind(), call.bytes()) == Copies::One {
        pair::come(turn, call, held)?;
    }
    turn.wait(giver, || turn.has_come_or_ended(giver))?;
    turn.going.now = turn.board.going(giver, turn.name());
    match turn.going.now {
        Copies::One => pair::run(turn, call, held)?,
        Copies::Two if is_short(turn, call) => short::work(turn, call)?,
        Copies::Two => pieces::take(turn, call)?,
    }
    hear(turn, call, giver, named);
    Ok(())
}

//! Long data from one to the other of two members, who have a core each: both carry. The one who takes reads the first part while the one who gives writes the rest, so a transfer takes half the
//! time that it takes one of them. Whoever is done with its part takes the other's, if that one has not come to it: so none waits for a member that does something else meanwhile.

use core::sync::atomic::Ordering;

use crate::lane::board::long::{fetch, key, offer, part_company, put};
use crate::lane::board::short::misfit;
use crate::lane::board::turn::Turn;
use crate::schedule::{Call, Stage};
use crate::values::error::{Error, Result};
use crate::values::memory::{Region, Whole, turns};

/// True if both can carry.
pub(super) fn serves(turn: &Turn<'_>, call: &Call) -> bool {
    let gives = matches!(call, Call::Bcast { .. } | Call::Scatter { .. } | Call::Gather { .. });
    gives && turn.members() == 2 && turn.board.ways.own_cores
}

/// Quarters of the data that the one who gives carries: half of them, and fewer or more if one has a block of its own to copy, which takes half as long as a transfer of the same length.
const BOTH_ALIKE: u64 = 2;
const GIVER_COPIES: u64 = 1;
const TAKER_COPIES: u64 = 3;

/// Claims of the parts, and what the one who gives says that could not write one.
const FIRST: u64 = 1;
const REST: u64 = 2;
const FAILED: u64 = 4;

#[inline(never)]
pub(super) fn run(turn: &mut Turn<'_>, call: &Call, held: &mut Option<Whole>) -> Result<()> {
    turn.make_room(0)?;
    let whole = held.insert(lay(turn, call));
    // One who expects fewer bytes may have taken this turn in another form.
    turn.await_data_or_end(1 - turn.me())?;
    if turn.failed.is_none() {
        turn.has_met();
        carry(turn, call, whole);
        part_company(turn)?;
        end(turn, call, whole);
    }
    Ok(())
}

/// Goes on with one that is under way, from a stage: the one in which it has to wait, or none if it is done.
pub(super) fn advance(
    turn: &mut Turn<'_>,
    call: &Call,
    stage: Stage,
    held: &mut Option<Whole>,
) -> Option<Stage> {
    let other = 1 - turn.me();
    if stage == Stage::Room {
        if !turn.has_room(0) {
            return Some(stage);
        }
        *held = Some(lay(turn, call));
    }
    let whole = held.as_ref()?;
    let gives = gives(turn, call);
    if !matches!(stage, Stage::Done(_)) {
        if !turn.has_come_or_ended(other) {
            return Some(Stage::Partner);
        }
        turn.inspect_or_fail(other);
        if turn.failed.is_some() {
            return None;
        }
        turn.has_met();
        let has_all = carry(turn, call, whole);
        if gives {
            // The one who takes learns by this that the rest is there, and this one in the same way that it has been taken.
            turn.close();
        } else if has_all {
            end(turn, call, whole);
            return None;
        }
    }
    if !turn.is_done(other) {
        return Some(Stage::Done(0));
    }
    if !gives {
        let claims = turn.board.claims(other, turn.number);
        if claims.load(Ordering::Acquire) & FAILED != 0 {
            let node = turn.comm.node(other).0;
            turn.failed.get_or_insert(Error::PeerMemory { node, role: "send" });
        }
        end(turn, call, whole);
    }
    None
}

fn gives(turn: &Turn<'_>, call: &Call) -> bool {
    (call.root() == Some(turn.me())) != matches!(call, Call::Gather { .. })
}

/// Names what this member gives, or where it takes it.
fn lay(turn: &mut Turn<'_>, call: &Call) -> Whole {
    let (me, byte) = (turn.me(), turn.byte());
    let whole = match call {
        Call::Scatter { own, all: Some(all), root } if *root == me => {
            turn.failed = misfit(all, own, turn.comm);
            Whole::of(&all.block(1 - me), byte)
        }
        Call::Gather { own, all: Some(all), root } if *root == me => {
            turn.failed = misfit(own, all, turn.comm);
            Whole::place(&all.block(1 - me), byte)
        }
        _ if gives(turn, call) => Whole::of(data(call), byte),
        _ => Whole::place(data(call), byte),
    };
    turn.board.claims(me, turn.number).store(0, Ordering::Relaxed);
    offer(turn, &[whole.region()]);
    whole
}

/// What a member has for itself.
fn data(call: &Call) -> &Region {
    match call {
        Call::Bcast { data, .. } => data,
        Call::Scatter { own, .. } | Call::Gather { own, .. } => own,
        _ => unreachable!("a collective in which nobody gives"),
    }
}

/// Carries the part of this member, copies its own block, and carries the other part, if nobody has: true if it has carried both.
fn carry(turn: &mut Turn<'_>, call: &Call, whole: &Whole) -> bool {
    let (me, gives, region) = (turn.me(), gives(turn, call), whole.region());
    let (other, giver) = (1 - me, if gives { me } else { 1 - me });
    let quarters = match call {
        Call::Scatter { .. } => GIVER_COPIES,
        Call::Gather { .. } => TAKER_COPIES,
        _ => BOTH_ALIKE,
    };
    let bytes = region.bytes();
    let middle = bytes - bytes / 4 * quarters;
    let key = key(turn, other, turn.number, 0);
    let move_part = |turn: &mut Turn<'_>, part: u64| {
        let is_mine = turns::claim(turn.board.claims(giver, turn.number), part);
        if is_mine {
            let (from, to) = if part == FIRST { (0, middle) } else { (middle, bytes) };
            let part = region.elements(from, to - from);
            if gives {
                put(turn, other, &key, from, &part);
            } else {
                turn.read(turn.name(), &mut [other].into_iter(), &mut |turn, other| {
                    fetch(turn, other, &key, from, &part);
                });
            }
        }
        is_mine
    };
    let (own, others) = if gives { (REST, FIRST) } else { (FIRST, REST) };
    let has_own = move_part(turn, own);
    match call {
        Call::Scatter { own, all: Some(all), root } if *root == me => copy(&all.block(me), own),
        Call::Gather { own, all: Some(all), root } if *root == me => copy(own, &all.block(me)),
        _ => {}
    }
    let has_all = move_part(turn, others) && has_own;
    if gives && turn.failed.is_some() {
        turns::claim(turn.board.claims(me, turn.number), FAILED);
    }
    has_all
}

/// The block of the member that has all.
fn copy(block: &Region, to: &Region) {
    if !block.same_place(to) {
        block.copy_to(to);
    }
}

/// All that this member takes is there.
fn end(turn: &Turn<'_>, call: &Call, whole: &Whole) {
    if turn.failed.is_none() && !gives(turn, call) {
        match call {
            Call::Gather { all: Some(all), .. } => whole.spread(&all.block(1 - turn.me())),
            _ => whole.spread(data(call)),
        }
    }
}

//! Long data from one to the other of two members, who have a core each: both carry. The one who takes reads the first part while the one who gives writes the rest, so a transfer takes half the
//! time that it takes one of them. In one that is under way whoever is done with its part takes the other's, if that one has not come to it: so none waits for a member that does something else meanwhile.

use core::sync::atomic::{AtomicU64, Ordering};

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

/// Bits of a word by which those under way claim the parts, and say that they have carried all that they have claimed, and that something could not be written.
const FIRST: u64 = 1;
const REST: u64 = 2;
const GIVEN: u64 = 4;
const TAKEN: u64 = 8;
const FAILED: u64 = 16;

#[inline(never)]
pub(super) fn run(turn: &mut Turn<'_>, call: &Call, held: &mut Option<Whole>) -> Result<()> {
    come(turn, call, held)?;
    let other = 1 - turn.me();
    turn.wait(other, || turn.has_come_or_ended(other))?;
    if let Some(whole) = held
        && has_met(turn)
    {
        carry_own(turn, call, whole);
        part_company(turn)?;
        end(turn, call, whole);
    }
    Ok(())
}

/// Names what this member gives, or where it takes it, unless it has done so.
pub(super) fn come(turn: &mut Turn<'_>, call: &Call, held: &mut Option<Whole>) -> Result<()> {
    if held.is_none() {
        turn.make_room(0)?;
        *held = Some(lay(turn, call));
    }
    Ok(())
}

/// Goes on with one that is under way, from a stage: the one in which it has to wait, or none if it is done.
#[inline(never)]
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
    if !matches!(stage, Stage::Done(_)) {
        if !turn.has_come_or_ended(other) {
            return Some(Stage::Partner);
        }
        if !has_met(turn) {
            return None;
        }
        if carry(turn, call, whole) {
            end(turn, call, whole);
            return None;
        }
    }
    let said = turns::reached(claims(turn, call));
    if said & if gives(turn, call) { TAKEN } else { GIVEN } == 0 {
        return Some(Stage::Done(0));
    }
    if said & FAILED != 0 {
        let node = turn.comm.node(other).0;
        turn.failed.get_or_insert(Error::PeerMemory { node, role: "send" });
    }
    end(turn, call, whole);
    None
}

/// True if this member gives.
pub(super) fn gives(turn: &Turn<'_>, call: &Call) -> bool {
    (call.root() == Some(turn.me())) != matches!(call, Call::Gather { .. })
}

/// The word of claims, in the note of the one who gives: it is there when that is published, until both are done.
fn claims<'a>(turn: &Turn<'a>, call: &Call) -> &'a AtomicU64 {
    let giver = if gives(turn, call) { turn.me() } else { 1 - turn.me() };
    turn.board.claims(giver, turn.number)
}

/// Does so.
fn lay(turn: &mut Turn<'_>, call: &Call) -> Whole {
    let (data, byte) = (passed(turn, call), turn.byte());
    let whole = if gives(turn, call) { Whole::of(&data, byte) } else { Whole::place(&data, byte) };
    turn.board.claims(turn.me(), turn.number).store(0, Ordering::Relaxed);
    offer(turn, &[whole.region()]);
    whole
}

/// What this member gives, or the place where it takes it. It has failed if its own block does not fit into the place that it has for it.
pub(super) fn passed(turn: &mut Turn<'_>, call: &Call) -> Region {
    let me = turn.me();
    match call {
        Call::Scatter { own, all: Some(all), root } if *root == me => {
            turn.failed = misfit(all, own, turn.comm);
            all.block(1 - me)
        }
        Call::Gather { own, all: Some(all), root } if *root == me => {
            turn.failed = misfit(own, all, turn.comm);
            all.block(1 - me)
        }
        Call::Bcast { data: own, .. } | Call::Scatter { own, .. } | Call::Gather { own, .. } => own.clone(),
        _ => unreachable!("a collective in which nobody gives"),
    }
}

/// The other one has come or ended: true if it has named its memory as this one expects. One who expects fewer bytes may have taken this turn in another form.
fn has_met(turn: &mut Turn<'_>) -> bool {
    turn.inspect_or_fail(1 - turn.me());
    if turn.failed.is_none() {
        turn.has_met();
    }
    turn.failed.is_none()
}

/// Carries what is this member's part where both wait, and copies its own block.
fn carry_own(turn: &mut Turn<'_>, call: &Call, whole: &Whole) {
    carry_part(turn, call, whole, if gives(turn, call) { REST } else { FIRST });
    copy_own(turn, call);
}

/// Carries the same where the other one may do something else, and its part if it has not come to that: true if this member has carried both.
fn carry(turn: &mut Turn<'_>, call: &Call, whole: &Whole) -> bool {
    let (gives, claims) = (gives(turn, call), claims(turn, call));
    let has_own = turns::claim(claims, if gives { REST } else { FIRST });
    if has_own {
        carry_own(turn, call, whole);
    } else {
        copy_own(turn, call);
    }
    let others = if gives { FIRST } else { REST };
    let has_others = turns::claim(claims, others);
    if has_others {
        carry_part(turn, call, whole, others);
    }
    let failed = if gives && turn.failed.is_some() { FAILED } else { 0 };
    turns::claim(claims, failed | if gives { GIVEN } else { TAKEN });
    turn.wake(turn.me());
    has_own && has_others
}

#[inline(never)]
fn carry_part(turn: &mut Turn<'_>, call: &Call, whole: &Whole, part: u64) {
    let (other, bytes) = (1 - turn.me(), whole.region().bytes());
    let quarters = match call {
        Call::Scatter { .. } => GIVER_COPIES,
        Call::Gather { .. } => TAKER_COPIES,
        _ => BOTH_ALIKE,
    };
    let middle = bytes - bytes / 4 * quarters;
    let (from, to) = if part == FIRST { (0, middle) } else { (middle, bytes) };
    let part = whole.region().elements(from, to - from);
    let key = key(turn, other, turn.number, 0);
    if gives(turn, call) {
        put(turn, other, &key, from, &part);
    } else {
        turn.read(turn.name(), &mut [other].into_iter(), &mut |turn, other| {
            fetch(turn, other, &key, from, &part);
        });
    }
}

/// Copies the block of the member that has all.
pub(super) fn copy_own(turn: &Turn<'_>, call: &Call) {
    let me = turn.me();
    match call {
        Call::Scatter { own, all: Some(all), root } if *root == me => copy(&all.block(me), own),
        Call::Gather { own, all: Some(all), root } if *root == me => copy(own, &all.block(me)),
        _ => {}
    }
}

/// Copies a block, unless it lies there.
pub(super) fn copy(block: &Region, to: &Region) {
    if !block.same_place(to) {
        block.copy_to(to);
    }
}

/// All that this member takes is there.
fn end(turn: &mut Turn<'_>, call: &Call, whole: &Whole) {
    if turn.failed.is_none() && !gives(turn, call) {
        whole.spread(&passed(turn, call));
    }
}

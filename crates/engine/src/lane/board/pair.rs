//! Long data from one to the other of two members, who have a core each: both carry. The one who takes reads the first part while the one who gives writes the rest, so a transfer takes half the
//! time that it takes one of them.

use crate::lane::board::long::{Piece, fetch, key, offer, part_company, put};
use crate::lane::board::short::misfit;
use crate::lane::board::turn::Turn;
use crate::schedule::Call;
use crate::values::error::{Error, Result};
use crate::values::memory::{Region, Scratch};

/// True if both can carry.
pub(super) fn is_one(turn: &Turn<'_>) -> bool {
    turn.members() == 2 && turn.board.ways.own_cores
}

/// Quarters of the data that the one who gives carries: half of them, and fewer or more if one has a block of its own to copy, which takes half as long as a transfer of the same length.
const BOTH_ALIKE: u64 = 2;
const GIVER_COPIES: u64 = 1;
const TAKER_COPIES: u64 = 3;

pub(super) fn run(turn: &mut Turn<'_>, call: &Call) -> Result<()> {
    let me = turn.me();
    match call {
        Call::Bcast { data, root } if me == *root => give(turn, data, BOTH_ALIKE, |_| {}),
        Call::Bcast { data, .. } => take(turn, data, BOTH_ALIKE, |_| {}),
        Call::Scatter { own, all: Some(all), root } if me == *root => {
            turn.failed = misfit(all, own, turn.comm);
            give(turn, &all.block(1 - me), GIVER_COPIES, |_| copy(&all.block(me), own))
        }
        Call::Scatter { own, .. } => take(turn, own, GIVER_COPIES, |_| {}),
        Call::Gather { own, all: Some(all), root } if me == *root => {
            turn.failed = misfit(own, all, turn.comm);
            take(turn, &all.block(1 - me), TAKER_COPIES, |_| copy(own, &all.block(me)))
        }
        Call::Gather { own, .. } => give(turn, own, TAKER_COPIES, |_| {}),
        _ => Err(Error::Internal { reason: "a collective in which nobody gives" }),
    }
}

/// The block of the member that has all.
fn copy(block: &Region, to: &Region) {
    if !block.same_place(to) {
        block.copy_to(to);
    }
}

fn give(
    turn: &mut Turn<'_>,
    data: &Region,
    quarters: u64,
    meanwhile: impl FnOnce(&mut Turn<'_>),
) -> Result<()> {
    let piece = Piece::of(data, turn);
    let whole = piece.region();
    let rest = rest(whole.bytes(), quarters);
    carry(turn, whole, |turn, other| {
        let key = key(turn, other, turn.number, 0);
        put(turn, other, &key, rest, &whole.elements(rest, whole.bytes() - rest));
        meanwhile(turn);
    })
}

fn take(
    turn: &mut Turn<'_>,
    data: &Region,
    quarters: u64,
    meanwhile: impl FnOnce(&mut Turn<'_>),
) -> Result<()> {
    let mut scratch = None;
    let whole = data.as_bytes(turn.byte()).unwrap_or_else(|| {
        let scratch: &mut Scratch = scratch.insert(Scratch::unwritten(data.bytes() as usize));
        scratch.region(data.bytes(), turn.byte())
    });
    let rest = rest(whole.bytes(), quarters);
    carry(turn, &whole, |turn, other| {
        let key = key(turn, other, turn.number, 0);
        turn.read(turn.name(), &mut [other].into_iter(), &mut |turn, other| {
            fetch(turn, other, &key, 0, &whole.elements(0, rest));
        });
        meanwhile(turn);
    })?;
    if scratch.is_some() && turn.failed.is_none() {
        whole.copy_to(data);
    }
    Ok(())
}

/// Where the part begins that the one who gives carries.
fn rest(bytes: u64, quarters: u64) -> u64 {
    bytes - bytes / 4 * quarters
}

/// Both name their memory and do their part; none is left alone with what the other one still uses.
#[inline(never)]
fn carry(turn: &mut Turn<'_>, named: &Region, part: impl FnOnce(&mut Turn<'_>, u32)) -> Result<()> {
    let other = 1 - turn.me();
    offer(turn, &[named])?;
    // One who expects fewer bytes may have taken this turn in another form.
    turn.await_data_or_end(other)?;
    if turn.failed.is_none() {
        turn.has_met();
        part(turn, other);
        part_company(turn)?;
    }
    Ok(())
}

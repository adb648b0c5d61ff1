//! Collectives of data that are too long for notes and fit into a slot of the hall: where members share cores.
//!
//! Cost: every byte is copied to the slot once and out of it by each who needs it, with no call of the system. Each turn has a slot of its own, so whoever fills one goes on, and those who are late find
//! as many as there are slots: they run once for all of these, not once for each.

use crate::lane::Lane;
use crate::lane::board::short::misfit;
use crate::lane::board::turn::Turn;
use crate::schedule::Call;
use crate::values::bounds::{Bound, Bounds};
use crate::values::comm::Comm;
use crate::values::error::{Error, Result};
use crate::values::memory::Region;
use crate::values::memory::board::{Board, NOTE_BYTES, Ways};
use crate::values::memory::hall::Hall;

/// Blocks from so many bytes on are read and written where they lie, by members who need the system for that: a call of it takes less time than the second copy.
const FAR_BLOCK: u64 = 64 << 10;

/// A broadcast of up to so many bytes is laid down as a whole: there are slots enough that who runs finds several. Of longer ones the first piece can be taken while the next is written.
const BCAST: u64 = 512 << 10;

/// Slots for all-to-alls.
const ALL_TO_ALL_SLOTS: u64 = 2;

/// An alltoall of blocks of so many bytes is sooner copied twice than read by calls of the system; one of longer blocks, up to so many bytes, if so many are all together.
const ALL_TO_ALL_BLOCK: u64 = 16 << 10;
const ALL_TO_ALL_LONGER: (u64, u64) = (32 << 10, 1 << 20);

/// How many slots there are for a call on a board of so many members, if it goes by one.
pub(super) fn of(call: &Call, bounds: &Bounds, board: &Board) -> Option<u64> {
    let together = call.bytes().saturating_mul(board.members().into());
    let whole = match call {
        Call::Bcast { data, .. } => return for_bcast(data.bytes(), board),
        Call::Scatter { .. } => return for_scatter(call.bytes(), bounds, board),
        Call::Gather { .. } if is_long(call.bytes(), bounds, board) => return None,
        Call::Gather { own, .. } if own.bytes() > NOTE_BYTES => together,
        // Shorter ones are laid side by side by the last who arrives, or by each in its room.
        Call::Allgather { .. } | Call::Alltoall { .. } if together <= board.room() || board.ways.near => {
            return None;
        }
        Call::Allgather { .. } => together,
        Call::Alltoall { .. } => return for_alltoall(call.bytes(), board),
        _ => return None,
    };
    for_bytes(whole, board)
}

/// The same for a broadcast of so many bytes, whatever the bounds are: a member may do it at once.
pub(super) fn for_bcast(bytes: u64, board: &Board) -> Option<u64> {
    if bytes <= BCAST { for_bytes(bytes, board) } else { None }
}

/// The same for a scatter of such blocks.
pub(super) fn for_scatter(block: u64, bounds: &Bounds, board: &Board) -> Option<u64> {
    if is_long(block, bounds, board) {
        return None;
    }
    for_bytes(block.saturating_mul(board.members().into()), board)
}

fn for_bytes(bytes: u64, board: &Board) -> Option<u64> {
    if board.ways.hall && bytes > NOTE_BYTES { Hall::slots(bytes) } else { None }
}

/// The same for an alltoall of such blocks. None is further ahead of the others than to the next one, and the memory of two stays in the cores' caches longer than that of many.
fn for_alltoall(block: u64, board: &Board) -> Option<u64> {
    let bytes = of_all(block, board.members());
    let (longer, together) = ALL_TO_ALL_LONGER;
    let is_short = block <= ALL_TO_ALL_BLOCK || block <= longer && bytes <= together || !board.ways.reach;
    if is_short { for_bytes(bytes, board).map(|_| ALL_TO_ALL_SLOTS) } else { None }
}

/// Bytes of an alltoall of such blocks.
fn of_all(block: u64, members: u32) -> u64 {
    block.saturating_mul(u64::from(members).pow(2))
}

/// True if the hall of a board, should it have one, has slots for an alltoall of such blocks.
pub(super) fn may_hold_all(block: u64, members: u32) -> bool {
    Hall::slots(of_all(block, members)).is_some()
}

/// True for blocks of which one copy, for which the members wait for each other, takes less time than two.
fn is_long(block: u64, bounds: &Bounds, board: &Board) -> bool {
    let Ways { near, reach, .. } = board.ways;
    near && block > bounds.get(Bound::BoardDirectRoomBytes) || reach && block >= FAR_BLOCK
}

/// A turn's slot.
struct Slot {
    hall: Hall,
    slots: u64,
}

impl Slot {
    fn part(&self, turn: &Turn<'_>, from: u64, bytes: u64) -> Region {
        self.hall.slot(turn.number, self.slots, (from, bytes), turn.byte())
    }
}

#[inline(never)]
pub(super) fn run(lane: &Lane, comm: &Comm, board: &Board, call: &Call, slots: u64) -> Result<()> {
    let Some(hall) = board.hall() else {
        return Err(Error::Internal { reason: "a board without a hall" });
    };
    let slot = Slot { hall, slots };
    let mut turn = Turn::begin((lane, comm, board), call);
    turn.wait_in_line()?;
    let (me, members) = (turn.me(), turn.members());
    match call {
        Call::Bcast { data, root } if me == *root => fill(&mut turn, &slot, 0, data)?,
        Call::Bcast { data, root } => take(&mut turn, &slot, *root, 0, data)?,
        Call::Scatter { own, all: Some(all), root } if me == *root => {
            turn.failed = misfit(all, own, comm);
            fill(&mut turn, &slot, 0, &all.blocks(0, members))?;
            if turn.failed.is_none() && !own.same_place(&all.block(me)) {
                all.block(me).copy_to(own);
            }
        }
        Call::Scatter { own, root, .. } => take(&mut turn, &slot, *root, own.bytes() * u64::from(me), own)?,
        Call::Gather { own, root, .. } if me != *root => {
            fill(&mut turn, &slot, own.bytes() * u64::from(me), own)?;
        }
        Call::Gather { own, all: Some(all), .. } => {
            turn.failed = misfit(own, all, comm);
            board.reuse.enter_slot(turn.number, slots);
            for member in turn.others() {
                turn.await_data(member)?;
            }
            turn.has_met();
            if turn.failed.is_none() {
                own.copy_to(&all.block(me));
                let (before, after) = ((0, me), (me + 1, members - me - 1));
                for (first, count) in [before, after] {
                    let (from, blocks) = (all.bytes() * u64::from(first), all.blocks(first, count));
                    slot.part(&turn, from, blocks.bytes()).copy_to(&blocks);
                }
            }
        }
        Call::Allgather { own, all } => {
            turn.failed = misfit(own, all, comm);
            fill(&mut turn, &slot, own.bytes() * u64::from(me), own)?;
            turn.meet(&mut |_| {})?;
            turn.has_met();
            if turn.failed.is_none() {
                let blocks = all.blocks(0, members);
                slot.part(&turn, 0, blocks.bytes()).copy_to(&blocks);
            }
        }
        // All lay down their rows, and read their columns.
        Call::Alltoall { send, recv } => {
            let (block, row) = (recv.bytes(), recv.bytes() * u64::from(members));
            turn.failed = misfit(send, recv, comm);
            fill(&mut turn, &slot, row * u64::from(me), &send.blocks(0, members))?;
            turn.meet(&mut |_| {})?;
            turn.has_met();
            if turn.failed.is_none() {
                for member in 0..members {
                    let from = row * u64::from(member) + block * u64::from(me);
                    slot.part(&turn, from, block).copy_to(&recv.block(member));
                }
            }
        }
        _ => return Err(Error::Internal { reason: "a collective that has no use for slots" }),
    }
    turn.finish()
}

/// Fills the slot from byte `from` on with what others take.
fn fill(turn: &mut Turn<'_>, slot: &Slot, from: u64, data: &Region) -> Result<()> {
    turn.enter_slot(slot.slots)?;
    if turn.failed.is_none() {
        data.copy_to(&slot.part(turn, from, data.bytes()));
    }
    turn.publish(turn.me(), turn.failed.is_some());
    Ok(())
}

/// Takes from byte `from` on of what the root has filled it with.
fn take(turn: &mut Turn<'_>, slot: &Slot, root: u32, from: u64, into: &Region) -> Result<()> {
    turn.board.reuse.enter_slot(turn.number, slot.slots);
    turn.await_data(root)?;
    if turn.failed.is_none() {
        slot.part(turn, from, into.bytes()).copy_to(into);
    }
    Ok(())
}

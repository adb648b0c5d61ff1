//! Collectives in which all members meet, of a few bytes, where each has a core: a member lays down what it has, and finds what the others have, soon. No plan, and no long wait.
//!
//! Each function does all of the member's part; or nothing; or it has laid down what it has and the others have not come soon. Then the board remembers that, and the collective's other
//! form, which its caller begins next for the same data, goes on from there.

use crate::lane::Lane;
use crate::lane::board::at_once::Part;
use crate::lane::board::turn::Meeting;
use crate::schedule::Which;
use crate::values::comm::Comm;
use crate::values::memory::Kernel;
use crate::values::memory::board::{Board, NOTE_BYTES};

/// Looks at the note of another before the other form is begun. Chosen, not measured: some hundred nanoseconds, a few times what a line takes from core to core.
const LOOKS: u64 = 256;

/// The board of a communicator whose members look at each other's notes when they meet.
#[inline(always)]
fn flat_board(comm: &Comm) -> Option<&Board> {
    comm.board()?.map(|board| &**board).filter(|board| Meeting::waiting(board) == Meeting::Flat)
}

impl Lane {
    /// True if the members of a communicator look at each other's notes when they meet.
    #[inline]
    pub fn may_meet_at_once(&self, comm: &Comm) -> bool {
        flat_board(comm).is_some()
    }

    /// [`Rank::barrier`](crate::Rank::barrier), if the others come soon.
    pub fn barrier_at_once(&self, comm: &Comm) -> bool {
        self.part_in_meeting(Which::Barrier, 0, comm).is_some_and(|part| part.meets(&[]) && part.end())
    }

    /// [`Rank::allreduce`](crate::Rank::allreduce) by a predefined operation, of elements that lie in one piece. Without a value of its own the target has it.
    pub fn allreduce_at_once(
        &self,
        value: Option<&[u8]>,
        target: &mut [u8],
        kernel: Kernel,
        comm: &Comm,
    ) -> bool {
        let Some(part) = self.part_in_meeting(Which::Allreduce, target.len(), comm) else { return false };
        let mut aside = [0; NOTE_BYTES as usize];
        let own = value.unwrap_or_else(|| {
            let aside = &mut aside[..target.len()];
            aside.copy_from_slice(target);
            aside
        });
        part.meets(own) && {
            part.combine(own, kernel, target);
            part.end()
        }
    }

    /// [`Rank::allgather`](crate::Rank::allgather) of blocks in one piece. Without a block of its own the place among the others has it.
    pub fn allgather_at_once(&self, own: Option<&[u8]>, all: &mut [u8], comm: &Comm) -> bool {
        let (block, me) = (all.len() / comm.size() as usize, comm.rank() as usize);
        let Some(part) = self.part_in_meeting(Which::Allgather, block, comm) else { return false };
        let at = block * me..block * (me + 1);
        if own.is_some_and(|own| own.len() != block) || !part.meets(own.unwrap_or(&all[at.clone()])) {
            return false;
        }
        for (member, place) in (0..).zip(all.chunks_exact_mut(block.max(1))) {
            if member != comm.rank() {
                part.board.pick_bytes(member, part.turn, (block as u64, 0), place);
            }
        }
        if let Some(own) = own {
            all[at].copy_from_slice(own);
        }
        part.end()
    }

    /// [`Rank::alltoall`](crate::Rank::alltoall) of blocks in one piece between two, each of which lays down the block for the other.
    pub fn alltoall_at_once(&self, send: &[u8], recv: &mut [u8], comm: &Comm) -> bool {
        if comm.size() != 2 || send.len() != recv.len() {
            return false;
        }
        let (block, me) = (send.len() / 2, comm.rank() as usize);
        let Some(part) = self.part_in_meeting(Which::Alltoall, block, comm) else { return false };
        let (own, other) = (block * me..block * (me + 1), block * (1 - me)..block * (2 - me));
        part.meets(&send[other.clone()]) && {
            part.board.pick_bytes(1 - comm.rank(), part.turn, (block as u64, 0), &mut recv[other]);
            recv[own.clone()].copy_from_slice(&send[own]);
            part.end()
        }
    }

    /// The next part in a collective of so many bytes of each in which all look at all others' notes.
    #[inline(always)]
    fn part_in_meeting<'a>(&'a self, which: Which, bytes: usize, comm: &'a Comm) -> Option<Part<'a>> {
        let (board, bytes) = (flat_board(comm)?, bytes as u64);
        let may = bytes <= NOTE_BYTES && !self.schedules.has_preferences();
        may.then(|| Part::next((self, comm, board), which, bytes))
    }
}

impl Part<'_> {
    /// True if there was room for what this member lays down, and what all others have was there, soon.
    #[inline(always)]
    fn meets(&self, data: &[u8]) -> bool {
        if !self.has_room(self.bytes) {
            return false;
        }
        self.board.lay_bytes(self.turn, (self.bytes, 0), data);
        self.publish();
        let (me, kind) = (self.comm.rank(), self.which.kind());
        let met =
            (0..self.board.members()).all(|member| member == me || self.comes_within(LOOKS, kind, member));
        if met {
            self.board.reuse.has_met(self.turn);
        } else {
            self.board.lays_early(self.turn, kind, self.bytes);
        }
        met
    }
}

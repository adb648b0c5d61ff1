//! Collectives with a root, and scans, of a few bytes, of which this member can do its part now: who gives finds room to lay them down, who takes finds them there. No plan, and no wait.
//!
//! Each function does all of the member's part or nothing: what is false here is begun again by the collective's other form. What it lays down, and what it expects to find, is
//! that of `short`, so each member takes whichever way is open to it.

use crate::lane::Lane;
use crate::lane::board::scan::{PREFIX, Sum};
use crate::lane::board::short;
use crate::lane::board::turn::GLANCES;
use crate::schedule::{Builder, Identity, Which};
use crate::values::comm::Comm;
use crate::values::memory::Region;
use crate::values::memory::board::{Board, NOTE_BYTES, Said};
use crate::values::op::Op;

/// This member's part in the next collective of a board.
struct Part<'a> {
    lane: &'a Lane,
    comm: &'a Comm,
    board: &'a Board,
    which: Which,
    turn: u64,
    /// Those that all members agree on.
    bytes: u64,
}

impl Lane {
    /// [`Rank::bcast`](crate::Rank::bcast) of a few bytes, if this member can do its part now.
    #[inline]
    pub fn bcast_at_once(&self, data: &mut [u8], root: u32, comm: &Comm) -> bool {
        let Some(part) = self.part_in(Which::Bcast, data.len(), comm) else { return false };
        if comm.rank() == root {
            part.has_given(data) && part.end()
        } else {
            part.has_taken(root, (data.len() as u64, 0), data) && part.end()
        }
    }

    /// [`Rank::gather`](crate::Rank::gather), at a member that is not the root.
    #[inline]
    pub fn gather_at_once(&self, own: &[u8], root: u32, comm: &Comm) -> bool {
        let Some(part) = self.part_in(Which::Gather, own.len(), comm) else { return false };
        root < comm.size() && part.has_given(own) && part.end()
    }

    /// The same at the root, which has its own block in `own`, or among the others.
    pub fn gather_here_at_once(&self, own: Option<&[u8]>, all: &mut [u8], comm: &Comm) -> bool {
        let block = all.len() / comm.size() as usize;
        let Some(part) = self.part_in(Which::Gather, block, comm) else { return false };
        if own.is_some_and(|own| own.len() != block) || !part.all_have_given() {
            return false;
        }
        for (member, place) in (0..).zip(all.chunks_exact_mut(block.max(1))) {
            match own {
                Some(own) if member == comm.rank() => place.copy_from_slice(own),
                None if member == comm.rank() => {}
                _ => part.board.pick_bytes(member, part.turn, (block as u64, 0), place),
            }
        }
        part.board.has_met(part.turn);
        part.end()
    }

    /// [`Rank::scatter`](crate::Rank::scatter), at a member that is not the root.
    #[inline]
    pub fn scatter_at_once(&self, own: &mut [u8], root: u32, comm: &Comm) -> bool {
        let Some(part) = self.part_in(Which::Scatter, own.len(), comm) else { return false };
        let (block, me) = (own.len() as u64, u64::from(comm.rank()));
        part.has_taken(root, (block * u64::from(comm.size()), block * me), own) && part.end()
    }

    /// The same at the root, which may want its own block elsewhere.
    pub fn scatter_here_at_once(&self, own: Option<&mut [u8]>, all: &[u8], comm: &Comm) -> bool {
        let block = all.len() / comm.size() as usize;
        let Some(part) = self.part_in(Which::Scatter, block, comm) else { return false };
        if own.as_ref().is_some_and(|own| own.len() != block) || !part.has_given(all) {
            return false;
        }
        if let Some(own) = own {
            own.copy_from_slice(&all[block * comm.rank() as usize..][..block]);
        }
        part.end()
    }

    /// [`Rank::reduce`](crate::Rank::reduce) by a predefined operation, of elements that lie in one piece.
    pub fn reduce_at_once(
        &self,
        value: &Region,
        target: Option<&Region>,
        op: &Op,
        root: u32,
        comm: &Comm,
    ) -> bool {
        let Some(part) = self.part_in(Which::Reduce, value.bytes() as usize, comm) else { return false };
        if op.check_reduction(value.datatype()).is_err() || root >= comm.size() {
            return false;
        }
        if !part.has_room(value.bytes()) {
            return false;
        }
        if comm.rank() != root {
            part.board.lay_down(comm.rank(), part.turn, value);
            part.publish();
            return part.end();
        }
        let Some(target) = target.filter(|_| part.all_have_given()) else { return false };
        part.board.lay_down(root, part.turn, value);
        short::combine((part.board, part.turn), op, value, (0, value.count()), target);
        part.board.has_met(part.turn);
        part.end()
    }

    /// [`Rank::scan`](crate::Rank::scan), or [`Rank::exscan`](crate::Rank::exscan) if not `with_own`, by a predefined operation, of elements that lie in one piece: if the member before this one has
    /// laid down its prefix.
    pub fn scan_at_once(
        &self,
        value: &Region,
        target: &Region,
        op: &Op,
        with_own: bool,
        comm: &Comm,
    ) -> bool {
        let (which, bytes) = (if with_own { Which::Scan } else { Which::Exscan }, value.bytes());
        let Some(part) = self.part_in(which, 2 * bytes as usize, comm) else { return false };
        let part = Part { bytes, ..part };
        let (me, is_last) = (comm.rank(), comm.rank() + 1 == comm.size());
        let prefix = which.kind() | PREFIX;
        if op.check_reduction(value.datatype()).is_err()
            || !part.has_room(2 * bytes)
            || me > 0 && !part.comes_as(prefix, me - 1)
        {
            return false;
        }
        let place =
            |member| part.board.part(member, part.turn, 2 * bytes, (bytes, value.count()), value.datatype());
        let here = if is_last { target } else { &place(me) };
        Sum { op, value, target, here, with_own, is_last }
            .combine(&mut me.checked_sub(1).map(place).into_iter());
        if !is_last {
            part.publish_as(prefix);
            if with_own {
                here.copy_to(target);
            }
        }
        part.end()
    }

    /// The next part in a collective of so many bytes, if a board serves it by notes or a room, whatever the members are to each other.
    #[inline(always)]
    fn part_in<'a>(&'a self, which: Which, bytes: usize, comm: &'a Comm) -> Option<Part<'a>> {
        let board = &**comm.board()??;
        let bytes = bytes as u64;
        let together = bytes * u64::from(board.members());
        // A longer scatter goes by a slot of the hall (`slots::of`). Everything else that passes here fits (`Call::fits`), whatever the bounds are: both ways must agree.
        let has_room =
            together <= if which == Which::Scatter && board.ways.hall { NOTE_BYTES } else { board.room() };
        let is_short = bytes <= NOTE_BYTES && has_room;
        (is_short && !self.schedules.has_preferences()).then(|| Part {
            lane: self,
            comm,
            board,
            which,
            turn: board.coming_turn(),
            bytes,
        })
    }
}

impl Part<'_> {
    #[inline(always)]
    fn has_room(&self, bytes: u64) -> bool {
        self.board.is_passed(self.board.needs(self.turn, bytes))
    }

    /// True if there was room for what this member lays down.
    #[inline(always)]
    fn has_given(&self, data: &[u8]) -> bool {
        let has_room = self.has_room(data.len() as u64);
        if has_room {
            self.board.lay_bytes(self.turn, data);
            self.publish();
        }
        has_room
    }

    #[inline(always)]
    fn publish(&self) {
        self.publish_as(self.which.kind());
    }

    #[inline(always)]
    fn publish_as(&self, kind: u8) {
        let me = self.comm.rank();
        self.board.publish(me, self.turn, kind, self.expected());
        self.lane.wake_members(self.comm, self.board, me);
    }

    /// What a note says of data as this member expects them.
    #[inline(always)]
    fn expected(&self) -> Said {
        Said { bytes: self.bytes, failed: false }
    }

    /// True if what the root has laid down was there, soon.
    #[inline(always)]
    fn has_taken(&self, root: u32, lying: (u64, u64), into: &mut [u8]) -> bool {
        if root >= self.comm.size() || !self.comes(root) {
            return false;
        }
        self.board.pick_bytes(root, self.turn, lying, into);
        true
    }

    /// True if what all others have laid down was there, soon.
    fn all_have_given(&self) -> bool {
        let me = self.comm.rank();
        (0..self.board.members()).all(|member| member == me || self.comes(member))
    }

    /// True if a member's note is there, soon, and says what is expected.
    #[inline(always)]
    fn comes(&self, member: u32) -> bool {
        self.comes_as(self.which.kind(), member)
    }

    #[inline(always)]
    fn comes_as(&self, kind: u8, member: u32) -> bool {
        let glances = if self.board.ways.own_cores { GLANCES } else { 1 };
        (0..glances).any(|_| self.board.shows(member, self.turn, kind))
            && self.board.said(member, self.turn) == self.expected()
    }

    /// This member has done its part.
    #[inline(always)]
    fn end(&self) -> bool {
        let turn = self.board.next_turn();
        self.board.finish(turn);
        self.lane.wake_members(self.comm, self.board, self.comm.rank());
        let identity = Identity {
            name: self.which.name(),
            context: self.comm.context().collective(),
            number: Builder::next_number(self.comm),
            bytes: Some(self.bytes),
        };
        self.lane.schedules.passed.set(Some(identity));
        true
    }
}

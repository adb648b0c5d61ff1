//! Collectives with a root, and scans, of a few bytes, and broadcasts and scatters through slots, of which this member can do its part now: who gives finds room to lay them down, who takes finds them there. No plan, and no wait.
//!
//! Each function does all of the member's part or nothing: what is false here is begun again by the collective's other form. What it lays down, and what it expects to find, is
//! that of `short` and `slots`, so each member takes whichever way is open to it.

use crate::lane::Lane;
use crate::lane::board::call::is_in_notes;
use crate::lane::board::scan::PREFIX;
use crate::lane::board::short::dealt;
use crate::lane::board::slots;
use crate::lane::board::turn::GLANCES;
use crate::schedule::{Builder, Identity, Which};
use crate::values::comm::Comm;
use crate::values::memory::board::{Board, NOTE_BYTES, Said};
use crate::values::memory::hall::Hall;
use crate::values::memory::{Kernel, Region};
use crate::values::pairing::{self, Join};

/// This member's part in the next collective of a board.
pub(super) struct Part<'a> {
    pub lane: &'a Lane,
    pub comm: &'a Comm,
    pub board: &'a Board,
    pub which: Which,
    pub turn: u64,
    /// Those that all members agree on.
    pub bytes: u64,
}

impl Lane {
    /// [`Rank::bcast`](crate::Rank::bcast) of a few bytes, if this member can do its part now.
    #[inline]
    pub fn bcast_at_once(&self, data: &mut [u8], root: u32, comm: &Comm) -> bool {
        let Some(part) = self.part_in(Which::Bcast, data.len(), comm) else {
            return self.bcast_by_slot_at_once(data, root, comm);
        };
        if comm.rank() == root {
            part.has_given(data) && part.end()
        } else {
            part.has_taken(root, (data.len() as u64, 0), data) && part.end()
        }
    }

    /// The same of more bytes, through a slot of the hall.
    #[inline(never)]
    fn bcast_by_slot_at_once(&self, data: &mut [u8], root: u32, comm: &Comm) -> bool {
        let bytes = data.len() as u64;
        let slots = |board: &Board| slots::for_bcast(bytes, board);
        let Some(slotted) = self.part_in_slot(Which::Bcast, (bytes, root), comm, slots) else { return false };
        if comm.rank() == root { slotted.has_given(data) } else { slotted.has_taken(root, 0, data) }
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
        part.board.reuse.has_met(part.turn);
        part.end()
    }

    /// [`Rank::scatter`](crate::Rank::scatter), at a member that is not the root.
    #[inline]
    pub fn scatter_at_once(&self, own: &mut [u8], root: u32, comm: &Comm) -> bool {
        let block = own.len() as u64;
        let Some(part) = self.part_in(Which::Scatter, own.len(), comm) else {
            let slotted = self.part_in_scattered_slot((block, root), comm);
            return slotted
                .is_some_and(|slotted| slotted.has_taken(root, block * u64::from(comm.rank()), own));
        };
        part.has_taken(root, dealt(comm.size(), comm.rank(), block), own) && part.end()
    }

    /// The same at the root, which may want its own block elsewhere.
    pub fn scatter_here_at_once(&self, own: Option<&mut [u8]>, all: &[u8], comm: &Comm) -> bool {
        let block = all.len() / comm.size() as usize;
        if own.as_ref().is_some_and(|own| own.len() != block) {
            return false;
        }
        let has_given = match self.part_in(Which::Scatter, block, comm) {
            Some(part) => {
                let given = match (comm.size(), comm.rank()) {
                    (2, 0) => &all[block..],
                    (2, _) => &all[..block],
                    _ => all,
                };
                part.has_given(given) && part.end()
            }
            None => {
                let slotted = self.part_in_scattered_slot((block as u64, comm.rank()), comm);
                slotted.is_some_and(|slotted| slotted.has_given(all))
            }
        };
        if let (true, Some(own)) = (has_given, own) {
            own.copy_from_slice(&all[block * comm.rank() as usize..][..block]);
        }
        has_given
    }

    /// The next part in a scatter of such blocks, if that goes by a slot.
    fn part_in_scattered_slot<'a>(
        &'a self,
        (block, root): (u64, u32),
        comm: &'a Comm,
    ) -> Option<Slotted<'a>> {
        let slots = |board: &Board| slots::for_scatter(block, self.schedules.bounds(), board);
        self.part_in_slot(Which::Scatter, (block, root), comm, slots)
    }

    /// [`Rank::reduce`](crate::Rank::reduce) by a predefined operation, of elements that lie in one piece. The root has a target.
    pub fn reduce_at_once(
        &self,
        value: &[u8],
        target: Option<&mut [u8]>,
        kernel: Kernel,
        root: u32,
        comm: &Comm,
    ) -> bool {
        let Some(part) = self.part_in(Which::Reduce, value.len(), comm) else { return false };
        let Some(target) = target else {
            return root < comm.size() && part.has_given(value) && part.end();
        };
        if !part.all_have_given() {
            return false;
        }
        part.combine(value, kernel, target);
        part.board.reuse.has_met(part.turn);
        part.end()
    }

    /// [`Rank::scan`](crate::Rank::scan), or [`Rank::exscan`](crate::Rank::exscan) if not `with_own`, by a predefined operation, of elements that lie in one piece: if the member before this one has
    /// laid down its prefix.
    pub fn scan_at_once(
        &self,
        value: &[u8],
        target: &mut [u8],
        kernel: Kernel,
        with_own: bool,
        comm: &Comm,
    ) -> bool {
        let (which, bytes) = (if with_own { Which::Scan } else { Which::Exscan }, value.len());
        let Some(part) = self.part_in(which, bytes, comm) else { return false };
        let (me, is_last) = (comm.rank(), comm.rank() + 1 == comm.size());
        let prefix = which.kind() | PREFIX;
        if !is_last && !part.has_room_in_row() || me > 0 && !part.comes_as(prefix, me - 1) {
            return false;
        }
        // Of a value and a prefix the second.
        let (board, turn, lying) = (part.board, part.turn, (2 * part.bytes, part.bytes));
        // The prefix is made elsewhere before it is laid down: the next member looks at that line.
        let mut own = [0; NOTE_BYTES as usize / 2];
        let sum = if with_own { &mut *target } else { &mut own[..bytes] };
        sum.copy_from_slice(value);
        if let Some(before) = me.checked_sub(1) {
            board.combine_bytes(before, turn, lying, kernel, sum);
        }
        if !is_last {
            board.lay_bytes(turn, lying, sum);
            part.publish_as(prefix);
        }
        if let (false, Some(before)) = (with_own, me.checked_sub(1)) {
            board.pick_bytes(before, turn, lying, target);
        }
        board.reuse.enter_row(turn);
        part.end()
    }

    /// The next part in a collective of so many bytes that goes by one of so many slots, if it does.
    #[inline(always)]
    fn part_in_slot<'a>(
        &'a self,
        which: Which,
        (bytes, root): (u64, u32),
        comm: &'a Comm,
        slots: impl FnOnce(&Board) -> Option<u64>,
    ) -> Option<Slotted<'a>> {
        let board = &**comm.board()??;
        let (slots, hall, turn) = (slots(board)?, board.hall()?, board.coming_turn());
        let may = !self.schedules.has_preferences() && !board.reuse.has_line() && root < comm.size();
        may.then(|| Slotted {
            part: Part::next((self, comm, board), which, bytes),
            hall,
            slots,
            // The other form enters it once more, which changes nothing.
            before: board.reuse.enter_slot(turn, slots),
        })
    }

    /// The next part in a collective of so many bytes, if a board serves it by notes.
    #[inline(always)]
    fn part_in<'a>(&'a self, which: Which, bytes: usize, comm: &'a Comm) -> Option<Part<'a>> {
        let board = &**comm.board()??;
        let bytes = bytes as u64;
        let may = is_in_notes(which, bytes, board) && !self.schedules.has_preferences();
        may.then(|| Part::next((self, comm, board), which, bytes))
    }
}

/// A part that goes by a slot of the hall: what it lays down there, and what it expects to find, is that of `slots`.
struct Slotted<'a> {
    part: Part<'a>,
    hall: Hall,
    slots: u64,
    /// The turn that all must be done with before anybody fills the slot.
    before: u64,
}

impl Slotted<'_> {
    fn place(&self, from: u64, bytes: u64) -> Region {
        self.hall.slot(self.part.turn, self.slots, (from, bytes), &self.part.lane.schedules.byte)
    }

    /// True if the slot was free for what this member fills it with: then it has done its part.
    #[inline(always)]
    fn has_given(&self, data: &[u8]) -> bool {
        let part = &self.part;
        part.has_room(0) && part.board.reuse.is_passed(self.before) && {
            self.place(0, data.len() as u64).store(data);
            part.publish();
            part.end()
        }
    }

    /// True if what the root has filled it with was there, soon: then this member has taken its part of it.
    #[inline(always)]
    fn has_taken(&self, root: u32, from: u64, into: &mut [u8]) -> bool {
        self.part.comes(root) && {
            self.place(from, into.len() as u64).load(into);
            self.part.end()
        }
    }
}

impl<'a> Part<'a> {
    /// The part in the turn that comes next.
    #[inline(always)]
    pub fn next((lane, comm, board): (&'a Lane, &'a Comm, &'a Board), which: Which, bytes: u64) -> Part<'a> {
        Part { lane, comm, board, which, turn: board.coming_turn(), bytes }
    }

    #[inline(always)]
    pub fn has_room(&self, bytes: u64) -> bool {
        self.board.reuse.is_passed(self.board.reuse.needs(self.turn, bytes))
    }

    /// The same for a scan's prefix.
    #[inline(always)]
    fn has_room_in_row(&self) -> bool {
        let Some(needed) = self.board.reuse.needs_of_next(self.turn) else {
            return self.has_room(self.bytes);
        };
        self.board.is_passed_by_next(needed)
    }

    /// True if there was room for what this member lays down.
    #[inline(always)]
    fn has_given(&self, data: &[u8]) -> bool {
        let has_room = self.has_room(data.len() as u64);
        if has_room {
            self.board.lay_bytes(self.turn, (data.len() as u64, 0), data);
            self.publish();
        }
        has_room
    }

    #[inline(always)]
    pub fn publish(&self) {
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
        Said::of(self.bytes)
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

    /// Combines the values of all, of which this member has its own, as `short::combine` does it.
    #[inline]
    pub fn combine(&self, own: &[u8], kernel: Kernel, target: &mut [u8]) {
        const FEW: usize = 4;
        match pairing::slots(self.comm.size()) {
            1 => self.combine_with(own, kernel, target, &mut []),
            ..=FEW => self.combine_with(own, kernel, target, &mut [[0; NOTE_BYTES as usize]; FEW - 1]),
            _ => self.combine_many(own, kernel, target),
        }
    }

    #[inline(never)]
    fn combine_many(&self, own: &[u8], kernel: Kernel, target: &mut [u8]) {
        // A board has at most 4096 members, so 12 slots.
        self.combine_with(own, kernel, target, &mut [[0; NOTE_BYTES as usize]; 11]);
    }

    /// `others` are the slots but the first, which is the target.
    #[inline(always)]
    fn combine_with(
        &self,
        own: &[u8],
        kernel: Kernel,
        target: &mut [u8],
        others: &mut [[u8; NOTE_BYTES as usize]],
    ) {
        let (me, bytes, lying) = (self.comm.rank(), target.len(), (self.bytes, 0));
        pairing::in_pairs(self.comm.size(), pairing::DOWNWARDS, |step| match step {
            Join::Load { member, slot } => {
                let place = if slot == 0 { &mut *target } else { &mut others[slot - 1][..bytes] };
                if member == me {
                    place.copy_from_slice(own);
                } else {
                    self.board.pick_bytes(member, self.turn, lying, place);
                }
            }
            Join::Member { member, slot, .. } => {
                let place = if slot == 0 { &mut *target } else { &mut others[slot - 1][..bytes] };
                if member == me {
                    kernel(own, place);
                } else {
                    self.board.combine_bytes(member, self.turn, lying, kernel, place);
                }
            }
            Join::Slots { slot: 0, .. } => kernel(&others[0][..bytes], target),
            Join::Slots { slot, .. } => {
                let (below, above) = others.split_at_mut(slot);
                kernel(&above[0][..bytes], &mut below[slot - 1][..bytes]);
            }
        });
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
        // One who runs on the other core at this time has it soon; to let another run takes longer, except among fibers.
        let glances = if self.board.ways.near && !self.board.ways.own_cores { 1 } else { GLANCES };
        self.comes_within(glances, kind, member)
    }

    /// As [`comes`](Part::comes), as a note of this kind, within so many looks.
    #[inline(always)]
    pub fn comes_within(&self, looks: u64, kind: u8, member: u32) -> bool {
        (0..looks).any(|_| self.board.shows(member, self.turn, kind))
            && self.board.said(member, self.turn) == self.expected()
    }

    /// This member has done its part.
    #[inline(always)]
    pub fn end(&self) -> bool {
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
        self.lane.takes_in();
        true
    }
}

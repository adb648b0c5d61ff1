//! Which board serves a collective, and how.

use crate::coll::reduce::Reduction;
use crate::coll::{
    Blocks, allgather, allreduce, alltoall, barrier, bcast, gather, reduce, reduce_scatter, scan, scatter,
};
use crate::lane::asked::Asked;
use crate::lane::board::turn::Meeting;
use crate::lane::board::{self, hall, long, phases, short, slots, tried};
use crate::lane::{Lane, signals};
use crate::schedule::{Call, Steps, Which};
use crate::values::bounds::{Bound, Bounds};
use crate::values::comm::Comm;
use crate::values::error::Result;
use crate::values::ids::ContextId;
use crate::values::memory::Region;
use crate::values::memory::board::{Board, NOTE_BYTES};
use crate::values::op::Op;

/// How a board serves a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Form {
    /// By its rooms.
    Short,
    /// Where the data lie, unless it has been quicker not to.
    Long,
    /// Through its hall.
    Hall,
    /// Through one of so many slots of its hall.
    Slots(u64),
    /// From each member to the next, by its rooms.
    Chain,
}

// Where forms change (`values/bounds.rs` has the numbers). From `BoardBcastRoomBytes` on a copy out of the root's memory, which needs the system, takes less time than two, unless it was
// just written; of those under way where members share cores, and caches with them, from a quarter of that on. A block of `BoardFarBlockBytes` is worth a call of the system of its own. Where reading costs no such call, `BoardNearBlockBytes` is the shortest block, or slice of an
// all-reduction, that is read where it lies: to meet once more costs as much as its copy.

impl Call {
    /// True if a board of so many members, with rooms of so many bytes, can serve it. All members come to the same answer, by what they agree on.
    #[inline]
    pub(super) fn suits_board(&self, bounds: &Bounds, members: u32, room: u64) -> bool {
        let bytes = self.bytes();
        let together = bytes.saturating_mul(members.into());
        match self {
            Call::Barrier
            | Call::Bcast { .. }
            | Call::Allgather { .. }
            | Call::Gather { .. }
            | Call::Scatter { .. } => true,
            Call::Allreduce { value, op, .. } => is_plain(value, op),
            Call::Reduce { value, op, .. } | Call::Scan { value, op, .. } => is_plain(value, op),
            Call::ReduceScatter { dealing, op, .. } => is_plain(&dealing.value, op),
            Call::Alltoall { .. } => {
                together <= room || slots::may_hold_all(bytes, members) || is_worth_a_call(bytes, bounds)
            }
        }
    }

    /// True if every member gives something to all others, or meets them: if it fails at one, it does at all.
    fn is_by_all(&self) -> bool {
        self.root().is_none() && !matches!(self, Call::Scan { .. })
    }

    /// True if it goes by the rooms of a board that serves it, or by notes.
    fn fits(&self, bounds: &Bounds, board: &Board) -> bool {
        let (bytes, members, room) = (self.bytes(), board.members(), board.room());
        let together = bytes.saturating_mul(members.into());
        let (near, direct) =
            (bounds.get(Bound::BoardNearBlockBytes), bounds.get(Bound::BoardDirectRoomBytes));
        let bcast = bounds.get(Bound::BoardBcastRoomBytes);
        match self {
            _ if is_in_notes(self.which(), bytes, board) => true,
            Call::Bcast { .. } | Call::Allgather { .. } | Call::Alltoall { .. } if board.ways.near => {
                together <= room && bytes < near
            }
            Call::Allreduce { .. } | Call::ReduceScatter { .. } if board.ways.near => {
                bytes <= room && bytes < near.saturating_mul(members.into())
            }
            // Where there is a hall only those under way come here: others go by its slots.
            Call::Bcast { .. } => bytes <= room.min(if board.ways.hall { bcast / 4 } else { bcast }),
            Call::Allreduce { .. } | Call::ReduceScatter { .. } => bytes <= room,
            // Of a few, what would take more than a call of the system each is sooner copied twice.
            Call::Reduce { .. } | Call::Gather { .. } | Call::Allgather { .. }
                if !board.ways.hall && !board.ways.near =>
            {
                bytes <= room.min(direct.max(2 * bcast / u64::from(members)))
            }
            Call::Reduce { .. } | Call::Gather { .. } if board.ways.near => bytes <= room.min(direct),
            Call::Allgather { .. } | Call::Reduce { .. } | Call::Gather { .. } => {
                bytes <= room.min(bounds.get(Bound::BoardBlockRoomBytes))
            }
            // Between two each lays down one block.
            Call::Alltoall { .. } if members == 2 => bytes <= room,
            Call::Alltoall { .. } | Call::Scatter { .. } => together <= room,
            Call::Scan { .. } => board::scan::is_short(bytes, room),
            Call::Barrier => true,
        }
    }

    /// How a board serves it that can. None if members cannot read each other's memory, and would have to.
    fn form(&self, bounds: &Bounds, board: &Board) -> Option<Form> {
        if let Some(slots) = slots::of(self, bounds, board) {
            return Some(Form::Slots(slots));
        }
        match self {
            _ if self.fits(bounds, board) => Some(Form::Short),
            Call::Scan { .. } => Some(Form::Chain),
            Call::Allreduce { .. } | Call::Reduce { .. } | Call::ReduceScatter { .. } if board.ways.hall => {
                Some(Form::Hall)
            }
            Call::Bcast { .. } if board.ways.hall && !board.ways.near => Some(Form::Hall),
            Call::Alltoall { .. } if !is_worth_a_call(self.bytes(), bounds) => None,
            _ => board.ways.reach.then_some(Form::Long),
        }
    }

    /// How a board serves it while the rank makes progress, if it does: by rooms if it fits there, and else where the data lie if nothing is combined, whatever the blocking form goes by.
    pub(super) fn goes_on(&self, bounds: &Bounds, board: &Board) -> Option<Form> {
        if !self.suits_board(bounds, board.members(), board.room()) {
            return None;
        }
        if self.fits(bounds, board) {
            return (!short::is_sliced(self, board, Meeting::under_way(board))).then_some(Form::Short);
        }
        if let Call::Alltoall { .. } = self
            && !is_worth_a_call(self.bytes(), bounds)
        {
            return None;
        }
        if long::only_moves(self) {
            return board.ways.reach.then_some(Form::Long);
        }
        self.form(bounds, board).filter(|form| phases::serves(self, *form))
    }

    /// The same by messages.
    #[inline(never)]
    pub fn steps(&self, lane: &Lane, comm: &Comm) -> Result<Steps> {
        let shop = lane.shop();
        let blocks =
            |own: &Region, all: &Option<Region>, root| Blocks { own: own.clone(), all: all.clone(), root };
        let steps = match self {
            Call::Barrier => barrier::plan(shop, comm),
            Call::Bcast { data, root } => bcast::plan(shop, data, *root, comm),
            Call::Allreduce { value, target, op } => allreduce::plan(shop, value, target, op, comm),
            Call::Reduce { value, target, op, root } => {
                let reduction = Reduction { value: value.clone(), target: target.clone(), root: *root };
                reduce::plan(shop, &reduction, op, comm)
            }
            Call::Allgather { own, all } => allgather::plan(shop, own, all, comm),
            Call::Gather { own, all, root } => gather::plan(shop, &blocks(own, all, *root), comm),
            Call::Scatter { own, all, root } => scatter::plan(shop, &blocks(own, all, *root), comm),
            Call::Alltoall { send, recv } => alltoall::plan(shop, Some(send), recv, comm),
            Call::Scan { value, target, op, with_own } => {
                scan::plan(shop, value, target, op, *with_own, comm)
            }
            Call::ReduceScatter { dealing, op, .. } => reduce_scatter::plan(shop, dealing, op, comm),
        }?;
        let bytes = match self {
            Call::ReduceScatter { is_block: true, dealing, .. } => dealing.target.bytes(),
            // Nobody is told of those whose blocks differ.
            Call::ReduceScatter { .. } => return Ok(steps),
            _ => self.bytes(),
        };
        lane.show(&self.asked(comm, &|| bytes), steps.context, steps.tag.value());
        Ok(steps)
    }

    fn asked<'a>(&self, comm: &'a Comm, bytes: &'a dyn Fn() -> u64) -> Asked<'a> {
        Asked { which: self.name(), comm, root: self.root(), bytes }
    }

    /// The communicator's board, if that serves it.
    #[inline]
    fn board<'a>(&self, lane: &Lane, comm: &'a Comm) -> Result<Option<&'a Board>> {
        // Others are not asked for here where the members could not share a board.
        if matches!(self, Call::Barrier) && !lane.may_board(comm, self.name()) {
            return Ok(None);
        }
        let bounds = lane.schedules.bounds();
        match comm.board() {
            Some(board) => Ok(board
                .map(|board| &**board)
                .filter(|board| self.suits_board(bounds, board.members(), board.room()))),
            None if self.suits_board(bounds, comm.size(), Board::room_of(comm.size())) => {
                lane.next_to_board(comm)
            }
            None => Ok(None),
        }
    }

    /// Does it, on the communicator's board if that serves it.
    #[inline(never)]
    pub fn run(&self, lane: &Lane, comm: &Comm) -> Result<()> {
        if let Some(board) = self.board(lane, comm)?
            && let Some(form) = self.form(lane.schedules.bounds(), board)
        {
            let ended = match form {
                Form::Short => short::run(lane, comm, board, self),
                Form::Long if tried::serves(board, self) => tried::run(lane, comm, board, self),
                Form::Long => long::run(lane, comm, board, self),
                Form::Hall => hall::run(lane, comm, board, self),
                Form::Slots(slots) => slots::run(lane, comm, board, self, slots),
                Form::Chain => board::scan::run(lane, comm, board, self),
            };
            if ended.is_err() && self.is_by_all() {
                // One who expects other bytes may not have tried anything.
                board.tried.forget();
            }
            return ended;
        }
        if let Call::Barrier = self
            && signals::serves(lane.fabric(), comm)
        {
            lane.show(&self.asked(comm, &|| 0), ContextId::WORLD.collective(), -1);
            return signals::run(lane, comm);
        }
        lane.run(self.steps(lane, comm)?)
    }
}

/// True for collectives with a root, and scans, of so few bytes that they go by notes, whatever the bounds are and the members are to each other: each of them may do its part at once. The root of a scatter has what
/// may be longer, a note or a room; where there is a hall that goes by a slot (`slots::of`).
#[inline(always)]
pub(super) fn is_in_notes(which: Which, bytes: u64, board: &Board) -> bool {
    let together = bytes.saturating_mul(board.members().into());
    match which {
        Which::Bcast | Which::Reduce | Which::Gather => bytes <= NOTE_BYTES,
        Which::Scatter if board.ways.hall => together <= NOTE_BYTES,
        Which::Scatter => bytes <= NOTE_BYTES && together <= board.room(),
        // A value and a prefix.
        Which::Scan | Which::Exscan => 2 * bytes <= NOTE_BYTES,
        _ => false,
    }
}

/// True for blocks of an alltoall of which each is worth a call of the system.
fn is_worth_a_call(block: u64, bounds: &Bounds) -> bool {
    block >= bounds.get(Bound::BoardFarBlockBytes)
}

/// Elements of a predefined type, which is the same at all members, without gaps.
fn is_plain(value: &Region, op: &Op) -> bool {
    op.as_builtin().is_some() && value.is_contiguous()
}

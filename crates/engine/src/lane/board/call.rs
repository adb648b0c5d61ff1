//! Which board serves a collective, and how.

use crate::coll::{
    allgather, allreduce, alltoall, barrier, bcast, gather, reduce, reduce_scatter, scan, scatter,
};
use crate::lane::asked::Asked;
use crate::lane::board::{self, hall, long, phases, short};
use crate::lane::{Lane, signals};
use crate::schedule::{Call, Steps};
use crate::values::comm::Comm;
use crate::values::error::Result;
use crate::values::ids::ContextId;
use crate::values::memory::Region;
use crate::values::memory::board::Board;
use crate::values::op::Op;

/// How a board serves a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Form {
    /// By its rooms.
    Short,
    /// Where the data lie.
    Long,
    /// Through its hall.
    Hall,
    /// From each member to the next, by its rooms.
    Chain,
}

/// Longest broadcast that goes by a room: from here on a copy out of the root's memory, which needs the system, takes less time than two.
const BCAST_SHORT: u64 = 16 << 10;

/// Longest block that goes by a room.
const BLOCK_SHORT: u64 = 4 << 10;

/// Shortest block, or slice of an all-reduction, that is read where it lies if that costs no call of the system: to meet once more costs as much as its copy.
const NEAR_LONG: u64 = 2 << 10;

/// Shortest block that is worth a call of the system of its own.
const BLOCK_LONG: u64 = 1 << 10;

impl Call {
    /// True if a board of so many members, with rooms of so many bytes, can serve it. All members come to the same answer, by what they agree on.
    #[inline]
    pub(super) fn suits_board(&self, members: u32, room: u64) -> bool {
        let bytes = self.bytes();
        let together = bytes.saturating_mul(members.into());
        match self {
            Call::Barrier | Call::Bcast { .. } | Call::Allgather { .. } => true,
            Call::Allreduce { value, op, .. } => is_plain(value, op),
            Call::Reduce { value, op, .. } | Call::Scan { value, op, .. } => is_plain(value, op),
            Call::ReduceScatter { dealing, op, .. } => is_plain(&dealing.value, op),
            Call::Gather { .. } => bytes <= room.min(BLOCK_SHORT),
            Call::Scatter { .. } => together <= room,
            Call::Alltoall { .. } => together <= room || bytes >= BLOCK_LONG,
        }
    }

    /// How a board serves it that can. None if members cannot read each other's memory, and would have to.
    fn form(&self, board: &Board) -> Option<Form> {
        let (bytes, members, room) = (self.bytes(), board.members(), board.room());
        let together = bytes.saturating_mul(members.into());
        let fits = match self {
            Call::Bcast { .. } | Call::Allgather { .. } | Call::Alltoall { .. } if board.ways.near => {
                together <= room && bytes < NEAR_LONG
            }
            Call::Allreduce { .. } | Call::ReduceScatter { .. } if board.ways.near => {
                bytes <= room && bytes < NEAR_LONG * u64::from(members)
            }
            Call::Bcast { .. } => bytes <= room.min(BCAST_SHORT),
            Call::Allreduce { .. } | Call::ReduceScatter { .. } => bytes <= room,
            Call::Allgather { .. } => bytes <= room.min(BLOCK_SHORT),
            Call::Alltoall { .. } => together <= room,
            Call::Reduce { .. } => bytes <= room.min(BLOCK_SHORT),
            Call::Scan { .. } => board::scan::is_short(bytes, room),
            Call::Barrier | Call::Gather { .. } | Call::Scatter { .. } => true,
        };
        match self {
            _ if fits => Some(Form::Short),
            Call::Scan { .. } => Some(Form::Chain),
            Call::Allreduce { .. } | Call::Reduce { .. } | Call::ReduceScatter { .. } if board.ways.hall => {
                Some(Form::Hall)
            }
            Call::Bcast { .. } if board.ways.hall && !board.ways.near => Some(Form::Hall),
            _ => board.ways.reach.then_some(Form::Long),
        }
    }

    /// How a board serves it while the rank makes progress, if it does.
    pub(super) fn goes_on(&self, board: &Board) -> Option<Form> {
        let form = self.form(board).filter(|_| self.suits_board(board.members(), board.room()))?;
        let serves = match form {
            Form::Short => !short::is_sliced(self, board),
            form => phases::serves(self, form),
        };
        serves.then_some(form)
    }

    /// The same by messages.
    #[inline(never)]
    pub fn steps(&self, lane: &Lane, comm: &Comm) -> Result<Steps> {
        let shop = lane.shop();
        let other = |region: &Region, than: &Region| (!region.same_place(than)).then(|| region.to_send());
        let steps = match self {
            Call::Barrier => barrier::plan(shop, comm),
            Call::Bcast { data, root } => bcast::plan(shop, &data.to_receive(), *root, comm),
            Call::Allreduce { value, target, op } => {
                allreduce::plan(shop, other(value, target).as_ref(), &target.to_receive(), op, comm)
            }
            Call::Reduce { value, target, op, root } => {
                let send = match target {
                    Some(target) => other(value, target),
                    None => Some(value.to_send()),
                };
                let recv = target.as_ref().map(Region::to_receive);
                reduce::plan(shop, send.as_ref(), recv.as_ref(), op, *root, comm)
            }
            Call::Allgather { own, all } => {
                let send = other(own, &all.block(comm.rank()));
                allgather::plan(shop, send.as_ref(), &all.to_receive(), comm)
            }
            Call::Gather { own, all, root } => {
                let send = match all {
                    Some(all) => other(own, &all.block(*root)),
                    None => Some(own.to_send()),
                };
                let recv = all.as_ref().map(Region::to_receive);
                gather::plan(shop, send.as_ref(), recv.as_ref(), *root, comm)
            }
            Call::Scatter { own, all, root } => {
                let is_in_place = all.as_ref().is_some_and(|all| own.same_place(&all.block(*root)));
                let recv = (!is_in_place).then(|| own.to_receive());
                scatter::plan(shop, all.as_ref().map(Region::to_send).as_ref(), recv.as_ref(), *root, comm)
            }
            Call::Alltoall { send, recv } => {
                alltoall::plan(shop, Some(&send.to_send()), &recv.to_receive(), comm)
            }
            Call::Scan { value, target, op, with_own } => {
                let plan = if *with_own { scan::plan } else { scan::plan_exclusive };
                plan(shop, other(value, target).as_ref(), &target.to_receive(), op, comm)
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
        match comm.board() {
            Some(board) => Ok(board
                .map(|board| &**board)
                .filter(|board| self.suits_board(board.members(), board.room()))),
            None if self.suits_board(comm.size(), Board::room_of(comm.size())) => lane.next_to_board(comm),
            None => Ok(None),
        }
    }

    /// Does it, on the communicator's board if that serves it.
    #[inline(never)]
    pub fn run(&self, lane: &Lane, comm: &Comm) -> Result<()> {
        if let Some(board) = self.board(lane, comm)?
            && let Some(form) = self.form(board)
        {
            return match form {
                Form::Short => short::run(lane, comm, board, self),
                Form::Long => long::run(lane, comm, board, self),
                Form::Hall => hall::run(lane, comm, board, self),
                Form::Chain => board::scan::run(lane, comm, board, self),
            };
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

/// Elements of a predefined type, which is the same at all members, without gaps.
fn is_plain(value: &Region, op: &Op) -> bool {
    op.as_builtin().is_some() && value.is_contiguous()
}

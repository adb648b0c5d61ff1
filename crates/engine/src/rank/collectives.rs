//! The collectives as methods of [`Rank`] (MPI chapter 6): each describes what this member does as a [`Plan`], which is waited for,
//! started, or kept for later, for MPI's blocking, non-blocking and persistent forms.
//!
//! A buffer must stay valid until the operation is complete, as in MPI; where a collective counts elements per member, the buffer's
//! contract covers the blocks of all members. Members begin their collectives in one order, so a plan is begun when it is made: one
//! that is dropped leaves the others waiting.

use alloc::boxed::Box;

use crate::coll::{self, inter, neighbor};
use crate::coll::{Blocks, check_root, in_place_off_root, intra_root, missing_at_root, reduction_buffers};
use crate::coll::{allgatherv, alltoall, alltoallv, barrier, gatherv, scatterv};
use crate::lane::asked::Asked;
use crate::lane::signals;
use crate::rank::Rank;
use crate::rank::plan::Plan;
use crate::schedule::{Call, Dealing, Steps};
use crate::values::bounds::Bounds;
use crate::values::comm::Comm;
use crate::values::error::Result;
use crate::values::ids::Root;
use crate::values::memory::{RecvBuffer, RecvParts, Region, SendBuffer, SendParts};
use crate::values::op::{Op, Reduction};

impl Rank {
    /// Waits until all members have entered it. Section 6.3.
    pub fn barrier(&self, comm: &Comm) -> Result<Plan<'_>> {
        if self.lane.may_board(comm, "barrier") || signals::serves(self.fabric(), comm) {
            return Ok(self.to_be_made(comm, Call::Barrier));
        }
        let asked = Asked { which: "barrier", comm, root: None, bytes: &|| 0 };
        self.planned_for(&asked, barrier::plan(self.shop(), comm.union()))
    }

    /// Copies the root's buffer to all members. Section 6.4.
    pub fn bcast(&self, buffer: &RecvBuffer, root: impl Into<Root>, comm: &Comm) -> Result<Plan<'_>> {
        self.bcast_from(buffer, root.into(), comm)
    }

    fn bcast_from(&self, buffer: &RecvBuffer, root: Root, comm: &Comm) -> Result<Plan<'_>> {
        if comm.is_inter() {
            return self.planned(inter::bcast(self.shop(), buffer, root, comm));
        }
        let root = intra_root(root, comm)?;
        check_root(root, comm)?;
        self.served(comm, Call::Bcast { data: Region::from(buffer), root })
    }

    /// [`bcast`](Rank::bcast) of a few bytes, done to the end, if this member can do its part now; if false, nothing was done. So are the others like it.
    #[inline]
    pub fn bcast_at_once(&self, data: &mut [u8], root: u32, comm: &Comm) -> bool {
        self.lane.bcast_at_once(data, root, comm)
    }

    /// [`gather`](Rank::gather) of a few bytes, at a member that is not the root.
    #[inline]
    pub fn gather_at_once(&self, own: &[u8], root: u32, comm: &Comm) -> bool {
        self.lane.gather_at_once(own, root, comm)
    }

    /// [`gather`](Rank::gather) of a few bytes, at the root, whose own block is in `own`, or else among the others.
    pub fn gather_here_at_once(&self, own: Option<&[u8]>, all: &mut [u8], comm: &Comm) -> bool {
        self.lane.gather_here_at_once(own, all, comm)
    }

    /// [`scatter`](Rank::scatter) of a few bytes, at a member that is not the root.
    #[inline(never)]
    pub fn scatter_at_once(&self, own: &mut [u8], root: u32, comm: &Comm) -> bool {
        self.lane.scatter_at_once(own, root, comm)
    }

    /// [`scatter`](Rank::scatter) of a few bytes, at the root, which may want its own block in `own`.
    pub fn scatter_here_at_once(&self, own: Option<&mut [u8]>, all: &[u8], comm: &Comm) -> bool {
        self.lane.scatter_here_at_once(own, all, comm)
    }

    /// [`reduce`](Rank::reduce) of a few bytes that lie in one piece; the root has a target for them.
    pub fn reduce_at_once(
        &self,
        value: &[u8],
        target: Option<&mut [u8]>,
        how: Reduction,
        root: u32,
        comm: &Comm,
    ) -> bool {
        self.lane.reduce_at_once(value, target, how.kernel(), root, comm)
    }

    /// True if the members may come soon: each has a core, and all look at all others.
    #[inline]
    pub fn may_meet_at_once(&self, comm: &Comm) -> bool {
        self.lane.may_meet_at_once(comm)
    }

    /// [`barrier`](Rank::barrier) of members who come soon. If false, the collective itself is to be called next, by this and the others like it: it goes on from where this has ended.
    #[inline(never)]
    pub fn barrier_at_once(&self, comm: &Comm) -> bool {
        self.lane.barrier_at_once(comm)
    }

    /// [`allreduce`](Rank::allreduce) of a few bytes that lie in one piece, of members who come soon. Without a value the target has it.
    #[inline(never)]
    pub fn allreduce_at_once(
        &self,
        value: Option<&[u8]>,
        target: &mut [u8],
        how: Reduction,
        comm: &Comm,
    ) -> bool {
        self.lane.allreduce_at_once(value, target, how.kernel(), comm)
    }

    /// [`allgather`](Rank::allgather) of a few bytes that lie in one piece, of members who come soon. Without `own` the block is among the others.
    #[inline(never)]
    pub fn allgather_at_once(&self, own: Option<&[u8]>, all: &mut [u8], comm: &Comm) -> bool {
        self.lane.allgather_at_once(own, all, comm)
    }

    /// [`alltoall`](Rank::alltoall) of a few bytes that lie in one piece, between two who come soon.
    #[inline(never)]
    pub fn alltoall_at_once(&self, send: &[u8], recv: &mut [u8], comm: &Comm) -> bool {
        self.lane.alltoall_at_once(send, recv, comm)
    }

    /// [`scan`](Rank::scan), or [`exscan`](Rank::exscan) if not `with_own`, of a few bytes that lie in one piece.
    pub fn scan_at_once(
        &self,
        value: &[u8],
        target: &mut [u8],
        how: Reduction,
        with_own: bool,
        comm: &Comm,
    ) -> bool {
        self.lane.scan_at_once(value, target, how.kernel(), with_own, comm)
    }

    /// Combines the members' buffers at the root. `None` to send is MPI_IN_PLACE, allowed at the root; `None` to receive is
    /// for the others. Section 6.9.1.
    pub fn reduce(
        &self,
        send: Option<&SendBuffer>,
        recv: Option<&RecvBuffer>,
        op: &Op,
        root: impl Into<Root>,
        comm: &Comm,
    ) -> Result<Plan<'_>> {
        self.reduce_to(send, recv, op, root.into(), comm)
    }

    fn reduce_to(
        &self,
        send: Option<&SendBuffer>,
        recv: Option<&RecvBuffer>,
        op: &Op,
        root: Root,
        comm: &Comm,
    ) -> Result<Plan<'_>> {
        if comm.is_inter() {
            return self.planned(inter::reduce(self.shop(), send, recv, op, root, comm));
        }
        let root = intra_root(root, comm)?;
        check_root(root, comm)?;
        let at_root = comm.rank() == root;
        let target = recv.filter(|_| at_root).map(Region::from);
        let value = match (send, &target) {
            (_, None) if at_root => return Err(missing_at_root()),
            (Some(send), _) => Region::from(send),
            (None, Some(target)) => target.clone(),
            (None, None) => return Err(in_place_off_root()),
        };
        op.check_reduction(value.datatype())?;
        self.served(comm, Call::Reduce { value, target, op: op.clone(), root })
    }

    /// Combines the members' buffers at all of them. `None` to send is MPI_IN_PLACE. Section 6.9.6.
    pub fn allreduce(
        &self,
        send: Option<&SendBuffer>,
        recv: &RecvBuffer,
        op: &Op,
        comm: &Comm,
    ) -> Result<Plan<'_>> {
        if comm.is_inter() {
            return self.planned(inter::allreduce(self.shop(), send, recv, op, comm));
        }
        let (value, target) = reduction_buffers(send, recv, op)?;
        self.served(comm, Call::Allreduce { value, target, op: op.clone() })
    }

    /// Collects equal blocks at the root; `recv.count()` is the number of elements from each member. `None` to send is
    /// MPI_IN_PLACE, allowed at the root; `None` to receive is for the others. Section 6.5.
    pub fn gather(
        &self,
        send: Option<&SendBuffer>,
        recv: Option<&RecvBuffer>,
        root: impl Into<Root>,
        comm: &Comm,
    ) -> Result<Plan<'_>> {
        self.gather_or_scatter(true, send.map(Region::from), recv.map(Region::from), root.into(), comm)
    }

    /// Copies each member's own block to its place among all of them, which are the root's, or else from there.
    fn gather_or_scatter(
        &self,
        gathers: bool,
        own: Option<Region>,
        all: Option<Region>,
        root: Root,
        comm: &Comm,
    ) -> Result<Plan<'_>> {
        if comm.is_inter() {
            return self.planned(inter::gather_or_scatter(self.shop(), gathers, own, all, root, comm));
        }
        let Blocks { own, all, root } = Blocks::of(own, all, intra_root(root, comm)?, comm)?;
        let call = if gathers { Call::Gather { own, all, root } } else { Call::Scatter { own, all, root } };
        self.served(comm, call)
    }

    /// As [`gather`](Rank::gather) with a part for each member. Section 6.5.
    pub fn gatherv(
        &self,
        send: Option<&SendBuffer>,
        recv: Option<&RecvParts<'_>>,
        root: impl Into<Root>,
        comm: &Comm,
    ) -> Result<Plan<'_>> {
        let root = root.into();
        self.planned(if comm.is_inter() {
            inter::gatherv(self.shop(), send, recv, root, comm)
        } else {
            gatherv::plan(self.shop(), send, recv, intra_root(root, comm)?, comm)
        })
    }

    /// Deals out equal blocks from the root; `send.count()` is the number of elements for each member. `None` to receive is
    /// MPI_IN_PLACE, allowed at the root; `None` to send is for the others. Section 6.6.
    pub fn scatter(
        &self,
        send: Option<&SendBuffer>,
        recv: Option<&RecvBuffer>,
        root: impl Into<Root>,
        comm: &Comm,
    ) -> Result<Plan<'_>> {
        self.gather_or_scatter(false, recv.map(Region::from), send.map(Region::from), root.into(), comm)
    }

    /// As [`scatter`](Rank::scatter) with a part for each member. Section 6.6.
    pub fn scatterv(
        &self,
        send: Option<&SendParts<'_>>,
        recv: Option<&RecvBuffer>,
        root: impl Into<Root>,
        comm: &Comm,
    ) -> Result<Plan<'_>> {
        let root = root.into();
        self.planned(if comm.is_inter() {
            inter::scatterv(self.shop(), send, recv, root, comm)
        } else {
            scatterv::plan(self.shop(), send, recv, intra_root(root, comm)?, comm)
        })
    }

    /// Collects equal blocks at all members; `recv.count()` is the number of elements from each. `None` to send is
    /// MPI_IN_PLACE. Section 6.7.
    pub fn allgather(&self, send: Option<&SendBuffer>, recv: &RecvBuffer, comm: &Comm) -> Result<Plan<'_>> {
        if comm.is_inter() {
            return self.planned(inter::allgather(self.shop(), send, recv, comm));
        }
        let all = Region::from(recv);
        let own = send.map_or_else(|| all.block(comm.rank()), Region::from);
        self.served(comm, Call::Allgather { own, all })
    }

    /// As [`allgather`](Rank::allgather) with a part for each member. Section 6.7.
    pub fn allgatherv(
        &self,
        send: Option<&SendBuffer>,
        recv: &RecvParts<'_>,
        comm: &Comm,
    ) -> Result<Plan<'_>> {
        self.planned(if comm.is_inter() {
            inter::allgatherv(self.shop(), send, recv, comm)
        } else {
            allgatherv::plan(self.shop(), send, recv, comm)
        })
    }

    /// Exchanges equal blocks between all members; both counts are those of one block. `None` to send is MPI_IN_PLACE. Section 6.8.
    pub fn alltoall(&self, send: Option<&SendBuffer>, recv: &RecvBuffer, comm: &Comm) -> Result<Plan<'_>> {
        if comm.is_inter() {
            return self.planned(inter::alltoall(self.shop(), send, recv, comm));
        }
        let recv = Region::from(recv);
        if let Some(send) = send {
            return self.served(comm, Call::Alltoall { send: Region::from(send), recv });
        }
        let asked = Asked { which: "alltoall", comm, root: None, bytes: &|| recv.bytes() };
        self.planned_for(&asked, alltoall::plan(self.shop(), None, &recv, comm))
    }

    /// As [`alltoall`](Rank::alltoall) with a part for each member. Section 6.8.
    pub fn alltoallv(
        &self,
        send: Option<&SendParts<'_>>,
        recv: &RecvParts<'_>,
        comm: &Comm,
    ) -> Result<Plan<'_>> {
        self.planned(if comm.is_inter() {
            inter::alltoallv(self.shop(), send, recv, comm)
        } else {
            alltoallv::plan(self.shop(), send, recv, comm)
        })
    }

    /// As [`alltoallv`](Rank::alltoallv); the parts have types of their own ([`SendParts::with_types`]). Section 6.8.
    pub fn alltoallw(
        &self,
        send: Option<&SendParts<'_>>,
        recv: &RecvParts<'_>,
        comm: &Comm,
    ) -> Result<Plan<'_>> {
        self.planned(if comm.is_inter() {
            inter::alltoallv(self.shop(), send, recv, comm)
        } else {
            alltoallv::plan(self.shop(), send, recv, comm)
        })
    }

    /// Combines the buffers of this member and those of lower rank. `None` to send is MPI_IN_PLACE. Section 6.11.1.
    pub fn scan(
        &self,
        send: Option<&SendBuffer>,
        recv: &RecvBuffer,
        op: &Op,
        comm: &Comm,
    ) -> Result<Plan<'_>> {
        self.scanned(send, recv, op, comm, true)
    }

    /// Combines the buffers of the members of lower rank; rank 0 gets nothing. `None` to send is MPI_IN_PLACE. Section 6.11.2.
    pub fn exscan(
        &self,
        send: Option<&SendBuffer>,
        recv: &RecvBuffer,
        op: &Op,
        comm: &Comm,
    ) -> Result<Plan<'_>> {
        self.scanned(send, recv, op, comm, false)
    }

    #[inline(never)]
    fn scanned(
        &self,
        send: Option<&SendBuffer>,
        recv: &RecvBuffer,
        op: &Op,
        comm: &Comm,
        with_own: bool,
    ) -> Result<Plan<'_>> {
        comm.intra()?;
        let (value, target) = reduction_buffers(send, recv, op)?;
        self.served(comm, Call::Scan { value, target, op: op.clone(), with_own })
    }

    /// A call of an intracommunicator: memory may serve it which the members share, or messages where they share none. A call is long: inlined, it is written where it stays.
    #[inline(always)]
    fn served(&self, comm: &Comm, call: Call) -> Result<Plan<'_>> {
        // Those who prefer an algorithm name both kinds alike.
        let is_dealt = matches!(call, Call::ReduceScatter { .. });
        if self.lane.may_board(comm, if is_dealt { "reduce_scatter" } else { call.name() }) {
            return Ok(self.to_be_made(comm, call));
        }
        self.by_messages(comm, call)
    }

    #[inline(never)]
    fn by_messages(&self, comm: &Comm, call: Call) -> Result<Plan<'_>> {
        self.planned(call.steps(&self.lane, comm))
    }

    /// Combines buffers of a block for each member; every member gets its block, `recv.count()` elements. `None` to send is
    /// MPI_IN_PLACE: all blocks are in `recv`. Section 6.10.1.
    pub fn reduce_scatter_block(
        &self,
        send: Option<&SendBuffer>,
        recv: &RecvBuffer,
        op: &Op,
        comm: &Comm,
    ) -> Result<Plan<'_>> {
        if !comm.is_inter() {
            return self.dealt(comm, Dealing::even(send, recv, op, comm)?, op, true);
        }
        self.planned(inter::reduce_scatter_block(self.shop(), send, recv, op, comm))
    }

    /// As [`reduce_scatter_block`](Rank::reduce_scatter_block) with `counts[i]` elements for member `i`. The counts of the two
    /// buffers are not used. Section 6.10.2.
    pub fn reduce_scatter(
        &self,
        send: Option<&SendBuffer>,
        recv: &RecvBuffer,
        counts: &[u64],
        op: &Op,
        comm: &Comm,
    ) -> Result<Plan<'_>> {
        if !comm.is_inter() {
            return self.dealt(comm, Dealing::uneven(send, recv, counts, op, comm)?, op, false);
        }
        self.planned(inter::reduce_scatter(self.shop(), send, recv, counts, op, comm))
    }

    fn dealt(&self, comm: &Comm, dealing: Dealing, op: &Op, is_block: bool) -> Result<Plan<'_>> {
        let call = Call::ReduceScatter { dealing: Box::new(dealing), op: op.clone(), is_block };
        self.served(comm, call)
    }

    /// Sends the same data to all neighbours and collects a block from each; `recv.count()` is the number of elements from each. Section
    /// 8.6.1.
    pub fn neighbor_allgather(&self, send: &SendBuffer, recv: &RecvBuffer, comm: &Comm) -> Result<Plan<'_>> {
        self.planned(neighbor::allgather(self.shop(), send, recv, comm))
    }

    /// As [`neighbor_allgather`](Rank::neighbor_allgather), with a part for each neighbour. Section 8.6.1.
    pub fn neighbor_allgatherv(
        &self,
        send: &SendBuffer,
        recv: &RecvParts<'_>,
        comm: &Comm,
    ) -> Result<Plan<'_>> {
        self.planned(neighbor::allgatherv(self.shop(), send, recv, comm))
    }

    /// Sends a block to each neighbour and collects one from each. Section 8.6.2.
    pub fn neighbor_alltoall(&self, send: &SendBuffer, recv: &RecvBuffer, comm: &Comm) -> Result<Plan<'_>> {
        self.planned(neighbor::alltoall(self.shop(), send, recv, comm))
    }

    /// As [`neighbor_alltoall`](Rank::neighbor_alltoall), with parts of varying size. Section 8.6.2.
    pub fn neighbor_alltoallv(
        &self,
        send: &SendParts<'_>,
        recv: &RecvParts<'_>,
        comm: &Comm,
    ) -> Result<Plan<'_>> {
        self.planned(neighbor::alltoallv(self.shop(), send, recv, comm))
    }

    /// As [`neighbor_alltoallv`](Rank::neighbor_alltoallv); parts may have types of their own. Section 8.6.3.
    pub fn neighbor_alltoallw(
        &self,
        send: &SendParts<'_>,
        recv: &RecvParts<'_>,
        comm: &Comm,
    ) -> Result<Plan<'_>> {
        self.planned(neighbor::alltoallv(self.shop(), send, recv, comm))
    }

    /// A call that memory which the members share may serve.
    fn to_be_made(&self, comm: &Comm, call: Call) -> Plan<'_> {
        Plan::to_be_made(&self.lane, comm, call)
    }

    /// Steps that this rank's lane is to run, of which observers are told what was asked for.
    fn planned_for(&self, asked: &Asked<'_>, steps: Result<Steps>) -> Result<Plan<'_>> {
        if let Ok(steps) = &steps {
            self.lane.show(asked, steps.context, steps.tag.value());
        }
        self.planned(steps)
    }

    /// Steps that this rank's lane is to run.
    fn planned(&self, steps: Result<Steps>) -> Result<Plan<'_>> {
        steps.map(|steps| Plan::of(&self.lane, steps))
    }

    /// Prefers an algorithm for a collective wherever its restrictions allow it; `None` goes back to the table. False if there
    /// is no algorithm of that name. For measurements and tests; all members must prefer the same.
    pub fn prefer_algorithm(&self, collective: &str, algorithm: Option<&str>) -> bool {
        let Some((collective, algorithm)) = coll::find_algorithm(collective, algorithm) else { return false };
        self.lane.schedules.prefer(collective, algorithm);
        true
    }

    /// Changes where collectives change their way, for those that begin from now on. All members must have the same.
    pub fn set_bounds(&self, bounds: &'static Bounds) {
        self.lane.schedules.set_bounds(bounds);
    }

    /// The algorithms of each collective that has several, in the order of its table.
    pub fn algorithms() -> impl Iterator<Item = (&'static str, &'static str)> {
        coll::algorithms()
    }
}

//! The collectives as methods of [`Rank`]: blocking, non-blocking with the prefix `i` and persistent with the suffix `_init`
//! (MPI chapter 6, sections 6.12 and 6.13).
//!
//! All forms build the same schedule and differ in who runs it. A buffer must stay valid until the operation is complete, as
//! in MPI; where a collective counts elements per member, the buffer's contract covers the blocks of all members.

use super::{allgather, allgatherv, allreduce, alltoall, alltoallv, barrier, bcast, gather, gatherv, reduce};
use super::{reduce_scatter, scan, scatter, scatterv};
use crate::comm::Comm;
use crate::error::Result;
use crate::memory::{RecvBuffer, RecvParts, SendBuffer, SendParts};
use crate::op::Op;
use crate::rank::Rank;
use crate::request::RequestId;

impl Rank {
    /// Waits until all members have entered it. Section 6.3.
    pub fn barrier(&self, comm: &Comm) -> Result<()> {
        if barrier::signals::serves(comm) {
            return barrier::signals::run(self, comm);
        }
        let schedule = barrier::plan(self, comm)?;
        self.run(schedule)
    }

    /// [`barrier`](Rank::barrier) without waiting.
    pub fn ibarrier(&self, comm: &Comm) -> Result<RequestId> {
        let schedule = barrier::plan(self, comm)?;
        self.launch(schedule)
    }

    /// [`barrier`](Rank::barrier) as a persistent request, to be started with [`start`](Rank::start).
    pub fn barrier_init(&self, comm: &Comm) -> Result<RequestId> {
        let schedule = barrier::plan(self, comm)?;
        self.keep(schedule)
    }

    /// Copies the root's buffer to all members. Section 6.4.
    pub fn bcast(&self, buffer: &RecvBuffer, root: u32, comm: &Comm) -> Result<()> {
        let schedule = bcast::plan(self, buffer, root, comm)?;
        self.run(schedule)
    }

    /// [`bcast`](Rank::bcast) without waiting.
    pub fn ibcast(&self, buffer: &RecvBuffer, root: u32, comm: &Comm) -> Result<RequestId> {
        let schedule = bcast::plan(self, buffer, root, comm)?;
        self.launch(schedule)
    }

    /// [`bcast`](Rank::bcast) as a persistent request, to be started with [`start`](Rank::start).
    pub fn bcast_init(&self, buffer: &RecvBuffer, root: u32, comm: &Comm) -> Result<RequestId> {
        let schedule = bcast::plan(self, buffer, root, comm)?;
        self.keep(schedule)
    }

    /// Combines the members' buffers at the root. `None` to send is MPI_IN_PLACE, allowed at the root; `None` to receive is
    /// for the others. Section 6.9.1.
    pub fn reduce(
        &self,
        send: Option<&SendBuffer>,
        recv: Option<&RecvBuffer>,
        op: &Op,
        root: u32,
        comm: &Comm,
    ) -> Result<()> {
        let schedule = reduce::plan(self, send, recv, op, root, comm)?;
        self.run(schedule)
    }

    /// [`reduce`](Rank::reduce) without waiting.
    pub fn ireduce(
        &self,
        send: Option<&SendBuffer>,
        recv: Option<&RecvBuffer>,
        op: &Op,
        root: u32,
        comm: &Comm,
    ) -> Result<RequestId> {
        let schedule = reduce::plan(self, send, recv, op, root, comm)?;
        self.launch(schedule)
    }

    /// [`reduce`](Rank::reduce) as a persistent request, to be started with [`start`](Rank::start).
    pub fn reduce_init(
        &self,
        send: Option<&SendBuffer>,
        recv: Option<&RecvBuffer>,
        op: &Op,
        root: u32,
        comm: &Comm,
    ) -> Result<RequestId> {
        let schedule = reduce::plan(self, send, recv, op, root, comm)?;
        self.keep(schedule)
    }

    /// Combines the members' buffers at all of them. `None` to send is MPI_IN_PLACE. Section 6.9.6.
    pub fn allreduce(
        &self,
        send: Option<&SendBuffer>,
        recv: &RecvBuffer,
        op: &Op,
        comm: &Comm,
    ) -> Result<()> {
        let schedule = allreduce::plan(self, send, recv, op, comm)?;
        self.run(schedule)
    }

    /// [`allreduce`](Rank::allreduce) without waiting.
    pub fn iallreduce(
        &self,
        send: Option<&SendBuffer>,
        recv: &RecvBuffer,
        op: &Op,
        comm: &Comm,
    ) -> Result<RequestId> {
        let schedule = allreduce::plan(self, send, recv, op, comm)?;
        self.launch(schedule)
    }

    /// [`allreduce`](Rank::allreduce) as a persistent request, to be started with [`start`](Rank::start).
    pub fn allreduce_init(
        &self,
        send: Option<&SendBuffer>,
        recv: &RecvBuffer,
        op: &Op,
        comm: &Comm,
    ) -> Result<RequestId> {
        let schedule = allreduce::plan(self, send, recv, op, comm)?;
        self.keep(schedule)
    }

    /// Collects equal blocks at the root; `recv.count()` is the number of elements from each member. `None` to send is
    /// MPI_IN_PLACE, allowed at the root; `None` to receive is for the others. Section 6.5.
    pub fn gather(
        &self,
        send: Option<&SendBuffer>,
        recv: Option<&RecvBuffer>,
        root: u32,
        comm: &Comm,
    ) -> Result<()> {
        let schedule = gather::plan(self, send, recv, root, comm)?;
        self.run(schedule)
    }

    /// [`gather`](Rank::gather) without waiting.
    pub fn igather(
        &self,
        send: Option<&SendBuffer>,
        recv: Option<&RecvBuffer>,
        root: u32,
        comm: &Comm,
    ) -> Result<RequestId> {
        let schedule = gather::plan(self, send, recv, root, comm)?;
        self.launch(schedule)
    }

    /// [`gather`](Rank::gather) as a persistent request, to be started with [`start`](Rank::start).
    pub fn gather_init(
        &self,
        send: Option<&SendBuffer>,
        recv: Option<&RecvBuffer>,
        root: u32,
        comm: &Comm,
    ) -> Result<RequestId> {
        let schedule = gather::plan(self, send, recv, root, comm)?;
        self.keep(schedule)
    }

    /// As [`gather`](Rank::gather) with a part for each member. Section 6.5.
    pub fn gatherv(
        &self,
        send: Option<&SendBuffer>,
        recv: Option<&RecvParts<'_>>,
        root: u32,
        comm: &Comm,
    ) -> Result<()> {
        let schedule = gatherv::plan(self, send, recv, root, comm)?;
        self.run(schedule)
    }

    /// [`gatherv`](Rank::gatherv) without waiting.
    pub fn igatherv(
        &self,
        send: Option<&SendBuffer>,
        recv: Option<&RecvParts<'_>>,
        root: u32,
        comm: &Comm,
    ) -> Result<RequestId> {
        let schedule = gatherv::plan(self, send, recv, root, comm)?;
        self.launch(schedule)
    }

    /// [`gatherv`](Rank::gatherv) as a persistent request, to be started with [`start`](Rank::start).
    pub fn gatherv_init(
        &self,
        send: Option<&SendBuffer>,
        recv: Option<&RecvParts<'_>>,
        root: u32,
        comm: &Comm,
    ) -> Result<RequestId> {
        let schedule = gatherv::plan(self, send, recv, root, comm)?;
        self.keep(schedule)
    }

    /// Deals out equal blocks from the root; `send.count()` is the number of elements for each member. `None` to receive is
    /// MPI_IN_PLACE, allowed at the root; `None` to send is for the others. Section 6.6.
    pub fn scatter(
        &self,
        send: Option<&SendBuffer>,
        recv: Option<&RecvBuffer>,
        root: u32,
        comm: &Comm,
    ) -> Result<()> {
        let schedule = scatter::plan(self, send, recv, root, comm)?;
        self.run(schedule)
    }

    /// [`scatter`](Rank::scatter) without waiting.
    pub fn iscatter(
        &self,
        send: Option<&SendBuffer>,
        recv: Option<&RecvBuffer>,
        root: u32,
        comm: &Comm,
    ) -> Result<RequestId> {
        let schedule = scatter::plan(self, send, recv, root, comm)?;
        self.launch(schedule)
    }

    /// [`scatter`](Rank::scatter) as a persistent request, to be started with [`start`](Rank::start).
    pub fn scatter_init(
        &self,
        send: Option<&SendBuffer>,
        recv: Option<&RecvBuffer>,
        root: u32,
        comm: &Comm,
    ) -> Result<RequestId> {
        let schedule = scatter::plan(self, send, recv, root, comm)?;
        self.keep(schedule)
    }

    /// As [`scatter`](Rank::scatter) with a part for each member. Section 6.6.
    pub fn scatterv(
        &self,
        send: Option<&SendParts<'_>>,
        recv: Option<&RecvBuffer>,
        root: u32,
        comm: &Comm,
    ) -> Result<()> {
        let schedule = scatterv::plan(self, send, recv, root, comm)?;
        self.run(schedule)
    }

    /// [`scatterv`](Rank::scatterv) without waiting.
    pub fn iscatterv(
        &self,
        send: Option<&SendParts<'_>>,
        recv: Option<&RecvBuffer>,
        root: u32,
        comm: &Comm,
    ) -> Result<RequestId> {
        let schedule = scatterv::plan(self, send, recv, root, comm)?;
        self.launch(schedule)
    }

    /// [`scatterv`](Rank::scatterv) as a persistent request, to be started with [`start`](Rank::start).
    pub fn scatterv_init(
        &self,
        send: Option<&SendParts<'_>>,
        recv: Option<&RecvBuffer>,
        root: u32,
        comm: &Comm,
    ) -> Result<RequestId> {
        let schedule = scatterv::plan(self, send, recv, root, comm)?;
        self.keep(schedule)
    }

    /// Collects equal blocks at all members; `recv.count()` is the number of elements from each. `None` to send is
    /// MPI_IN_PLACE. Section 6.7.
    pub fn allgather(&self, send: Option<&SendBuffer>, recv: &RecvBuffer, comm: &Comm) -> Result<()> {
        let schedule = allgather::plan(self, send, recv, comm)?;
        self.run(schedule)
    }

    /// [`allgather`](Rank::allgather) without waiting.
    pub fn iallgather(&self, send: Option<&SendBuffer>, recv: &RecvBuffer, comm: &Comm) -> Result<RequestId> {
        let schedule = allgather::plan(self, send, recv, comm)?;
        self.launch(schedule)
    }

    /// [`allgather`](Rank::allgather) as a persistent request, to be started with [`start`](Rank::start).
    pub fn allgather_init(
        &self,
        send: Option<&SendBuffer>,
        recv: &RecvBuffer,
        comm: &Comm,
    ) -> Result<RequestId> {
        let schedule = allgather::plan(self, send, recv, comm)?;
        self.keep(schedule)
    }

    /// As [`allgather`](Rank::allgather) with a part for each member. Section 6.7.
    pub fn allgatherv(&self, send: Option<&SendBuffer>, recv: &RecvParts<'_>, comm: &Comm) -> Result<()> {
        let schedule = allgatherv::plan(self, send, recv, comm)?;
        self.run(schedule)
    }

    /// [`allgatherv`](Rank::allgatherv) without waiting.
    pub fn iallgatherv(
        &self,
        send: Option<&SendBuffer>,
        recv: &RecvParts<'_>,
        comm: &Comm,
    ) -> Result<RequestId> {
        let schedule = allgatherv::plan(self, send, recv, comm)?;
        self.launch(schedule)
    }

    /// [`allgatherv`](Rank::allgatherv) as a persistent request, to be started with [`start`](Rank::start).
    pub fn allgatherv_init(
        &self,
        send: Option<&SendBuffer>,
        recv: &RecvParts<'_>,
        comm: &Comm,
    ) -> Result<RequestId> {
        let schedule = allgatherv::plan(self, send, recv, comm)?;
        self.keep(schedule)
    }

    /// Exchanges equal blocks between all members; both counts are those of one block. `None` to send is MPI_IN_PLACE. Section 6.8.
    pub fn alltoall(&self, send: Option<&SendBuffer>, recv: &RecvBuffer, comm: &Comm) -> Result<()> {
        let schedule = alltoall::plan(self, send, recv, comm)?;
        self.run(schedule)
    }

    /// [`alltoall`](Rank::alltoall) without waiting.
    pub fn ialltoall(&self, send: Option<&SendBuffer>, recv: &RecvBuffer, comm: &Comm) -> Result<RequestId> {
        let schedule = alltoall::plan(self, send, recv, comm)?;
        self.launch(schedule)
    }

    /// [`alltoall`](Rank::alltoall) as a persistent request, to be started with [`start`](Rank::start).
    pub fn alltoall_init(
        &self,
        send: Option<&SendBuffer>,
        recv: &RecvBuffer,
        comm: &Comm,
    ) -> Result<RequestId> {
        let schedule = alltoall::plan(self, send, recv, comm)?;
        self.keep(schedule)
    }

    /// As [`alltoall`](Rank::alltoall) with a part for each member. Section 6.8.
    pub fn alltoallv(&self, send: Option<&SendParts<'_>>, recv: &RecvParts<'_>, comm: &Comm) -> Result<()> {
        let schedule = alltoallv::plan(self, send, recv, comm)?;
        self.run(schedule)
    }

    /// [`alltoallv`](Rank::alltoallv) without waiting.
    pub fn ialltoallv(
        &self,
        send: Option<&SendParts<'_>>,
        recv: &RecvParts<'_>,
        comm: &Comm,
    ) -> Result<RequestId> {
        let schedule = alltoallv::plan(self, send, recv, comm)?;
        self.launch(schedule)
    }

    /// [`alltoallv`](Rank::alltoallv) as a persistent request, to be started with [`start`](Rank::start).
    pub fn alltoallv_init(
        &self,
        send: Option<&SendParts<'_>>,
        recv: &RecvParts<'_>,
        comm: &Comm,
    ) -> Result<RequestId> {
        let schedule = alltoallv::plan(self, send, recv, comm)?;
        self.keep(schedule)
    }

    /// As [`alltoallv`](Rank::alltoallv); the parts have types of their own ([`SendParts::with_types`]). Section 6.8.
    pub fn alltoallw(&self, send: Option<&SendParts<'_>>, recv: &RecvParts<'_>, comm: &Comm) -> Result<()> {
        let schedule = alltoallv::plan(self, send, recv, comm)?;
        self.run(schedule)
    }

    /// [`alltoallw`](Rank::alltoallw) without waiting.
    pub fn ialltoallw(
        &self,
        send: Option<&SendParts<'_>>,
        recv: &RecvParts<'_>,
        comm: &Comm,
    ) -> Result<RequestId> {
        let schedule = alltoallv::plan(self, send, recv, comm)?;
        self.launch(schedule)
    }

    /// [`alltoallw`](Rank::alltoallw) as a persistent request, to be started with [`start`](Rank::start).
    pub fn alltoallw_init(
        &self,
        send: Option<&SendParts<'_>>,
        recv: &RecvParts<'_>,
        comm: &Comm,
    ) -> Result<RequestId> {
        let schedule = alltoallv::plan(self, send, recv, comm)?;
        self.keep(schedule)
    }

    /// Combines the buffers of this member and those of lower rank. `None` to send is MPI_IN_PLACE. Section 6.11.1.
    pub fn scan(&self, send: Option<&SendBuffer>, recv: &RecvBuffer, op: &Op, comm: &Comm) -> Result<()> {
        let schedule = scan::plan(self, send, recv, op, comm)?;
        self.run(schedule)
    }

    /// [`scan`](Rank::scan) without waiting.
    pub fn iscan(
        &self,
        send: Option<&SendBuffer>,
        recv: &RecvBuffer,
        op: &Op,
        comm: &Comm,
    ) -> Result<RequestId> {
        let schedule = scan::plan(self, send, recv, op, comm)?;
        self.launch(schedule)
    }

    /// [`scan`](Rank::scan) as a persistent request, to be started with [`start`](Rank::start).
    pub fn scan_init(
        &self,
        send: Option<&SendBuffer>,
        recv: &RecvBuffer,
        op: &Op,
        comm: &Comm,
    ) -> Result<RequestId> {
        let schedule = scan::plan(self, send, recv, op, comm)?;
        self.keep(schedule)
    }

    /// Combines the buffers of the members of lower rank; rank 0 gets nothing. `None` to send is MPI_IN_PLACE. Section 6.11.2.
    pub fn exscan(&self, send: Option<&SendBuffer>, recv: &RecvBuffer, op: &Op, comm: &Comm) -> Result<()> {
        let schedule = scan::plan_exclusive(self, send, recv, op, comm)?;
        self.run(schedule)
    }

    /// [`exscan`](Rank::exscan) without waiting.
    pub fn iexscan(
        &self,
        send: Option<&SendBuffer>,
        recv: &RecvBuffer,
        op: &Op,
        comm: &Comm,
    ) -> Result<RequestId> {
        let schedule = scan::plan_exclusive(self, send, recv, op, comm)?;
        self.launch(schedule)
    }

    /// [`exscan`](Rank::exscan) as a persistent request, to be started with [`start`](Rank::start).
    pub fn exscan_init(
        &self,
        send: Option<&SendBuffer>,
        recv: &RecvBuffer,
        op: &Op,
        comm: &Comm,
    ) -> Result<RequestId> {
        let schedule = scan::plan_exclusive(self, send, recv, op, comm)?;
        self.keep(schedule)
    }

    /// Combines buffers of a block for each member; every member gets its block, `recv.count()` elements. `None` to send is
    /// MPI_IN_PLACE: all blocks are in `recv`. Section 6.10.1.
    pub fn reduce_scatter_block(
        &self,
        send: Option<&SendBuffer>,
        recv: &RecvBuffer,
        op: &Op,
        comm: &Comm,
    ) -> Result<()> {
        let schedule = reduce_scatter::plan_block(self, send, recv, op, comm)?;
        self.run(schedule)
    }

    /// [`reduce_scatter_block`](Rank::reduce_scatter_block) without waiting.
    pub fn ireduce_scatter_block(
        &self,
        send: Option<&SendBuffer>,
        recv: &RecvBuffer,
        op: &Op,
        comm: &Comm,
    ) -> Result<RequestId> {
        let schedule = reduce_scatter::plan_block(self, send, recv, op, comm)?;
        self.launch(schedule)
    }

    /// [`reduce_scatter_block`](Rank::reduce_scatter_block) as a persistent request, to be started with [`start`](Rank::start).
    pub fn reduce_scatter_block_init(
        &self,
        send: Option<&SendBuffer>,
        recv: &RecvBuffer,
        op: &Op,
        comm: &Comm,
    ) -> Result<RequestId> {
        let schedule = reduce_scatter::plan_block(self, send, recv, op, comm)?;
        self.keep(schedule)
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
    ) -> Result<()> {
        let schedule = reduce_scatter::plan(self, send, recv, counts, op, comm)?;
        self.run(schedule)
    }

    /// [`reduce_scatter`](Rank::reduce_scatter) without waiting.
    pub fn ireduce_scatter(
        &self,
        send: Option<&SendBuffer>,
        recv: &RecvBuffer,
        counts: &[u64],
        op: &Op,
        comm: &Comm,
    ) -> Result<RequestId> {
        let schedule = reduce_scatter::plan(self, send, recv, counts, op, comm)?;
        self.launch(schedule)
    }

    /// [`reduce_scatter`](Rank::reduce_scatter) as a persistent request, to be started with [`start`](Rank::start).
    pub fn reduce_scatter_init(
        &self,
        send: Option<&SendBuffer>,
        recv: &RecvBuffer,
        counts: &[u64],
        op: &Op,
        comm: &Comm,
    ) -> Result<RequestId> {
        let schedule = reduce_scatter::plan(self, send, recv, counts, op, comm)?;
        self.keep(schedule)
    }
}

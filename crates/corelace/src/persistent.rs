//! Persistent and partitioned operations: described once, started many times (MPI sections 3.9, 6.13 and chapter 4).

use engine::Mode;

use crate::address::{Dest, Inward, Outward, Source, TagMatch};
use crate::error::Result;
use crate::kind::{Kind, Neighbors, OneGroup};
use crate::op::Op;
use crate::raw::collective::Lengths;
use crate::raw::partitioned::{PartitionedRecv, PartitionedSend};
use crate::raw::persistent::{Exchange, Persistent};
use crate::raw::{Buffer, BufferMut, Data, Datatype, collective, neighbor, reduction};
use crate::scope::Scope;
use crate::selection::Selection;

/// Persistent sends and receives.
impl<'scope, 'env, K: Kind> Scope<'scope, 'env, K> {
    /// Describes a send that can be started again and again (MPI_Send_init). Between rounds the buffer is reached through the request.
    ///
    /// ```
    /// use corelace::wait_all;
    ///
    /// corelace::run(2, |world| {
    ///     let other = 1 - world.rank();
    ///     let (mut out, mut into) = ([0u64; 100], [0u64; 100]);
    ///     world.scope(|s| {
    ///         let mut receiving = s.recv_init(&mut into[..], other, 0)?;
    ///         let mut sending = s.send_init(&mut out[..], other, 0)?;
    ///         for round in 0..10 {
    ///             sending.outgoing()?.fill(10 * round + world.rank() as u64);
    ///             wait_all([receiving.start()?, sending.start()?])?;
    ///             assert_eq!(receiving.incoming()?[99], 10 * round + other as u64);
    ///         }
    ///         Ok(())
    ///     })
    /// })?;
    /// # Ok::<(), corelace::RunError>(())
    /// ```
    ///
    /// While a round is under way the buffer is out of reach:
    ///
    /// ```compile_fail,E0499
    /// # corelace::run(2, |world| {
    /// let mut out = [0u64; 100];
    /// world.scope(|s| {
    ///     let mut sending = s.send_init(&mut out[..], 0, 0)?;
    ///     let round = sending.start()?;
    ///     sending.outgoing()?[0] = 1;
    ///     round.wait()?;
    ///     Ok(())
    /// })
    /// # }).unwrap();
    /// ```
    pub fn send_init<B: Buffer + ?Sized>(
        &'scope self,
        data: &'scope mut B,
        dest: impl Into<Dest>,
        tag: i32,
    ) -> Result<Persistent<'scope, B, ()>> {
        self.keep_send(Mode::Standard, data, dest.into(), tag)
    }

    /// As [`send_init`](Scope::send_init), complete only when the matching receive has started (MPI_Ssend_init).
    pub fn synchronous_send_init<B: Buffer + ?Sized>(
        &'scope self,
        data: &'scope mut B,
        dest: impl Into<Dest>,
        tag: i32,
    ) -> Result<Persistent<'scope, B, ()>> {
        self.keep_send(Mode::Synchronous, data, dest.into(), tag)
    }

    /// As [`send_init`](Scope::send_init), for buffered sends (MPI_Bsend_init).
    pub fn buffered_send_init<B: Buffer + ?Sized>(
        &'scope self,
        data: &'scope mut B,
        dest: impl Into<Dest>,
        tag: i32,
    ) -> Result<Persistent<'scope, B, ()>> {
        self.keep_send(Mode::Buffered, data, dest.into(), tag)
    }

    /// As [`send_init`](Scope::send_init), for those whose receive is known to be posted when they are started (MPI_Rsend_init).
    pub fn ready_send_init<B: Buffer + ?Sized>(
        &'scope self,
        data: &'scope mut B,
        dest: impl Into<Dest>,
        tag: i32,
    ) -> Result<Persistent<'scope, B, ()>> {
        self.keep_send(Mode::Ready, data, dest.into(), tag)
    }

    /// Describes a receive that can be started again and again (MPI_Recv_init).
    pub fn recv_init<B: BufferMut + ?Sized>(
        &'scope self,
        buffer: &'scope mut B,
        source: impl Into<Source>,
        tag: impl Into<TagMatch>,
    ) -> Result<Persistent<'scope, (), B>> {
        let from = Inward::new(self.comm, source.into(), tag.into())?;
        self.pending.keep_receive(buffer, from, self.comm)
    }

    /// Describes exchanges from and into parts of a slice, which are started together (MPI_Startall); between rounds the slice is reached as a
    /// whole.
    ///
    /// ```
    /// use corelace::Selection;
    ///
    /// corelace::run(3, |world| {
    ///     let circle = world.cartesian(&[3], &[true])?.unwrap();
    ///     let (left, right) = circle.shift(0, 1)?;
    ///     // Two rows of four: a column of the left neighbour's, two of this rank's, one of the right neighbour's.
    ///     let mut grid = [circle.rank() as f64; 8];
    ///     let column = |number| Selection::strided(number, 2, 1, 4);
    ///     circle.scope(|s| {
    ///         let mut halo = s.exchange(&mut grid);
    ///         halo.recv(&column(0), left, 0)?;
    ///         halo.recv(&column(3), right, 1)?;
    ///         halo.send(&column(1), left, 1)?;
    ///         halo.send(&column(2), right, 0)?;
    ///         for _ in 0..5 {
    ///             halo.start()?.wait()?;
    ///             let grid = halo.items()?;
    ///             for row in grid.chunks_exact_mut(4) {
    ///                 (row[1], row[2]) = (0.5 * (row[0] + row[2]), 0.5 * (row[1] + row[3]));
    ///             }
    ///         }
    ///         Ok(())
    ///     })?;
    ///     assert!((0.0..2.0).contains(&grid[1]));
    ///     Ok::<(), corelace::Error>(())
    /// })?;
    /// # Ok::<(), corelace::RunError>(())
    /// ```
    pub fn exchange<T: Datatype>(&'scope self, items: &'scope mut [T]) -> Exchange<'scope, T> {
        self.pending.exchange(items, self.comm)
    }

    /// Describes a send in equal partitions, each of which is filled and then said to be ready (MPI_Psend_init, chapter 4).
    ///
    /// ```
    /// corelace::run(2, |world| {
    ///     let mut data = [0u32; 12];
    ///     world.scope(|s| {
    ///         if world.rank() == 0 {
    ///             let mut send = s.partitioned_send(&mut data, 4, 1, 7)?;
    ///             for round in 0..3 {
    ///                 let mut parts = send.start()?;
    ///                 // Threads fill the partitions …
    ///                 std::thread::scope(|threads| {
    ///                     for (index, partition) in parts.unready() {
    ///                         threads.spawn(move || partition.fill(100 * round + index as u32));
    ///                     }
    ///                 });
    ///                 // … and the rank says which are ready. The last one lets the message go.
    ///                 parts.ready(3)?;
    ///                 assert!(parts.partition(3).is_err(), "it may be on its way");
    ///                 parts.ready_range(0..3)?;
    ///                 parts.wait()?;
    ///             }
    ///         } else {
    ///             let mut receive = s.partitioned_recv(&mut data, 2, 0, 7)?;
    ///             for round in 0..3 {
    ///                 let mut parts = receive.start()?;
    ///                 while !parts.arrived(1)? {}
    ///                 assert_eq!(parts.partition(1)?.unwrap()[0], 100 * round + 2);
    ///                 parts.wait()?;
    ///                 assert_eq!(receive.items()?[0], 100 * round);
    ///             }
    ///         }
    ///         Ok(())
    ///     })
    /// })?;
    /// # Ok::<(), corelace::RunError>(())
    /// ```
    pub fn partitioned_send<T: Datatype>(
        &'scope self,
        data: &'scope mut [T],
        partitions: usize,
        dest: impl Into<Dest>,
        tag: i32,
    ) -> Result<PartitionedSend<'scope, T>> {
        let to = Outward::new(self.comm, dest.into(), tag)?;
        self.pending.partitioned_send(data, partitions, to, self.comm)
    }

    /// Describes a receive in equal partitions, whose number need not be that of the send (MPI_Precv_init, chapter 4). There
    /// may be room for more than comes: the [`Status`](crate::Status) of the round tells.
    pub fn partitioned_recv<T: Datatype>(
        &'scope self,
        buffer: &'scope mut [T],
        partitions: usize,
        source: impl Into<Source>,
        tag: i32,
    ) -> Result<PartitionedRecv<'scope, T>> {
        let from = Inward::new(self.comm, source.into(), tag.into())?;
        self.pending.partitioned_receive(buffer, partitions, from, self.comm)
    }

    fn keep_send<B: Buffer + ?Sized>(
        &'scope self,
        mode: Mode,
        data: &'scope mut B,
        dest: Dest,
        tag: i32,
    ) -> Result<Persistent<'scope, B, ()>> {
        let to = Outward::new(self.comm, dest, tag)?;
        self.pending.keep_send(mode, data, to, self.comm)
    }
}

impl<T: Datatype> Exchange<'_, T> {
    /// Adds a send. None of its elements may be received into.
    pub fn send(&mut self, selection: &Selection, dest: impl Into<Dest>, tag: i32) -> Result<()> {
        let to = Outward::new(self.comm(), dest.into(), tag)?;
        self.add_send(selection, to)
    }

    /// Adds a receive. None of its elements may be sent, or received into besides.
    pub fn recv(
        &mut self,
        selection: &Selection,
        source: impl Into<Source>,
        tag: impl Into<TagMatch>,
    ) -> Result<()> {
        let from = Inward::new(self.comm(), source.into(), tag.into())?;
        self.add_receive(selection, from)
    }
}

/// Persistent collectives. All ranks describe the same ones in the same order, and start them in the same order.
impl<'scope, 'env, K: Kind> Scope<'scope, 'env, K> {
    /// Describes a barrier (MPI_Barrier_init).
    ///
    /// ```
    /// use corelace::op;
    ///
    /// corelace::run(3, |world| {
    ///     let rank = world.rank() as u32;
    ///     let (mut mine, mut sums) = ([rank, 1], [0, 0]);
    ///     let (mut one, mut all) = ([rank], [0; 3]);
    ///     let (mut out, mut into) = ([rank; 3], [0; 3]);
    ///     let mut told = 0;
    ///     world.scope(|s| {
    ///         let mut barrier = s.barrier_init()?;
    ///         let mut telling = s.broadcast_init(&mut told, 2)?;
    ///         let mut summing = s.allreduce_init(&mut mine[..], &mut sums[..], op::sum())?;
    ///         let mut gathering = s.allgather_init(&mut one[..], &mut all)?;
    ///         let mut turning = s.alltoall_init(&mut out, &mut into)?;
    ///         for round in 0..3 {
    ///             *telling.incoming()? = if world.rank() == 2 { round } else { 0 };
    ///             telling.start()?.wait()?;
    ///             assert_eq!(*telling.incoming()?, round);
    ///
    ///             summing.outgoing()?[1] = round;
    ///             summing.start()?.wait()?;
    ///             assert_eq!(*summing.incoming()?, [3, 3 * round]);
    ///
    ///             gathering.start()?.wait()?;
    ///             assert_eq!(*gathering.incoming()?, [0, 1, 2]);
    ///             turning.start()?.wait()?;
    ///             assert_eq!(*turning.incoming()?, [0, 1, 2]);
    ///             barrier.start()?.wait()?;
    ///         }
    ///         Ok(())
    ///     })
    /// })?;
    /// # Ok::<(), corelace::RunError>(())
    /// ```
    pub fn barrier_init(&'scope self) -> Result<Persistent<'scope, (), ()>> {
        self.pending.keep_bare(collective::barrier(self.comm))
    }

    /// Describes a reduction at all ranks (MPI_Allreduce_init).
    pub fn allreduce_init<B: Data + ?Sized>(
        &'scope self,
        data: &'scope mut B,
        result: &'scope mut B,
        op: Op<B::Item>,
    ) -> Result<Persistent<'scope, B, B>> {
        let (process, comm) = (self.pending.process(), self.comm);
        self.pending.keep_two(data, result, |data, result| {
            reduction::allreduce(process, Some(data), result, &op, comm)
        })
    }

    /// Describes a gathering of equal blocks at all ranks (MPI_Allgather_init). `result` has room for all of them.
    pub fn allgather_init<T: Datatype>(
        &'scope self,
        data: &'scope mut [T],
        result: &'scope mut [T],
    ) -> Result<Persistent<'scope, [T], [T]>> {
        let (process, comm) = (self.pending.process(), self.comm);
        self.pending.keep_two(data, result, |data, result| collective::allgather(process, data, result, comm))
    }

    /// Describes an exchange of equal blocks between all ranks (MPI_Alltoall_init).
    pub fn alltoall_init<T: Datatype>(
        &'scope self,
        data: &'scope mut [T],
        result: &'scope mut [T],
    ) -> Result<Persistent<'scope, [T], [T]>> {
        let (process, comm) = (self.pending.process(), self.comm);
        self.pending.keep_two(data, result, |data, result| collective::alltoall(process, data, result, comm))
    }
}

/// Persistent collectives of one group.
impl<'scope, 'env, K: OneGroup> Scope<'scope, 'env, K> {
    /// Describes a broadcast (MPI_Bcast_init).
    pub fn broadcast_init<B: BufferMut + ?Sized>(
        &'scope self,
        data: &'scope mut B,
        root: usize,
    ) -> Result<Persistent<'scope, (), B>> {
        let (process, comm, (root, _)) = (self.pending.process(), self.comm, self.root(root)?);
        self.pending.keep_one(data, |data| Ok(collective::broadcast(process, data, root, comm)))
    }

    /// Describes a gathering of equal blocks at the root (MPI_Gather_init); elsewhere `result` may be empty.
    ///
    /// ```
    /// use corelace::op;
    ///
    /// corelace::run(3, |world| {
    ///     let (rank, root) = (world.rank() as u32, world.rank() == 0);
    ///     let (mut mine, mut all) = ([rank], vec![0; if root { 3 } else { 0 }]);
    ///     let (mut dealt, mut share) = (vec![5; if root { 6 } else { 0 }], [0; 2]);
    ///     let (mut one, mut sum) = ([1; 4], [0; 4]);
    ///     let (mut own, mut upto) = ([rank], [0]);
    ///     let (mut three, mut block) = ([1, 10, 100], [0]);
    ///     world.scope(|s| {
    ///         let mut gathering = s.gather_init(&mut mine, &mut all, 0)?;
    ///         let mut dealing = s.scatter_init(&mut dealt, &mut share, 0)?;
    ///         let mut adding = s.reduce_init(&mut one[..], &mut sum[..], op::sum(), 0)?;
    ///         let mut scanning = s.scan_init(&mut own[..], &mut upto[..], op::sum())?;
    ///         let mut sharing = s.reduce_scatter_block_init(&mut three, &mut block, op::sum())?;
    ///         for round in 1..4 {
    ///             gathering.outgoing()?[0] = rank * round;
    ///             gathering.start()?.wait()?;
    ///             dealing.start()?.wait()?;
    ///             adding.start()?.wait()?;
    ///             scanning.start()?.wait()?;
    ///             sharing.start()?.wait()?;
    ///             assert!(!root || *gathering.incoming()? == [0, round, 2 * round]);
    ///             assert_eq!(*dealing.incoming()?, [5; 2]);
    ///             assert_eq!(*adding.incoming()?, [if root { 3 } else { 0 }; 4]);
    ///             assert_eq!(scanning.incoming()?[0], [0, 1, 3][world.rank()]);
    ///             assert_eq!(sharing.incoming()?[0], [3, 30, 300][world.rank()]);
    ///         }
    ///         Ok(())
    ///     })
    /// })?;
    /// # Ok::<(), corelace::RunError>(())
    /// ```
    pub fn gather_init<T: Datatype>(
        &'scope self,
        data: &'scope mut [T],
        result: &'scope mut [T],
        root: usize,
    ) -> Result<Persistent<'scope, [T], [T]>> {
        let (process, comm, (root, here)) = (self.pending.process(), self.comm, self.root(root)?);
        self.pending.keep_two(data, result, |data, result| {
            collective::gather(process, Some(data), here.then_some(result), root, comm)
        })
    }

    /// Describes a dealing out of the root's elements (MPI_Scatter_init); elsewhere `data` may be empty.
    pub fn scatter_init<T: Datatype>(
        &'scope self,
        data: &'scope mut [T],
        share: &'scope mut [T],
        root: usize,
    ) -> Result<Persistent<'scope, [T], [T]>> {
        let (process, comm, (root, here)) = (self.pending.process(), self.comm, self.root(root)?);
        self.pending.keep_two(data, share, |data, share| {
            collective::scatter(process, here.then_some(data), Some(share), root, comm)
        })
    }

    /// Describes a reduction at the root (MPI_Reduce_init); elsewhere `result` stays as it is.
    pub fn reduce_init<B: Data + ?Sized>(
        &'scope self,
        data: &'scope mut B,
        result: &'scope mut B,
        op: Op<B::Item>,
        root: usize,
    ) -> Result<Persistent<'scope, B, B>> {
        let (process, comm, (root, here)) = (self.pending.process(), self.comm, self.root(root)?);
        self.pending.keep_two(data, result, |data, result| {
            reduction::reduce(process, Some(data), here.then_some(result), &op, root, comm)
        })
    }

    /// Describes a reduction of this rank and those below it (MPI_Scan_init).
    pub fn scan_init<B: Data + ?Sized>(
        &'scope self,
        data: &'scope mut B,
        result: &'scope mut B,
        op: Op<B::Item>,
    ) -> Result<Persistent<'scope, B, B>> {
        let (process, comm) = (self.pending.process(), self.comm);
        self.pending.keep_two(data, result, |data, result| reduction::scan(process, data, result, &op, comm))
    }

    /// Describes a reduction of the ranks below this one (MPI_Exscan_init); `result` of rank 0 stays as it is.
    pub fn exscan_init<B: Data + ?Sized>(
        &'scope self,
        data: &'scope mut B,
        result: &'scope mut B,
        op: Op<B::Item>,
    ) -> Result<Persistent<'scope, B, B>> {
        let (process, comm) = (self.pending.process(), self.comm);
        self.pending
            .keep_two(data, result, |data, result| reduction::exscan(process, data, result, &op, comm))
    }

    /// Describes a reduction of a block for each rank (MPI_Reduce_scatter_block_init).
    pub fn reduce_scatter_block_init<T: Datatype>(
        &'scope self,
        data: &'scope mut [T],
        share: &'scope mut [T],
        op: Op<T>,
    ) -> Result<Persistent<'scope, [T], [T]>> {
        let (process, comm) = (self.pending.process(), self.comm);
        self.pending.keep_two(data, share, |data, share| {
            reduction::reduce_scatter_block(process, data, share, &op, comm)
        })
    }
}

/// Persistent exchanges between neighbours. All ranks describe the same ones in the same order.
impl<'scope, 'env, K: Neighbors> Scope<'scope, 'env, K> {
    /// Describes [`ineighbor_allgather`](Scope::ineighbor_allgather) (MPI_Neighbor_allgather_init).
    pub fn neighbor_allgather_init<T: Datatype>(
        &'scope self,
        data: &'scope mut [T],
        result: &'scope mut [T],
    ) -> Result<Persistent<'scope, [T], [T]>> {
        let (process, comm) = (self.pending.process(), self.comm);
        self.pending.keep_two(data, result, |data, result| neighbor::allgather(process, data, result, comm))
    }

    /// Describes [`ineighbor_allgatherv`](Scope::ineighbor_allgatherv) (MPI_Neighbor_allgatherv_init).
    pub fn neighbor_allgatherv_init<T: Datatype>(
        &'scope self,
        data: &'scope mut [T],
        result: &'scope mut [T],
        counts: &[usize],
    ) -> Result<Persistent<'scope, [T], [T]>> {
        let (process, comm, lengths) = (self.pending.process(), self.comm, Lengths::new::<T>(counts)?);
        self.pending.keep_two(data, result, |data, result| {
            neighbor::allgatherv(process, data, (result, lengths), comm)
        })
    }

    /// Describes [`ineighbor_alltoall`](Scope::ineighbor_alltoall) (MPI_Neighbor_alltoall_init).
    pub fn neighbor_alltoall_init<T: Datatype>(
        &'scope self,
        data: &'scope mut [T],
        result: &'scope mut [T],
    ) -> Result<Persistent<'scope, [T], [T]>> {
        let (process, comm) = (self.pending.process(), self.comm);
        self.pending.keep_two(data, result, |data, result| neighbor::alltoall(process, data, result, comm))
    }

    /// Describes [`ineighbor_alltoallv`](Scope::ineighbor_alltoallv) (MPI_Neighbor_alltoallv_init): `data` and `result` are blocks of these
    /// lengths, one behind the other.
    pub fn neighbor_alltoallv_init<T: Datatype>(
        &'scope self,
        data: &'scope mut [T],
        lengths: &[usize],
        result: &'scope mut [T],
        counts: &[usize],
    ) -> Result<Persistent<'scope, [T], [T]>> {
        let (process, comm) = (self.pending.process(), self.comm);
        let (sent, received) = (Lengths::new::<T>(lengths)?, Lengths::new::<T>(counts)?);
        self.pending.keep_two(data, result, |data, result| {
            neighbor::alltoallv(process, (data, sent), (result, received), comm)
        })
    }
}

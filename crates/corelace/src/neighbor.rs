//! Collectives of neighbours: each rank exchanges with those that the topology names (MPI section 8.6).
//!
//! Blocks lie in the order of the neighbours: in a grid, the one before and the one behind in each dimension. A block of nobody, beyond the edge of a grid,
//! is there, too: what is sent there goes nowhere, and what would come from there stays as it is.

use engine::topology::Topology;

use crate::blocks::Blocks;
use crate::collective::room_for;
use crate::communicator::Communicator;
use crate::error::{Error, Result};
use crate::kind::Neighbors;
use crate::raw::collective::Lengths;
use crate::raw::datatype::zeroed_vec_of;
use crate::raw::view::{View, ViewMut};
use crate::raw::{Data, Datatype, neighbor};
use crate::request::{CollectiveRequest, SendRequest};
use crate::scope::Scope;

/// Exchanges between neighbours. All ranks of the communicator call these, in the same order.
impl<K: Neighbors> Communicator<'_, K> {
    /// Sends the same value or slice to all neighbours, and collects one from each; all have the same length (MPI_Neighbor_allgather, section
    /// 8.6.1).
    ///
    /// ```
    /// corelace::run(4, |world| {
    ///     let line = world.cartesian(&[4], &[false])?.unwrap();
    ///     let here = line.rank();
    ///     let around = line.neighbor_allgather(&(10 + here))?;
    ///     // Zero where nobody is.
    ///     assert_eq!(around, [if here > 0 { 9 + here } else { 0 }, if here < 3 { 11 + here } else { 0 }]);
    ///     Ok::<(), corelace::Error>(())
    /// })?;
    /// # Ok::<(), corelace::RunError>(())
    /// ```
    #[track_caller]
    pub fn neighbor_allgather<B: Data + ?Sized>(&self, data: &B) -> Result<Vec<B::Item>> {
        let items = data.items();
        let mut all = zeroed_vec_of(items.len().saturating_mul(self.indegree()))?;
        neighbor::allgather(self.process, items.into(), (&mut all[..]).into(), &self.comm)?
            .run(self.process)?;
        Ok(all)
    }

    /// Sends the same slice to all neighbours, and collects one of any length from each (MPI_Neighbor_allgatherv, section 8.6.1).
    #[track_caller]
    pub fn neighbor_allgatherv<T: Datatype>(&self, data: &[T]) -> Result<Blocks<T>> {
        let counts = self.neighbor_allgather(&data.len())?;
        let (mut all, lengths) = room_for(&counts)?;
        let recv = ((&mut all[..]).into(), lengths);
        neighbor::allgatherv(self.process, data.into(), recv, &self.comm)?.run(self.process)?;
        Ok(Blocks::new(all, counts))
    }

    /// Sends a block of `data` to each neighbour, and collects one from each; all blocks have the same length (MPI_Neighbor_alltoall, section
    /// 8.6.2).
    ///
    /// ```
    /// corelace::run(6, |world| {
    ///     let torus = world.cartesian(&[2, 3], &[true, true])?.unwrap();
    ///     // Up, down, left, right: everybody gets what was meant for them.
    ///     let out = ["up", "down", "left", "right"].map(|way| way.as_bytes()[0]);
    ///     let into = torus.neighbor_alltoall(&out)?;
    ///     // From above comes what went down, from the left what went right.
    ///     assert_eq!(into, b"durl");
    ///     Ok::<(), corelace::Error>(())
    /// })?;
    /// # Ok::<(), corelace::RunError>(())
    /// ```
    #[track_caller]
    pub fn neighbor_alltoall<T: Datatype>(&self, data: &[T]) -> Result<Vec<T>> {
        let each = data.len().checked_div(self.outdegree()).unwrap_or(0);
        if each * self.outdegree() != data.len() {
            let (given, neighbors) = (data.len(), self.outdegree());
            return Err(Error::length(format!(
                "{given} elements are given, expected a multiple of the {neighbors} neighbours"
            )));
        }
        if let Some(Topology::DistGraph(_)) = self.comm.topology() {
            // Here a rank may send to nobody, and so not know how long the blocks are.
            let blocks = (0..self.outdegree()).map(|place| data[place * each..][..each].to_vec());
            return Ok(self.neighbor_alltoallv(&blocks.collect())?.into_flat());
        }
        let mut into = zeroed_vec_of(each.saturating_mul(self.indegree()))?;
        neighbor::alltoall(self.process, data.into(), (&mut into[..]).into(), &self.comm)?
            .run(self.process)?;
        Ok(into)
    }

    /// Sends block `i` to neighbour `i`, and collects one from each; blocks have any length (MPI_Neighbor_alltoallv, section 8.6.2).
    #[track_caller]
    pub fn neighbor_alltoallv<T: Datatype>(&self, blocks: &Blocks<T>) -> Result<Blocks<T>> {
        if blocks.len() != self.outdegree() {
            let (given, neighbors) = (blocks.len(), self.outdegree());
            return Err(Error::length(format!(
                "{given} blocks are given, expected one for each of the {neighbors} neighbours"
            )));
        }
        let mut counts = vec![0usize; self.indegree()];
        let told = blocks.counts();
        neighbor::alltoall(self.process, told.into(), (&mut counts[..]).into(), &self.comm)?
            .run(self.process)?;
        let (mut into, lengths) = room_for(&counts)?;
        let send = (blocks.flat().into(), Lengths::new::<T>(blocks.counts())?);
        let recv = ((&mut into[..]).into(), lengths);
        neighbor::alltoallv(self.process, send, recv, &self.comm)?.run(self.process)?;
        Ok(Blocks::new(into, counts))
    }

    /// Sends a view to each neighbour, and receives into a view from each (MPI_Neighbor_alltoallw, section 8.6.3): the edges of a grid straight from where they
    /// lie to where they belong. Each must have room for what comes.
    ///
    /// ```
    /// use corelace::{Selection, View};
    ///
    /// corelace::run(3, |world| {
    ///     let circle = world.cartesian(&[3], &[true])?.unwrap();
    ///     // Two rows of two: the columns go to the neighbours.
    ///     let here = [10 * circle.rank(), 10 * circle.rank() + 1, 10 * circle.rank() + 2, 10 * circle.rank() + 3];
    ///     let column = |number| Selection::strided(number, 2, 1, 2);
    ///     let mut around = [0; 4];
    ///     let mut parts = corelace::Parts::of(&mut around);
    ///     circle.neighbor_alltoallw(
    ///         &[column(0).of(&here)?, column(1).of(&here)?],
    ///         &mut [parts.take(&column(0))?, parts.take(&column(1))?],
    ///     )?;
    ///     let (left, right) = ((circle.rank() + 2) % 3 * 10, (circle.rank() + 1) % 3 * 10);
    ///     assert_eq!(around, [left + 1, right, left + 3, right + 2]);
    ///     Ok::<(), corelace::Error>(())
    /// })?;
    /// # Ok::<(), corelace::RunError>(())
    /// ```
    #[track_caller]
    pub fn neighbor_alltoallw<T: Datatype>(
        &self,
        send: &[View<'_, T>],
        recv: &mut [ViewMut<'_, T>],
    ) -> Result<()> {
        neighbor::alltoallw(self.process, send, recv, &self.comm)?.run(self.process)
    }
}

/// Exchanges between neighbours. All ranks of the communicator start the same ones in the same order.
impl<'scope, 'env, K: Neighbors> Scope<'scope, 'env, K> {
    /// As [`neighbor_allgather`](Communicator::neighbor_allgather), into a slice with room for a block from each (MPI_Ineighbor_allgather).
    ///
    /// ```
    /// use corelace::Blocks;
    ///
    /// corelace::run(4, |world| {
    ///     let circle = world.cartesian(&[4], &[true])?.unwrap();
    ///     let (mine, mut around) = ([circle.rank(); 2], [9; 4]);
    ///     let (out, mut into) = ([10, 20], [0; 2]);
    ///     circle.scope(|s| {
    ///         let gathering = s.ineighbor_allgather(&mine, &mut around)?;
    ///         let exchanging = s.ineighbor_alltoall(&out, &mut into)?;
    ///         assert_eq!(*exchanging.wait()?, [20, 10]);
    ///         gathering.wait()?;
    ///         Ok(())
    ///     })?;
    ///     let (left, right) = ((circle.rank() + 3) % 4, (circle.rank() + 1) % 4);
    ///     assert_eq!(around, [left, left, right, right]);
    ///
    ///     // With blocks of any length, which the receiver knows.
    ///     let (mine, mut around) = (vec![circle.rank(); circle.rank()], vec![9; left + right]);
    ///     circle.scope(|s| s.ineighbor_allgatherv(&mine, &mut around, &[left, right])?.wait().map(|_| ()))?;
    ///     assert_eq!(around, [vec![left; left], vec![right; right]].concat());
    ///     let blocks = Blocks::from_iter([vec![1; left], vec![2; right]]);
    ///     let mut into = vec![0; 2 * circle.rank()];
    ///     let counts = [circle.rank(); 2];
    ///     circle.scope(|s| s.ineighbor_alltoallv(&blocks, &mut into, &counts)?.wait().map(|_| ()))?;
    ///     assert_eq!(into, [vec![2; circle.rank()], vec![1; circle.rank()]].concat());
    ///     Ok::<(), corelace::Error>(())
    /// })?;
    /// # Ok::<(), corelace::RunError>(())
    /// ```
    pub fn ineighbor_allgather<T: Datatype>(
        &'scope self,
        data: &'scope [T],
        result: &'scope mut [T],
    ) -> Result<CollectiveRequest<'scope, [T]>> {
        let (process, comm) = (self.pending.process(), self.comm);
        let lent =
            self.pending.fill(result, |result| neighbor::allgather(process, data.into(), result, comm));
        lent.map(CollectiveRequest)
    }

    /// As [`neighbor_allgatherv`](Communicator::neighbor_allgatherv), with the lengths of the blocks that come (MPI_Ineighbor_allgatherv).
    pub fn ineighbor_allgatherv<T: Datatype>(
        &'scope self,
        data: &'scope [T],
        result: &'scope mut [T],
        counts: &[usize],
    ) -> Result<CollectiveRequest<'scope, [T]>> {
        let (process, comm, lengths) = (self.pending.process(), self.comm, Lengths::new::<T>(counts)?);
        let lent = self
            .pending
            .fill(result, |result| neighbor::allgatherv(process, data.into(), (result, lengths), comm));
        lent.map(CollectiveRequest)
    }

    /// As [`neighbor_alltoall`](Communicator::neighbor_alltoall), into a slice with room for a block from each (MPI_Ineighbor_alltoall).
    pub fn ineighbor_alltoall<T: Datatype>(
        &'scope self,
        data: &'scope [T],
        result: &'scope mut [T],
    ) -> Result<CollectiveRequest<'scope, [T]>> {
        let (process, comm) = (self.pending.process(), self.comm);
        let lent = self.pending.fill(result, |result| neighbor::alltoall(process, data.into(), result, comm));
        lent.map(CollectiveRequest)
    }

    /// As [`neighbor_alltoallv`](Communicator::neighbor_alltoallv), with the lengths of the blocks that come (MPI_Ineighbor_alltoallv).
    pub fn ineighbor_alltoallv<T: Datatype>(
        &'scope self,
        blocks: &'scope Blocks<T>,
        result: &'scope mut [T],
        counts: &[usize],
    ) -> Result<CollectiveRequest<'scope, [T]>> {
        let (process, comm, lengths) = (self.pending.process(), self.comm, Lengths::new::<T>(counts)?);
        let send = (blocks.flat().into(), Lengths::new::<T>(blocks.counts())?);
        let lent =
            self.pending.fill(result, |result| neighbor::alltoallv(process, send, (result, lengths), comm));
        lent.map(CollectiveRequest)
    }

    /// As [`neighbor_alltoallw`](Communicator::neighbor_alltoallw), without waiting (MPI_Ineighbor_alltoallw). What is started again and again is an
    /// [`exchange`](Scope::exchange).
    pub fn ineighbor_alltoallw<T: Datatype>(
        &'scope self,
        send: &'scope [View<'_, T>],
        recv: &'scope mut [ViewMut<'_, T>],
    ) -> Result<SendRequest<'scope>> {
        let lent = neighbor::alltoallw(self.pending.process(), send, recv, self.comm)?;
        self.pending.start(lent).map(SendRequest)
    }
}

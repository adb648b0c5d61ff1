//! Collectives: all ranks of a communicator call them, in the same order (MPI chapter 6).

use engine::Root;

use crate::blocks::Blocks;
use crate::communicator::Communicator;
use crate::error::{Error, Result};
use crate::kind::{Kind, OneGroup};
use crate::op::Op;
use crate::raw::collective::{self, Lengths};
use crate::raw::datatype::{zeroed_vec, zeroed_vec_of};
use crate::raw::{BufferMut, Data, Datatype, reduction};

/// Collectives without a root. All ranks of the communicator call these, in the same order. On an intercommunicator each group gets what the other one puts
/// in, and where ranks are spoken of, those of the other group are meant.
impl<K: Kind> Communicator<'_, K> {
    /// Waits until all ranks have come here, those of both groups of an intercommunicator (MPI_Barrier, section 6.3).
    #[track_caller]
    pub fn barrier(&self) -> Result<()> {
        collective::barrier(&self.comm).run(self.process)
    }

    /// Collects equally many elements of each rank at all ranks, in the order of ranks (MPI_Allgather, section 6.7).
    ///
    /// ```
    /// corelace::run(4, |world| {
    ///     assert_eq!(world.allgather(&(world.rank() as u32)).unwrap(), [0, 1, 2, 3]);
    /// })?;
    /// # Ok::<(), corelace::RunError>(())
    /// ```
    #[track_caller]
    pub fn allgather<B: Data + ?Sized>(&self, data: &B) -> Result<Vec<B::Item>> {
        let mut all = self.room_for_all(data.items().len())?;
        collective::allgather(self.process, data.items().into(), (&mut all[..]).into(), &self.comm)?
            .run(self.process)?;
        Ok(all)
    }

    /// Collects a slice of each rank, of any length, at all ranks (MPI_Allgatherv, section 6.7).
    #[track_caller]
    pub fn allgatherv<T: Datatype>(&self, data: &[T]) -> Result<Blocks<T>> {
        let counts = self.allgather(&data.len())?;
        let (mut all, lengths) = room_for(&counts)?;
        collective::allgatherv(self.process, data.into(), ((&mut all[..]).into(), lengths), &self.comm)?
            .run(self.process)?;
        Ok(Blocks::new(all, counts))
    }

    /// Sends a block of `data` to each rank and receives one from each; all blocks have the same length (MPI_Alltoall, section
    /// 6.8).
    ///
    /// ```
    /// corelace::run(3, |world| {
    ///     let for_each: Vec<usize> = (0..3).map(|to| 10 * world.rank() + to).collect();
    ///     let from_each = world.alltoall(&for_each).unwrap();
    ///     assert_eq!(from_each, [world.rank(), 10 + world.rank(), 20 + world.rank()]);
    /// })?;
    /// # Ok::<(), corelace::RunError>(())
    /// ```
    #[track_caller]
    pub fn alltoall<T: Datatype>(&self, data: &[T]) -> Result<Vec<T>> {
        if !data.len().is_multiple_of(self.peers()) {
            let (given, size) = (data.len(), self.peers());
            return Err(Error::length(format!(
                "{given} elements are given, expected a multiple of the {size} ranks"
            )));
        }
        let mut received = zeroed_vec(data.len());
        collective::alltoall(self.process, data.into(), (&mut received[..]).into(), &self.comm)?
            .run(self.process)?;
        Ok(received)
    }

    /// Sends block `i` to rank `i` and receives one from each; blocks have any length (MPI_Alltoallv, section 6.8).
    #[track_caller]
    pub fn alltoallv<T: Datatype>(&self, blocks: &Blocks<T>) -> Result<Blocks<T>> {
        if blocks.len() != self.peers() {
            let (given, size) = (blocks.len(), self.peers());
            return Err(Error::length(format!(
                "{given} blocks are given, expected one for each of the {size} ranks"
            )));
        }
        let counts = self.alltoall(blocks.counts())?;
        let (mut received, lengths) = room_for(&counts)?;
        let send = (blocks.flat().into(), Lengths::new::<T>(blocks.counts())?);
        collective::alltoallv(self.process, send, ((&mut received[..]).into(), lengths), &self.comm)?
            .run(self.process)?;
        Ok(Blocks::new(received, counts))
    }

    /// Combines the values or slices of all ranks at all of them (MPI_Allreduce, section 6.9.6).
    ///
    /// ```
    /// use corelace::op;
    ///
    /// corelace::run(4, |world| {
    ///     let largest = world.allreduce(&(world.rank() as i32), op::max()).unwrap();
    ///     assert_eq!(largest, 3);
    /// })?;
    /// # Ok::<(), corelace::RunError>(())
    /// ```
    #[track_caller]
    pub fn allreduce<B: Data + ?Sized>(&self, data: &B, op: Op<B::Item>) -> Result<B::Owned> {
        let mut result = data.zeroed();
        self.allreduce_from(Some(data.items()), B::owned_items(&mut result), op)?;
        Ok(result)
    }

    /// As [`allreduce`](Communicator::allreduce), into a buffer.
    #[track_caller]
    pub fn allreduce_into<B: Data + ?Sized>(&self, data: &B, result: &mut B, op: Op<B::Item>) -> Result<()> {
        self.allreduce_from(Some(data.items()), result.items_mut(), op)
    }

    #[track_caller]
    fn allreduce_from<T: Datatype>(&self, send: Option<&[T]>, recv: &mut [T], op: Op<T>) -> Result<()> {
        reduction::allreduce(self.process, send.map(Into::into), recv.into(), &op, &self.comm)?
            .run(self.process)
    }

    /// Room for so many elements of each rank.
    pub(crate) fn room_for_all<T: Datatype>(&self, each: usize) -> Result<Vec<T>> {
        // `usize::MAX` elements are refused as any other number that no memory holds.
        zeroed_vec_of(each.saturating_mul(self.peers()))
    }

    /// How many ranks this one exchanges blocks with: those of the other group of an intercommunicator.
    pub(crate) fn peers(&self) -> usize {
        self.comm.peers().size() as usize
    }
}

/// Collectives with a root. All ranks of the communicator call these, in the same order.
impl<K: OneGroup> Communicator<'_, K> {
    /// Copies the root's value or slice to all ranks (MPI_Bcast, section 6.4). Slices have the same length everywhere.
    ///
    /// ```
    /// corelace::run(3, |world| {
    ///     let mut settings = if world.rank() == 0 { [0.1, 0.2] } else { [0.0; 2] };
    ///     world.broadcast(&mut settings, 0).unwrap();
    ///     assert_eq!(settings, [0.1, 0.2]);
    /// })?;
    /// # Ok::<(), corelace::RunError>(())
    /// ```
    #[track_caller]
    pub fn broadcast<B: BufferMut + ?Sized>(&self, data: &mut B, root: usize) -> Result<()> {
        let root = self.root(root)?;
        collective::broadcast(self.process, data.into(), root.into(), &self.comm).run(self.process)
    }

    /// Collects equally many elements of each rank at the root, in the order of ranks; `None` elsewhere (MPI_Gather, section
    /// 6.5).
    #[track_caller]
    pub fn gather<B: Data + ?Sized>(&self, data: &B, root: usize) -> Result<Option<Vec<B::Item>>> {
        let items = data.items();
        let mut all = if self.is(root)? { Some(self.room_for_all(items.len())?) } else { None };
        let recv = all.as_mut().map(|all| (&mut all[..]).into());
        collective::gather(self.process, Some(items.into()), recv, at(root), &self.comm)?
            .run(self.process)?;
        Ok(all)
    }

    /// Collects a slice of each rank, of any length, at the root; `None` elsewhere (MPI_Gatherv, section 6.5).
    ///
    /// ```
    /// corelace::run(4, |world| {
    ///     let mine = vec![world.rank() as u8; world.rank()];
    ///     if let Some(all) = world.gatherv(&mine, 0).unwrap() {
    ///         assert_eq!(all[3], [3, 3, 3]);
    ///         assert_eq!(all.flat(), [1, 2, 2, 3, 3, 3]);
    ///     }
    /// })?;
    /// # Ok::<(), corelace::RunError>(())
    /// ```
    #[track_caller]
    pub fn gatherv<T: Datatype>(&self, data: &[T], root: usize) -> Result<Option<Blocks<T>>> {
        // Lengths first, so that nobody has to know those of others.
        let Some(counts) = self.gather(&data.len(), root)? else {
            collective::gatherv(self.process, Some(data.into()), None, at(root), &self.comm)?
                .run(self.process)?;
            return Ok(None);
        };
        let (mut all, lengths) = room_for(&counts)?;
        let recv = Some(((&mut all[..]).into(), lengths));
        collective::gatherv(self.process, Some(data.into()), recv, at(root), &self.comm)?
            .run(self.process)?;
        Ok(Some(Blocks::new(all, counts)))
    }

    /// Deals out the root's elements, equally many to each rank (MPI_Scatter, section 6.6). `data` counts at the root only.
    ///
    /// ```
    /// corelace::run(3, |world| {
    ///     let all = [1, 2, 3, 4, 5, 6];
    ///     let mine = world.scatter(&all, 0).unwrap();
    ///     assert_eq!(mine, all[2 * world.rank()..][..2]);
    /// })?;
    /// # Ok::<(), corelace::RunError>(())
    /// ```
    #[track_caller]
    pub fn scatter<T: Datatype>(&self, data: &[T], root: usize) -> Result<Vec<T>> {
        let at_root = self.is(root)?;
        // One word tells all ranks the length of their block, or that the root has none for them.
        let mut each = if at_root && data.len().is_multiple_of(self.size()) {
            data.len() / self.size()
        } else {
            usize::MAX
        };
        self.broadcast(&mut each, root)?;
        if each == usize::MAX {
            return Err(Error::length(format!(
                "the root's elements cannot be dealt out equally: expected a multiple of the {} ranks",
                self.size()
            )));
        }
        let mut mine = zeroed_vec_of(each)?;
        self.scatter_into(data, &mut mine[..], root)?;
        Ok(mine)
    }

    /// As [`scatter`](Communicator::scatter), into a value or a slice whose length is one rank's share: what all ranks know
    /// need not be told.
    #[track_caller]
    pub fn scatter_into<B: Data + ?Sized>(&self, data: &[B::Item], share: &mut B, root: usize) -> Result<()> {
        let send = self.is(root)?.then(|| data.into());
        let recv = Some(share.items_mut().into());
        collective::scatter(self.process, send, recv, at(root), &self.comm)?.run(self.process)
    }

    /// Deals out blocks of any length from the root (MPI_Scatterv, section 6.6). `blocks` counts at the root only.
    ///
    /// ```
    /// use corelace::Blocks;
    ///
    /// corelace::run(3, |world| {
    ///     let blocks = (world.rank() == 1).then(|| Blocks::from_iter([vec![7], vec![], vec![8, 9]]));
    ///     let mine = world.scatterv(blocks.as_ref(), 1).unwrap();
    ///     assert_eq!(mine, [vec![7], vec![], vec![8, 9]][world.rank()]);
    /// })?;
    /// # Ok::<(), corelace::RunError>(())
    /// ```
    #[track_caller]
    pub fn scatterv<T: Datatype>(&self, blocks: Option<&Blocks<T>>, root: usize) -> Result<Vec<T>> {
        let blocks = blocks.filter(|_| self.rank() == root);
        let counts = blocks.map_or(&[][..], |blocks| blocks.counts());
        // A root without a block for each rank tells them so, or they would wait for ever.
        let told = if self.is(root)? && counts.len() != self.size() {
            vec![usize::MAX; self.size()]
        } else {
            counts.to_vec()
        };
        let mut mine = 0;
        self.scatter_into(&told, &mut mine, root)?;
        if mine == usize::MAX {
            let size = self.size();
            return Err(Error::length(format!("the root has not one block for each of the {size} ranks")));
        }
        let mut share = zeroed_vec_of(mine)?;
        let lengths = Lengths::new::<T>(counts)?;
        let send = blocks.map(|blocks| (blocks.flat().into(), lengths));
        let recv = Some((&mut share[..]).into());
        collective::scatterv(self.process, send, recv, at(root), &self.comm)?.run(self.process)?;
        Ok(share)
    }

    fn is(&self, root: usize) -> Result<bool> {
        Ok(self.root(root)? == self.comm.rank())
    }
}

/// Reductions. All ranks of the communicator call these, in the same order; elements are combined one by one.
impl<K: OneGroup> Communicator<'_, K> {
    /// Combines the values or slices of all ranks at the root; `None` elsewhere (MPI_Reduce, section 6.9.1).
    ///
    /// ```
    /// use corelace::op;
    ///
    /// corelace::run(4, |world| {
    ///     let total = world.reduce(&[1.0, world.rank() as f64][..], op::sum(), 2).unwrap();
    ///     assert_eq!(total, (world.rank() == 2).then(|| vec![4.0, 6.0]));
    /// })?;
    /// # Ok::<(), corelace::RunError>(())
    /// ```
    #[track_caller]
    pub fn reduce<B: Data + ?Sized>(
        &self,
        data: &B,
        op: Op<B::Item>,
        root: usize,
    ) -> Result<Option<B::Owned>> {
        let mut result = self.is(root)?.then(|| data.zeroed());
        let recv = result.as_mut().map(|result| B::owned_items(result).into());
        let send = Some(data.items().into());
        reduction::reduce(self.process, send, recv, &op, at(root), &self.comm)?.run(self.process)?;
        Ok(result)
    }

    /// As [`allreduce`](Communicator::allreduce), replacing the data by the result (MPI_IN_PLACE).
    #[track_caller]
    pub fn allreduce_in_place<B: Data + ?Sized>(&self, data: &mut B, op: Op<B::Item>) -> Result<()> {
        self.allreduce_from(None, data.items_mut(), op)
    }

    /// Combines slices of a block for each rank, and gives each rank its block (MPI_Reduce_scatter_block, section 6.10.1).
    ///
    /// ```
    /// use corelace::op;
    ///
    /// corelace::run(3, |world| {
    ///     let mine = [1, 2, 3, 4, 5, 6].map(|number| number * (world.rank() + 1));
    ///     let share = world.reduce_scatter_block(&mine, op::sum()).unwrap();
    ///     assert_eq!(share, [[6, 12], [18, 24], [30, 36]][world.rank()]);
    /// })?;
    /// # Ok::<(), corelace::RunError>(())
    /// ```
    #[track_caller]
    pub fn reduce_scatter_block<T: Datatype>(&self, data: &[T], op: Op<T>) -> Result<Vec<T>> {
        let mut share = zeroed_vec(data.len() / self.size());
        let recv = (&mut share[..]).into();
        reduction::reduce_scatter_block(self.process, data.into(), recv, &op, &self.comm)?
            .run(self.process)?;
        Ok(share)
    }

    /// Combines the values or slices of this rank and those below it (MPI_Scan, section 6.11.1).
    ///
    /// ```
    /// use corelace::op;
    ///
    /// corelace::run(4, |world| {
    ///     let mine = 10 * world.rank();
    ///     assert_eq!(world.scan(&mine, op::sum()).unwrap(), [0, 10, 30, 60][world.rank()]);
    ///     assert_eq!(world.exscan(&mine, op::sum()).unwrap(), [None, Some(0), Some(10), Some(30)][world.rank()]);
    /// })?;
    /// # Ok::<(), corelace::RunError>(())
    /// ```
    #[track_caller]
    pub fn scan<B: Data + ?Sized>(&self, data: &B, op: Op<B::Item>) -> Result<B::Owned> {
        let mut result = data.zeroed();
        let recv = B::owned_items(&mut result).into();
        reduction::scan(self.process, data.items().into(), recv, &op, &self.comm)?.run(self.process)?;
        Ok(result)
    }

    /// Combines the values or slices of the ranks below this one; `None` at rank 0 (MPI_Exscan, section 6.11.2).
    #[track_caller]
    pub fn exscan<B: Data + ?Sized>(&self, data: &B, op: Op<B::Item>) -> Result<Option<B::Owned>> {
        let mut result = data.zeroed();
        let recv = B::owned_items(&mut result).into();
        reduction::exscan(self.process, data.items().into(), recv, &op, &self.comm)?.run(self.process)?;
        Ok((self.rank() > 0).then_some(result))
    }
}

/// A root that is known to be one, as the engine takes it.
fn at(root: usize) -> Root {
    Root::Rank(root as u32)
}

/// Room for blocks of these many elements, and their lengths as the engine takes them.
pub(crate) fn room_for<T: Datatype>(counts: &[usize]) -> Result<(Vec<T>, Lengths)> {
    let lengths = Lengths::new::<T>(counts)?;
    Ok((zeroed_vec_of(lengths.total())?, lengths))
}

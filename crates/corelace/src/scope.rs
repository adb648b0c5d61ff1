//! Operations that do not wait, on borrowed buffers (MPI sections 3.7 and 6.12).

use engine::Mode;

use crate::address::{Dest, Inward, Outward, Source, TagMatch};
use crate::communicator::Communicator;
use crate::error::Result;
use crate::kind::{Kind, OneGroup};
use crate::op::Op;
use crate::raw::scope::enter;
use crate::raw::{Buffer, BufferMut, Data, Datatype, collective, reduction};
use crate::request::{CollectiveRequest, RecvRequest, SendRequest};

pub use crate::raw::scope::Scope;

impl<K: Kind> Communicator<'_, K> {
    /// A scope in which operations are started that do not wait; all of them are complete when it returns.
    ///
    /// A buffer that is given to an operation stays borrowed until the end of the scope, even if the request is forgotten;
    /// waiting for the request gives it back earlier. The scope ends well if all that was started does: an error of a
    /// request that nobody has waited for becomes the scope's.
    ///
    /// ```
    /// corelace::run(2, |world| {
    ///     let other = 1 - world.rank();
    ///     let out = [world.rank() as f64; 1000];
    ///     let mut into = [0.0; 1000];
    ///     let sum = world.scope(|s| {
    ///         let receiving = s.irecv(&mut into[..], other, 0)?;
    ///         s.isend(&out[..], other, 0)?;
    ///         // … compute here, while the messages travel …
    ///         let (received, _) = receiving.wait()?;
    ///         Ok(received.iter().sum::<f64>())
    ///     })?;
    ///     assert_eq!(sum, other as f64 * 1000.0);
    ///     assert_eq!(into[999], other as f64);
    ///     Ok::<(), corelace::Error>(())
    /// })?;
    /// # Ok::<(), corelace::RunError>(())
    /// ```
    ///
    /// The compiler keeps all other hands off a buffer while an operation may use it. It cannot be read while a message
    /// arrives in it:
    ///
    /// ```compile_fail,E0502
    /// # corelace::run(2, |world| {
    /// let mut into = [0.0; 1000];
    /// world.scope(|s| {
    ///     let receiving = s.irecv(&mut into[..], 0, 0)?;
    ///     println!("{}", into[0]);
    ///     receiving.wait()?;
    ///     Ok(())
    /// })
    /// # }).unwrap();
    /// ```
    ///
    /// it cannot be changed while it is sent:
    ///
    /// ```compile_fail,E0506
    /// # corelace::run(2, |world| {
    /// let mut out = [0.0; 1000];
    /// world.scope(|s| {
    ///     s.isend(&out[..], 1, 0)?;
    ///     out[0] = 1.0;
    ///     Ok(())
    /// })
    /// # }).unwrap();
    /// ```
    ///
    /// two receives cannot share it:
    ///
    /// ```compile_fail,E0499
    /// # corelace::run(2, |world| {
    /// let mut into = [0.0; 1000];
    /// world.scope(|s| {
    ///     let first = s.irecv(&mut into[..], 0, 0)?;
    ///     let second = s.irecv(&mut into[..], 0, 0)?;
    ///     Ok(())
    /// })
    /// # }).unwrap();
    /// ```
    ///
    /// and it cannot end before the scope does:
    ///
    /// ```compile_fail,E0597
    /// # corelace::run(2, |world| {
    /// world.scope(|s| {
    ///     let mut into = [0.0; 1000];
    ///     s.irecv(&mut into[..], 0, 0)?;
    ///     Ok(())
    /// })
    /// # }).unwrap();
    /// ```
    ///
    /// nor can a request leave the scope:
    ///
    /// ```compile_fail
    /// # corelace::run(2, |world| {
    /// let mut into = [0.0; 1000];
    /// let escaped = world.scope(|s| s.irecv(&mut into[..], 0, 0)).unwrap();
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors and panics
    ///
    /// If the closure returns an error, or panics, receives that have not met their message are cancelled, because that message
    /// may never come. Sends are completed after an error, and cancelled after a panic. Either way the scope returns, or unwinds,
    /// only when everything is complete.
    #[track_caller]
    pub fn scope<'env, R, F>(&'env self, body: F) -> Result<R>
    where
        F: for<'scope> FnOnce(&'scope Scope<'scope, 'env, K>) -> Result<R>,
    {
        enter(self.process, &self.comm, body)
    }
}

/// Sending and receiving.
impl<'scope, 'env, K: Kind> Scope<'scope, 'env, K> {
    /// Starts a send (MPI_Isend).
    pub fn isend<B: Buffer + ?Sized>(
        &'scope self,
        data: &'scope B,
        dest: impl Into<Dest>,
        tag: i32,
    ) -> Result<SendRequest<'scope>> {
        self.send_as(Mode::Standard, data, dest.into(), tag)
    }

    /// Starts a send that is complete only when the matching receive has started (MPI_Issend).
    pub fn synchronous_isend<B: Buffer + ?Sized>(
        &'scope self,
        data: &'scope B,
        dest: impl Into<Dest>,
        tag: i32,
    ) -> Result<SendRequest<'scope>> {
        self.send_as(Mode::Synchronous, data, dest.into(), tag)
    }

    /// Starts a send whose receive is known to be posted (MPI_Irsend).
    pub fn ready_isend<B: Buffer + ?Sized>(
        &'scope self,
        data: &'scope B,
        dest: impl Into<Dest>,
        tag: i32,
    ) -> Result<SendRequest<'scope>> {
        self.send_as(Mode::Ready, data, dest.into(), tag)
    }

    /// Starts a receive into a value or a slice (MPI_Irecv). Waiting for the request gives the buffer back.
    pub fn irecv<B: BufferMut + ?Sized>(
        &'scope self,
        buffer: &'scope mut B,
        source: impl Into<Source>,
        tag: impl Into<TagMatch>,
    ) -> Result<RecvRequest<'scope, B>> {
        let from = Inward::new(self.comm, source.into(), tag.into())?;
        self.pending.receive(buffer, from, self.comm).map(RecvRequest)
    }

    fn send_as<B: Buffer + ?Sized>(
        &'scope self,
        mode: Mode,
        data: &'scope B,
        dest: Dest,
        tag: i32,
    ) -> Result<SendRequest<'scope>> {
        let to = Outward::new(self.comm, dest, tag)?;
        self.pending.send(mode, data, to, self.comm).map(SendRequest)
    }
}

/// Collectives. All ranks of the communicator start the same ones in the same order.
impl<'scope, 'env, K: Kind> Scope<'scope, 'env, K> {
    /// Starts a barrier (MPI_Ibarrier): complete when all ranks have started it.
    pub fn ibarrier(&'scope self) -> Result<SendRequest<'scope>> {
        self.pending.start(collective::barrier(self.comm)).map(SendRequest)
    }

    /// Starts a reduction at all ranks (MPI_Iallreduce).
    ///
    /// ```
    /// use corelace::op;
    ///
    /// corelace::run(3, |world| {
    ///     let mine = [1.0, world.rank() as f64];
    ///     let mut all = [0.0; 2];
    ///     world.scope(|s| {
    ///         let reducing = s.iallreduce(&mine, &mut all, op::ordered(|a: [f64; 2], b: [f64; 2]| [a[0] + b[0], a[1] + b[1]]))?;
    ///         assert_eq!(*reducing.wait()?, [3.0, 3.0]);
    ///         Ok(())
    ///     })
    /// })?;
    /// # Ok::<(), corelace::RunError>(())
    /// ```
    pub fn iallreduce<B: Data + ?Sized>(
        &'scope self,
        data: &'scope B,
        result: &'scope mut B,
        op: Op<B::Item>,
    ) -> Result<CollectiveRequest<'scope, B>> {
        let (process, data) = (self.pending.process(), data.items().into());
        let lent = self
            .pending
            .fill_items(result, |result| reduction::allreduce(process, Some(data), result, &op, self.comm));
        lent.map(CollectiveRequest)
    }

    /// Starts a gathering of equal blocks at all ranks (MPI_Iallgather). `result` has room for all of them.
    pub fn iallgather<T: Datatype>(
        &'scope self,
        data: &'scope [T],
        result: &'scope mut [T],
    ) -> Result<CollectiveRequest<'scope, [T]>> {
        let process = self.pending.process();
        let lent = self
            .pending
            .fill(result, |result| collective::allgather(process, data.into(), result, self.comm));
        lent.map(CollectiveRequest)
    }

    /// Starts an exchange of equal blocks between all ranks (MPI_Ialltoall).
    pub fn ialltoall<T: Datatype>(
        &'scope self,
        data: &'scope [T],
        result: &'scope mut [T],
    ) -> Result<CollectiveRequest<'scope, [T]>> {
        let process = self.pending.process();
        let lent =
            self.pending.fill(result, |result| collective::alltoall(process, data.into(), result, self.comm));
        lent.map(CollectiveRequest)
    }
}

/// Collectives of one group.
impl<'scope, 'env, K: OneGroup> Scope<'scope, 'env, K> {
    /// Starts a broadcast (MPI_Ibcast).
    pub fn ibroadcast<B: BufferMut + ?Sized>(
        &'scope self,
        data: &'scope mut B,
        root: usize,
    ) -> Result<CollectiveRequest<'scope, B>> {
        let (process, (root, _)) = (self.pending.process(), self.root(root)?);
        let lent = self.pending.fill(data, |data| Ok(collective::broadcast(process, data, root, self.comm)));
        lent.map(CollectiveRequest)
    }

    /// Starts a gathering of equal blocks at the root (MPI_Igather), whose `result` has room for all of them; elsewhere `result` stays as it
    /// is, and may be empty.
    ///
    /// ```
    /// use corelace::op;
    ///
    /// corelace::run(3, |world| {
    ///     let (rank, root) = (world.rank(), world.rank() == 1);
    ///     let mine = [rank; 2];
    ///     let (mut all, mut share) = (vec![0; if root { 6 } else { 0 }], [0; 2]);
    ///     let (mut sum, mut upto, mut below, mut block) = ([0; 2], [0; 2], [9; 2], [0; 1]);
    ///     let three = [1, 10, 100].map(|number| number * rank);
    ///     world.scope(|s| {
    ///         let gathered = s.igather(&mine, &mut all, 1)?.wait()?;
    ///         assert!(!root || *gathered == [0, 0, 1, 1, 2, 2]);
    ///         // The five travel at the same time.
    ///         s.iscatter(gathered, &mut share[..], 1)?;
    ///         s.ireduce(&mine, &mut sum, op::ordered(|a: [usize; 2], b: [usize; 2]| [a[0] + b[0], a[1] + b[1]]), 1)?;
    ///         s.iscan(&mine[..], &mut upto[..], op::sum())?;
    ///         s.iexscan(&mine[..], &mut below[..], op::sum())?;
    ///         s.ireduce_scatter_block(&three, &mut block, op::sum())?;
    ///         Ok(())
    ///     })?;
    ///     assert_eq!((share, sum), (mine, if root { [3; 2] } else { [0; 2] }));
    ///     assert_eq!((upto, below), ([[0; 2], [1; 2], [3; 2]][rank], [[9; 2], [0; 2], [1; 2]][rank]));
    ///     assert_eq!(block, [[3], [30], [300]][rank]);
    ///     Ok::<(), corelace::Error>(())
    /// })?;
    /// # Ok::<(), corelace::RunError>(())
    /// ```
    pub fn igather<T: Datatype>(
        &'scope self,
        data: &'scope [T],
        result: &'scope mut [T],
        root: usize,
    ) -> Result<CollectiveRequest<'scope, [T]>> {
        let (process, comm, (root, here)) = (self.pending.process(), self.comm, self.root(root)?);
        let lent = self.pending.fill(result, |result| {
            collective::gather(process, Some(data.into()), here.then_some(result), root, comm)
        });
        lent.map(CollectiveRequest)
    }

    /// Starts a dealing out of the root's elements, equally many to each rank (MPI_Iscatter). `data` counts at the root only.
    pub fn iscatter<B: Data + ?Sized>(
        &'scope self,
        data: &'scope [B::Item],
        share: &'scope mut B,
        root: usize,
    ) -> Result<CollectiveRequest<'scope, B>> {
        let (process, comm, (root, here)) = (self.pending.process(), self.comm, self.root(root)?);
        let lent = self.pending.fill_items(share, |share| {
            collective::scatter(process, here.then(|| data.into()), Some(share), root, comm)
        });
        lent.map(CollectiveRequest)
    }

    /// Starts a reduction at the root (MPI_Ireduce); elsewhere `result` stays as it is.
    pub fn ireduce<B: Data + ?Sized>(
        &'scope self,
        data: &'scope B,
        result: &'scope mut B,
        op: Op<B::Item>,
        root: usize,
    ) -> Result<CollectiveRequest<'scope, B>> {
        let (process, comm, (root, here)) = (self.pending.process(), self.comm, self.root(root)?);
        let data = Some(data.items().into());
        let lent = self.pending.fill_items(result, |result| {
            reduction::reduce(process, data, here.then_some(result), &op, root, comm)
        });
        lent.map(CollectiveRequest)
    }

    /// Starts a reduction of this rank and those below it (MPI_Iscan).
    pub fn iscan<B: Data + ?Sized>(
        &'scope self,
        data: &'scope B,
        result: &'scope mut B,
        op: Op<B::Item>,
    ) -> Result<CollectiveRequest<'scope, B>> {
        let (process, data) = (self.pending.process(), data.items().into());
        let lent =
            self.pending.fill_items(result, |result| reduction::scan(process, data, result, &op, self.comm));
        lent.map(CollectiveRequest)
    }

    /// Starts a reduction of the ranks below this one (MPI_Iexscan); `result` of rank 0 stays as it is.
    pub fn iexscan<B: Data + ?Sized>(
        &'scope self,
        data: &'scope B,
        result: &'scope mut B,
        op: Op<B::Item>,
    ) -> Result<CollectiveRequest<'scope, B>> {
        let (process, data) = (self.pending.process(), data.items().into());
        let lent = self
            .pending
            .fill_items(result, |result| reduction::exscan(process, data, result, &op, self.comm));
        lent.map(CollectiveRequest)
    }

    /// Starts a reduction of a block for each rank, each of which gets its own (MPI_Ireduce_scatter_block).
    pub fn ireduce_scatter_block<T: Datatype>(
        &'scope self,
        data: &'scope [T],
        share: &'scope mut [T],
        op: Op<T>,
    ) -> Result<CollectiveRequest<'scope, [T]>> {
        let process = self.pending.process();
        let lent = self.pending.fill(share, |share| {
            reduction::reduce_scatter_block(process, data.into(), share, &op, self.comm)
        });
        lent.map(CollectiveRequest)
    }

    /// Checks a root: as the engine takes it, and whether it is this rank.
    pub(crate) fn root(&self, root: usize) -> Result<(engine::Root, bool)> {
        let root = self.comm.root(crate::address::number(root))?;
        Ok((root.into(), root == self.comm.rank()))
    }
}

//! Collectives on borrowed memory.
//!
//! Each function checks that the slices are as long as the engine will take them to be, and describes them: a [`Lent`] collective, which runs
//! in any of MPI's forms. Blocks of members lie one after the other, in the order of ranks.

use std::marker::PhantomData;

use engine::{Comm, Plan, Rank, RecvBuffer, RecvParts, RequestId, Root, SendBuffer, SendParts};

use super::elements::{BufferMut, Exclusive, Shared, engine_count, recv_buffer, send_buffer, with_type};
use super::flight::in_flight;
use super::{Datatype, Process};
use crate::activity::{Activity, Collective};
use crate::error::{Error, Result};

/// A collective whose buffers are borrowed for `'b`, in no form yet.
#[must_use = "the other ranks wait for it"]
pub struct Lent<'b, F> {
    pub which: Collective,
    plan: F,
    _borrow: PhantomData<&'b mut &'b ()>,
}

/// What makes the engine's plan of a collective. It holds no borrow: the promise is the lifetime of [`Lent`].
pub trait Planned: for<'r> FnOnce(&'r Rank) -> engine::Result<Plan<'r>> {}

impl<F: for<'r> FnOnce(&'r Rank) -> engine::Result<Plan<'r>>> Planned for F {}

impl<F: Planned> Lent<'_, F> {
    pub(super) fn new(which: Collective, plan: F) -> Self {
        Lent { which, plan, _borrow: PhantomData }
    }

    /// The blocking form: the borrows last until it returns.
    #[track_caller]
    pub fn run(self, process: &Process) -> Result<()> {
        blocking(process, self.which, |rank| (self.plan)(rank).and_then(Plan::wait))
    }

    /// The non-blocking form.
    ///
    /// # Safety
    /// What was lent stays borrowed until the request is complete.
    pub(super) unsafe fn start(self, process: &Process) -> Result<RequestId> {
        process.call(|rank| (self.plan)(rank).and_then(Plan::start))
    }

    /// The persistent form.
    ///
    /// # Safety
    /// What was lent stays borrowed while the request is active.
    pub(super) unsafe fn keep(self, process: &Process) -> Result<RequestId> {
        process.call(|rank| (self.plan)(rank).and_then(Plan::keep))
    }
}

/// Runs a blocking collective: the engine's blocking form returns only when it has let go of its buffers, or the job has stalled and
/// nobody uses them any more.
#[track_caller]
pub fn blocking<T>(
    process: &Process,
    which: Collective,
    run: impl FnOnce(&Rank) -> engine::Result<T>,
) -> Result<T> {
    process.note(Activity::Collective(which));
    let result = in_flight(|| process.attempt(run));
    process.note(Activity::Running);
    process.resume_panic();
    process.unwind_if_stalled();
    result
}

/// Waits for all members.
pub fn barrier<'b>(comm: &Comm) -> Lent<'b, impl Planned + use<>> {
    let comm = comm.clone();
    Lent::new(Collective::Barrier, move |rank: &Rank| rank.barrier(&comm))
}

/// Copies the root's data to all members, or to the other side.
pub fn broadcast<'b, B: BufferMut + ?Sized>(
    process: &Process,
    data: Exclusive<'b, B>,
    root: Root,
    comm: &Comm,
) -> Lent<'b, impl Planned + use<B>> {
    // SAFETY: borrowed for the `'b` of what is returned.
    let (buffer, comm) = (unsafe { B::incoming(data.0, process) }, comm.clone());
    Lent::new(Collective::Broadcast, move |rank: &Rank| rank.bcast(&buffer, root, &comm))
}

/// Collects equal blocks at the root, whose `recv` has room for all members' blocks.
pub fn gather<'b, T: Datatype>(
    process: &Process,
    send: Option<Shared<'b, [T]>>,
    recv: Option<Exclusive<'b, [T]>>,
    root: Root,
    comm: &Comm,
) -> Result<Lent<'b, impl Planned + use<T>>> {
    // SAFETY: borrowed for the `'b` of what is returned; `blocks` takes as many elements a member as fit into the slice.
    let (send, recv) = unsafe {
        (
            send.map(|send| send_buffer(process, send.0)),
            recv.map(|recv| recv_blocks(process, recv, members(comm))).transpose()?,
        )
    };
    let comm = comm.clone();
    Ok(Lent::new(Collective::Gather, move |rank: &Rank| {
        rank.gather(send.as_ref(), recv.as_ref(), root, &comm)
    }))
}

/// Collects blocks of different lengths at the root, which knows them.
pub fn gatherv<'b, T: Datatype>(
    process: &Process,
    send: Option<Shared<'b, [T]>>,
    recv: Option<(Exclusive<'b, [T]>, Lengths)>,
    root: Root,
    comm: &Comm,
) -> Result<Lent<'b, impl Planned + use<T>>> {
    // SAFETY: borrowed for the `'b` of what is returned.
    let send = send.map(|send| unsafe { send_buffer(process, send.0) });
    let recv = recv.map(|(data, lengths)| Coming::new(process, data, lengths, members(comm))).transpose()?;
    let comm = comm.clone();
    Ok(Lent::new(Collective::Gatherv, move |rank: &Rank| {
        rank.gatherv(send.as_ref(), recv.as_ref().map(Coming::parts).as_ref(), root, &comm)
    }))
}

/// Deals out equal blocks from the root, whose `send` has all members' blocks.
pub fn scatter<'b, T: Datatype>(
    process: &Process,
    send: Option<Shared<'b, [T]>>,
    recv: Option<Exclusive<'b, [T]>>,
    root: Root,
    comm: &Comm,
) -> Result<Lent<'b, impl Planned + use<T>>> {
    // SAFETY: as in `gather`.
    let (send, recv) = unsafe {
        (
            send.map(|send| send_blocks(process, send, members(comm))).transpose()?,
            recv.map(|recv| recv_buffer(process, recv.0)),
        )
    };
    let comm = comm.clone();
    Ok(Lent::new(Collective::Scatter, move |rank: &Rank| {
        rank.scatter(send.as_ref(), recv.as_ref(), root, &comm)
    }))
}

/// Deals out blocks of different lengths from the root, which knows them.
pub fn scatterv<'b, T: Datatype>(
    process: &Process,
    send: Option<(Shared<'b, [T]>, Lengths)>,
    recv: Option<Exclusive<'b, [T]>>,
    root: Root,
    comm: &Comm,
) -> Result<Lent<'b, impl Planned + use<T>>> {
    let send = send.map(|(data, lengths)| Leaving::new(process, data, lengths, members(comm))).transpose()?;
    // SAFETY: borrowed for the `'b` of what is returned.
    let recv = recv.map(|recv| unsafe { recv_buffer(process, recv.0) });
    let comm = comm.clone();
    Ok(Lent::new(Collective::Scatterv, move |rank: &Rank| {
        rank.scatterv(send.as_ref().map(Leaving::parts).as_ref(), recv.as_ref(), root, &comm)
    }))
}

/// Collects equal blocks at all members.
pub fn allgather<'b, T: Datatype>(
    process: &Process,
    send: Shared<'b, [T]>,
    recv: Exclusive<'b, [T]>,
    comm: &Comm,
) -> Result<Lent<'b, impl Planned + use<T>>> {
    // SAFETY: as in `gather`.
    let (send, recv) = unsafe { (send_buffer(process, send.0), recv_blocks(process, recv, members(comm))?) };
    let comm = comm.clone();
    Ok(Lent::new(Collective::Allgather, move |rank: &Rank| rank.allgather(Some(&send), &recv, &comm)))
}

/// Collects blocks of different lengths at all members.
pub fn allgatherv<'b, T: Datatype>(
    process: &Process,
    send: Shared<'b, [T]>,
    recv: (Exclusive<'b, [T]>, Lengths),
    comm: &Comm,
) -> Result<Lent<'b, impl Planned + use<T>>> {
    let recv = Coming::new(process, recv.0, recv.1, members(comm))?;
    // SAFETY: borrowed for the `'b` of what is returned.
    let (send, comm) = (unsafe { send_buffer(process, send.0) }, comm.clone());
    Ok(Lent::new(Collective::Allgatherv, move |rank: &Rank| {
        rank.allgatherv(Some(&send), &recv.parts(), &comm)
    }))
}

/// Exchanges equal blocks between all members.
pub fn alltoall<'b, T: Datatype>(
    process: &Process,
    send: Shared<'b, [T]>,
    recv: Exclusive<'b, [T]>,
    comm: &Comm,
) -> Result<Lent<'b, impl Planned + use<T>>> {
    let members = members(comm);
    // SAFETY: as in `gather`.
    let (send, recv) =
        unsafe { (send_blocks(process, send, members)?, recv_blocks(process, recv, members)?) };
    let comm = comm.clone();
    Ok(Lent::new(Collective::Alltoall, move |rank: &Rank| rank.alltoall(Some(&send), &recv, &comm)))
}

/// Exchanges blocks of different lengths between all members.
pub fn alltoallv<'b, T: Datatype>(
    process: &Process,
    send: (Shared<'b, [T]>, Lengths),
    recv: (Exclusive<'b, [T]>, Lengths),
    comm: &Comm,
) -> Result<Lent<'b, impl Planned + use<T>>> {
    let send = Leaving::new(process, send.0, send.1, members(comm))?;
    let recv = Coming::new(process, recv.0, recv.1, members(comm))?;
    let comm = comm.clone();
    Ok(Lent::new(Collective::Alltoallv, move |rank: &Rank| {
        rank.alltoallv(Some(&send.parts()), &recv.parts(), &comm)
    }))
}

/// The lengths of the members' parts in elements, and where they begin.
pub struct Lengths {
    counts: Vec<usize>,
    total: usize,
}

impl Lengths {
    /// Parts of these many elements of type `T`, one after the other. The numbers may come from other ranks, so they may be
    /// anything: parts that no memory could hold are an error.
    pub fn new<T>(counts: &[usize]) -> Result<Lengths> {
        let size = size_of::<T>();
        let mut total = 0usize;
        for (rank, &count) in counts.iter().enumerate() {
            let end = total.checked_add(count);
            let fits = |end: &usize| end.checked_mul(size).is_some_and(|end| isize::try_from(end).is_ok());
            total = end.filter(fits).ok_or_else(|| {
                Error::length(format!(
                    "the part of rank {rank} has {count} elements of {size} bytes: with the parts before it that is more than \
                     any memory holds"
                ))
            })?;
        }
        Ok(Lengths { counts: counts.to_vec(), total })
    }

    /// Elements in all.
    pub fn total(&self) -> usize {
        self.total
    }

    /// As the engine takes them, for a slice of these many elements in parts for `members` members.
    fn lower<T: Datatype>(self, items: usize, members: usize) -> Result<(Vec<u64>, Vec<i64>)> {
        if self.counts.len() != members {
            let given = self.counts.len();
            return Err(Error::length(format!(
                "there are {given} parts, expected one for each of the {members} members"
            )));
        }
        if self.total != items {
            let total = self.total;
            return Err(Error::length(format!(
                "the parts have {total} elements in all, but the buffer has {items}; expected equal lengths"
            )));
        }
        let counts: Vec<u64> = self.counts.iter().map(|count| engine_count::<T>(*count)).collect();
        let start = |at: &mut u64, count: &u64| Some(std::mem::replace(at, *at + count) as i64);
        let starts = counts.iter().scan(0, start).collect();
        Ok((counts, starts))
    }
}

/// A slice to send from in parts.
pub(super) struct Leaving {
    base: *const u8,
    counts: Vec<u64>,
    starts: Vec<i64>,
    datatype: engine::Datatype,
}

/// A slice to receive into in parts.
pub(super) struct Coming {
    base: *mut u8,
    counts: Vec<u64>,
    starts: Vec<i64>,
    datatype: engine::Datatype,
}

impl Leaving {
    pub fn new<T: Datatype>(
        process: &Process,
        data: Shared<'_, [T]>,
        lengths: Lengths,
        members: usize,
    ) -> Result<Leaving> {
        let (counts, starts) = lengths.lower::<T>(data.len(), members)?;
        let datatype = with_type::<T, _>(process, Clone::clone);
        Ok(Leaving { base: data.0.cast(), counts, starts, datatype })
    }

    /// Used while the slice is borrowed, which its maker sees to.
    pub fn parts(&self) -> SendParts<'_> {
        // SAFETY: the parts lie one after the other and fill the slice.
        unsafe { SendParts::new(self.base, &self.counts, &self.starts, &self.datatype) }
    }
}

impl Coming {
    pub fn new<T: Datatype>(
        process: &Process,
        data: Exclusive<'_, [T]>,
        lengths: Lengths,
        members: usize,
    ) -> Result<Coming> {
        let (counts, starts) = lengths.lower::<T>(data.len(), members)?;
        let datatype = with_type::<T, _>(process, Clone::clone);
        Ok(Coming { base: data.0.cast(), counts, starts, datatype })
    }

    /// Used while the slice is borrowed, which its maker sees to.
    pub fn parts(&self) -> RecvParts<'_> {
        // SAFETY: the parts lie one after the other and fill the slice.
        unsafe { RecvParts::new(self.base, &self.counts, &self.starts, &self.datatype) }
    }
}

/// How many members' blocks there are: those of the other side of an intercommunicator.
fn members(comm: &Comm) -> usize {
    comm.peers().size() as usize
}

/// # Safety
/// As [`recv_buffer`].
pub(super) unsafe fn recv_blocks<T: Datatype>(
    process: &Process,
    data: Exclusive<'_, [T]>,
    members: usize,
) -> Result<RecvBuffer> {
    let each = engine_count::<T>(block(data.len(), members)?);
    // SAFETY: a block each for all members: the whole slice, which the caller vouches for.
    Ok(with_type::<T, _>(process, |datatype| unsafe { RecvBuffer::new(data.0.cast(), each, datatype) }))
}

/// # Safety
/// As [`send_buffer`].
pub(super) unsafe fn send_blocks<T: Datatype>(
    process: &Process,
    data: Shared<'_, [T]>,
    members: usize,
) -> Result<SendBuffer> {
    let each = engine_count::<T>(block(data.len(), members)?);
    // SAFETY: as in `recv_blocks`.
    Ok(with_type::<T, _>(process, |datatype| unsafe { SendBuffer::new(data.0.cast(), each, datatype) }))
}

fn block(items: usize, members: usize) -> Result<usize> {
    match items.checked_div(members) {
        Some(each) if items.is_multiple_of(members) => Ok(each),
        // Without members there is nobody to take a block.
        None if items == 0 => Ok(0),
        _ => Err(Error::length(format!(
            "the buffer has {items} elements, expected a multiple of the {members} members: a block of equal length for each"
        ))),
    }
}

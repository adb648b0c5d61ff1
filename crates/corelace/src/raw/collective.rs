//! Collectives on borrowed memory.
//!
//! Each function checks that the slices are as long as the engine will take them to be, describes them, and waits. Blocks of
//! members lie one after the other, in the order of ranks; everything but reductions counts in bytes.

use engine::datatype::Datatype;
use engine::{Comm, Op, Plan, Rank, RecvBuffer, RecvParts, SendBuffer, SendParts};

use super::flight::{in_flight, recv_buffer, send_buffer};
use super::plain::{Data, bytes, bytes_mut};
use super::scope::{Loan, Pending, Ticket};
use super::{Plain, Process};
use crate::activity::{Activity, Collective};
use crate::error::{Error, Result};

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

/// Copies the root's bytes to all members.
#[track_caller]
pub fn broadcast(process: &Process, data: &mut [u8], root: u32, comm: &Comm) -> Result<()> {
    // SAFETY: borrowed until the blocking form has returned.
    let buffer = unsafe { recv_buffer(process, data) };
    blocking(process, Collective::Broadcast, |rank| rank.bcast(&buffer, root, comm).and_then(Plan::wait))
}

/// Collects equal blocks at the root, whose `recv` has room for all members' blocks.
#[track_caller]
pub fn gather(process: &Process, send: &[u8], recv: Option<&mut [u8]>, root: u32, comm: &Comm) -> Result<()> {
    // SAFETY: borrowed until the blocking form has returned; `blocks` takes as many bytes a member as fit into the slice.
    let (send, recv) =
        unsafe { (send_buffer(process, send), recv.map(|recv| recv_blocks(process, recv, comm))) };
    let recv = recv.transpose()?;
    blocking(process, Collective::Gather, |rank| {
        rank.gather(Some(&send), recv.as_ref(), root, comm).and_then(Plan::wait)
    })
}

/// Collects blocks of different lengths at the root, which knows them.
#[track_caller]
pub fn gatherv(
    process: &Process,
    send: &[u8],
    recv: Option<(&mut [u8], &Lengths)>,
    root: u32,
    comm: &Comm,
) -> Result<()> {
    // SAFETY: borrowed until the blocking form has returned; `parts` checks that the lengths fit.
    let (send, recv) = unsafe {
        let parts = recv.map(|(data, lengths)| recv_parts(process, data, lengths, comm));
        (send_buffer(process, send), parts.transpose()?)
    };
    blocking(process, Collective::Gatherv, |rank| {
        rank.gatherv(Some(&send), recv.as_ref(), root, comm).and_then(Plan::wait)
    })
}

/// Deals out equal blocks from the root, whose `send` has all members' blocks.
#[track_caller]
pub fn scatter(
    process: &Process,
    send: Option<&[u8]>,
    recv: &mut [u8],
    root: u32,
    comm: &Comm,
) -> Result<()> {
    // SAFETY: as in `gather`.
    let (send, recv) =
        unsafe { (send.map(|send| send_blocks(process, send, comm)), recv_buffer(process, recv)) };
    let send = send.transpose()?;
    blocking(process, Collective::Scatter, |rank| {
        rank.scatter(send.as_ref(), Some(&recv), root, comm).and_then(Plan::wait)
    })
}

/// Deals out blocks of different lengths from the root, which knows them.
#[track_caller]
pub fn scatterv(
    process: &Process,
    send: Option<(&[u8], &Lengths)>,
    recv: &mut [u8],
    root: u32,
    comm: &Comm,
) -> Result<()> {
    // SAFETY: as in `gatherv`.
    let (send, recv) = unsafe {
        let parts = send.map(|(data, lengths)| send_parts(process, data, lengths, comm));
        (parts.transpose()?, recv_buffer(process, recv))
    };
    blocking(process, Collective::Scatterv, |rank| {
        rank.scatterv(send.as_ref(), Some(&recv), root, comm).and_then(Plan::wait)
    })
}

/// Collects equal blocks at all members.
#[track_caller]
pub fn allgather(process: &Process, send: &[u8], recv: &mut [u8], comm: &Comm) -> Result<()> {
    // SAFETY: as in `gather`.
    let (send, recv) = unsafe { (send_buffer(process, send), recv_blocks(process, recv, comm)?) };
    blocking(process, Collective::Allgather, |rank| {
        rank.allgather(Some(&send), &recv, comm).and_then(Plan::wait)
    })
}

/// Collects blocks of different lengths at all members.
#[track_caller]
pub fn allgatherv(process: &Process, send: &[u8], recv: (&mut [u8], &Lengths), comm: &Comm) -> Result<()> {
    // SAFETY: as in `gatherv`.
    let (send, recv) = unsafe { (send_buffer(process, send), recv_parts(process, recv.0, recv.1, comm)?) };
    blocking(process, Collective::Allgatherv, |rank| {
        rank.allgatherv(Some(&send), &recv, comm).and_then(Plan::wait)
    })
}

/// Exchanges equal blocks between all members.
#[track_caller]
pub fn alltoall(process: &Process, send: &[u8], recv: &mut [u8], comm: &Comm) -> Result<()> {
    // SAFETY: as in `gather`.
    let (send, recv) = unsafe { (send_blocks(process, send, comm)?, recv_blocks(process, recv, comm)?) };
    blocking(process, Collective::Alltoall, |rank| {
        rank.alltoall(Some(&send), &recv, comm).and_then(Plan::wait)
    })
}

/// Exchanges blocks of different lengths between all members.
#[track_caller]
pub fn alltoallv(
    process: &Process,
    send: (&[u8], &Lengths),
    recv: (&mut [u8], &Lengths),
    comm: &Comm,
) -> Result<()> {
    // SAFETY: as in `gatherv`.
    let (send, recv) =
        unsafe { (send_parts(process, send.0, send.1, comm)?, recv_parts(process, recv.0, recv.1, comm)?) };
    blocking(process, Collective::Alltoallv, |rank| {
        rank.alltoallv(Some(&send), &recv, comm).and_then(Plan::wait)
    })
}

/// Elements to combine: where they come from, where the result goes, and how. `send` is `None` if they lie in `recv`.
pub struct Reduction<'a, T> {
    pub send: Option<&'a [T]>,
    pub recv: Option<&'a mut [T]>,
    pub op: &'a Op,
    pub datatype: &'a Datatype,
}

/// Runs a blocking reduction. `run` gets the two buffers as the engine takes them.
#[track_caller]
pub fn reduction<T: Plain>(
    process: &Process,
    which: Collective,
    reduction: Reduction<'_, T>,
    run: impl FnOnce(&Rank, Option<&SendBuffer>, Option<&RecvBuffer>, &Op) -> engine::Result<()>,
) -> Result<()> {
    let Reduction { send, recv, op, datatype } = reduction;
    if let (Some(send), Some(recv)) = (send, &recv) {
        check_lengths(send.len(), recv.len())?;
    }
    // SAFETY: borrowed until the blocking form has returned.
    let (send, recv) = unsafe {
        (send.map(|send| send_elements(send, datatype)), recv.map(|recv| recv_elements(recv, datatype)))
    };
    blocking(process, which, |rank| run(rank, send.as_ref(), recv.as_ref(), op))
}

impl<'p> Pending<'p> {
    /// Starts a barrier.
    pub fn barrier<'scope>(&'scope self, comm: &Comm) -> Result<Ticket<'scope>> {
        let id = self.process().call(|rank| rank.barrier(comm).and_then(Plan::start))?;
        Ok(self.add(id, Activity::Collective(Collective::Barrier)))
    }

    /// Starts a broadcast.
    #[track_caller]
    pub fn broadcast<'scope, B: Data + ?Sized>(
        &'scope self,
        data: &'scope mut B,
        root: u32,
        comm: &Comm,
    ) -> Result<Loan<'scope, B>> {
        self.lend(data, Activity::Collective(Collective::Broadcast), |data| {
            // SAFETY: borrowed for `'scope`, before whose end the scope completes the request; only the engine uses it until
            // then.
            let buffer = unsafe { recv_buffer(self.process(), bytes_mut(data.items_mut())) };
            self.process().call(|rank| rank.bcast(&buffer, root, comm).and_then(Plan::start))
        })
    }

    /// Starts a gathering of equal blocks at all members.
    #[track_caller]
    pub fn allgather<'scope, T: Plain>(
        &'scope self,
        send: &'scope [T],
        recv: &'scope mut [T],
        comm: &Comm,
    ) -> Result<Loan<'scope, [T]>> {
        self.lend(recv, Activity::Collective(Collective::Allgather), |recv| {
            // SAFETY: as in `broadcast`, for both.
            let (send, recv) = unsafe {
                (
                    send_buffer(self.process(), bytes(send)),
                    recv_blocks(self.process(), bytes_mut(recv), comm)?,
                )
            };
            self.process().call(|rank| rank.allgather(Some(&send), &recv, comm).and_then(Plan::start))
        })
    }

    /// Starts a reduction at all members.
    pub fn allreduce<'scope, B: Data + ?Sized>(
        &'scope self,
        send: &'scope B,
        recv: &'scope mut B,
        op: &Op,
        datatype: &Datatype,
        comm: &Comm,
    ) -> Result<Loan<'scope, B>> {
        check_lengths(send.items().len(), recv.items().len())?;
        self.lend(recv, Activity::Collective(Collective::Allreduce), |recv| {
            // SAFETY: as in `broadcast`, for both.
            let (send, recv) =
                unsafe { (send_elements(send.items(), datatype), recv_elements(recv.items_mut(), datatype)) };
            self.process().call(|rank| rank.allreduce(Some(&send), &recv, op, comm).and_then(Plan::start))
        })
    }
}

/// The lengths of the members' parts in bytes, and where they begin.
pub struct Lengths {
    counts: Vec<u64>,
    displacements: Vec<i64>,
    total: usize,
}

impl Lengths {
    /// Parts of these many elements of `size` bytes, one after the other. The numbers may come from other ranks, so they may be
    /// anything: parts that no memory could hold are an error.
    pub fn new(elements: &[usize], size: usize) -> Result<Lengths> {
        let mut total = 0usize;
        let mut displacements = Vec::with_capacity(elements.len());
        let mut counts = Vec::with_capacity(elements.len());
        for (rank, &count) in elements.iter().enumerate() {
            let bytes = count.checked_mul(size);
            let end =
                bytes.and_then(|bytes| total.checked_add(bytes)).filter(|end| isize::try_from(*end).is_ok());
            let (Some(bytes), Some(end)) = (bytes, end) else {
                return Err(Error::length(format!(
                    "the part of rank {rank} has {count} elements of {size} bytes: with the parts before it that is more than \
                     any memory holds"
                )));
            };
            displacements.push(total as i64);
            counts.push(bytes as u64);
            total = end;
        }
        Ok(Lengths { counts, displacements, total })
    }

    fn check(&self, bytes: usize, comm: &Comm) -> Result<()> {
        if self.counts.len() != comm.size() as usize {
            let (given, size) = (self.counts.len(), comm.size());
            return Err(Error::length(format!(
                "there are {given} parts, expected one for each of the {size} ranks"
            )));
        }
        if self.total != bytes {
            let total = self.total;
            return Err(Error::length(format!(
                "the parts have {total} bytes in all, but the buffer has {bytes}; expected equal lengths"
            )));
        }
        Ok(())
    }
}

/// # Safety
/// As [`recv_buffer`].
unsafe fn recv_blocks(process: &Process, data: &mut [u8], comm: &Comm) -> Result<RecvBuffer> {
    let each = block(data.len(), comm)?;
    // SAFETY: a block each for all members: the whole slice, which the caller vouches for.
    Ok(unsafe { RecvBuffer::new(data.as_mut_ptr(), each, process.bytes()) })
}

/// # Safety
/// As [`send_buffer`].
unsafe fn send_blocks(process: &Process, data: &[u8], comm: &Comm) -> Result<SendBuffer> {
    let each = block(data.len(), comm)?;
    // SAFETY: as in `recv_blocks`.
    Ok(unsafe { SendBuffer::new(data.as_ptr(), each, process.bytes()) })
}

fn block(bytes: usize, comm: &Comm) -> Result<u64> {
    let members = comm.size() as usize;
    if bytes.is_multiple_of(members) {
        return Ok((bytes / members) as u64);
    }
    Err(Error::length(format!(
        "the buffer has {bytes} bytes, expected a multiple of the {members} ranks: a block of equal length for each"
    )))
}

/// # Safety
/// As [`recv_buffer`].
unsafe fn recv_parts<'a>(
    process: &'a Process,
    data: &mut [u8],
    lengths: &'a Lengths,
    comm: &Comm,
) -> Result<RecvParts<'a>> {
    lengths.check(data.len(), comm)?;
    // SAFETY: the parts lie one after the other and fill the slice, which the caller vouches for.
    Ok(unsafe { RecvParts::new(data.as_mut_ptr(), &lengths.counts, &lengths.displacements, process.bytes()) })
}

/// # Safety
/// As [`send_buffer`].
unsafe fn send_parts<'a>(
    process: &'a Process,
    data: &[u8],
    lengths: &'a Lengths,
    comm: &Comm,
) -> Result<SendParts<'a>> {
    lengths.check(data.len(), comm)?;
    // SAFETY: as in `recv_parts`.
    Ok(unsafe { SendParts::new(data.as_ptr(), &lengths.counts, &lengths.displacements, process.bytes()) })
}

/// A datatype of another size would make the engine leave the slice.
fn check_describes<T>(datatype: &Datatype) {
    let size = size_of::<T>();
    assert!(
        datatype.size() == size as u64 && datatype.extent() == size as i64,
        "the datatype of another element"
    );
}

/// # Safety
/// As [`send_buffer`].
unsafe fn send_elements<T: Plain>(items: &[T], datatype: &Datatype) -> SendBuffer {
    check_describes::<T>(datatype);
    // SAFETY: the caller's promise.
    unsafe { SendBuffer::new(items.as_ptr().cast(), items.len() as u64, datatype) }
}

/// # Safety
/// As [`recv_buffer`].
unsafe fn recv_elements<T: Plain>(items: &mut [T], datatype: &Datatype) -> RecvBuffer {
    check_describes::<T>(datatype);
    // SAFETY: the caller's promise.
    unsafe { RecvBuffer::new(items.as_mut_ptr().cast(), items.len() as u64, datatype) }
}

fn check_lengths(send: usize, recv: usize) -> Result<()> {
    if send == recv {
        return Ok(());
    }
    Err(Error::length(format!("{send} elements are combined into {recv}, expected equal lengths")))
}

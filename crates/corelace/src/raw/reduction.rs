//! Reductions on borrowed memory: as [`collective`](super::collective), with elements of the type that the operation works on.

use engine::{Comm, Plan, Rank, RecvBuffer, Root, SendBuffer};

use super::collective::{Lent, Planned};
use super::elements::{Exclusive, Shared};
use super::{Datatype, Process};
use crate::activity::Collective;
use crate::error::{Error, Result};
use crate::op::Op;

/// How elements are combined: the operation, and the type that it works on.
pub struct Combination {
    pub op: engine::Op,
    pub datatype: engine::Datatype,
}

/// Combines elements at all members; `send` is `None` if they lie in `recv`.
pub fn allreduce<'b, T: Datatype>(
    process: &Process,
    send: Option<Shared<'b, [T]>>,
    recv: Exclusive<'b, [T]>,
    op: &Op<T>,
    comm: &Comm,
) -> Result<Lent<'b, impl Planned + use<T>>> {
    let comm = comm.clone();
    described(Collective::Allreduce, send, Some(recv), op.lower(process), move |rank, send, recv, op| {
        rank.allreduce(send, recv.expect("a result"), op, &comm)
    })
}

/// Combines elements at the root, which has a place for them.
pub fn reduce<'b, T: Datatype>(
    process: &Process,
    send: Option<Shared<'b, [T]>>,
    recv: Option<Exclusive<'b, [T]>>,
    op: &Op<T>,
    root: Root,
    comm: &Comm,
) -> Result<Lent<'b, impl Planned + use<T>>> {
    let comm = comm.clone();
    described(Collective::Reduce, send, recv, op.lower(process), move |rank, send, recv, op| {
        rank.reduce(send, recv, op, root, &comm)
    })
}

/// Combines the elements of the members up to this one.
pub fn scan<'b, T: Datatype>(
    process: &Process,
    send: Shared<'b, [T]>,
    recv: Exclusive<'b, [T]>,
    op: &Op<T>,
    comm: &Comm,
) -> Result<Lent<'b, impl Planned + use<T>>> {
    let comm = comm.clone();
    described(Collective::Scan, Some(send), Some(recv), op.lower(process), move |rank, send, recv, op| {
        rank.scan(send, recv.expect("a result"), op, &comm)
    })
}

/// Combines the elements of the members before this one.
pub fn exscan<'b, T: Datatype>(
    process: &Process,
    send: Shared<'b, [T]>,
    recv: Exclusive<'b, [T]>,
    op: &Op<T>,
    comm: &Comm,
) -> Result<Lent<'b, impl Planned + use<T>>> {
    let comm = comm.clone();
    described(Collective::Exscan, Some(send), Some(recv), op.lower(process), move |rank, send, recv, op| {
        rank.exscan(send, recv.expect("a result"), op, &comm)
    })
}

/// Combines a block for each member; every member gets its own, which is as long as `recv`.
pub fn reduce_scatter_block<'b, T: Datatype>(
    process: &Process,
    send: Shared<'b, [T]>,
    recv: Exclusive<'b, [T]>,
    op: &Op<T>,
    comm: &Comm,
) -> Result<Lent<'b, impl Planned + use<T>>> {
    let (given, each, members) = (send.len(), recv.len(), comm.size() as usize);
    if each.checked_mul(members) != Some(given) {
        return Err(Error::length(format!(
            "{given} elements are combined into blocks of {each}, expected a block for each of the {members} ranks"
        )));
    }
    let Combination { op, datatype } = checked::<T>(op.lower(process));
    // SAFETY: borrowed for the `'b` of what is returned; a block for each member, and one of them.
    let (send, recv) = unsafe {
        (
            SendBuffer::new(send.0.cast(), given as u64, &datatype),
            RecvBuffer::new(recv.0.cast(), each as u64, &datatype),
        )
    };
    let comm = comm.clone();
    Ok(Lent::new(Collective::ReduceScatterBlock, move |rank: &Rank| {
        rank.reduce_scatter_block(Some(&send), &recv, &op, &comm)
    }))
}

/// `plan` gets the two buffers as the engine takes them.
fn described<'b, T: Datatype, P>(
    which: Collective,
    send: Option<Shared<'b, [T]>>,
    recv: Option<Exclusive<'b, [T]>>,
    how: Combination,
    plan: P,
) -> Result<Lent<'b, impl Planned + use<T, P>>>
where
    P: for<'r> FnOnce(
        &'r Rank,
        Option<&SendBuffer>,
        Option<&RecvBuffer>,
        &engine::Op,
    ) -> engine::Result<Plan<'r>>,
{
    if let (Some(send), Some(recv)) = (&send, &recv)
        && send.len() != recv.len()
    {
        let (send, recv) = (send.len(), recv.len());
        return Err(Error::length(format!(
            "{send} elements are combined into {recv}, expected equal lengths"
        )));
    }
    let Combination { op, datatype } = checked::<T>(how);
    // SAFETY: borrowed for the `'b` of what is returned, as many elements as the slices have.
    let (send, recv) = unsafe {
        (
            send.map(|send| SendBuffer::new(send.0.cast(), send.len() as u64, &datatype)),
            recv.map(|recv| RecvBuffer::new(recv.0.cast(), recv.len() as u64, &datatype)),
        )
    };
    Ok(Lent::new(which, move |rank: &Rank| plan(rank, send.as_ref(), recv.as_ref(), &op)))
}

/// A datatype of another shape would make the engine leave the slices.
pub(super) fn checked<T: Datatype>(how: Combination) -> Combination {
    let (bytes, extent) = (T::SHAPE.bytes() as u64, size_of::<T>() as i64);
    assert!(
        how.datatype.size() == bytes && how.datatype.extent() == extent,
        "the datatype of another element"
    );
    how
}

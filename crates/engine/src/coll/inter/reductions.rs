//! Reductions of one group's values for the other (sections 6.9 and 6.10).
//!
//! Each group reduces to its leader, by an algorithm of the table; the leaders exchange the results, and each deals out what came in its group. Cost:
//! the rounds of a reduction and of a broadcast (or one round for a scatter) among p members, and one; 2n bytes sent at most. Scratch for a value at
//! the leader.

use super::*;
use crate::coll::bcast as within;
use crate::coll::reduce::{self as reduction, Reduction};

pub(crate) fn reduce(
    shop: Workshop<'_>,
    send: Option<&SendBuffer>,
    recv: Option<&RecvBuffer>,
    op: &Op,
    root: Root,
    comm: &Comm,
) -> Result<Steps> {
    let (role, sides) = (role(root, comm)?, Sides::of(comm));
    let mut b = builder(shop, comm, "reduce");
    match role {
        Role::Root => {
            let result = given(recv)?;
            op.check_reduction(result.datatype())?;
            b.receive(sides.remote, &Region::from(result));
        }
        Role::Beside => {}
        Role::Across(root) => {
            if let Some(result) = to_leader(&mut b, &sides, &Region::from(given(send)?), op)? {
                b.send(root, &result);
            }
        }
    }
    Ok(b.finish())
}

pub(crate) fn allreduce(
    shop: Workshop<'_>,
    send: Option<&SendBuffer>,
    recv: &RecvBuffer,
    op: &Op,
    comm: &Comm,
) -> Result<Steps> {
    let (value, target) = (Region::from(given(send)?), Region::from(recv));
    let sides = Sides::of(comm);
    let mut b = builder(shop, comm, "allreduce");
    swap_results(&mut b, &sides, &value, &target, op)?;
    b.among(sides.local, sides.members, &|b| within::write(b, &target, 0))?;
    Ok(b.finish())
}

pub(crate) fn reduce_scatter_block(
    shop: Workshop<'_>,
    send: Option<&SendBuffer>,
    recv: &RecvBuffer,
    op: &Op,
    comm: &Comm,
) -> Result<Steps> {
    let count = recv.count();
    scattered(shop, send, recv, op, comm, |member| (u64::from(member) * count, count))
}

/// `counts` are those of the local group; their sum is the same at both.
pub(crate) fn reduce_scatter(
    shop: Workshop<'_>,
    send: Option<&SendBuffer>,
    recv: &RecvBuffer,
    counts: &[u64],
    op: &Op,
    comm: &Comm,
) -> Result<Steps> {
    if counts.len() < comm.size() as usize {
        return Err(Error::Argument {
            reason: "a reduce-scatter needs a count for each rank of the local group",
            given: counts.len() as i64,
        });
    }
    let block = |member: u32| (counts[..member as usize].iter().sum(), counts[member as usize]);
    scattered(shop, send, recv, op, comm, block)
}

/// The leader gives each member the block of the other group's result that `block` names: its first element, and how many.
fn scattered(
    shop: Workshop<'_>,
    send: Option<&SendBuffer>,
    recv: &RecvBuffer,
    op: &Op,
    comm: &Comm,
    block: impl Fn(u32) -> (u64, u64),
) -> Result<Steps> {
    let sides = Sides::of(comm);
    let (first, count) = block(sides.members - 1);
    let value = Region::from(given(send)?).elements(0, first + count);
    let mut b = builder(shop, comm, "reduce_scatter");
    let own = Region::from(recv).elements(0, block(comm.rank()).1);
    if !sides.leads(&b) {
        to_leader(&mut b, &sides, &value, op)?;
        b.wait();
        b.receive(sides.local, &own);
        return Ok(b.finish());
    }
    let result = b.scratch_like(&value)?;
    swap_results(&mut b, &sides, &value, &result, op)?;
    for member in 1..sides.members {
        let (first, count) = block(member);
        b.send(sides.local + member, &result.elements(first, count));
    }
    b.copy(&result.elements(0, own.count()), &own);
    Ok(b.finish())
}

/// Reduces each group's values to its leader and gives the result to the other leader, in `target`.
fn swap_results(b: &mut Builder<'_>, sides: &Sides, value: &Region, target: &Region, op: &Op) -> Result<()> {
    if let Some(result) = to_leader(b, sides, value, op)? {
        b.receive(sides.remote, target);
        b.send(sides.remote, &result);
    }
    b.wait();
    Ok(())
}

/// Reduces the local group's values to its leader, who gets the place of the result.
fn to_leader(b: &mut Builder<'_>, sides: &Sides, value: &Region, op: &Op) -> Result<Option<Region>> {
    op.check_reduction(value.datatype())?;
    b.set_op(op);
    let target = if sides.leads(b) { Some(b.scratch_like(value)?) } else { None };
    let steps = Reduction { value: value.clone(), target: target.clone(), root: 0 };
    b.among(sides.local, sides.members, &|b| reduction::write(b, &steps))?;
    b.wait();
    Ok(target)
}

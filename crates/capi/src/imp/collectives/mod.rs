//! Chapter 6: collective operations.
//!
//! A function `plan_bcast` converts the arguments of `MPI_Bcast` and makes the engine's plan; the generator makes the blocking, the
//! non-blocking and the persistent form of it, in either width of counts. Hints about persistent collectives are not used.

pub(crate) mod exchange;
pub(crate) mod neighbors;
mod parts;
pub(crate) mod reductions;
pub(crate) mod root;

use std::rc::Rc;
use std::sync::Arc;

use engine::{Lent, Plan, Rank, SendBuffer};

use crate::abi::constants::MPI_ERR_BUFFER;
use crate::abi::types::MPI_Request;
use crate::call::Call;
use crate::convert::{Buf, Out};
use crate::errors::{Fault, Outcome};
use crate::handles::{Comm, Info, Type};

/// Waits for all members, before this one leaves the job or gives up what they have in common.
#[inline(never)]
pub(crate) fn synchronise(rank: &Rank, comm: &engine::Comm) -> Outcome {
    if comm.size() > 1 {
        rank.barrier(comm)?.wait()?;
    }
    Ok(())
}

pub(crate) fn plan_barrier(call: &Call, comm: &Rc<Comm>) -> Outcome<Plan<'static>> {
    Ok(call.rank().barrier(&comm.comm)?)
}

/// The blocking form of a collective.
#[inline(always)]
pub(crate) fn wait(mut plan: Outcome<Plan<'static>>) -> Outcome {
    match &mut plan {
        Ok(plan) => Ok(plan.take_part()?),
        Err(_) => plan.map(drop),
    }
}

/// The non-blocking form.
pub(crate) fn start(
    call: &Call,
    comm: &Comm,
    plan: Outcome<Plan<'static>>,
    request: Out<MPI_Request>,
) -> Outcome {
    request.set(call.requests().started(plan?.start()?, comm));
    Ok(())
}

/// The persistent form.
pub(crate) fn keep(
    call: &Call,
    comm: &Comm,
    plan: Outcome<Plan<'static>>,
    _hints: Option<Arc<Info>>,
    request: Out<MPI_Request>,
) -> Outcome {
    request.set(call.requests().started(plan?.keep()?, comm));
    Ok(())
}

/// Data to send, or nothing for MPI_IN_PLACE.
fn outgoing(buf: Buf, count: i64, datatype: &Type) -> Outcome<Option<Lent<'_, SendBuffer>>> {
    if buf.is_in_place() { Ok(None) } else { buf.send(count, datatype).map(Some) }
}

/// What a buffer holds for one collective: so many elements of a datatype, from the block of this number on.
#[derive(Clone, Copy)]
struct Held<'a>(Buf, i64, &'a Type);

impl Held<'_> {
    /// The address of its first byte; none if it holds no data, or all of the program's addresses (MPI_BOTTOM).
    #[inline]
    fn first(self, block: u32) -> Option<usize> {
        let Held(buf, count, of) = self;
        if count <= 0 || of.datatype.size() == 0 || buf.address().is_null() {
            return None;
        }
        let layout = of.datatype.layout();
        let offset = i64::from(block).wrapping_mul(count).wrapping_mul(layout.extent());
        Some(
            buf.address().addr().wrapping_add_signed(offset.wrapping_add(layout.true_lower_bound()) as isize),
        )
    }
}

/// Which block of what is gathered or dealt out is this process's own. There is none between two groups; the first is there in any case.
fn own_block(comm: &Comm) -> u32 {
    if comm.comm.is_inter() { 0 } else { comm.comm.rank() }
}

/// An error if both begin with the same byte: the memory of a collective may not be named twice but by MPI_IN_PLACE (MPI section 6.2).
#[inline]
fn apart(send: Option<usize>, recv: Option<usize>) -> Outcome {
    if send.is_some() && send == recv { Err(aliased()) } else { Ok(()) }
}

#[cold]
fn aliased() -> Fault {
    Fault::new(
        MPI_ERR_BUFFER,
        "sendbuf and recvbuf name the same memory, expected different memory or MPI_IN_PLACE",
    )
}

//! Chapter 6: collective operations, blocking, non-blocking and persistent.
//!
//! All forms of a collective take the same arguments and differ in the engine's method that they end in; what they share is
//! written once, in a function that takes that method.

pub(crate) mod exchange;
mod parts;
pub(crate) mod persistent;
pub(crate) mod reductions;
pub(crate) mod root;

use std::rc::Rc;

use engine::{RequestId, SendBuffer};

use crate::call::Call;
use crate::convert::{Buf, Out};
use crate::errors::Outcome;
use crate::r#gen::types::MPI_Request;
use crate::handles::{Comm, Type};
use crate::state::State;

/// Waits for all processes of the job, before this one leaves.
pub(crate) fn synchronise(state: &State) -> Outcome {
    let rank = state.rank();
    if rank.world().size() > 1 {
        rank.barrier(rank.world())?;
    }
    Ok(())
}

pub(crate) fn mpi_barrier(call: &Call, comm: &Rc<Comm>) -> Outcome {
    call.state.rank().barrier(&comm.comm)?;
    Ok(())
}

pub(crate) fn mpi_ibarrier(call: &Call, comm: &Rc<Comm>, request: Out<MPI_Request>) -> Outcome {
    let id = call.state.rank().ibarrier(&comm.comm)?;
    deliver(call, comm, id, request);
    Ok(())
}

/// Hands out the request of a collective that was started.
fn deliver(call: &Call, comm: &Comm, id: RequestId, request: Out<MPI_Request>) {
    request.set(call.state.requests.started(id, comm));
}

/// Data to send, or nothing for MPI_IN_PLACE.
fn outgoing(buf: Buf, count: i64, datatype: &Rc<Type>) -> Outcome<Option<SendBuffer>> {
    if buf.is_in_place() { Ok(None) } else { buf.send(count, datatype).map(Some) }
}

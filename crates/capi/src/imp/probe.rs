//! Chapter 3: probes and matched receives.

use core::ffi::c_int;
use std::cell::Cell;
use std::rc::Rc;

use engine::{Counted, Message, MessageId};

use crate::abi::constants::*;
use crate::abi::types::*;
use crate::call::Call;
use crate::convert::{Buf, Out, RankArg, StatusOut, TagArg};
use crate::errors::{Fault, Outcome};
use crate::handles::{Comm, Type, with_lane, without_lane};
use crate::imp::requests::{failed, failed_status};

pub(crate) fn mpi_probe(
    call: &Call,
    source: RankArg,
    tag: TagArg,
    comm: &Rc<Comm>,
    status: StatusOut,
) -> Outcome {
    let found = call.rank().probe(source.source(comm)?, tag.of_receive()?, &comm.comm)?;
    status.set(&found);
    Ok(())
}

pub(crate) fn mpi_iprobe(
    call: &Call,
    source: RankArg,
    tag: TagArg,
    comm: &Rc<Comm>,
    flag: Out<c_int>,
    status: StatusOut,
) -> Outcome {
    let found = call.rank().iprobe(source.source(comm)?, tag.of_receive()?, &comm.comm)?;
    flag.set(c_int::from(found.is_some()));
    if let Some(found) = found {
        status.set(&found);
    }
    Ok(())
}

pub(crate) fn mpi_mprobe(
    call: &Call,
    source: RankArg,
    tag: TagArg,
    comm: &Rc<Comm>,
    message: Out<MPI_Message>,
    status: StatusOut,
) -> Outcome {
    let (taken, found) = call.rank().mprobe(source.source(comm)?, tag.of_receive()?, &comm.comm)?;
    deliver(call, comm, taken, message);
    status.set(&found);
    Ok(())
}

pub(crate) fn mpi_improbe(
    call: &Call,
    source: RankArg,
    tag: TagArg,
    comm: &Rc<Comm>,
    flag: Out<c_int>,
    message: Out<MPI_Message>,
    status: StatusOut,
) -> Outcome {
    let taken = call.rank().improbe(source.source(comm)?, tag.of_receive()?, &comm.comm)?;
    flag.set(c_int::from(taken.is_some()));
    if let Some((taken, found)) = taken {
        deliver(call, comm, taken, message);
        status.set(&found);
    }
    Ok(())
}

pub(crate) fn mpi_mrecv(
    call: &Call,
    buf: Buf,
    count: i64,
    datatype: &Counted<Type>,
    message: &Cell<MPI_Message>,
    status: StatusOut,
) -> Outcome {
    let taken = given(message.get())?;
    let comm = call.requests().comm_of_message(message.get());
    let received = call.rank().mrecv(&*buf.receive(count, datatype)?, taken);
    message.set(MPI_MESSAGE_NULL);
    match received {
        Ok(received) => {
            status.set(&received);
            Ok(())
        }
        Err(error) => {
            status.set(&failed_status(&error));
            Err(failed(call, comm, error))
        }
    }
}

pub(crate) fn mpi_imrecv(
    call: &Call,
    buf: Buf,
    count: i64,
    datatype: &Counted<Type>,
    message: &Cell<MPI_Message>,
    request: Out<MPI_Request>,
) -> Outcome {
    let taken = given(message.get())?;
    let comm = call.requests().comm_of_message(message.get());
    let id = call.rank().imrecv(&*buf.receive(count, datatype)?, taken)?;
    message.set(MPI_MESSAGE_NULL);
    request.set(call.requests().started_on(id, comm));
    Ok(())
}

/// Hands a message out. Its errors are those of the communicator that was probed.
fn deliver(call: &Call, comm: &Comm, taken: Message, message: Out<MPI_Message>) {
    let handle = match taken {
        Message::Null => MPI_MESSAGE_NO_PROC,
        Message::Waiting(id) => MPI_Message(with_lane(id.to_bits() as usize, call.lane())),
    };
    call.requests().probed(handle, comm);
    message.set(handle);
}

fn given(message: MPI_Message) -> Outcome<Message> {
    match message {
        MPI_MESSAGE_NO_PROC => Ok(Message::Null),
        MPI_MESSAGE_NULL => Err(Fault::new(
            MPI_ERR_REQUEST,
            "message is MPI_MESSAGE_NULL, expected a message from MPI_Mprobe",
        )),
        MPI_Message(bits) => Ok(Message::Waiting(MessageId::from_bits(without_lane(bits) as u64))),
    }
}

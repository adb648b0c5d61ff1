//! Chapter 4: partitioned communication.

use core::ffi::c_int;
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use engine::{Counted, RequestId, Source, State as Progress};

use crate::abi::constants::*;
use crate::abi::types::*;
use crate::call::Call;
use crate::convert::{Buf, Out, RankArg, TagArg, given};
use crate::errors::{Fault, Outcome};
use crate::handles::{Comm, Info, Parts, Type};

/// How many parts there are.
fn number(partitions: c_int) -> Outcome<usize> {
    usize::try_from(partitions).ok().filter(|count| *count > 0).ok_or_else(|| {
        Fault::new(MPI_ERR_ARG, format_args!("partitions is {partitions}, expected one or more"))
    })
}

/// The parts of a request, which must be one of this kind.
fn parts_of(call: &Call, request: MPI_Request, sends: bool) -> Outcome<(RequestId, Rc<Parts>)> {
    let id = given("request", request)?;
    let maker = if sends { "MPI_Psend_init" } else { "MPI_Precv_init" };
    match call.requests().partitioned.find(id).filter(|parts| parts.sends == sends) {
        Some(parts) => Ok((id, parts)),
        None => {
            let text = format_args!("request is none of {maker}, expected one");
            Err(Fault::new(MPI_ERR_REQUEST, text))
        }
    }
}

fn part<'a>(parts: &'a Parts, name: &str, given: c_int) -> Outcome<&'a Cell<bool>> {
    usize::try_from(given).ok().and_then(|index| parts.marked.get(index)).ok_or_else(|| {
        let last = parts.marked.len() - 1;
        Fault::new(MPI_ERR_ARG, format_args!("{name} is {given}, expected 0 to {last}"))
    })
}

/// Marks parts as ready; the last one lets the message go.
fn ready(call: &Call, request: MPI_Request, name: &str, given: impl Iterator<Item = c_int>) -> Outcome {
    let (id, parts) = parts_of(call, request, true)?;
    let rank = call.rank();
    if rank.state(id)? != Progress::Active {
        let text = "request is not started, expected MPI_Start before its parts are ready";
        return Err(Fault::new(MPI_ERR_REQUEST, text));
    }
    for given in given {
        if part(&parts, name, given)?.replace(true) {
            let text = format_args!("{name} is {given}, a part that was ready already, expected another");
            return Err(Fault::new(MPI_ERR_ARG, text));
        }
        parts.left.set(parts.left.get() - 1);
    }
    if parts.left.get() == 0 {
        parts.ready.set(true);
        // It leaves now, and not when the program waits for it.
        rank.peek(id)?;
    }
    Ok(())
}

pub(crate) fn mpi_psend_init(
    call: &Call,
    buf: Buf,
    partitions: c_int,
    count: i64,
    datatype: &Counted<Type>,
    dest: RankArg,
    tag: TagArg,
    comm: &Rc<Comm>,
    _info: Option<Arc<Info>>,
    request: Out<MPI_Request>,
) -> Outcome {
    let parts = Parts::new(true, number(partitions)?);
    let (dest, tag) = (dest.dest(comm)?, tag.of_send()?);
    let buffer = buf.send(count.saturating_mul(i64::from(partitions)), datatype)?;
    let id = call.rank().partitioned_send(&buffer, &parts.ready, dest, tag, &comm.comm)?;
    call.requests().partitioned.insert(id, parts);
    request.set(call.requests().started(id, comm));
    Ok(())
}

pub(crate) fn mpi_precv_init(
    call: &Call,
    buf: Buf,
    partitions: c_int,
    count: i64,
    datatype: &Counted<Type>,
    source: RankArg,
    tag: TagArg,
    comm: &Rc<Comm>,
    _info: Option<Arc<Info>>,
    request: Out<MPI_Request>,
) -> Outcome {
    let parts = Parts::new(false, number(partitions)?);
    let (from, tag) = (source.source(comm)?, tag.of_send()?);
    if from == Source::Any {
        let text = "source is MPI_ANY_SOURCE, expected a rank: partitioned receives have no wildcards";
        return Err(Fault::new(MPI_ERR_RANK, text));
    }
    let buffer = buf.receive(count.saturating_mul(i64::from(partitions)), datatype)?;
    let id = call.rank().partitioned_receive(&buffer, from, tag, &comm.comm)?;
    call.requests().partitioned.insert(id, parts);
    request.set(call.requests().started(id, comm));
    Ok(())
}

pub(crate) fn mpi_pready(call: &Call, partition: c_int, request: MPI_Request) -> Outcome {
    ready(call, request, "partition", std::iter::once(partition))
}

pub(crate) fn mpi_pready_range(
    call: &Call,
    partition_low: c_int,
    partition_high: c_int,
    request: MPI_Request,
) -> Outcome {
    ready(call, request, "partition_high", partition_low..=partition_high)
}

pub(crate) fn mpi_pready_list(
    call: &Call,
    _length: usize,
    array_of_partitions: &[c_int],
    request: MPI_Request,
) -> Outcome {
    ready(call, request, "array_of_partitions", array_of_partitions.iter().copied())
}

/// A part has arrived when all have. Of a request that is not active, all parts have (MPI section 4.2.2).
pub(crate) fn mpi_parrived(call: &Call, request: MPI_Request, partition: c_int, flag: Out<c_int>) -> Outcome {
    let (id, parts) = parts_of(call, request, false)?;
    part(&parts, "partition", partition)?;
    let rank = call.rank();
    let arrived = rank.state(id)? != Progress::Active || rank.peek(id)?.is_some();
    flag.set(c_int::from(arrived));
    Ok(())
}

//! What Corelace offers besides the standard (`corelace.h`): declared work, the I/O rank, raw mailboxes and portals.

use core::ffi::c_int;

use engine::Counted;

use crate::abi::constants::*;
use crate::call::Call;
use crate::convert::{Buf, Out, RankArg};
use crate::errors::Outcome;
use crate::handles::Type;

pub(crate) fn mpix_compute(call: &Call, cycles: i64) -> Outcome {
    Ok(call.rank().compute(cycles as u64)?)
}

pub(crate) fn mpix_io_rank(call: &Call, flag: Out<c_int>) -> Outcome {
    flag.set(c_int::from(call.rank().is_io_rank()));
    Ok(())
}

pub(crate) fn mpix_mailbox_write(call: &Call, rank: RankArg, message: Buf, bytes: i64) -> Outcome {
    let to = peer(call, rank)?;
    Ok(call.rank().mailbox_write(to, &*message.send(bytes, &*byte(call)?)?)?)
}

pub(crate) fn mpix_mailbox_read(call: &Call, message: Buf, bytes: i64, source: Out<c_int>) -> Outcome {
    let (from, _) = call.rank().mailbox_read(&*message.receive(bytes, &*byte(call)?)?)?;
    source.set(from as c_int);
    Ok(())
}

pub(crate) fn mpix_portal_allow(call: &Call, rank: RankArg) -> Outcome {
    Ok(call.rank().portal_allow(peer(call, rank)?)?)
}

pub(crate) fn mpix_portal_read(call: &Call, buffer: Buf, bytes: i64, source: RankArg) -> Outcome {
    let from = peer(call, source)?;
    Ok(call.rank().portal_read(&*buffer.receive(bytes, &*byte(call)?)?, from)?)
}

pub(crate) fn mpix_portal_write(call: &Call, rank: RankArg, buffer: Buf, bytes: i64) -> Outcome {
    let to = peer(call, rank)?;
    Ok(call.rank().portal_write(to, &*buffer.send(bytes, &*byte(call)?)?)?)
}

/// The raw calls number their peers as MPIX_COMM_LOCAL does.
fn peer(call: &Call, rank: RankArg) -> Outcome<u32> {
    rank.member(&*call.comm("comm", MPIX_COMM_LOCAL)?)
}

fn byte(call: &Call) -> Outcome<Counted<Type>> {
    call.datatype("datatype", MPI_BYTE)
}

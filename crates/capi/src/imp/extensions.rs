//! What Corelace offers besides the standard (`corelace.h`): declared work, the I/O rank, raw mailboxes and portals, blocks of arrays in
//! windows.

use core::ffi::c_int;

use engine::{Counted, Dest, RequestId};
use fabric::Shape;

use crate::abi::constants::*;
use crate::abi::types::*;
use crate::call::Call;
use crate::convert::{Buf, Out, RankArg, committed};
use crate::errors::{Fault, Outcome};
use crate::handles::{Type, Window};

pub(crate) fn mpix_compute(call: &Call, cycles: i64) -> Outcome {
    Ok(call.rank().compute(cycles as u64, 1)?)
}

pub(crate) fn mpix_compute_cores(call: &Call, cycles: i64, cores: i64) -> Outcome {
    Ok(call.rank().compute(cycles as u64, cores as u32)?)
}

pub(crate) fn mpix_segment_place(call: &Call, base: Buf, bytes: i64, subsystem: i64) -> Outcome {
    let byte = byte(call)?;
    let memory = base.receive(bytes, &byte)?;
    Ok(call.rank().lies_behind(memory.base().cast_const(), bytes as usize, subsystem as u32)?)
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

pub(crate) fn mpix_put_block(
    call: &Call,
    ndims: usize,
    block: &[c_int],
    local: Buf,
    local_extents: &[c_int],
    local_starts: &[c_int],
    datatype: &Counted<Type>,
    target_rank: RankArg,
    target_disp: MPI_Aint,
    target_extents: &[c_int],
    target_starts: &[c_int],
    win: &Window,
    event: Out<MPI_Request>,
) -> Outcome {
    let arrays = Arrays { ndims, block, datatype };
    let here = arrays.part(("local_extents", local_extents), ("local_starts", local_starts))?;
    let there = arrays.part(("target_extents", target_extents), ("target_starts", target_starts))?;
    move_block(call, (local, here), (target_rank, target_disp, there), win, event, true)
}

pub(crate) fn mpix_get_block(
    call: &Call,
    ndims: usize,
    block: &[c_int],
    local: Buf,
    local_extents: &[c_int],
    local_starts: &[c_int],
    datatype: &Counted<Type>,
    target_rank: RankArg,
    target_disp: MPI_Aint,
    target_extents: &[c_int],
    target_starts: &[c_int],
    win: &Window,
    event: Out<MPI_Request>,
) -> Outcome {
    let arrays = Arrays { ndims, block, datatype };
    let here = arrays.part(("local_extents", local_extents), ("local_starts", local_starts))?;
    let there = arrays.part(("target_extents", target_extents), ("target_starts", target_starts))?;
    move_block(call, (local, here), (target_rank, target_disp, there), win, event, false)
}

fn move_block(
    call: &Call,
    (local, here): (Buf, Shape),
    (rank, displacement, there): (RankArg, MPI_Aint, Shape),
    win: &Window,
    event: Out<MPI_Request>,
    puts: bool,
) -> Outcome {
    if local.address().is_null() && here.bytes() > 0 {
        return Err(Fault::new(MPI_ERR_BUFFER, "local is a null pointer, expected the address of an array"));
    }
    let id = match rank.dest(win)? {
        Dest::Null => RequestId::SENT,
        Dest::Rank(target) => {
            let aim = (target, displacement as i64);
            call.rank().move_block(win.inner(), &local.block(here), aim, &there, puts)?
        }
    };
    event.set(call.requests().started(id, win));
    Ok(())
}

/// What both arrays of a transfer have in common.
struct Arrays<'a> {
    ndims: usize,
    block: &'a [c_int],
    datatype: &'a Counted<Type>,
}

impl Arrays<'_> {
    /// The block as a part of one of them.
    fn part(&self, extents: (&str, &[c_int]), starts: (&str, &[c_int])) -> Outcome<Shape> {
        committed(self.datatype)?;
        let datatype = &self.datatype.datatype;
        if !datatype.layout().is_contiguous() {
            let text = "datatype has gaps, expected one whose elements follow each other without";
            return Err(Fault::new(MPI_ERR_TYPE, text));
        }
        if !(1..=3).contains(&self.ndims) {
            let text = format_args!("ndims is {}, expected 1, 2 or 3", self.ndims);
            return Err(Fault::new(MPI_ERR_DIMS, text));
        }
        // From the slowest on; dimensions that are not there have one element.
        let [mut whole, mut part, mut first] = [[1, 1, 1], [1, 1, 1], [0, 0, 0]];
        for (index, to) in (3 - self.ndims..3).enumerate() {
            let (extent, length, start) = (extents.1[index], self.block[index], starts.1[index]);
            if extent < 1
                || length < 0
                || start < 0
                || i64::from(start) + i64::from(length) > i64::from(extent)
            {
                let text = format_args!(
                    "block[{index}] is {length}, {}[{index}] {extent} and {}[{index}] {start}, expected a part of the array",
                    extents.0, starts.0
                );
                return Err(Fault::new(MPI_ERR_ARG, text));
            }
            (whole[to], part[to], first[to]) = (extent as usize, length as usize, start as usize);
        }
        let [row, plane] = [whole[2], whole[1]];
        let bytes = |elements: Option<usize>| {
            let bytes = elements?.checked_mul(datatype.size() as usize)?;
            Some(bytes).filter(|bytes| *bytes <= isize::MAX as usize)
        };
        let all = bytes(row.checked_mul(plane).and_then(|plane| plane.checked_mul(whole[0])));
        if all.is_none() {
            let text = format_args!(
                "{} are those of an array that has more bytes than there are addresses",
                extents.0
            );
            return Err(Fault::new(MPI_ERR_ARG, text));
        }
        let size = datatype.size() as usize;
        Ok(Shape {
            offset: ((first[0] * plane + first[1]) * row + first[2]) * size,
            row_bytes: part[2] * size,
            rows: part[1],
            row_stride: row * size,
            planes: part[0],
            plane_stride: row * plane * size,
        })
    }
}

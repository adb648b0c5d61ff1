//! Chapter 12: put, get and accumulate operations (MPI section 12.3). They are complete when they return, so their requests are, too.

use engine::{Aim, Builtin, Counted, Dest, Lent, RequestId, SendBuffer};

use crate::abi::constants::*;
use crate::abi::types::*;
use crate::call::Call;
use crate::convert::{Buf, Out, RankArg, committed};
use crate::errors::{Fault, Outcome};
use crate::handles::{Op, Type, Window};

/// The part of the arguments that is about the target; none for MPI_PROC_NULL.
#[inline(always)]
fn aim<'a>(
    rank: RankArg,
    displacement: MPI_Aint,
    (count, datatype): (i64, &'a Counted<Type>),
    win: &Window,
) -> Outcome<Option<Aim<'a>>> {
    committed(datatype)?;
    Ok(match rank.dest(win)? {
        Dest::Null => None,
        Dest::Rank(target) => Some(Aim {
            target,
            displacement: displacement as i64,
            count: count as u64,
            datatype: &datatype.datatype,
        }),
    })
}

#[inline(always)]
pub(crate) fn mpi_put(
    call: &Call,
    origin_addr: Buf,
    origin_count: i64,
    origin_datatype: &Counted<Type>,
    target_rank: RankArg,
    target_disp: MPI_Aint,
    target_count: i64,
    target_datatype: &Counted<Type>,
    win: &Window,
) -> Outcome {
    let from = origin_addr.send(origin_count, origin_datatype)?;
    match aim(target_rank, target_disp, (target_count, target_datatype), win)? {
        Some(aim) => Ok(call.rank().put(win.inner(), &from, &aim)?),
        None => Ok(()),
    }
}

#[inline(always)]
pub(crate) fn mpi_get(
    call: &Call,
    origin_addr: Buf,
    origin_count: i64,
    origin_datatype: &Counted<Type>,
    target_rank: RankArg,
    target_disp: MPI_Aint,
    target_count: i64,
    target_datatype: &Counted<Type>,
    win: &Window,
) -> Outcome {
    let into = origin_addr.receive(origin_count, origin_datatype)?;
    match aim(target_rank, target_disp, (target_count, target_datatype), win)? {
        Some(aim) => Ok(call.rank().get(win.inner(), &into, &aim)?),
        None => Ok(()),
    }
}

/// The operation of an accumulate: a predefined one. MPI_NO_OP only where something is fetched.
#[inline]
fn operation(op: &Op, fetches: bool) -> Outcome<Builtin> {
    match op.predefined() {
        Some(builtin) if fetches || builtin != Builtin::NoOp => Ok(builtin),
        other => Err(no_operation(other.is_some())),
    }
}

#[cold]
#[inline(never)]
fn no_operation(is_predefined: bool) -> Fault {
    let reason = if is_predefined {
        "op is MPI_NO_OP, expected an operation that changes the target: nothing is fetched"
    } else {
        "op is one of the program's own, expected a predefined operation"
    };
    Fault::new(MPI_ERR_OP, reason)
}

#[inline(never)]
pub(crate) fn mpi_accumulate(
    call: &Call,
    origin_addr: Buf,
    origin_count: i64,
    origin_datatype: &Counted<Type>,
    target_rank: RankArg,
    target_disp: MPI_Aint,
    target_count: i64,
    target_datatype: &Counted<Type>,
    op: &Op,
    win: &Window,
) -> Outcome {
    let op = operation(op, false)?;
    let from = origin_addr.send(origin_count, origin_datatype)?;
    match aim(target_rank, target_disp, (target_count, target_datatype), win)? {
        Some(aim) => Ok(call.rank().accumulate(win.inner(), Some(&from), None, &aim, op)?),
        None => Ok(()),
    }
}

/// With MPI_NO_OP the arguments of the origin mean nothing.
#[inline(never)]
pub(crate) fn mpi_get_accumulate(
    call: &Call,
    origin_addr: Buf,
    origin_count: i64,
    origin_datatype: &Counted<Type>,
    result_addr: Buf,
    result_count: i64,
    result_datatype: &Counted<Type>,
    target_rank: RankArg,
    target_disp: MPI_Aint,
    target_count: i64,
    target_datatype: &Counted<Type>,
    op: &Op,
    win: &Window,
) -> Outcome {
    let op = operation(op, true)?;
    let from =
        if op == Builtin::NoOp { None } else { Some(origin_addr.send(origin_count, origin_datatype)?) };
    let into = result_addr.receive(result_count, result_datatype)?;
    match aim(target_rank, target_disp, (target_count, target_datatype), win)? {
        Some(aim) => Ok(call.rank().accumulate(win.inner(), from.as_deref(), Some(&into), &aim, op)?),
        None => Ok(()),
    }
}

/// One element of a predefined type.
#[inline(always)]
fn element<'a>(name: &'static str, buf: Buf, datatype: &'a Counted<Type>) -> Outcome<Lent<'a, SendBuffer>> {
    if buf.address().is_null() || !datatype.datatype.is_predefined() {
        return Err(no_element(name, buf.address().is_null()));
    }
    buf.send(1, datatype)
}

#[cold]
#[inline(never)]
fn no_element(name: &'static str, is_null: bool) -> Fault {
    if is_null {
        let text = format_args!("{name} is a null pointer, expected the address of an element");
        Fault::new(MPI_ERR_BUFFER, text)
    } else {
        Fault::new(MPI_ERR_TYPE, "the datatype is derived, expected a predefined one")
    }
}

#[inline(always)]
pub(crate) fn mpi_fetch_and_op(
    call: &Call,
    origin_addr: Buf,
    result_addr: Buf,
    datatype: &Counted<Type>,
    target_rank: RankArg,
    target_disp: MPI_Aint,
    op: &Op,
    win: &Window,
) -> Outcome {
    let op = operation(op, true)?;
    let from = if op == Builtin::NoOp { None } else { Some(element("origin_addr", origin_addr, datatype)?) };
    element("result_addr", result_addr, datatype)?;
    let into = result_addr.receive(1, datatype)?;
    match aim(target_rank, target_disp, (1, datatype), win)? {
        Some(aim) => Ok(call.rank().fetch_and_op(win.inner(), from.as_deref(), &into, &aim, op)?),
        None => Ok(()),
    }
}

#[inline(always)]
pub(crate) fn mpi_compare_and_swap(
    call: &Call,
    origin_addr: Buf,
    compare_addr: Buf,
    result_addr: Buf,
    datatype: &Counted<Type>,
    target_rank: RankArg,
    target_disp: MPI_Aint,
    win: &Window,
) -> Outcome {
    let desired = element("origin_addr", origin_addr, datatype)?;
    let expected = element("compare_addr", compare_addr, datatype)?;
    element("result_addr", result_addr, datatype)?;
    let into = result_addr.receive(1, datatype)?;
    match aim(target_rank, target_disp, (1, datatype), win)? {
        Some(aim) => Ok(call.rank().compare_and_swap(win.inner(), &desired, &expected, &into, &aim)?),
        None => Ok(()),
    }
}

/// The forms with requests are for epochs of passive targets (MPI section 12.3.5).
fn requested(call: &Call, win: &Window, request: Out<MPI_Request>, act: impl FnOnce() -> Outcome) -> Outcome {
    call.rank().may_request(win.inner())?;
    act()?;
    request.set(call.requests().started(RequestId::SENT, win));
    Ok(())
}

pub(crate) fn mpi_rput(
    call: &Call,
    origin_addr: Buf,
    origin_count: i64,
    origin_datatype: &Counted<Type>,
    target_rank: RankArg,
    target_disp: MPI_Aint,
    target_count: i64,
    target_datatype: &Counted<Type>,
    win: &Window,
    request: Out<MPI_Request>,
) -> Outcome {
    let origin = (origin_addr, origin_count, origin_datatype);
    requested(call, win, request, || {
        let target = (target_rank, target_disp, target_count, target_datatype);
        mpi_put(call, origin.0, origin.1, origin.2, target.0, target.1, target.2, target.3, win)
    })
}

pub(crate) fn mpi_rget(
    call: &Call,
    origin_addr: Buf,
    origin_count: i64,
    origin_datatype: &Counted<Type>,
    target_rank: RankArg,
    target_disp: MPI_Aint,
    target_count: i64,
    target_datatype: &Counted<Type>,
    win: &Window,
    request: Out<MPI_Request>,
) -> Outcome {
    let origin = (origin_addr, origin_count, origin_datatype);
    requested(call, win, request, || {
        let target = (target_rank, target_disp, target_count, target_datatype);
        mpi_get(call, origin.0, origin.1, origin.2, target.0, target.1, target.2, target.3, win)
    })
}

pub(crate) fn mpi_raccumulate(
    call: &Call,
    origin_addr: Buf,
    origin_count: i64,
    origin_datatype: &Counted<Type>,
    target_rank: RankArg,
    target_disp: MPI_Aint,
    target_count: i64,
    target_datatype: &Counted<Type>,
    op: &Op,
    win: &Window,
    request: Out<MPI_Request>,
) -> Outcome {
    let origin = (origin_addr, origin_count, origin_datatype);
    requested(call, win, request, || {
        let target = (target_rank, target_disp, target_count, target_datatype);
        mpi_accumulate(call, origin.0, origin.1, origin.2, target.0, target.1, target.2, target.3, op, win)
    })
}

pub(crate) fn mpi_rget_accumulate(
    call: &Call,
    origin_addr: Buf,
    origin_count: i64,
    origin_datatype: &Counted<Type>,
    result_addr: Buf,
    result_count: i64,
    result_datatype: &Counted<Type>,
    target_rank: RankArg,
    target_disp: MPI_Aint,
    target_count: i64,
    target_datatype: &Counted<Type>,
    op: &Op,
    win: &Window,
    request: Out<MPI_Request>,
) -> Outcome {
    let (origin, result) = ((origin_addr, origin_count), (result_addr, result_count, result_datatype));
    requested(call, win, request, || {
        let target = (target_rank, target_disp, target_count, target_datatype);
        mpi_get_accumulate(
            call,
            origin.0,
            origin.1,
            origin_datatype,
            result.0,
            result.1,
            result.2,
            target.0,
            target.1,
            target.2,
            target.3,
            op,
            win,
        )
    })
}

//! Chapter 6: reduction operations.

use core::ffi::c_int;
use std::cell::Cell;

use crate::abi::constants::*;
use crate::abi::types::*;
use crate::call::Call;
use crate::convert::Out;
use crate::errors::{Fault, Outcome};
use crate::handles::{Op, UserFunction, UserOp};

pub(super) fn create(call: &Call, function: UserFunction, commute: bool, op: Out<MPI_Op>) -> Outcome {
    if function.is_missing() {
        return Err(Fault::null("user_fn"));
    }
    op.set(call.state.ops.insert(UserOp { function, commutes: commute }));
    Ok(())
}

pub(crate) fn mpi_op_create(
    call: &Call,
    user_fn: MPI_User_function,
    commute: bool,
    op: Out<MPI_Op>,
) -> Outcome {
    create(call, UserFunction::Small(user_fn), commute, op)
}

pub(crate) fn mpi_op_create_c(
    call: &Call,
    user_fn: MPI_User_function_c,
    commute: bool,
    op: Out<MPI_Op>,
) -> Outcome {
    create(call, UserFunction::Large(user_fn), commute, op)
}

pub(crate) fn mpi_op_free(call: &Call, op: &Cell<MPI_Op>) -> Outcome {
    let handle = op.get();
    let freed = call.state.ops.remove(handle);
    drop(freed.ok_or_else(|| {
        let past = call.state.ops.table().past(handle.0);
        Fault::handle(MPI_ERR_OP, "op", handle.0, "an operation of the program", past)
    })?);
    op.set(MPI_OP_NULL);
    Ok(())
}

pub(crate) fn mpi_op_commutative(_: &Call, op: &Op, commute: Out<c_int>) -> Outcome {
    commute.set(c_int::from(match op {
        Op::User(op) => op.commutes,
        // The later of two replacements wins, so their order matters.
        Op::Predefined(op) => ![MPI_REPLACE, MPI_NO_OP].contains(op),
    }));
    Ok(())
}

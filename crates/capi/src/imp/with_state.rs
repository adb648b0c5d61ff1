//! Operations and error handlers whose function gets a state of the program's (`corelace.h`): what bindings of other languages need to find the function of theirs.

use core::ffi::c_void;
use std::mem::transmute;

use crate::abi::types::*;
use crate::call::Call;
use crate::convert::Out;
use crate::errors::{Fault, Outcome};
use crate::handles::{Action, Bearer, Errhandler, FunctionWith, UserFunction};
use crate::imp::ops;

pub(crate) fn mpix_op_create_x(
    call: &Call,
    user_fn_x: MPIX_User_function_x,
    destructor_fn: MPIX_Destructor_function,
    commute: bool,
    extra_state: *mut c_void,
    op: Out<MPI_Op>,
) -> Outcome {
    ops::create(call, UserFunction::WithState(user_fn_x, destructor_fn, extra_state), commute, op)
}

fn create(
    call: &Call,
    bearer: Bearer,
    function: Option<FunctionWith>,
    destructor: MPIX_Destructor_function,
    state: *mut c_void,
    errhandler: Out<MPI_Errhandler>,
) -> Outcome {
    let Some(function) = function else { return Err(Fault::null("the error handler function")) };
    let made = Errhandler::with_destructor(Action::CallWith(bearer, function, state), destructor);
    errhandler.set(made.refer(&call.state.handlers));
    Ok(())
}

pub(crate) fn mpix_comm_create_errhandler_x(
    call: &Call,
    function: MPIX_Comm_errhandler_function_x,
    destructor_fn: MPIX_Destructor_function,
    extra_state: *mut c_void,
    errhandler: Out<MPI_Errhandler>,
) -> Outcome {
    // SAFETY: the types differ in the name of the handle only, which is an address-sized number in all of them.
    let function = unsafe { transmute::<MPIX_Comm_errhandler_function_x, Option<FunctionWith>>(function) };
    create(call, Bearer::Comm, function, destructor_fn, extra_state, errhandler)
}

pub(crate) fn mpix_file_create_errhandler_x(
    call: &Call,
    function: MPIX_File_errhandler_function_x,
    destructor_fn: MPIX_Destructor_function,
    extra_state: *mut c_void,
    errhandler: Out<MPI_Errhandler>,
) -> Outcome {
    // SAFETY: as for communicators.
    let function = unsafe { transmute::<MPIX_File_errhandler_function_x, Option<FunctionWith>>(function) };
    create(call, Bearer::File, function, destructor_fn, extra_state, errhandler)
}

pub(crate) fn mpix_session_create_errhandler_x(
    call: &Call,
    function: MPIX_Session_errhandler_function_x,
    destructor_fn: MPIX_Destructor_function,
    extra_state: *mut c_void,
    errhandler: Out<MPI_Errhandler>,
) -> Outcome {
    // SAFETY: as for communicators.
    let function = unsafe { transmute::<MPIX_Session_errhandler_function_x, Option<FunctionWith>>(function) };
    create(call, Bearer::Session, function, destructor_fn, extra_state, errhandler)
}

pub(crate) fn mpix_win_create_errhandler_x(
    call: &Call,
    function: MPIX_Win_errhandler_function_x,
    destructor_fn: MPIX_Destructor_function,
    extra_state: *mut c_void,
    errhandler: Out<MPI_Errhandler>,
) -> Outcome {
    // SAFETY: as for communicators.
    let function = unsafe { transmute::<MPIX_Win_errhandler_function_x, Option<FunctionWith>>(function) };
    create(call, Bearer::Win, function, destructor_fn, extra_state, errhandler)
}

//! Chapter 9: error handlers.

use core::ffi::c_int;
use std::cell::{Cell, RefCell};
use std::mem::transmute;
use std::rc::Rc;
use std::sync::Arc;

use crate::abi::constants::*;
use crate::abi::types::*;
use crate::call::{Call, Object, invoke};
use crate::convert::Out;
use crate::errors::{Fault, Outcome};
use crate::handles::{Action, Bearer, Comm, Errhandler, File, Function, Session, Window};

fn create(
    call: &Call,
    bearer: Bearer,
    function: Option<Function>,
    errhandler: Out<MPI_Errhandler>,
) -> Outcome {
    let Some(function) = function else { return Err(Fault::null("the error handler function")) };
    errhandler.set(Errhandler::new(Action::Call(bearer, function)).refer(&call.state.handlers));
    Ok(())
}

pub(crate) fn mpi_comm_create_errhandler(
    call: &Call,
    comm_errhandler_fn: MPI_Comm_errhandler_function,
    errhandler: Out<MPI_Errhandler>,
) -> Outcome {
    // SAFETY: the types differ in the name of the handle only, which is an address-sized number in all of them.
    let function = unsafe { transmute::<MPI_Comm_errhandler_function, Option<Function>>(comm_errhandler_fn) };
    create(call, Bearer::Comm, function, errhandler)
}

pub(crate) fn mpi_win_create_errhandler(
    call: &Call,
    win_errhandler_fn: MPI_Win_errhandler_function,
    errhandler: Out<MPI_Errhandler>,
) -> Outcome {
    // SAFETY: as for communicators.
    let function = unsafe { transmute::<MPI_Win_errhandler_function, Option<Function>>(win_errhandler_fn) };
    create(call, Bearer::Win, function, errhandler)
}

pub(crate) fn mpi_file_create_errhandler(
    call: &Call,
    file_errhandler_fn: MPI_File_errhandler_function,
    errhandler: Out<MPI_Errhandler>,
) -> Outcome {
    // SAFETY: as for communicators.
    let function = unsafe { transmute::<MPI_File_errhandler_function, Option<Function>>(file_errhandler_fn) };
    create(call, Bearer::File, function, errhandler)
}

pub(crate) fn mpi_session_create_errhandler(
    call: &Call,
    session_errhandler_fn: MPI_Session_errhandler_function,
    errhandler: Out<MPI_Errhandler>,
) -> Outcome {
    // SAFETY: as for communicators.
    let function =
        unsafe { transmute::<MPI_Session_errhandler_function, Option<Function>>(session_errhandler_fn) };
    create(call, Bearer::Session, function, errhandler)
}

pub(crate) fn mpi_errhandler_free(call: &Call, errhandler: &Cell<MPI_Errhandler>) -> Outcome {
    call.errhandler("errhandler", errhandler.get())?.release(&call.state.handlers);
    errhandler.set(MPI_ERRHANDLER_NULL);
    Ok(())
}

/// An error unless such objects may have this handler.
#[inline(never)]
pub(crate) fn suits(bearer: Bearer, errhandler: &Errhandler) -> Outcome {
    match errhandler.action.bearer() {
        Some(wanted) if wanted != bearer => {
            let text = format_args!(
                "errhandler is for another kind of object, expected one from MPI_{bearer:?}_create_errhandler"
            );
            Err(Fault::new(MPI_ERR_ERRHANDLER, text))
        }
        _ => Ok(()),
    }
}

/// Gives an object another handler.
#[inline(never)]
fn set(current: &RefCell<Arc<Errhandler>>, bearer: Bearer, errhandler: &Arc<Errhandler>) -> Outcome {
    suits(bearer, errhandler)?;
    let previous = current.replace(Arc::clone(errhandler));
    drop(previous);
    Ok(())
}

/// Calls an object's handler with a code of the program's.
#[inline(never)]
fn call_with(call: &Call, current: Arc<Errhandler>, object: Object, errorcode: c_int) {
    let text = call.state.errors.text(errorcode).unwrap_or_else(|_| format!("error code {errorcode}"));
    invoke(call.state, &current, object, errorcode, &format!("{}: {text}", call.name));
}

pub(crate) fn mpi_comm_set_errhandler(call: &Call, comm: &Rc<Comm>, errhandler: &Arc<Errhandler>) -> Outcome {
    set(&comm.errhandler, Bearer::Comm, errhandler)?;
    call.state.handlers.chosen(comm.handle());
    Ok(())
}

pub(crate) fn mpi_comm_get_errhandler(
    call: &Call,
    comm: &Rc<Comm>,
    errhandler: Out<MPI_Errhandler>,
) -> Outcome {
    errhandler.set(comm.errhandler.borrow().refer(&call.state.handlers));
    Ok(())
}

pub(crate) fn mpi_comm_call_errhandler(call: &Call, comm: &Rc<Comm>, errorcode: c_int) -> Outcome {
    let current = Arc::clone(&comm.errhandler.borrow());
    call_with(call, current, Object(Bearer::Comm, comm.handle().0), errorcode);
    Ok(())
}

pub(crate) fn mpi_win_set_errhandler(_: &Call, win: &Window, errhandler: &Arc<Errhandler>) -> Outcome {
    set(&win.errhandler, Bearer::Win, errhandler)
}

pub(crate) fn mpi_win_get_errhandler(call: &Call, win: &Window, errhandler: Out<MPI_Errhandler>) -> Outcome {
    errhandler.set(win.errhandler.borrow().refer(&call.state.handlers));
    Ok(())
}

pub(crate) fn mpi_win_call_errhandler(call: &Call, win: &Window, errorcode: c_int) -> Outcome {
    let current = Arc::clone(&win.errhandler.borrow());
    call_with(call, current, Object(Bearer::Win, win.handle().0), errorcode);
    Ok(())
}

pub(crate) fn mpi_session_set_errhandler(
    _: &Call,
    session: &Arc<Session>,
    errhandler: &Arc<Errhandler>,
) -> Outcome {
    suits(Bearer::Session, errhandler)?;
    let previous = session.set_errhandler(Arc::clone(errhandler));
    drop(previous);
    Ok(())
}

pub(crate) fn mpi_session_get_errhandler(
    call: &Call,
    session: &Arc<Session>,
    errhandler: Out<MPI_Errhandler>,
) -> Outcome {
    errhandler.set(session.errhandler().refer(&call.state.handlers));
    Ok(())
}

pub(crate) fn mpi_session_call_errhandler(call: &Call, session: &Arc<Session>, errorcode: c_int) -> Outcome {
    let handle = call.state.sessions.handle_of(session);
    call_with(call, session.errhandler(), Object(Bearer::Session, handle.0), errorcode);
    Ok(())
}

// Without a file it is the handler that files begin with (MPI section 14.7).

pub(crate) fn mpi_file_set_errhandler(
    call: &Call,
    file: Option<&Rc<File>>,
    errhandler: &Arc<Errhandler>,
) -> Outcome {
    let Some(file) = file else {
        suits(Bearer::File, errhandler)?;
        let previous = std::mem::replace(&mut *call.state.handlers.file(), Arc::clone(errhandler));
        drop(previous);
        return Ok(());
    };
    set(&file.errhandler, Bearer::File, errhandler)
}

pub(crate) fn mpi_file_get_errhandler(
    call: &Call,
    file: Option<&Rc<File>>,
    errhandler: Out<MPI_Errhandler>,
) -> Outcome {
    errhandler.set(of_file(call, file).refer(&call.state.handlers));
    Ok(())
}

pub(crate) fn mpi_file_call_errhandler(call: &Call, fh: Option<&Rc<File>>, errorcode: c_int) -> Outcome {
    let handle = fh.map_or(MPI_FILE_NULL, |file| file.handle());
    call_with(call, of_file(call, fh), Object(Bearer::File, handle.0), errorcode);
    Ok(())
}

fn of_file(call: &Call, file: Option<&Rc<File>>) -> Arc<Errhandler> {
    match file {
        Some(file) => Arc::clone(&file.errhandler.borrow()),
        None => Arc::clone(&call.state.handlers.file()),
    }
}

//! Chapter 9: error handlers.

use core::ffi::c_int;
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use crate::abi::constants::*;
use crate::abi::types::*;
use crate::call::{Call, Object, invoke};
use crate::convert::Out;
use crate::errors::{Fault, Outcome};
use crate::handles::{Action, Comm, Errhandler, Session};

fn create(call: &Call, action: Action, missing: bool, errhandler: Out<MPI_Errhandler>) -> Outcome {
    if missing {
        return Err(Fault::null("the error handler function"));
    }
    errhandler.set(Errhandler::new(action).refer(&call.state.handlers));
    Ok(())
}

pub(crate) fn mpi_comm_create_errhandler(
    call: &Call,
    comm_errhandler_fn: MPI_Comm_errhandler_function,
    errhandler: Out<MPI_Errhandler>,
) -> Outcome {
    create(call, Action::Comm(comm_errhandler_fn), comm_errhandler_fn.is_none(), errhandler)
}

pub(crate) fn mpi_win_create_errhandler(
    call: &Call,
    win_errhandler_fn: MPI_Win_errhandler_function,
    errhandler: Out<MPI_Errhandler>,
) -> Outcome {
    create(call, Action::Win, win_errhandler_fn.is_none(), errhandler)
}

pub(crate) fn mpi_file_create_errhandler(
    call: &Call,
    file_errhandler_fn: MPI_File_errhandler_function,
    errhandler: Out<MPI_Errhandler>,
) -> Outcome {
    create(call, Action::File(file_errhandler_fn), file_errhandler_fn.is_none(), errhandler)
}

pub(crate) fn mpi_session_create_errhandler(
    call: &Call,
    session_errhandler_fn: MPI_Session_errhandler_function,
    errhandler: Out<MPI_Errhandler>,
) -> Outcome {
    create(call, Action::Session(session_errhandler_fn), session_errhandler_fn.is_none(), errhandler)
}

pub(crate) fn mpi_errhandler_free(call: &Call, errhandler: &Cell<MPI_Errhandler>) -> Outcome {
    call.errhandler("errhandler", errhandler.get())?.release(&call.state.handlers);
    errhandler.set(MPI_ERRHANDLER_NULL);
    Ok(())
}

pub(crate) fn mpi_comm_set_errhandler(call: &Call, comm: &Rc<Comm>, errhandler: &Arc<Errhandler>) -> Outcome {
    for_communicators(errhandler)?;
    call.state.handlers.chosen(comm.handle());
    let previous = comm.errhandler.replace(Arc::clone(errhandler));
    drop(previous);
    Ok(())
}

/// An error unless communicators may have this handler.
pub(crate) fn for_communicators(errhandler: &Errhandler) -> Outcome {
    if matches!(errhandler.action, Action::Win | Action::File(_) | Action::Session(_)) {
        let text = "errhandler is for another kind of object, expected one from MPI_Comm_create_errhandler";
        return Err(Fault::new(MPI_ERR_ERRHANDLER, text));
    }
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
    let text = call.state.errors.text(errorcode).unwrap_or_else(|_| format!("error code {errorcode}"));
    let current = Arc::clone(&comm.errhandler.borrow());
    let sentence = format!("{}: {text}", call.name);
    invoke(call.state, &current, Object::Comm(comm.handle()), errorcode, &sentence);
    Ok(())
}

pub(crate) fn mpi_session_set_errhandler(
    _: &Call,
    session: &Arc<Session>,
    errhandler: &Arc<Errhandler>,
) -> Outcome {
    for_sessions(errhandler)?;
    let mut current = session.errhandler.lock().expect("nobody panics with it");
    let previous = std::mem::replace(&mut *current, Arc::clone(errhandler));
    drop(current);
    drop(previous);
    Ok(())
}

pub(crate) fn mpi_session_get_errhandler(
    call: &Call,
    session: &Arc<Session>,
    errhandler: Out<MPI_Errhandler>,
) -> Outcome {
    let current = Arc::clone(&session.errhandler.lock().expect("nobody panics with it"));
    errhandler.set(current.refer(&call.state.handlers));
    Ok(())
}

pub(crate) fn mpi_session_call_errhandler(call: &Call, session: &Arc<Session>, errorcode: c_int) -> Outcome {
    let text = call.state.errors.text(errorcode).unwrap_or_else(|_| format!("error code {errorcode}"));
    let current = Arc::clone(&session.errhandler.lock().expect("nobody panics with it"));
    let handle = call.state.sessions.handle_of(session);
    let sentence = format!("{}: {text}", call.name);
    invoke(call.state, &current, Object::Session(handle), errorcode, &sentence);
    Ok(())
}

/// An error unless sessions may have this handler.
pub(crate) fn for_sessions(errhandler: &Errhandler) -> Outcome {
    if matches!(errhandler.action, Action::Win | Action::File(_) | Action::Comm(_)) {
        let text =
            "errhandler is for another kind of object, expected one from MPI_Session_create_errhandler";
        return Err(Fault::new(MPI_ERR_ERRHANDLER, text));
    }
    Ok(())
}

// Files are not implemented; their default handler, that of MPI_FILE_NULL, can be read and set.

pub(crate) fn mpi_file_set_errhandler(call: &Call, file: MPI_File, errhandler: &Arc<Errhandler>) -> Outcome {
    null_file(file)?;
    let previous = std::mem::replace(&mut *call.state.handlers.file(), Arc::clone(errhandler));
    drop(previous);
    Ok(())
}

pub(crate) fn mpi_file_get_errhandler(
    call: &Call,
    file: MPI_File,
    errhandler: Out<MPI_Errhandler>,
) -> Outcome {
    null_file(file)?;
    let current = Arc::clone(&call.state.handlers.file());
    errhandler.set(current.refer(&call.state.handlers));
    Ok(())
}

pub(crate) fn mpi_file_call_errhandler(call: &Call, fh: MPI_File, errorcode: c_int) -> Outcome {
    null_file(fh)?;
    let text = call.state.errors.text(errorcode).unwrap_or_else(|_| format!("error code {errorcode}"));
    let current = Arc::clone(&call.state.handlers.file());
    invoke(call.state, &current, Object::File(fh), errorcode, &format!("{}: {text}", call.name));
    Ok(())
}

fn null_file(file: MPI_File) -> Outcome {
    if file == MPI_FILE_NULL {
        Ok(())
    } else {
        Err(Fault::handle(MPI_ERR_FILE, "file", file.0, "MPI_FILE_NULL or an open file"))
    }
}

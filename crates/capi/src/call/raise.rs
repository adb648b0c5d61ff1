//! What becomes of a call that failed: the error handler of its object is called (MPI section 9.3).

use core::ffi::c_int;
use std::sync::Arc;

use crate::abi::constants::*;
use crate::abi::types::*;
use crate::call::{Call, Scope};
use crate::errors::{Fault, registry};
use crate::handles::{Action, Bearer, Errhandler, lane_of};
use crate::process::{State, site};

/// Calls the handler of the object that the failed call was about; returns what the call returns.
#[cold]
#[inline(never)]
pub(crate) fn raise(call: &Call, scope: Scope, fault: Fault) -> c_int {
    if fault.is_raised() {
        return fault.code();
    }
    let state = call.state;
    let sentence = sentence(state, call.name, &fault);
    state.errors.note(fault.code(), &sentence);
    if call.lane() != 0 {
        // What is said of the call is found where those of the first lane are noted.
        state.first.noted().copy(call.seat.noted());
    }
    if let Some(check) = state.check() {
        check.explain(state, fault.code());
    }
    let (handler, object) = find(call, scope);
    if let (Some(check), Some(_)) = (state.check(), handler.action.bearer()) {
        check.fail(state, fault.code());
    }
    invoke(state, &handler, object, fault.code(), &sentence)
}

/// Lets a handler act on a code.
pub(crate) fn invoke(
    state: &State,
    handler: &Errhandler,
    object: Object,
    mut code: c_int,
    sentence: &str,
) -> c_int {
    let Object(bearer, mut handle) = object;
    match handler.action {
        Action::Return => (),
        Action::Call(wanted, function) if wanted == bearer => {
            let Some(_running) = state.handlers.begin() else { return code };
            // SAFETY: the program registered this function for exactly these arguments.
            unsafe { function(&mut handle, &mut code) }
        }
        Action::CallWith(wanted, function, extra) if wanted == bearer => {
            let Some(_running) = state.handlers.begin() else { return code };
            // SAFETY: as above, with the state that it was registered with.
            unsafe { function(handle, code, extra) }
        }
        Action::Fatal => end(state, code, sentence, "is MPI_ERRORS_ARE_FATAL"),
        Action::Abort => end(state, code, sentence, "is MPI_ERRORS_ABORT"),
        Action::Call(..) | Action::CallWith(..) => end(state, code, sentence, "is of another kind of object"),
    }
    code
}

/// Ends the job for an error; the launcher explains where in the program it was.
fn end(state: &State, code: c_int, sentence: &str, handler: &str) -> ! {
    let place = site::in_words(&|| state.last_call()).map_or_else(String::new, |place| format!(" {place}"));
    state.end(code, &format!("{sentence}{place}; its error handler {handler}"))
}

/// The object that a handler is called with: its kind and its handle.
#[derive(Clone, Copy)]
pub(crate) struct Object(pub(crate) Bearer, pub(crate) usize);

/// The handler of the object that a call was about. Outside the life of MPI an error goes to the initial handler, which is fatal unless the user has said otherwise.
fn find(call: &Call, scope: Scope) -> (Arc<Errhandler>, Object) {
    let state = call.state;
    let requests = call.requests();
    let nobody = state.handlers.nobodys();
    if let Some(found) = of_new(call, scope) {
        return found;
    }
    if !state.is_active() {
        return (Arc::clone(&state.handlers.initial), Object(Bearer::Comm, MPI_COMM_SELF.0));
    }
    let comm = match scope {
        Scope::Comm(comm) => comm,
        Scope::Request(request) => requests.comm(request),
        // SAFETY: the caller's promise: null, or a readable handle.
        Scope::RequestAt(at) => unsafe { at.as_ref() }.map_or(nobody, |request| {
            if *request == MPI_REQUEST_NULL { nobody } else { requests.comm(*request) }
        }),
        // SAFETY: as above.
        Scope::MessageAt(at) => unsafe { at.as_ref() }.map_or(nobody, |message| {
            if *message == MPI_MESSAGE_NULL { nobody } else { requests.comm_of_message(*message) }
        }),
        Scope::File(file) => return of_file(state, file),
        Scope::FileAt(at) => {
            // SAFETY: as above.
            let file = unsafe { at.as_ref() }.copied();
            return of_file(state, file.unwrap_or(MPI_FILE_NULL));
        }
        Scope::Files => return of_file(state, MPI_FILE_NULL),
        Scope::Session(handle) => {
            if let Some(session) = state.sessions.get(handle) {
                return (session.errhandler(), Object(Bearer::Session, handle.0));
            }
            nobody
        }
        Scope::Win(handle) => match of_window(state, handle) {
            Some(found) => return found,
            None => nobody,
        },
        // SAFETY: as above.
        Scope::WinAt(at) => match unsafe { at.as_ref() }.and_then(|handle| of_window(state, *handle)) {
            Some(found) => return found,
            None => nobody,
        },
        Scope::NewComm(_) | Scope::NewSession(_) | Scope::Process | Scope::Requests(..) => nobody,
    };
    if let Some(file) = state.files.get(MPI_File(comm.0)) {
        // A request of a file names the file.
        let handler = Arc::clone(&file.errhandler.borrow());
        return (handler, Object(Bearer::File, comm.0));
    }
    let handler = |handle: MPI_Comm| {
        call.in_lane(if state.has_lanes() { lane_of(handle.0) } else { 0 }, |_| {
            let comm = state.comms.get(handle)?;
            let handler = Arc::clone(&comm.errhandler.borrow());
            Some((handler, Object(Bearer::Comm, comm.handle().0)))
        })
    };
    let found = [comm, nobody, MPI_COMM_SELF].into_iter().find_map(handler);
    found.unwrap_or_else(|| (Arc::clone(&state.handlers.initial), Object(Bearer::Comm, MPI_COMM_SELF.0)))
}

/// The handler that was given for an object which is not there yet, if it is one for such objects.
fn of_new(call: &Call, scope: Scope) -> Option<(Arc<Errhandler>, Object)> {
    let (handler, object) = match scope {
        Scope::NewComm(handler) => (handler, Object(Bearer::Comm, MPI_COMM_NULL.0)),
        Scope::NewSession(handler) => (handler, Object(Bearer::Session, MPI_SESSION_NULL.0)),
        _ => return None,
    };
    let handler = call.errhandler("errhandler", handler).ok()?;
    let suits = handler.action.bearer().is_none_or(|wanted| wanted == object.0);
    suits.then_some((handler, object))
}

/// The handler of an open file, or that of all others.
fn of_file(state: &State, handle: MPI_File) -> (Arc<Errhandler>, Object) {
    let handler = match state.files.get(handle) {
        Some(file) => Arc::clone(&file.errhandler.borrow()),
        None => Arc::clone(&state.handlers.file()),
    };
    (handler, Object(Bearer::File, handle.0))
}

/// The handler of a window that was not freed.
fn of_window(state: &State, handle: MPI_Win) -> Option<(Arc<Errhandler>, Object)> {
    let window = state.windows.get(handle)?;
    let handler = Arc::clone(&window.errhandler.borrow());
    Some((handler, Object(Bearer::Win, handle.0)))
}

fn sentence(state: &State, function: &str, fault: &Fault) -> String {
    let class = state.errors.class(fault.code()).unwrap_or(fault.code());
    let class = registry::predefined(class).map_or_else(|| format!("class {class}"), str::to_owned);
    match state.world_rank() {
        Some(rank) => format!("{function} on rank {rank}: {} ({class})", fault.text()),
        None => format!("{function}: {} ({class})", fault.text()),
    }
}

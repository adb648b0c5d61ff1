//! Error handlers: what happens to a call that failed (MPI section 9.3).

use core::ffi::c_int;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

use crate::call::{Call, Scope};
use crate::errors::{Fault, registry};
use crate::r#gen::constants::*;
use crate::r#gen::types::*;
use crate::state::State;

/// An error handler object. Communicators share it; it lives as long as one of them or a handle refers to it.
pub(crate) struct Errhandler {
    pub(crate) action: Action,
    /// The handle under which the program knows it now, and how often it must be freed.
    handle: Cell<(usize, u32)>,
}

/// What an error handler does.
#[derive(Clone, Copy)]
pub(crate) enum Action {
    /// Ends all connected processes.
    Fatal,
    /// Ends the processes of the communicator.
    Abort,
    /// Returns the code to the caller.
    Return,
    /// Calls a function of the program.
    Comm(MPI_Comm_errhandler_function),
    File(MPI_File_errhandler_function),
    /// Made and freed; there are no windows to set it on.
    Win,
    /// The same for sessions.
    Session,
}

impl Errhandler {
    pub(crate) fn new(action: Action) -> Rc<Self> {
        Rc::new(Self { action, handle: Cell::new((0, 0)) })
    }

    /// A handle for the program to keep and to free.
    pub(crate) fn refer(self: &Rc<Self>, state: &State) -> MPI_Errhandler {
        match self.action {
            Action::Fatal => return MPI_ERRORS_ARE_FATAL,
            Action::Abort => return MPI_ERRORS_ABORT,
            Action::Return => return MPI_ERRORS_RETURN,
            _ => (),
        }
        let (mut handle, references) = self.handle.get();
        if references == 0 {
            handle = state.errhandlers.insert(Rc::clone(self));
        }
        self.handle.set((handle, references + 1));
        MPI_Errhandler(handle)
    }

    /// Gives one reference back.
    pub(crate) fn release(self: &Rc<Self>, state: &State) {
        let (handle, references) = self.handle.get();
        self.handle.set((handle, references.saturating_sub(1)));
        if references <= 1 {
            drop(state.errhandlers.remove(handle));
        }
    }
}

/// The handlers of this process that exist from the start, and those that objects other than communicators have.
pub(crate) struct Handlers {
    pub(crate) fatal: Rc<Errhandler>,
    pub(crate) abort: Rc<Errhandler>,
    pub(crate) returns: Rc<Errhandler>,
    /// Of MPI_FILE_NULL: the default of all files.
    pub(crate) file: RefCell<Rc<Errhandler>>,
}

impl Handlers {
    pub(crate) fn new() -> Self {
        let returns = Errhandler::new(Action::Return);
        Self {
            fatal: Errhandler::new(Action::Fatal),
            abort: Errhandler::new(Action::Abort),
            file: RefCell::new(Rc::clone(&returns)),
            returns,
        }
    }
}

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
    let (handler, object) = find(state, scope);
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
    match (handler.action, object) {
        (Action::Return, _) => (),
        (Action::Comm(Some(function)), Object::Comm(mut comm)) => {
            // SAFETY: the program registered this function for exactly these arguments.
            unsafe { function(&mut comm, &mut code) }
        }
        (Action::File(Some(function)), Object::File(mut file)) => {
            // SAFETY: as above.
            unsafe { function(&mut file, &mut code) }
        }
        (Action::Fatal, _) => {
            state.end(code, &format!("{sentence}; its error handler is MPI_ERRORS_ARE_FATAL"))
        }
        (Action::Abort, _) => state.end(code, &format!("{sentence}; its error handler is MPI_ERRORS_ABORT")),
        _ => state.end(code, &format!("{sentence}; its error handler is of another kind of object")),
    }
    code
}

/// The object that a handler is called with.
#[derive(Clone, Copy)]
pub(crate) enum Object {
    Comm(MPI_Comm),
    File(MPI_File),
}

/// An error that belongs to no valid object goes to MPI_COMM_SELF (MPI section 9.3); outside the life of MPI, to the initial
/// handler, which is fatal.
fn find(state: &State, scope: Scope) -> (Rc<Errhandler>, Object) {
    let own = Object::Comm(MPI_COMM_SELF);
    if !state.is_active() {
        return (Rc::clone(&state.handlers.fatal), own);
    }
    let comm = match scope {
        Scope::Comm(comm) => comm,
        Scope::Request(request) => state.comm_of_request(request),
        // SAFETY: the caller's promise: null, or a readable handle.
        Scope::RequestAt(at) => unsafe { at.as_ref() }.map_or(MPI_COMM_SELF, |request| {
            owner(state.comm_of_request(*request), *request == MPI_REQUEST_NULL)
        }),
        // SAFETY: as above.
        Scope::MessageAt(at) => unsafe { at.as_ref() }.map_or(MPI_COMM_SELF, |message| {
            owner(state.requests.comm_of_message(*message), *message == MPI_MESSAGE_NULL)
        }),
        Scope::File(file) => return (Rc::clone(&state.handlers.file.borrow()), Object::File(file)),
        Scope::Process => MPI_COMM_SELF,
    };
    let found = state.comms.get(comm).or_else(|| state.comms.get(MPI_COMM_SELF));
    match found {
        Some(entry) => (Rc::clone(&entry.errhandler.borrow()), Object::Comm(entry.handle())),
        None => (Rc::clone(&state.handlers.fatal), own),
    }
}

/// A null handle belongs to no communicator.
fn owner(comm: MPI_Comm, is_null: bool) -> MPI_Comm {
    if is_null { MPI_COMM_SELF } else { comm }
}

fn sentence(state: &State, function: &str, fault: &Fault) -> String {
    let class = state.errors.class(fault.code()).unwrap_or(fault.code());
    let class = registry::predefined(class).map_or_else(|| format!("class {class}"), str::to_owned);
    match state.world_rank() {
        Some(rank) => format!("{function} on rank {rank}: {} ({class})", fault.text()),
        None => format!("{function}: {} ({class})", fault.text()),
    }
}

//! Error handlers: what happens to a call that failed (MPI section 9.3).

use core::ffi::c_int;
use std::cell::{Cell, RefCell};
use std::sync::{Arc, Mutex};

use runtime::InitialHandler;

use crate::call::{Call, Scope};
use crate::errors::{Fault, registry};
use crate::r#gen::constants::*;
use crate::r#gen::types::*;
use crate::site;
use crate::state::State;

/// An error handler object. Communicators share it; it lives as long as one of them or a handle refers to it.
pub(crate) struct Errhandler {
    pub(crate) action: Action,
    /// The handle under which the program knows it now, and how often it must be freed.
    handle: Mutex<(usize, u32)>,
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
    Session(MPI_Session_errhandler_function),
    /// Made and freed; there are no windows to set it on.
    Win,
}

impl Errhandler {
    pub(crate) fn new(action: Action) -> Arc<Self> {
        Arc::new(Self { action, handle: Mutex::new((0, 0)) })
    }

    /// A handle for the program to keep and to free.
    pub(crate) fn refer(self: &Arc<Self>, state: &State) -> MPI_Errhandler {
        match self.action {
            Action::Fatal => return MPI_ERRORS_ARE_FATAL,
            Action::Abort => return MPI_ERRORS_ABORT,
            Action::Return => return MPI_ERRORS_RETURN,
            _ => (),
        }
        let mut known = self.handle.lock().expect("nobody panics with it");
        if known.1 == 0 {
            known.0 = state.errhandlers().insert(Arc::clone(self));
        }
        known.1 += 1;
        MPI_Errhandler(known.0)
    }

    /// Gives one reference back.
    pub(crate) fn release(self: &Arc<Self>, state: &State) {
        let mut known = self.handle.lock().expect("nobody panics with it");
        known.1 = known.1.saturating_sub(1);
        if known.1 == 0 {
            let freed = state.errhandlers().remove(known.0);
            drop(known);
            drop(freed);
        }
    }
}

/// The handlers of this process that exist from the start, and those that objects other than communicators have.
pub(crate) struct Handlers {
    pub(crate) fatal: Arc<Errhandler>,
    pub(crate) abort: Arc<Errhandler>,
    pub(crate) returns: Arc<Errhandler>,
    /// The one that MPI_COMM_WORLD and MPI_COMM_SELF begin with, and that errors go to while there are none.
    pub(crate) initial: Arc<Errhandler>,
    /// The communicator whose handler gets what belongs to no object, if the program has chosen one.
    nobodys: Cell<Option<MPI_Comm>>,
    nesting: Cell<Nesting>,
    /// Of MPI_FILE_NULL: the default of all files.
    pub(crate) file: RefCell<Arc<Errhandler>>,
}

impl Handlers {
    pub(crate) fn new() -> Self {
        let [fatal, abort, returns] = [Action::Fatal, Action::Abort, Action::Return].map(Errhandler::new);
        let initial = match InitialHandler::from_process() {
            InitialHandler::Fatal => &fatal,
            InitialHandler::Abort => &abort,
            InitialHandler::Return => &returns,
        };
        Self {
            initial: Arc::clone(initial),
            fatal,
            abort,
            nobodys: Cell::new(None),
            nesting: Cell::default(),
            file: RefCell::new(Arc::clone(&returns)),
            returns,
        }
    }

    /// Notes that the program has chosen the handler of this communicator: see [`find`].
    pub(crate) fn chosen(&self, comm: MPI_Comm) {
        if comm == MPI_COMM_SELF || comm == MPI_COMM_WORLD && self.nobodys.get().is_none() {
            self.nobodys.set(Some(comm));
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
    if let (Some(check), Action::Comm(_) | Action::File(_) | Action::Session(_)) =
        (state.check(), handler.action)
    {
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
    match (handler.action, object) {
        (Action::Return, _) => (),
        (Action::Comm(Some(function)), Object::Comm(mut comm)) => {
            let Some(_running) = Running::begin(&state.handlers.nesting) else { return code };
            // SAFETY: the program registered this function for exactly these arguments.
            unsafe { function(&mut comm, &mut code) }
        }
        (Action::File(Some(function)), Object::File(mut file)) => {
            let Some(_running) = Running::begin(&state.handlers.nesting) else { return code };
            // SAFETY: as above.
            unsafe { function(&mut file, &mut code) }
        }
        (Action::Session(Some(function)), Object::Session(mut session)) => {
            let Some(_running) = Running::begin(&state.handlers.nesting) else { return code };
            // SAFETY: as above.
            unsafe { function(&mut session, &mut code) }
        }
        (Action::Fatal, _) => end(state, code, sentence, "is MPI_ERRORS_ARE_FATAL"),
        (Action::Abort, _) => end(state, code, sentence, "is MPI_ERRORS_ABORT"),
        _ => end(state, code, sentence, "is of another kind of object"),
    }
    code
}

/// Ends the job for an error; the launcher explains where in the program it was.
fn end(state: &State, code: c_int, sentence: &str, handler: &str) -> ! {
    let place = site::in_words().map_or_else(String::new, |place| format!(" {place}"));
    state.end(code, &format!("{sentence}{place}; its error handler {handler}"))
}

/// How deep handlers of the program run in each other, and where on the stack the innermost one was called.
#[derive(Clone, Copy, Default)]
pub(crate) struct Nesting {
    depth: u32,
    stack: usize,
}

/// A handler whose own calls fail is called for these errors, too, this often; after that they are only returned to it.
const DEEPEST: u32 = 4;

/// From the call of a handler until it returns or throws.
struct Running<'a> {
    nesting: &'a Cell<Nesting>,
    before: Nesting,
}

impl<'a> Running<'a> {
    /// Nothing if the handler must not run, since it would call itself without end.
    #[inline(never)]
    fn begin(nesting: &'a Cell<Nesting>) -> Option<Self> {
        let marker = 0_u8;
        let stack = (&raw const marker).addr();
        let mut before = nesting.get();
        if stack >= before.stack {
            // That frame is gone: the handler was left by longjmp.
            before = Nesting::default();
        }
        if before.depth == DEEPEST {
            return None;
        }
        nesting.set(Nesting { depth: before.depth + 1, stack });
        Some(Running { nesting, before })
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.nesting.set(self.before);
    }
}

/// The object that a handler is called with.
#[derive(Clone, Copy)]
pub(crate) enum Object {
    Comm(MPI_Comm),
    File(MPI_File),
    Session(MPI_Session),
}

/// An error that belongs to no valid object goes to MPI_COMM_SELF (MPI section 9.3). If the program has chosen a handler for MPI_COMM_WORLD
/// alone, it goes there: that was the rule before MPI-4, and such a program means it.
/// Outside the life of MPI it goes to the initial handler, which is fatal unless the user has said otherwise.
fn find(state: &State, scope: Scope) -> (Arc<Errhandler>, Object) {
    let nobody = state.handlers.nobodys.get().unwrap_or(MPI_COMM_SELF);
    if !state.is_active() {
        return (Arc::clone(&state.handlers.initial), Object::Comm(MPI_COMM_SELF));
    }
    let comm = match scope {
        Scope::Comm(comm) => comm,
        Scope::Request(request) => state.comm_of_request(request),
        // SAFETY: the caller's promise: null, or a readable handle.
        Scope::RequestAt(at) => unsafe { at.as_ref() }.map_or(nobody, |request| {
            if *request == MPI_REQUEST_NULL { nobody } else { state.comm_of_request(*request) }
        }),
        // SAFETY: as above.
        Scope::MessageAt(at) => unsafe { at.as_ref() }.map_or(nobody, |message| {
            if *message == MPI_MESSAGE_NULL { nobody } else { state.requests.comm_of_message(*message) }
        }),
        Scope::File(file) => return (Arc::clone(&state.handlers.file.borrow()), Object::File(file)),
        Scope::Session(handle) => {
            if let Some(session) = state.sessions.get(handle) {
                let handler = Arc::clone(&session.errhandler.lock().expect("nobody panics with it"));
                return (handler, Object::Session(handle));
            }
            nobody
        }
        Scope::Process => nobody,
    };
    let found = [comm, nobody, MPI_COMM_SELF].into_iter().find_map(|comm| state.comms.get(comm));
    match found {
        Some(entry) => (Arc::clone(&entry.errhandler.borrow()), Object::Comm(entry.handle())),
        None => (Arc::clone(&state.handlers.initial), Object::Comm(MPI_COMM_SELF)),
    }
}

fn sentence(state: &State, function: &str, fault: &Fault) -> String {
    let class = state.errors.class(fault.code()).unwrap_or(fault.code());
    let class = registry::predefined(class).map_or_else(|| format!("class {class}"), str::to_owned);
    match state.world_rank() {
        Some(rank) => format!("{function} on rank {rank}: {} ({class})", fault.text()),
        None => format!("{function}: {} ({class})", fault.text()),
    }
}

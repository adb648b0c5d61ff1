//! Error handlers: who is told of a call that failed (MPI section 9.3).

use core::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use runtime::InitialHandler;

use crate::abi::constants::*;
use crate::abi::types::*;
use crate::handles::{Kind, Table};

/// An error handler object. Objects share it; it lives as long as one of them or a handle refers to it.
pub(crate) struct Errhandler {
    pub(crate) action: Action,
    /// What the program wants to be called when nobody can call the handler any more.
    destructor: MPIX_Destructor_function,
    /// The handle under which the program knows it now, and how often it must be freed.
    handle: Mutex<(usize, u32)>,
}

impl Drop for Errhandler {
    fn drop(&mut self) {
        if let (Action::CallWith(_, _, state), Some(destructor)) = (self.action, self.destructor) {
            // SAFETY: the program registered this function for this state.
            unsafe { destructor(state) }
        }
    }
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
    /// Calls a function of the program, which is for one kind of object.
    Call(Bearer, Function),
    /// Calls a function of the program with a state of its own.
    CallWith(Bearer, FunctionWith, *mut c_void),
}

/// The kinds of objects that have error handlers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Bearer {
    Comm,
    File,
    Session,
    Win,
}

/// The function of all bearers: their handles have the same representation.
pub(crate) type Function = unsafe extern "C-unwind" fn(*mut usize, *mut c_int, ...);

/// The same, with the state that the program has given.
pub(crate) type FunctionWith = unsafe extern "C-unwind" fn(usize, c_int, *mut c_void);

// SAFETY: the state is only handed to the program's function, by threads that the program lets make calls.
unsafe impl Send for Action {}
// SAFETY: as above.
unsafe impl Sync for Action {}

impl Action {
    /// The only kind of object that can have this handler; `None`: all can.
    pub(crate) fn bearer(&self) -> Option<Bearer> {
        match self {
            Action::Fatal | Action::Abort | Action::Return => None,
            Action::Call(bearer, _) | Action::CallWith(bearer, ..) => Some(*bearer),
        }
    }
}

impl Errhandler {
    pub(crate) fn new(action: Action) -> Arc<Self> {
        Self::with_destructor(action, None)
    }

    pub(crate) fn with_destructor(action: Action, destructor: MPIX_Destructor_function) -> Arc<Self> {
        Arc::new(Self { action, destructor, handle: Mutex::new((0, 0)) })
    }

    /// A handle for the program to keep and to free.
    pub(crate) fn refer(self: &Arc<Self>, handlers: &Handlers) -> MPI_Errhandler {
        match self.action {
            Action::Fatal => return MPI_ERRORS_ARE_FATAL,
            Action::Abort => return MPI_ERRORS_ABORT,
            Action::Return => return MPI_ERRORS_RETURN,
            _ => (),
        }
        let mut known = self.handle.lock().expect("nobody panics with it");
        if known.1 == 0 {
            known.0 = handlers.made().insert(Arc::clone(self));
        }
        known.1 += 1;
        MPI_Errhandler(known.0)
    }

    /// Gives one reference back.
    pub(crate) fn release(self: &Arc<Self>, handlers: &Handlers) {
        let mut known = self.handle.lock().expect("nobody panics with it");
        known.1 = known.1.saturating_sub(1);
        if known.1 == 0 {
            let freed = handlers.made().remove(known.0);
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
    nobodys: AtomicUsize,
    nesting: Mutex<Nesting>,
    made: Mutex<Table<Arc<Errhandler>>>,
    /// Of MPI_FILE_NULL: the default of all files.
    file: Mutex<Arc<Errhandler>>,
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
            nobodys: AtomicUsize::new(0),
            nesting: Mutex::default(),
            made: Mutex::new(Table::new(Kind::Errhandler)),
            file: Mutex::new(Arc::clone(&returns)),
            returns,
        }
    }

    /// Those that the program has made.
    pub(crate) fn made(&self) -> MutexGuard<'_, Table<Arc<Errhandler>>> {
        self.made.lock().expect("nobody panics with it")
    }

    /// That of files.
    pub(crate) fn file(&self) -> MutexGuard<'_, Arc<Errhandler>> {
        self.file.lock().expect("nobody panics with it")
    }

    /// The communicator whose handler gets what belongs to no object: MPI_COMM_SELF (MPI section 9.3). If the program has chosen a handler for
    /// MPI_COMM_WORLD alone, that one: it was the rule before MPI-4, and such a program means it.
    pub(crate) fn nobodys(&self) -> MPI_Comm {
        match self.nobodys.load(Ordering::Relaxed) {
            0 => MPI_COMM_SELF,
            chosen => MPI_Comm(chosen),
        }
    }

    /// A handler of the program's is about to be called; nothing if it must not run, since it would call itself without end.
    pub(crate) fn begin(&self) -> Option<Running<'_>> {
        Running::begin(&self.nesting)
    }

    /// Notes that the program has chosen the handler of this communicator: see [`Handlers::nobodys`].
    pub(crate) fn chosen(&self, comm: MPI_Comm) {
        if comm == MPI_COMM_SELF || comm == MPI_COMM_WORLD && self.nobodys.load(Ordering::Relaxed) == 0 {
            self.nobodys.store(comm.0, Ordering::Relaxed);
        }
    }
}

/// How deep handlers of the program run in each other, and where on the stack the innermost one was called.
#[derive(Clone, Copy, Default)]
struct Nesting {
    depth: u32,
    stack: usize,
}

/// A handler whose own calls fail is called for these errors, too, this often; after that they are only returned to it.
const DEEPEST: u32 = 4;

/// From the call of a handler until it returns or throws.
pub(crate) struct Running<'a> {
    nesting: &'a Mutex<Nesting>,
    before: Nesting,
}

impl<'a> Running<'a> {
    /// Nothing if the handler must not run, since it would call itself without end.
    #[inline(never)]
    fn begin(nesting: &'a Mutex<Nesting>) -> Option<Self> {
        let marker = 0_u8;
        let stack = (&raw const marker).addr();
        let mut now = nesting.lock().expect("nobody panics with it");
        let mut before = *now;
        if stack >= before.stack {
            // That frame is gone: the handler was left by longjmp.
            before = Nesting::default();
        }
        if before.depth == DEEPEST {
            return None;
        }
        *now = Nesting { depth: before.depth + 1, stack };
        drop(now);
        Some(Running { nesting, before })
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        *self.nesting.lock().expect("nobody panics with it") = self.before;
    }
}

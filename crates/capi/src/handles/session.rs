//! Sessions: handles by which parts of a program use MPI without knowing of each other (MPI section 11.3).

use core::ffi::c_int;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use crate::abi::types::MPI_Session;
use crate::handles::{Errhandler, Kind, Table};

/// A session of the program.
pub(crate) struct Session {
    /// Its number in this process, from 1 on: by this its groups and communicators are known.
    pub(crate) number: u32,
    handle: AtomicUsize,
    /// The level of thread support that it was given.
    pub(crate) thread_level: c_int,
    errhandler: Mutex<Arc<Errhandler>>,
}

impl Session {
    pub(crate) fn errhandler(&self) -> Arc<Errhandler> {
        Arc::clone(&self.errhandler.lock().expect("nobody panics with it"))
    }

    /// Returns the one that it had.
    pub(crate) fn set_errhandler(&self, errhandler: Arc<Errhandler>) -> Arc<Errhandler> {
        std::mem::replace(&mut *self.errhandler.lock().expect("nobody panics with it"), errhandler)
    }
}

/// The sessions of a process, which any thread may begin and end.
pub(crate) struct Sessions(Mutex<Open>);

/// What there is of sessions, locked.
pub(crate) struct Open {
    table: Table<Arc<Session>>,
    /// Sessions that were begun in the life of the process.
    begun: u32,
    /// Those that were not ended.
    pub(crate) live: u32,
}

impl Sessions {
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(Open { table: Table::new(Kind::Session), begun: 0, live: 0 }))
    }

    /// All of them, for a moment in which none begins or ends.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Open> {
        self.0.lock().expect("nobody panics with it")
    }

    pub(crate) fn get(&self, handle: MPI_Session) -> Option<Arc<Session>> {
        self.lock().table.get(handle.0)
    }

    pub(crate) fn handle_of(&self, session: &Session) -> MPI_Session {
        MPI_Session(session.handle.load(Ordering::Relaxed))
    }
}

impl Open {
    pub(crate) fn begin(&mut self, thread_level: c_int, errhandler: Arc<Errhandler>) -> MPI_Session {
        self.begun += 1;
        self.live += 1;
        let (handle, errhandler) = (AtomicUsize::new(0), Mutex::new(errhandler));
        let session = Arc::new(Session { number: self.begun, handle, thread_level, errhandler });
        let handle = self.table.insert(Arc::clone(&session));
        session.handle.store(handle, Ordering::Relaxed);
        MPI_Session(handle)
    }

    pub(crate) fn end(&mut self, handle: MPI_Session) {
        if self.table.remove(handle.0).is_some() {
            self.live -= 1;
        }
    }

    pub(crate) fn table(&self) -> &Table<Arc<Session>> {
        &self.table
    }
}

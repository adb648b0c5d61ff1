//! A rank that threads use one after the other (MPI_THREAD_SERIALIZED, section 11.6).
//!
//! The engine counts references without atomics, and so does much of what is built on it. That is sound while one thread at a time has any of it, which
//! is kept in three ways:
//!
//! * A lock: whoever is inside is alone.
//! * A lifetime: communicators, groups and requests cannot leave the closure that they were made in.
//! * A sweep before the lock is given up: what the program may keep a share of in spite of that (the closure of a reduction, the type of a view) is
//!   let go of by the engine, so that both sides count for themselves.

use std::mem;
use std::panic::resume_unwind;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, ThreadId};

use crate::communicator::Communicator;
use crate::error::{Error, Result};
use crate::universe::Universe;

/// This process's part in a job, for several threads that take turns (MPI_THREAD_SERIALIZED): a handle that is [`Send`], [`Sync`] and
/// [`Clone`]. See [`Universe::serialized`]. The part ends when the last clone is dropped.
#[derive(Clone)]
pub struct Serialized(Arc<Shared>);

struct Shared {
    universe: Mutex<Sendable>,
    /// Who is inside.
    inside: Mutex<Option<ThreadId>>,
}

struct Sendable(Universe);

// SAFETY: the universe is used by whoever holds the lock, alone, and shares nothing with anybody else when the lock is given up: see above. The part
// that it stands for has no other user, and no thread finds it (`Part::go_elsewhere`).
// Process ranks do not care which thread that is; it is the same in the C library.
unsafe impl Send for Sendable {}

impl Serialized {
    pub(crate) fn new(universe: Universe) -> Serialized {
        Serialized(Arc::new(Shared { universe: Mutex::new(Sendable(universe)), inside: Mutex::new(None) }))
    }

    /// Runs something with the world while no other thread does. An error if this thread is inside already: it would wait for itself.
    #[track_caller]
    pub fn with<R>(&self, body: impl FnOnce(Communicator<'_>) -> Result<R>) -> Result<R> {
        let me = thread::current().id();
        if *self.0.inside.lock().unwrap_or_else(PoisonError::into_inner) == Some(me) {
            return Err(Error::length(String::from(
                "this thread uses its rank already, expected the closure to end before the next begins",
            )));
        }
        let inner = self.0.universe.lock().unwrap_or_else(PoisonError::into_inner);
        // Dropped before the lock is given up, also by a panic.
        let turn = Turn { shared: &self.0, universe: &inner.0 };
        turn.mark(Some(me));
        body(turn.universe.world())
    }

    /// The part in the job for one thread again; an error if there are other clones.
    pub fn into_universe(self) -> std::result::Result<Universe, Serialized> {
        let shared = Arc::try_unwrap(self.0).map_err(Serialized)?;
        Ok(shared.universe.into_inner().unwrap_or_else(PoisonError::into_inner).0.come_here())
    }
}

struct Turn<'t> {
    shared: &'t Shared,
    universe: &'t Universe,
}

impl Turn<'_> {
    fn mark(&self, inside: Option<ThreadId>) {
        *self.shared.inside.lock().unwrap_or_else(PoisonError::into_inner) = inside;
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let swept = self.universe.process().sweep();
        self.mark(None);
        match swept {
            Err(payload) if !thread::panicking() => resume_unwind(payload),
            // The panic that is on its way came first. The destructor of the other's payload may
            // panic, too.
            other => mem::forget(other),
        }
    }
}

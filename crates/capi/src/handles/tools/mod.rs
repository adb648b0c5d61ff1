//! What the tools interface keeps of a process (MPI chapter 15): handles of control and performance variables, sessions, registrations of events.
//!
//! Any thread may call it, at any time: everything here is locked or atomic. What is measured or told of comes from a [`Meter`], which each lane has while
//! somebody wants to know; where nobody does, nothing of this is on the way of a message.

mod listeners;
mod meter;

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use engine::{ContextId, Group};

use crate::handles::{Kind, Table};

pub(crate) use listeners::{Callback, Instance, Registration, SOURCE};
pub(crate) use meter::{Counting, Gauge, Meter, nanoseconds};

/// The tools interface of a process.
#[derive(Default)]
pub(crate) struct Tools {
    /// How often it was initialised and not yet finalised.
    users: AtomicU32,
    /// Other threads than that of MPI_Init may call.
    threads: AtomicBool,
    /// Somebody listens to events.
    heard: AtomicBool,
    /// Values of control variables that MPI_Init has yet to apply, by index.
    pending: Mutex<Vec<(usize, u64)>>,
    room: Mutex<Option<Arc<Room>>>,
}

/// What there is once the interface was initialised.
pub(crate) struct Room {
    /// Handles of control variables, by index.
    pub(crate) controls: Table<usize>,
    /// Sessions, which are nothing but names.
    pub(crate) sessions: Table<()>,
    /// Handles of performance variables.
    pub(crate) gauges: Table<Arc<Gauge>>,
    pub(crate) registrations: Table<Arc<Registration>>,
    pub(crate) counting: Arc<Counting>,
}

impl Tools {
    /// One more user.
    pub(crate) fn begin(&self) {
        self.users.fetch_add(1, Ordering::AcqRel);
    }

    /// One user less. The last one takes everything along that was not freed.
    pub(crate) fn end(&self) -> bool {
        let is_last = self.users.fetch_sub(1, Ordering::AcqRel) == 1;
        if is_last {
            self.set_heard(false);
            lock(&self.room).take();
        }
        is_last
    }

    pub(crate) fn is_initialised(&self) -> bool {
        self.users.load(Ordering::Acquire) > 0
    }

    /// From now on threads call that MPI does not know of.
    pub(crate) fn expect_threads(&self) {
        self.threads.store(true, Ordering::Release);
    }

    pub(crate) fn has_threads(&self) -> bool {
        self.threads.load(Ordering::Acquire)
    }

    /// Whether events are delivered when calls end.
    #[inline(always)]
    pub(crate) fn is_heard(&self) -> bool {
        self.heard.load(Ordering::Relaxed)
    }

    pub(crate) fn set_heard(&self, heard: bool) {
        self.heard.store(heard, Ordering::Relaxed);
    }

    /// What is to be applied by MPI_Init.
    pub(crate) fn pending(&self) -> MutexGuard<'_, Vec<(usize, u64)>> {
        lock(&self.pending)
    }

    /// Everything, made on first use.
    pub(crate) fn room(&self) -> Arc<Room> {
        Arc::clone(lock(&self.room).get_or_insert_with(|| {
            Arc::new(Room {
                controls: Table::new(Kind::Cvar),
                sessions: Table::new(Kind::PvarSession),
                gauges: Table::new(Kind::Pvar),
                registrations: Table::new(Kind::Registration),
                counting: Arc::default(),
            })
        }))
    }

    /// Everything, if anything is used.
    pub(crate) fn used_room(&self) -> Option<Arc<Room>> {
        lock(&self.room).clone()
    }

    /// Calls back for the events that wait. To be called outside of all lanes, or where a callback of the program may run.
    #[cold]
    #[inline(never)]
    pub(crate) fn deliver(&self) {
        if let Some(room) = self.used_room() {
            room.counting.deliver();
        }
    }
}

impl Room {
    /// The handles of a session.
    pub(crate) fn all_of(&self, session: usize) -> Vec<Arc<Gauge>> {
        self.gauges.all(|gauge| gauge.session == session)
    }
}

/// The members of a communicator that a handle is bound to, and by what its messages are known.
pub(crate) struct Members {
    pub(crate) context: ContextId,
    pub(crate) peers: Group,
}

impl Members {
    /// The rank of a peer, if this is a message of the communicator, be it of a program's or of a collective.
    fn rank_of(&self, transit: &engine::observe::Transit) -> Option<usize> {
        let own = transit.context.subject().0 == self.context;
        if own { self.peers.rank_of(transit.peer).map(|rank| rank as usize) } else { None }
    }
}

/// A lock that stays usable whatever a callback did.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

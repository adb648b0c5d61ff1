//! Which MPI process is calling: the one look-up of the "current rank".
//!
//! A process rank has one state for the whole process, found through one global pointer. Thread and fiber ranks share a
//! process; the host sets a thread-local pointer whenever it resumes one of them. These are the only globals of the library.

use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use crate::state::{Phase, State};

/// The state of this process, if its rank is a process. Never freed.
static PROCESS: AtomicPtr<State> = AtomicPtr::new(ptr::null_mut());

/// Whether this process hosts thread or fiber ranks, so that a thread without a rank is not taken for a process rank.
static HOSTING: AtomicBool = AtomicBool::new(false);

mod resumed;

/// The calling rank's state while MPI is active (initialised and not finalised) and nobody watches.
#[inline(always)]
pub(crate) fn unobserved() -> Option<&'static State> {
    let state = known()?;
    (state.phase() == Phase::Active).then_some(state)
}

/// The calling rank's state while MPI is active.
pub(crate) fn active() -> Option<&'static State> {
    known().filter(|state| state.is_active())
}

/// The calling rank's state in any phase; a process rank gets one on its first call. `None` on a thread of a hosting process
/// that runs no rank.
#[inline(never)]
pub(crate) fn any_phase() -> Option<&'static State> {
    known().or_else(|| if HOSTING.load(Ordering::Acquire) { None } else { Some(create()) })
}

#[inline(always)]
fn known() -> Option<&'static State> {
    let process = PROCESS.load(Ordering::Acquire).cast_const();
    let state = if process.is_null() { resumed::get() } else { process };
    // SAFETY: the global state is never freed. The host keeps a rank's state until after the rank has ended, and takes the
    // pointer off the thread whenever the rank does not run there. Threads of one rank call one at a time (the library
    // provides MPI_THREAD_SERIALIZED at most), so that the state's cells are not shared between running threads.
    unsafe { state.as_ref() }
}

#[cold]
fn create() -> &'static State {
    let fresh = Box::into_raw(Box::new(State::new()));
    match PROCESS.compare_exchange(ptr::null_mut(), fresh, Ordering::AcqRel, Ordering::Acquire) {
        // SAFETY: just made from a box and never freed.
        Ok(_) => unsafe { &*fresh },
        Err(other) => {
            // SAFETY: another thread was first; this box was shown to nobody.
            drop(unsafe { Box::from_raw(fresh) });
            // SAFETY: the other thread's state, never freed.
            unsafe { &*other }
        }
    }
}

/// Declares that ranks of this process are threads or fibers.
pub(crate) fn host() {
    HOSTING.store(true, Ordering::Release);
}

/// True in a process whose ranks are threads or fibers.
pub(crate) fn is_hosting() -> bool {
    HOSTING.load(Ordering::Acquire)
}

/// Makes `state` the rank that runs on this thread, or none. For the host's resume hooks.
#[inline]
pub(crate) fn resume(state: *const State) {
    resumed::set(state);
}

//! Which MPI process is calling: the one look-up of the "current rank".
//!
//! A process rank has one state for the whole process, found through one global pointer. Thread and fiber ranks share a
//! process; the host sets a thread-local pointer whenever it resumes one of them. These are the only globals of the library.

use std::ptr;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use crate::process::{Phase, State, site};

/// The state of this process, if its rank is a process. Never freed.
static PROCESS: AtomicPtr<State> = AtomicPtr::new(ptr::null_mut());

/// Whether this process hosts thread or fiber ranks, so that a thread without a rank is not taken for a process rank.
static HOSTING: AtomicBool = AtomicBool::new(false);

/// Whether this process is a child that a rank has made by `fork`: no rank at all, though it has the memory of one.
static FORKED: AtomicBool = AtomicBool::new(false);

/// The state of the rank that made this process, if that was a process: kept, so that no tool takes it for lost memory.
#[used]
static PARENT: AtomicPtr<State> = AtomicPtr::new(ptr::null_mut());

mod resumed;

/// The calling rank's state, as far as a call of every message wants to know.
#[inline(always)]
pub(crate) fn caller() -> Caller {
    match known() {
        Some(state) if state.phase() == Phase::Active => Caller::Unobserved(state),
        Some(state) => Caller::Other(state),
        None => Caller::Unknown,
    }
}

/// Who calls.
pub(crate) enum Caller {
    /// MPI is active (initialised and not finalised), and nobody watches.
    Unobserved(&'static State),
    /// In any other phase.
    Other(&'static State),
    /// Nobody yet.
    Unknown,
}

/// The calling rank's state while MPI is active.
pub(crate) fn active() -> Option<&'static State> {
    known().filter(|state| state.is_active())
}

/// The calling rank's state in any phase; a process rank gets one on its first call. `None` on a thread of a hosting process
/// that runs no rank, and in a child that a rank has forked.
#[inline(never)]
pub(crate) fn any_phase() -> Option<&'static State> {
    known().or_else(|| if is_hosting() || is_forked() { None } else { Some(create()) })
}

/// Whether ranks of this process are threads or fibers.
pub(crate) fn is_hosting() -> bool {
    HOSTING.load(Ordering::Acquire)
}

/// Whether this is a child that a rank has made by `fork`.
pub(crate) fn is_forked() -> bool {
    FORKED.load(Ordering::Acquire)
}

/// From now on a child of this process is no rank. To be called before a rank is active.
pub(crate) fn disown_children() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: the function lives as long as the library, which is never unloaded once MPI is active, and does only what is
        // allowed in a child.
        unsafe { libc::pthread_atfork(None, None, Some(disown)) };
    });
}

/// Runs in a child, on the one thread that it has.
extern "C" fn disown() {
    if is_hosting() || known().is_some_and(State::is_active) {
        FORKED.store(true, Ordering::Release);
        PARENT.store(PROCESS.swap(ptr::null_mut(), Ordering::AcqRel), Ordering::Release);
        resumed::set(ptr::null());
    }
}

#[inline(always)]
fn known() -> Option<&'static State> {
    let process = PROCESS.load(Ordering::Acquire).cast_const();
    let state = if process.is_null() { resumed::get() } else { process };
    // SAFETY: the global state is never freed. The host keeps a rank's state until after the rank has ended, and takes the
    // pointer off the thread whenever the rank does not run there. Threads of one rank call one at a time, or
    // take turns (MPI_THREAD_MULTIPLE, `runtime::Turnstile`), so that the state's cells are not shared between running threads; the functions that
    // any thread may call at any time keep to the parts of the state that are locked or atomic.
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

/// The call that waits on this stack, and where in the program it comes from.
pub(crate) fn waiting_call() -> Option<runtime::Site> {
    site::waiting_call(&|| active()?.last_call())
}

/// The name of the calling rank's communicator of this number, or of the window that it belongs to; for one without a name,
/// which call has made it.
pub(crate) fn comm_name(context: u32) -> Option<String> {
    let state = active()?;
    let (kind, comm) = match state.comms.of_context(context) {
        Some(comm) => ("communicator", comm),
        None => ("window", state.windows.of_context(context)?),
    };
    let name = comm.name.borrow();
    if !name.is_empty() {
        return Some(name.clone());
    }
    let (function, site) = comm.made.get()?;
    let place = runtime::module::spot(site).map_or_else(String::new, |spot| format!(" [at {spot}]"));
    Some(format!("the {kind} that {function}{place} made"))
}

/// Declares that ranks of this process are threads or fibers.
pub(crate) fn host() {
    HOSTING.store(true, Ordering::Release);
    disown_children();
}

/// The lane that the calling thread is or was inside, in a rank that is a process with several, as [`set_inside`] has noted it; 0 for none.
#[inline(always)]
pub(super) fn inside() -> usize {
    resumed::get().addr()
}

/// Notes it. In such a process no rank is ever resumed: the word is free.
#[inline(always)]
pub(super) fn set_inside(lane: usize) {
    resumed::set(ptr::without_provenance(lane));
}

/// Makes `state` the rank that runs on this thread, or none. For the host's resume hooks.
#[inline]
pub(crate) fn resume(state: *const State) {
    resumed::set(state);
}

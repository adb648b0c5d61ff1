//! Ranks as threads and fibers of this process: what `corelace __host` calls to run copies of a program.
//!
//! Each rank gets a [`State`] with its job prepared, so that MPI_Init finds it. The state is taken off the thread whenever the
//! rank does not run there: that is what the hooks are for.

use core::ffi::{CStr, c_char, c_int};
use std::collections::BTreeMap;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use fabric_local::Hooks;
use pmi::HostPlan;
use runtime::host::{self, Main};

use crate::process::boot::Job;
use crate::process::{State, current};

/// The status of a host that could not start its ranks, as of a shell that cannot start a command.
const CANNOT_START: c_int = 127;

/// Runs the ranks that `plan` describes (the text form of `pmi::HostPlan`); returns the exit status for the process.
///
/// # Safety
/// `plan` must be a C string; the call must be the only one in the life of the process.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corelace_host_run(plan: *const c_char) -> c_int {
    // SAFETY: the caller's promise.
    let text = unsafe { CStr::from_ptr(plan) }.to_string_lossy();
    let plan = match HostPlan::decode(&text) {
        Ok(plan) => plan,
        Err(error) => return refused(&error),
    };
    current::host();
    let ranks = Ranks((0..plan.ranks.len()).map(|_| AtomicPtr::new(ptr::null_mut())).collect());
    match host::run(&plan, &ranks, &|job, main| ranks.run(job, main)) {
        Ok(status) => status,
        Err(error) => refused(&error),
    }
}

fn refused(error: &dyn core::fmt::Display) -> c_int {
    eprintln!("corelace: {}", pmi::visible(&error.to_string()));
    CANNOT_START
}

/// The state of each rank while it runs.
struct Ranks(Box<[AtomicPtr<State>]>);

impl Ranks {
    /// Runs one rank's program; its exit status.
    fn run(&self, job: Box<Job>, main: Main) -> i32 {
        let rank = job.place().rank;
        let state = Box::new(State::new());
        state.prepare(job);
        // The pointer is used by this rank's own thread only; relaxed is enough.
        self.0[rank as usize].store((&raw const *state).cast_mut(), Ordering::Relaxed);
        self.enter(rank);
        running().insert(rank, Running(&raw const *state));
        let status = main.run();
        running().remove(&rank);
        let unfinished = state.is_active();
        self.leave(rank);
        self.0[rank as usize].store(ptr::null_mut(), Ordering::Relaxed);
        if unfinished {
            // Others may still wait for this rank's letters, or read its buffers: they must not go while MPI is active. The
            // launcher says what the rank did wrong.
            std::mem::forget(state);
        }
        status
    }
}

/// The state of a rank that runs, for threads that run none. It stays there as long as it is in the
/// list.
struct Running(*const State);

// SAFETY: what other threads may do with a state is said where they get it (`with_rank_of_code`).
unsafe impl Send for Running {}

static RUNNING: Mutex<BTreeMap<u32, Running>> = Mutex::new(BTreeMap::new());

fn running() -> MutexGuard<'static, BTreeMap<u32, Running>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Does something with the rank whose program an instruction is of; with the first that runs, if
/// that is code that ranks share.
///
/// # Safety The caller may be any thread, so it must keep to the parts of the state that are locked
/// or atomic, call nothing of the program's, and keep no reference.
pub(crate) unsafe fn with_rank_of_code<R>(
    instruction: usize,
    visit: impl FnOnce(&'static State) -> R,
) -> Option<R> {
    let running = running();
    let own = host::rank_of_code(instruction).and_then(|rank| running.get(&rank));
    let Running(state) = own.or_else(|| running.values().next())?;
    // SAFETY: a rank that ends takes its state off the list first.
    Some(visit(unsafe { &**state }))
}

impl Hooks for Ranks {
    fn enter(&self, rank: u32) {
        current::resume(self.0[rank as usize].load(Ordering::Relaxed));
    }

    fn leave(&self, _: u32) {
        current::resume(ptr::null());
    }
}

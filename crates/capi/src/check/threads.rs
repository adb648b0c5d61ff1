//! Which threads call: the level of thread support is a promise of the program's (MPI section 11.6).
//!
//! Threads of a process that hosts many ranks are known to no rank, and their calls are refused; so this is about process ranks.
//!
//! At MPI_THREAD_MULTIPLE threads take turns (`process/turns`): one at a time is in the library, unless it waits. So each call is
//! checked, and what checks keep needs no lock.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::findings::{Findings, Origin};
use crate::abi::constants::*;
use crate::process::{State, current};

/// Who is inside the library.
#[derive(Default)]
pub(super) struct Threads {
    /// The thread in a call; 0 for none.
    inside: AtomicUsize,
    said: AtomicBool,
}

thread_local! {
    /// Its address tells threads apart.
    static TOKEN: u8 = const { 0 };
}

/// A number of the calling thread that no other has while it lives.
pub(super) fn token() -> usize {
    TOKEN.with(|token| (token as *const u8).addr())
}

impl Threads {
    /// A call begins. False if another thread is inside: this call is not checked, since what is kept here is for one at a time.
    pub(super) fn enter(&self, state: &State, findings: &Findings, by: Origin) -> bool {
        let me = token();
        if !state.takes_turns()
            && let Err(other) = self.inside.compare_exchange(0, me, Ordering::Acquire, Ordering::Relaxed)
            && other != me
        {
            if !self.said.swap(true, Ordering::Relaxed) {
                // Nothing that the other thread may be using: no list of what was said.
                let spot = runtime::module::spot(by.site);
                let site = spot.map_or(String::new(), |spot| format!(" in `{spot}`"));
                state.note(&format!(
                    "{}{site}: called while another thread is inside an MPI call, expected one thread at a time ({} was provided)",
                    by.function,
                    level(state)
                ));
            }
            return false;
        }
        let funneled = state.thread_level.load(Ordering::Relaxed) < MPI_THREAD_SERIALIZED;
        if funneled && !current::is_hosting() && state.main_thread.get() != Some(&std::thread::current().id())
        {
            findings.report(state, "wrong thread", by, || {
                format!(
                    "{}: called by another thread than the one that called MPI_Init, expected that one ({} was provided)",
                    findings.place(by),
                    level(state)
                )
            });
        }
        true
    }

    /// True if the calling thread's call is checked.
    pub(super) fn is_inside(&self, state: &State) -> bool {
        if state.takes_turns() {
            return state.turnstile.is_inside();
        }
        self.inside.load(Ordering::Relaxed) == token()
    }

    /// The outermost call of the thread returns: callbacks call, too.
    pub(super) fn leave(&self) {
        self.inside.store(0, Ordering::Release);
    }
}

fn level(state: &State) -> &'static str {
    match state.thread_level.load(Ordering::Relaxed) {
        MPI_THREAD_SINGLE => "MPI_THREAD_SINGLE",
        MPI_THREAD_FUNNELED => "MPI_THREAD_FUNNELED",
        MPI_THREAD_SERIALIZED => "MPI_THREAD_SERIALIZED",
        _ => "MPI_THREAD_MULTIPLE",
    }
}

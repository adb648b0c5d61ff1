//! Section 11.2 and 11.3: the beginning and the end of a process's activity, which MPI_Init and MPI_Finalize have in common with sessions.

use core::ffi::c_int;
use std::sync::atomic::Ordering;

use runtime::Witness;

use crate::abi::constants::*;
use crate::call::Call;
use crate::check::Check;
use crate::errors::{Fault, Outcome};
use crate::imp::tools;
use crate::process::agent::Agent;
use crate::process::{State, boot, current};

/// Makes the process active, or more ready for threads than it is; returns the level of thread support that the caller gets. With the sessions
/// locked.
pub(crate) fn activate(state: &'static State, required: c_int) -> Outcome<c_int> {
    if state.is_active() && state.takes_turns() {
        // Other threads may be inside: nothing is looked at that they use, and nothing has to be, since all levels are served.
        state.thread_level.fetch_max(required, Ordering::Relaxed);
        return Ok(required);
    }
    state.join(|| {
        let job = match state.take_prepared() {
            Some(job) => *job,
            None => boot::join().map_err(|reason| Fault::new(MPI_ERR_OTHER, reason))?,
        };
        job.set_witness(Witness { site: Box::new(current::waiting_call), comm_name: current::comm_name });
        Ok(job)
    })?;
    if runtime::is_check_wanted() && state.check().is_none() {
        state.watch(Box::<Check>::default());
    }
    let level = required.min(highest_thread_level(state));
    state.thread_level.fetch_max(level, Ordering::Relaxed);
    let _ = state.main_thread.set(std::thread::current().id());
    tools::begin(state);
    let is_checked = state.check().is_some();
    let agent = !state.is_active() && runtime::is_agent_wanted() && serves_threads(state) && !is_checked;
    current::disown_children();
    state.begin();
    if level == MPI_THREAD_MULTIPLE || agent || state.tools.has_threads() {
        state.take_turns();
    }
    if agent {
        state.agent.set(Agent::start(state.rank(), &state.turnstile));
    }
    tools::attach(state);
    Ok(level)
}

/// Whether several threads can be served. In a process of several ranks the library cannot tell which of them a thread belongs to that the
/// program has made; observers follow one call at a time.
fn serves_threads(state: &State) -> bool {
    !current::is_hosting() && !state.rank().is_observed()
}

fn highest_thread_level(state: &State) -> c_int {
    if current::is_hosting() {
        MPI_THREAD_FUNNELED
    } else if serves_threads(state) {
        MPI_THREAD_MULTIPLE
    } else {
        MPI_THREAD_SERIALIZED
    }
}

/// Waits until everything that this process has started and given up is sent, in all lanes.
pub(crate) fn drain(call: &Call) -> Outcome {
    call.in_each_lane(|call| Ok(call.rank().drain()?))
}

//! Ranks as threads and fibers of this process: the host calls in here to run programs, and MPI_Init of such a rank finds the
//! job that was prepared for it ([`State::prepare`](crate::state::State::prepare)).
#![allow(dead_code, reason = "the host's entry point comes with the fabric for threads and fibers")]

use crate::current;
use crate::state::State;

/// A rank of this process that the host resumes and suspends.
pub(crate) struct HostedRank(Box<State>);

impl HostedRank {
    /// A rank whose MPI_Init will take up `job`.
    pub(crate) fn new(job: crate::boot::Job) -> Self {
        current::host();
        let state = Box::new(State::new());
        state.prepare(job);
        Self(state)
    }

    /// Makes this the calling rank of the current thread; returns what was there, to be put back on suspension.
    pub(crate) fn resume(&self) -> *const State {
        current::resume(&*self.0)
    }
}

//! Completing requests: wait and test in all their forms (MPI section 3.7).

use crate::lane::complete::State;
use crate::lane::statement::Interest;
use crate::rank::Rank;
use crate::values::error::Result;
use crate::values::request::{RequestId, Status};

impl Rank {
    /// What the request is doing. Makes no progress.
    #[inline]
    pub fn state(&self, id: RequestId) -> Result<State> {
        self.lane.state(id)
    }

    /// Waits for one request and takes its result. Never returns while the request is active, also if the rank is poisoned.
    #[inline]
    pub fn wait(&self, id: RequestId) -> Result<Status> {
        self.lane.wait(id)
    }

    /// The result of a complete request, left in place (MPI_Request_get_status).
    pub fn peek(&self, id: RequestId) -> Result<Option<Status>> {
        self.lane.peek(id)
    }

    /// Takes the result of a request that is complete or inactive.
    pub fn take(&self, id: RequestId) -> Result<Status> {
        self.lane.take(id)
    }

    /// Gives a request up (MPI_Request_free): an active one goes on and vanishes when it completes.
    pub fn free(&self, id: RequestId) -> Result<()> {
        self.lane.free(id)
    }

    /// A request that somebody else completes with [`finish`](Rank::finish).
    pub fn external_request(&self) -> Result<RequestId> {
        self.lane.external_request()
    }

    /// Completes a request made by [`external_request`](Rank::external_request).
    pub fn finish(&self, id: RequestId, outcome: Result<Status>) {
        self.lane.finish(id, outcome);
    }

    /// As [`wait`](Rank::wait), by somebody who will wait for all of these, of which this is one: for those who ask what for.
    #[inline]
    pub fn wait_among(&self, id: RequestId, all: &[Option<RequestId>]) -> Result<Status> {
        if id == RequestId::SENT {
            return Ok(Status::EMPTY);
        }
        if self.state(id)? == State::Active {
            self.lane.wait_for_requests(Interest::All(all), |lane| lane.is_settled(id))?;
        }
        self.take(id)
    }

    /// Takes the result of one request if it is complete or inactive; makes progress otherwise.
    pub fn test(&self, id: RequestId) -> Result<Option<Status>> {
        if self.state(id)? == State::Active {
            self.lane.poke_requests(Interest::Request(id))?;
            if self.state(id)? == State::Active {
                return Ok(None);
            }
        }
        self.take(id).map(Some)
    }

    /// Waits until at least one of the requests is complete; the index of the first one, or `None` if none is active.
    /// `requests` may name inactive ones and gaps.
    pub fn wait_any(&self, requests: &[Option<RequestId>]) -> Result<Option<usize>> {
        let mut found = self.first_complete(requests)?;
        if let Found::Pending = found {
            let mut failed = Ok(());
            self.lane.wait_for_requests(Interest::First(requests), |_| {
                match self.first_complete(requests) {
                    Ok(Found::Pending) => false,
                    Ok(other) => {
                        found = other;
                        true
                    }
                    Err(error) => {
                        failed = Err(error);
                        true
                    }
                }
            })?;
            failed?;
        }
        Ok(match found {
            Found::Complete(index) => Some(index),
            _ => None,
        })
    }

    /// As [`wait_any`](Rank::wait_any) without waiting: `Err(true)`-free three-way answer.
    pub fn test_any(&self, requests: &[Option<RequestId>]) -> Result<Found> {
        if let Found::Pending = self.first_complete(requests)? {
            self.lane.poke_requests(Interest::First(requests))?;
        }
        self.first_complete(requests)
    }

    /// True once none of the requests is active; makes progress if some are.
    pub fn test_all(&self, requests: &[Option<RequestId>]) -> Result<bool> {
        if !self.all_settled(requests)? {
            self.lane.poke_requests(Interest::All(requests))?;
        }
        self.all_settled(requests)
    }

    fn all_settled(&self, requests: &[Option<RequestId>]) -> Result<bool> {
        for id in requests.iter().flatten() {
            if self.state(*id)? == State::Active {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn first_complete(&self, requests: &[Option<RequestId>]) -> Result<Found> {
        let mut pending = false;
        for (index, id) in requests.iter().enumerate() {
            let Some(id) = id else { continue };
            match self.state(*id)? {
                State::Complete => return Ok(Found::Complete(index)),
                State::Active => pending = true,
                State::Inactive => {}
            }
        }
        Ok(if pending { Found::Pending } else { Found::NoneActive })
    }
}

/// What a look at several requests found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Found {
    /// This one is complete.
    Complete(usize),
    /// Some are active, none is complete.
    Pending,
    /// None is active.
    NoneActive,
}

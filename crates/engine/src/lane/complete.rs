//! Completing requests: wait and test in all their forms (MPI section 3.7).
//!
//! A request that completes is taken out of the table, except a persistent one, which becomes inactive.

use crate::lane::waits::Interest;
use crate::progress::request::{Request, RequestId, Status, Work, unknown_request};
use crate::rank::Rank;
use crate::rank::persistent::Template;
use crate::values::error::{Error, Result};

/// What a request is doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// Under way.
    Active,
    /// Complete, not yet taken.
    Complete,
    /// A persistent request that is not started. Waiting for it returns at once with an empty status.
    Inactive,
}

impl Rank {
    /// What the request is doing. Makes no progress.
    #[inline]
    pub fn state(&self, id: RequestId) -> Result<State> {
        if id == RequestId::SENT {
            return Ok(State::Complete);
        }
        let core = self.core.borrow();
        let request = core.requests.get(id.key()).ok_or_else(unknown_request)?;
        let request = match &request.work {
            Work::Persistent(template) => match template.active {
                None => return Ok(State::Inactive),
                Some(RequestId::SENT) => return Ok(State::Complete),
                Some(active) => core.requests.get(active.key()).ok_or_else(unknown_request)?,
            },
            _ => request,
        };
        Ok(if request.outcome.is_some() { State::Complete } else { State::Active })
    }

    /// Waits for one request and takes its result. Never returns while the request is active, also if the rank is poisoned.
    #[inline]
    pub fn wait(&self, id: RequestId) -> Result<Status> {
        if id == RequestId::SENT {
            return Ok(Status::EMPTY);
        }
        if self.state(id)? == State::Active {
            self.wait_for_requests(Interest::Request(id), |rank| rank.is_settled(id))?;
        }
        self.take(id)
    }

    /// As [`wait`](Rank::wait), by somebody who will wait for all of these, of which this is one: for those who ask what for.
    #[inline]
    pub fn wait_among(&self, id: RequestId, all: &[Option<RequestId>]) -> Result<Status> {
        if id == RequestId::SENT {
            return Ok(Status::EMPTY);
        }
        if self.state(id)? == State::Active {
            self.wait_for_requests(Interest::All(all), |rank| rank.is_settled(id))?;
        }
        self.take(id)
    }

    /// Takes the result of one request if it is complete or inactive; makes progress otherwise.
    pub fn test(&self, id: RequestId) -> Result<Option<Status>> {
        if self.state(id)? == State::Active {
            self.poke_requests(Interest::Request(id))?;
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
            self.wait_for_requests(Interest::First(requests), |rank| match rank.first_complete(requests) {
                Ok(Found::Pending) => false,
                Ok(other) => {
                    found = other;
                    true
                }
                Err(error) => {
                    failed = Err(error);
                    true
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
            self.poke_requests(Interest::First(requests))?;
        }
        self.first_complete(requests)
    }

    /// True once none of the requests is active; makes progress if some are.
    pub fn test_all(&self, requests: &[Option<RequestId>]) -> Result<bool> {
        if !self.all_settled(requests)? {
            self.poke_requests(Interest::All(requests))?;
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

    #[inline]
    fn is_settled(&self, id: RequestId) -> bool {
        !matches!(self.state(id), Ok(State::Active))
    }

    /// The result of a complete request, left in place (MPI_Request_get_status).
    pub fn peek(&self, id: RequestId) -> Result<Option<Status>> {
        if id == RequestId::SENT {
            return Ok(Some(Status::EMPTY));
        }
        if self.state(id)? == State::Active {
            self.poke_requests(Interest::Request(id))?;
        }
        let core = self.core.borrow();
        let request = core.requests.get(id.key()).ok_or_else(unknown_request)?;
        let request = match &request.work {
            Work::Persistent(template) => match template.active {
                None | Some(RequestId::SENT) => return Ok(Some(Status::EMPTY)),
                Some(active) => core.requests.get(active.key()).ok_or_else(unknown_request)?,
            },
            _ => request,
        };
        request.outcome.clone().transpose()
    }

    /// Takes the result of a request that is complete or inactive.
    pub fn take(&self, id: RequestId) -> Result<Status> {
        if id == RequestId::SENT {
            return Ok(Status::EMPTY);
        }
        let mut core = self.core.borrow_mut();
        let request = core.requests.get_mut(id.key()).ok_or_else(unknown_request)?;
        let key = match &mut request.work {
            Work::Persistent(template) => match template.active.take() {
                None | Some(RequestId::SENT) => return Ok(Status::EMPTY),
                Some(active) => active.key(),
            },
            _ => id.key(),
        };
        match core.requests.get_mut(key).map(|request| request.outcome.take()) {
            Some(Some(outcome)) => {
                core.requests.remove(key);
                outcome
            }
            Some(None) => {
                // Not complete: put a persistent request's activity back before saying so.
                if key != id.key()
                    && let Some(Request { work: Work::Persistent(template), .. }) =
                        core.requests.get_mut(id.key())
                {
                    template.active = Some(RequestId::from_bits(key));
                }
                Err(Error::Request { reason: "the request is not complete" })
            }
            None => Err(unknown_request()),
        }
    }

    /// Gives a request up (MPI_Request_free): an active one goes on and vanishes when it completes.
    pub fn free(&self, id: RequestId) -> Result<()> {
        if id == RequestId::SENT {
            return Ok(());
        }
        let mut core = self.core.borrow_mut();
        let request = core.requests.get_mut(id.key()).ok_or_else(unknown_request)?;
        if let Work::Persistent(template) = &request.work {
            let Template { active, .. } = **template;
            core.requests.remove(id.key());
            if let Some(active) = active.filter(|active| *active != RequestId::SENT) {
                core.abandon(active.key());
            }
        } else {
            core.abandon(id.key());
        }
        Ok(())
    }

    /// A request that somebody else completes with [`finish`](Rank::finish).
    pub fn external_request(&self) -> Result<RequestId> {
        self.core.borrow_mut().add_request(self.fabric(), Request::new(Work::External))
    }

    /// Completes a request made by [`external_request`](Rank::external_request).
    pub fn finish(&self, id: RequestId, outcome: Result<Status>) {
        self.core.borrow_mut().finish(self.fabric(), id.key(), outcome);
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

impl crate::progress::core::Core {
    fn abandon(&mut self, key: crate::values::slab::Key) {
        if let Some(request) = self.requests.get_mut(key) {
            if request.outcome.is_some() {
                self.requests.remove(key);
            } else {
                request.orphan = true;
                self.orphans += 1;
            }
        }
    }
}

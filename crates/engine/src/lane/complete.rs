//! Completing requests: their state, waiting for one, taking its result (MPI section 3.7).
//!
//! A request that completes is taken out of the table, except a persistent one, which becomes inactive.

use fabric::Ticket;

use crate::lane::Lane;
use crate::lane::statement::Interest;
use crate::progress::core::Core;
use crate::progress::tables::awaited::Mark;
use crate::progress::tables::request::{Request, Work};
use crate::progress::tables::template::{Operation, Template};
use crate::values::error::{Error, Result};
use crate::values::request::{RequestId, Status};
use crate::values::slab::Key;

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

impl Lane {
    /// What the request is doing. Makes no progress.
    #[inline]
    pub fn state(&self, id: RequestId) -> Result<State> {
        if id == RequestId::SENT {
            return Ok(State::Complete);
        }
        let core = self.core.borrow();
        let request = core.requests.get(id.key()).ok_or_else(|| core.requests.unknown(id.key()))?;
        let request = match &request.work {
            Work::Persistent(template) => match template.active {
                None => return Ok(State::Inactive),
                Some(RequestId::SENT) => return Ok(State::Complete),
                Some(active) => {
                    core.requests.get(active.key()).ok_or_else(|| core.requests.unknown(id.key()))?
                }
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
            self.core.borrow_mut().promise_help(self.fabric(), id, &[Some(id)]);
            self.wait_for_requests(Interest::Request(id), |lane| lane.is_settled(id))?;
        }
        self.take(id)
    }

    #[inline]
    pub fn is_settled(&self, id: RequestId) -> bool {
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
        let request = core.requests.get(id.key()).ok_or_else(|| core.requests.unknown(id.key()))?;
        let request = match &request.work {
            Work::Persistent(template) => match template.active {
                None | Some(RequestId::SENT) => return Ok(Some(Status::EMPTY)),
                Some(active) => {
                    core.requests.get(active.key()).ok_or_else(|| core.requests.unknown(id.key()))?
                }
            },
            _ => request,
        };
        request.outcome.clone().transpose()
    }

    /// Takes a request that has ended well and is no persistent one, with one look, and tells its result where it lies, so that it is copied once. False, and nothing
    /// happens, for any other.
    #[inline]
    pub fn take_ended(&self, id: RequestId, tell: impl FnOnce(&Status)) -> bool {
        if id == RequestId::SENT {
            tell(&Status::EMPTY);
            return true;
        }
        self.core.borrow_mut().requests.take_ended(id.key(), tell)
    }

    /// Takes the result of a request that is complete or inactive.
    pub fn take(&self, id: RequestId) -> Result<Status> {
        if id == RequestId::SENT {
            return Ok(Status::EMPTY);
        }
        let core = &mut *self.core.borrow_mut();
        let Some(request) = core.requests.get_mut(id.key()) else {
            return Err(core.requests.unknown(id.key()));
        };
        let key = match &mut request.work {
            Work::Persistent(template) => {
                core.awaited.rests(request.mark, id);
                match template.active.take() {
                    None | Some(RequestId::SENT) => return Ok(Status::EMPTY),
                    Some(active) => active.key(),
                }
            }
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
                    && let Some(Request { work: Work::Persistent(template), mark, .. }) =
                        core.requests.get_mut(id.key())
                {
                    template.active = Some(RequestId::from_bits(key));
                    core.awaited.forget(*mark);
                }
                Err(Error::Request { reason: "the request is not complete" })
            }
            None => Err(core.requests.unknown(id.key())),
        }
    }

    /// Gives a request up (MPI_Request_free): an active one goes on and vanishes when it completes.
    pub fn free(&self, id: RequestId) -> Result<()> {
        if id == RequestId::SENT {
            return Ok(());
        }
        let core = &mut *self.core.borrow_mut();
        let Some(request) = core.requests.get_mut(id.key()) else {
            return Err(core.requests.unknown(id.key()));
        };
        if let Work::Persistent(template) = &request.work {
            let Template { active, .. } = **template;
            core.awaited.forget(request.mark);
            core.requests.remove(id.key());
            if let Some(active) = active.filter(|active| *active != RequestId::SENT) {
                core.abandon(active.key());
            }
        } else {
            core.abandon(id.key());
        }
        Ok(())
    }

    /// A request that somebody else completes with [`finish`](Lane::finish).
    pub fn external_request(&self) -> Result<RequestId> {
        self.core.borrow_mut().add_request(self.fabric(), Request::new(Work::External))
    }

    /// Has such a request completed by the end of a transfer.
    pub fn watch_transfer(&self, id: RequestId, ticket: Ticket) {
        self.core.borrow_mut().transfer_started(self.fabric(), id.key(), ticket);
    }

    /// Completes a request made by [`external_request`](Lane::external_request).
    pub fn finish(&self, id: RequestId, outcome: Result<Status>) {
        self.core.borrow_mut().finish(self.fabric(), id.key(), outcome);
        self.stir();
    }

    /// Asks for a send or receive to be cancelled; its status tells whether that succeeded.
    pub fn cancel(&self, id: RequestId) -> Result<()> {
        if id == RequestId::SENT {
            return Ok(());
        }
        let mut core = self.core.borrow_mut();
        let key = match core.requests.get(id.key()) {
            None => return Err(core.requests.unknown(id.key())),
            Some(Request { work: Work::Persistent(template), .. }) => match template.active {
                Some(active) => active.key(),
                None => return Err(Error::Request { reason: "the persistent request is not active" }),
            },
            Some(_) => id.key(),
        };
        core.cancel(self.fabric(), key);
        Ok(())
    }

    /// A request of an operation that is started again and again.
    pub fn persistent(&self, operation: Operation) -> Result<RequestId> {
        let template = Template { operation, active: None };
        let request = Request::new(Work::Persistent(alloc::boxed::Box::new(template)));
        self.core.borrow_mut().add_request(self.fabric(), request)
    }
}

impl Core {
    /// Marks a request that is not complete; of a persistent one also what it is doing.
    pub fn mark(&mut self, id: RequestId, mark: Mark) {
        let Some(request) = self.requests.get_mut(id.key()) else { return };
        request.mark = mark;
        if let Work::Persistent(template) = &request.work
            && let Some(active) = template.active
            && let Some(request) = self.requests.get_mut(active.key())
        {
            request.mark = mark;
        }
    }

    fn abandon(&mut self, key: Key) {
        if let Some(request) = self.requests.get_mut(key) {
            self.awaited.forget(request.mark);
            if request.outcome.is_some() {
                self.requests.remove(key);
            } else {
                request.orphan = true;
                self.orphans += 1;
            }
        }
    }
}

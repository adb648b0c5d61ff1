//! Completing requests: wait and test in all their forms (MPI section 3.7).

use crate::lane::complete::State;
use crate::lane::statement::Interest;
use crate::rank::Rank;
use crate::values::error::Result;
use crate::values::request::{List, RequestId, Status};

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

    /// As [`wait`](Rank::wait), until `enough` holds: nothing if the request is active then. A rank
    /// that sleeps asks `enough` as often as its fabric looks up.
    pub fn wait_unless(&self, id: RequestId, enough: &mut dyn FnMut() -> bool) -> Result<Option<Status>> {
        self.lane.wait_for_requests(Interest::Request(id), |lane| lane.is_settled(id) || enough())?;
        if self.state(id)? == State::Active { Ok(None) } else { self.take(id).map(Some) }
    }

    /// The result of a complete request, left in place (MPI_Request_get_status).
    pub fn peek(&self, id: RequestId) -> Result<Option<Status>> {
        self.lane.peek(id)
    }

    /// Takes a request that has ended well and is no persistent one, with one look, and tells its result. False, and nothing happens, for any other.
    #[inline]
    pub fn take_ended(&self, id: RequestId, tell: impl FnOnce(&Status)) -> bool {
        self.lane.take_ended(id, tell)
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
            self.lane.core.borrow_mut().promise_help(self.lane.fabric(), id, all);
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

    /// Waits until at least one of the requests is complete; the place of one, or `None` if none is
    /// active. The list may name inactive ones and have gaps.
    pub fn wait_any(&self, list: &dyn List) -> Result<Option<usize>> {
        if let Some(place) = self.known_complete(list) {
            return Ok(Some(place));
        }
        if self.lane.core.borrow().awaited.may_be(list) {
            // What has come meanwhile is found sooner than by a look through the list.
            self.lane.progress();
        }
        let mut found = self.first_complete(list)?;
        while found == Found::Pending {
            let mut looked = Ok(Found::Pending);
            let mut changes = self.lane.core.borrow().awaited.changes();
            self.lane.wait_for_requests(Interest::First(list), |lane| {
                let (is_ours, has_more) = {
                    let awaited = &lane.core.borrow().awaited;
                    (awaited.changes() == changes, awaited.has_more())
                };
                if is_ours {
                    return has_more;
                }
                // Another thread, or a function of the program, has looked at another list.
                looked = self.look_at(list);
                changes = lane.core.borrow().awaited.changes();
                looked != Ok(Found::Pending)
            })?;
            found = match looked? {
                Found::Pending => self.first_complete(list)?,
                other => other,
            };
        }
        Ok(match found {
            Found::Complete(place) => Some(place),
            _ => None,
        })
    }

    /// As [`wait_any`](Rank::wait_any) without waiting; makes progress if none is complete.
    pub fn test_any(&self, list: &dyn List) -> Result<Found> {
        let found = self.first_complete(list)?;
        if found != Found::Pending {
            return Ok(found);
        }
        self.lane.poke_requests(Interest::First(list))?;
        Ok(self.known_complete(list).map_or(Found::Pending, Found::Complete))
    }

    /// The place of a request of the list that is known to be complete, without a look through it.
    fn known_complete(&self, list: &dyn List) -> Option<usize> {
        loop {
            let (place, request) = {
                let awaited = &mut self.lane.core.borrow_mut().awaited;
                if !awaited.may_be(list) {
                    return None;
                }
                awaited.next(list)?
            };
            if request.is_some_and(|id| self.state(id) == Ok(State::Complete)) {
                return Some(place);
            }
        }
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

    fn first_complete(&self, list: &dyn List) -> Result<Found> {
        self.known_complete(list).map_or_else(|| self.look_at(list), |place| Ok(Found::Complete(place)))
    }

    /// Asks for the requests of all places that differ from what was seen at the last look.
    fn look_at(&self, list: &dyn List) -> Result<Found> {
        let mut from = 0;
        self.lane.core.borrow_mut().awaited.begin(list);
        while let Some(place) = { self.lane.core.borrow().awaited.differs(list, from) } {
            let request = list.get(place);
            let state = request.map_or(Ok(State::Inactive), |id| self.state(id))?;
            let core = &mut *self.lane.core.borrow_mut();
            core.awaited.sees(place, request);
            match (state, request) {
                (State::Complete, _) => core.awaited.add(place),
                (_, None) => {}
                (_, Some(id)) => {
                    core.mark(id, core.awaited.mark(place));
                    if state == State::Active {
                        core.awaited.is_active(place);
                    }
                }
            }
            from = place + 1;
        }
        Ok(match self.known_complete(list) {
            Some(place) => Found::Complete(place),
            None if self.has_active(list) => Found::Pending,
            None => Found::NoneActive,
        })
    }

    /// Whether a request of a list that was just looked at is active. The last one that was, or one
    /// before it: each is asked once between two looks.
    fn has_active(&self, list: &dyn List) -> bool {
        let last = self.lane.core.borrow().awaited.last_active();
        let is_active =
            |place: &usize| list.get(*place).is_some_and(|id| self.state(id) == Ok(State::Active));
        let active = (0..=last).rev().find(is_active);
        self.lane.core.borrow_mut().awaited.active_until(active.unwrap_or(0));
        active.is_some()
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

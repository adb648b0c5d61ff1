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

    /// Waits until at least one of the requests is complete; the place of one, or `None` if none is active. The list may name inactive ones and
    /// have gaps.
    pub fn wait_any(&self, list: &dyn List) -> Result<Option<usize>> {
        if let Some(place) = self.known_complete(list) {
            return Ok(Some(place));
        }
        if self.lane.core.borrow().awaited.is_of(list) {
            // What has come meanwhile is found sooner than by a look through the list.
            self.lane.progress();
        }
        let mut found = self.first_complete(list)?;
        while found == Found::Pending {
            let mut looked = Ok(Found::Pending);
            self.lane.wait_for_requests(Interest::First(list), |lane| {
                // Another thread, or a function of the program, may have waited for another list meanwhile.
                let marked = {
                    let core = lane.core.borrow();
                    core.awaited.is_of(list).then(|| core.awaited.has_more())
                };
                marked.unwrap_or_else(|| {
                    looked = self.look_through(list);
                    looked != Ok(Found::Pending)
                })
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
        /// Looks at the queue alone between two looks through the list, for what has no mark in it.
        const TRUSTED: u32 = 64;
        if let Some(place) = self.known_complete(list) {
            return Ok(Found::Complete(place));
        }
        let witness = {
            let awaited = &mut self.lane.core.borrow_mut().awaited;
            awaited.trusted += 1;
            (awaited.is_of(list) && awaited.trusted < TRUSTED).then_some(awaited.witness)
        };
        // The last one that was active, or one before it, each of which is asked once between two looks.
        let is_active =
            |place: &usize| list.get(*place).is_some_and(|id| self.state(id) == Ok(State::Active));
        match witness.and_then(|last| (0..=last).rev().find(is_active)) {
            Some(place) => self.lane.core.borrow_mut().awaited.witness = place,
            None => {
                let found = self.look_through(list)?;
                if found != Found::Pending {
                    return Ok(found);
                }
            }
        }
        self.lane.poke_requests(Interest::First(list))?;
        Ok(self.known_complete(list).map_or(Found::Pending, Found::Complete))
    }

    /// The place of a request of the list that is known to be complete, without a look through it: each place once.
    fn known_complete(&self, list: &dyn List) -> Option<usize> {
        loop {
            let place = {
                let awaited = &mut self.lane.core.borrow_mut().awaited;
                if !awaited.is_of(list) {
                    return None;
                }
                awaited.next()?
            };
            if list.get(place).is_some_and(|id| self.state(id) == Ok(State::Complete)) {
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
        self.known_complete(list).map_or_else(|| self.look_through(list), |place| Ok(Found::Complete(place)))
    }

    /// Looks at all requests of a list, and marks those that are active.
    fn look_through(&self, list: &dyn List) -> Result<Found> {
        self.lane.core.borrow_mut().awaited.begin(list);
        let mut pending = false;
        for place in 0..list.len() {
            let Some(id) = list.get(place) else { continue };
            let state = self.state(id)?;
            let core = &mut *self.lane.core.borrow_mut();
            match state {
                State::Complete => core.awaited.add(place),
                State::Active => {
                    pending = true;
                    core.awaited.witness = place;
                    core.mark(id, core.awaited.mark(place));
                }
                State::Inactive => {}
            }
        }
        let known = self.known_complete(list).map(Found::Complete);
        Ok(known.unwrap_or(if pending { Found::Pending } else { Found::NoneActive }))
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

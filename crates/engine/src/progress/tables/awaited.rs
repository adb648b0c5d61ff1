//! The completion queue: which requests of the list that was looked at last have completed since.
//!
//! A look remembers which request is in each place, and marks those that are active with their
//! places. A request that completes puts its place into the queue. The next look compares the
//! places with what it remembers, and asks only for the requests of those that differ: it costs
//! what has changed or completed, and a comparison of words for all that is pending. There is one
//! list at a time: programs wait for one array again and again.
//!
//! Invariant: arrays belong to the program, which may fill them anew in the same memory, so where a
//! list lies says nothing. What is remembered of a place holds for the very request that was seen
//! there, and for what it was doing then. An active one has a mark with its place, by which its end
//! comes into the queue. What else may happen to it, a start or its release, has the place
//! [forgotten](Awaited::forget). The queue only suggests a place; the caller asks what is there.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use crate::values::request::{List, RequestId, word};

/// Where a request stands in a list; of which list, by its number.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Mark {
    list: u32,
    place: u32,
}

/// What was seen in the places of a list, and those places whose requests are complete.
#[derive(Default, Debug)]
pub(crate) struct Awaited {
    number: u32,
    /// The request in each place, as a word; 0 for none, and where the next look has to ask.
    seen: Vec<u64>,
    done: VecDeque<u32>,
    /// No request behind this place was active when it was seen.
    witness: usize,
    /// Changes of what is remembered: by that a waiting caller knows that the list is still its own.
    changes: u64,
}

impl Awaited {
    /// A look begins: what is remembered of a list of another length says nothing of this one.
    pub fn begin(&mut self, list: &dyn List) {
        if self.seen.len() == list.len() {
            return;
        }
        self.number = self.number.checked_add(1).unwrap_or(1);
        self.changes += 1;
        self.done.clear();
        self.seen.clear();
        self.seen.resize(list.len(), 0);
        self.witness = 0;
    }

    /// Whether a list has as many places as the one that was looked at.
    pub fn may_be(&self, list: &dyn List) -> bool {
        !self.seen.is_empty() && self.seen.len() == list.len()
    }

    /// The first place from `from` on that has another request than it had.
    pub fn differs(&self, list: &dyn List, from: usize) -> Option<usize> {
        list.differs(&self.seen, from)
    }

    /// What is in a place now, whose request has the [mark](Awaited::mark) of it.
    pub fn sees(&mut self, place: usize, request: Option<RequestId>) {
        self.changes += 1;
        self.seen[place] = word(request);
    }

    /// What the request at this place is marked with.
    pub fn mark(&self, place: usize) -> Mark {
        // Lists are arrays of C: their lengths have 31 bits.
        Mark { list: self.number, place: place as u32 }
    }

    /// The request at this place is active.
    pub fn is_active(&mut self, place: usize) {
        self.witness = self.witness.max(place);
    }

    /// The request at this place is complete.
    pub fn add(&mut self, place: usize) {
        self.done.push_back(place as u32);
    }

    /// A request with this mark has completed.
    #[inline]
    pub fn completed(&mut self, mark: Mark) {
        if mark.list != 0 && mark.list == self.number {
            self.done.push_back(mark.place);
        }
    }

    /// A request with this mark is not what it was when it was seen: the next look asks for it.
    #[inline]
    pub fn forget(&mut self, mark: Mark) {
        if mark.list != 0 && mark.list == self.number {
            self.forget_place(mark.place as usize);
        }
    }

    fn forget_place(&mut self, place: usize) {
        self.changes += 1;
        if let Some(seen) = self.seen.get_mut(place) {
            *seen = 0;
        }
    }

    /// A persistent request with this mark was taken: it is inactive until it is started, which has
    /// its place forgotten.
    #[inline]
    pub fn rests(&mut self, mark: Mark, id: RequestId) {
        if mark.list != 0
            && mark.list == self.number
            && let Some(seen @ 0) = self.seen.get_mut(mark.place as usize)
        {
            *seen = word(Some(id));
        }
    }

    /// How often what is remembered has changed.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// Whether the queue has something.
    pub fn has_more(&self) -> bool {
        !self.done.is_empty()
    }

    /// Takes a place out of the queue, which is forgotten; and its request, if it is still there.
    pub fn next(&mut self, list: &dyn List) -> Option<(usize, Option<RequestId>)> {
        let place = self.done.pop_front()? as usize;
        let seen = self.seen.get(place).copied().unwrap_or(0);
        self.forget_place(place);
        Some((place, list.get(place).filter(|id| word(Some(*id)) == seen)))
    }

    /// The last place, up to that of the last look, whose request is active.
    pub fn last_active(&self) -> usize {
        self.witness
    }

    /// No request behind this place is active.
    pub fn active_until(&mut self, place: usize) {
        self.witness = place;
    }
}

//! The completion queue: which requests of the list that was waited for last have completed since.
//!
//! A look through a list marks the requests that are active with their places in it. One that completes puts its place into the queue, so that
//! the next look costs what has completed and not what is pending. There is one list at a time: programs wait for one array again and again.
//!
//! Invariant: the queue only suggests. Arrays belong to the program, which may have put something else into a place, so whoever takes a place
//! looks whether a complete request is there.

use alloc::collections::VecDeque;

use crate::values::request::List;

/// Where a request stands in a list; of which list, by its number.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Mark {
    list: u16,
    place: u32,
}

/// The list, and the places in it whose requests are complete.
#[derive(Default, Debug)]
pub(crate) struct Awaited {
    /// Where it lies, and its length.
    identity: (usize, usize),
    number: u16,
    done: VecDeque<u32>,
    /// The last place whose request was seen to be active; none behind it that has a mark is.
    pub witness: usize,
    /// Times in a row that the queue alone was asked.
    pub trusted: u32,
}

impl Awaited {
    /// Whether the marks are those of this list.
    pub fn is_of(&self, list: &dyn List) -> bool {
        self.number > 0 && self.identity == (list.address(), list.len())
    }

    /// A look through a list begins.
    pub fn begin(&mut self, list: &dyn List) {
        self.identity = (list.address(), list.len());
        self.number = self.number.checked_add(1).unwrap_or(1);
        self.done.clear();
        self.trusted = 0;
    }

    /// What an active request at this place is marked with.
    pub fn mark(&self, place: usize) -> Mark {
        // Lists are arrays of C: their lengths have 31 bits, or their later places go without marks and are found by the next look.
        u32::try_from(place).map_or(Mark::default(), |place| Mark { list: self.number, place })
    }

    /// The request at this place is complete.
    pub fn add(&mut self, place: usize) {
        self.done.extend(u32::try_from(place));
    }

    /// A request with this mark has completed.
    #[inline]
    pub fn completed(&mut self, mark: Mark) {
        if mark.list != 0 && mark.list == self.number {
            self.done.push_back(mark.place);
        }
    }

    /// Whether the queue has something.
    pub fn has_more(&self) -> bool {
        !self.done.is_empty()
    }

    /// Takes a place out of the queue.
    pub fn next(&mut self) -> Option<usize> {
        self.done.pop_front().map(|place| place as usize)
    }
}

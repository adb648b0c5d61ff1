//! Schedules that are run again and again: persistent collectives (MPI section 6.13).
//!
//! A persistent request owns the home of its schedule. Starting it takes the schedule out and runs it like a non-blocking one;
//! when it is done it goes home. Its steps, its tag and its scratch memory stay: the members agreed on the tag when they made the
//! request, so they may start several in any order.

use alloc::rc::Rc;
use alloc::vec::Vec;
use core::cell::RefCell;
use core::fmt;

use super::pool::Schedules;
use super::steps::{Shelf, Steps};

/// What a persistent request holds of its schedule.
pub(crate) struct Home {
    shelf: Rc<Shelf>,
    /// Where the schedule goes when the request is freed: its memory is booked on the budget of the rank.
    orphans: Rc<RefCell<Vec<Steps>>>,
}

impl Home {
    /// The home of a schedule that is run again and again.
    pub fn of(mut plan: Steps, schedules: &Schedules) -> Rc<Home> {
        let shelf = Rc::new(Shelf::default());
        plan.home = Some(Rc::downgrade(&shelf));
        shelf.replace(Some(plan));
        Rc::new(Home { shelf, orphans: schedules.orphans.clone() })
    }

    /// Takes the schedule out to run it; `None` while it runs.
    pub fn leave(&self) -> Option<Steps> {
        self.shelf.take()
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        self.orphans.borrow_mut().extend(self.shelf.take());
    }
}

impl fmt::Debug for Home {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a persistent collective")
    }
}

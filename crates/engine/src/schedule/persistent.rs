//! Schedules that are run again and again: persistent collectives (MPI section 6.13).
//!
//! A persistent request owns the home of its schedule. Starting it takes the schedule out and runs it like a non-blocking one;
//! when it is done it goes home. Its steps, its tag and its scratch memory stay: the members agreed on the tag when they made the
//! request, so they may start several in any order.

use alloc::rc::Rc;
use alloc::vec::Vec;
use core::cell::RefCell;
use core::fmt;

use super::Steps;
use crate::progress::request::RequestId;
use crate::rank::Rank;
use crate::values::error::{Error, Result};

/// Where the schedule of a persistent request is while it does not run.
pub(crate) struct Home {
    plan: RefCell<Option<Steps>>,
    /// Where the schedule goes when the request is freed: its memory is booked on the budget of the rank.
    orphans: Rc<RefCell<Vec<Steps>>>,
}

impl Rank {
    /// Makes a persistent request of a schedule.
    pub(crate) fn keep(&self, plan: Steps) -> Result<RequestId> {
        let home = Rc::new(Home { plan: RefCell::new(None), orphans: self.schedules.orphans.clone() });
        let mut plan = plan;
        plan.home = Some(Rc::downgrade(&home));
        home.plan.replace(Some(plan));
        self.persistent_collective(home)
    }

    /// Starts the schedule of a persistent request.
    pub(crate) fn start_kept(&self, home: &Home) -> Result<RequestId> {
        let plan = home.plan.borrow_mut().take();
        self.launch(plan.ok_or(Error::Request { reason: "the persistent collective is active already" })?)
    }

    /// A schedule is done: a persistent one goes home, unless its request was freed meanwhile.
    pub(super) fn retire(&self, mut plan: Steps) {
        self.schedules.passed.set(Some(plan.identity()));
        let Some(home) = plan.home.as_ref().and_then(alloc::rc::Weak::upgrade) else {
            return self.recycle(plan);
        };
        plan.next = 0;
        plan.failed = None;
        plan.status = None;
        plan.request = None;
        home.plan.replace(Some(plan));
    }

    /// Takes back the schedules of persistent requests that were freed.
    #[inline]
    pub(super) fn recycle_orphans(&self) {
        loop {
            let orphan = self.schedules.orphans.borrow_mut().pop();
            match orphan {
                Some(plan) => self.recycle(plan),
                None => return,
            }
        }
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        self.orphans.borrow_mut().extend(self.plan.take());
    }
}

impl fmt::Debug for Home {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a persistent collective")
    }
}

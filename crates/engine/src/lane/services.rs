//! What a rank that waits does for others meanwhile.

use alloc::rc::Rc;
use alloc::vec::Vec;
use core::cell::{Cell, RefCell};

use fabric::Fabric;

/// Something that others may want of this rank while it waits.
pub(crate) trait Service {
    /// Does what somebody wants, if somebody does. Must not use the rank.
    fn serve(&self, fabric: &dyn Fabric) -> bool;
}

/// The services of a lane.
#[derive(Default)]
pub(crate) struct Services {
    offered: RefCell<Vec<Rc<dyn Service>>>,
    /// There are some: asked in every round of a wait.
    any: Cell<bool>,
    /// The round of the wait in which one was used last: who is used stays awake.
    since: Cell<u32>,
}

impl Services {
    pub fn offer(&self, service: Rc<dyn Service>) {
        self.offered.borrow_mut().push(service);
        self.any.set(true);
    }

    /// Ends the service that this is.
    pub fn end(&self, service: &Rc<dyn Service>) {
        let mut offered = self.offered.borrow_mut();
        offered.retain(|other| !Rc::ptr_eq(other, service));
        self.any.set(!offered.is_empty());
    }

    /// In a round of a wait: does what somebody wants. If nobody wants anything, how many rounds that is so.
    #[inline]
    pub fn serve(&self, fabric: &dyn Fabric, rounds: u32) -> Option<u32> {
        if self.any.get() { self.serve_each(fabric, rounds) } else { Some(rounds) }
    }

    #[inline(never)]
    fn serve_each(&self, fabric: &dyn Fabric, rounds: u32) -> Option<u32> {
        let mut served = false;
        for service in self.offered.borrow().iter() {
            served |= service.serve(fabric);
        }
        if served {
            self.since.set(rounds);
            return None;
        }
        // Another wait has begun if there are fewer.
        let since = self.since.get();
        self.since.set(since.min(rounds));
        Some(rounds - since.min(rounds))
    }
}

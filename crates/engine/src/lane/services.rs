//! What a rank that waits does for others meanwhile.

use alloc::rc::Rc;
use alloc::vec::Vec;
use core::cell::{Cell, RefCell};

use fabric::Fabric;

/// Something that others may want of this rank while it waits.
pub trait Service {
    /// Does what somebody wants, if somebody does. It may begin operations of the rank and look at them, but must not wait or make progress.
    fn serve(&self, fabric: &dyn Fabric) -> bool;

    /// Whether it waits for something that is no event of the fabric, such as a file of the system: the rank sleeps for short times only.
    fn awaits_outside(&self) -> bool {
        false
    }
}

/// What a round of a wait found.
pub(crate) enum Served {
    /// Something was done.
    Some,
    /// Nobody wants anything, for so many rounds.
    None(u32),
    /// The same, but somebody waits for what the fabric does not tell of.
    NoneYet(u32),
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

    /// There are some.
    pub fn any(&self) -> bool {
        self.any.get()
    }

    /// In a round of a wait: does what somebody wants.
    #[inline]
    pub fn serve(&self, fabric: &dyn Fabric, rounds: u32) -> Served {
        if self.any.get() { self.serve_each(fabric, rounds) } else { Served::None(rounds) }
    }

    #[inline(never)]
    fn serve_each(&self, fabric: &dyn Fabric, rounds: u32) -> Served {
        let (mut served, mut outside, mut index) = (false, false, 0);
        // One that is served may end itself, or another.
        loop {
            let service = self.offered.borrow().get(index).cloned();
            let Some(service) = service else { break };
            served |= service.serve(fabric);
            outside |= service.awaits_outside();
            index += 1;
        }
        if served {
            self.since.set(rounds);
            return Served::Some;
        }
        // Another wait has begun if there are fewer.
        let since = self.since.get();
        self.since.set(since.min(rounds));
        let quiet = rounds - since.min(rounds);
        if outside { Served::NoneYet(quiet) } else { Served::None(quiet) }
    }
}

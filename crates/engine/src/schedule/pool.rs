//! The schedules of a rank: those under way, and those that wait to be used again.

use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::vec::Vec;
use core::cell::{Cell, RefCell};

use fabric::{Budget, Fabric};

use super::steps::{Identity, Schedule, Steps};
use crate::values::bounds::Bounds;
use crate::values::datatype::{Basic, Datatype};
use crate::values::request::RequestId;

/// What the budget calls the memory of running collectives.
pub(super) const SCRATCH: &str = "collective scratch";

/// Schedules that are kept for reuse.
const POOL: usize = 4;

/// Scratch memory of at most this many bytes stays with a schedule that is kept.
pub(super) const KEPT_SCRATCH: usize = 4096;

/// The schedules of a rank.
pub(crate) struct Schedules {
    /// Non-blocking collectives under way, in the order in which they began. `None` while one is being advanced.
    pub(crate) active: RefCell<Vec<Option<Steps>>>,
    pub(crate) live: Cell<usize>,
    /// Those of them that go by boards: nobody sends this rank a letter when they can go on.
    pub(crate) boarded: Cell<usize>,
    pub(crate) advancing: Cell<bool>,
    pub(crate) pool: RefCell<Vec<Steps>>,
    /// Schedules that were given up: of persistent requests that were freed, and that could not be finished.
    pub(crate) orphans: Rc<RefCell<Vec<Steps>>>,
    pub(crate) byte: Datatype,
    /// The collective that came to its end last.
    pub(crate) passed: Cell<Option<Identity>>,
    /// Algorithms that the user prefers: (collective, algorithm).
    preferred: RefCell<Vec<(&'static str, &'static str)>>,
    /// Where collectives change their way.
    bounds: Cell<&'static Bounds>,
}

impl Schedules {
    pub fn new() -> Schedules {
        Schedules {
            active: RefCell::default(),
            live: Cell::new(0),
            boarded: Cell::new(0),
            advancing: Cell::new(false),
            pool: RefCell::default(),
            orphans: Rc::default(),
            byte: Datatype::basic(Basic::Byte),
            passed: Cell::new(None),
            preferred: RefCell::default(),
            bounds: Cell::new(&Bounds::BUILT_IN),
        }
    }

    /// Non-blocking collectives under way.
    #[inline]
    pub fn live(&self) -> usize {
        self.live.get()
    }

    pub fn prefer(&self, collective: &'static str, algorithm: Option<&'static str>) {
        let mut preferred = self.preferred.borrow_mut();
        preferred.retain(|(name, _)| *name != collective);
        preferred.extend(algorithm.map(|algorithm| (collective, algorithm)));
    }

    /// Takes over what other schedules prefer, and their bounds.
    pub fn prefer_like(&self, other: &Schedules) {
        self.bounds.set(other.bounds());
        self.preferred.replace(other.preferred.borrow().clone());
    }

    /// Where collectives change their way.
    #[inline]
    pub fn bounds(&self) -> &'static Bounds {
        self.bounds.get()
    }

    pub fn set_bounds(&self, bounds: &'static Bounds) {
        self.bounds.set(bounds);
    }

    /// True if the user prefers any.
    #[inline]
    pub fn has_preferences(&self) -> bool {
        !self.preferred.borrow().is_empty()
    }

    pub fn preferred(&self, collective: &'static str) -> Option<&'static str> {
        let preferred = self.preferred.borrow();
        preferred.iter().find(|(name, _)| *name == collective).map(|(_, algorithm)| *algorithm)
    }

    /// The collective that this request stands for.
    pub fn collective_of(&self, request: RequestId) -> Option<Identity> {
        let active = self.active.try_borrow().ok()?;
        let plan = active.iter().flatten().find(|plan| plan.request == Some(request))?;
        Some(plan.identity())
    }

    /// The collective that came to its end last, for those who ask why others wait in it.
    pub fn passed(&self) -> Option<Identity> {
        self.passed.get()
    }

    /// A schedule to write into.
    pub fn take(&self) -> Steps {
        self.pool.borrow_mut().pop().unwrap_or_else(|| Box::new(Schedule::new()))
    }

    /// Takes back a schedule that is done, or that was not wanted, with no message under way.
    pub fn recycle(&self, mut plan: Steps, budget: &Budget) {
        debug_assert!(plan.pending.is_empty(), "a schedule with messages under way is given up");
        let keep = self.pool.borrow().len() < POOL;
        plan.scratch.retain(|scratch| {
            let kept = keep && scratch.capacity() <= KEPT_SCRATCH;
            if !kept {
                budget.release(SCRATCH, scratch.capacity());
            }
            kept
        });
        if !keep {
            return;
        }
        plan.steps.clear();
        plan.scratch_used = 0;
        plan.comm = None;
        plan.op = None;
        plan.next = 0;
        plan.failed = None;
        plan.status = None;
        plan.request = None;
        plan.home = None;
        self.pool.borrow_mut().push(plan);
    }

    /// Leaves a schedule to whoever looks after messages that it may have under way.
    pub fn give_up(&self, plan: Steps) {
        self.orphans.borrow_mut().push(plan);
    }
}

/// What plans are made with: the schedules that they reuse, and the machine that they are made for.
#[derive(Clone, Copy)]
pub(crate) struct Workshop<'a> {
    pub schedules: &'a Schedules,
    pub fabric: &'a dyn Fabric,
}

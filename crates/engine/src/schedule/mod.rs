//! Schedules: what a collective does, as a list of steps that blocking, non-blocking and persistent forms all run.
//!
//! Messages are started in order and go on side by side; a local step (combine, copy, call) and [`Step::Wait`] wait for all
//! messages that were started before. So a *round* is a run of sends and receives followed by the local steps that use them.
//!
//! Schedules are built by the algorithms in `coll` through a [`Builder`], and run by `run`. A schedule, its step list and its
//! small scratch memory are reused by the next collective: a barrier or a small all-reduction allocates nothing.

mod builder;
mod persistent;
mod run;

use alloc::boxed::Box;
use alloc::rc::{Rc, Weak};
use alloc::vec::Vec;
use core::cell::{Cell, RefCell};

use smallvec::SmallVec;

use crate::lane::waits::Identity;
use crate::progress::request::{RequestId, Status};
use crate::rank::Rank;
use crate::values::comm::Comm;
use crate::values::contexts::Contexts;
use crate::values::datatype::{Basic, Datatype};
use crate::values::error::{Error, Result};
use crate::values::ids::{ContextId, Tag};
use crate::values::memory::{Region, Scratch};
use crate::values::op::Op;

pub(crate) use builder::Builder;
pub(crate) use persistent::Home;

/// A schedule that is ready to run.
pub(crate) type Steps = Box<Schedule>;

/// What the budget calls the memory of running collectives.
const SCRATCH: &str = "collective scratch";

/// Schedules that are kept for reuse.
const POOL: usize = 4;

/// Scratch memory of at most this many bytes stays with a schedule that is kept.
const KEPT_SCRATCH: usize = 4096;

/// One thing to do.
pub(crate) enum Step {
    /// Start a message to a member.
    Send { to: u32, region: Region },
    /// Start to receive a message from a member; it must have exactly the region's length.
    Receive { from: u32, region: Region },
    /// Go on when all messages are complete.
    Wait,
    /// `inout[i] = input[i] op inout[i]`.
    Combine { input: Region, inout: Region },
    /// Copy, from one layout to another.
    Copy { from: Region, to: Region },
    /// Run a piece of the library's own code: creation of communicators.
    Call(Rc<Call>),
}

/// A piece of the library's own code.
pub(crate) type Call = dyn Fn(&Contexts) -> Result<Next>;

/// How a schedule goes on after a [`Step::Call`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Next {
    /// With the next step.
    Step,
    /// From the first step again.
    Restart,
    /// With the same step, when the rank makes progress next.
    Stay,
    /// With the next step; messages have this tag from here on.
    Tag(Tag),
    /// With the next step; this is the result of the schedule.
    Report(Status),
}

/// A list of steps, and how far they have come.
pub(crate) struct Schedule {
    /// The collective, for those who watch.
    name: &'static str,
    /// The bytes that all members must agree on, if there are such.
    bytes: Option<u64>,
    steps: Vec<Step>,
    scratch: SmallVec<[Scratch; 4]>,
    /// How many of `scratch` this use of the schedule has taken.
    scratch_used: usize,
    comm: Option<Comm>,
    context: ContextId,
    tag: Tag,
    op: Option<Op>,
    next: usize,
    pending: SmallVec<[Pending; 8]>,
    failed: Option<Error>,
    /// The result of the message that the request of this schedule stands for, if it stands for one.
    status: Option<Status>,
    request: Option<RequestId>,
    /// Where a persistent schedule goes back to.
    home: Option<Weak<Home>>,
}

/// A message under way.
#[derive(Clone, Copy, Debug)]
struct Pending {
    id: RequestId,
    /// Bytes that a receive must get; `None` for sends.
    expected: Option<u64>,
    /// Its result is that of the schedule.
    reported: bool,
}

impl Schedule {
    fn new() -> Schedule {
        Schedule {
            name: "",
            bytes: None,
            steps: Vec::new(),
            scratch: SmallVec::new(),
            scratch_used: 0,
            comm: None,
            context: ContextId::WORLD,
            tag: Tag::own(0),
            op: None,
            next: 0,
            pending: SmallVec::new(),
            failed: None,
            status: None,
            request: None,
            home: None,
        }
    }

    fn identity(&self) -> Identity {
        Identity { name: self.name, context: self.context, number: self.tag.value(), bytes: self.bytes }
    }

    /// The round that begins with the next step, counted from 0, if one does: with a message that comes first or after a local step.
    #[cold]
    fn round_beginning(&self) -> Option<u32> {
        let is_message = |step: &Step| matches!(step, Step::Send { .. } | Step::Receive { .. });
        let begins = |at: usize| is_message(&self.steps[at]) && (at == 0 || !is_message(&self.steps[at - 1]));
        begins(self.next).then(|| (0..self.next).filter(|at| begins(*at)).count() as u32)
    }

    /// Renames the members that messages go to and come from: a schedule built for a group runs on a communicator around it.
    pub fn translate(&mut self, members: &[u32]) {
        for step in &mut self.steps {
            if let Step::Send { to: peer, .. } | Step::Receive { from: peer, .. } = step {
                *peer = members[*peer as usize];
            }
        }
    }
}

/// The schedules of a rank.
pub(crate) struct Schedules {
    /// Non-blocking collectives under way, in the order in which they began. `None` while one is being advanced.
    active: RefCell<Vec<Option<Steps>>>,
    live: Cell<usize>,
    advancing: Cell<bool>,
    pool: RefCell<Vec<Steps>>,
    /// Schedules of persistent requests that were freed.
    orphans: Rc<RefCell<Vec<Steps>>>,
    byte: Datatype,
    /// The collective that came to its end last.
    passed: Cell<Option<Identity>>,
    /// Algorithms that the user prefers: (collective, algorithm).
    preferred: RefCell<Vec<(&'static str, &'static str)>>,
}

impl Schedules {
    pub fn new() -> Schedules {
        Schedules {
            active: RefCell::default(),
            live: Cell::new(0),
            advancing: Cell::new(false),
            pool: RefCell::default(),
            orphans: Rc::default(),
            byte: Datatype::basic(Basic::Byte),
            passed: Cell::new(None),
            preferred: RefCell::default(),
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

    fn take(&self) -> Steps {
        self.pool.borrow_mut().pop().unwrap_or_else(|| Box::new(Schedule::new()))
    }
}

impl Rank {
    /// Takes back a schedule that is done, or that was not wanted.
    pub(crate) fn recycle(&self, mut plan: Steps) {
        // Of a schedule that was set up and never begun: what comes late must not find its memory used by others.
        for pending in core::mem::take(&mut plan.pending) {
            let _ = self.cancel(pending.id);
            let _ = self.wait(pending.id);
        }
        let budget = self.fabric().budget();
        let pool = &self.schedules.pool;
        let keep = pool.borrow().len() < POOL;
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
        pool.borrow_mut().push(plan);
    }
}

//! What a schedule is: its steps, and how far they have come.

use alloc::boxed::Box;
use alloc::rc::{Rc, Weak};
use alloc::vec::Vec;
use core::cell::RefCell;

use smallvec::SmallVec;

use super::boarding::Boarding;
use crate::values::comm::Comm;
use crate::values::contexts::Contexts;
use crate::values::envelope::CONTROL_MAX;
use crate::values::error::{Error, Result};
use crate::values::ids::{ContextId, Tag};
use crate::values::memory::{Region, Scratch};
use crate::values::op::Op;
use crate::values::request::{RequestId, Status};

/// A schedule that is ready to run.
pub(crate) type Steps = Box<Schedule>;

/// Where a schedule lies that is run again and again, while it does not run.
pub(crate) type Shelf = RefCell<Option<Steps>>;

/// One thing to do.
pub(crate) enum Step {
    /// Start a message to a member.
    Send { to: u32, region: Region },
    /// Start to receive a message from a member; it must have exactly the region's length.
    Receive { from: u32, region: Region },
    /// Start to receive a message that may be shorter than the region; its result is that of the schedule.
    Take { from: u32, region: Region },
    /// Let a member put into the region, which takes exactly its length, and tell it where that is.
    Grant { to: u32, region: Region },
    /// Start a message to several members by the network's multicast.
    Multicast(Box<Spread>),
    /// Go on when all messages are complete.
    Wait,
    /// `inout[i] = input[i] op inout[i]`.
    Combine { input: Region, inout: Region },
    /// Copy, from one layout to another.
    Copy { from: Region, to: Region },
    /// Run a piece of the library's own code: creation of communicators.
    Call(Rc<Call>),
    /// Take a turn at a board.
    Board(Box<Boarding>),
}

impl Step {
    /// True for a step that starts messages, which go on side by side with those of its neighbours.
    pub fn is_message(&self) -> bool {
        matches!(
            self,
            Step::Send { .. }
                | Step::Receive { .. }
                | Step::Take { .. }
                | Step::Grant { .. }
                | Step::Multicast(_)
        )
    }
}

/// A message to several members, each in another cluster. Members are those of the communicator: no part of a schedule that is renamed has one.
pub(crate) struct Spread {
    pub to: Vec<u32>,
    /// Contiguous.
    pub region: Region,
    /// The words by which they have granted their memories, [`WORD_BYTES`] each; without them it goes in letters.
    pub grants: Option<Region>,
}

/// Bytes of the word by which a member grants its memory.
pub(crate) const WORD_BYTES: u64 = CONTROL_MAX as u64;

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
    /// With the next step; the message that the schedule has taken is known by this tag.
    Known(Tag),
}

/// A list of steps, and how far they have come.
pub(crate) struct Schedule {
    /// The collective, for those who watch.
    pub name: &'static str,
    /// The bytes that all members must agree on, if there are such.
    pub bytes: Option<u64>,
    pub steps: Vec<Step>,
    pub scratch: SmallVec<[Scratch; 4]>,
    /// How many of `scratch` this use of the schedule has taken.
    pub scratch_used: usize,
    pub comm: Option<Comm>,
    pub context: ContextId,
    pub tag: Tag,
    pub op: Option<Op>,
    pub next: usize,
    pub pending: SmallVec<[Pending; 8]>,
    pub failed: Option<Error>,
    /// The result of the message that the request of this schedule stands for, if it stands for one.
    pub status: Option<Status>,
    pub request: Option<RequestId>,
    /// Where a persistent schedule goes back to.
    pub home: Option<Weak<Shelf>>,
}

/// A message under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pending {
    pub id: RequestId,
    /// Bytes that a receive must get; `None` for sends.
    pub expected: Option<u64>,
    /// Its result is that of the schedule.
    pub reported: bool,
}

impl Schedule {
    pub fn new() -> Schedule {
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

    pub fn identity(&self) -> Identity {
        Identity { name: self.name, context: self.context, number: self.tag.value(), bytes: self.bytes }
    }

    /// The round that begins with the next step, counted from 0, if one does: with a message that comes first or after a local step.
    #[cold]
    pub fn round_beginning(&self) -> Option<u32> {
        let is_message = Step::is_message;
        let begins = |at: usize| is_message(&self.steps[at]) && (at == 0 || !is_message(&self.steps[at - 1]));
        begins(self.next).then(|| (0..self.next).filter(|at| begins(*at)).count() as u32)
    }

    /// A persistent schedule that has been run goes back to where it lies; others, and those whose request was freed meanwhile, are returned.
    pub fn go_home(mut self: Box<Self>) -> Option<Steps> {
        let Some(shelf) = self.home.as_ref().and_then(Weak::upgrade) else { return Some(self) };
        self.next = 0;
        self.failed = None;
        self.status = None;
        self.request = None;
        shelf.replace(Some(self));
        None
    }

    /// Renames the members that messages go to and come from: a schedule built for a group runs on a communicator around it.
    pub fn translate(&mut self, members: &[u32]) {
        for step in &mut self.steps {
            if let Step::Send { to: peer, .. }
            | Step::Receive { from: peer, .. }
            | Step::Take { from: peer, .. } = step
            {
                *peer = members[*peer as usize];
            }
        }
    }
}

/// Which collective a rank is in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Identity {
    pub name: &'static str,
    pub context: ContextId,
    /// Its place among the collectives of its communicator, the same at all members.
    pub number: i32,
    /// The bytes that all members must agree on, if there are such.
    pub bytes: Option<u64>,
}

impl Schedule {
    /// Goes past a local step of a failed schedule.
    #[cold]
    pub fn skip_local(&mut self) {
        self.next =
            if matches!(self.steps[self.next], Step::Call(_)) { self.steps.len() } else { self.next + 1 };
    }

    /// What its request gets.
    pub fn outcome(&mut self) -> Result<Status> {
        self.failed.take().map_or(Ok(self.status.take().unwrap_or(Status::EMPTY)), Err)
    }

    /// Notes the first failure.
    #[cold]
    pub fn fail(&mut self, error: Error) {
        self.failed.get_or_insert(error);
    }
}

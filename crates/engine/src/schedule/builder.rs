//! How algorithms write schedules.

use fabric::Route;

use super::pool::{KEPT_SCRATCH, SCRATCH, Workshop};
use super::steps::{Pending, Step, Steps};
use crate::values::comm::Comm;
use crate::values::datatype::Datatype;
use crate::values::error::{Error, Result};
use crate::values::ids::Tag;
use crate::values::memory::{Region, Scratch};
use crate::values::op::Op;
use crate::values::request::RequestId;
use crate::values::shared::quietly;

/// Collectives use the tags from 0 to below this of a communicator's collective context; the others are for group-wide creations.
pub(crate) const COLLECTIVE_TAGS: u32 = i32::MAX as u32;

/// The tag of a group-wide creation: another one for each tag of the user's, and never `i32::MIN`, which means any.
fn group_tag(tag: Tag) -> Tag {
    Tag::from_wire(if tag.value() == Tag::MAX { Tag::MAX } else { -1 - tag.value() })
}

/// Writes the steps of one member. Messages without bytes are left out, because both sides know their lengths; but not those of a
/// collective that has no bytes at all: a member that disagrees, and waits for some, gets a message then that tells it.
pub(crate) struct Builder<'a> {
    shop: Workshop<'a>,
    plan: Option<Steps>,
    /// All members are said to have nothing.
    empty: bool,
    /// It names members as its communicator does.
    whole: bool,
    /// This member.
    pub me: u32,
    /// Members.
    pub size: u32,
}

impl<'a> Builder<'a> {
    /// For the next collective of a communicator.
    pub fn new(shop: Workshop<'a>, comm: &Comm, name: &'static str) -> Builder<'a> {
        let tag = Tag::from_wire(Builder::next_number(comm));
        let mut b = Builder::with(shop, comm, tag, (comm.rank(), comm.size()), name);
        b.whole = true;
        b
    }

    /// For a collective of some members of a communicator, kept apart from others by the user's tag. The schedule names members by
    /// their place among them; [`Schedule::translate`](super::Schedule::translate) must follow.
    pub fn for_group(
        shop: Workshop<'a>,
        comm: &Comm,
        tag: Tag,
        place: (u32, u32),
        name: &'static str,
    ) -> Builder<'a> {
        Builder::with(shop, comm, group_tag(tag), place, name)
    }

    /// For a partitioned message, whose context is its own.
    pub fn for_partitions(shop: Workshop<'a>, comm: &Comm, tag: Tag, name: &'static str) -> Builder<'a> {
        let mut b = Builder::with(shop, comm, tag, (comm.rank(), comm.size()), name);
        b.plan().context = comm.context().partitioned();
        b
    }

    /// A message that is under way already, and that the first step waits for.
    pub fn await_request(&mut self, id: RequestId) {
        self.plan().pending.push(Pending { id, expected: None, reported: false });
    }

    fn with(
        shop: Workshop<'a>,
        comm: &Comm,
        tag: Tag,
        (me, size): (u32, u32),
        name: &'static str,
    ) -> Builder<'a> {
        let mut plan = shop.schedules.take();
        plan.context = comm.context().collective();
        plan.comm = Some(comm.clone());
        plan.tag = tag;
        plan.name = name;
        plan.bytes = None;
        Builder { shop, plan: Some(plan), empty: false, whole: false, me, size }
    }

    /// The number of the next collective of a communicator among all of them.
    pub fn next_number(comm: &Comm) -> i32 {
        (comm.next_collective() % COLLECTIVE_TAGS) as i32
    }

    /// What it is made with.
    pub fn shop(&self) -> Workshop<'a> {
        self.shop
    }

    /// The way to a member; `None` in a schedule that names members by their place among some of a communicator.
    pub fn route(&self, member: u32) -> Option<Route> {
        let comm = self.plan.as_ref().filter(|_| self.whole)?.comm.as_ref()?;
        Some(*self.shop.fabric.route(comm.node(member)))
    }

    /// The cluster of a member, where its [way](Builder::route) is known.
    pub fn cluster(&self, member: u32) -> Option<u32> {
        self.route(member).map(|route| route.cluster)
    }

    /// The bytes that all members must agree on. Before any step is written.
    pub fn all_agree_on(&mut self, bytes: u64) {
        self.plan().bytes = Some(bytes);
        self.empty = bytes == 0;
    }

    /// A number that tells this schedule from others under way, the same at all of its members.
    pub fn seed(&mut self) -> u32 {
        let plan = self.plan();
        plan.context.0.wrapping_mul(0x9e37_79b9) ^ plan.tag.value() as u32
    }

    /// The operation of all combine steps.
    pub fn set_op(&mut self, op: &Op) {
        self.plan().op = Some(op.clone());
    }

    /// True if operands may be exchanged.
    pub fn is_commutative(&self) -> bool {
        self.plan.as_ref().and_then(|plan| plan.op.as_ref()).is_none_or(Op::is_commutative)
    }

    /// True if operands are to be combined in the order of `values::pairing`, because other calls
    /// of the members may go by memory that they share.
    pub fn is_paired(&self) -> bool {
        self.shop.fabric.caps().boards
    }

    /// True if operands of this type may be exchanged, and what comes out has the same bits as if
    /// they were not, if that matters.
    pub fn may_exchange(&self, datatype: &Datatype) -> bool {
        let op = self.plan.as_ref().and_then(|plan| plan.op.as_ref());
        let has_bits = |op: &Op| !self.is_paired() || op.as_builtin().is_none() || op.is_symmetric(datatype);
        op.is_none_or(|op| op.is_commutative() && has_bits(op))
    }

    /// This member fails, if there is an error, before it has begun: it takes part without data, so that the others end, too.
    pub fn fail(&mut self, error: Option<Error>) {
        if error.is_some() {
            self.plan().failed = error;
        }
    }

    /// The schedule.
    pub fn finish(mut self) -> Steps {
        self.plan.take().expect("a builder has a schedule until it is finished")
    }

    #[inline]
    pub fn send(&mut self, to: u32, region: &Region) {
        if region.bytes() > 0 || self.empty {
            self.push(Step::Send { to, region: region.clone() });
        }
    }

    #[inline]
    pub fn receive(&mut self, from: u32, region: &Region) {
        if region.bytes() > 0 || self.empty {
            self.push(Step::Receive { from, region: region.clone() });
        }
    }

    /// A message without bytes, for barriers.
    pub fn notify(&mut self, to: u32) {
        let region = self.nothing();
        self.push(Step::Send { to, region });
    }

    /// Receives a message without bytes.
    pub fn await_notice(&mut self, from: u32) {
        let region = self.nothing();
        self.push(Step::Receive { from, region });
    }

    /// Writes a part of the schedule in which `count` members from `first` on take part, this one among them. It names them by their place
    /// among these.
    pub fn among(&mut self, first: u32, count: u32, part: &dyn Fn(&mut Self) -> Result<()>) -> Result<()> {
        let (me, size, start) = (self.me, self.size, self.plan().steps.len());
        let whole = self.whole;
        (self.me, self.size, self.whole) = (me - first, count, whole && count == size);
        let written = part(self);
        (self.me, self.size, self.whole) = (me, size, whole);
        for step in &mut self.plan().steps[start..] {
            if let Step::Send { to: peer, .. }
            | Step::Receive { from: peer, .. }
            | Step::Take { from: peer, .. } = step
            {
                *peer += first;
            }
        }
        written
    }

    /// Goes on when all messages are complete.
    pub fn wait(&mut self) {
        self.push(Step::Wait);
    }

    /// `inout[i] = input[i] op inout[i]`.
    #[inline]
    pub fn combine(&mut self, input: &Region, inout: &Region) {
        self.push(Step::Combine { input: input.clone(), inout: inout.clone() });
    }

    /// Copies unless both are the same memory.
    #[inline]
    pub fn copy(&mut self, from: &Region, to: &Region) {
        if from.bytes() > 0 && !(from.same_place(to) && from.datatype().same(to.datatype())) {
            self.push(Step::Copy { from: from.clone(), to: to.clone() });
        }
    }

    // A schedule is written in more than two hundred places, each of which would have code for the case that this unwinds.
    #[inline]
    pub fn push(&mut self, step: Step) {
        quietly(self, step, |b, step| b.plan().steps.push(step));
    }

    /// Scratch memory for `count` elements, until the schedule is done.
    pub fn scratch(&mut self, count: u64, datatype: &Datatype) -> Result<Region> {
        let bytes = Scratch::bytes_for(count, datatype);
        let budget = self.shop.fabric.budget();
        let plan = self.plan();
        let index = plan.scratch_used;
        if index == plan.scratch.len() || plan.scratch[index].capacity() < bytes {
            let room = bytes.next_multiple_of(16);
            budget.reserve(SCRATCH, room)?;
            // Gaps are never written, but kernels look at whole elements; and what is kept for reuse may be used for both.
            let scratch = if room <= KEPT_SCRATCH || !datatype.layout().is_contiguous() {
                Scratch::zeroed(room)
            } else {
                Scratch::unwritten(room)
            };
            debug_assert_eq!(scratch.capacity(), room);
            plan.scratch.insert(index, scratch);
        }
        plan.scratch_used += 1;
        Ok(plan.scratch[index].region(count, datatype))
    }

    /// Scratch memory of the same shape.
    pub fn scratch_like(&mut self, region: &Region) -> Result<Region> {
        self.scratch(region.count(), region.datatype())
    }

    /// Scratch memory of plain bytes.
    pub fn scratch_bytes(&mut self, bytes: u64) -> Result<Region> {
        let byte = self.byte().clone();
        self.scratch(bytes, &byte)
    }

    /// The type of one byte.
    pub fn byte(&self) -> &'a Datatype {
        &self.shop.schedules.byte
    }

    fn nothing(&mut self) -> Region {
        Region::empty(self.byte())
    }

    #[inline]
    fn plan(&mut self) -> &mut Steps {
        self.plan.as_mut().expect("a builder has a schedule until it is finished")
    }
}

impl Drop for Builder<'_> {
    /// A schedule that could not be finished gives its memory back.
    fn drop(&mut self) {
        if let Some(plan) = self.plan.take() {
            self.shop.schedules.give_up(plan);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn group_wide_creations_have_a_tag_for_each_of_the_users() {
        let tags = [0, 1, 7, 1 << 29, 1 << 30, (1 << 30) + 1, (1 << 30) + 7, Tag::MAX - 1, Tag::MAX];
        for (at, tag) in tags.into_iter().enumerate() {
            let wire = group_tag(Tag::from_wire(tag)).value();
            assert!(!(0..COLLECTIVE_TAGS as i32).contains(&wire), "{tag} is a collective's");
            assert_ne!(wire, i32::MIN, "{tag} would be any tag");
            for other in &tags[..at] {
                assert_ne!(group_tag(Tag::from_wire(*other)).value(), wire, "{other} and {tag}");
            }
        }
    }
}

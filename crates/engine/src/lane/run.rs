//! Running schedules.
//!
//! No borrow of the rank's state is held while a step runs, because a user-defined operation may use the rank again.
//!
//! A schedule that fails goes on, because other members wait for its messages: it computes nothing more, takes what comes, and
//! sends messages *without bytes* in place of its data. A member that gets one where it expects data fails in the same way, so
//! everybody ends, and everybody who depends on the failed member learns of it. The price is paid by failures alone. Only a step of
//! the library's own code ends a schedule at once: its members have agreed before, so they fail alike.

use alloc::rc::Rc;
use alloc::vec::Vec;

use crate::lane::Lane;
use crate::lane::complete::State;
use crate::lane::statement::Interest;
use crate::progress::tables::template::Operation;
use crate::progress::tables::watch::Begin;
use crate::schedule::{Home, Next, Pending, Schedule, Step, Steps};
use crate::values::contexts::Contexts;
use crate::values::error::{Error, Result};
use crate::values::ids::{Source, TagMatch};
use crate::values::memory::SendBuffer;
use crate::values::request::{RequestId, Status};

impl Lane {
    /// Runs a schedule to its end.
    pub fn run(&self, mut plan: Steps) -> Result<()> {
        self.discard_orphans();
        while !self.advance(&mut plan) {
            let interest = Interest::Collective(plan.identity());
            // A stalled job's messages will never settle.
            self.wait_for_requests(interest, |lane| lane.settle(&mut plan))?;
        }
        let outcome = plan.failed.take().map_or(Ok(()), Err);
        self.retire(plan);
        outcome
    }

    /// Starts a schedule that progress will run. [`RequestId::SENT`] if it is complete already.
    pub fn launch(&self, mut plan: Steps) -> Result<RequestId> {
        self.discard_orphans();
        let done = self.advance(&mut plan);
        self.takes_in();
        if done && plan.failed.is_none() && plan.status.is_none() {
            self.retire(plan);
            return Ok(RequestId::SENT);
        }
        let id = match self.external_request() {
            Ok(id) => id,
            Err(error) => {
                // Without an entry in the table nobody could ask for it: end it before its buffers are given back.
                plan.fail(error);
                return self.run(plan).map(|()| RequestId::SENT);
            }
        };
        if done {
            self.finish(id, plan.outcome());
            self.retire(plan);
        } else {
            plan.request = Some(id);
            let schedules = &self.schedules;
            schedules.active.borrow_mut().push(Some(plan));
            schedules.live.set(schedules.live.get() + 1);
        }
        Ok(id)
    }

    /// Makes a persistent request of a schedule.
    pub fn keep(&self, plan: Steps) -> Result<RequestId> {
        self.persistent(Operation::Collective(Home::of(plan, &self.schedules)))
    }

    /// A schedule is done: a persistent one goes home.
    fn retire(&self, plan: Steps) {
        self.schedules.passed.set(Some(plan.identity()));
        if let Some(plan) = plan.go_home() {
            self.discard(plan);
        }
    }

    /// Takes back a schedule that is done, or that was not wanted.
    pub fn discard(&self, mut plan: Steps) {
        // Of a schedule that was set up and never begun: what comes late must not find its memory used by others.
        for pending in core::mem::take(&mut plan.pending) {
            let _ = self.cancel(pending.id);
            let _ = self.wait(pending.id);
        }
        self.schedules.recycle(plan, self.fabric().budget());
    }

    /// Takes back the schedules that were given up.
    #[inline]
    fn discard_orphans(&self) {
        loop {
            let orphan = self.schedules.orphans.borrow_mut().pop();
            match orphan {
                Some(plan) => self.discard(plan),
                None => return,
            }
        }
    }

    /// One request for several that are under way: complete when all of them are, with the result of `reported`.
    pub fn join(
        &self,
        name: &'static str,
        ids: &[RequestId],
        reported: Option<RequestId>,
    ) -> Result<RequestId> {
        let mut steps = self.schedules.take();
        steps.name = name;
        let under_way = ids.iter().filter(|id| **id != RequestId::SENT);
        let pending = |id: &RequestId| Pending { id: *id, expected: None, reported: reported == Some(*id) };
        steps.pending.extend(under_way.map(pending));
        self.launch(steps)
    }

    /// One request for several that are under way, and for what `is_done` tells: complete when all of it is.
    pub fn join_until(
        &self,
        name: &'static str,
        ids: &[RequestId],
        is_done: impl Fn() -> bool + 'static,
    ) -> Result<RequestId> {
        let mut steps = self.schedules.take();
        steps.name = name;
        let under_way = ids.iter().filter(|id| **id != RequestId::SENT);
        steps.pending.extend(under_way.map(|id| Pending { id: *id, expected: None, reported: false }));
        let look = move |_: &Contexts| Ok(if is_done() { Next::Step } else { Next::Stay });
        steps.steps.push(Step::Call(Rc::new(look)));
        self.launch(steps)
    }

    /// Advances all non-blocking collectives; returns how much was done. Does nothing when called from inside a step.
    pub fn advance_schedules(&self) -> usize {
        let schedules = &self.schedules;
        if schedules.advancing.replace(true) {
            return 0;
        }
        let mut moved = 0;
        loop {
            // Progress made inside a step may have completed messages of a schedule that was looked at before: look again.
            let before = moved;
            let mut index = 0;
            while let Some(slot) = { schedules.active.borrow_mut().get_mut(index).map(Option::take) } {
                if let Some(mut plan) = slot {
                    let mark = (plan.next, plan.pending.len());
                    if self.advance(&mut plan) {
                        moved += 1;
                        schedules.live.set(schedules.live.get() - 1);
                        if let Some(id) = plan.request.take() {
                            self.finish(id, plan.outcome());
                        }
                        self.retire(plan);
                    } else {
                        moved += usize::from(mark != (plan.next, plan.pending.len()));
                        schedules.active.borrow_mut()[index] = Some(plan);
                    }
                }
                index += 1;
            }
            schedules.active.borrow_mut().retain(Option::is_some);
            if moved == before {
                break;
            }
        }
        schedules.advancing.set(false);
        moved
    }

    /// Runs steps until one has to wait; true once the schedule is done, well or not.
    fn advance(&self, plan: &mut Schedule) -> bool {
        while plan.next < plan.steps.len() {
            match &plan.steps[plan.next] {
                step if step.is_message() => {
                    if let Err(error) = self.start_message(plan) {
                        // Without a failed step before it, an empty message takes its place; else nothing more can be done.
                        plan.next += usize::from(plan.failed.is_some());
                        plan.fail(error);
                    }
                }
                _ => {
                    if !self.settle(plan) {
                        return false;
                    }
                    if plan.failed.is_some() {
                        plan.skip_local();
                    } else {
                        match self.do_local(plan) {
                            Ok(true) => {}
                            Ok(false) => return false,
                            Err(error) => {
                                plan.fail(error);
                                plan.next = plan.steps.len();
                            }
                        }
                    }
                }
            }
        }
        self.settle(plan)
    }

    fn start_message(&self, plan: &mut Schedule) -> Result<()> {
        if self.is_watched()
            && let Some(round) = plan.round_beginning()
        {
            self.begins(|| Begin::Round { collective: plan.name, round });
        }
        match &plan.steps[plan.next] {
            Step::Grant { .. } => return self.start_grant(plan),
            Step::Multicast(_) => return self.start_multicast(plan),
            _ => {}
        }
        let Some(comm) = &plan.comm else {
            return Err(Error::Internal { reason: "a schedule without a communicator" });
        };
        let pending = match &plan.steps[plan.next] {
            Step::Send { to, region } => {
                let data = if plan.failed.is_none() { region.to_send() } else { nothing() };
                let id = self.isend_in(plan.context, &data, *to, plan.tag, comm)?;
                Pending { id, expected: None, reported: false }
            }
            step @ (Step::Receive { from, region } | Step::Take { from, region }) => {
                let (from, tag) = (Source::Rank(*from), TagMatch::Is(plan.tag));
                let id = self.begin_receive(plan.context, &region.to_receive(), from, tag, comm, false)?;
                let reported = matches!(step, Step::Take { .. });
                Pending { id, expected: (!reported).then(|| region.bytes()), reported }
            }
            _ => return Err(Error::Internal { reason: "a local step taken for a message" }),
        };
        plan.next += 1;
        if pending.id != RequestId::SENT {
            plan.pending.push(pending);
        }
        Ok(())
    }

    /// False if the step is to be done again later.
    fn do_local(&self, plan: &mut Schedule) -> Result<bool> {
        match &plan.steps[plan.next] {
            Step::Combine { input, inout } => match &plan.op {
                Some(op) => op.combine(input, inout),
                None => return Err(Error::Internal { reason: "a reduction without an operation" }),
            },
            Step::Copy { from, to } => from.copy_to(to),
            Step::Board(boarding) if !self.go_on(plan, boarding)? => return Ok(false),
            Step::Call(call) => match call.clone()(&self.contexts)? {
                Next::Step => {}
                Next::Restart => {
                    plan.next = 0;
                    return Ok(true);
                }
                Next::Stay => return Ok(false),
                Next::Tag(tag) => plan.tag = tag,
                Next::Report(status) => plan.status = Some(status),
                Next::Known(tag) => {
                    plan.status = plan.status.map(|status| Status { tag: TagMatch::Is(tag), ..status });
                }
            },
            _ => {}
        }
        plan.next += 1;
        Ok(true)
    }

    /// Takes the results of messages that are complete; true once none is left.
    fn settle(&self, plan: &mut Schedule) -> bool {
        // From the last one on, and no further than the first that is not complete: so each look costs O(1) however many wait.
        while let Some(Pending { id, expected, reported }) = plan.pending.last().copied() {
            if let Ok(State::Active) = self.state(id) {
                return false;
            }
            plan.pending.pop();
            match (self.take(id), expected) {
                (Ok(Status { bytes, source, cancelled: false, .. }), Some(expected)) if bytes != expected => {
                    let source = if let Source::Rank(source) = source { source } else { 0 };
                    plan.fail(Error::Short { source, received: bytes, expected });
                }
                (Ok(status), _) if reported => plan.status = Some(status),
                (Ok(_), _) => {}
                (Err(error), _) => plan.fail(error),
            }
        }
        true
    }
}

/// What a failed schedule sends.
#[cold]
pub(super) fn nothing() -> SendBuffer {
    SendBuffer::owned(Vec::new())
}

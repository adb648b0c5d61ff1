//! Running schedules.
//!
//! No borrow of the rank's state is held while a step runs, because a user-defined operation may use the rank again. A schedule that
//! fails takes back its messages and ends when all of them are settled: only then is its memory free.

use super::{Next, Pending, Plan, Schedule, Step};
use crate::complete::State;
use crate::error::{Error, Result};
use crate::ids::{Dest, Source, TagMatch};
use crate::p2p::Mode;
use crate::rank::Rank;
use crate::request::{RequestId, Status};

impl Rank {
    /// Runs a schedule to its end.
    pub(crate) fn run(&self, mut plan: Plan) -> Result<()> {
        while !self.advance(&mut plan) {
            match self.wait_until(|rank| rank.settle(&mut plan)) {
                Ok(()) => {}
                // Its messages will never settle.
                Err(Error::Stalled) => return Err(Error::Stalled),
                Err(fault) => self.fail(&mut plan, fault),
            }
        }
        let outcome = plan.failed.take().map_or(Ok(()), Err);
        self.retire(plan);
        outcome
    }

    /// Starts a schedule that progress will run. [`RequestId::SENT`] if it is complete already.
    pub(crate) fn launch(&self, mut plan: Plan) -> Result<RequestId> {
        let done = self.advance(&mut plan);
        if done && plan.failed.is_none() {
            self.retire(plan);
            return Ok(RequestId::SENT);
        }
        let id = match self.external_request() {
            Ok(id) => id,
            Err(error) => {
                // Without an entry in the table nobody could ask for it: end it before its buffers are given back.
                self.fail(&mut plan, error);
                return self.run(plan).map(|()| RequestId::SENT);
            }
        };
        if done {
            self.finish(id, plan.failed.take().map_or(Ok(Status::EMPTY), Err));
            self.retire(plan);
        } else {
            plan.request = Some(id);
            let schedules = &self.schedules;
            schedules.active.borrow_mut().push(Some(plan));
            schedules.live.set(schedules.live.get() + 1);
        }
        Ok(id)
    }

    /// Advances all non-blocking collectives; returns how much was done. Does nothing when called from inside a step.
    pub(crate) fn advance_schedules(&self) -> usize {
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
                            self.finish(id, plan.failed.take().map_or(Ok(Status::EMPTY), Err));
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
            let started = match &plan.steps[plan.next] {
                Step::Send { .. } | Step::Receive { .. } => self.start_message(plan),
                _ => {
                    if !self.settle(plan) {
                        return false;
                    }
                    if plan.failed.is_some() {
                        break;
                    }
                    self.do_local(plan)
                }
            };
            if let Err(error) = started {
                self.fail(plan, error);
            }
        }
        self.settle(plan)
    }

    fn start_message(&self, plan: &mut Schedule) -> Result<()> {
        if self.is_observed()
            && let Some(round) = plan.round_beginning()
        {
            self.tell(|observer, fabric| observer.round_begins(fabric, plan.name, round));
        }
        let Some(comm) = &plan.comm else {
            return Err(Error::Internal { reason: "a schedule without a communicator" });
        };
        let pending = match &plan.steps[plan.next] {
            Step::Send { to, region } => {
                let to = Dest::Rank(*to);
                let id =
                    self.isend_in(plan.context, Mode::Standard, &region.to_send(), to, plan.tag, comm)?;
                Pending { id, expected: None }
            }
            Step::Receive { from, region } => {
                let (from, tag) = (Source::Rank(*from), TagMatch::Is(plan.tag));
                let id = self.irecv_in(plan.context, &region.to_receive(), from, tag, comm)?;
                Pending { id, expected: Some(region.bytes()) }
            }
            _ => return Err(Error::Internal { reason: "a local step taken for a message" }),
        };
        plan.next += 1;
        if pending.id != RequestId::SENT {
            plan.pending.push(pending);
        }
        Ok(())
    }

    fn do_local(&self, plan: &mut Schedule) -> Result<()> {
        match &plan.steps[plan.next] {
            Step::Combine { input, inout } => match &plan.op {
                Some(op) => input.combine_into(inout, op),
                None => return Err(Error::Internal { reason: "a reduction without an operation" }),
            },
            Step::Copy { from, to } => from.copy_to(to),
            Step::Call(call) => {
                if call.clone()(self)? == Next::Restart {
                    plan.next = 0;
                    return Ok(());
                }
            }
            Step::Send { .. } | Step::Receive { .. } | Step::Wait => {}
        }
        plan.next += 1;
        Ok(())
    }

    /// Takes the results of messages that are complete; true once none is left.
    fn settle(&self, plan: &mut Schedule) -> bool {
        // From the last one on, and no further than the first that is not complete: so each look costs O(1) however many wait.
        while let Some(Pending { id, expected }) = plan.pending.last().copied() {
            if let Ok(State::Active) = self.state(id) {
                return false;
            }
            plan.pending.pop();
            match (self.take(id), expected) {
                (Ok(Status { bytes, cancelled: false, .. }), Some(expected)) if bytes != expected => {
                    self.fail(plan, too_short(bytes));
                }
                (Ok(_), _) => {}
                (Err(error), _) => self.fail(plan, error),
            }
        }
        true
    }

    /// Ends a schedule: no further steps, and its messages are taken back.
    fn fail(&self, plan: &mut Schedule, error: Error) {
        plan.next = plan.steps.len();
        if plan.failed.is_some() {
            return;
        }
        plan.failed = Some(error);
        for pending in &plan.pending {
            // One that cannot be cancelled completes: either way it settles.
            let _ = self.cancel(pending.id);
        }
    }
}

fn too_short(bytes: u64) -> Error {
    Error::Argument {
        reason: "a member of the collective sent fewer bytes than this rank expects: their counts or types differ",
        given: bytes as i64,
    }
}

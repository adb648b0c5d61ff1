//! Scoped operations: the scope, not the request, keeps the promise that the engine needs.
//!
//! As with scoped threads, a buffer is borrowed for `'scope`, which ends only after [`enter`] has completed everything that
//! was started; a request may be dropped or forgotten at will. Inside of the scope the borrow is out of reach, except through
//! the request, which gives it back when it is complete.

use std::cell::{Cell, RefCell};
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;

use engine::{Comm, Mode, RequestId, State};

use super::collective::{Lent, Planned};
use super::elements::{Buffer, BufferMut, Exclusive};
use super::flight::{cancel, complete, settle};
use super::{Data, Process};
use crate::activity::Activity;
use crate::address::{Inward, Outward};
use crate::error::Result;
use crate::kind::{Intra, Kind};

/// Starts operations that do not wait, and completes all of them at its end; see
/// [`Communicator::scope`](crate::Communicator::scope).
pub struct Scope<'scope, 'env: 'scope, K: Kind = Intra> {
    pub(crate) pending: Pending<'env>,
    pub(crate) comm: &'env Comm,
    /// `'scope` and `'env` must be exactly what `enter` made them: invariant.
    _scope: PhantomData<&'scope mut &'scope ()>,
    _env: PhantomData<&'env mut &'env ()>,
    _kind: PhantomData<K>,
}

/// The operations of a scope that are not complete.
pub(crate) struct Pending<'p> {
    process: &'p Process,
    slots: RefCell<Vec<Option<Slot>>>,
}

#[derive(Clone)]
pub(super) struct Slot {
    pub id: RequestId,
    pub activity: Activity,
    pub life: Life,
}

/// How long a request is there.
#[derive(Clone)]
pub(super) enum Life {
    /// Until it is complete.
    Once,
    /// Until it is freed: it can be started again.
    Kept,
    /// As `Kept`; what was started goes on only when this is true.
    Held(Rc<Cell<bool>>),
}

/// A started operation.
pub(crate) struct Ticket<'scope> {
    pub(super) pending: &'scope Pending<'scope>,
    pub(super) slot: usize,
}

/// A started operation that fills a borrowed buffer.
pub(crate) struct Loan<'scope, B: ?Sized> {
    pub ticket: Ticket<'scope>,
    /// Not a reference: while the engine writes there, no reference may claim the memory.
    buffer: *mut B,
    _borrow: PhantomData<&'scope mut B>,
}

/// Runs `body` and completes everything that it started, however it ends.
#[track_caller]
pub(crate) fn enter<'env, K: Kind, R, F>(process: &'env Process, comm: &'env Comm, body: F) -> Result<R>
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env, K>) -> Result<R>,
{
    let pending = Pending { process, slots: RefCell::default() };
    let scope = Scope { pending, comm, _scope: PhantomData, _env: PhantomData, _kind: PhantomData };
    let outcome = catch_unwind(AssertUnwindSafe(|| body(&scope)));
    match outcome {
        Ok(Ok(value)) => {
            let completed = scope.pending.complete_all();
            process.unwind_if_stalled();
            completed.map(|()| value)
        }
        Ok(Err(error)) => {
            // A receive might wait for ever now; a send's partner still counts on it.
            scope.pending.cancel(|activity| matches!(activity, Activity::Receive { .. }));
            let _ = scope.pending.complete_all();
            process.unwind_if_stalled();
            Err(error)
        }
        Err(panic) => {
            scope.pending.cancel(|_| true);
            let _ = scope.pending.complete_all();
            resume_unwind(panic)
        }
    }
}

impl<'p> Pending<'p> {
    /// Starts a send.
    pub fn send<'scope, B: Buffer + ?Sized>(
        &'scope self,
        mode: Mode,
        data: &'scope B,
        to: Outward,
        comm: &Comm,
    ) -> Result<Ticket<'scope>> {
        // SAFETY: borrowed for `'scope`, before whose end `enter` completes the request.
        let buffer = unsafe { B::outgoing(data, self.process) };
        let id = self.process.call(|rank| rank.isend(mode, &buffer, to.dest, to.tag, comm))?;
        Ok(self.add(id, to.activity(), Life::Once))
    }

    /// Starts a receive.
    pub fn receive<'scope, B: BufferMut + ?Sized>(
        &'scope self,
        target: &'scope mut B,
        from: Inward,
        comm: &Comm,
    ) -> Result<Loan<'scope, B>> {
        let target: *mut B = target;
        // SAFETY: borrowed for `'scope`, before whose end `enter` completes the request; until the loan is given back,
        // only the engine uses it.
        let buffer = unsafe { B::incoming(target, self.process) };
        let id = self.process.call(|rank| rank.irecv(&buffer, from.source, from.tag, comm))?;
        Ok(Loan { ticket: self.add(id, from.activity(), Life::Once), buffer: target, _borrow: PhantomData })
    }

    /// Starts a collective that nothing comes out of.
    pub fn start<'scope>(&'scope self, lent: Lent<'scope, impl Planned>) -> Result<Ticket<'scope>> {
        let activity = Activity::Collective(lent.which);
        // SAFETY: lent for `'scope`, before whose end `enter` completes the request.
        let id = unsafe { lent.start(self.process) }?;
        Ok(self.add(id, activity, Life::Once))
    }

    /// Starts a collective that fills `target`.
    pub fn fill<'scope, B: ?Sized, F: Planned>(
        &'scope self,
        target: &'scope mut B,
        describe: impl FnOnce(Exclusive<'scope, B>) -> Result<Lent<'scope, F>>,
    ) -> Result<Loan<'scope, B>> {
        let buffer: *mut B = target;
        // SAFETY: just made from an exclusive borrow, which is not used besides: the engine uses the memory until the loan is given
        // back.
        let ticket = self.start(describe(unsafe { Exclusive::of(buffer) })?)?;
        Ok(Loan { ticket, buffer, _borrow: PhantomData })
    }

    /// As [`fill`](Pending::fill), for a value or a slice that is to be described by its elements.
    pub fn fill_items<'scope, B: Data + ?Sized, F: Planned>(
        &'scope self,
        target: &'scope mut B,
        describe: impl FnOnce(Exclusive<'scope, [B::Item]>) -> Result<Lent<'scope, F>>,
    ) -> Result<Loan<'scope, B>> {
        // SAFETY: the elements are those of the target, and borrowed as it is.
        self.fill(target, |target| describe(unsafe { Exclusive::of(B::place(target.0)) }))
    }

    /// Keeps a request until its life ends.
    pub(super) fn add(&self, id: RequestId, activity: Activity, life: Life) -> Ticket<'_> {
        let mut slots = self.slots.borrow_mut();
        slots.push(Some(Slot { id, activity, life }));
        Ticket { pending: self, slot: slots.len() - 1 }
    }

    /// The process.
    pub fn process(&self) -> &'p Process {
        self.process
    }

    /// Completes everything that is under way, or finds that the job has stalled, after which nothing is in use any more; the first
    /// error, by the order of starting.
    #[track_caller]
    fn complete_all(&self) -> Result<()> {
        // Nobody is left to say that these may go on.
        for slot in self.slots.borrow().iter().flatten() {
            if let Life::Held(released) = &slot.life {
                released.set(true);
            }
        }
        let mut result = Ok(());
        let mut index = 0;
        loop {
            let Some(slot) = self.slots.borrow().get(index).cloned() else { break };
            if let Some(Slot { id, activity, life }) = slot {
                let outcome = settle(self.process, id, activity);
                if !matches!(life, Life::Once) {
                    self.process.free(id);
                }
                self.clear(index);
                result = result.and(outcome.map(|_| ()));
            }
            index += 1;
        }
        self.process.resume_panic();
        result
    }

    fn cancel(&self, which: impl Fn(Activity) -> bool) {
        for slot in self.slots.borrow().iter().flatten() {
            if which(slot.activity) {
                cancel(self.process, slot.id);
            }
        }
    }

    /// Marks a slot as done. Empty slots at the end go, so that a long scope with many requests stays small.
    pub(super) fn clear(&self, index: usize) {
        let mut slots = self.slots.borrow_mut();
        slots[index] = None;
        while let Some(None) = slots.last() {
            slots.pop();
        }
    }
}

impl<'scope> Ticket<'scope> {
    /// The engine's name of the request.
    pub fn id(&self) -> RequestId {
        self.started().id
    }

    /// The process.
    pub fn process(&self) -> &'scope Process {
        self.pending.process
    }

    /// True once the operation is complete; makes progress if it is not.
    pub fn test(&self) -> Result<bool> {
        test(self.pending.process, self.id())
    }

    /// Waits for the operation and takes its result.
    #[track_caller]
    pub fn wait(self) -> Result<engine::Status> {
        let outcome = self.settle();
        self.pending.clear(self.slot);
        self.pending.process.resume_panic();
        outcome
    }

    /// Waits for a round of a request that stays.
    #[track_caller]
    pub fn wait_round(self) -> Result<engine::Status> {
        let outcome = self.settle();
        self.pending.process.resume_panic();
        outcome
    }

    /// Waits for the operation and takes its result; the request stays.
    #[track_caller]
    pub(super) fn settle(&self) -> Result<engine::Status> {
        let Slot { id, activity, .. } = self.started();
        complete(self.pending.process, id, activity)
    }

    pub(super) fn started(&self) -> Slot {
        let slots = self.pending.slots.borrow();
        slots[self.slot].clone().expect("a slot is kept until its ticket is waited for")
    }
}

impl<'scope, B: ?Sized> Loan<'scope, B> {
    /// Waits for the operation and gives the buffer back.
    #[track_caller]
    pub fn wait(self) -> Result<(&'scope mut B, engine::Status)> {
        let status = self.ticket.wait()?;
        // SAFETY: made from an exclusive borrow for `'scope`, which nobody else can use any more: the engine is done, and
        // this loan, the only way to it, is consumed.
        Ok((unsafe { &mut *self.buffer }, status))
    }
}

/// True unless the request is under way; makes progress if it is.
pub(super) fn test(process: &Process, id: RequestId) -> Result<bool> {
    let rank = process.rank();
    if rank.state(id)? == State::Active {
        process.call(|rank| rank.poke())?;
    }
    Ok(rank.state(id)? != State::Active)
}

//! Scoped operations: the scope, not the request, keeps the promise that the engine needs.
//!
//! As with scoped threads, a buffer is borrowed for `'scope`, which ends only after [`enter`] has completed everything that
//! was started; a request may be dropped or forgotten at will. Inside of the scope the borrow is out of reach, except through
//! the request, which gives it back when it is complete.

use std::cell::RefCell;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use engine::{Comm, Mode, RequestId, State};

use super::flight::{cancel, complete, recv_buffer, send_buffer, settle};
use super::plain::{Data, bytes, bytes_mut};
use super::{Plain, Process};
use crate::activity::Activity;
use crate::address::{Inward, Outward};
use crate::error::Result;

/// Starts operations that do not wait, and completes all of them at its end; see
/// [`Communicator::scope`](crate::Communicator::scope).
pub struct Scope<'scope, 'env: 'scope> {
    pub(crate) pending: Pending<'env>,
    pub(crate) comm: &'env Comm,
    /// `'scope` and `'env` must be exactly what `enter` made them: invariant.
    _scope: PhantomData<&'scope mut &'scope ()>,
    _env: PhantomData<&'env mut &'env ()>,
}

/// The operations of a scope that are not complete.
pub(crate) struct Pending<'p> {
    process: &'p Process,
    slots: RefCell<Vec<Option<Slot>>>,
}

#[derive(Clone, Copy)]
struct Slot {
    id: RequestId,
    activity: Activity,
}

/// A started operation.
pub(crate) struct Ticket<'scope> {
    pending: &'scope Pending<'scope>,
    slot: usize,
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
pub(crate) fn enter<'env, R, F>(process: &'env Process, comm: &'env Comm, body: F) -> Result<R>
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> Result<R>,
{
    let pending = Pending { process, slots: RefCell::default() };
    let scope = Scope { pending, comm, _scope: PhantomData, _env: PhantomData };
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
    pub fn send<'scope>(
        &'scope self,
        mode: Mode,
        items: &'scope [impl Plain],
        to: Outward,
        comm: &Comm,
    ) -> Result<Ticket<'scope>> {
        // SAFETY: borrowed for `'scope`, before whose end `enter` completes the request.
        let buffer = unsafe { send_buffer(self.process, bytes(items)) };
        let id = self.process.call(|rank| rank.isend(mode, &buffer, to.dest, to.tag, comm))?;
        Ok(self.add(id, to.activity()))
    }

    /// Starts a receive.
    pub fn receive<'scope, B: Data + ?Sized>(
        &'scope self,
        target: &'scope mut B,
        from: Inward,
        comm: &Comm,
    ) -> Result<Loan<'scope, B>> {
        self.lend(target, from.activity(), |target| {
            // SAFETY: borrowed for `'scope`, before whose end `enter` completes the request; until the loan is given back,
            // only the engine uses it.
            let buffer = unsafe { recv_buffer(self.process, bytes_mut(target.items_mut())) };
            self.process.call(|rank| rank.irecv(&buffer, from.source, from.tag, comm))
        })
    }

    /// Starts an operation that fills `target`; `start` may hand its memory to the engine for the time of the request.
    pub(super) fn lend<'scope, B: ?Sized>(
        &'scope self,
        target: &'scope mut B,
        activity: Activity,
        start: impl FnOnce(&mut B) -> Result<RequestId>,
    ) -> Result<Loan<'scope, B>> {
        let buffer: *mut B = target;
        // SAFETY: just made from an exclusive borrow, which is not used besides. All further use of the memory, by the engine
        // and by the loan, derives from this pointer.
        let id = start(unsafe { &mut *buffer })?;
        Ok(Loan { ticket: self.add(id, activity), buffer, _borrow: PhantomData })
    }

    /// Keeps a request until it is complete.
    pub(super) fn add(&self, id: RequestId, activity: Activity) -> Ticket<'_> {
        let mut slots = self.slots.borrow_mut();
        slots.push(Some(Slot { id, activity }));
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
        let mut result = Ok(());
        let mut index = 0;
        loop {
            let Some(slot) = self.slots.borrow().get(index).copied() else { break };
            if let Some(Slot { id, activity }) = slot {
                let outcome = settle(self.process, id, activity);
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
    fn clear(&self, index: usize) {
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
        let Slot { id, activity } = self.started();
        let outcome = complete(self.pending.process, id, activity);
        self.pending.clear(self.slot);
        self.pending.process.resume_panic();
        outcome
    }

    fn started(&self) -> Slot {
        self.pending.slots.borrow()[self.slot].expect("a slot is kept until its ticket is waited for")
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

//! One MPI process of this crate: the runtime's job, and what outlives the calls that started it.

use std::any::{Any, TypeId};
use std::cell::{Cell, RefCell};
use std::mem;
use std::panic::{Location, resume_unwind};
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::thread;

use engine::Error::Stalled;
use engine::datatype::Basic;
use engine::{Datatype, Plan, Rank, RequestId, State};
use fabric_local::Stall;
use runtime::{Job, Witness};

use super::reduce::Lease;
use crate::activity::{Activity, Collective, Note};
use crate::calls::Calls;
use crate::error::{Error, Result};

/// One MPI process.
pub struct Process {
    job: Job,
    /// The type of what has no gaps: it travels as its bytes. Made once, so that a send allocates nothing.
    bytes: Datatype,
    /// The types with gaps that were used so far.
    gapped: RefCell<Vec<(TypeId, Datatype)>>,
    /// Operations that nobody waits for any more, with the memory that they use.
    orphans: RefCell<Vec<(RequestId, Box<dyn Any>)>>,
    /// What the engine holds of the program's, if somebody will want it back.
    leases: RefCell<Vec<Weak<dyn Lease>>>,
    /// A panic of a user's reduction, kept until the collective is complete.
    pub panic: Rc<PanicSlot>,
    notes: Option<Arc<[Note]>>,
    /// The calls of a process rank.
    calls: Rc<Calls>,
    /// The job has stalled: no rank of it uses the engine any more, so what was lent to it is not in use, either.
    stalled: Cell<bool>,
    /// The rank has begun to unwind because of that.
    unwound: Cell<bool>,
}

/// What a rank does that finishes.
const END: Activity = Activity::Collective(Collective::Finalize);

/// Where a panic waits.
pub type PanicSlot = RefCell<Option<Box<dyn Any + Send>>>;

impl Process {
    /// A process on a job. `notes` has one entry a rank, for those who watch the job.
    pub fn new(job: Job, notes: Option<Arc<[Note]>>) -> Process {
        let calls = Rc::<Calls>::default();
        if notes.is_none() {
            let calls = calls.clone();
            job.set_witness(Witness { site: Box::new(move || calls.last()), comm_name: |_| None });
        }
        Process {
            job,
            bytes: Datatype::basic(Basic::Byte),
            gapped: RefCell::default(),
            orphans: RefCell::default(),
            leases: RefCell::default(),
            panic: Rc::default(),
            notes,
            calls,
            stalled: Cell::new(false),
            unwound: Cell::new(false),
        }
    }

    /// The runtime's job.
    pub fn job(&self) -> &Job {
        &self.job
    }

    /// The engine, for what makes no progress: everything else goes through [`call`](Process::call).
    #[inline]
    pub fn rank(&self) -> &Rank {
        &self.job.rank
    }

    /// Calls the engine. If the job has stalled, or does so meanwhile, the rank unwinds; one that has unwound before, or cannot
    /// because it is unwinding for another reason, gets an error.
    #[inline]
    pub fn call<T>(&self, call: impl FnOnce(&Rank) -> engine::Result<T>) -> Result<T> {
        self.attempt(call).inspect_err(|_| self.unwind_if_stalled())
    }

    /// As [`call`](Process::call), without unwinding.
    #[inline]
    pub fn attempt<T>(&self, call: impl FnOnce(&Rank) -> engine::Result<T>) -> Result<T> {
        if self.stalled.get() {
            return Err(Stalled.into());
        }
        call(self.rank()).map_err(|error| self.failed(error))
    }

    #[cold]
    fn failed(&self, error: engine::Error) -> Error {
        if error == Stalled {
            self.stalled.set(true);
        }
        error.into()
    }

    /// True once the job has stalled.
    pub fn is_stalled(&self) -> bool {
        self.stalled.get()
    }

    /// Unwinds a rank whose job has stalled, once; with the panic of a user's reduction, if there is one.
    #[cold]
    pub fn unwind_if_stalled(&self) {
        if self.stalled.get() && !thread::panicking() && !self.unwound.replace(true) {
            self.resume_panic();
            Stall::unwind();
        }
    }

    /// The type of a byte.
    #[inline]
    pub fn bytes(&self) -> &Datatype {
        &self.bytes
    }

    /// The type of one element that only a closure can combine.
    pub fn element<T: super::Datatype>(&self) -> Datatype {
        if T::SHAPE.is_dense() { T::SHAPE.lower() } else { self.gapped::<T>() }
    }

    /// The type of elements with gaps.
    pub fn gapped<T: super::Datatype>(&self) -> Datatype {
        let (mut known, id) = (self.gapped.borrow_mut(), TypeId::of::<T>());
        if let Some((_, datatype)) = known.iter().find(|(known, _)| *known == id) {
            return datatype.clone();
        }
        let datatype = T::SHAPE.lower();
        known.push((id, datatype.clone()));
        datatype
    }

    /// Notes what this rank is about to wait for. The note of a rank whose job has stalled stands: it tells what it waited for.
    #[inline]
    #[track_caller]
    pub fn note(&self, activity: Activity) {
        if self.stalled.get() {
            return;
        }
        match &self.notes {
            Some(notes) => notes[self.job.place().rank as usize].set(activity),
            None if activity == Activity::Running => {}
            None => self.calls.note(&self.job.sheet, activity.name(), Location::caller()),
        }
        let rank = self.rank();
        if rank.is_observed() {
            match activity {
                Activity::Running => rank.leave(),
                _ => rank.enter(activity.name(), 0),
            }
        }
    }

    /// Runs something that may wait, with a note of what it waits for.
    #[track_caller]
    pub fn noted<T>(&self, activity: Activity, wait: impl FnOnce() -> T) -> T {
        self.note(activity);
        let result = wait();
        self.note(Activity::Running);
        result
    }

    /// Goes on with a panic of a user's reduction, now that nothing of it is under way.
    pub fn resume_panic(&self) {
        let waiting = self.panic.borrow_mut().take();
        if let Some(payload) = waiting {
            resume_unwind(payload);
        }
    }

    /// Takes over an operation that nobody waits for any more, and the memory that it uses.
    pub fn adopt(&self, id: RequestId, memory: Box<dyn Any>) {
        self.reap();
        if matches!(self.rank().state(id), Ok(State::Active)) {
            self.orphans.borrow_mut().push((id, memory));
        } else {
            let _ = self.rank().take(id);
        }
    }

    /// Frees a persistent request that is not active. A rank whose job has stalled keeps it: it must not use the engine.
    pub fn free(&self, id: RequestId) {
        if !self.is_stalled() {
            let _ = self.rank().free(id);
        }
    }

    /// Remembers something of the program's that the engine gets. Ranks of this program's own need not: they stay in their thread.
    pub fn lease<L: Lease + 'static>(&self, what: &Rc<L>) {
        if self.notes.is_none() {
            let mut leases = self.leases.borrow_mut();
            if leases.len() == leases.capacity() {
                leases.retain(|lease| lease.strong_count() > 0);
            }
            let what: Weak<L> = Rc::downgrade(what);
            leases.push(what);
        }
    }

    /// Makes sure that the engine holds nothing of the program's. Nothing of it is under way. A
    /// panic of a destructor of the program's is returned when that is so.
    pub fn sweep(&self) -> thread::Result<()> {
        // A destructor may lease more.
        loop {
            let leases = mem::take(&mut *self.leases.borrow_mut());
            if leases.is_empty() {
                break;
            }
            leases.iter().filter_map(Weak::upgrade).for_each(|lease| lease.end());
        }
        // Whatever is begun lets go of the plans of persistent collectives that were freed. A panic
        // in there would leave them with the engine, so the program does not outlive it.
        let _ = super::flight::in_flight(|| {
            self.attempt(|rank| rank.barrier(rank.self_comm()).and_then(Plan::start))
        });
        self.panic.borrow_mut().take().map_or(Ok(()), Err)
    }

    /// Drops the memory of orphans that have completed meanwhile. An error of theirs concerns nobody.
    fn reap(&self) {
        self.orphans.borrow_mut().retain(|(id, _)| {
            let active = matches!(self.rank().state(*id), Ok(State::Active));
            if !active {
                let _ = self.rank().take(*id);
            }
            active
        });
    }

    /// Completes what was given up, and waits until what this process has sent is on its way.
    #[track_caller]
    pub fn settle(&self) -> Result<()> {
        self.noted(END, || self.let_go())
    }

    /// Finishes with the world (section 11.2.2): settles, and waits for all ranks.
    #[track_caller]
    pub fn end_world(&self) -> Result<()> {
        self.noted(END, || {
            self.let_go()?;
            // Not the blocking form: it may use other means than messages, and would then meet a barrier of a rank that has
            // not come to its end.
            let id = self.call(|rank| rank.barrier(rank.world()).and_then(Plan::start))?;
            super::flight::complete(self, id, END).map(drop)
        })
    }

    fn let_go(&self) -> Result<()> {
        loop {
            let next = self.orphans.borrow().last().map(|(id, _)| *id);
            let Some(id) = next else { break };
            let _ = super::flight::complete(self, id, END);
            self.orphans.borrow_mut().pop();
        }
        self.call(Rank::drain)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // What is left here is still in flight: the process did not get to finalise. A peer in the same address space may
        // read or write this memory, so it is never freed.
        mem::forget(mem::take(&mut *self.orphans.borrow_mut()));
    }
}

//! One MPI process of this crate: the runtime's job, and what outlives the calls that started it.

use std::any::Any;
use std::cell::RefCell;
use std::mem;
use std::panic::resume_unwind;
use std::rc::Rc;
use std::sync::Arc;

use engine::datatype::Basic;
use engine::{Datatype, Rank, RequestId, State};
use runtime::Job;

use crate::activity::{Activity, Collective, Note};
use crate::error::Result;

/// One MPI process.
pub struct Process {
    job: Job,
    /// The type of all messages: plain data travels as its bytes. Made once, so that a send allocates nothing.
    bytes: Datatype,
    /// Operations that nobody waits for any more, with the memory that they use.
    orphans: RefCell<Vec<(RequestId, Box<dyn Any>)>>,
    /// A panic of a user's reduction, kept until the collective is complete.
    pub panic: Rc<PanicSlot>,
    notes: Option<Arc<[Note]>>,
}

/// What a rank does that finishes.
const END: Activity = Activity::Collective(Collective::Finalize);

/// Where a panic waits.
pub type PanicSlot = RefCell<Option<Box<dyn Any + Send>>>;

impl Process {
    /// A process on a job. `notes` has one entry a rank, for those who watch the job.
    pub fn new(job: Job, notes: Option<Arc<[Note]>>) -> Process {
        Process {
            job,
            bytes: Datatype::basic(Basic::Byte),
            orphans: RefCell::default(),
            panic: Rc::default(),
            notes,
        }
    }

    /// The runtime's job.
    pub fn job(&self) -> &Job {
        &self.job
    }

    /// The engine.
    #[inline]
    pub fn rank(&self) -> &Rank {
        &self.job.rank
    }

    /// The type of a byte.
    #[inline]
    pub fn bytes(&self) -> &Datatype {
        &self.bytes
    }

    /// Notes what this rank is about to wait for.
    #[inline]
    pub fn note(&self, activity: Activity) {
        if let Some(notes) = &self.notes {
            notes[self.job.place().rank as usize].set(activity);
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

    /// Finishes with MPI (section 11.2.2): completes what was given up, waits for all ranks, tells the launcher.
    pub fn finalize(&self) -> Result<()> {
        self.noted(END, || -> Result<engine::Status> {
            let rank = self.rank();
            loop {
                let next = self.orphans.borrow().last().map(|(id, _)| *id);
                let Some(id) = next else { break };
                let _ = super::flight::complete(self, id, END);
                self.orphans.borrow_mut().pop();
            }
            rank.drain()?;
            // Not the blocking form: it may use other means than messages, and would then meet a barrier of a rank that has
            // not come to its end.
            let id = rank.ibarrier(rank.world())?;
            super::flight::complete(self, id, END)
        })?;
        self.job.finalized();
        Ok(())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // What is left here is still in flight: the process did not get to finalise. A peer in the same address space may
        // read or write this memory, so it is never freed.
        mem::forget(mem::take(&mut *self.orphans.borrow_mut()));
    }
}

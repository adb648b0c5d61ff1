//! A process's part in the job that `mpirun` has started: when it begins and when it ends (MPI sections 11.2 and 11.3).
//!
//! ```text
//!   joined ──► active ◄──► at rest          active: there is a universe or a session
//! ```
//!
//! A process joins its job once. It is active from the first user of its part to the last, tells the launcher when that begins and ends, and may become
//! active again. What belongs to a rank is for one thread, so the part lies in a variable of its thread, where others do not find it. It is never
//! freed: peers may read and write its memory as long as the process lives.

use std::cell::Cell;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::Result;
use crate::raw::Process;
use crate::universe::{InitError, Why};

thread_local! {
    /// The part that this thread may use.
    static HERE: Cell<Option<&'static Part>> = const { Cell::new(None) };
}

/// A process's part in its job.
pub(crate) struct Part {
    process: Process,
    /// Universes and sessions that have not ended.
    users: Cell<usize>,
    /// There is a universe, or was.
    had_world: Cell<bool>,
}

impl Part {
    /// A new user, in the thread that the process has joined its job in, or joins it in now.
    fn begin() -> std::result::Result<&'static Part, InitError> {
        static JOINED: AtomicBool = AtomicBool::new(false);
        let part = match HERE.get() {
            Some(part) => part,
            None if JOINED.swap(true, Ordering::SeqCst) => return Err(InitError(Why::Elsewhere)),
            None => {
                let job = runtime::join().map_err(|error| InitError(Why::Join(error)))?;
                let (users, had_world) = (Cell::new(0), Cell::new(false));
                Box::leak(Box::new(Part { process: Process::new(job, None), users, had_world }))
            }
        };
        part.come_here();
        part.users.set(part.users.get() + 1);
        if part.users.get() == 1 {
            part.process.job().initialized();
        }
        Ok(part)
    }

    /// The way of a session into it.
    pub(crate) fn begin_session() -> std::result::Result<&'static Part, InitError> {
        Part::begin()
    }

    /// The way of the universe into it, which there is once.
    pub(crate) fn begin_world() -> std::result::Result<&'static Part, InitError> {
        if HERE.get().is_some_and(|part| part.had_world.get()) {
            return Err(InitError(Why::Twice));
        }
        let part = Part::begin()?;
        part.had_world.set(true);
        Ok(part)
    }

    /// The end of a session. The last user waits for what this process has sent, and for nobody else.
    #[track_caller]
    pub(crate) fn end_session(&self) -> Result<()> {
        if self.users.get() == 1 {
            self.process.settle()?;
        }
        self.leave();
        Ok(())
    }

    /// The end of the universe, for which all ranks wait.
    #[track_caller]
    pub(crate) fn end_world(&self) -> Result<()> {
        self.process.end_world()?;
        self.leave();
        Ok(())
    }

    fn leave(&self) {
        self.users.set(self.users.get() - 1);
        if self.users.get() == 0 {
            self.process.job().finalized();
        }
    }

    pub(crate) fn process(&self) -> &Process {
        &self.process
    }

    /// Lets the only user take the part to other threads; false if there are more. Whatever this thread has had of it is gone then.
    pub(crate) fn go_elsewhere(&self) -> bool {
        let alone = self.users.get() == 1;
        if alone {
            if let Err(payload) = self.process.sweep() {
                resume_unwind(payload);
            }
            HERE.set(None);
        }
        alone
    }

    /// Gives the part to this thread, alone.
    pub(crate) fn come_here(&'static self) {
        HERE.set(Some(self));
    }
}

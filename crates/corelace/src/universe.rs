//! Joining a job that `mpirun` has started (MPI section 11.2).

use std::fmt;
use std::mem::ManuallyDrop;

use crate::communicator::Communicator;
use crate::error::Result;
use crate::part::Part;
use crate::raw::Process;
use crate::raw::serialized::Serialized;

/// Joins the job that `mpirun` has started this process for; without `mpirun`, a job of one rank (MPI_Init).
///
/// A process can do this once: the way in is used up. It is the one thing that this crate keeps for the whole process. [Sessions](crate::Session) may begin
/// before, in the same thread.
///
/// ```
/// let universe = corelace::init()?;
/// let world = universe.world();
/// println!("rank {} of {}", world.rank(), world.size());
///
/// assert!(corelace::init().is_err());
/// # Ok::<(), corelace::InitError>(())
/// ```
pub fn init() -> std::result::Result<Universe, InitError> {
    Ok(Universe { part: Part::begin_world()? })
}

/// This process's part in a job. Dropping it ends the part (MPI_Finalize): it waits for messages that are still to be sent, and
/// for all other ranks.
///
/// If it is dropped by a panic, it does not wait: the process ends without a word to the launcher, which then ends the job.
pub struct Universe {
    part: &'static Part,
}

impl Universe {
    /// All ranks of the job (MPI_COMM_WORLD).
    pub fn world(&self) -> Communicator<'_> {
        Communicator::world(self.process())
    }

    /// Which of the programs of the job this is, if they are several: `mpirun prog0 : prog1` (MPI_APPNUM).
    pub fn program(&self) -> Option<usize> {
        self.process().job().place().appnum.map(|number| number as usize)
    }

    /// Lets several threads use this process's part in the job, one after the other (MPI_THREAD_SERIALIZED, section 11.6).
    ///
    /// What a rank offers to threads is in its types:
    ///
    /// | level | who has it | as |
    /// | --- | --- | --- |
    /// | MPI_THREAD_FUNNELED | every rank | [`Communicator`], which stays in its thread; others compute |
    /// | MPI_THREAD_SERIALIZED | processes | [`Serialized`], which threads share and enter one at a time |
    ///
    /// Ranks inside of a program ([`run`](crate::run)) are threads or fibers themselves, so they have no universe and no second level. A rank that several
    /// threads call at once (MPI_THREAD_MULTIPLE) is not offered here.
    ///
    /// ```
    /// use corelace::op;
    ///
    /// let universe = corelace::init()?.serialized().ok().expect("no session");
    /// std::thread::scope(|threads| {
    ///     for number in 0..4 {
    ///         let universe = universe.clone();
    ///         threads.spawn(move || {
    ///             // One thread at a time; what belongs to the rank stays in here.
    ///             let sum = universe.with(|world| world.allreduce(&number, op::sum())).unwrap();
    ///             println!("thread {number} has {sum}");
    ///         });
    ///     }
    /// });
    /// let universe = universe.into_universe().ok().unwrap();
    /// assert_eq!(universe.world().size(), 1);
    /// # Ok::<(), corelace::InitError>(())
    /// ```
    ///
    /// A communicator cannot leave the closure:
    ///
    /// ```compile_fail
    /// let universe = corelace::init().unwrap().serialized().ok().unwrap();
    /// let mut kept = None;
    /// universe.with(|world| {
    ///     kept = Some(world);
    ///     Ok(())
    /// });
    /// ```
    ///
    /// nor can a group:
    ///
    /// ```compile_fail
    /// let universe = corelace::init().unwrap().serialized().ok().unwrap();
    /// let group = universe.with(|world| Ok(world.group()));
    /// ```
    ///
    /// While this thread has [sessions](crate::Session::new) of its own it cannot let others use the rank: the universe is given back.
    pub fn serialized(self) -> std::result::Result<Serialized, Universe> {
        if self.part.go_elsewhere() { Ok(Serialized::new(self)) } else { Err(self) }
    }

    pub(crate) fn process(&self) -> &Process {
        self.part.process()
    }

    /// The universe, back from other threads.
    pub(crate) fn come_here(self) -> Universe {
        self.part.come_here();
        self
    }

    /// Ends this process's part in the job, as dropping does, and tells if that fails.
    #[track_caller]
    pub fn finalize(self) -> Result<()> {
        let mut universe = ManuallyDrop::new(self);
        universe.end()
    }

    /// Ends all processes of the job at once, with this exit status; `message` says why (MPI_Abort, section 9.7.1).
    pub fn abort(&self, status: i32, message: &str) -> ! {
        self.process().job().abort(status, message)
    }

    #[track_caller]
    fn end(&mut self) -> Result<()> {
        self.part.end_world()
    }
}

impl Drop for Universe {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        // Sessions of this thread may follow.
        self.part.come_here();
        if let Err(error) = self.end() {
            eprintln!("corelace: the end of the job failed: {error}");
        }
    }
}

/// Why this process could not join a job.
#[derive(Debug)]
pub struct InitError(pub(crate) Why);

#[derive(Debug)]
pub(crate) enum Why {
    Twice,
    Elsewhere,
    Join(runtime::JoinError),
}

impl fmt::Display for InitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Why::Twice => f.write_str("this process has joined a job before; it can do so once"),
            Why::Elsewhere => f.write_str(
                "this process has joined its job in another thread, or in vain; expected the thread that has",
            ),
            Why::Join(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for InitError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.0 {
            Why::Twice | Why::Elsewhere => None,
            Why::Join(error) => Some(error),
        }
    }
}

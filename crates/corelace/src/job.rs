//! Jobs inside of the calling program: ranks as fibers or threads, no launcher.

use std::any::Any;
use std::error::Error as StdError;
use std::fmt;
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use fabric_local::{NoHooks, Outcome};
use runtime::cluster::{Carrier, Cluster};
use runtime::{Settings, SettingsError, Wish};

use crate::activity::Note;
use crate::communicator::Communicator;
use crate::error::{Error, ErrorKind};
use crate::raw::Process;
use crate::trace::{TraceError, Tracing};

/// Any error that a rank of [`Job::try_run`] returns.
pub type BoxError = Box<dyn StdError + Send + Sync>;

/// Runs `body` on `ranks` ranks, which are fibers of the calling program; what they return, in the order of ranks.
///
/// The calling thread and one more for each other core of the process carry them. A rank that panics, or ranks that wait for
/// each other in vain, make an error that names them. A rank that waits in vain is unwound, as by a panic, so that its destructors
/// run; in there, and in code that catches the unwinding, every further call of this crate is an error
/// ([`ErrorKind::Stalled`](crate::ErrorKind::Stalled)).
///
/// ```
/// let sums = corelace::run(4, |world| {
///     world.allreduce(&(world.rank() + 1), corelace::op::sum()).unwrap()
/// })?;
/// assert_eq!(sums, [10; 4]);
/// # Ok::<(), corelace::RunError>(())
/// ```
///
/// A deadlock is noticed, and told:
///
/// ```
/// let error = corelace::run(2, |world| {
///     // Both receive first.
///     let (_, _) = world.recv::<u8>(1 - world.rank(), 7).unwrap();
///     world.send(&0u8, 1 - world.rank(), 7).unwrap();
/// })
/// .unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "all ranks wait in vain: rank 0 waits to receive from rank 1 with tag 7, \
///      rank 1 waits to receive from rank 0 with tag 7"
/// );
/// ```
pub fn run<T: Send>(ranks: usize, body: impl Fn(Communicator<'_>) -> T + Sync) -> Result<Vec<T>, RunError> {
    Job::new(ranks).run(body)
}

/// A job inside of the calling program, with options.
///
/// Ranks are fibers by default: those of one worker thread take turns on it, and a turn ends in any call that waits. State that a
/// thread keeps for the code that it runs is then shared by several ranks. `thread_local!` variables are safe to use, but the ranks of a
/// worker find the same ones. Values that are *scoped*, set for the time of a closure and restored after it (the crate `scoped-tls`,
/// `tracing::subscriber::with_default`, span guards), assume that scopes of a thread end in the opposite order of their beginning, which
/// ranks that take turns do not keep to: do not wait inside of such a scope, or use [`threads`](Job::threads), which gives each rank
/// a thread of its own. The same holds for guards of locks that are tied to a thread, and for [`std::thread::panicking`], which is
/// true also while another rank of the worker unwinds.
///
/// ```
/// let names = corelace::Job::new(3)
///     .threads()
///     .run(|world| format!("{} of {}", world.rank(), world.size()))?;
/// assert_eq!(names, ["0 of 3", "1 of 3", "2 of 3"]);
/// # Ok::<(), corelace::RunError>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "a job does nothing until it is run"]
pub struct Job {
    ranks: usize,
    carrier: Carrier,
    cores: usize,
    stack_bytes: usize,
    trace: Option<PathBuf>,
}

impl Job {
    /// A job of `ranks` ranks, as fibers.
    pub fn new(ranks: usize) -> Job {
        Job { ranks, carrier: Carrier::Fiber, cores: 0, stack_bytes: 0, trace: None }
    }

    /// Each rank is a thread: for ranks that block outside of this crate, on files or locks, which would hold up the fibers
    /// beside them. A deadlock of threads is noticed only after a rank has panicked.
    pub fn threads(mut self) -> Job {
        self.carrier = Carrier::Thread;
        self
    }

    /// Fibers run on this many threads, the calling one among them. By default one for each core that the process may use; 1
    /// makes the order in which the ranks run the same each time.
    pub fn cores(mut self, cores: usize) -> Job {
        self.cores = cores;
        self
    }

    /// Bytes of stack a rank. Memory is taken only as far as it is used.
    pub fn stack(mut self, bytes: usize) -> Job {
        self.stack_bytes = bytes;
        self
    }

    /// Records what the ranks do into `file` (see [`trace`](crate::trace)).
    pub fn trace(mut self, file: impl AsRef<Path>) -> Job {
        self.trace = Some(file.as_ref().into());
        self
    }

    /// Runs `body` on all ranks; what they return, in the order of ranks.
    pub fn run<T: Send>(&self, body: impl Fn(Communicator<'_>) -> T + Sync) -> Result<Vec<T>, RunError> {
        let (values, failures) = self.execute(&body)?;
        RunError::judge(self.ranks, values, failures)
    }

    /// As [`run`](Job::run), with ranks that may fail: `?` works on any error, and the error of a rank becomes part of the
    /// job's.
    ///
    /// ```
    /// let error = corelace::Job::new(3)
    ///     .try_run(|world| {
    ///         if world.rank() == 1 {
    ///             "twelve".parse::<u32>()?;
    ///         }
    ///         Ok(world.barrier()?)
    ///     })
    ///     .unwrap_err();
    /// assert!(error.to_string().starts_with("rank 1 failed: invalid digit found in string"));
    /// ```
    pub fn try_run<T: Send>(
        &self,
        body: impl Fn(Communicator<'_>) -> Result<T, BoxError> + Sync,
    ) -> Result<Vec<T>, RunError> {
        let (values, mut failures) = self.execute(&body)?;
        let values = values.into_iter().enumerate().map(|(rank, value)| match value? {
            Ok(value) => Some(value),
            Err(error) => {
                failures.push(RankFailure { rank, cause: Failure::Failed(error) });
                None
            }
        });
        let values = values.collect();
        RunError::judge(self.ranks, values, failures)
    }

    fn execute<T: Send>(
        &self,
        body: &(dyn Fn(Communicator<'_>) -> T + Sync),
    ) -> Result<(Vec<Option<T>>, Vec<RankFailure>), RunError> {
        let execution = Execution::new(self.ranks, body)?;
        let tracing = self.trace.as_ref().map(|file| Tracing::begin(file, self.described()));
        let nothing = Wish::default();
        let cluster = Cluster {
            ranks: execution.ranks(),
            carrier: self.carrier,
            cores: self.cores,
            stack_bytes: self.stack_bytes,
            settings: execution.settings(),
            hooks: &NoHooks,
            unwind_stalled: true,
            wish: tracing.as_ref().map_or(&nothing, |tracing| &tracing.wish),
            control: None,
            // Ranks share their code.
            code: Default::default(),
            appnum: &|_| None,
        };
        let outcomes = runtime::cluster::run(&cluster, &|job| execution.rank(*job));
        tracing.map_or(Ok(()), Tracing::end)?;
        Ok(execution.finish(outcomes))
    }

    /// The job as its trace describes it.
    fn described(&self) -> trace::Job {
        let mode = if self.carrier == Carrier::Thread { "thread" } else { "fiber" };
        let places = vec![0; self.ranks];
        let (ranks, mode) = (self.ranks as u32, mode.into());
        let cores = std::thread::available_parallelism().map_or(0, |cores| cores.get() as u32);
        trace::Job { ranks, mode, places, cores, ticks_per_second: 1_000_000_000, ..trace::Job::default() }
    }
}

/// A body on its way through all ranks, whatever carries them.
pub(crate) struct Execution<'b, T> {
    body: &'b (dyn Fn(Communicator<'_>) -> T + Sync),
    settings: Settings,
    notes: Arc<[Note]>,
    values: Vec<Mutex<Option<T>>>,
}

impl<'b, T: Send> Execution<'b, T> {
    pub(crate) fn new(
        ranks: usize,
        body: &'b (dyn Fn(Communicator<'_>) -> T + Sync),
    ) -> Result<Execution<'b, T>, RunError> {
        let count = u32::try_from(ranks).ok().filter(|ranks| (1..=MAX_RANKS).contains(ranks));
        let count = count.ok_or(RunError(Reason::Ranks(ranks)))?;
        let settings = Settings::from_process().map_err(|error| RunError(Reason::Settings(error)))?;
        let notes: Arc<[Note]> = (0..count).map(|_| Note::default()).collect();
        let values: Vec<Mutex<Option<T>>> = (0..count).map(|_| Mutex::new(None)).collect();
        Ok(Execution { body, settings, notes, values })
    }

    pub(crate) fn ranks(&self) -> u32 {
        self.values.len() as u32
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// What one rank does.
    pub(crate) fn rank(&self, job: runtime::Job) -> crate::Result<()> {
        let rank = job.place().rank as usize;
        // Freed only after the job's end was agreed on. A rank that panics before may have messages on their way,
        // which others then read out of its memory.
        let process = ManuallyDrop::new(Process::new(job, Some(self.notes.clone())));
        let value = (self.body)(Communicator::world(&process));
        // Kept before the end of the job is waited for, which does not come if another rank fails.
        *self.values[rank].lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
        process.end_world()?;
        process.job().finalized();
        drop(ManuallyDrop::into_inner(process));
        Ok(())
    }

    /// What the ranks returned, and which of them failed.
    pub(crate) fn finish(
        self,
        outcomes: Vec<Outcome<crate::Result<()>>>,
    ) -> (Vec<Option<T>>, Vec<RankFailure>) {
        let values: Vec<Option<T>> = self
            .values
            .into_iter()
            .map(|value| value.into_inner().unwrap_or_else(PoisonError::into_inner))
            .collect();
        let mut failures = Vec::new();
        for (rank, outcome) in outcomes.into_iter().enumerate() {
            let cause = match outcome {
                Outcome::Ended(Ok(())) => continue,
                Outcome::Ended(Err(error)) if error.kind() == ErrorKind::Stalled => {
                    Failure::Stalled(self.notes[rank].get().to_string())
                }
                Outcome::Ended(Err(error)) => Failure::Failed(Box::<Error>::new(error)),
                Outcome::Panicked(payload) => Failure::Panicked(message_of(payload)),
                // It had done its part, and waited for the others at the end.
                Outcome::Stalled if values[rank].is_some() => continue,
                Outcome::Stalled => Failure::Stalled(self.notes[rank].get().to_string()),
            };
            failures.push(RankFailure { rank, cause });
        }
        (values, failures)
    }
}

/// Most ranks of a job: what MPI can number.
const MAX_RANKS: u32 = i32::MAX as u32;

fn message_of(payload: Box<dyn Any + Send>) -> String {
    match payload.downcast::<String>() {
        Ok(text) => *text,
        Err(payload) => match payload.downcast::<&str>() {
            Ok(text) => text.to_string(),
            Err(_) => String::from("a value that is no text"),
        },
    }
}

/// Why a job inside of the program failed.
#[derive(Debug)]
pub struct RunError(Reason);

#[derive(Debug)]
enum Reason {
    Ranks(usize),
    Settings(SettingsError),
    Chip(String),
    Trace(TraceError),
    Failed { ranks: usize, failures: Vec<RankFailure> },
}

/// A rank that failed.
#[derive(Debug)]
pub struct RankFailure {
    /// Which one.
    pub rank: usize,
    /// How.
    pub cause: Failure,
}

/// How a rank failed.
#[derive(Debug)]
pub enum Failure {
    /// It panicked, with this message.
    Panicked(String),
    /// It returned this error, or the end of the job failed.
    Failed(BoxError),
    /// It waited for something that could never come: what it did.
    Stalled(String),
}

impl RunError {
    /// A chip that cannot be had, or that has no room for the ranks.
    pub(crate) fn chip(reason: String) -> RunError {
        RunError(Reason::Chip(reason))
    }

    /// A trace that cannot be written.
    pub(crate) fn trace(error: TraceError) -> RunError {
        RunError(Reason::Trace(error))
    }

    /// What all ranks returned, or who did not.
    pub(crate) fn judge<T>(
        ranks: usize,
        values: Vec<Option<T>>,
        mut failures: Vec<RankFailure>,
    ) -> Result<Vec<T>, RunError> {
        if failures.is_empty()
            && let Some(values) = values.into_iter().collect()
        {
            return Ok(values);
        }
        failures.sort_by_key(|failure| (matches!(failure.cause, Failure::Stalled(_)), failure.rank));
        Err(RunError(Reason::Failed { ranks, failures }))
    }

    /// The ranks that failed: those that panicked or returned an error first, then those that waited in vain. Empty if the job
    /// was not started.
    pub fn failures(&self) -> &[RankFailure] {
        match &self.0 {
            Reason::Failed { failures, .. } => failures,
            Reason::Ranks(_) | Reason::Settings(_) | Reason::Chip(_) | Reason::Trace(_) => &[],
        }
    }
}

/// How many ranks that wait in vain are told one by one.
const TOLD: usize = 8;

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (ranks, failures) = match &self.0 {
            Reason::Ranks(given) => {
                return write!(f, "a job of {given} ranks cannot be run, expected 1 to {MAX_RANKS}");
            }
            Reason::Settings(error) => return error.fmt(f),
            Reason::Chip(reason) => return f.write_str(reason),
            Reason::Trace(error) => return write!(f, "the trace cannot be written: {error}"),
            Reason::Failed { ranks, failures } => (*ranks, failures),
        };
        let stalled = failures.partition_point(|failure| !matches!(failure.cause, Failure::Stalled(_)));
        for (index, RankFailure { rank, cause }) in failures[..stalled].iter().enumerate() {
            let separator = if index == 0 { "" } else { ", " };
            match cause {
                Failure::Panicked(message) => write!(f, "{separator}rank {rank} panicked: {message}")?,
                Failure::Failed(error) => write!(f, "{separator}rank {rank} failed: {error}")?,
                Failure::Stalled(_) => {}
            }
        }
        let waiting = &failures[stalled..];
        match waiting.len() {
            0 => return Ok(()),
            all if all == ranks => f.write_str("all ranks wait in vain: ")?,
            _ if stalled > 0 => f.write_str("; then others waited in vain: ")?,
            _ => f.write_str("ranks wait in vain for others that have ended: ")?,
        }
        for (index, RankFailure { rank, cause }) in waiting.iter().take(TOLD).enumerate() {
            let separator = if index == 0 { "" } else { ", " };
            if let Failure::Stalled(activity) = cause {
                write!(f, "{separator}rank {rank} {activity}")?;
            }
        }
        if waiting.len() > TOLD { write!(f, ", and {} more", waiting.len() - TOLD) } else { Ok(()) }
    }
}

impl StdError for RunError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match &self.0 {
            Reason::Settings(error) => Some(error),
            Reason::Trace(error) => Some(error),
            Reason::Ranks(_) | Reason::Chip(_) => None,
            Reason::Failed { failures, .. } => failures.iter().find_map(|failure| match &failure.cause {
                Failure::Failed(error) => Some(&**error as &(dyn StdError + 'static)),
                Failure::Panicked(_) | Failure::Stalled(_) => None,
            }),
        }
    }
}

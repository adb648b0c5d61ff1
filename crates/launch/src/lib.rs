//! Starts the ranks of a job on this machine, forwards their output, and ends all of them when one fails.
//!
//! | module | what it knows |
//! | --- | --- |
//! | [`job`] | the description of a job: programs, ranks, mode, mapping, environment |
//! | `files` | memory without a name, and files for output |
//! | `search` | where a program is |
//! | `topology` | what shares what on this machine |
//! | `place` | which CPUs a rank gets |
//! | `environment` | what a rank finds in its environment about its place |
//! | `start` | how ranks become processes, or one host process |
//! | `forward` | how lines of many ranks share one output without being torn |
//! | `outlet` | the launcher's own outputs, which are never waited for |
//! | `input` | standard input for ranks that cannot read it themselves |
//! | `orphans` | descendants of ranks that outlived their parents |
//! | `verdict` | what an exit, a signal or a message of a rank means for the job (no system calls: a pure machine) |
//! | `supervise` | the one event loop; `ends`: how ranks and the job end; `streams`: their output and input |
//! | `hangs` | whether the job still goes on, and why not |
//! | `status` | answering programs that ask what the job does |
//! | `last_calls` | what process ranks called last, for when one has died |
//! | `backtrace` | where a rank that shares its process crashed, and who called whom there |
//! | `held` | why a process that was killed is still there |
//! | `notes` | what `--check` found, shown to the user |
//! | `progress` | the live line of `--progress` |
//! | `recordings` | the files that ranks record into for a trace |
//! | `remedy` | what to do when the system refuses something |
//! | `guard` | the small process that ends the ranks if the launcher itself is killed |
//!
//! Invariants: one thread, one `epoll`, no thread a rank. Nothing is written to disk unless asked for. When [`run`] returns, no process that
//! it started is left, nor any that those started, and none is a zombie.
#![forbid(unsafe_code)]

pub mod guard;
pub mod job;

mod backtrace;
mod environment;
mod files;
mod forward;
mod hangs;
mod held;
mod input;
mod last_calls;
mod notes;
mod orphans;
mod outlet;
mod place;
mod progress;
mod recordings;
mod remedy;
mod search;
mod signals;
mod start;
mod starved;
mod status;
mod stream;
mod supervise;
mod topology;
mod verdict;

use std::fmt;
use std::io;
use std::path::PathBuf;

pub use diagnose::Format;
pub use job::{Bind, Context, Feed, Inherit, Job, Map, Mode, OnHang, OutputStyle};
pub use place::usable_cores;
pub use recordings::Recordings;
pub use search::{NotFound, find_program};
pub use signals::not_ignored;
pub use start::HOST_SUBCOMMAND;
pub use status::status;

/// Runs a job to its end. The result is the exit status for the launcher itself: 0, the first non-zero status of a rank,
/// 128 + the signal that killed a rank or that the launcher got, the code of `MPI_Abort`, 124 after a timeout, or 125 if it was ended because it hung.
///
/// While it runs, the calling process handles the signals that it does not ignore by forwarding them, no longer ignores SIGCHLD, and is the
/// parent of its descendants' orphans. SIGUSR1 makes it show what the ranks do, and goes only to those that catch it. Descriptors are
/// made inheritable for the moment of starting a rank, so nothing else in this process may start processes at the same time.
pub fn run(job: &Job) -> Result<u8, Error> {
    job.check()?;
    supervise::run(job)
}

/// Why a job could not be started.
#[derive(Debug)]
pub enum Error {
    /// The description of the job contradicts itself.
    Job(String),
    /// A rank's process could not be started.
    Spawn {
        /// Which rank.
        rank: u32,
        /// Its program.
        program: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file for output cannot be written.
    File {
        /// Which one.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The system refused something that the launcher needs.
    System {
        /// What was attempted.
        what: &'static str,
        /// What the system said.
        source: io::Error,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Job(why) => f.write_str(why),
            Error::Spawn { rank, program, source } => {
                let (program, remedy) = (program.display(), remedy::of(source));
                write!(f, "cannot start rank {rank}, {program}: {source}{remedy}")
            }
            Error::File { path, source } => {
                write!(f, "{}: {source}, expected a file that can be written", path.display())
            }
            Error::System { what, source } => write!(f, "{what}: {source}{}", remedy::of(source)),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Job(_) => None,
            Error::Spawn { source, .. } | Error::File { source, .. } | Error::System { source, .. } => {
                Some(source)
            }
        }
    }
}

/// Names what was attempted when the system refuses.
trait Attempt<T> {
    fn attempt(self, what: &'static str) -> Result<T, Error>;
}

impl<T, E: Into<io::Error>> Attempt<T> for Result<T, E> {
    fn attempt(self, what: &'static str) -> Result<T, Error> {
        self.map_err(|source| Error::System { what, source: source.into() })
    }
}

//! What the user asked for: the description of a job, before anything is started.

use std::ffi::OsString;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use pmi::HostChip;

use crate::Error;
use crate::recordings::Recordings;

/// A job: one or more programs and how to run their ranks.
#[derive(Clone, Debug)]
pub struct Job {
    /// The programs, in rank order; more than one for `prog1 : prog2`.
    pub contexts: Vec<Context>,
    /// Whether ranks are processes, threads or fibers.
    pub mode: Mode,
    /// Which cores come first.
    pub map: Map,
    /// Whether ranks are tied to their cores.
    pub bind: Bind,
    /// Bytes of the stack of each thread or fiber rank, if not what the limit of the process says.
    pub stack: Option<u64>,
    /// Cores of each rank, if ranks are tied to cores.
    pub cores_a_rank: u32,
    /// Whether the user is told where each rank is tied to.
    pub report_bindings: bool,
    /// How output looks and where else it goes.
    pub output: OutputStyle,
    /// Which ranks read the launcher's standard input.
    pub stdin: Feed,
    /// Whether the user is told how each rank ended.
    pub report_exits: bool,
    /// After which time the job is ended with status 124.
    pub timeout: Option<Duration>,
    /// What happens when no rank makes progress.
    pub on_hang: OnHang,
    /// For how long none may make any.
    pub hang_timeout: Duration,
    /// The executable whose `__guard` and `__host LIBRARY PLAN_FD` subcommands help the launcher. Without one there is no
    /// guard, and no thread or fiber mode.
    pub helper: Option<PathBuf>,
    /// The MPI library, `libmpi_abi.so.1`: needed for threads and fibers; its directory is also where programs look for it
    /// last.
    pub library: Option<PathBuf>,
    /// The simulated chip that the ranks run on, as fibers. With [`io`](HostChip::io) the last program is the I/O rank's.
    pub chip: Option<HostChip>,
    /// What ranks record into for a trace: a file each, and one for the chip.
    pub recordings: Option<Recordings>,
    /// Whether a live line shows what the ranks do, and ticks in a second of the chip's clock, 0 where time is real.
    pub progress: Option<u64>,
}

/// One program of a job and the ranks that run it.
#[derive(Clone, Debug)]
pub struct Context {
    /// How many ranks; at least one.
    pub ranks: u32,
    /// The file to execute, as found by [`crate::find_program`].
    pub program: PathBuf,
    /// The name the program is called by: its `argv[0]`, also used in messages.
    pub name: OsString,
    /// The arguments after the name.
    pub arguments: Vec<OsString>,
    /// Variables added to the environment (`-x`).
    pub environment: Vec<(OsString, OsString)>,
    /// Which of the launcher's own variables ranks get.
    pub inherit: Inherit,
    /// The working directory, if not the launcher's.
    pub directory: Option<PathBuf>,
}

/// What a rank is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// A process of its own.
    #[default]
    Process,
    /// A thread of one host process.
    Thread,
    /// A fiber of one host process.
    Fiber,
}

/// In which order cores are given to ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Map {
    /// Neighbours in rank are neighbours on the chip.
    #[default]
    Compact,
    /// Neighbours in rank are far apart, on sockets turn by turn: each gets as much memory bandwidth as possible.
    Scatter,
    /// NUMA nodes turn by turn.
    Numa,
    /// L3 caches turn by turn.
    L3,
}

/// Whether ranks stay on their cores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Bind {
    /// The kernel may move them.
    #[default]
    None,
    /// Each is tied to hardware threads.
    HwThread,
    /// Each is tied to cores of its own (round robin if there are more ranks than cores).
    Core,
    /// Each is tied to the L3 cache that its core has a part in.
    L3,
    /// Each is tied to the NUMA node of its core.
    Numa,
    /// Each is tied to the socket of its core.
    Socket,
}

/// How the lines of ranks look, and where else they go.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OutputStyle {
    /// Each line begins with `[rank] `.
    pub tag: bool,
    /// Each line begins with the time.
    pub time: bool,
    /// Copies go to `DIRECTORY/1/rank.N/stdout` and `stderr`.
    pub directory: Option<PathBuf>,
    /// Standard output goes to a file of this name instead; `%r` is the rank.
    pub stdout_file: Option<String>,
    /// The same for standard error.
    pub stderr_file: Option<String>,
}

/// Which ranks read the launcher's standard input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feed {
    /// This one.
    Rank(u32),
    /// All of them, the same.
    All,
    /// None.
    Nobody,
}

/// Which of the launcher's own variables ranks get.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Inherit {
    /// All.
    #[default]
    All,
    /// Those of these names.
    Only(Vec<OsString>),
}

/// What the launcher does when every rank waits and nothing happens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnHang {
    /// It says why, once, and goes on.
    #[default]
    Report,
    /// It says why and ends the job.
    Abort,
    /// It does not look.
    Off,
}

impl OnHang {
    /// How long nothing may happen, unless another time is given.
    pub const TIMEOUT: Duration = Duration::from_secs(10);
}

impl Job {
    /// A job of one program with the defaults of `mpirun`.
    pub fn new(context: Context) -> Job {
        Job {
            contexts: vec![context],
            mode: Mode::default(),
            map: Map::default(),
            bind: Bind::default(),
            stack: None,
            cores_a_rank: 1,
            report_bindings: false,
            output: OutputStyle::default(),
            stdin: Feed::Rank(0),
            report_exits: false,
            timeout: None,
            on_hang: OnHang::default(),
            hang_timeout: OnHang::TIMEOUT,
            helper: None,
            library: None,
            chip: None,
            recordings: None,
            progress: None,
        }
    }

    /// The number of ranks of all programs.
    pub fn ranks(&self) -> u32 {
        self.contexts.iter().map(|context| context.ranks).sum()
    }

    /// The program of each rank, with the program's index.
    pub(crate) fn context_of_ranks(&self) -> impl Iterator<Item = (u32, &Context)> {
        let indexed = (0..).zip(&self.contexts);
        indexed.flat_map(|(index, context)| std::iter::repeat_n((index, context), context.ranks as usize))
    }

    pub(crate) fn check(&self) -> Result<(), Error> {
        let wrong = |text: String| Err(Error::Job(text));
        let total: u64 = self.contexts.iter().map(|context| u64::from(context.ranks)).sum();
        if total > i32::MAX as u64 {
            return wrong(format!("-n {total}: expected at most {} ranks", i32::MAX));
        }
        if let Some(context) = self.contexts.iter().find(|context| context.ranks == 0) {
            return wrong(format!("-n 0 for {}: expected at least 1 rank", context.name.display()));
        }
        if let Feed::Rank(rank) = self.stdin
            && u64::from(rank) >= total
        {
            return wrong(format!("--stdin {rank}: expected a rank below {total}, all or none"));
        }
        let Some(first) = self.contexts.first() else { return wrong("a job without a program".into()) };
        if self.mode != Mode::Process {
            if self.helper.is_none() || self.library.is_none() {
                return wrong("ranks that are threads or fibers need an installed libmpi_abi.so.1".into());
            }
            for context in &self.contexts {
                if (&context.directory, &context.environment, &context.inherit)
                    != (&first.directory, &first.environment, &first.inherit)
                {
                    return wrong(format!(
                        "-wdir and -x of {} and {} differ: ranks that are threads or fibers share one process, expected \
                         the same for all programs",
                        first.name.display(),
                        context.name.display()
                    ));
                }
            }
        }
        Ok(())
    }
}

macro_rules! words {
    ($type:ident, $what:literal, $($word:literal => $variant:ident),+) => {
        impl FromStr for $type {
            type Err = String;

            fn from_str(word: &str) -> Result<$type, String> {
                match word {
                    $($word => Ok($type::$variant),)+
                    _ => Err(format!(concat!("\"{}\", expected one of:", $(" ", $word),+), word)),
                }
            }
        }
    };
}

words!(Mode, "mode", "process" => Process, "thread" => Thread, "fiber" => Fiber);
words!(Map, "map", "compact" => Compact, "scatter" => Scatter, "numa" => Numa, "l3cache" => L3);
words!(
    Bind, "bind",
    "none" => None, "hwthread" => HwThread, "core" => Core, "l3cache" => L3, "numa" => Numa, "socket" => Socket
);
words!(OnHang, "on-hang", "report" => Report, "abort" => Abort, "off" => Off);

#[cfg(test)]
mod tests {
    use super::*;

    fn context(ranks: u32) -> Context {
        Context {
            ranks,
            program: "/bin/true".into(),
            name: "true".into(),
            arguments: vec![],
            environment: vec![],
            inherit: Inherit::All,
            directory: None,
        }
    }

    #[test]
    fn a_job_without_ranks_is_refused_by_name() {
        let error = Job::new(context(0)).check().unwrap_err();
        assert_eq!(error.to_string(), "-n 0 for true: expected at least 1 rank");
    }

    #[test]
    fn threads_cannot_have_different_directories() {
        let mut job = Job::new(context(1));
        job.contexts.push(Context { directory: Some("/".into()), ..context(1) });
        (job.helper, job.library) = (Some("h".into()), Some("l".into()));
        assert!(job.check().is_ok());
        job.mode = Mode::Fiber;
        assert!(job.check().unwrap_err().to_string().contains("-wdir and -x of true and true differ"));
    }

    #[test]
    fn an_unknown_word_is_answered_with_the_known_ones() {
        assert_eq!("fibre".parse::<Mode>(), Err("\"fibre\", expected one of: process thread fiber".into()));
    }
}

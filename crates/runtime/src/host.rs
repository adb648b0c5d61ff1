//! One process that runs many ranks of a C program: a copy of the program each (`mpirun --ranks thread` and `fiber`, and
//! `--chip`).
//!
//! The copies are loaded before the first rank runs: the dynamic linker takes a lock and a lot of stack, neither of which belongs
//! into a fiber.

mod computing;
mod crash;
mod decimal;
mod on_chip;
mod progress;
mod report;

pub use crash::rank_of_code;

use std::ffi::CString;
use std::fmt;
use std::ops::Range;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::rc::Rc;
use std::sync::{Arc, Mutex};

use fabric_local::{Hooks, Outcome, Summons};
use fabric_noc::RunError;
use pmi::{Control, HostPlan};

use crate::answers;
use crate::cluster::{self, Carrier, Cluster};
use crate::job::Job;
use crate::loader::{Copies, Heap, Image, LoadError, Program, SharedLibrary, Streams, Tally};
use crate::observe::Wish;
use crate::settings::{Settings, SettingsError};

/// Stack of a rank on a chip: what a process gets by default. Reserved, not used, so 192 of them cost address space only.
const STACK_BYTES: usize = 8 << 20;

/// Stack of a rank where the limit of the process says "unlimited".
const UNLIMITED_STACK_BYTES: usize = 64 << 20;

/// The least stack that printf, the dynamic linker and the library's own calls can do with.
const LEAST_STACK_BYTES: usize = 256 << 10;

/// The exit status of a host whose ranks wait for each other for ever.
pub const DEADLOCK_STATUS: i32 = 125;

/// The message about a shared library names so many of its variables.
const VARIABLES_NAMED: usize = 3;

/// Why no rank was started.
#[derive(Debug)]
pub enum HostError {
    /// A program cannot be loaded.
    Load(LoadError),
    /// An environment variable of the user's makes no sense.
    Settings(SettingsError),
    /// What the launcher wants to see makes no sense.
    Observation(pmi::Error),
    /// An argument holds a zero byte.
    Argument(std::ffi::NulError),
    /// The chip is not what a launcher of this version writes; where it comes from.
    Chip(String),
    /// A program for a chip uses OpenMP.
    OpenMp {
        /// The program.
        program: String,
        /// The library by which that was noticed.
        library: String,
    },
    /// The chip has no room for the ranks.
    Run(RunError),
}

/// What a rank has to run: its program's `main`, once.
pub struct Main {
    prepared: Prepared,
    /// Where its allocations are booked, on a chip.
    heap: Option<Heap>,
    /// What its computing costs, on a chip.
    tally: Option<Rc<Tally>>,
    fiber: bool,
}

/// A rank's copy of its program, ready to run.
struct Prepared {
    program: Program,
    argv: Vec<CString>,
    streams: Streams,
}

impl Main {
    /// Runs `main` and the rank's exit handlers; the rank's exit status.
    pub fn run(self) -> i32 {
        let Prepared { program, argv, streams } = self.prepared;
        let counters = self.tally.map(|tally| tally.counters());
        match program.run_main(&argv, streams, self.heap, counters, self.fiber) {
            Ok(status) => status,
            Err(error) => {
                eprintln!("corelace: {}", pmi::visible(&error.to_string()));
                127
            }
        }
    }
}

/// Runs all ranks of the plan; `body` gets each rank's job and its `main`, and returns the rank's exit status. The result is
/// the first status that is not zero, by rank, or [`DEADLOCK_STATUS`]: each rank that waits for ever has told the launcher what for.
pub fn run(
    plan: &HostPlan,
    hooks: &dyn Hooks,
    body: &(dyn Fn(Box<Job>, Main) -> i32 + Sync),
) -> Result<i32, HostError> {
    let settings = Settings::from_process().map_err(HostError::Settings)?;
    let wish = Wish::from_process().map_err(HostError::Observation)?;
    let loaded = Loaded::new(plan)?;
    // SAFETY: the launcher passed this descriptor to this process alone, and a plan is run once.
    let control = Arc::new(Control::new(unsafe { OwnedFd::from_raw_fd(plan.control_fd) }));
    let _ = control.die_with_launcher();
    let stack_bytes = stack_bytes(plan);
    crash::watch(&control, stack_bytes, loaded.code.iter().cloned());
    let run_main = |job: Box<Job>, main: Main| {
        let rank = job.place().rank;
        crash::prepare_thread();
        let status = body(job, main);
        let _ = control.exited(rank, status);
        status
    };
    let outcomes = match &plan.chip {
        Some(chip) => on_chip::run(plan, chip, &loaded, (&settings, &wish), hooks, &control, &run_main)?,
        None => on_host(plan, &loaded, (&settings, &wish), hooks, &control, &run_main),
    };
    Ok(sum_up(&outcomes))
}

/// The stack of each rank: as the user said, or what a process would get. Unused pages cost nothing but address space.
fn stack_bytes(plan: &HostPlan) -> usize {
    if plan.stack > 0 {
        return (plan.stack as usize).max(LEAST_STACK_BYTES);
    }
    if plan.chip.is_some() {
        return STACK_BYTES;
    }
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the structure is ours.
    match unsafe { libc::getrlimit(libc::RLIMIT_STACK, &mut limit) } {
        0 if limit.rlim_cur != libc::RLIM_INFINITY => {
            (limit.rlim_cur as usize).next_multiple_of(1 << 16).max(LEAST_STACK_BYTES)
        }
        _ => UNLIMITED_STACK_BYTES,
    }
}

/// Runs the ranks as threads or fibers on the cores of this machine.
fn on_host(
    plan: &HostPlan,
    loaded: &Loaded,
    (settings, wish): (&Settings, &Wish),
    hooks: &dyn Hooks,
    control: &Arc<Control>,
    body: &(dyn Fn(Box<Job>, Main) -> i32 + Sync),
) -> Vec<Outcome<i32>> {
    let cluster = Cluster {
        ranks: plan.ranks.len() as u32,
        carrier: if loaded.fibers { Carrier::Fiber } else { Carrier::Thread },
        cores: plan.cores as usize,
        stack_bytes: stack_bytes(plan),
        settings,
        hooks,
        // Frames of C cannot be unwound.
        unwind_stalled: false,
        wish,
        control: Some(control.clone()),
        code: loaded.code.clone().into(),
        appnum: &|rank| Some(plan.context_of(rank) as u32),
    };
    let summons = Summons::default();
    let call = summons.clone();
    hear_inquiries(control, move |control| answers::listen(control, &call));
    cluster::run_on_call(&cluster, &summons, &|job: Box<Job>| {
        let rank = job.place().rank;
        if plan.bind {
            tie_to_core(plan, loaded.fibers, rank);
        }
        body(job, loaded.take(rank))
    })
}

/// Starts the thread that hears the launcher ask what the ranks wait for. Without it the job runs as well, only unexplained.
fn hear_inquiries(control: &Arc<Control>, listen: impl FnOnce(&Control) + Send + 'static) {
    /// What the thread needs, many times over.
    const STACK: usize = 128 << 10;
    let control = control.clone();
    let builder = std::thread::Builder::new().name("inquiries".into()).stack_size(STACK);
    let _ = builder.spawn(move || {
        // SAFETY: an all-zero set is valid and filled by the first call; the second reads it. Signals are for the ranks' threads: a
        // handler of the program's must not run where no rank is.
        unsafe {
            let mut all: libc::sigset_t = std::mem::zeroed();
            libc::sigfillset(&mut all);
            libc::pthread_sigmask(libc::SIG_BLOCK, &all, std::ptr::null_mut());
        }
        listen(&control);
    });
}

/// Ties the thread that runs `rank` to its core in the plan's order. Fibers of one worker tie it to the same core.
fn tie_to_core(plan: &HostPlan, fibers: bool, rank: u32) {
    let Some(threads) = std::num::NonZero::new(plan.order.len() as u32) else { return };
    let thread = if fibers {
        // Workers have equal blocks of ranks (see `fabric_local::run_fibers`).
        let workers = plan.cores.clamp(1, plan.ranks.len() as u32);
        (u64::from(rank) * u64::from(workers) / plan.ranks.len() as u64) as u32
    } else {
        rank
    };
    let core = plan.order[(thread % threads) as usize] as usize;
    // SAFETY: an all-zero set is valid, and CPU_SET checks the bounds. The kernel reads the set during the call only. A
    // refusal leaves the thread where it is, which costs speed and not correctness.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(core, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set);
    }
}

/// The status of the whole.
fn sum_up(outcomes: &[Outcome<i32>]) -> i32 {
    if outcomes.iter().any(|outcome| matches!(outcome, Outcome::Stalled)) {
        return DEADLOCK_STATUS;
    }
    outcomes
        .iter()
        .map(|outcome| match outcome {
            Outcome::Ended(status) => *status,
            Outcome::Panicked(_) | Outcome::Stalled => 1,
        })
        .find(|status| *status != 0)
        .unwrap_or(0)
}

/// A copy of its program for each rank.
struct Loaded {
    copies: Vec<Mutex<Option<Prepared>>>,
    /// Bytes that copies of a program share, and bytes of each copy, by program.
    footprints: Vec<(u64, u64)>,
    /// Where each rank's copy lies.
    code: Vec<Range<usize>>,
    /// Whether ranks are fibers; threads otherwise.
    fibers: bool,
}

impl Loaded {
    fn new(plan: &HostPlan) -> Result<Loaded, HostError> {
        let mut loaded = Loaded {
            copies: Vec::with_capacity(plan.ranks.len()),
            footprints: Vec::new(),
            code: Vec::with_capacity(plan.ranks.len()),
            fibers: plan.fibers,
        };
        // Libraries with variables, in the order of their paths.
        let mut shared: Vec<SharedLibrary> = Vec::new();
        for context in &plan.contexts {
            let image = Image::open(Path::new(&context.program)).map_err(HostError::Load)?;
            if let Some(openmp) = image.openmp().filter(|_| loaded.fibers) {
                // A parallel region keeps its team in thread-local storage: a fiber that waited inside would leave it to the next.
                let program = context.argv[0].to_string_lossy().into_owned();
                if plan.chip.is_some() {
                    return Err(HostError::OpenMp { program, library: openmp.into() });
                }
                let program = pmi::visible(&program);
                eprintln!(
                    "corelace: {program} uses OpenMP ({openmp}), whose parallel regions belong to threads: the ranks of this job \
                     run as threads, not as fibers (as --ranks thread asks for)"
                );
                loaded.fibers = false;
            }
            loaded.footprints.push(image.footprint());
            let argv = context.argv.iter().map(|argument| CString::new(argument.as_bytes()));
            let argv = argv.collect::<Result<Vec<_>, _>>().map_err(HostError::Argument)?;
            let count = context.ranks as usize;
            let mut copies = Copies::new(&image, count, plan.ranks.len() - count).map_err(HostError::Load)?;
            for _ in 0..count {
                let rank = loaded.copies.len();
                let program = copies.next(rank as u32).map_err(HostError::Load)?;
                loaded.code.push(program.span());
                let at = &plan.ranks[rank];
                let streams = Streams {
                    stdin: open(at.stdin),
                    stdout: open(at.stdout),
                    stderr: open(at.stderr),
                    records: plan.records,
                };
                let prepared = Prepared { program, argv: argv.clone(), streams };
                loaded.copies.push(Mutex::new(Some(prepared)));
            }
            for library in image.shared_libraries() {
                if let Err(at) = shared.binary_search_by(|known| known.path.cmp(&library.path)) {
                    shared.insert(at, library);
                }
            }
        }
        let carrier = if loaded.fibers { "fibers" } else { "threads" };
        for library in &shared {
            eprintln!("corelace: {}", pmi::visible(&shares(library, carrier)));
        }
        Ok(loaded)
    }

    /// # Panics
    /// If it has been taken before.
    fn take(&self, rank: u32) -> Main {
        let prepared = self.copies[rank as usize].lock().unwrap().take().expect("a rank runs once");
        Main { prepared, heap: None, tally: None, fiber: self.fibers }
    }
}

/// What it means that ranks have a library in common.
fn shares(library: &SharedLibrary, carrier: &str) -> String {
    let variables = match library.variables.as_slice() {
        [] => String::new(),
        few if few.len() <= VARIABLES_NAMED => format!(" ({})", few.join(", ")),
        [some @ .., _] => {
            let named = &some[..VARIABLES_NAMED];
            format!(" ({}, and {} more)", named.join(", "), library.variables.len() - VARIABLES_NAMED)
        }
    };
    format!(
        "{} has variables{variables}, which ranks that are {carrier} share: link it statically to give each rank its own, or \
         use --ranks process",
        library.path.display()
    )
}

fn open(descriptor: RawFd) -> Option<RawFd> {
    (descriptor >= 0).then_some(descriptor)
}

impl fmt::Display for HostError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HostError::Load(error) => error.fmt(f),
            HostError::Settings(error) => error.fmt(f),
            HostError::Observation(error) => error.fmt(f),
            HostError::Argument(error) => {
                write!(f, "an argument of the program cannot be passed on: {error}")
            }
            HostError::Chip(origin) => write!(
                f,
                "the plan of this job has a chip ({origin}) that cannot be read, expected one from mpirun of the same version"
            ),
            HostError::OpenMp { program, library } => write!(
                f,
                "{program} uses OpenMP ({library}), but ranks on a chip are fibers of one thread: build it without -fopenmp"
            ),
            HostError::Run(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for HostError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_failure_by_rank_is_the_status_of_the_whole() {
        assert_eq!(sum_up(&[Outcome::Ended(0), Outcome::Ended(3), Outcome::Ended(2)]), 3);
        assert_eq!(sum_up(&[Outcome::Ended(0), Outcome::Stalled]), DEADLOCK_STATUS);
    }
}

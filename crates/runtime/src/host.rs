//! One process that runs many ranks of a C program: a copy of the program each (`mpirun --ranks thread` and `fiber`, and
//! `--chip`).
//!
//! The copies are loaded before the first rank runs: the dynamic linker takes a lock and a lot of stack, neither of which belongs
//! into a fiber.

mod on_chip;
mod progress;
mod report;

use std::ffi::CString;
use std::fmt;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::{Arc, Mutex};

use fabric_local::{Hooks, Outcome};
use fabric_noc::RunError;
use pmi::{Control, HostPlan};
use sim::ChipError;

use crate::cluster::{self, Carrier, Cluster};
use crate::job::Job;
use crate::loader::{Heap, Image, LoadError, Program, Streams};
use crate::observe::Wish;
use crate::settings::{Settings, SettingsError};

/// Stack of a rank: what a process gets by default. Reserved, not used, so 192 of them cost address space only.
const STACK_BYTES: usize = 8 << 20;

/// The exit status of a host whose ranks wait for each other for ever.
pub const DEADLOCK_STATUS: i32 = 125;

/// The report of a deadlock says of so many ranks what they wait for.
const RANKS_EXPLAINED: usize = 16;

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
    /// The description of the chip makes no sense.
    Chip(ChipError),
    /// The chip has no room for the ranks.
    Run(RunError),
}

/// What a rank has to run: its program's `main`, once.
pub struct Main {
    prepared: Prepared,
    /// Where its allocations are booked, on a chip.
    heap: Option<Heap>,
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
        match program.run_main(&argv, streams, self.heap) {
            Ok(status) => status,
            Err(error) => {
                eprintln!("corelace: {error}");
                127
            }
        }
    }
}

/// Runs all ranks of the plan; `body` gets each rank's job and its `main`, and returns the rank's exit status. The result is
/// the first status that is not zero, by rank. `waits_for` tells what a rank that waits for ever waits for; it is asked after all
/// ranks have stopped.
pub fn run(
    plan: &HostPlan,
    hooks: &dyn Hooks,
    body: &(dyn Fn(Job, Main) -> i32 + Sync),
    waits_for: &dyn Fn(u32) -> Option<String>,
) -> Result<i32, HostError> {
    let settings = Settings::from_process().map_err(HostError::Settings)?;
    let wish = Wish::from_process().map_err(HostError::Observation)?;
    let loaded = Loaded::new(plan)?;
    // SAFETY: the launcher passed this descriptor to this process alone, and a plan is run once.
    let control = Arc::new(Control::new(unsafe { OwnedFd::from_raw_fd(plan.control_fd) }));
    let _ = control.die_with_launcher();
    let run_main = |job: Job, main: Main| {
        let rank = job.place().rank;
        let status = body(job, main);
        let _ = control.exited(rank, status);
        status
    };
    let outcomes = match &plan.chip {
        Some(chip) => on_chip::run(plan, chip, &loaded, (&settings, &wish), hooks, &control, &run_main)?,
        None => on_host(plan, &loaded, (&settings, &wish), hooks, &control, &run_main),
    };
    Ok(sum_up(&outcomes, waits_for))
}

/// Runs the ranks as threads or fibers on the cores of this machine.
fn on_host(
    plan: &HostPlan,
    loaded: &Loaded,
    (settings, wish): (&Settings, &Wish),
    hooks: &dyn Hooks,
    control: &Arc<Control>,
    body: &(dyn Fn(Job, Main) -> i32 + Sync),
) -> Vec<Outcome<i32>> {
    let cluster = Cluster {
        ranks: plan.ranks.len() as u32,
        carrier: if plan.fibers { Carrier::Fiber } else { Carrier::Thread },
        cores: plan.cores as usize,
        stack_bytes: STACK_BYTES,
        settings,
        hooks,
        // Frames of C cannot be unwound.
        unwind_stalled: false,
        wish,
        control: Some(control.clone()),
        appnum: &|rank| Some(plan.context_of(rank) as u32),
    };
    cluster::run(&cluster, &|job: Job| {
        let rank = job.place().rank;
        if plan.bind {
            tie_to_core(plan, rank);
        }
        body(job, loaded.take(rank))
    })
}

/// Ties the thread that runs `rank` to its core in the plan's order. Fibers of one worker tie it to the same core.
fn tie_to_core(plan: &HostPlan, rank: u32) {
    let Some(threads) = std::num::NonZero::new(plan.order.len() as u32) else { return };
    let thread = if plan.fibers {
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

/// The status of the whole; says what happened to ranks that did not end by themselves.
fn sum_up(outcomes: &[Outcome<i32>], waits_for: &dyn Fn(u32) -> Option<String>) -> i32 {
    let stalled: Vec<usize> =
        (0..outcomes.len()).filter(|rank| matches!(outcomes[*rank], Outcome::Stalled)).collect();
    if !stalled.is_empty() {
        eprintln!(
            "corelace: deadlock: {} for messages that nobody will send",
            match stalled.as_slice() {
                [one] => format!("rank {one} waits"),
                many if many.len() == outcomes.len() => format!("all {} ranks wait", many.len()),
                many => format!("ranks {} wait", ranges(many)),
            }
        );
        for rank in stalled.iter().take(RANKS_EXPLAINED) {
            // A rank without open messages waits for signals, and those are what barriers are made of.
            let what = waits_for(*rank as u32).unwrap_or_else(|| "the others in a barrier".into());
            eprintln!("corelace:   rank {rank} waits for {what}");
        }
        if stalled.len() > RANKS_EXPLAINED {
            eprintln!("corelace:   and {} more ranks", stalled.len() - RANKS_EXPLAINED);
        }
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

/// Sorted numbers as text, runs of them shortened: "0-3, 7".
fn ranges(numbers: &[usize]) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut rest = numbers;
    while let [first, ..] = rest {
        let run = rest.iter().enumerate().take_while(|(offset, number)| **number == first + offset).count();
        parts.push(if run == 1 { first.to_string() } else { format!("{first}-{}", first + run - 1) });
        rest = &rest[run..];
    }
    parts.join(", ")
}

/// A copy of its program for each rank.
struct Loaded {
    copies: Vec<Mutex<Option<Prepared>>>,
    /// Bytes that copies of a program share, and bytes of each copy, by program.
    footprints: Vec<(u64, u64)>,
}

impl Loaded {
    fn new(plan: &HostPlan) -> Result<Loaded, HostError> {
        let mut loaded = Loaded { copies: Vec::with_capacity(plan.ranks.len()), footprints: Vec::new() };
        for context in &plan.contexts {
            let image = Image::open(Path::new(&context.program)).map_err(HostError::Load)?;
            loaded.footprints.push(image.footprint());
            let argv = context.argv.iter().map(|argument| CString::new(argument.as_bytes()));
            let argv = argv.collect::<Result<Vec<_>, _>>().map_err(HostError::Argument)?;
            for _ in 0..context.ranks {
                let rank = loaded.copies.len();
                let program = Program::from_image(&image, rank as u32).map_err(HostError::Load)?;
                let at = &plan.ranks[rank];
                let streams =
                    Streams { stdin: open(at.stdin), stdout: open(at.stdout), stderr: open(at.stderr) };
                let prepared = Prepared { program, argv: argv.clone(), streams };
                loaded.copies.push(Mutex::new(Some(prepared)));
            }
        }
        Ok(loaded)
    }

    /// # Panics
    /// If it has been taken before.
    fn take(&self, rank: u32) -> Main {
        let prepared = self.copies[rank as usize].lock().unwrap().take().expect("a rank runs once");
        Main { prepared, heap: None }
    }
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
            HostError::Chip(error) => error.fmt(f),
            HostError::Run(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for HostError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_ranks_are_named_by_their_ends() {
        assert_eq!(ranges(&[0, 1, 2, 5, 7, 8]), "0-2, 5, 7-8");
        assert_eq!(ranges(&[3]), "3");
    }

    #[test]
    fn the_first_failure_by_rank_is_the_status_of_the_whole() {
        assert_eq!(sum_up(&[Outcome::Ended(0), Outcome::Ended(3), Outcome::Ended(2)], &|_| None), 3);
        assert_eq!(sum_up(&[Outcome::Ended(0), Outcome::Stalled], &|_| None), DEADLOCK_STATUS);
    }
}

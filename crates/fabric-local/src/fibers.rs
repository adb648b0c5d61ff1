//! Ranks as fibers.
//!
//! Each worker thread owns a block of consecutive ranks and runs those that are ready in turn, each until it parks. A switch
//! is two jumps between stacks (some nanoseconds); nothing on the way allocates, locks or calls the system.
//!
//! **Invariant:** a fiber is resumed by its worker only, and never again after it has ended, or has suspended itself after it
//! was told of a stall.

use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult};

use crate::crew::{Crew, Go, NOBODY, Worker};
use crate::job::{Hooks, Options, Outcome, Region, cores};
use crate::local::LocalFabric;
use crate::tuning::IDLE_LOOKS;

/// Runs `body` on every rank, as fibers spread over [`Options::workers`] threads in blocks of consecutive ranks, the first of
/// them the calling thread. Returns when all have ended, with their outcomes by rank.
///
/// A rank that panics ends as [`Outcome::Panicked`]; ranks that wait for it, or for each other, end as
/// [`Outcome::Stalled`].
///
/// # Panics
/// If there is no memory for mailboxes and stacks, the budget is smaller than a mailbox, or a hook panics.
pub fn run_fibers<T: Send>(
    options: &Options,
    hooks: &dyn Hooks,
    body: &(dyn Fn(LocalFabric) -> T + Sync),
) -> Vec<Outcome<T>> {
    let workers = if options.workers == 0 { cores() } else { options.workers };
    let workers = workers.min(options.ranks as usize);
    let region = Arc::new(Region::new(options));
    let crew = Arc::new(Crew::new(options.ranks, workers, options.unwind_stalled));
    // Made here, because a worker that failed would leave the others waiting for its ranks.
    let stacks: Vec<Mutex<Vec<DefaultStack>>> = (0..workers)
        .map(|worker| Mutex::new(crew.ranks_of(worker).map(|_| stack(options)).collect()))
        .collect();
    let work = |worker: usize| {
        let stacks = mem::take(&mut *stacks[worker].lock().unwrap_or_else(PoisonError::into_inner));
        work(worker, stacks, &crew, &region, options, hooks, body)
    };
    // Blocks of consecutive ranks, so the outcomes of the workers in turn are in the order of ranks.
    std::thread::scope(|scope| {
        let work = &work;
        let others: Vec<_> = (1..workers).map(|worker| scope.spawn(move || work(worker))).collect();
        let mut outcomes = work(0);
        for other in others {
            outcomes.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        outcomes
    })
}

fn stack(options: &Options) -> DefaultStack {
    DefaultStack::new(options.stack_bytes)
        .unwrap_or_else(|error| panic!("no stack of {} bytes for a rank: {error}", options.stack_bytes))
}

type Fiber<T> = Coroutine<Go, (), Outcome<T>, DefaultStack>;

/// The life of one worker: the outcomes of its ranks.
fn work<T: Send>(
    index: usize,
    stacks: Vec<DefaultStack>,
    crew: &Arc<Crew>,
    region: &Arc<Region>,
    options: &Options,
    hooks: &dyn Hooks,
    body: &(dyn Fn(LocalFabric) -> T + Sync),
) -> Vec<Outcome<T>> {
    let worker = &crew.workers[index];
    let ranks = crew.ranks_of(index).zip(stacks);
    let fibers = ranks.map(|(rank, stack)| Some(start(rank, stack, crew, region, options, body))).collect();
    crew.ranks_of(index).for_each(|rank| worker.ready.push(rank));
    let first = crew.ranks_of(index).next().expect("a worker has at least one rank");
    let mut shift = Shift { crew, worker, hooks, first, fibers, outcomes: Vec::new(), live: 0 };
    shift.live = shift.fibers.len();
    shift.outcomes.resize_with(shift.live, || Outcome::Stalled);
    shift.run();
    shift.outcomes
}

/// Makes the fiber of a rank.
fn start<T: Send>(
    rank: u32,
    stack: DefaultStack,
    crew: &Arc<Crew>,
    region: &Arc<Region>,
    options: &Options,
    body: &(dyn Fn(LocalFabric) -> T + Sync),
) -> Fiber<T> {
    let fabric = LocalFabric::on_fiber(rank, region, crew, options.budget);
    let crew = crew.clone();
    // SAFETY: `body` and the outcome's type outlive the call of `run_fibers`, which does not return before every fiber has
    // either ended or been leaked; a leaked one never runs again, so what it borrowed is never used again.
    unsafe {
        Coroutine::with_stack_unchecked(stack, move |yielder, go: Go| {
            crew.set_yielder(rank, yielder);
            let outcome = match go {
                Go::On => Outcome::of(catch_unwind(AssertUnwindSafe(|| body(fabric)))),
                Go::Stalled => Outcome::Stalled,
            };
            crew.set_yielder(rank, std::ptr::null());
            outcome
        })
    }
}

/// A worker at work.
struct Shift<'w, T> {
    crew: &'w Crew,
    worker: &'w Worker,
    hooks: &'w dyn Hooks,
    /// The first rank of the worker; its others follow.
    first: u32,
    fibers: Vec<Option<Fiber<T>>>,
    outcomes: Vec<Outcome<T>>,
    /// Fibers that have not ended.
    live: usize,
}

impl<T> Shift<'_, T> {
    fn run(&mut self) {
        // SAFETY: no arguments; the result is this thread's.
        self.worker.errno.set(unsafe { libc::__errno_location() });
        while self.live > 0 && !self.crew.idlers.stalled() {
            self.crew.take_inbox(self.worker);
            match self.worker.ready.pop() {
                Some(rank) => self.resume(rank, Go::On),
                None => self.idle(),
            }
        }
        if self.live > 0 {
            self.give_up();
        } else if self.crew.idlers.depart() {
            self.stall();
        }
    }

    #[inline(always)]
    fn resume(&mut self, rank: u32, go: Go) {
        let index = (rank - self.first) as usize;
        let Some(fiber) = &mut self.fibers[index] else { return };
        take_over(self.worker, self.hooks, rank);
        let result = fiber.resume(go);
        if let CoroutineResult::Return(outcome) = result {
            take_over(self.worker, self.hooks, NOBODY);
            self.outcomes[index] = outcome;
            self.fibers[index] = None;
            self.live -= 1;
        }
    }

    /// No fiber of this worker is ready: only another worker can change that.
    #[cold]
    fn idle(&self) {
        take_over(self.worker, self.hooks, NOBODY);
        let looks = if self.crew.workers.len() == 1 { 0 } else { IDLE_LOOKS };
        for _ in 0..looks {
            if !self.worker.inbox_is_empty() {
                return;
            }
            std::hint::spin_loop();
        }
        let pending = || !self.worker.inbox_is_empty();
        if self.crew.idlers.sleep(&self.crew.waiting, &self.worker.bell, pending) {
            self.stall();
        }
    }

    /// This worker is the last: all fibers of all workers have ended or wait for ever.
    #[cold]
    fn stall(&self) {
        let bells = self.crew.workers.iter().map(|worker| &worker.bell);
        self.crew.idlers.stall(&self.crew.waiting, bells);
    }

    /// The outcomes of fibers that wait for ever are `Stalled` already, unless one catches the unwinding and ends by itself.
    #[cold]
    fn give_up(&mut self) {
        for index in 0..self.fibers.len() {
            if self.crew.unwind_stalled {
                self.resume(self.first + index as u32, Go::Stalled);
            }
            if let Some(fiber) = self.fibers[index].take() {
                // Its stack cannot be unwound, and what lies on it must stay: others may hold addresses of it.
                mem::forget(fiber);
            }
        }
    }
}

/// Tells the hooks whose code this thread runs from now on. A rank keeps the thread until another takes over: most switches
/// go from one rank straight to the next.
#[inline(always)]
fn take_over(worker: &Worker, hooks: &dyn Hooks, rank: u32) {
    let before = worker.current.replace(rank);
    if rank != NOBODY {
        if before != rank {
            hooks.enter(rank);
        }
    } else if before != NOBODY {
        hooks.leave(before);
    }
}

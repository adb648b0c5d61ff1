//! Ranks as fibers.
//!
//! Each worker thread owns a block of consecutive ranks and runs those that are ready in turn, each until it parks. A fiber
//! that parks hands over to the next one itself; the worker gets the thread back when none is ready or one has ended. Nothing
//! on the way allocates, locks or calls the system. One that computes for long is interrupted
//! (`slices`).
//!
//! **Invariant:** a fiber is resumed on its worker's thread only, and never again after it has ended, or has come back to the
//! worker after a stall. `run_fibers` returns when every fiber has ended; only where stalled ones must not go on
//! ([`Options::unwind_stalled`]) they stay suspended for ever, with what they have borrowed.

use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use fabric::Idle;

use crate::cores::cores;
use crate::crew::{Crew, NOBODY, Worker};
use crate::job::{Hooks, Options, Outcome, Region, no_stacks, no_thread};
use crate::local::LocalFabric;
use crate::slices::Slices;
use crate::stack::Stacks;
use crate::switch::Kept;

/// Runs `body` on every rank, as fibers spread over [`Options::workers`] threads in blocks of consecutive ranks, the first of
/// them the calling thread. Returns when all have ended, with their outcomes by rank.
///
/// A rank that panics ends as [`Outcome::Panicked`]; ranks that wait for it, or for each other, end as
/// [`Outcome::Stalled`].
///
/// Where there is no room for mailboxes and stacks, or a worker's thread cannot be started, the process ends with a sentence that says so.
///
/// # Panics
/// If the budget is smaller than a mailbox, or a hook panics.
pub fn run_fibers<T: Send>(
    options: &Options,
    hooks: &dyn Hooks,
    body: &(dyn Fn(LocalFabric) -> T + Sync),
) -> Vec<Outcome<T>> {
    let workers = if options.workers == 0 { cores() } else { options.workers };
    let workers = workers.min(options.ranks as usize);
    let region = Arc::new(Region::new(options));
    let crew = Arc::new(Crew::new(options.ranks, workers, options.manner, options.unwind_stalled));
    options.summons.reach(&crew);
    // Made here, because a worker that failed would leave the others waiting for its ranks.
    let stacks = ManuallyDrop::new(stacks(options));
    let leaked = AtomicBool::new(false);
    let job = Shared { crew: &crew, region: &region, stacks: &stacks, leaked: &leaked, options, hooks };
    let work = |worker: usize| work(worker, &job, body);
    // Blocks of consecutive ranks, so the outcomes of the workers in turn are in the order of ranks.
    let outcomes = std::thread::scope(|scope| {
        let work = &work;
        let spawn = |worker: usize| {
            let thread = std::thread::Builder::new().name(format!("worker {worker}"));
            thread.spawn_scoped(scope, move || work(worker)).unwrap_or_else(|error| {
                // Its ranks are counted on by those that run already, who cannot be called back.
                no_thread(&format!("worker {worker} of {workers}"), &error)
            })
        };
        let others: Vec<_> = (1..workers).map(spawn).collect();
        let mut outcomes = work(0);
        for other in others {
            outcomes.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        outcomes
    });
    if !leaked.into_inner() {
        drop(ManuallyDrop::into_inner(stacks));
    }
    outcomes
}

fn stacks(options: &Options) -> Stacks {
    let Options { ranks, stack_bytes, .. } = options;
    let stacks =
        Stacks::new(*ranks, *stack_bytes).unwrap_or_else(|error| no_stacks(*ranks, *stack_bytes, &error));
    if !stacks.are_guarded() {
        eprintln!(
            "corelace: this system has not enough mappings for guards below the stacks of {ranks} ranks (sysctl vm.max_map_count): \
             a stack that overflows goes unnoticed"
        );
    }
    stacks
}

/// What all workers of a job use.
struct Shared<'j> {
    crew: &'j Arc<Crew>,
    region: &'j Arc<Region>,
    stacks: &'j Stacks,
    /// A fiber stays suspended for ever, so its stack must stay, too.
    leaked: &'j AtomicBool,
    options: &'j Options,
    hooks: &'j dyn Hooks,
}

/// The life of one worker: the outcomes of its ranks.
fn work<T: Send>(
    index: usize,
    job: &Shared<'_>,
    body: &(dyn Fn(LocalFabric) -> T + Sync),
) -> Vec<Outcome<T>> {
    let &Shared { crew, region, stacks, leaked, options, hooks } = job;
    let worker = &crew.workers[index];
    let start = |rank| Start {
        crew,
        rank,
        body,
        fabric: Some(LocalFabric::on_fiber(rank, region, crew, options.budget)),
        outcome: Outcome::Stalled,
    };
    let mut starts: Vec<Start<'_, T>> = crew.ranks_of(index).map(start).collect();
    let fibers = starts.iter_mut().map(|start| {
        let context = crew.context(start.rank);
        // SAFETY: stacks are freed only after all fibers have ended, or never; `starts` outlives the shift, after which no fiber
        // runs. One that is left suspended never uses again what it has borrowed.
        unsafe { context.prepare(stacks.of(start.rank), run_rank::<T>, (&raw mut *start).cast()) }
    });
    let fibers: Vec<_> = fibers.map(Some).collect();
    crew.ranks_of(index).for_each(|rank| worker.ready.push(rank));
    let first = crew.ranks_of(index).next().expect("a worker has at least one rank");
    // SAFETY: the hooks outlive this call, and no fiber of the worker runs after it.
    unsafe { worker.begin_shift(hooks) };
    let found = stacks.found_here();
    // One rank alone is in nobody's way.
    let code = if fibers.len() > 1 { &options.code[..] } else { &[] };
    let mut slices = Slices::new(crew, worker, code);
    slices.begin();
    Shift { crew, worker, stacks, leaked, first, live: fibers.len(), fibers }.run();
    drop(slices);
    drop(found);
    starts.into_iter().map(|start| start.outcome).collect()
}

/// What the fiber of a rank begins with, and where it leaves its outcome.
struct Start<'a, T> {
    crew: &'a Crew,
    rank: u32,
    body: &'a (dyn Fn(LocalFabric) -> T + Sync),
    fabric: Option<LocalFabric>,
    /// `Stalled` until the fiber ends by itself.
    outcome: Outcome<T>,
}

/// What a fiber runs.
///
/// # Safety
/// `start` must point to a [`Start`] of this `T` that nobody else uses until the fiber has ended.
unsafe extern "C" fn run_rank<T>(start: *mut ()) -> ! {
    // SAFETY: the caller's promise.
    let start = unsafe { &mut *start.cast::<Start<'_, T>>() };
    let fabric = start.fabric.take().expect("a rank begins once");
    start.outcome = Outcome::of(catch_unwind(AssertUnwindSafe(|| (start.body)(fabric))));
    // SAFETY: this is the fiber of that rank, and it has nothing left to drop.
    unsafe { start.crew.end(start.rank) }
}

/// A worker at work.
struct Shift<'w> {
    crew: &'w Crew,
    worker: &'w Worker,
    stacks: &'w Stacks,
    leaked: &'w AtomicBool,
    /// The first rank of the worker; its others follow.
    first: u32,
    /// What belongs to the fibers that have not ended.
    fibers: Vec<Option<Kept>>,
    /// How many these are.
    live: usize,
}

impl Shift<'_> {
    fn run(&mut self) {
        while self.live > 0 && !self.crew.idlers.stalled() {
            self.crew.take_inbox(self.worker);
            match self.worker.ready.pop() {
                Some(rank) => self.resume(rank),
                None => self.idle(),
            }
        }
        if self.live > 0 {
            self.give_up();
        } else if self.crew.idlers.depart() {
            self.crew.stall();
        }
    }

    /// Lets a fiber run, and those that it hands over to, until one ends or none is ready.
    fn resume(&mut self, rank: u32) {
        self.worker.take_over(rank);
        // SAFETY: a fiber that is ready, or waits for ever, is suspended or has yet to begin.
        unsafe { self.worker.switch(&self.worker.context, self.crew.context(rank)) };
        let ended = self.worker.ended.replace(NOBODY);
        if ended != NOBODY {
            self.worker.take_over(NOBODY);
            self.fibers[(ended - self.first) as usize] = None;
            // SAFETY: the fiber owned nothing any more when it ended.
            unsafe { self.stacks.clear(ended) };
            self.live -= 1;
        }
    }

    /// No fiber of this worker is ready: only another worker can change that.
    #[cold]
    fn idle(&self) {
        self.worker.take_over(NOBODY);
        let (waiting, patience) = (&self.crew.waiting, &self.worker.patience);
        let ground = self.crew.ground(self.worker);
        let alone = self.crew.workers.len() == 1;
        // A fiber that had the core to itself has waited already.
        let mut rounds = if self.crew.waits_itself { patience.rounds_spent() } else { 0 };
        while !alone && waiting.bides(patience, &ground, rounds, Idle::UntilWoken).is_some() {
            if !self.worker.inbox.is_empty() {
                return;
            }
            rounds = rounds.wrapping_add(1);
        }
        let pending = || !self.worker.inbox.is_empty();
        if self.crew.idlers.sleep(waiting, &self.worker.bell, pending) {
            self.crew.stall();
        }
        patience.wakes(&ground);
    }

    /// Fibers that wait for ever are told so and end, where that may be, or stay what they are once they have said what they wait for.
    #[cold]
    fn give_up(&mut self) {
        for index in 0..self.fibers.len() {
            if self.fibers[index].is_some() {
                self.resume(self.first + index as u32);
            }
            if let Some(fiber) = self.fibers[index].take() {
                // Its stack cannot be unwound, and what lies on it must stay: others may hold addresses of it.
                let _kept = ManuallyDrop::new(fiber);
                self.leaked.store(true, Ordering::Relaxed);
            }
        }
    }
}

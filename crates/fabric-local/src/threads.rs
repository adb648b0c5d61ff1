//! Ranks as OS threads.
//!
//! **Invariant:** `run_threads` returns when every rank has ended. Only where stalled ranks must not go on
//! ([`Options::unwind_stalled`]) it returns with ranks that are *left*: they sleep for ever, with what they have borrowed.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use fabric::{Idle, Woke};
use ring::Endpoint;
use ring::linux::Sharing;
use ring::patience::{Ground, Manner, Patience};
use ring::waiting::Waiting;

use crate::cores::cores;
use crate::idlers::Idlers;
use crate::job::{Hooks, Options, Outcome, Region, no_stacks, no_thread};
use crate::local::LocalFabric;
use crate::stack::{ThreadGuard, bytes_with_guard, look_for_room};
use crate::summons::Roused;

/// Runs `body` on every rank, each an OS thread of its own. Returns when all have ended, with their outcomes by rank.
///
/// Where there is no room for mailboxes, or a thread cannot be started, the process ends with a sentence that says so.
///
/// # Panics
/// If the budget is smaller than a mailbox.
pub fn run_threads<T: Send>(
    options: &Options,
    hooks: &dyn Hooks,
    body: &(dyn Fn(LocalFabric) -> T + Sync),
) -> Vec<Outcome<T>> {
    let region = Arc::new(Region::new(options));
    // Before the first of them runs: those that do could not be called back.
    look_for_room(options.ranks, options.stack_bytes)
        .unwrap_or_else(|error| no_stacks(options.ranks, options.stack_bytes, &error));
    let team = Arc::new(Team {
        idlers: Idlers::new(options.ranks as usize, false),
        manner: options.manner,
        unwind_stalled: options.unwind_stalled,
        places: Mutex::new(vec![Place::Taken; options.ranks as usize]),
        changed: Condvar::new(),
        region: region.clone(),
    });
    options.summons.reach(&team);
    let outcomes: Arc<[Mutex<Outcome<T>>]> =
        (0..options.ranks).map(|_| Mutex::new(Outcome::Stalled)).collect();
    let mut threads = Vec::new();
    for rank in 0..options.ranks {
        let (region, team, outcomes) = (region.clone(), team.clone(), outcomes.clone());
        let run = move || {
            let guard = ThreadGuard::raise(rank, options.stack_bytes);
            hooks.enter(rank);
            let caught = catch_unwind(AssertUnwindSafe(|| {
                body(LocalFabric::on_thread(rank, &region, &team, options.budget))
            }));
            hooks.leave(rank);
            let outcome = Outcome::of(caught);
            let panicked = matches!(outcome, Outcome::Panicked(_));
            *outcomes[rank as usize].lock().unwrap_or_else(PoisonError::into_inner) = outcome;
            // Before the place is given up: afterwards nothing of the caller's may be touched.
            drop((outcomes, guard));
            team.end(rank, panicked);
        };
        let builder = std::thread::Builder::new()
            .name(format!("rank {rank}"))
            .stack_size(bytes_with_guard(options.stack_bytes));
        // SAFETY: `team.wait` below does not return before the closure has used for the last time what it borrows: it then
        // has given up its place, or sleeps for ever.
        let thread = unsafe { builder.spawn_unchecked(run) };
        threads.push(thread.unwrap_or_else(|error| {
            // The ranks that run already wait for this one and cannot be called back.
            no_thread(&format!("rank {rank} of {}", options.ranks), &error)
        }));
    }
    let places = team.wait();
    for (thread, place) in threads.into_iter().zip(places) {
        if place == Place::Ended {
            thread.join().expect("the panic of a rank was caught");
        }
    }
    outcomes
        .iter()
        .map(|outcome| {
            std::mem::replace(&mut *outcome.lock().unwrap_or_else(PoisonError::into_inner), Outcome::Stalled)
        })
        .collect()
}

/// What the threads of a job share besides its memory.
pub(crate) struct Team {
    idlers: Idlers,
    manner: Manner,
    unwind_stalled: bool,
    places: Mutex<Vec<Place>>,
    changed: Condvar,
    region: Arc<Region>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    Taken,
    Ended,
    /// The thread sleeps for ever.
    Left,
}

impl Roused for Team {
    #[cold]
    fn rouse(&self) {
        let waiting = Waiting::waker(Sharing::Threads);
        let ranks = 0..self.region.exchange().geometry().ranks();
        if self.idlers.visit(|| ranks.for_each(|rank| self.wake(&waiting, rank))) {
            self.stall();
        }
    }

    /// Threads look up whenever they wake.
    fn settle(&self) {}
}

impl Team {
    /// How a rank of this team waits.
    pub(crate) fn waiting(&self, endpoint: &Endpoint) -> Waiting {
        let ranks = self.region.exchange().geometry().ranks() as usize;
        Waiting::new(ranks, cores(), self.manner, Sharing::Threads, endpoint.my_doorbell())
    }

    /// To be called after something was published for `to`.
    #[inline(always)]
    pub(crate) fn wake(&self, waiting: &Waiting, to: u32) {
        self.idlers.wake(waiting, self.region.exchange().doorbell(to));
    }

    /// One park of the thread that calls (see [`fabric::Park::park`]).
    #[inline]
    pub(crate) fn park(
        &self,
        waiting: &Waiting,
        (patience, ground): (&Patience, &impl Ground),
        endpoint: &Endpoint,
        rounds: u32,
        idle: Idle,
    ) -> Woke {
        waiting.bides(patience, ground, rounds, idle).unwrap_or_else(|| {
            if self.idlers.sleep(waiting, endpoint.my_doorbell(), || endpoint.pending()) {
                self.stall();
            }
            patience.wakes(ground);
            self.woken(endpoint)
        })
    }

    /// Sleeps on the armed doorbell of the thread that calls (see [`fabric::Park::sleep`]).
    pub(crate) fn sleep(
        &self,
        waiting: &Waiting,
        (patience, ground): (&Patience, &impl Ground),
        endpoint: &Endpoint,
        word: u32,
        limit_ns: Option<u64>,
    ) -> Woke {
        let bell = endpoint.my_doorbell();
        match limit_ns {
            // A stall wakes those that are armed then; who arms later must see for itself.
            _ if self.idlers.stalled() => self.idlers.disarm(bell),
            Some(limit) => self.idlers.doze_armed(waiting, bell, word, limit),
            None => {
                if self.idlers.sleep_armed(waiting, bell, word) {
                    self.stall();
                }
            }
        }
        patience.wakes(ground);
        self.woken(endpoint)
    }

    /// Sleeps for so long, or until something comes. False if something has.
    pub(crate) fn nap(&self, waiting: &Waiting, endpoint: &Endpoint, ns: u64) -> bool {
        self.idlers.nap(waiting, endpoint.my_doorbell(), ns, || endpoint.pending())
    }

    /// Takes the announcement of the thread that calls back.
    pub(crate) fn disarm(&self, endpoint: &Endpoint) {
        self.idlers.disarm(endpoint.my_doorbell());
    }

    /// Wakes `rank`, from a thread that is none of the team's.
    pub(crate) fn wake_from_outside(&self, rank: u32) {
        let waiting = Waiting::waker(Sharing::Threads);
        if self.idlers.visit(|| self.wake(&waiting, rank)) {
            self.stall();
        }
    }

    fn woken(&self, endpoint: &Endpoint) -> Woke {
        if self.idlers.stalled() { self.give_up_waiting(endpoint.me().0) } else { Woke::Look }
    }

    /// A rank has ended. After a panic the others may wait for it in vain, so from then on a stall is looked for.
    fn end(&self, rank: u32, panicked: bool) {
        if panicked {
            self.idlers.watch();
        }
        if self.idlers.depart() {
            self.stall();
        }
        self.give_up(rank, Place::Ended);
    }

    #[cold]
    fn stall(&self) {
        let exchange = self.region.exchange();
        let bells = (0..exchange.geometry().ranks()).map(|rank| exchange.doorbell(rank));
        // Waking does not depend on which rank does it.
        self.idlers.stall(&Waiting::waker(Sharing::Threads), bells);
    }

    /// The job has stalled: tells the rank, which then ends; or, where it must not go on, leaves it asleep.
    #[cold]
    fn give_up_waiting(&self, rank: u32) -> Woke {
        if self.unwind_stalled {
            return Woke::Stalled;
        }
        self.give_up(rank, Place::Left);
        loop {
            std::thread::park();
        }
    }

    fn give_up(&self, rank: u32, place: Place) {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)[rank as usize] = place;
        self.changed.notify_one();
    }

    fn wait(&self) -> Vec<Place> {
        let places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = |places: &mut Vec<Place>| places.contains(&Place::Taken);
        self.changed.wait_while(places, taken).unwrap_or_else(PoisonError::into_inner).clone()
    }
}

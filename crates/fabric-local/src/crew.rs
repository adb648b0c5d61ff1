//! What the workers of a fiber job share: who is parked where, and how a post wakes a fiber.
//!
//! What threads race for is in [`inbox`](crate::inbox): its protocol is written, and model-checked, there.
//!
//! **Invariants.**
//! * The ready queue of a worker is used by that worker's thread only.
//! * A fiber is in the ready queue at most once: it enters it only when it stops being parked, or of its own will while it
//!   runs.

use std::cell::Cell;
use std::mem;
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;

use ring::ground::Place;
use ring::linux::{HeavyBarrier, Sharing, yield_core};
use ring::patience::{Ground, Manner, Patience};
use ring::sync::{Ordering, fence};
use ring::waiting::Waiting;
use ring::{Doorbell, Endpoint};

use fabric::{Idle, Woke};

use crate::cores::cores;
use crate::idlers::Idlers;
use crate::inbox::{Inbox, Sleeper};
use crate::job::Hooks;
use crate::state::{Spare, ThreadState};
use crate::summons::Roused;
use crate::switch::Context;
use crate::tuning::{BRIEF_ROUNDS, EAGER_ROUNDS, SPIN_ROUNDS};

/// The workers and fibers of one job.
pub(crate) struct Crew {
    pub(crate) workers: Box<[Worker]>,
    seats: Box<[Seat]>,
    pub(crate) idlers: Idlers,
    /// Workers have room to spin if each has a core, unless there is only one: then nobody can post meanwhile.
    pub(crate) waiting: Waiting,
    pub(crate) unwind_stalled: bool,
    /// Empty rounds for which a fiber goes on polling if its worker has no other to run. None where there is no room to spin.
    spin_rounds: u32,
    /// Every rank has a core of its own: then a fiber goes on after those rounds for as long as its worker would, since whoever posts to one that is parked has three more lines to fetch.
    pub(crate) waits_itself: bool,
    /// The barrier of a fiber that parks, where every rank has a core of its own: then it hardly ever does, and its posters pay for none.
    heavy: Option<HeavyBarrier>,
}

// SAFETY: the `Cell`s inside are used by one thread each (see `Worker` and `Seat`); the rest is atomics.
unsafe impl Sync for Crew {}
// SAFETY: as above; no part of it is bound to the thread that made it.
unsafe impl Send for Crew {}

/// One OS thread that runs fibers. Own lines, because others write to its inbox and bell.
#[repr(align(128))]
pub(crate) struct Worker {
    pub(crate) inbox: Inbox,
    pub(crate) bell: Doorbell,
    /// Used by this worker's thread only.
    pub(crate) patience: Patience,
    /// Used by this worker's thread only.
    pub(crate) ready: Ready,
    /// The rank that runs. Used by this worker's thread only.
    pub(crate) current: Cell<u32>,
    /// The worker itself, while one of its fibers runs. Used by this worker's thread only.
    pub(crate) context: Context,
    /// The fiber that has ended and given the thread back, or [`NOBODY`]. Used by this worker's thread only.
    pub(crate) ended: Cell<u32>,
    /// Set at the start of the shift. Used by this worker's thread only.
    shift: Cell<Option<Shift>>,
    /// Used by this worker's thread only.
    spare: Spare,
    /// How many times a rank has begun to run. Read by the worker's thread only, and by handlers of
    /// signals there.
    turns: AtomicU64,
}

/// What a worker knows of its thread and its job.
#[derive(Clone, Copy)]
struct Shift {
    /// Where the thread keeps what belongs to the rank that runs.
    thread: ThreadState,
    hooks: NonNull<dyn Hooks>,
}

/// No rank.
pub(crate) const NOBODY: u32 = u32::MAX;

/// One fiber, as its worker and its posters see it.
#[repr(align(128))]
struct Seat {
    worker: u32,
    sleeper: Sleeper,
    /// It waits for ever and was let run once more to say so. Used by its worker's thread only.
    told: Cell<bool>,
    /// Somebody asked while it gave way: its next park answers. Used by its worker's thread only.
    asked: Cell<bool>,
    /// The fiber, while it does not run. Used by its worker's thread only.
    context: Context,
}

impl Crew {
    pub(crate) fn new(ranks: u32, workers: usize, manner: Manner, unwind_stalled: bool) -> Crew {
        let waiting = Waiting::fenced((2..=cores()).contains(&workers), manner, Sharing::Threads);
        let seats: Box<[Seat]> = (0..ranks)
            .map(|rank| Seat {
                worker: (u64::from(rank) * workers as u64 / u64::from(ranks)) as u32,
                sleeper: Sleeper::awake(),
                told: Cell::new(false),
                asked: Cell::new(false),
                context: Context::running(),
            })
            .collect();
        let workers: Box<[Worker]> = (0..workers)
            .map(|worker| Worker {
                inbox: Inbox::new(),
                bell: Doorbell::new(),
                patience: waiting.patience(),
                ready: Ready::new(seats.iter().filter(|seat| seat.worker as usize == worker).count()),
                current: Cell::new(NOBODY),
                context: Context::running(),
                ended: Cell::new(NOBODY),
                shift: Cell::new(None),
                spare: Spare::default(),
                turns: AtomicU64::new(0),
            })
            .collect();
        let spins = waiting.is_roomy() && manner != Manner::Sleep;
        let each_a_core = spins && seats.len() == workers.len();
        Crew {
            idlers: Idlers::new(workers.len(), true),
            spin_rounds: if spins { SPIN_ROUNDS } else { 0 },
            waits_itself: each_a_core,
            heavy: if each_a_core { HeavyBarrier::register(Sharing::Threads) } else { None },
            waiting,
            workers,
            seats,
            unwind_stalled,
        }
    }

    /// Whether every rank has a worker, and every worker a core.
    pub(crate) fn gives_each_a_core(&self) -> bool {
        self.waiting.is_roomy() && self.seats.len() == self.workers.len()
    }

    /// The ranks of a worker.
    pub(crate) fn ranks_of(&self, worker: usize) -> impl Iterator<Item = u32> + '_ {
        let ranks = 0..self.seats.len() as u32;
        ranks.filter(move |&rank| self.seats[rank as usize].worker as usize == worker)
    }

    /// Where the fiber of `rank` goes on.
    pub(crate) fn context(&self, rank: u32) -> &Context {
        &self.seats[rank as usize].context
    }

    /// Ends the fiber of `rank`, which calls.
    ///
    /// # Safety
    /// The caller must be that fiber, and own nothing any more.
    pub(crate) unsafe fn end(&self, rank: u32) -> ! {
        let seat = &self.seats[rank as usize];
        let worker = &self.workers[seat.worker as usize];
        worker.ended.set(rank);
        // SAFETY: the worker is suspended while one of its fibers runs.
        unsafe { worker.switch(&seat.context, &worker.context) };
        unreachable!("an ended fiber was resumed");
    }

    /// All fibers of all workers have ended or wait for ever.
    #[cold]
    pub(crate) fn stall(&self) {
        self.idlers.stall(&self.waiting, self.workers.iter().map(|worker| &worker.bell));
    }

    /// To be called on the worker of `me` after something was published for `to`.
    #[inline(always)]
    pub(crate) fn wake(&self, me: u32, to: u32) {
        let seat = &self.seats[to as usize];
        if seat.worker == self.seats[me as usize].worker {
            if seat.sleeper.unparks() {
                self.workers[seat.worker as usize].ready.push(to);
            }
        } else {
            self.wake_remote(to, seat);
        }
    }

    /// Whether there is somebody to [wake](Crew::wake).
    #[inline(always)]
    pub(crate) fn finds_parked(&self, me: u32, to: u32) -> bool {
        let seat = &self.seats[to as usize];
        if seat.worker == self.seats[me as usize].worker {
            seat.sleeper.is_parked()
        } else {
            seat.sleeper.seems_parked(self.heavy.is_some())
        }
    }

    fn wake_remote(&self, to: u32, seat: &Seat) {
        if seat.sleeper.needs_notice(self.heavy.is_some()) {
            let worker = &self.workers[seat.worker as usize];
            worker.inbox.put(to, &seat.sleeper);
            self.idlers.wake(&self.waiting, &worker.bell);
        }
    }

    /// Moves what is in the inbox of `worker` to its ready queue; false if there was nothing. On the worker's thread only.
    #[inline(always)]
    pub(crate) fn take_inbox(&self, worker: &Worker) -> bool {
        !worker.inbox.is_empty() && self.take_inbox_now(worker)
    }

    #[cold]
    fn take_inbox_now(&self, worker: &Worker) -> bool {
        worker.inbox.take(|rank| &self.seats[rank as usize].sleeper, |rank| worker.ready.push(rank));
        true
    }

    /// One park of the fiber that calls (see [`fabric::Park::park`]).
    ///
    /// # Panics
    /// If called by another than the fiber of the endpoint's rank.
    #[inline]
    pub(crate) fn park(&self, endpoint: &Endpoint, rounds: u32, idle: Idle) -> Woke {
        let me = endpoint.me().0;
        let (seat, worker) = self.place_of(me);
        if let Some(woke) = self.owes(seat) {
            return woke;
        }
        if self.spins(worker, rounds, idle) {
            return Woke::Again;
        }
        // A rank that does not look at what is pending (a signal for later, say) must not keep its worker from the others:
        // it stays ready, but takes its turn.
        if idle == Idle::Briefly || endpoint.pending() || !self.parks(seat, endpoint) {
            self.stays_ready(worker, me, rounds);
        }
        self.hand_over(worker, me);
        self.resumed(seat)
    }

    /// Lets others run until something has come for the fiber that calls, which has not said what it waits for: where that is to be told, its next [park](Crew::park) ends at once. False, and
    /// nobody has run, if it had better park, or look.
    #[inline(always)]
    pub(crate) fn gives_way(&self, endpoint: &Endpoint) -> bool {
        let me = endpoint.me().0;
        let (seat, worker) = self.place_of(me);
        if self.idlers.called() || self.spins(worker, 0, Idle::UntilWoken) {
            return false;
        }
        if endpoint.pending() || !self.parks(seat, endpoint) {
            self.stays_ready(worker, me, 0);
        }
        self.hand_over(worker, me);
        if self.idlers.called() {
            seat.asked.set(true);
        }
        true
    }

    /// Lets the worker of the fiber that calls sleep for so long, if it has nobody else to run. False if it has.
    pub(crate) fn nap(&self, endpoint: &Endpoint, ns: u64) -> bool {
        let (_, worker) = self.place_of(endpoint.me().0);
        let busy = || !worker.is_idle() || endpoint.pending();
        !busy() && self.idlers.nap(&self.waiting, &worker.bell, ns, busy)
    }

    /// The first step of a park (see [`fabric::Park::bide`]).
    pub(crate) fn bide(&self, endpoint: &Endpoint, rounds: u32, idle: Idle) -> Option<Woke> {
        let me = endpoint.me().0;
        let (seat, worker) = self.place_of(me);
        if self.spins(worker, rounds, idle) {
            return Some(Woke::Again);
        }
        if idle == Idle::UntilWoken {
            return None;
        }
        if let Some(woke) = self.owes(seat) {
            return Some(woke);
        }
        self.stays_ready(worker, me, rounds);
        self.hand_over(worker, me);
        Some(self.resumed(seat))
    }

    /// Marks the fiber that calls as parked (see [`fabric::Park::arm`]).
    pub(crate) fn arm(&self, endpoint: &Endpoint) {
        let (seat, _) = self.place_of(endpoint.me().0);
        seat.sleeper.parks(self.barrier(), || false);
    }

    /// Lets others run until the fiber that calls, which is armed, is woken; with a deadline, for one turn, since fibers have no timer (see
    /// [`fabric::Park::sleep`]).
    pub(crate) fn sleep(&self, endpoint: &Endpoint, deadline: bool) -> Woke {
        let me = endpoint.me().0;
        let (seat, worker) = self.place_of(me);
        if let Some(woke) = self.owes(seat) {
            if woke == Woke::Look {
                self.disarm(endpoint);
            }
            return woke;
        }
        if deadline && seat.sleeper.unparks() {
            // Still armed, so in no queue.
            self.stays_ready(worker, me, u32::MAX);
        }
        self.hand_over(worker, me);
        self.resumed(seat)
    }

    /// Takes the announcement of the fiber that calls back. One that was woken meanwhile is in the queue, and takes its turn.
    pub(crate) fn disarm(&self, endpoint: &Endpoint) {
        let me = endpoint.me().0;
        let (seat, worker) = self.place_of(me);
        if !seat.sleeper.unparks() {
            self.hand_over(worker, me);
        }
    }

    /// Wakes `rank`, from a thread that is none of the workers.
    pub(crate) fn wake_from_outside(&self, rank: u32) {
        if self.idlers.visit(|| self.wake_remote(rank, &self.seats[rank as usize])) {
            self.stall();
        }
    }

    /// The seat and the worker of the fiber that calls.
    #[inline(always)]
    fn place_of(&self, me: u32) -> (&Seat, &Worker) {
        let seat = &self.seats[me as usize];
        let worker = &self.workers[seat.worker as usize];
        assert!(worker.current.get() == me, "a fabric was parked outside of its rank");
        (seat, worker)
    }

    /// Spends a round where nobody else is to run, and there is a core to spin on: shorter than going to sleep and being woken.
    #[inline(always)]
    fn spins(&self, worker: &Worker, rounds: u32, idle: Idle) -> bool {
        if idle != Idle::UntilWoken || !worker.is_idle() {
            return false;
        }
        if rounds >= EAGER_ROUNDS {
            std::hint::spin_loop();
        }
        rounds < self.spin_rounds || self.waits_itself && self.spins_on(worker, rounds)
    }

    /// Spends a round after those, with the patience of the worker.
    #[cold]
    fn spins_on(&self, worker: &Worker, rounds: u32) -> bool {
        // Whoever counts no rounds does not want to spin.
        let rounds = if rounds == u32::MAX { rounds } else { rounds - self.spin_rounds };
        self.waiting.spins(&worker.patience, &self.ground(worker), rounds)
    }

    /// The core of a worker.
    pub(crate) fn ground<'a>(&'a self, worker: &'a Worker) -> impl Ground + 'a {
        Place::new(&worker.bell, || self.workers.iter().map(|worker| &worker.bell))
    }

    #[inline(always)]
    fn stays_ready(&self, worker: &Worker, me: u32, rounds: u32) {
        if rounds >= BRIEF_ROUNDS && worker.ready.is_empty() {
            yield_core();
        }
        worker.ready.push(me);
    }

    #[inline(always)]
    fn resumed(&self, seat: &Seat) -> Woke {
        if self.idlers.called() { self.look_up(seat) } else { Woke::Again }
    }

    /// How a park ends at once, because the fiber has to answer first.
    #[inline(always)]
    fn owes(&self, seat: &Seat) -> Option<Woke> {
        if self.idlers.called() { self.owes_answer(seat) } else { None }
    }

    #[cold]
    fn owes_answer(&self, seat: &Seat) -> Option<Woke> {
        if self.idlers.stalled() {
            return Some(self.last_moment(seat));
        }
        seat.asked.take().then_some(Woke::Look)
    }

    #[cold]
    fn look_up(&self, seat: &Seat) -> Woke {
        if self.idlers.stalled() { self.last_moment(seat) } else { Woke::Look }
    }

    /// A fiber that waits for ever ends, where that may be. Elsewhere it says so, once, and never comes back.
    #[cold]
    fn last_moment(&self, seat: &Seat) -> Woke {
        if self.unwind_stalled || seat.told.replace(true) {
            return self.give_up(seat);
        }
        Woke::InVain
    }

    /// Marks a fiber as parked, unless something has come for it meanwhile.
    #[inline(always)]
    fn parks(&self, seat: &Seat, endpoint: &Endpoint) -> bool {
        seat.sleeper.parks(self.barrier(), || endpoint.pending())
    }

    /// Runs the heavy barrier, if there is one: it reaches all threads.
    #[cold]
    pub(crate) fn fence_all(&self) -> bool {
        if let Some(heavy) = self.heavy {
            heavy.run();
        }
        self.heavy.is_some()
    }

    /// What a fiber passes that parks, if there is another thread.
    #[inline(always)]
    fn barrier(&self) -> Option<impl FnOnce()> {
        (self.workers.len() > 1).then_some(|| match self.heavy {
            Some(heavy) => heavy.run(),
            None => fence(Ordering::SeqCst),
        })
    }

    /// Gives the thread to the next fiber that is ready, or to the worker if there is none, until it is this fiber's turn.
    #[inline(always)]
    fn hand_over(&self, worker: &Worker, me: u32) {
        self.take_inbox(worker);
        let next = match worker.ready.pop() {
            Some(rank) if rank == me => return,
            Some(rank) => {
                worker.take_over(rank);
                &self.seats[rank as usize].context
            }
            None => &worker.context,
        };
        // SAFETY: a fiber that was ready is suspended or has yet to begin, and so is the worker of a fiber that runs.
        unsafe { worker.switch(&self.seats[me as usize].context, next) };
    }

    /// Lets others run until it is the turn of the fiber that runs again, if somebody waits for the
    /// worker. In a handler of a signal that has interrupted the fiber `me` in its own program.
    pub(crate) fn interrupt(&self, worker: &Worker, me: u32) {
        if !worker.is_idle() {
            worker.ready.push(me);
            self.hand_over(worker, me);
        }
    }

    /// The job has stalled: tells the fiber, which then ends; or, where it must not go on, never lets it run again.
    #[cold]
    fn give_up(&self, seat: &Seat) -> Woke {
        let worker = &self.workers[seat.worker as usize];
        if self.unwind_stalled {
            return Woke::Stalled;
        }
        loop {
            // SAFETY: the worker is suspended while one of its fibers runs. It leaks a fiber that comes back like this.
            unsafe { worker.switch(&seat.context, &worker.context) };
        }
    }
}

impl Roused for Crew {
    /// A fiber that parks at this very moment may be missed.
    #[cold]
    fn rouse(&self) {
        self.idlers.ask(true);
        let wake = || (0..).zip(&self.seats).for_each(|(rank, seat)| self.wake_remote(rank, seat));
        if self.idlers.visit(wake) {
            self.stall();
        }
    }

    fn settle(&self) {
        self.idlers.ask(false);
    }
}

impl Worker {
    /// True if no fiber is ready or about to be. On the worker's thread only.
    #[inline(always)]
    fn is_idle(&self) -> bool {
        self.ready.is_empty() && self.inbox.is_empty()
    }

    /// To be called on the worker's thread before its first fiber runs.
    ///
    /// # Safety
    /// `hooks` must live until the last fiber of the worker has run.
    pub(crate) unsafe fn begin_shift(&self, hooks: &dyn Hooks) {
        // SAFETY: the lifetime is erased; by the caller's promise it covers every use.
        let hooks =
            unsafe { mem::transmute::<NonNull<dyn Hooks + '_>, NonNull<dyn Hooks>>(NonNull::from(hooks)) };
        // SAFETY: it is used by this worker's fibers, on its thread, and the worker keeps its spare words to itself.
        let thread = unsafe { ThreadState::of_this_thread(&self.spare) };
        self.shift.set(Some(Shift { thread, hooks }));
    }

    /// Suspends the caller as `from`, with what the thread keeps for it, and goes on as `to`.
    ///
    /// # Safety
    /// As for [`Context::switch`]; on the worker's thread only.
    #[inline(always)]
    pub(crate) unsafe fn switch(&self, from: &Context, to: &Context) {
        let thread = self.shift().thread;
        // SAFETY: fibers do not change threads, so the caller goes on where it is suspended; the rest is the caller's promise.
        unsafe {
            let suspended = thread.suspend();
            from.switch(to);
            thread.resume(suspended);
        }
    }

    #[inline(always)]
    fn shift(&self) -> Shift {
        self.shift.get().expect("the worker has begun its shift")
    }

    /// How many times a rank has begun to run.
    #[inline(always)]
    pub(crate) fn turns(&self) -> u64 {
        self.turns.load(Ordering::Relaxed)
    }

    /// Tells the hooks whose code this thread runs from now on. A rank keeps the thread until another takes over: most
    /// switches go from one rank straight to the next.
    #[inline(always)]
    pub(crate) fn take_over(&self, rank: u32) {
        self.turns.store(self.turns() + 1, Ordering::Relaxed);
        let before = self.current.replace(rank);
        // SAFETY: `begin_shift` was promised that they live while fibers run.
        let hooks = unsafe { self.shift().hooks.as_ref() };
        if rank != NOBODY {
            if before != rank {
                hooks.enter(rank);
            }
        } else if before != NOBODY {
            hooks.leave(before);
        }
    }
}

/// A queue of ranks for one thread. Each rank is in it at most once, so its room never runs out.
pub(crate) struct Ready {
    ranks: Box<[Cell<u32>]>,
    first: Cell<usize>,
    end: Cell<usize>,
}

impl Ready {
    fn new(ranks: usize) -> Ready {
        let room = ranks.next_power_of_two();
        Ready { ranks: vec![Cell::new(0); room].into(), first: Cell::new(0), end: Cell::new(0) }
    }

    #[inline(always)]
    pub(crate) fn push(&self, rank: u32) {
        let end = self.end.get();
        assert!(end - self.first.get() < self.ranks.len(), "a rank is ready twice");
        self.ranks[end & (self.ranks.len() - 1)].set(rank);
        self.end.set(end + 1);
    }

    #[inline(always)]
    pub(crate) fn pop(&self) -> Option<u32> {
        let first = self.first.get();
        (first != self.end.get()).then(|| {
            self.first.set(first + 1);
            self.ranks[first & (self.ranks.len() - 1)].get()
        })
    }

    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.first.get() == self.end.get()
    }
}

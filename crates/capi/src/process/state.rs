//! Everything that the C interface knows of one MPI process.
//!
//! There is one value a rank, found by [`current`](super::current). It is used by one thread at a time, or by one in each lane (`process/turns`), and hands out no
//! borrow that outlives a statement, so that callbacks of the program may enter the library again. What functions need that
//! may be called by any thread at any time (`spec/any-phase.json`, MPI section 11.4.1), and what calls in different lanes have in common, is behind locks or atomic; nothing in
//! the way of a message is.

use core::ffi::c_int;
use std::cell::{Cell, OnceCell};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use engine::Rank;
use runtime::last_call::Sheet;
use runtime::{Place, Turnstile, TurnstileGate};

use crate::abi::constants::*;
use crate::abi::types::MPI_Comm;
use crate::errors::Outcome;
use crate::errors::registry::Registry;
use crate::handles::tools::Tools;
use crate::handles::{
    Comm, Comms, Datareps, Files, Groups, Handlers, Infos, Integers, Keyvals, Ops, Sessions, Types, Windows,
};
use crate::process::agent::Agent;
use crate::process::boot::{self, Job};
use crate::process::facts::{Fortran, Predefined};
use crate::process::lanes::{Beside, Seat};
use crate::process::site::Distances;

/// Where an MPI process is in its life: it is active from the first of MPI_Init and MPI_Session_init to the last of MPI_Finalize and
/// MPI_Session_finalize, and may become active again by another session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Phase {
    /// Before MPI_Init and all sessions.
    Early,
    Active,
    /// Active, and each call makes sure that no other thread is in one, or waits for its turn.
    Guarded,
    /// Active, and each call is told to an observer or checked; guarded, too, if threads may call.
    Observed,
    Finalized,
}

/// How far the world model has come (MPI section 11.2): between MPI_Init and MPI_Finalize there is MPI_COMM_WORLD.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum World {
    Before,
    Open,
    Closed,
}

/// Somebody who looks for misuse in a process: is told of its calls while they come and go.
pub(crate) trait Watch {
    /// The program has called `function`, with these arguments.
    fn enter(&self, state: &State, function: &'static str, site: u64, words: &[u64]);

    /// The call entered last has failed: says what it knows of that, before anything else becomes of it.
    fn explain(&self, state: &State, code: c_int);

    /// The call entered last has failed, and a handler of the program's is about to be called for it, which may never return.
    fn fail(&self, state: &State, code: c_int);

    /// The call entered last returns `code`.
    fn leave(&self, state: &State, code: c_int);

    /// Any thread has called what any thread may call at any time (MPI section 11.4.1).
    fn enter_at_any_time<'a>(
        &'a self,
        state: &State,
        function: &'static str,
        site: u64,
        words: &[u64],
    ) -> Leave<'a>;

    /// MPI_Finalize, after all ranks have come to it and while everything still works.
    fn at_the_end(&self, state: &State);
}

/// To be told the code that a call returns.
pub(crate) type Leave<'a> = Box<dyn FnOnce(c_int) + 'a>;

/// Memory that the program has from MPI_Alloc_mem.
#[derive(Debug)]
pub(crate) enum Allocated {
    /// Of this process.
    Private {
        /// How much was booked for it.
        bytes: usize,
    },
    /// The engine's, which books it itself.
    Shared(engine::SharedMemory),
}

/// The state of one MPI process.
pub(crate) struct State {
    phase: AtomicU8,
    world: AtomicU8,
    pub(crate) sessions: Sessions,
    /// In place, and not behind another address: every message begins here.
    job: OnceCell<Job>,
    /// The first lane, or all there is.
    pub(crate) first: Seat,
    /// A job that the host made ready, for MPI_Init to take up.
    prepared: Cell<Option<Box<Job>>>,
    /// The level of thread support that was provided.
    pub(crate) thread_level: AtomicI32,
    /// Where threads take turns that may call at once, and where it shows that they do though they may not.
    pub(crate) turnstile: Turnstile,
    takes_turns: AtomicBool,
    /// The other lanes, if there are several.
    pub(super) beside: OnceCell<Beside>,
    /// The library's own thread, if the user wants one.
    pub(crate) agent: Cell<Option<Agent>>,
    pub(crate) main_thread: OnceLock<std::thread::ThreadId>,
    pub(crate) errors: Registry,
    pub(crate) handlers: Handlers,
    pub(crate) comms: Comms,
    pub(crate) windows: Windows,
    pub(crate) files: Files,
    pub(crate) datareps: Datareps,
    pub(crate) groups: Groups,
    pub(crate) types: Types,
    pub(crate) ops: Ops,
    pub(crate) infos: Infos,
    pub(crate) keyvals: Keyvals,
    /// Requests and matched messages as integers, of all lanes.
    pub(crate) integers: Integers,
    pub(crate) message_integers: Integers,
    pub(crate) predefined: OnceCell<Predefined>,
    pub(crate) tools: Tools,
    /// The processes that have started this one's job, if others did.
    pub(crate) parent: Cell<MPI_Comm>,
    pub(crate) fortran: Mutex<Fortran>,
    /// The pieces of memory from MPI_Alloc_mem, by address.
    allocated: Mutex<HashMap<usize, Allocated>>,
    /// Where observers find the callers of functions.
    pub(crate) distances: Distances,
    /// Who looks for misuse, if somebody does.
    check: OnceCell<Box<dyn Watch>>,
}

impl State {
    pub(crate) fn new() -> Self {
        Self {
            phase: AtomicU8::new(Phase::Early as u8),
            world: AtomicU8::new(World::Before as u8),
            sessions: Sessions::new(),
            job: OnceCell::new(),
            first: Seat::first(),
            prepared: Cell::new(None),
            thread_level: AtomicI32::new(MPI_THREAD_SINGLE),
            turnstile: Turnstile::default(),
            takes_turns: AtomicBool::new(false),
            beside: OnceCell::new(),
            agent: Cell::new(None),
            main_thread: OnceLock::new(),
            errors: Registry::new(),
            handlers: Handlers::new(),
            comms: Comms::new(),
            windows: Windows::new(),
            files: Files::new(),
            datareps: Datareps::default(),
            groups: Groups::new(),
            types: Types::new(),
            ops: Ops::new(),
            infos: Infos::new(),
            keyvals: Keyvals::new(),
            integers: Integers::default(),
            message_integers: Integers::default(),
            predefined: OnceCell::new(),
            tools: Tools::default(),
            parent: Cell::new(MPI_COMM_NULL),
            fortran: Mutex::default(),
            allocated: Mutex::default(),
            distances: Distances::new(),
            check: OnceCell::new(),
        }
    }

    /// Leaves a job for MPI_Init to take up, in a process that hosts ranks.
    #[allow(dead_code, reason = "called by the host")]
    pub(crate) fn prepare(&self, job: Box<Job>) {
        self.prepared.set(Some(job));
    }

    pub(crate) fn take_prepared(&self) -> Option<Box<Job>> {
        self.prepared.take()
    }

    #[inline(always)]
    pub(crate) fn phase(&self) -> Phase {
        match self.phase.load(Ordering::Relaxed) {
            0 => Phase::Early,
            1 => Phase::Active,
            2 => Phase::Guarded,
            3 => Phase::Observed,
            _ => Phase::Finalized,
        }
    }

    fn enter(&self, phase: Phase) {
        self.phase.store(phase as u8, Ordering::Release);
    }

    /// Between MPI_Init and MPI_Finalize.
    #[inline]
    pub(crate) fn is_active(&self) -> bool {
        matches!(self.phase(), Phase::Active | Phase::Guarded | Phase::Observed)
    }

    /// How far the world model has come.
    pub(crate) fn world(&self) -> World {
        match self.world.load(Ordering::Acquire) {
            0 => World::Before,
            1 => World::Open,
            _ => World::Closed,
        }
    }

    /// Joins the job, unless that was done before.
    pub(crate) fn join(&'static self, job: impl FnOnce() -> Outcome<Job>) -> Outcome {
        if self.job.get().is_some() {
            return Ok(());
        }
        let job = job()?;
        let job = self.job.get_or_init(|| job);
        self.first.join(&job.rank, job.sheet.words());
        Ok(())
    }

    /// From now on somebody looks for misuse. To be called before the process is active.
    pub(crate) fn watch(&self, check: Box<dyn Watch>) {
        let _ = self.check.set(check);
        self.rank().never_reuse_contexts();
    }

    /// Makes the process active, which has joined its job.
    pub(crate) fn begin(&self) {
        if !self.is_active()
            && let Some(job) = self.job.get()
        {
            job.initialized();
        }
        let is_told = self.rank().is_observed() || self.is_always_told();
        self.enter(if is_told { Phase::Observed } else { self.unobserved() });
    }

    /// Whether somebody is told of calls besides an observer: checks, what lets counted work take its time, or the program, by events that are delivered when a call ends.
    fn is_always_told(&self) -> bool {
        self.check().is_some() || self.rank().counts_work() || self.tools.is_heard()
    }

    /// The program listens to events, or does not any more. In the first lane.
    pub(crate) fn follow_listeners(&self) {
        if self.is_active() {
            let is_told = self.rank().is_observed() || self.is_always_told();
            self.enter(if is_told { Phase::Observed } else { self.unobserved() });
        }
    }

    /// MPI_Init: there is a world, in an active process.
    pub(crate) fn open_world(&self) {
        let rank = self.rank();
        let initial = || Arc::clone(&self.handlers.initial);
        let world = Comm::new(rank.world().clone(), initial());
        let own = Comm::new(rank.self_comm().clone(), initial());
        let local = Comm::new(rank.local().clone(), initial());
        self.comms.begin(world, own, local);
        // The ranks, and as many more as there are cores where more can come.
        let more = self.place().filter(|place| place.launcher.is_some()).map_or(0, |place| place.cores);
        let universe = rank.world().size() + more;
        let _ = self.predefined.set(Predefined::new(self.appnum(), universe));
        self.world.store(World::Open as u8, Ordering::Release);
    }

    /// MPI_Finalize: there is no world any more. The process is active until its last session ends.
    pub(crate) fn close_world(&self) {
        self.world.store(World::Closed as u8, Ordering::Release);
        if self.sessions.lock().live == 0 {
            self.finish();
        }
    }

    /// Who looks for misuse, if somebody does.
    pub(crate) fn check(&self) -> Option<&dyn Watch> {
        self.check.get().map(|check| &**check)
    }

    /// Tells the user of something that a check has found.
    pub(crate) fn note(&self, text: &str) {
        if let Some(job) = self.job.get() {
            job.note(text);
        }
    }

    /// The phase of an active rank that nobody observes.
    fn unobserved(&self) -> Phase {
        if self.may_be_called_by_threads() || self.takes_turns() { Phase::Guarded } else { Phase::Active }
    }

    /// Whether another thread than that of MPI_Init may call.
    pub(crate) fn may_be_called_by_threads(&self) -> bool {
        self.thread_level.load(Ordering::Relaxed) >= MPI_THREAD_SERIALIZED
    }

    /// From now on threads take turns. To be called before the second thread can call.
    pub(crate) fn take_turns(&'static self) {
        if self.takes_turns() {
            return;
        }
        if !self.open_lanes() {
            let rank = self.rank();
            rank.set_gate(Box::new(TurnstileGate::new(&self.turnstile, rank.fabric())));
        }
        self.takes_turns.store(true, Ordering::Relaxed);
        if self.phase() == Phase::Active {
            self.enter(Phase::Guarded);
        }
    }

    /// Whether threads take turns.
    pub(crate) fn takes_turns(&self) -> bool {
        self.takes_turns.load(Ordering::Relaxed)
    }

    /// Stops the observer of this rank, or lets it go on. What it does not see appears to it as one call of MPI_Pcontrol.
    pub(crate) fn observe(&self, wanted: bool) {
        match self.phase() {
            Phase::Observed if !wanted => {
                self.rank().enter("MPI_Pcontrol", 0);
                self.rank().pause_observer();
                if !self.is_always_told() {
                    self.enter(self.unobserved());
                }
            }
            Phase::Active | Phase::Guarded | Phase::Observed if wanted && self.rank().resume_observer() => {
                self.rank().leave();
                self.enter(Phase::Observed);
            }
            _ => {}
        }
    }

    /// A region of the program begins or ends, for the observer of this rank.
    pub(crate) fn mark_region(&self, number: u32, begins: bool) {
        if self.phase() == Phase::Observed {
            self.rank().mark_region(number, begins);
        }
    }

    /// Nothing may be called any more, but for what begins again.
    pub(crate) fn finish(&self) {
        if let Some(agent) = self.agent.take() {
            agent.stop(self.rank(), &self.turnstile);
        }
        self.enter(Phase::Finalized);
        if let Some(job) = self.job.get() {
            job.finalized();
        }
    }

    /// The engine. Only called while MPI is active.
    #[inline(always)]
    pub(crate) fn rank(&self) -> &Rank {
        match self.job.get() {
            Some(job) => &job.rank,
            None => not_joined(),
        }
    }

    /// The sheet that they are noted on. Only called while MPI is active.
    pub(crate) fn sheet(&self) -> &Sheet {
        match self.job.get() {
            Some(job) => &job.sheet,
            None => not_joined(),
        }
    }

    /// The call that was noted last, and the address that it returns to; nothing while MPI is not active.
    pub(crate) fn last_call(&self) -> Option<(String, u64)> {
        if self.is_active() { self.sheet().last_call() } else { None }
    }

    /// What the program has from MPI_Alloc_mem. Nobody goes into a lane while he holds it.
    pub(crate) fn allocated(&self) -> MutexGuard<'_, HashMap<usize, Allocated>> {
        self.allocated.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The engine of a job that MPI_Init has yet to take up.
    pub(crate) fn with_prepared<T>(&self, look: impl FnOnce(&Rank) -> T) -> Option<T> {
        let job = self.prepared.take()?;
        let seen = look(&job.rank);
        self.prepared.set(Some(job));
        Some(seen)
    }

    /// The engine, once MPI was initialised.
    pub(crate) fn rank_if_joined(&self) -> Option<&Rank> {
        self.job.get().map(|job| &job.rank)
    }

    /// Where this process stands in its job, once it has joined.
    pub(crate) fn place(&self) -> Option<Place> {
        self.job.get().map(Job::place)
    }

    /// Asks the launcher for something; none if there is no launcher.
    pub(crate) fn ask(&self, request: pmi::Request) -> Option<std::io::Result<pmi::Reply>> {
        self.job.get()?.ask(request)
    }

    /// The index of this program in the job (MPI_APPNUM).
    pub(crate) fn appnum(&self) -> Option<u32> {
        self.place().and_then(|place| place.appnum)
    }

    /// The rank in MPI_COMM_WORLD, once known.
    pub(crate) fn world_rank(&self) -> Option<u32> {
        self.job.get().map(|job| job.rank.world().rank())
    }

    /// Ends the job, in whatever phase this process is. The launcher tells the user why.
    #[cold]
    pub(crate) fn end(&self, code: c_int, message: &str) -> ! {
        match self.job.get() {
            Some(job) => job.abort(code, message),
            None => match self.take_prepared() {
                Some(job) => job.abort(code, message),
                None => boot::give_up(code, message),
            },
        }
    }
}

#[cold]
#[inline(never)]
fn not_joined() -> ! {
    panic!("the entry points check that MPI is active")
}

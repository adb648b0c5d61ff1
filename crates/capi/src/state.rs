//! Everything that the C interface knows of one MPI process.
//!
//! There is one value a rank, found by [`current`](crate::current). It is used by one thread at a time and hands out no
//! borrow that outlives a statement, so that callbacks of the program may enter the library again.

use core::ffi::c_int;
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use engine::Rank;

use crate::attributes::Keyvals;
use crate::boot::Job;
use crate::check::Check;
use crate::errors::handler::{Errhandler, Handlers};
use crate::errors::registry::Registry;
use crate::r#gen::constants::*;
use crate::r#gen::types::*;
use crate::handles::{Comm, Comms, Groups, Infos, Kind, Ops, Table, Types};
use crate::imp::abi::Fortran;
use crate::imp::environment::Predefined;
use crate::imp::requests::Requests;
use crate::imp::tools::Tools;
use crate::site::Distances;

/// Where an MPI process is in its life.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Phase {
    /// Before MPI_Init.
    Early,
    Active,
    /// Active, and each call is told to an observer or checked.
    Observed,
    Finalized,
}

/// The state of one MPI process.
pub(crate) struct State {
    phase: Cell<Phase>,
    job: OnceCell<Job>,
    /// A job that the host made ready, for MPI_Init to take up.
    prepared: Cell<Option<Job>>,
    /// The level of thread support that was provided.
    pub(crate) thread_level: Cell<c_int>,
    pub(crate) main_thread: Cell<Option<std::thread::ThreadId>>,
    pub(crate) errors: Registry,
    pub(crate) handlers: Handlers,
    pub(crate) errhandlers: Table<Rc<Errhandler>>,
    pub(crate) comms: Comms,
    pub(crate) groups: Groups,
    pub(crate) types: Types,
    pub(crate) ops: Ops,
    pub(crate) infos: Infos,
    pub(crate) keyvals: Keyvals,
    pub(crate) requests: Requests,
    pub(crate) predefined: OnceCell<Predefined>,
    pub(crate) tools: Tools,
    pub(crate) fortran: RefCell<Fortran>,
    /// The bytes of each piece of memory from MPI_Alloc_mem, by address.
    pub(crate) allocated: RefCell<HashMap<usize, usize>>,
    /// Where observers find the callers of functions.
    pub(crate) distances: Distances,
    /// Who looks for misuse, if somebody does.
    check: OnceCell<Box<Check>>,
}

impl State {
    pub(crate) fn new() -> Self {
        Self {
            phase: Cell::new(Phase::Early),
            job: OnceCell::new(),
            prepared: Cell::new(None),
            thread_level: Cell::new(MPI_THREAD_SINGLE),
            main_thread: Cell::new(None),
            errors: Registry::new(),
            handlers: Handlers::new(),
            errhandlers: Table::new(Kind::Errhandler),
            comms: Comms::new(),
            groups: Groups::new(),
            types: Types::new(),
            ops: Ops::new(),
            infos: Infos::new(),
            keyvals: Keyvals::new(),
            requests: Requests::default(),
            predefined: OnceCell::new(),
            tools: Tools::default(),
            fortran: RefCell::default(),
            allocated: RefCell::default(),
            distances: Distances::new(),
            check: OnceCell::new(),
        }
    }

    /// Leaves a job for MPI_Init to take up, in a process that hosts ranks.
    #[allow(dead_code, reason = "called by the host")]
    pub(crate) fn prepare(&self, job: Job) {
        self.prepared.set(Some(job));
    }

    pub(crate) fn take_prepared(&self) -> Option<Job> {
        self.prepared.take()
    }

    #[inline(always)]
    pub(crate) fn phase(&self) -> Phase {
        self.phase.get()
    }

    /// Between MPI_Init and MPI_Finalize.
    pub(crate) fn is_active(&self) -> bool {
        matches!(self.phase(), Phase::Active | Phase::Observed)
    }

    /// MPI_Init: the job is joined.
    pub(crate) fn begin(&self, job: Job) {
        let job = self.job.get_or_init(|| job);
        job.initialized();
        let fatal = || Rc::clone(&self.handlers.fatal);
        let world = Comm::new(job.rank.world().clone(), fatal());
        let own = Comm::new(job.rank.self_comm().clone(), fatal());
        let local = Comm::new(job.rank.local().clone(), fatal());
        self.comms.begin(world, own, local);
        if runtime::is_check_wanted() {
            let _ = self.check.set(Box::default());
        }
        let is_told = job.rank.is_observed() || self.check().is_some();
        self.phase.set(if is_told { Phase::Observed } else { Phase::Active });
    }

    /// Who looks for misuse, if somebody does.
    pub(crate) fn check(&self) -> Option<&Check> {
        self.check.get().map(|check| &**check)
    }

    /// Tells the user of something that a check has found.
    pub(crate) fn note(&self, text: &str) {
        if let Some(job) = self.job.get() {
            job.note(text);
        }
    }

    /// Stops the observer of this rank, or lets it go on. What it does not see appears to it as one call of MPI_Pcontrol.
    pub(crate) fn observe(&self, wanted: bool) {
        match self.phase() {
            Phase::Observed if !wanted => {
                self.rank().enter("MPI_Pcontrol", 0);
                self.rank().pause_observer();
                if self.check().is_none() {
                    self.phase.set(Phase::Active);
                }
            }
            Phase::Active | Phase::Observed if wanted && self.rank().resume_observer() => {
                self.rank().leave();
                self.phase.set(Phase::Observed);
            }
            _ => {}
        }
    }

    /// MPI_Finalize: nothing may be called any more.
    pub(crate) fn finish(&self) {
        self.phase.set(Phase::Finalized);
        if let Some(job) = self.job.get() {
            job.finalized();
        }
    }

    /// The engine. Only called while MPI is active.
    #[inline(always)]
    pub(crate) fn rank(&self) -> &Rank {
        &self.job.get().expect("the entry points check that MPI is active").rank
    }

    /// The engine, once MPI was initialised.
    pub(crate) fn rank_if_joined(&self) -> Option<&Rank> {
        self.job.get().map(|job| &job.rank)
    }

    /// The index of this program in the job (MPI_APPNUM).
    pub(crate) fn appnum(&self) -> Option<u32> {
        self.job.get().and_then(|job| job.place().appnum)
    }

    /// The rank in MPI_COMM_WORLD, once known.
    pub(crate) fn world_rank(&self) -> Option<u32> {
        self.job.get().map(|job| job.rank.world().rank())
    }

    /// The communicator whose error handler takes the errors of a request.
    pub(crate) fn comm_of_request(&self, request: MPI_Request) -> MPI_Comm {
        self.requests.comm(request)
    }

    /// Ends the job.
    #[cold]
    pub(crate) fn end(&self, code: c_int, message: &str) -> ! {
        match self.job.get() {
            Some(job) if self.is_active() => job.abort(code, message),
            _ => {
                eprintln!("corelace: {message}");
                std::process::exit(if code == 0 { 1 } else { code })
            }
        }
    }
}

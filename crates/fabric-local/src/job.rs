//! What starts a job and what comes out of it.

use std::any::Any;
use std::ops::Range;
use std::sync::Arc;

use fabric::{Budget, BudgetExceeded, Node};
use ring::exchange::Exchange;
use ring::linux::Mapping;
use ring::patience::Manner;
use ring::{Endpoint, Geometry};

use crate::cores::cores;
use crate::lock::Lock;
use crate::summons::Summons;
use crate::tuning::{FIBER_STACK_BYTES, geometry, wide_geometry};

/// How to run a job.
#[derive(Clone, Debug)]
pub struct Options {
    /// How many ranks.
    pub ranks: u32,
    /// Fibers: over how many OS threads to spread them; 0 for one a core that this process may use.
    pub workers: usize,
    /// How ranks and workers wait that have nothing to do.
    pub manner: Manner,
    /// Bytes of each rank's stack. Mapped lazily, above a guard of at least the same size.
    pub stack_bytes: usize,
    /// Bytes that the library may use for a rank; `None` for no limit.
    pub budget: Option<usize>,
    /// What becomes of a rank when the job has stalled. True: every [`park`](fabric::Park::park) says
    /// [`Stalled`](fabric::Woke::Stalled) from then on, and the body has to end, by [`Stall::unwind`] for one, so that destructors
    /// run and nothing of what it has borrowed is left in use. False: its park never returns, and its stack is leaked with all that
    /// it owns; for ranks with frames of other languages on it, which cannot be unwound. Such a body must not have borrowed anything that
    /// ends before the process does, or lent it to threads of its own.
    pub unwind_stalled: bool,
    /// By which somebody outside makes the ranks look up.
    pub summons: Summons,
    /// Where the program of each rank lies, which no other rank runs. A fiber that computes there
    /// for long is interrupted for those that wait for its worker. Empty where that is not known:
    /// then each has its worker until it parks.
    pub code: Arc<[Range<usize>]>,
}

impl Options {
    /// `ranks` ranks, everything else by default.
    pub fn new(ranks: u32) -> Options {
        Options {
            ranks,
            workers: 0,
            manner: Manner::default(),
            stack_bytes: FIBER_STACK_BYTES,
            budget: None,
            unwind_stalled: true,
            summons: Summons::default(),
            code: Arc::default(),
        }
    }
}

/// Told whose code an OS thread runs, on that thread: lets a C library keep its thread-local "current rank". Must be short and
/// must not panic.
pub trait Hooks: Sync {
    /// The rank is about to run on this thread; whichever ran there before no longer does.
    fn enter(&self, rank: u32) {
        let _ = rank;
    }

    /// The rank no longer runs on this thread, and no other does.
    fn leave(&self, rank: u32) {
        let _ = rank;
    }
}

/// Hooks for those who need none.
#[derive(Clone, Copy, Debug)]
pub struct NoHooks;

impl Hooks for NoHooks {}

/// How a rank ended.
#[derive(Debug)]
pub enum Outcome<T> {
    /// Its body returned.
    Ended(T),
    /// Its body panicked, with this payload.
    Panicked(Box<dyn Any + Send>),
    /// It waited for ever: every rank that had not ended was parked, with nobody left to wake it. Fibers notice every such
    /// deadlock; threads only after a rank has panicked, because a thread that the library does not know of might still
    /// wake them otherwise.
    Stalled,
}

impl<T> Outcome<T> {
    /// The value of a body that returned.
    ///
    /// # Panics
    /// If it did not return; a panic of the rank is passed on.
    pub fn unwrap(self) -> T {
        match self {
            Outcome::Ended(value) => value,
            Outcome::Panicked(payload) => std::panic::resume_unwind(payload),
            Outcome::Stalled => {
                panic!("the rank waited for ever: all ranks were parked and nobody was left to wake them")
            }
        }
    }

    /// What a body's `catch_unwind` says.
    pub fn of(caught: std::thread::Result<T>) -> Outcome<T> {
        match caught {
            Ok(value) => Outcome::Ended(value),
            Err(payload) if payload.is::<Stall>() => Outcome::Stalled,
            Err(payload) => Outcome::Panicked(payload),
        }
    }
}

/// The payload of the panic by which a stalled rank ends itself.
#[derive(Clone, Copy, Debug)]
pub struct Stall;

impl Stall {
    /// Unwinds the calling rank, whose outcome will be [`Outcome::Stalled`]. It passes no panic hook, so it prints nothing.
    pub fn unwind() -> ! {
        std::panic::resume_unwind(Box::new(Stall))
    }
}

/// The account of a rank, with its mailbox on it.
pub(crate) fn account(budget: Option<usize>, geometry: &Geometry) -> Result<Budget, BudgetExceeded> {
    let budget = budget.map_or_else(Budget::unlimited, Budget::new);
    budget.reserve("mailbox", geometry.rank_bytes())?;
    Ok(budget)
}

/// Ends the process, because a thread that others count on cannot be had: those that run cannot be called back.
pub(crate) fn no_thread(whose: &str, error: &std::io::Error) -> ! {
    let may = limit(libc::RLIMIT_NPROC)
        .map_or_else(|| "any number of them".into(), |most| format!("{most} processes and threads"));
    // A stack that finds no room is told in the same words.
    cannot_start(format_args!(
        "no thread for {whose}: {error} (the user may have {may}, see `ulimit -u`; the control group's pids.max may be lower{})",
        addresses()
    ))
}

/// Ends the process, because there is no address space for the stacks of so many ranks.
pub fn no_stacks(ranks: u32, stack_bytes: usize, error: &std::io::Error) -> ! {
    no_room(&format!("the stack of each of {ranks} ranks"), stack_bytes, error)
}

/// Ends the process, because the ranks find no address space for `what`.
pub(crate) fn no_room(what: &str, bytes: usize, error: &std::io::Error) -> ! {
    cannot_start(format_args!(
        "no room for {what}, {} KiB: {error} (try fewer ranks or smaller stacks, see --stack{})",
        bytes >> 10,
        addresses()
    ))
}

/// Half a sentence on the address space, if it is limited.
fn addresses() -> String {
    limit(libc::RLIMIT_AS).map_or_else(String::new, |most| {
        format!("; the process may have {} KiB of addresses, see `ulimit -v`", most >> 10)
    })
}

fn cannot_start(why: std::fmt::Arguments<'_>) -> ! {
    eprintln!("corelace: {why}");
    // SAFETY: ends the process, without what the ranks have registered for its end: they are in the middle of something.
    unsafe { libc::_exit(CANNOT_START) }
}

/// What is set as a limit of this process; `None` if nothing is.
fn limit(resource: libc::__rlimit_resource_t) -> Option<u64> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the limit is ours to be written.
    let known = unsafe { libc::getrlimit(resource, &mut limit) } == 0;
    (known && limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur)
}

/// The status of a process whose ranks could not start.
const CANNOT_START: i32 = 127;

/// The memory of a job. Every fabric holds it, so it lives as long as the last of them.
pub(crate) struct Region {
    exchange: Exchange,
    /// Shared allocations of the ranks, by owner.
    shared: Lock<Vec<(Node, Mapping)>>,
    _mapping: Mapping,
}

// SAFETY: the exchange is shared memory by design: everything in it is used through atomics.
unsafe impl Send for Region {}
// SAFETY: as above.
unsafe impl Sync for Region {}

impl Region {
    /// Ends the process if there is no room for it.
    ///
    /// # Panics
    /// If the ranks have no budget for it.
    pub(crate) fn new(options: &Options) -> Region {
        assert!(options.ranks > 0, "a job has at least one rank");
        let roomy = options.budget.is_none() && options.ranks as usize <= cores();
        let geometry = if roomy { wide_geometry(options.ranks) } else { geometry(options.ranks) };
        // Asked here too, because a rank that could not start would leave the others waiting for it.
        if let Err(refused) = account(options.budget, &geometry) {
            panic!("ranks cannot start: {refused}");
        }
        let mapping = Mapping::private(geometry.bytes()).unwrap_or_else(|| {
            let error = std::io::Error::last_os_error();
            no_room("the mailboxes of all ranks", geometry.bytes(), &error)
        });
        // SAFETY: the mapping is zeroed, starts on a page and is as long as the geometry says; it lives as long as the region.
        let exchange = unsafe { Exchange::new(mapping.base(), geometry) };
        Region { exchange, shared: Lock::default(), _mapping: mapping }
    }

    pub(crate) fn exchange(&self) -> &Exchange {
        &self.exchange
    }

    /// Keeps a shared allocation of `owner` until it is released, or the job has ended.
    pub(crate) fn keep(&self, owner: Node, mapping: Mapping) {
        self.shared.lock().push((owner, mapping));
    }

    /// True if a shared allocation begins there.
    pub(crate) fn keeps(&self, base: *mut u8) -> bool {
        self.shared.lock().iter().any(|(_, mapping)| mapping.base().as_ptr() == base)
    }

    /// Takes a shared allocation of `owner` back.
    pub(crate) fn release(&self, owner: Node, base: *mut u8) -> Option<Mapping> {
        let mut shared = self.shared.lock();
        let at =
            shared.iter().position(|(whose, mapping)| *whose == owner && mapping.base().as_ptr() == base)?;
        Some(shared.swap_remove(at).1)
    }

    /// The endpoint of `rank`.
    ///
    /// # Safety
    /// To be called once a rank; the region must outlive the endpoint.
    pub(crate) unsafe fn endpoint(&self, rank: u32) -> Endpoint {
        // SAFETY: the caller's promise.
        unsafe { Endpoint::new(self.exchange, Node(rank)) }
    }
}

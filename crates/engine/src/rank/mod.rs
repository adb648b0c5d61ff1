//! One MPI process: its end of the fabric, its state, progress and waiting.

pub(crate) mod buffered;
mod cancel;
pub(crate) mod comm_create;
mod compute;
pub(crate) mod leftovers;
pub(crate) mod p2p;
mod partitioned;
pub(crate) mod persistent;
mod poison;
pub(crate) mod probe;
pub(crate) mod topo_create;

use alloc::boxed::Box;
use core::cell::{Cell, OnceCell, RefCell};

use fabric::{Fabric, Idle, Node, Woke};

use crate::coll::barrier::signals;
use crate::lane::waits::{Interest, Lookout};
use crate::progress::core::Core;
use crate::rank::buffered::Accounts;
use crate::schedule::Schedules;
use crate::values::comm::Comm;
use crate::values::contexts::Contexts;
use crate::values::error::Result;
use crate::values::group::Group;
use crate::values::ids::ContextId;
use crate::values::tuning::Tuning;

/// One MPI process. All of its state lives here; many can share an operating-system process.
///
/// Methods take `&self`: a callback from inside the library (a user's reduction, an attribute function) may use the rank
/// again, because no borrow of the state is held while user code runs or while the rank waits.
pub struct Rank {
    fabric: Box<dyn Fabric>,
    pub(crate) core: RefCell<Core>,
    pub(crate) attached: RefCell<Accounts>,
    world: Comm,
    self_comm: Comm,
    local: Comm,
    pub(crate) schedules: Schedules,
    /// Barriers of the world that went by signals.
    pub(crate) signal_barriers: Cell<u64>,
    /// A rank that has to wait anyway parks before it looks (see `Caps::cheap_park`).
    pub(crate) parks_first: bool,
    /// Tests and probes in a row that found nothing: they back off as waits do.
    fruitless: Cell<u32>,
    /// Whoever answers for this rank when it waits.
    pub(crate) lookout: OnceCell<Box<dyn Lookout>>,
    /// Quiet stretches of waits that were long enough to be numbered.
    pub(crate) stretches: Cell<u64>,
    /// When the lookout was last told of fruitless tests: how many they were, and the number of the stretch.
    pub(crate) polling: Cell<(u32, u64)>,
    /// Context numbers, and the communicators that have them.
    pub(crate) contexts: Contexts,
}

impl Rank {
    /// A rank on its end of a fabric, all of whose nodes are the world.
    pub fn new(fabric: Box<dyn Fabric>, tuning: Tuning) -> Rank {
        let world = Group::all(fabric.nodes());
        Rank::in_world(fabric, tuning, world)
    }

    /// As [`new`](Rank::new) in a job whose last node is the I/O rank: it is reached through [`local`](Rank::local) and is not
    /// in the world, so that programs that know nothing of it still work. Its own world is itself alone.
    pub fn beside_io_rank(fabric: Box<dyn Fabric>, tuning: Tuning) -> Rank {
        let io = Node(fabric.nodes() - 1);
        let world = if fabric.me() == io { Group::of(alloc::vec![io]) } else { Group::all(io.0) };
        Rank::in_world(fabric, tuning, world)
    }

    fn in_world(fabric: Box<dyn Fabric>, tuning: Tuning, world: Group) -> Rank {
        let me = fabric.me();
        let nodes = fabric.nodes();
        let place = world.rank_of(me).expect("a rank is in its world");
        let parks_first = fabric.caps().cheap_park;
        let contexts = Contexts::default();
        let predefined = |context: ContextId, group, rank| {
            let comm = Comm::new(context, group, rank);
            contexts.give(&comm, context.number());
            comm
        };
        Rank {
            core: RefCell::new(Core::new(&*fabric, tuning)),
            attached: RefCell::default(),
            world: predefined(ContextId::WORLD, world, place),
            local: predefined(ContextId::LOCAL, Group::all(nodes), me.0),
            self_comm: predefined(ContextId::SELF, Group::of(alloc::vec![me]), 0),
            fabric,
            schedules: Schedules::new(),
            signal_barriers: Cell::new(0),
            parks_first,
            fruitless: Cell::new(0),
            lookout: OnceCell::new(),
            stretches: Cell::new(0),
            polling: Cell::default(),
            contexts,
        }
    }

    /// All processes of the job (MPI_COMM_WORLD).
    pub fn world(&self) -> &Comm {
        &self.world
    }

    /// This process alone (MPI_COMM_SELF).
    pub fn self_comm(&self) -> &Comm {
        &self.self_comm
    }

    /// All ranks of the chip or machine, the I/O rank last where there is one (MPIX_COMM_LOCAL).
    pub fn local(&self) -> &Comm {
        &self.local
    }

    /// True if this is the I/O rank.
    pub fn is_io_rank(&self) -> bool {
        // Every other world begins with the first node.
        self.world.node(0) != self.local.node(0)
    }

    /// This rank's end of the fabric.
    #[inline]
    pub fn fabric(&self) -> &dyn Fabric {
        &*self.fabric
    }

    /// The tunable numbers in force.
    pub fn tuning(&self) -> Tuning {
        self.core.borrow().tuning
    }

    /// Handles letters and moves what waits; returns how much was done. Never waits.
    #[inline]
    pub fn progress(&self) -> usize {
        let done = self.progress_with(&mut self.core.borrow_mut());
        done + if self.schedules.live() > 0 { self.advance_schedules() } else { 0 }
    }

    /// The part of progress that calls no user code.
    #[inline]
    pub(crate) fn progress_with(&self, core: &mut Core) -> usize {
        let fabric = self.fabric();
        let limit = core.tuning.poll_limit;
        let mut done =
            fabric.poll(limit, &mut |from, header, payload| core.deliver(fabric, from, header, payload));
        if core.has_backlog() {
            done += core.push_backlog(fabric);
        }
        done
    }

    /// What a rank does that waits and found nothing: the collectives under way take a step, then the core is given away.
    #[inline]
    pub(crate) fn rest(&self, rounds: u32, idle: Idle) -> Woke {
        if self.schedules.live() > 0 && self.advance_schedules() > 0 {
            return Woke::Again;
        }
        if rounds > 0 {
            // A fabric does not put a rank to sleep while a signal is unread.
            signals::acknowledge(self.fabric());
        }
        self.fabric.park(rounds, idle)
    }

    /// Makes progress until `done` holds. Fails if the rank is poisoned; after [`Error::Stalled`] it must not be used any more.
    #[inline]
    pub fn wait_until(&self, done: impl FnMut(&Rank) -> bool) -> Result<()> {
        self.wait_about(Interest::Open, done)
    }

    /// As [`wait_until`](Rank::wait_until), for what is said.
    #[inline]
    pub(crate) fn wait_about(&self, interest: Interest<'_>, done: impl FnMut(&Rank) -> bool) -> Result<()> {
        self.wait_unless(interest, done, |core, fabric| core.check_fault(fabric))
    }

    /// Makes progress until requests are complete, as `done` tells: those of a poisoned rank end, and until then they are waited for.
    /// Fails only with [`Error::Stalled`].
    #[inline]
    pub(crate) fn wait_for_requests(
        &self,
        interest: Interest<'_>,
        done: impl FnMut(&Rank) -> bool,
    ) -> Result<()> {
        self.wait_unless(interest, done, |core, fabric| {
            core.sweep(fabric);
            Ok(())
        })
    }

    #[inline]
    fn wait_unless(
        &self,
        interest: Interest<'_>,
        mut done: impl FnMut(&Rank) -> bool,
        check: impl Fn(&mut Core, &dyn Fabric) -> Result<()>,
    ) -> Result<()> {
        let mut rounds = 0;
        let mut stretch = 0;
        let mut shown = false;
        loop {
            if self.progress() > 0 {
                (rounds, stretch) = (0, 0);
            }
            if rounds > 0 {
                // Before `done` looks, so that no signal is lost between the look and the sleep.
                signals::acknowledge(self.fabric());
            }
            if done(self) {
                if shown {
                    self.tell(|observer, fabric| observer.wait_ends(fabric));
                }
                return Ok(());
            }
            let idle = {
                let mut core = self.core.borrow_mut();
                if core.fault.is_some() {
                    let ended = core.swept;
                    if let Err(fault) = check(&mut core, self.fabric()) {
                        drop(core);
                        if shown {
                            self.tell(|observer, fabric| observer.wait_ends(fabric));
                        }
                        return Err(fault);
                    }
                    if !ended {
                        // Look again: what is waited for may have ended just now.
                        continue;
                    }
                }
                core.begin_wait(self.fabric(), &mut shown);
                core.idle()
            };
            let woke = self.fabric.park(rounds, idle);
            if woke != Woke::Again {
                stretch = self.look_up(woke, stretch, interest)?;
            }
            rounds += 1;
        }
    }

    /// Makes progress once, for tests and probes. One that finds nothing lets others run, so that a loop of them cannot
    /// starve the rank that it waits for.
    pub fn poke(&self) -> Result<()> {
        self.poke_about(Interest::Open)
    }

    /// As [`poke`](Rank::poke), for what is said.
    pub(crate) fn poke_about(&self, interest: Interest<'_>) -> Result<()> {
        self.poke_requests(interest)?;
        self.core.borrow_mut().check_fault(self.fabric())
    }

    /// As [`poke`](Rank::poke), for tests of requests: a fault that poisons the rank is the outcome of those that it ends.
    pub(crate) fn poke_requests(&self, interest: Interest<'_>) -> Result<()> {
        if self.progress() > 0 {
            self.fruitless.set(0);
        } else {
            let rounds = self.fruitless.get();
            let woke = self.fabric.park(rounds, Idle::Briefly);
            if woke != Woke::Again {
                self.look_up_polling(woke, rounds, interest)?;
            }
            self.fruitless.set(rounds.saturating_add(1));
            self.progress();
        }
        self.core.borrow_mut().sweep(self.fabric());
        Ok(())
    }

    /// Waits until everything that this rank has started and given up is sent, so that it may leave.
    pub fn drain(&self) -> Result<()> {
        self.flush_all_buffers()?;
        self.wait_about(Interest::Leaving, |rank| {
            let core = rank.core.borrow();
            core.orphans == 0 && !core.has_backlog()
        })
    }

    /// Waits until the sends and the matched receives on a communicator have ended, those that the program has given up included
    /// (MPI_Comm_disconnect).
    pub fn drain_comm(&self, comm: &Comm) -> Result<()> {
        let context = comm.context();
        self.wait_until(|rank| {
            !rank.core.borrow().requests.iter().any(|request| request.is_under_way(context))
        })
    }
}

//! One MPI process: its lane, and the communicators that it is born with.

use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::sync::Arc;
use core::cell::OnceCell;

use fabric::{Fabric, Node};

use crate::lane::Lane;
use crate::lane::gate::Gate;
use crate::lane::services::Service;
use crate::lane::statement::{Interest, Lookout};
use crate::rank::accounts::Accounts;
use crate::schedule::Workshop;
use crate::values::comm::Comm;
use crate::values::contexts::Contexts;
use crate::values::counted_work::CountedWork;
use crate::values::error::Result;
use crate::values::group::Group;
use crate::values::ids::ContextId;
use crate::values::shared::Locked;
use crate::values::tuning::Tuning;

/// One MPI process. All of its state lives here; many can share an operating-system process.
///
/// Methods take `&self`: a callback from inside the library (a user's reduction, an attribute function) may use the rank
/// again, because no borrow of the state is held while user code runs or while the rank waits.
///
/// A process whose threads call at once has several: each is one lane, which one thread at a time uses, and the first makes the others
/// ([`beside`](Rank::beside)). A communicator is used through the one whose lane [it is in](Comm::lane).
pub struct Rank {
    pub(crate) lane: Lane,
    /// The number of the lane.
    pub(crate) number: u32,
    /// Of all lanes.
    pub(crate) attached: Arc<Locked<Accounts>>,
    world: Comm,
    self_comm: Comm,
    local: Comm,
    /// All nodes, in whatever job they are: its ranks are their numbers.
    universe: Comm,
    /// What the program counts of its own computing.
    pub(crate) counted: OnceCell<Rc<dyn CountedWork>>,
}

impl Rank {
    /// A rank on its end of a fabric, all of whose nodes are the world.
    pub fn new(fabric: Box<dyn Fabric>, tuning: Tuning) -> Rank {
        let world = Group::all(fabric.nodes());
        let local = world.clone();
        Rank::in_world(fabric, tuning, world, local)
    }

    /// As [`new`](Rank::new) in a job of so many nodes from `first` on; others have those besides.
    pub fn among(fabric: Box<dyn Fabric>, tuning: Tuning, first: Node, ranks: u32) -> Rank {
        let world = if first.0 == 0 {
            Group::all(ranks)
        } else {
            Group::of((first.0..first.0 + ranks).map(Node).collect())
        };
        let local = world.clone();
        Rank::in_world(fabric, tuning, world, local)
    }

    /// As [`new`](Rank::new) in a job whose last node is the I/O rank: it is reached through [`local`](Rank::local) and is not
    /// in the world, so that programs that know nothing of it still work. Its own world is itself alone.
    pub fn beside_io_rank(fabric: Box<dyn Fabric>, tuning: Tuning) -> Rank {
        let io = Node(fabric.nodes() - 1);
        let world = if fabric.me() == io { Group::of(alloc::vec![io]) } else { Group::all(io.0) };
        let local = Group::all(fabric.nodes());
        Rank::in_world(fabric, tuning, world, local)
    }

    fn in_world(fabric: Box<dyn Fabric>, tuning: Tuning, world: Group, local: Group) -> Rank {
        let me = fabric.me();
        let nodes = fabric.nodes();
        let place = world.rank_of(me).expect("a rank is in its world");
        let local_place = local.rank_of(me).expect("a rank is on its chip");
        let lane = Lane::new(fabric, tuning, Contexts::default());
        let predefined = |context: ContextId, group, rank| {
            let comm = Comm::new(context, group, rank);
            lane.contexts.give(&comm, context.number(), 0);
            comm
        };
        Rank {
            world: predefined(ContextId::WORLD, world, place),
            local: predefined(ContextId::LOCAL, local, local_place),
            universe: predefined(ContextId::UNIVERSE, Group::all(nodes), me.0),
            self_comm: predefined(ContextId::SELF, Group::of(alloc::vec![me]), 0),
            lane,
            number: 0,
            attached: Arc::default(),
            counted: OnceCell::new(),
        }
    }

    /// The same process in another of its lanes, on that lane's end of the fabric. Communicators take it once lanes are [opened](Rank::open_lanes).
    pub fn beside(&self, fabric: Box<dyn Fabric>, number: u32) -> Rank {
        let contexts = self.lane.contexts.of_lane(number);
        // Without a number: whatever needs the predefined communicators goes to the first lane.
        let alike = |comm: &Comm| Comm::new(comm.context(), comm.group().clone(), comm.rank());
        let lane = Lane::new(fabric, self.tuning(), contexts);
        lane.schedules.prefer_like(&self.lane.schedules);
        Rank {
            world: alike(&self.world),
            self_comm: alike(&self.self_comm),
            local: alike(&self.local),
            universe: alike(&self.universe),
            lane,
            number,
            attached: self.attached.clone(),
            counted: OnceCell::new(),
        }
    }

    /// From now on communicators are spread over so many lanes, all of which there must be, where their other members do so, too.
    pub fn open_lanes(&self, lanes: u32) {
        self.lane.contexts.open_lanes(lanes);
    }

    /// Makes progress for threads that wait in another lane; returns how much was done. Never waits.
    pub fn mind(&self) -> usize {
        // A fault is for those to say who use this lane.
        let _ = self.reap_buffered();
        self.lane.progress()
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

    /// All nodes that this process could ever talk to, by their numbers: where processes of different jobs meet first.
    pub fn universe(&self) -> &Comm {
        &self.universe
    }

    /// True if this is the I/O rank.
    pub fn is_io_rank(&self) -> bool {
        // Every other world begins with the first node.
        self.world.node(0) != self.local.node(0)
    }

    /// This rank's end of the fabric.
    #[inline]
    pub fn fabric(&self) -> &dyn Fabric {
        self.lane.fabric()
    }

    /// The tunable numbers in force.
    pub fn tuning(&self) -> Tuning {
        self.lane.core.borrow().tuning
    }

    /// What plans are made with.
    #[inline]
    pub(crate) fn shop(&self) -> Workshop<'_> {
        self.lane.shop()
    }

    /// Names whoever answers for this rank when it waits. Once; later ones are ignored.
    pub fn set_lookout(&self, lookout: Box<dyn Lookout>) {
        let _ = self.lane.lookout.set(lookout);
    }

    /// Lets several threads call, one at a time but for those that wait. Once, before any of them does; later ones are ignored.
    pub fn set_gate(&self, gate: Box<dyn Gate>) {
        let _ = self.lane.gate.set(gate);
    }

    /// Lets threads look again that wait for something other than a message.
    pub fn stir(&self) {
        self.lane.stir();
    }

    /// From now on this is served in every round of a wait.
    pub fn offer_service(&self, service: Rc<dyn Service>) {
        self.lane.offer(service);
    }

    /// No longer.
    pub fn end_service(&self, service: &Rc<dyn Service>) {
        self.lane.end_service(service);
    }

    /// Handles letters and moves what waits; returns how much was done. Never waits.
    #[inline]
    pub fn progress(&self) -> usize {
        self.lane.progress()
    }

    /// Makes progress until `done` holds. Fails if the rank is poisoned; after [`Error::Stalled`](crate::Error::Stalled) it must not be used
    /// any more.
    #[inline]
    pub fn wait_until(&self, mut done: impl FnMut(&Rank) -> bool) -> Result<()> {
        self.lane.wait_until(&mut |_| done(self))
    }

    /// Makes progress once, for tests and probes. One that finds nothing lets others run, so that a loop of them cannot
    /// starve the rank that it waits for.
    pub fn poke(&self) -> Result<()> {
        self.lane.poke_about(Interest::Open)
    }

    /// Waits until everything that this rank has started and given up is sent, so that it may leave.
    pub fn drain(&self) -> Result<()> {
        self.flush_all_buffers()?;
        self.lane.wait_about(Interest::Leaving, |lane| {
            let core = lane.core.borrow();
            core.orphans == 0 && !core.has_backlog()
        })
    }

    /// Waits until the sends and the matched receives on a communicator have ended, those that the program has given up included
    /// (MPI_Comm_disconnect).
    pub fn drain_comm(&self, comm: &Comm) -> Result<()> {
        let context = comm.context();
        self.lane.wait_until(&mut |lane| {
            !lane.core.borrow().requests.iter().any(|request| request.is_under_way(context))
        })
    }
}

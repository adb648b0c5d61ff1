//! Communicators: a group, a context, and this process's place in it (MPI chapter 7).
//!
//! Creating one needs agreement on a context number and is therefore a collective; see `comm_create`.
//!
//! An **intercommunicator** has two groups. Its point-to-point messages go to the other one: `peers`, which is the group itself in an
//! intracommunicator, so that a send asks for nothing but `peers`. Its collectives are those of its *union*, a communicator of the same
//! context that no program sees, in which the members of the lower group come first (that with the lower first node: both sides know it).

use alloc::rc::{Rc, Weak};
use alloc::sync::Arc;
use core::cell::{Cell, OnceCell};

use fabric::Node;

use crate::values::error::{Error, Result};
use crate::values::group::{Group, GroupComparison};
use crate::values::ids::{ContextId, Dest, Source};
use crate::values::memory::board::Board;
use crate::values::shared::Quiet;
use crate::values::topology::{Neighbors, Topology};

/// A communicator. Cheap to clone; all clones are the same communicator.
#[derive(Clone, Debug)]
pub struct Comm(Rc<Quiet<Inner>>);

#[derive(Debug)]
struct Inner {
    /// Set once: when the communicator is made, or when its members have agreed on it.
    context: Cell<ContextId>,
    /// The lane that its traffic takes at all members. Set with the context.
    lane: Cell<u32>,
    /// Communicators begun on it, so that successive ones take different lanes.
    creations: Cell<u32>,
    /// Keeps the number of the context from being used again.
    lease: OnceCell<Rc<dyn Lease>>,
    group: Group,
    /// Whom messages go to and come from.
    peers: Group,
    /// Both groups of an intercommunicator.
    union: Option<Comm>,
    rank: u32,
    /// Collectives begun on it, so that successive ones use different tags.
    collectives: Cell<u32>,
    /// Partitioned sends that this process has set up on it.
    channels: Cell<u32>,
    /// Calls of it that its board could serve, until it has one or not.
    served: Cell<u32>,
    /// What its members share for collectives, if they do: set once, by all of them in the same call.
    board: OnceCell<Option<Rc<Board>>>,
    /// Its topology, and with whom this process exchanges there. Set once, when the communicator is made.
    topology: OnceCell<Arc<(Topology, Neighbors)>>,
}

/// What a communicator holds as long as it is used: its number (see `contexts`).
pub(crate) trait Lease {}

/// Not asked of the lease itself: its table of functions would bring the formatting of numbers into every program.
impl core::fmt::Debug for dyn Lease {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Lease")
    }
}

/// A communicator that may be gone.
#[derive(Debug)]
pub(crate) struct WeakComm(Weak<Quiet<Inner>>);

impl WeakComm {
    pub fn get(&self) -> Option<Comm> {
        self.0.upgrade().map(Comm)
    }
}

/// How two communicators compare (MPI_Comm_compare).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Comparison {
    /// The same communicator.
    Identical,
    /// Same group in the same order, different context.
    Congruent,
    /// Same members in another order.
    Similar,
    /// Different members.
    Unequal,
}

impl Comm {
    pub(crate) fn new(context: ContextId, group: Group, rank: u32) -> Comm {
        let peers = group.clone();
        Comm::with(context, group, peers, None, rank)
    }

    /// An intercommunicator that is being created, or nothing if the groups are not two with a lower one.
    pub(crate) fn inter(local: Group, remote: Group, rank: u32) -> Option<Comm> {
        let is_lower = local.node(0)? < remote.node(0)?;
        let (both, place) =
            if is_lower { (local.then(&remote), rank) } else { (remote.then(&local), rank + remote.size()) };
        let union = Comm::new(ContextId::PENDING, both, place);
        Some(Comm::with(ContextId::PENDING, local, remote, Some(union), rank))
    }

    fn with(context: ContextId, group: Group, peers: Group, union: Option<Comm>, rank: u32) -> Comm {
        Comm(Rc::new(Quiet::new(Inner {
            context: Cell::new(context),
            lane: Cell::new(0),
            creations: Cell::new(0),
            lease: OnceCell::new(),
            group,
            peers,
            union,
            rank,
            collectives: Cell::new(0),
            channels: Cell::new(0),
            served: Cell::new(0),
            board: OnceCell::new(),
            topology: OnceCell::new(),
        })))
    }

    /// This process's rank.
    #[inline]
    pub fn rank(&self) -> u32 {
        self.0.rank
    }

    /// Processes.
    #[inline]
    pub fn size(&self) -> u32 {
        self.0.group.size()
    }

    /// The processes.
    pub fn group(&self) -> &Group {
        &self.0.group
    }

    /// Whom its point-to-point messages go to: the remote group of an intercommunicator, else its own.
    pub fn peers(&self) -> &Group {
        &self.0.peers
    }

    /// True for an intercommunicator.
    #[inline]
    pub fn is_inter(&self) -> bool {
        self.0.union.is_some()
    }

    /// What carries its collectives, which is known by its context: an intracommunicator itself, both groups of an intercommunicator.
    pub(crate) fn union(&self) -> &Comm {
        self.0.union.as_ref().unwrap_or(self)
    }

    /// An error for those who need an intracommunicator.
    pub fn intra(&self) -> Result<()> {
        if self.is_inter() {
            return Err(Error::Comm {
                reason: "the communicator is an intercommunicator, expected an intracommunicator",
            });
        }
        Ok(())
    }

    /// Where the members of the local group begin in the union, and where those of the remote group do.
    pub(crate) fn places(&self) -> (u32, u32) {
        let first = self.union().rank() - self.rank();
        (first, if first == 0 { self.size() } else { 0 })
    }

    /// Its context, for traces and tools.
    #[inline]
    pub fn context(&self) -> ContextId {
        self.0.context.get()
    }

    /// The lane that its traffic takes, at all of its members: 0 unless all of them had several threads when it was made.
    #[inline]
    pub fn lane(&self) -> u32 {
        self.0.lane.get()
    }

    /// Says which lane a communicator will take, before its members have agreed on a context.
    pub(crate) fn stay_in(&self, lane: u32) {
        self.0.lane.set(lane);
    }

    /// Which of `lanes` lanes a communicator should take that is made from this one: the next, beginning at another for each. Not the first, which the
    /// predefined communicators have.
    pub(crate) fn next_lane(&self, lanes: u32) -> u32 {
        if lanes < 2 {
            return 0;
        }
        let creations = self.0.creations.get();
        self.0.creations.set(creations.wrapping_add(1));
        1 + self.context().number().wrapping_add(creations) % (lanes - 1)
    }

    /// Gives a communicator that is being created the context that its members have agreed on.
    pub(crate) fn set_context(&self, context: ContextId, lane: u32, lease: Rc<dyn Lease>) {
        if let Some(union) = &self.0.union {
            union.set_context(context, lane, lease.clone());
        }
        self.0.context.set(context);
        self.0.lane.set(lane);
        let _ = self.0.lease.set(lease);
    }

    /// Who is whose neighbour, if somebody is.
    pub fn topology(&self) -> Option<&Topology> {
        self.0.topology.get().map(|placed| &placed.0)
    }

    /// With whom this process exchanges in the topology, if there is one.
    pub fn neighbors(&self) -> Option<&Neighbors> {
        self.0.topology.get().map(|placed| &placed.1)
    }

    /// Gives a communicator that was just made its topology.
    pub(crate) fn set_topology(&self, topology: Topology) {
        let neighbors = topology.neighbors(self.rank());
        let _ = self.0.topology.set(Arc::new((topology, neighbors)));
    }

    /// Another communicator of the same members, which has the same topology.
    pub(crate) fn alike(&self) -> Comm {
        let union = self.0.union.as_ref().map(Comm::alike);
        let (group, peers) = (self.group().clone(), self.peers().clone());
        let new = Comm::with(ContextId::PENDING, group, peers, union, self.rank());
        if let Some(placed) = self.0.topology.get() {
            let _ = new.0.topology.set(Arc::clone(placed));
        }
        new
    }

    /// The communicator, for those who must not keep it alive.
    pub(crate) fn weak(&self) -> WeakComm {
        WeakComm(Rc::downgrade(&self.0))
    }

    /// The same processes with a context beside this one's, in which a checker sends what it knows of the program's calls. There
    /// are two: the first for collectives, of both groups of an intercommunicator; the second for messages, which go where the program's go.
    pub fn companion(&self, second: bool) -> Comm {
        let of = if second { self } else { self.union() };
        let (group, peers) = (of.group().clone(), of.peers().clone());
        let companion = Comm::with(self.context().companion(second), group, peers, None, of.rank());
        companion.0.lane.set(self.lane());
        companion
    }

    /// Where the members of its own group begin in the first companion, and where those do that messages go to.
    pub fn places_in_companion(&self) -> (u32, u32) {
        if self.is_inter() { self.places() } else { (0, 0) }
    }

    /// Compares context, members and order.
    pub fn compare(&self, other: &Comm) -> Comparison {
        if Rc::ptr_eq(&self.0, &other.0) {
            return Comparison::Identical;
        }
        if self.is_inter() != other.is_inter() {
            return Comparison::Unequal;
        }
        match (self.group().compare(other.group()), self.peers().compare(other.peers())) {
            (GroupComparison::Identical, GroupComparison::Identical) => Comparison::Congruent,
            (GroupComparison::Unequal, _) | (_, GroupComparison::Unequal) => Comparison::Unequal,
            _ => Comparison::Similar,
        }
    }

    /// The node of a peer that is known to exist.
    #[inline]
    pub(crate) fn node_if_any(&self, rank: u32) -> Option<Node> {
        self.0.peers.node(rank)
    }

    /// As [`node_if_any`](Comm::node_if_any), of a rank that was checked.
    #[inline]
    pub(crate) fn node(&self, rank: u32) -> Node {
        self.0.peers.node(rank).expect("rank below the communicator's size")
    }

    /// Checks a destination given as a number: a rank, or `null` for MPI_PROC_NULL.
    #[inline]
    pub fn dest(&self, given: i64, null: i64) -> Result<Dest> {
        if (0..i64::from(self.peers().size())).contains(&given) {
            Ok(Dest::Rank(given as u32))
        } else if given == null {
            Ok(Dest::Null)
        } else {
            Err(Error::Rank { role: "destination", given, size: self.peers().size() })
        }
    }

    /// Checks a source given as a number: a rank, `null` for MPI_PROC_NULL or `any` for MPI_ANY_SOURCE.
    #[inline]
    pub fn source(&self, given: i64, null: i64, any: i64) -> Result<Source> {
        if (0..i64::from(self.peers().size())).contains(&given) {
            Ok(Source::Rank(given as u32))
        } else if given == any {
            Ok(Source::Any)
        } else if given == null {
            Ok(Source::Null)
        } else {
            Err(Error::Rank { role: "source", given, size: self.peers().size() })
        }
    }

    /// Checks the root of a collective.
    pub fn root(&self, given: i64) -> Result<u32> {
        if (0..i64::from(self.peers().size())).contains(&given) {
            Ok(given as u32)
        } else {
            Err(Error::Root { given, size: self.peers().size() })
        }
    }

    /// A number for the next collective, the same on all members because they begin them in the same order.
    pub(crate) fn next_collective(&self) -> u32 {
        let number = self.0.collectives.get();
        self.0.collectives.set(number.wrapping_add(1));
        number
    }

    /// Its board, if its members have agreed on having one or not.
    #[inline]
    pub(crate) fn board(&self) -> Option<Option<&Rc<Board>>> {
        self.0.board.get().map(Option::as_ref)
    }

    /// What they have agreed on.
    pub(crate) fn set_board(&self, board: Option<Rc<Board>>) {
        let _ = self.0.board.set(board);
    }

    /// How many calls there were that a board could have served, this one counted: the same at all members.
    pub(crate) fn next_served(&self) -> u32 {
        self.0.served.set(self.0.served.get() + 1);
        self.0.served.get()
    }

    /// A number for the next partitioned send of this process.
    pub(crate) fn next_channel(&self) -> u32 {
        let number = self.0.channels.get();
        self.0.channels.set(number.wrapping_add(1));
        number
    }
}

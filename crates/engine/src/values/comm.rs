//! Communicators: a group, a context, and this process's place in it (MPI chapter 7).
//!
//! Creating one needs agreement on a context number and is therefore a collective; see `comm_create`.

use alloc::rc::{Rc, Weak};
use core::cell::{Cell, OnceCell};

use fabric::Node;

use crate::values::error::{Error, Result};
use crate::values::group::{Group, GroupComparison};
use crate::values::ids::{ContextId, Dest, Source};
use crate::values::topology::{Neighbors, Topology};

/// A communicator. Cheap to clone; all clones are the same communicator.
#[derive(Clone, Debug)]
pub struct Comm(Rc<Inner>);

#[derive(Debug)]
struct Inner {
    /// Set once: when the communicator is made, or when its members have agreed on it.
    context: Cell<ContextId>,
    group: Group,
    rank: u32,
    /// Collectives begun on it, so that successive ones use different tags.
    collectives: Cell<u32>,
    /// Partitioned sends that this process has set up on it.
    channels: Cell<u32>,
    /// Its topology, and with whom this process exchanges there. Set once, when the communicator is made.
    topology: OnceCell<Rc<(Topology, Neighbors)>>,
}

/// A communicator that may be gone.
pub(crate) struct WeakComm(Weak<Inner>);

impl WeakComm {
    pub fn is_alive(&self) -> bool {
        self.0.strong_count() > 0
    }

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
        Comm(Rc::new(Inner {
            context: Cell::new(context),
            group,
            rank,
            collectives: Cell::new(0),
            channels: Cell::new(0),
            topology: OnceCell::new(),
        }))
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

    /// Its context, for traces and tools.
    #[inline]
    pub fn context(&self) -> ContextId {
        self.0.context.get()
    }

    /// Gives a communicator that is being created the context that its members have agreed on.
    pub(crate) fn set_context(&self, context: ContextId) {
        self.0.context.set(context);
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
        let _ = self.0.topology.set(Rc::new((topology, neighbors)));
    }

    /// Another communicator of the same members, which has the same topology.
    pub(crate) fn alike(&self) -> Comm {
        let new = Comm::new(ContextId::PENDING, self.group().clone(), self.rank());
        if let Some(placed) = self.0.topology.get() {
            let _ = new.0.topology.set(Rc::clone(placed));
        }
        new
    }

    /// The communicator, for those who must not keep it alive.
    pub(crate) fn weak(&self) -> WeakComm {
        WeakComm(Rc::downgrade(&self.0))
    }

    /// The same processes with a context beside this one's, in which a checker sends what it knows of the program's messages. There
    /// are two.
    pub fn companion(&self, second: bool) -> Comm {
        Comm::new(self.context().companion(second), self.group().clone(), self.rank())
    }

    /// Compares context, members and order.
    pub fn compare(&self, other: &Comm) -> Comparison {
        if Rc::ptr_eq(&self.0, &other.0) {
            return Comparison::Identical;
        }
        match self.group().compare(other.group()) {
            GroupComparison::Identical => Comparison::Congruent,
            GroupComparison::Similar => Comparison::Similar,
            GroupComparison::Unequal => Comparison::Unequal,
        }
    }

    /// The node of a member that is known to exist.
    #[inline]
    pub(crate) fn node(&self, rank: u32) -> Node {
        self.0.group.node(rank).expect("rank below the communicator's size")
    }

    /// Checks a destination given as a number: a rank, or `null` for MPI_PROC_NULL.
    #[inline]
    pub fn dest(&self, given: i64, null: i64) -> Result<Dest> {
        if (0..i64::from(self.size())).contains(&given) {
            Ok(Dest::Rank(given as u32))
        } else if given == null {
            Ok(Dest::Null)
        } else {
            Err(Error::Rank { role: "destination", given, size: self.size() })
        }
    }

    /// Checks a source given as a number: a rank, `null` for MPI_PROC_NULL or `any` for MPI_ANY_SOURCE.
    #[inline]
    pub fn source(&self, given: i64, null: i64, any: i64) -> Result<Source> {
        if (0..i64::from(self.size())).contains(&given) {
            Ok(Source::Rank(given as u32))
        } else if given == any {
            Ok(Source::Any)
        } else if given == null {
            Ok(Source::Null)
        } else {
            Err(Error::Rank { role: "source", given, size: self.size() })
        }
    }

    /// Checks the root of a collective.
    pub fn root(&self, given: i64) -> Result<u32> {
        if (0..i64::from(self.size())).contains(&given) {
            Ok(given as u32)
        } else {
            Err(Error::Root { given, size: self.size() })
        }
    }

    /// A number for the next collective, the same on all members because they begin them in the same order.
    pub(crate) fn next_collective(&self) -> u32 {
        let number = self.0.collectives.get();
        self.0.collectives.set(number.wrapping_add(1));
        number
    }

    /// A number for the next partitioned send of this process.
    pub(crate) fn next_channel(&self) -> u32 {
        let number = self.0.channels.get();
        self.0.channels.set(number.wrapping_add(1));
        number
    }
}

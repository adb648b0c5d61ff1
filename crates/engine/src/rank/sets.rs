//! Process sets by name, and splits by where processes are (MPI sections 7.4.2 and 11.3.2).
//!
//! Of the hardware one level is known: the processes that share memory, which the fabric calls a cluster.

use crate::rank::Rank;
use crate::values::comm::Comm;
use crate::values::error::Result;
use crate::values::group::Group;

/// A set of processes that has a name in every session.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum ProcessSet {
    /// All processes of the world: `mpi://WORLD`.
    World,
    /// This process alone: `mpi://SELF`.
    Own,
    /// Those of the world that share memory with this process: `mpix://SHARED`.
    Shared,
}

impl ProcessSet {
    /// All that there are.
    pub const ALL: [ProcessSet; 3] = [ProcessSet::World, ProcessSet::Own, ProcessSet::Shared];

    /// What it is called.
    pub const fn name(self) -> &'static str {
        match self {
            ProcessSet::World => "mpi://WORLD",
            ProcessSet::Own => "mpi://SELF",
            ProcessSet::Shared => "mpix://SHARED",
        }
    }

    /// The one with this name. Names are compared as those of resources are: without regard to case.
    pub fn named(name: &str) -> Option<ProcessSet> {
        ProcessSet::ALL.into_iter().find(|set| set.name().eq_ignore_ascii_case(name))
    }
}

/// What a communicator is split by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Division {
    /// Memory that processes share.
    SharedMemory,
    /// The largest parts of the hardware that are smaller than the communicator.
    Below,
    /// Whether they are in a set.
    Set(ProcessSet),
}

impl Rank {
    /// The processes of a set.
    pub fn process_set(&self, set: ProcessSet) -> Group {
        match set {
            ProcessSet::World => self.world().group().clone(),
            ProcessSet::Own => self.self_comm().group().clone(),
            ProcessSet::Shared => {
                let here = self.cluster();
                let nodes = self.world().group().nodes();
                Group::of(nodes.filter(|node| self.fabric().route(*node).cluster == here).collect())
            }
        }
    }

    /// Communicators of those who are together, ordered by key and then by rank (MPI_Comm_split_type). `None` for those who are nowhere, and for
    /// those who take no part.
    pub fn split_by(&self, comm: &Comm, by: Option<Division>, key: i32) -> Result<Option<Comm>> {
        let color = match by {
            None => None,
            Some(Division::SharedMemory | Division::Below) => Some(self.cluster()),
            Some(Division::Set(set)) => self.process_set(set).rank_of(self.fabric().me()).map(|_| 0),
        };
        let part = self.split(comm, color, key)?;
        Ok(part.filter(|part| by != Some(Division::Below) || part.size() < comm.size()))
    }

    fn cluster(&self) -> u32 {
        self.fabric().route(self.fabric().me()).cluster
    }
}

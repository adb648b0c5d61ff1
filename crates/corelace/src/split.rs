//! Communicators of those ranks that are close to each other (MPI_Comm_split_type, section 7.4.2).

use engine::{Division, ProcessSet};

use crate::activity::Collective;
use crate::communicator::Communicator;
use crate::error::Result;
use crate::kind::OneGroup;
use crate::raw::collective;

/// What a communicator is split by. All ranks give the same one, or none.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SplitType {
    /// Ranks that can share memory (MPI_COMM_TYPE_SHARED).
    Shared,
    /// Ranks on the same piece of hardware of this kind (MPI_COMM_TYPE_HW_GUIDED).
    HardwareGuided(Hardware),
    /// Ranks on the same piece of the next smaller kind of hardware (MPI_COMM_TYPE_HW_UNGUIDED): a part is always smaller than what is split, so that one who splits again
    /// and again comes to an end.
    HardwareUnguided,
    /// Ranks that have this resource in common (MPI_COMM_TYPE_RESOURCE_GUIDED).
    ResourceGuided(Resource),
}

/// A kind of hardware.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Hardware {
    /// A memory: a machine, or a cluster of a chip (`mpi_shared_memory`).
    SharedMemory,
}

/// Something that ranks may have in common.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Resource {
    /// A piece of hardware.
    Hardware(Hardware),
    /// Being in a set of processes. Those who are not get nothing.
    ProcessSet(ProcessSet),
}

impl SplitType {
    fn division(self) -> Division {
        match self {
            SplitType::Shared
            | SplitType::HardwareGuided(Hardware::SharedMemory)
            | SplitType::ResourceGuided(Resource::Hardware(Hardware::SharedMemory)) => Division::SharedMemory,
            SplitType::HardwareUnguided => Division::Below,
            SplitType::ResourceGuided(Resource::ProcessSet(set)) => Division::Set(set),
        }
    }
}

impl<'job, K: OneGroup> Communicator<'job, K> {
    /// Communicators of those ranks that are close to each other, ordered by key and then by rank (MPI_Comm_split_type, section 7.4.2). `None` for a rank that gives
    /// nothing, and where there is no such part. All ranks call it.
    ///
    /// ```
    /// use corelace::{ChipJob, SplitType};
    ///
    /// corelace::run(4, |world| {
    ///     let here = world.split_type(Some(SplitType::Shared), 0).unwrap().unwrap();
    ///     assert_eq!(here.size(), 4);
    ///     // There is nothing smaller in this program's memory.
    ///     assert!(here.split_type(Some(SplitType::HardwareUnguided), 0).unwrap().is_none());
    /// })?;
    ///
    /// // Clusters of this chip have memories of their own; here each has one rank.
    /// ChipJob::new("mppa256-andey", 4).scatter().run(|world| {
    ///     let cluster = world.split_type(Some(SplitType::HardwareUnguided), 0).unwrap().unwrap();
    ///     assert_eq!(cluster.size(), 1);
    /// })?;
    /// # Ok::<(), corelace::RunError>(())
    /// ```
    #[track_caller]
    pub fn split_type(&self, by: Option<SplitType>, key: i32) -> Result<Option<Communicator<'job>>> {
        let by = by.map(SplitType::division);
        let comm =
            collective::blocking(self.process, Collective::Split, |rank| rank.split_by(&self.comm, by, key))?;
        Ok(comm.map(|comm| self.sibling(comm)))
    }
}

//! Groups: values of the engine behind handles.

use engine::Group;

use crate::abi::constants::*;
use crate::abi::types::MPI_Group;
use crate::handles::{Kind, Table};

/// The groups of a process.
pub(crate) struct Groups(Table<Group>);

impl Groups {
    pub(crate) const fn new() -> Self {
        Self(Table::new(Kind::Group))
    }

    pub(crate) fn get(&self, handle: MPI_Group) -> Option<Group> {
        if handle == MPI_GROUP_EMPTY { Some(Group::empty()) } else { self.0.get(handle.0) }
    }

    /// The empty group has one handle (MPI section 7.3.2).
    pub(crate) fn insert(&self, group: Group) -> MPI_Group {
        if group.size() == 0 { MPI_GROUP_EMPTY } else { MPI_Group(self.0.insert(group)) }
    }

    pub(crate) fn remove(&self, handle: MPI_Group) -> Option<Group> {
        if handle == MPI_GROUP_EMPTY { Some(Group::empty()) } else { self.0.remove(handle.0) }
    }

    pub(crate) fn table(&self) -> &Table<Group> {
        &self.0
    }
}

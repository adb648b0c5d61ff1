//! Creating communicators (MPI section 7.4.2).

use crate::comm::Comm;
use crate::error::Result;
use crate::group::Group;
use crate::ids::Tag;
use crate::rank::Rank;
use crate::request::RequestId;

impl Rank {
    /// A communicator with the same members and a context of its own (MPI_Comm_dup). Collective over `comm`.
    pub fn dup(&self, comm: &Comm) -> Result<Comm> {
        let _ = comm;
        unimplemented!()
    }

    /// As [`dup`](Rank::dup) without waiting. The communicator may be used once the request is complete.
    pub fn idup(&self, comm: &Comm) -> Result<(Comm, RequestId)> {
        let _ = comm;
        unimplemented!()
    }

    /// Disjoint communicators, one for each colour, ordered by key and then by rank (MPI_Comm_split). `None` for a member
    /// that gives no colour. Collective over `comm`.
    pub fn split(&self, comm: &Comm, color: Option<u32>, key: i32) -> Result<Option<Comm>> {
        let _ = (comm, color, key);
        unimplemented!()
    }

    /// A communicator of a subgroup (MPI_Comm_create). Collective over `comm`; members may give different groups if these are
    /// disjoint. `None` for those outside of their group.
    pub fn create(&self, comm: &Comm, group: &Group) -> Result<Option<Comm>> {
        let _ = (comm, group);
        unimplemented!()
    }

    /// As [`create`](Rank::create), collective over the group alone (MPI_Comm_create_group). `tag` keeps concurrent calls
    /// apart.
    pub fn create_group(&self, comm: &Comm, group: &Group, tag: Tag) -> Result<Option<Comm>> {
        let _ = (comm, group, tag);
        unimplemented!()
    }
}

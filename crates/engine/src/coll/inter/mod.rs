//! Collectives of intercommunicators (MPI section 6.2.2): one group's data goes to the other.
//!
//! A schedule runs on the communicator's union, in which the members of each group follow each other ([`Comm::places`]). So a part
//! within a group is what an intracommunicator does, written by [`Builder::among`], and a message across has the place of its receiver. In the cost
//! lines `p` is the size of the local group, `q` that of the remote group. A leader is the first member of its group.
//!
//! MPI_IN_PLACE has no meaning here. MPI_Scan and MPI_Exscan do not exist, nor do neighbours.

mod exchange;
mod reductions;
mod root;

pub(crate) use exchange::{allgather, allgatherv, alltoall, alltoallv};
pub(crate) use reductions::{allreduce, reduce, reduce_scatter, reduce_scatter_block};
pub(crate) use root::{bcast, gather_or_scatter, gatherv, scatterv};

use super::prelude::*;

/// What this process is in a collective with a root.
enum Role {
    /// The root: the others are all of the remote group.
    Root,
    /// In the root's group: it has nothing to do.
    Beside,
    /// In the other group; the root's place in the union.
    Across(u32),
}

/// Who is where in the union.
struct Sides {
    /// The place of the local leader, who is the first of its group.
    local: u32,
    /// Members of the local group.
    members: u32,
    /// The place of the remote leader.
    remote: u32,
}

impl Sides {
    fn of(comm: &Comm) -> Sides {
        let (local, remote) = comm.places();
        Sides { local, members: comm.size(), remote }
    }

    fn leads(&self, b: &Builder<'_>) -> bool {
        b.me == self.local
    }
}

fn role(root: Root, comm: &Comm) -> Result<Role> {
    Ok(match root {
        Root::Me => Role::Root,
        Root::Beside => Role::Beside,
        Root::Rank(rank) => Role::Across(comm.places().1 + comm.root(i64::from(rank))?),
    })
}

fn builder<'a>(shop: Workshop<'a>, comm: &Comm, name: &'static str) -> Builder<'a> {
    Builder::new(shop, comm.union(), name)
}

/// What must be there, because nothing is in place.
fn given<T>(buffer: Option<T>) -> Result<T> {
    buffer.ok_or(Error::Buffer {
        reason: "MPI_IN_PLACE has no meaning on an intercommunicator, expected the address of data",
    })
}

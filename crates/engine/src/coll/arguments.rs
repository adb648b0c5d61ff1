//! Arguments that several collectives have in common.

use super::prelude::*;

/// The root of a collective on an intracommunicator.
pub(crate) fn intra_root(root: Root, comm: &Comm) -> Result<u32> {
    match root {
        Root::Rank(rank) => Ok(rank),
        Root::Me | Root::Beside => Err(Error::Root { given: -1, size: comm.size() }),
    }
}

pub(crate) fn check_root(root: u32, comm: &Comm) -> Result<()> {
    comm.root(i64::from(root)).map(|_| ())
}

pub(crate) fn in_place_off_root() -> Error {
    Error::Buffer { reason: "MPI_IN_PLACE is allowed at the root only" }
}

pub(crate) fn missing_at_root() -> Error {
    Error::Buffer { reason: "the root needs a buffer for all members" }
}

/// What is wrong if this member's own block does not fit into the place that it has for it. It takes part nevertheless, as one that has
/// failed ([`Builder::fail`]): the others wait for it.
pub(crate) fn own_block(sent: u64, room: u64, comm: &Comm) -> Option<Error> {
    if sent > room {
        return Some(Error::Truncated { source: comm.rank(), tag: 0, received: sent, capacity: room });
    }
    (sent < room).then_some(Error::Argument {
        reason: "this rank sends fewer bytes than it receives from each member",
        given: sent as i64,
    })
}

/// Buffers of a reduction that all members get something from: (value, where the result goes).
pub(crate) fn reduction_buffers(
    send: Option<&SendBuffer>,
    recv: &RecvBuffer,
    op: &Op,
) -> Result<(Region, Region)> {
    op.check_reduction(recv.datatype())?;
    let target = Region::from(recv);
    let value = send.map_or_else(|| target.clone(), |send| Region::from(send).elements(0, recv.count()));
    Ok((value, target))
}

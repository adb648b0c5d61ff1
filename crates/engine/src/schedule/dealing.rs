//! What a member brings to a reduction whose result is dealt out among the members, and which part of it is its own.

use smallvec::SmallVec;

use crate::values::comm::Comm;
use crate::values::error::{Error, Result};
use crate::values::memory::{RecvBuffer, Region, SendBuffer};
use crate::values::op::Op;

/// This member's part in one.
pub(crate) struct Dealing {
    /// This member's values for all members.
    pub value: Region,
    /// Where its own result goes: the start of `value` for MPI_IN_PLACE.
    pub target: Region,
    /// First element of each member's block, and the end of the last one.
    pub bounds: SmallVec<[u64; 17]>,
}

impl Dealing {
    /// A block of as many elements as the result has for each member.
    pub fn even(send: Option<&SendBuffer>, recv: &RecvBuffer, op: &Op, comm: &Comm) -> Result<Dealing> {
        let bounds = (0..=u64::from(comm.size())).map(|member| member * recv.count()).collect();
        Dealing::new(send, recv, bounds, op, comm)
    }

    /// So many elements for each member.
    pub fn uneven(
        send: Option<&SendBuffer>,
        recv: &RecvBuffer,
        counts: &[u64],
        op: &Op,
        comm: &Comm,
    ) -> Result<Dealing> {
        if counts.len() < comm.size() as usize {
            return Err(Error::Argument {
                reason: "a reduce-scatter needs a count for each rank",
                given: counts.len() as i64,
            });
        }
        let mut bounds = SmallVec::new();
        let mut total = 0;
        bounds.push(total);
        for count in &counts[..comm.size() as usize] {
            total += count;
            bounds.push(total);
        }
        Dealing::new(send, recv, bounds, op, comm)
    }

    fn new(
        send: Option<&SendBuffer>,
        recv: &RecvBuffer,
        bounds: SmallVec<[u64; 17]>,
        op: &Op,
        comm: &Comm,
    ) -> Result<Dealing> {
        op.check_reduction(recv.datatype())?;
        let (me, total) = (comm.rank() as usize, bounds[comm.size() as usize]);
        let result = Region::from(recv);
        let value = send.map_or_else(|| result.clone(), Region::from).elements(0, total);
        Ok(Dealing { value, target: result.elements(0, bounds[me + 1] - bounds[me]), bounds })
    }

    /// The block of a member in a buffer that has all of them.
    pub fn block(&self, of: &Region, member: u32) -> Region {
        let (first, end) = (self.bounds[member as usize], self.bounds[member as usize + 1]);
        of.elements(first, end - first)
    }
}

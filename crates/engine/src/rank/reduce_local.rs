//! Reductions without communication (MPI section 6.9.7).

use crate::rank::Rank;
use crate::values::error::{Error, Result};
use crate::values::memory::{RecvBuffer, Region, SendBuffer};
use crate::values::op::Op;

impl Rank {
    /// Computes `recv[i] = send[i] op recv[i]` (MPI_Reduce_local, section 6.9.7). The buffers must not overlap.
    pub fn reduce_local(&self, send: &SendBuffer, recv: &RecvBuffer, op: &Op) -> Result<()> {
        op.check_reduction(recv.datatype())?;
        let (input, inout) = (Region::from(send), Region::from(recv));
        if input.overlaps(&inout) {
            return Err(Error::Buffer { reason: "the two buffers of a local reduction overlap" });
        }
        op.combine(&input, &inout);
        Ok(())
    }
}

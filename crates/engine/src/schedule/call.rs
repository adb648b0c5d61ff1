//! A collective that memory shared by the members may serve, as it was asked for.

use alloc::boxed::Box;

use super::dealing::Dealing;
use crate::values::memory::Region;
use crate::values::op::Op;

/// What this member does in it. Blocks of several members are given by the first one.
pub(crate) enum Call {
    Barrier,
    Bcast {
        data: Region,
        root: u32,
    },
    /// `value` and `target` are the same memory for MPI_IN_PLACE.
    Allreduce {
        value: Region,
        target: Region,
        op: Op,
    },
    /// The target is the root's.
    Reduce {
        value: Region,
        target: Option<Region>,
        op: Op,
        root: u32,
    },
    /// `own` is its block of `all` for MPI_IN_PLACE.
    Allgather {
        own: Region,
        all: Region,
    },
    /// All blocks are the root's.
    Gather {
        own: Region,
        all: Option<Region>,
        root: u32,
    },
    Scatter {
        own: Region,
        all: Option<Region>,
        root: u32,
    },
    /// Not in place.
    Alltoall {
        send: Region,
        recv: Region,
    },
    /// MPI_Scan, or MPI_Exscan if a member's own value is no part of its result; the same memory for MPI_IN_PLACE.
    Scan {
        value: Region,
        target: Region,
        op: Op,
        with_own: bool,
    },
    /// MPI_Reduce_scatter, or MPI_Reduce_scatter_block.
    ReduceScatter {
        dealing: Box<Dealing>,
        op: Op,
        is_block: bool,
    },
}

/// The collective itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Which {
    Barrier = 1,
    Bcast,
    Allreduce,
    Reduce,
    Allgather,
    Gather,
    Scatter,
    Alltoall,
    Scan,
    Exscan,
    ReduceScatterBlock,
    ReduceScatter,
}

impl Which {
    pub fn name(self) -> &'static str {
        match self {
            Which::Barrier => "barrier",
            Which::Bcast => "bcast",
            Which::Allreduce => "allreduce",
            Which::Reduce => "reduce",
            Which::Allgather => "allgather",
            Which::Gather => "gather",
            Which::Scatter => "scatter",
            Which::Alltoall => "alltoall",
            Which::Scan => "scan",
            Which::Exscan => "exscan",
            Which::ReduceScatterBlock => "reduce_scatter_block",
            Which::ReduceScatter => "reduce_scatter",
        }
    }

    /// What tells it from the others on a board.
    pub fn kind(self) -> u8 {
        self as u8
    }
}

impl Call {
    pub fn which(&self) -> Which {
        match self {
            Call::Barrier => Which::Barrier,
            Call::Bcast { .. } => Which::Bcast,
            Call::Allreduce { .. } => Which::Allreduce,
            Call::Reduce { .. } => Which::Reduce,
            Call::Allgather { .. } => Which::Allgather,
            Call::Gather { .. } => Which::Gather,
            Call::Scatter { .. } => Which::Scatter,
            Call::Alltoall { .. } => Which::Alltoall,
            Call::Scan { with_own: true, .. } => Which::Scan,
            Call::Scan { .. } => Which::Exscan,
            Call::ReduceScatter { is_block: true, .. } => Which::ReduceScatterBlock,
            Call::ReduceScatter { .. } => Which::ReduceScatter,
        }
    }

    pub fn name(&self) -> &'static str {
        self.which().name()
    }

    /// Bytes of the buffer, of one member's block, or of a value of which each member gets a part: what all members agree on.
    pub fn bytes(&self) -> u64 {
        match self {
            Call::Barrier => 0,
            Call::Bcast { data, .. } => data.bytes(),
            Call::Allreduce { value, .. } | Call::Reduce { value, .. } | Call::Scan { value, .. } => {
                value.bytes()
            }
            Call::Allgather { all, .. } => all.bytes(),
            Call::Gather { own, .. } | Call::Scatter { own, .. } => own.bytes(),
            Call::Alltoall { recv, .. } => recv.bytes(),
            Call::ReduceScatter { dealing, .. } => dealing.value.bytes(),
        }
    }

    /// The bytes that all members must agree on, if there are such.
    pub fn agreed_bytes(&self) -> Option<u64> {
        (!matches!(self, Call::Barrier)).then(|| self.bytes())
    }

    pub fn root(&self) -> Option<u32> {
        match self {
            Call::Bcast { root, .. }
            | Call::Reduce { root, .. }
            | Call::Gather { root, .. }
            | Call::Scatter { root, .. } => Some(*root),
            _ => None,
        }
    }
}

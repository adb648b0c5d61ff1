//! MPI_Reduce_scatter_block, MPI_Reduce_scatter and their non-blocking forms (sections 6.10, 6.12.10).

mod pairwise;
mod reduce_scatterv;

use smallvec::SmallVec;

use super::prelude::*;
use super::select::{ANY, Needs, Offer};

pub(super) const NAME: &str = "reduce_scatter";

/// What the algorithms are given.
pub(super) struct Dealing {
    /// This member's values for all members.
    pub value: Region,
    /// Where its own result goes: the start of `value` for MPI_IN_PLACE.
    pub target: Region,
    /// First element of each member's block, and the end of the last one.
    pub bounds: SmallVec<[u64; 17]>,
}

impl Dealing {
    /// The block of a member in a buffer that has all of them.
    pub fn block(&self, of: &Region, member: u32) -> Region {
        let (first, end) = (self.bounds[member as usize], self.bounds[member as usize + 1]);
        of.elements(first, end - first)
    }
}

type Build = fn(&mut Builder<'_>, &Dealing) -> Result<()>;

/// By the bytes of all blocks.
pub(super) const RULES: &[Rule<Build>] = &[
    Rule {
        name: "pairwise",
        bytes: Bound::Any,
        each: Bound::ReduceScatterRoundBytes,
        members: ANY,
        needs: Needs::Commutative,
        build: pairwise::build,
    },
    Rule {
        name: "reduce_scatterv",
        bytes: Bound::Any,
        each: Bound::Zero,
        members: (Bound::ReduceScatterTreeAbove, Bound::Any),
        needs: Needs::Nothing,
        build: reduce_scatterv::build,
    },
    Rule {
        name: "pairwise",
        bytes: Bound::Any,
        each: Bound::Zero,
        members: ANY,
        needs: Needs::Commutative,
        build: pairwise::build,
    },
    Rule {
        name: "reduce_scatterv",
        bytes: Bound::Any,
        each: Bound::Zero,
        members: ANY,
        needs: Needs::Nothing,
        build: reduce_scatterv::build,
    },
];

pub(crate) fn plan_block(
    shop: Workshop<'_>,
    send: Option<&SendBuffer>,
    recv: &RecvBuffer,
    op: &Op,
    comm: &Comm,
) -> Result<Steps> {
    let bounds = (0..=u64::from(comm.size())).map(|member| member * recv.count()).collect();
    build(shop, send, recv, bounds, op, comm)
}

pub(crate) fn plan(
    shop: Workshop<'_>,
    send: Option<&SendBuffer>,
    recv: &RecvBuffer,
    counts: &[u64],
    op: &Op,
    comm: &Comm,
) -> Result<Steps> {
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
    build(shop, send, recv, bounds, op, comm)
}

fn build(
    shop: Workshop<'_>,
    send: Option<&SendBuffer>,
    recv: &RecvBuffer,
    bounds: SmallVec<[u64; 17]>,
    op: &Op,
    comm: &Comm,
) -> Result<Steps> {
    op.check_reduction(recv.datatype())?;
    let (me, total) = (comm.rank() as usize, bounds[comm.size() as usize]);
    let result = Region::from(recv);
    let value = send.map_or_else(|| result.clone(), Region::from).elements(0, total);
    let dealing = Dealing { value, target: result.elements(0, bounds[me + 1] - bounds[me]), bounds };
    let mut b = Builder::new(shop, comm, NAME);
    b.set_op(op);
    b.all_agree_on(dealing.value.bytes());
    let offer = Offer::reduction(dealing.value.bytes(), comm.size(), op.is_commutative(), total);
    choose(shop, NAME, RULES, offer)(&mut b, &dealing)?;
    Ok(b.finish())
}

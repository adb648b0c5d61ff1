//! MPI_Reduce_scatter_block, MPI_Reduce_scatter and their non-blocking forms (sections 6.10, 6.12.10).

mod halving;
mod pairwise;
mod reduce_scatterv;

use super::prelude::*;
use super::select::{ANY, Needs, Offer};
use crate::schedule::Dealing;

pub(super) const NAME: &str = "reduce_scatter";

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
        name: "halving",
        bytes: Bound::Any,
        each: Bound::ReduceScatterRoundBytes,
        members: ANY,
        needs: Needs::Elements,
        build: halving::build,
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

pub(crate) fn plan(shop: Workshop<'_>, dealing: &Dealing, op: &Op, comm: &Comm) -> Result<Steps> {
    let mut b = Builder::new(shop, comm, NAME);
    b.set_op(op);
    let (bytes, total) = (dealing.value.bytes(), dealing.value.count());
    b.all_agree_on(bytes);
    let offer = Offer::reduction(bytes, comm.size(), op.is_commutative(), total).on(shop.fabric);
    choose(shop, NAME, RULES, offer)(&mut b, dealing)?;
    Ok(b.finish())
}

//! MPI_Allreduce and MPI_Iallreduce (sections 6.9.6 and 6.12.9).

mod doubling;
mod halving_doubling;
mod tree;

use super::prelude::*;
use super::select::{ANY, Needs, Offer};

pub(super) const NAME: &str = "allreduce";

/// (value, where the result goes); the same memory for MPI_IN_PLACE.
type Build = fn(&mut Builder<'_>, &Region, &Region) -> Result<()>;

pub(super) const RULES: &[Rule<Build>] = &[
    Rule {
        name: "recursive_doubling",
        bytes: Bound::AllreduceShortBytes,
        each: Bound::Zero,
        members: (Bound::Zero, Bound::AllreduceExchangeMembers),
        needs: Needs::Nothing,
        build: doubling::build,
    },
    Rule {
        name: "tree",
        bytes: Bound::AllreduceShortBytes,
        each: Bound::Zero,
        members: ANY,
        needs: Needs::Nothing,
        build: tree::build,
    },
    Rule {
        name: "halving_doubling",
        bytes: Bound::Any,
        each: Bound::Zero,
        members: ANY,
        needs: Needs::Elements,
        build: halving_doubling::build,
    },
    Rule {
        name: "recursive_doubling",
        bytes: Bound::Any,
        each: Bound::Zero,
        members: ANY,
        needs: Needs::Nothing,
        build: doubling::build,
    },
];

pub(crate) fn plan(
    shop: Workshop<'_>,
    value: &Region,
    target: &Region,
    op: &Op,
    comm: &Comm,
) -> Result<Steps> {
    let mut b = Builder::new(shop, comm, NAME);
    b.set_op(op);
    b.all_agree_on(value.bytes());
    let offer = Offer::reduction(value.bytes(), comm.size(), op.is_commutative(), value.count());
    choose(shop, NAME, RULES, offer)(&mut b, value, target)?;
    Ok(b.finish())
}

/// Writes an in-place all-reduction of library memory into a schedule whose operation is set.
pub(crate) fn write_small(b: &mut Builder<'_>, region: &Region) -> Result<()> {
    doubling::build(b, region, region)
}

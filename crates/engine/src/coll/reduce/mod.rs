//! MPI_Reduce and MPI_Ireduce (sections 6.9.1 and 6.12.8).

pub(super) mod binomial;
mod halving_gather;
pub(super) mod ordered;

use super::prelude::*;
use super::select::{ANY, Needs, Offer};

pub(super) const NAME: &str = "reduce";

/// What the algorithms are given.
pub(crate) struct Reduction {
    /// This member's value.
    pub value: Region,
    /// Where the root wants the result; the same memory as `value` for MPI_IN_PLACE. `None` at the others.
    pub target: Option<Region>,
    pub root: u32,
}

type Build = fn(&mut Builder<'_>, &Reduction) -> Result<()>;

pub(super) const RULES: &[Rule<Build>] = &[
    Rule {
        name: "binomial",
        bytes: Bound::ReduceTreeBytes,
        each: Bound::Zero,
        members: ANY,
        needs: Needs::Commutative,
        build: binomial::build,
    },
    Rule {
        name: "ordered",
        bytes: Bound::ReduceTreeBytes,
        each: Bound::Zero,
        members: ANY,
        needs: Needs::Nothing,
        build: ordered::build,
    },
    Rule {
        name: "halving_gather",
        bytes: Bound::Any,
        each: Bound::Zero,
        members: (Bound::ReduceHalvingAbove, Bound::ReduceHalvingMembers),
        needs: Needs::Elements,
        build: halving_gather::build,
    },
    Rule {
        name: "binomial",
        bytes: Bound::Any,
        each: Bound::Zero,
        members: ANY,
        needs: Needs::Commutative,
        build: binomial::build,
    },
    Rule {
        name: "ordered",
        bytes: Bound::Any,
        each: Bound::Zero,
        members: ANY,
        needs: Needs::Nothing,
        build: ordered::build,
    },
];

pub(crate) fn plan(shop: Workshop<'_>, reduction: &Reduction, op: &Op, comm: &Comm) -> Result<Steps> {
    let mut b = Builder::new(shop, comm, NAME);
    b.set_op(op);
    b.all_agree_on(reduction.value.bytes());
    write(&mut b, reduction)?;
    Ok(b.finish())
}

/// Writes it into a schedule that may have other parts, and has an operation.
pub(super) fn write(b: &mut Builder<'_>, reduction: &Reduction) -> Result<()> {
    let value = &reduction.value;
    let offer =
        Offer::reduction(value.bytes(), b.size, b.is_commutative(), value.count()).on(b.shop().fabric);
    choose(b.shop(), NAME, RULES, offer)(b, reduction)
}

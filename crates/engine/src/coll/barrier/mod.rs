//! MPI_Barrier and MPI_Ibarrier (sections 6.3 and 6.12.1).

mod dissemination;
mod tree;

use super::prelude::*;
use super::select::{ANY, Needs, Offer};

pub(crate) const NAME: &str = "barrier";

type Build = fn(&mut Builder<'_>);

pub(super) const RULES: &[Rule<Build>] = &[
    Rule {
        name: "dissemination",
        bytes: Bound::Any,
        each: Bound::Zero,
        members: (Bound::Zero, Bound::BarrierExchangeMembers),
        needs: Needs::Nothing,
        build: dissemination::build,
    },
    Rule {
        name: "tree",
        bytes: Bound::Any,
        each: Bound::Zero,
        members: ANY,
        needs: Needs::Nothing,
        build: tree::build,
    },
];

pub(crate) fn plan(shop: Workshop<'_>, comm: &Comm) -> Result<Steps> {
    let mut b = Builder::new(shop, comm, NAME);
    choose(shop, NAME, RULES, Offer::data(0, comm.size()))(&mut b);
    Ok(b.finish())
}

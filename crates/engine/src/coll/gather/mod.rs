//! MPI_Gather and MPI_Igather (sections 6.5 and 6.12.3).

pub(super) mod binomial;
mod linear;

use super::arguments;
use super::blocks::{Blocks, Build};
use super::prelude::*;
use super::select::{ANY, Needs};

pub(super) const NAME: &str = "gather";

pub(super) const RULES: &[Rule<Build>] = &[
    Rule {
        name: "binomial",
        bytes: Bound::GatherTreeBytes,
        each: Bound::Zero,
        members: (Bound::GatherTreeAbove, Bound::Any),
        needs: Needs::Nothing,
        build: binomial::build,
    },
    Rule {
        name: "linear",
        bytes: Bound::Any,
        each: Bound::Zero,
        members: ANY,
        needs: Needs::Nothing,
        build: linear::build,
    },
];

pub(crate) fn plan(shop: Workshop<'_>, blocks: &Blocks, comm: &Comm) -> Result<Steps> {
    let mismatch =
        blocks.all.as_ref().and_then(|all| arguments::own_block(blocks.own.bytes(), all.bytes(), comm));
    blocks.plan(shop, comm, (NAME, RULES), mismatch)
}

//! MPI_Scatter and MPI_Iscatter (sections 6.6 and 6.12.4).

mod binomial;
mod linear;

use super::arguments;
use super::blocks::{Blocks, Build};
use super::prelude::*;
use super::select::{ANY, Needs};

pub(super) const NAME: &str = "scatter";

pub(super) const RULES: &[Rule<Build>] = &[
    Rule {
        name: "binomial",
        bytes: Bound::ScatterTreeBytes,
        each: Bound::Zero,
        members: (Bound::ScatterTreeAbove, Bound::Any),
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
        blocks.all.as_ref().and_then(|all| arguments::own_block(all.bytes(), blocks.own.bytes(), comm));
    blocks.plan(shop, comm, (NAME, RULES), mismatch)
}

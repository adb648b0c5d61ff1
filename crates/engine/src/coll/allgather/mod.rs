//! MPI_Allgather and MPI_Iallgather (sections 6.7 and 6.12.5).

mod bruck;
mod doubling;
mod ring;
mod tree;

use super::arguments;
use super::prelude::*;
use super::select::{ANY, Needs, Offer};

pub(super) const NAME: &str = "allgather";

/// (this member's block, one block of the result); the first lies in the result for MPI_IN_PLACE.
type Build = fn(&mut Builder<'_>, &Region, &Region) -> Result<()>;

/// By the bytes of the whole result.
pub(super) const RULES: &[Rule<Build>] = &[
    Rule {
        name: "recursive_doubling",
        bytes: Bound::AllgatherExchangeBytes,
        each: Bound::Zero,
        members: (Bound::Zero, Bound::AllgatherExchangeMembers),
        needs: Needs::PowerOfTwo,
        build: doubling::build,
    },
    Rule {
        name: "bruck",
        bytes: Bound::AllgatherExchangeBytes,
        each: Bound::Zero,
        members: (Bound::Zero, Bound::AllgatherExchangeMembers),
        needs: Needs::Nothing,
        build: bruck::build,
    },
    Rule {
        name: "ring",
        bytes: Bound::Any,
        each: Bound::AllgatherRoundBytes,
        members: ANY,
        needs: Needs::Nothing,
        build: ring::build,
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

pub(crate) fn plan(shop: Workshop<'_>, own: &Region, all: &Region, comm: &Comm) -> Result<Steps> {
    let mut b = Builder::new(shop, comm, NAME);
    b.fail(arguments::own_block(own.bytes(), all.bytes(), comm));
    b.all_agree_on(all.bytes());
    write(&mut b, own, all)?;
    Ok(b.finish())
}

/// Writes it into a schedule that may have other parts.
pub(crate) fn write(b: &mut Builder<'_>, own: &Region, all: &Region) -> Result<()> {
    let offer = Offer::data(all.bytes() * u64::from(b.size), b.size);
    choose(b.shop(), NAME, RULES, offer)(b, own, all)
}

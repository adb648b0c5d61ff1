//! MPI_Bcast and MPI_Ibcast (sections 6.4 and 6.12.2).

pub(crate) mod binomial;
mod multicast;
mod scatter_ring;

use super::prelude::*;
use super::select::{ANY, Needs, Offer};

pub(super) const NAME: &str = "bcast";

type Build = fn(&mut Builder<'_>, &Region, u32) -> Result<()>;

pub(super) const RULES: &[Rule<Build>] = &[
    Rule {
        name: "multicast",
        bytes: Bound::Any,
        each: Bound::Zero,
        members: ANY,
        needs: Needs::Multicast,
        build: multicast::build,
    },
    Rule {
        name: "binomial",
        bytes: Bound::BcastTreeBytes,
        each: Bound::Zero,
        members: ANY,
        needs: Needs::Nothing,
        build: binomial::build,
    },
    Rule {
        name: "scatter_ring",
        bytes: Bound::Any,
        each: Bound::Zero,
        members: (Bound::BcastRingAbove, Bound::BcastRingMembers),
        needs: Needs::Nothing,
        build: scatter_ring::build,
    },
    Rule {
        name: "scatter_ring",
        bytes: Bound::Any,
        each: Bound::BcastRoundBytes,
        members: (Bound::BcastRingAbove, Bound::Any),
        needs: Needs::Nothing,
        build: scatter_ring::build,
    },
    Rule {
        name: "binomial",
        bytes: Bound::Any,
        each: Bound::Zero,
        members: ANY,
        needs: Needs::Nothing,
        build: binomial::build,
    },
];

pub(crate) fn plan(shop: Workshop<'_>, data: &Region, root: u32, comm: &Comm) -> Result<Steps> {
    let mut b = Builder::new(shop, comm, NAME);
    b.all_agree_on(data.bytes());
    write(&mut b, data, root)?;
    Ok(b.finish())
}

/// Writes it into a schedule that may have other parts.
pub(super) fn write(b: &mut Builder<'_>, region: &Region, root: u32) -> Result<()> {
    let reach = multicast::reach(b, region.bytes(), root);
    let offer = Offer { reach, ..Offer::data(region.bytes(), b.size) };
    choose(b.shop(), NAME, RULES, offer)(b, region, root)
}

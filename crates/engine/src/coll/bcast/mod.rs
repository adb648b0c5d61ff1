//! MPI_Bcast and MPI_Ibcast (sections 6.4 and 6.12.2).

pub(crate) mod binomial;
mod scatter_ring;

use super::prelude::*;
use super::select::{ANY, Needs, Offer};

pub(super) const NAME: &str = "bcast";

type Build = fn(&mut Builder<'_>, &Region, u32) -> Result<()>;

pub(super) const RULES: &[Rule<Build>] = &[
    Rule { name: "binomial", bytes: 512 << 10, members: ANY, needs: Needs::Nothing, build: binomial::build },
    Rule {
        name: "scatter_ring",
        bytes: u64::MAX,
        members: (8, 64),
        needs: Needs::Nothing,
        build: scatter_ring::build,
    },
    Rule { name: "binomial", bytes: u64::MAX, members: ANY, needs: Needs::Nothing, build: binomial::build },
];

pub(crate) fn plan(rank: &Rank, buffer: &RecvBuffer, root: u32, comm: &Comm) -> Result<Steps> {
    super::check_root(root, comm)?;
    let mut b = Builder::new(rank, comm, NAME);
    b.all_agree_on(buffer.bytes());
    write(rank, &mut b, &Region::from(buffer), root)?;
    Ok(b.finish())
}

/// Writes it into a schedule that may have other parts.
pub(super) fn write(rank: &Rank, b: &mut Builder<'_>, region: &Region, root: u32) -> Result<()> {
    choose(rank, NAME, RULES, Offer::data(region.bytes(), b.size))(b, region, root)
}

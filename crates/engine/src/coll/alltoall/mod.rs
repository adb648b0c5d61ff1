//! MPI_Alltoall and MPI_Ialltoall (sections 6.8 and 6.12.6).

mod bruck;
mod direct;
mod pairwise;

use super::arguments;
use super::prelude::*;
use super::select::{ANY, Needs, Offer};

pub(super) const NAME: &str = "alltoall";

/// (one block to send, one block to receive), from which [`Region::block`] gives the others.
type Build = fn(&mut Builder<'_>, &Region, &Region) -> Result<()>;

/// By the bytes of a block.
pub(super) const RULES: &[Rule<Build>] = &[
    Rule {
        name: "bruck",
        bytes: Bound::AlltoallBruckBytes,
        each: Bound::Zero,
        members: (Bound::AlltoallBruckAbove, Bound::Any),
        needs: Needs::Nothing,
        build: bruck::build,
    },
    Rule {
        name: "direct",
        bytes: Bound::AlltoallDirectBytes,
        each: Bound::Zero,
        members: (Bound::Zero, Bound::AlltoallDirectMembers),
        needs: Needs::Nothing,
        build: direct::build,
    },
    Rule {
        name: "pairwise",
        bytes: Bound::Any,
        each: Bound::Zero,
        members: ANY,
        needs: Needs::Nothing,
        build: pairwise::build,
    },
];

pub(crate) fn plan(
    shop: Workshop<'_>,
    source: Option<&Region>,
    target: &Region,
    comm: &Comm,
) -> Result<Steps> {
    let mut b = Builder::new(shop, comm, NAME);
    b.all_agree_on(target.bytes());
    let source = match source {
        Some(source) => {
            b.fail(arguments::own_block(source.bytes(), target.bytes(), comm));
            source.clone()
        }
        None => {
            // In place: what arrives goes where what leaves lies, so that is set aside first.
            let bytes = target.bytes();
            let aside = b.scratch_bytes(bytes * u64::from(b.size))?;
            b.copy(&target.blocks(0, b.size), &aside);
            aside.elements(0, bytes)
        }
    };
    choose(shop, NAME, RULES, Offer::data(target.bytes(), comm.size()))(&mut b, &source, target)?;
    Ok(b.finish())
}

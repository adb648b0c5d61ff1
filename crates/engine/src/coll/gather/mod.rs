//! MPI_Gather and MPI_Igather (sections 6.5 and 6.12.3).

pub(super) mod binomial;
mod linear;

use super::arguments;
use super::prelude::*;
use super::select::{ANY, Needs, Offer};

pub(super) const NAME: &str = "gather";

/// What the algorithms are given.
pub(super) struct Gathering {
    /// This member's block; at the root its place in `all` for MPI_IN_PLACE.
    pub own: Region,
    /// At the root: one block, from which [`Region::block`] gives the others.
    pub all: Option<Region>,
    pub root: u32,
}

type Build = fn(&mut Builder<'_>, &Gathering) -> Result<()>;

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

pub(crate) fn plan(
    shop: Workshop<'_>,
    send: Option<&SendBuffer>,
    recv: Option<&RecvBuffer>,
    root: u32,
    comm: &Comm,
) -> Result<Steps> {
    arguments::check_root(root, comm)?;
    let mut mismatch = None;
    let gathering = if comm.rank() == root {
        let all = Region::from(recv.ok_or_else(arguments::missing_at_root)?);
        let own = match send {
            Some(send) => {
                mismatch = arguments::own_block(send.bytes(), all.bytes(), comm);
                Region::from(send)
            }
            None => all.block(root),
        };
        Gathering { own, all: Some(all), root }
    } else {
        Gathering { own: Region::from(send.ok_or_else(arguments::in_place_off_root)?), all: None, root }
    };
    let mut b = Builder::new(shop, comm, NAME);
    b.fail(mismatch);
    b.all_agree_on(gathering.own.bytes());
    let build = choose(shop, NAME, RULES, Offer::data(gathering.own.bytes(), comm.size()));
    build(&mut b, &gathering)?;
    Ok(b.finish())
}

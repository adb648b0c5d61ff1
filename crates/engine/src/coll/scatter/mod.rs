//! MPI_Scatter and MPI_Iscatter (sections 6.6 and 6.12.4).

mod binomial;
mod linear;

use super::arguments;
use super::prelude::*;
use super::select::{ANY, Needs, Offer};

pub(super) const NAME: &str = "scatter";

/// What the algorithms are given.
pub(super) struct Scattering {
    /// Where this member's block goes; at the root its place in `all` for MPI_IN_PLACE.
    pub own: Region,
    /// At the root: one block, from which [`Region::block`] gives the others.
    pub all: Option<Region>,
    pub root: u32,
}

type Build = fn(&mut Builder<'_>, &Scattering) -> Result<()>;

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

pub(crate) fn plan(
    shop: Workshop<'_>,
    send: Option<&SendBuffer>,
    recv: Option<&RecvBuffer>,
    root: u32,
    comm: &Comm,
) -> Result<Steps> {
    arguments::check_root(root, comm)?;
    let mut mismatch = None;
    let scattering = if comm.rank() == root {
        let all = Region::from(send.ok_or_else(arguments::missing_at_root)?);
        let own = match recv {
            Some(recv) => {
                mismatch = arguments::own_block(all.bytes(), recv.bytes(), comm);
                Region::from(recv)
            }
            None => all.block(root),
        };
        Scattering { own, all: Some(all), root }
    } else {
        Scattering { own: Region::from(recv.ok_or_else(arguments::in_place_off_root)?), all: None, root }
    };
    let mut b = Builder::new(shop, comm, NAME);
    b.fail(mismatch);
    b.all_agree_on(scattering.own.bytes());
    let build = choose(shop, NAME, RULES, Offer::data(scattering.own.bytes(), comm.size()));
    build(&mut b, &scattering)?;
    Ok(b.finish())
}

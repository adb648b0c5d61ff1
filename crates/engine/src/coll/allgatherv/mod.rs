//! MPI_Allgatherv and MPI_Iallgatherv (sections 6.7 and 6.12.5). All members know all lengths.

mod gather_bcast;
mod ring;

use smallvec::SmallVec;

use super::arguments;
use super::prelude::*;
use super::select::{ANY, Needs, Offer};

pub(super) const NAME: &str = "allgatherv";

/// The places of all members' parts.
pub(super) type Places = SmallVec<[Region; 16]>;

type Build = fn(&mut Builder<'_>, &Places) -> Result<()>;

/// By the bytes of the whole result. For many members a ring has many rounds, and more messages than what it saves of scratch memory is worth
/// below a MiB.
pub(super) const RULES: &[Rule<Build>] = &[
    Rule {
        name: "ring",
        bytes: Bound::Any,
        each: Bound::AllgathervRoundBytes,
        members: ANY,
        needs: Needs::Nothing,
        build: ring::build,
    },
    Rule {
        name: "gather_bcast",
        bytes: Bound::Any,
        each: Bound::Zero,
        members: (Bound::AllgathervTreeAbove, Bound::Any),
        needs: Needs::Nothing,
        build: gather_bcast::build,
    },
    Rule {
        name: "ring",
        bytes: Bound::Any,
        each: Bound::Zero,
        members: ANY,
        needs: Needs::Nothing,
        build: ring::build,
    },
];

pub(crate) fn plan(
    shop: Workshop<'_>,
    send: Option<&SendBuffer>,
    recv: &RecvParts<'_>,
    comm: &Comm,
) -> Result<Steps> {
    recv.check(comm.size())?;
    let places: Places = (0..comm.size()).map(|member| Region::from(&recv.part(member))).collect();
    let mut b = Builder::new(shop, comm, NAME);
    if let Some(send) = send {
        let own = &places[b.me as usize];
        b.fail(arguments::own_block(send.bytes(), own.bytes(), comm));
        b.copy(&Region::from(send), own);
    }
    let total = places.iter().map(Region::bytes).sum();
    choose(shop, NAME, RULES, Offer::data(total, comm.size()))(&mut b, &places)?;
    Ok(b.finish())
}

//! Both groups send to each other (sections 6.7 and 6.8).
//!
//! All-gather: each member sends its part to the remote leader, who knows all lengths and broadcasts what came. Cost: one round and the rounds of a
//! broadcast among p members; n bytes and p messages sent more by the leader. All-to-all: each exchanges with each across, in rounds in which
//! everybody has one partner at most: max(p, q) of them, a few at a time. No scratch but for parts that do not lie in one piece.

use super::*;
use crate::coll::alltoallv::WINDOW;
use crate::coll::bcast as within;

pub(crate) fn allgather(
    shop: Workshop<'_>,
    send: Option<&SendBuffer>,
    recv: &RecvBuffer,
    comm: &Comm,
) -> Result<Steps> {
    let (own, sides) = (Region::from(given(send)?), Sides::of(comm));
    let mut b = builder(shop, comm, "allgather");
    let all = Region::from(recv);
    to_leader(&mut b, &sides, &own, comm, |member| all.block(member));
    let all = all.blocks(0, comm.peers().size());
    b.among(sides.local, sides.members, &|b| within::write(b, &all, 0))?;
    Ok(b.finish())
}

pub(crate) fn allgatherv(
    shop: Workshop<'_>,
    send: Option<&SendBuffer>,
    recv: &RecvParts<'_>,
    comm: &Comm,
) -> Result<Steps> {
    recv.check(comm.peers().size())?;
    let (own, sides) = (Region::from(given(send)?), Sides::of(comm));
    let mut b = builder(shop, comm, "allgatherv");
    // Packed, so that the leader passes on one piece.
    let parts = || (0..comm.peers().size()).map(|member| Region::from(&recv.part(member)));
    let packed = b.scratch_bytes(parts().map(|part| part.bytes()).sum())?;
    let starts: smallvec::SmallVec<[u64; 16]> = parts()
        .scan(0, |next, part| {
            let start = *next;
            *next += part.bytes();
            Some(start)
        })
        .collect();
    let place = |member: u32, part: &Region| packed.elements(starts[member as usize], part.bytes());
    to_leader(&mut b, &sides, &own, comm, |member| place(member, &Region::from(&recv.part(member))));
    b.among(sides.local, sides.members, &|b| within::write(b, &packed, 0))?;
    b.wait();
    for (member, part) in parts().enumerate() {
        b.copy(&place(member as u32, &part), &part);
    }
    Ok(b.finish())
}

/// Each member sends its part to the remote leader.
fn to_leader(b: &mut Builder<'_>, sides: &Sides, own: &Region, comm: &Comm, place: impl Fn(u32) -> Region) {
    if sides.leads(b) {
        for member in 0..comm.peers().size() {
            b.receive(sides.remote + member, &place(member));
        }
    }
    b.send(sides.remote, own);
    b.wait();
}

pub(crate) fn alltoall(
    shop: Workshop<'_>,
    send: Option<&SendBuffer>,
    recv: &RecvBuffer,
    comm: &Comm,
) -> Result<Steps> {
    let (leaving, coming) = (Region::from(given(send)?), Region::from(recv));
    Ok(cross(shop, comm, "alltoall", |member| leaving.block(member), |member| coming.block(member)))
}

pub(crate) fn alltoallv(
    shop: Workshop<'_>,
    send: Option<&SendParts<'_>>,
    recv: &RecvParts<'_>,
    comm: &Comm,
) -> Result<Steps> {
    let send = given(send)?;
    send.check(comm.peers().size())?;
    recv.check(comm.peers().size())?;
    let (leaving, coming) =
        (|member| Region::from(&send.part(member)), |member| Region::from(&recv.part(member)));
    Ok(cross(shop, comm, "alltoallv", leaving, coming))
}

/// Exchanges a part with each member across.
fn cross(
    shop: Workshop<'_>,
    comm: &Comm,
    name: &'static str,
    leaving: impl Fn(u32) -> Region,
    coming: impl Fn(u32) -> Region,
) -> Steps {
    let mut b = builder(shop, comm, name);
    let (p, q, across) = (comm.size(), comm.peers().size(), comm.places().1);
    let rounds = p.max(q);
    for round in 0..rounds {
        // The ranks of partners add up to the round: so both meet in the same one.
        let partner = (round + rounds - comm.rank()) % rounds;
        if partner < q {
            b.receive(across + partner, &coming(partner));
            b.send(across + partner, &leaving(partner));
        }
        if (round + 1) % WINDOW == 0 {
            b.wait();
        }
    }
    b.finish()
}

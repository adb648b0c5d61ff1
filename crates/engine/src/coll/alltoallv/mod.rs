//! MPI_Alltoallv, MPI_Alltoallw and their non-blocking forms (sections 6.8, 6.12.6 and 6.12.7).
//!
//! Pairwise: to the member i places ahead and from the one i places behind. Cost: p - 1 messages less the empty ones, in rounds of
//! four. No restrictions; scratch for all parts if in place.

use smallvec::SmallVec;

use super::arguments;
use super::prelude::*;

/// Exchanges under way at a time: enough to hide the hand-shake of large messages, few enough to bound their number.
pub(crate) const WINDOW: u32 = 4;

pub(crate) fn plan(
    shop: Workshop<'_>,
    send: Option<&SendParts<'_>>,
    recv: &RecvParts<'_>,
    comm: &Comm,
) -> Result<Steps> {
    recv.check(comm.size())?;
    let mut b = Builder::new(shop, comm, "alltoallv");
    let target = |member| Region::from(&recv.part(member));
    if let Some(send) = send {
        send.check(comm.size())?;
        let own = send.part(b.me);
        b.fail(arguments::own_block(own.bytes(), recv.part(b.me).bytes(), comm));
        exchange(&mut b, WINDOW, |member| Region::from(&send.part(member)), target);
        return Ok(b.finish());
    }
    // In place: what arrives goes where what leaves lies, so that is set aside first.
    let total = (0..b.size).map(|member| recv.part(member).bytes()).sum();
    let aside = b.scratch_bytes(total)?;
    let mut offset = 0;
    let mut parts: SmallVec<[Region; 16]> = SmallVec::new();
    for member in 0..b.size {
        let place = target(member);
        let part = aside.elements(offset, place.bytes());
        offset += place.bytes();
        b.copy(&place, &part);
        parts.push(part);
    }
    exchange(&mut b, WINDOW, |member| parts[member as usize].clone(), target);
    Ok(b.finish())
}

/// Exchanges a part with every member, `window` of them at a time.
pub(crate) fn exchange(
    b: &mut Builder<'_>,
    window: u32,
    source: impl Fn(u32) -> Region,
    target: impl Fn(u32) -> Region,
) {
    let (p, me) = (b.size, b.me);
    b.copy(&source(me), &target(me));
    for distance in 1..p {
        let from = (me + p - distance) % p;
        let to = (me + distance) % p;
        b.receive(from, &target(from));
        b.send(to, &source(to));
        if distance % window == 0 {
            b.wait();
        }
    }
}

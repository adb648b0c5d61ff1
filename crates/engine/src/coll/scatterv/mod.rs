//! MPI_Scatterv and MPI_Iscatterv (sections 6.6 and 6.12.4): only the root knows the lengths, so no member can deal out for others.
//!
//! Linear. Cost: one round; the root sends p - 1 messages. No restrictions.

use super::arguments;
use super::prelude::*;

pub(crate) fn plan(
    shop: Workshop<'_>,
    send: Option<&SendParts<'_>>,
    recv: Option<&RecvBuffer>,
    root: u32,
    comm: &Comm,
) -> Result<Steps> {
    arguments::check_root(root, comm)?;
    let mut b = Builder::new(shop, comm, "scatterv");
    if comm.rank() != root {
        b.receive(root, &Region::from(recv.ok_or_else(arguments::in_place_off_root)?));
        return Ok(b.finish());
    }
    let parts = send.ok_or_else(arguments::missing_at_root)?;
    parts.check(comm.size())?;
    if let Some(recv) = recv {
        let own = parts.part(root);
        b.fail(arguments::own_block(own.bytes(), recv.bytes(), comm));
        b.copy(&Region::from(&own), &Region::from(recv));
    }
    for member in (0..comm.size()).filter(|member| *member != root) {
        b.send(member, &Region::from(&parts.part(member)));
    }
    Ok(b.finish())
}

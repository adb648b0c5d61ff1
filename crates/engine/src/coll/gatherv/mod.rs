//! MPI_Gatherv and MPI_Igatherv (sections 6.5 and 6.12.3): only the root knows the lengths, so no member can pass on what others send.
//!
//! Linear. Cost: one round; each member sends its part, the root receives p - 1 messages at once. No restrictions.

use super::arguments;
use super::prelude::*;

pub(crate) fn plan(
    shop: Workshop<'_>,
    send: Option<&SendBuffer>,
    recv: Option<&RecvParts<'_>>,
    root: u32,
    comm: &Comm,
) -> Result<Steps> {
    arguments::check_root(root, comm)?;
    let mut b = Builder::new(shop, comm, "gatherv");
    if comm.rank() != root {
        b.send(root, &Region::from(send.ok_or_else(arguments::in_place_off_root)?));
        return Ok(b.finish());
    }
    let parts = recv.ok_or_else(arguments::missing_at_root)?;
    parts.check(comm.size())?;
    if let Some(send) = send {
        let own = parts.part(root);
        b.fail(arguments::own_block(send.bytes(), own.bytes(), comm));
        b.copy(&Region::from(send), &Region::from(&own));
    }
    for member in (0..comm.size()).filter(|member| *member != root) {
        b.receive(member, &Region::from(&parts.part(member)));
    }
    Ok(b.finish())
}

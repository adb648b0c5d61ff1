//! One process of a group sends to all of the other group, or receives from them (sections 6.4 to 6.6).
//!
//! Broadcast: one message to the leader, who passes it on in its group. Cost: 1 + the rounds of a broadcast among q members. The others are
//! linear: q messages, because what the root has for each goes once, straight to where it belongs.

use super::*;
use crate::coll::bcast as within;

pub(crate) fn bcast(shop: Workshop<'_>, buffer: &RecvBuffer, root: Root, comm: &Comm) -> Result<Steps> {
    let (role, sides) = (role(root, comm)?, Sides::of(comm));
    let mut b = builder(shop, comm, "bcast");
    let region = Region::from(buffer);
    match role {
        Role::Root => b.send(sides.remote, &region),
        Role::Beside => {}
        Role::Across(root) => {
            if sides.leads(&b) {
                b.receive(root, &region);
                b.wait();
            }
            b.among(sides.local, sides.members, &|b| within::write(b, &region, 0))?;
        }
    }
    Ok(b.finish())
}

/// A gather, or else a scatter: `own` is the block of a member across, `all` the first of the blocks at the root.
pub(crate) fn gather_or_scatter(
    shop: Workshop<'_>,
    gathers: bool,
    own: Option<Region>,
    all: Option<Region>,
    root: Root,
    comm: &Comm,
) -> Result<Steps> {
    let block = match role(root, comm)? {
        Role::Root => Some(given(all)?),
        _ => None,
    };
    let part = |member| block.as_ref().map(|block| block.block(member));
    let name = if gathers { "gather" } else { "scatter" };
    pass(shop, comm, (name, gathers), root, own, &part)
}

pub(crate) fn gatherv(
    shop: Workshop<'_>,
    send: Option<&SendBuffer>,
    recv: Option<&RecvParts<'_>>,
    root: Root,
    comm: &Comm,
) -> Result<Steps> {
    if root == Root::Me {
        given(recv)?.check(comm.peers().size())?;
    }
    let part = |member| recv.map(|parts| Region::from(&parts.part(member)));
    pass(shop, comm, ("gatherv", true), root, send.map(Region::from), &part)
}

pub(crate) fn scatterv(
    shop: Workshop<'_>,
    send: Option<&SendParts<'_>>,
    recv: Option<&RecvBuffer>,
    root: Root,
    comm: &Comm,
) -> Result<Steps> {
    if root == Root::Me {
        given(send)?.check(comm.peers().size())?;
    }
    let part = |member| send.map(|parts| Region::from(&parts.part(member)));
    pass(shop, comm, ("scatterv", false), root, recv.map(Region::from), &part)
}

/// Everybody across sends its own to the root, where each has a part, or else receives that.
fn pass(
    shop: Workshop<'_>,
    comm: &Comm,
    (name, gathers): (&'static str, bool),
    root: Root,
    own: Option<Region>,
    part: &dyn Fn(u32) -> Option<Region>,
) -> Result<Steps> {
    let role = role(root, comm)?;
    let mut b = builder(shop, comm, name);
    let mut step = |sends, other, region: &Region| {
        if sends { b.send(other, region) } else { b.receive(other, region) }
    };
    match role {
        Role::Root => {
            for (member, region) in
                (0..comm.peers().size()).filter_map(|member| Some((member, part(member)?)))
            {
                step(!gathers, comm.places().1 + member, &region);
            }
        }
        Role::Beside => {}
        Role::Across(root) => step(gathers, root, &given(own)?),
    }
    Ok(b.finish())
}

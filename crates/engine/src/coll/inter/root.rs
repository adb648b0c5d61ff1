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

pub(crate) fn gather(
    shop: Workshop<'_>,
    send: Option<&SendBuffer>,
    recv: Option<&RecvBuffer>,
    root: Root,
    comm: &Comm,
) -> Result<Steps> {
    let block = match role(root, comm)? {
        Role::Root => Some(Region::from(given(recv)?)),
        _ => None,
    };
    let part = |member| block.as_ref().map(|block| block.block(member));
    collect(shop, comm, "gather", root, send, part)
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
    collect(shop, comm, "gatherv", root, send, part)
}

/// Everybody across sends to the root.
fn collect(
    shop: Workshop<'_>,
    comm: &Comm,
    name: &'static str,
    root: Root,
    send: Option<&SendBuffer>,
    part: impl Fn(u32) -> Option<Region>,
) -> Result<Steps> {
    let role = role(root, comm)?;
    let mut b = builder(shop, comm, name);
    match role {
        Role::Root => {
            for (member, region) in
                (0..comm.peers().size()).filter_map(|member| Some((member, part(member)?)))
            {
                b.receive(comm.places().1 + member, &region);
            }
        }
        Role::Beside => {}
        Role::Across(root) => b.send(root, &Region::from(given(send)?)),
    }
    Ok(b.finish())
}

pub(crate) fn scatter(
    shop: Workshop<'_>,
    send: Option<&SendBuffer>,
    recv: Option<&RecvBuffer>,
    root: Root,
    comm: &Comm,
) -> Result<Steps> {
    let block = match role(root, comm)? {
        Role::Root => Some(Region::from(given(send)?)),
        _ => None,
    };
    let part = |member| block.as_ref().map(|block| block.block(member));
    deal(shop, comm, "scatter", root, part, recv)
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
    deal(shop, comm, "scatterv", root, part, recv)
}

/// The root sends to everybody across.
fn deal(
    shop: Workshop<'_>,
    comm: &Comm,
    name: &'static str,
    root: Root,
    part: impl Fn(u32) -> Option<Region>,
    recv: Option<&RecvBuffer>,
) -> Result<Steps> {
    let role = role(root, comm)?;
    let mut b = builder(shop, comm, name);
    match role {
        Role::Root => {
            for (member, region) in
                (0..comm.peers().size()).filter_map(|member| Some((member, part(member)?)))
            {
                b.send(comm.places().1 + member, &region);
            }
        }
        Role::Beside => {}
        Role::Across(root) => b.receive(root, &Region::from(given(recv)?)),
    }
    Ok(b.finish())
}

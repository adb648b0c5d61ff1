//! Multicast: the root sends once, the network copies on the way to one member of every other cluster, and these pass the data on inside theirs.
//!
//! Cost, for members in c clusters, at most m in one: short data takes the letters of one message; longer data c - 1 words to the root, which say where it may
//! write, and one put of n bytes. Then ceil(log2 m) rounds inside the clusters. The network carries n bytes over each link once.
//!
//! Restrictions: a network with multicast; all members of a communicator, in two clusters at least, and no more than one multicast reaches. Data with gaps is packed
//! into n bytes of scratch at the root and at the members that it sends to.

use alloc::boxed::Box;
use alloc::vec::Vec;

use fabric::{MulticastLaws, Route};

use super::binomial;
use crate::coll::prelude::*;
use crate::coll::select::Reach;
use crate::schedule::{Spread, Step, WORD_BYTES};

/// A cluster, and the member of it that gets the data first.
struct Cluster {
    number: u32,
    leader: u32,
}

/// Whether multicast reaches all members, and whether it takes less time than a tree of messages between their clusters.
pub(super) fn reach(b: &Builder<'_>, bytes: u64, root: u32) -> Reach {
    let Some(multicast) = b.shop().fabric.multicast() else { return Reach::None };
    let laws = multicast.laws();
    match clusters(b, root, laws.most) {
        Some((clusters, route)) if bytes > 0 && clusters.len() > 1 => {
            let others = clusters.len() as u64 - 1;
            let tree = u64::from(clusters.len().next_power_of_two().ilog2()) * message(&route, bytes);
            if spread(laws, &route, bytes, others).0 < tree { Reach::Pays } else { Reach::Possible }
        }
        _ => Reach::None,
    }
}

pub(super) fn build(b: &mut Builder<'_>, region: &Region, root: u32) -> Result<()> {
    let shop = b.shop();
    let laws = shop.fabric.multicast().map(|multicast| *multicast.laws());
    let known = laws.and_then(|laws| Some((laws, clusters(b, root, laws.most)?)));
    let Some((laws, (clusters, route))) = known else {
        return Err(Error::Internal { reason: "a multicast where there is none" });
    };
    let bytes = region.bytes();
    let in_letters = spread(&laws, &route, bytes, clusters.len() as u64 - 1).1;
    let mine = b.cluster(b.me).unwrap_or(0);
    let leader =
        clusters.iter().find(|cluster| cluster.number == mine).map_or(root, |cluster| cluster.leader);
    if b.me == leader {
        let whole = match region.as_bytes(b.byte()) {
            Some(whole) => whole,
            None => b.scratch_bytes(bytes)?,
        };
        if b.me == root {
            if !region.is_contiguous() {
                b.copy(region, &whole);
            }
            let to: Vec<u32> =
                clusters.iter().map(|cluster| cluster.leader).filter(|to| *to != root).collect();
            let words = if in_letters { None } else { Some(hear(b, &to)?) };
            b.push(Step::Multicast(Box::new(Spread { to, region: whole, grants: words })));
        } else {
            if in_letters {
                b.receive(root, &whole);
            } else {
                b.push(Step::Grant { to: root, region: whole.clone() });
            }
            b.wait();
            if !region.is_contiguous() {
                b.copy(&whole, region);
            }
        }
    }
    let mut mates: Vec<u32> = (0..b.size).filter(|member| b.cluster(*member) == Some(mine)).collect();
    // The one that has the data comes first.
    let at = mates.iter().position(|member| *member == leader).unwrap_or(0);
    mates[..=at].rotate_right(1);
    let place = mates.iter().position(|member| *member == b.me).unwrap_or(0);
    binomial::pass_on(b, region, (place as u32, mates.len() as u32), &|place| mates[place as usize]);
    Ok(())
}

/// Receives the words of the members that say where the root may write.
fn hear(b: &mut Builder<'_>, from: &[u32]) -> Result<Region> {
    let words = b.scratch_bytes(WORD_BYTES * from.len() as u64)?;
    words.store(&alloc::vec![0; words.bytes() as usize]);
    for (index, member) in from.iter().enumerate() {
        b.receive(*member, &words.elements(WORD_BYTES * index as u64, WORD_BYTES));
    }
    b.wait();
    Ok(words)
}

/// The clusters of the members and the way between two of them; `None` if they are more than one multicast reaches besides the root's.
fn clusters(b: &Builder<'_>, root: u32, most: usize) -> Option<(Vec<Cluster>, Route)> {
    let mut clusters = alloc::vec![Cluster { number: b.cluster(root)?, leader: root }];
    for member in 0..b.size {
        let number = b.cluster(member)?;
        if clusters.iter().all(|cluster| cluster.number != number) {
            clusters.push(Cluster { number, leader: member });
            if clusters.len() > most + 1 {
                return None;
            }
        }
    }
    let mine = b.cluster(b.me)?;
    let other = clusters.iter().find(|cluster| cluster.number != mine)?.leader;
    let route = b.route(other)?;
    Some((clusters, route))
}

/// Ticks of a message between two clusters.
fn message(route: &Route, bytes: u64) -> u64 {
    let letter = route.letter_cost.ticks(0);
    if bytes <= route.thresholds.eager_max as u64 {
        return letter * letters(route, bytes);
    }
    letter + route.copy_cost.ticks(bytes).min(route.dma_cost.ticks(bytes))
}

/// Ticks of a multicast, and whether it goes in letters, because that is quicker and they find room.
fn spread(laws: &MulticastLaws, route: &Route, bytes: u64, others: u64) -> (u64, bool) {
    let pieces = letters(route, bytes);
    let by_letters = if pieces <= route.mailbox_letters as u64 { laws.letter * pieces } else { u64::MAX };
    let by_put = route.letter_cost.ticks(0) + laws.hearing * others + laws.put.ticks(bytes);
    (by_letters.min(by_put), by_letters <= by_put)
}

/// Letters that a message takes.
fn letters(route: &Route, bytes: u64) -> u64 {
    (bytes + route.letter_spare as u64).div_ceil(route.letter_max as u64).max(1)
}

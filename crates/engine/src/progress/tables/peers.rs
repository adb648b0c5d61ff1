//! What a rank knows of each peer that it has talked to.
//!
//! Sequence ids: letters between two nodes keep their order, so both sides count messages alike. A receiver that announces a
//! buffer (RTR) says how many messages it had seen; the sender uses the announcement only if every message that it sent since
//! then went by announcement too. Otherwise a message that is still under way may be the one that takes that receive, and the
//! announcement is dropped: eager sender against rendezvous receiver, and RTS crossing RTR (the simultaneous case of DCFA-MPI)
//! both come out right without further letters.

use alloc::boxed::Box;
use alloc::collections::VecDeque;

use fabric::{Fabric, Header, Node, PeerTable};
use smallvec::SmallVec;

use crate::progress::tables::trials::Trials;
use crate::values::envelope::{CONTROL_MAX, Envelope, Rtr};
use crate::values::slab;

/// Announcements of one peer that are kept. Those beyond are dropped, as any may be: their senders offer themselves. So a peer that floods
/// this rank with them gains nothing, and one that has that many receives open with a tag each loses a letter on some.
const ANNOUNCED_MAX: usize = 1024;

/// One peer.
#[derive(Debug, Default)]
pub(crate) struct Peer {
    /// Most payload bytes of a letter to it: a copy of the route's, which costs a call to ask; 0 until it is asked.
    pub letter_max: u64,
    /// Messages sent to it.
    pub sent: u64,
    /// One past the last message that was sent to it other than by announcement.
    pub plain_until: u64,
    /// Those of them that went by announcement.
    pub puts_sent: u64,
    /// Messages from it that have arrived.
    pub seen: u64,
    /// Those of them that came by announcement.
    pub puts_seen: u64,
    /// Sends that have offered themselves to it by an RTS and wait for a grant, with their numbers, oldest first.
    offers: VecDeque<(u64, slab::Key)>,
    /// Its announced receives that are still good, oldest first.
    pub announced: VecDeque<Announced>,
    /// Letters that found its mailbox full and places of puts, oldest first. While there are letters, all others queue behind
    /// them.
    pub outbox: VecDeque<Outgoing>,
    /// Rendezvous from it since the last one to it; or, below zero, those to it since the last one from it.
    one_way: i32,
    /// What was said of waiting for streams of long messages; most peers have none, and there are many.
    streams: Option<Box<Streams>>,
    /// What long messages to it take.
    pub trials: Trials,
    /// How often the first letter of the outbox has been refused.
    pub refusals: u32,
    /// Where the pieces of its current eager message go.
    pub assembling: Option<Assembling>,
}

/// Streams of long messages with a peer.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    /// The last message to it when this rank began to wait for some of them: whether it then said so is settled.
    pub waited_until: u64,
    /// The number of the last offer from it that it has said to wait for.
    pub waits_until: u64,
}

/// A receive that a peer has announced.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Announced {
    pub envelope: Envelope,
    pub capacity: u64,
    pub rtr: Rtr,
}

/// A letter that waits for room.
#[derive(Debug)]
pub(crate) enum Outgoing {
    Control(Header, SmallVec<[u8; CONTROL_MAX]>),
    /// The place of a put into an announced receive that a DMA engine is busy with, until its FIN can be sent: a message with the
    /// same context and tag that is sent later must not reach the peer before, or it would take the receive that the put is
    /// for. An announced receive has no wildcards, so everything else may pass.
    Put {
        request: slab::Key,
        envelope: Envelope,
    },
    /// The rest of an eager message from this byte on.
    Eager {
        request: slab::Key,
        envelope: Envelope,
        next: u64,
        /// Its letters are posted [in bulk](fabric::Mailbox::in_bulk).
        bulk: bool,
    },
}

/// Where pieces go.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Assembling {
    /// Into the buffer of a matched receive.
    Request(slab::Key),
    /// Into a message that waits for its receive.
    Message(slab::Key),
    /// Nowhere: the receive that it matched is too short, or memory ran out.
    Nowhere { left: u64 },
}

impl Peer {
    /// Its streams, from the first on.
    pub fn streams(&mut self) -> &mut Streams {
        self.streams.get_or_insert_default()
    }

    /// True if it has said that it waits for an offer of this number.
    pub fn waits_for(&self, number: u64) -> bool {
        self.streams.as_ref().is_some_and(|streams| number <= streams.waits_until)
    }

    /// Asks how many bytes go in one letter to `peer`.
    #[cold]
    pub fn learn_route(&mut self, fabric: &dyn Fabric, peer: Node) -> u64 {
        let route = fabric.route(peer);
        self.letter_max = (route.letter_max - route.letter_spare) as u64;
        self.letter_max
    }

    /// True if this many bytes go in one letter to `peer`.
    #[inline(always)]
    pub fn takes(&mut self, fabric: &dyn Fabric, peer: Node, bytes: u64) -> bool {
        bytes <= self.letter_max || bytes <= self.learn_route(fabric, peer)
    }

    /// A rendezvous has come from it.
    pub fn has_come(&mut self) {
        self.one_way = self.one_way.max(0).saturating_add(1);
    }

    /// One goes to it.
    pub fn goes(&mut self) {
        self.one_way = self.one_way.min(0).saturating_sub(1);
    }

    /// A message goes to it that is none, as long as one would be.
    pub fn goes_in_letters(&mut self) {
        self.one_way = 0;
    }

    /// True if so many rendezvous have come from it in a row.
    pub fn only_sends(&self, least: u64) -> bool {
        i64::from(self.one_way) >= least as i64
    }

    /// True if so many have gone to it in a row.
    pub fn only_receives(&self, least: u64) -> bool {
        -i64::from(self.one_way) >= least as i64
    }

    /// Counts a message that goes by eager or RTS: announcements made before the peer sees it are void.
    #[inline]
    pub fn count_plain(&mut self) {
        self.sent += 1;
        self.plain_until = self.sent;
        if !self.announced.is_empty() {
            self.announced.clear();
        }
    }

    /// Remembers the message counted last as an offer; forgets those at the front that `waits` denies.
    pub fn offer(&mut self, request: slab::Key, mut waits: impl FnMut(slab::Key) -> bool) {
        while self.offers.front().is_some_and(|(_, request)| !waits(*request)) {
            self.offers.pop_front();
        }
        self.offers.push_back((self.sent, request));
    }

    /// The offer with this number, if it has not been seen to by the peer. Those before it have.
    pub fn offered(&mut self, number: u64) -> Option<slab::Key> {
        while self.offers.front().is_some_and(|(older, _)| *older < number) {
            self.offers.pop_front();
        }
        self.offers.front().filter(|(next, _)| *next == number).map(|(_, request)| *request)
    }

    /// True if a letter need not queue: nothing is ahead of it but puts that it may pass. `message` is the envelope of a letter
    /// that takes a receive.
    #[cold]
    pub fn lets_pass(&self, message: Option<Envelope>) -> bool {
        self.lets_pass_at(self.outbox.len(), message)
    }

    /// As [`lets_pass`](Peer::lets_pass), for the letter at this place of the outbox.
    pub fn lets_pass_at(&self, place: usize, message: Option<Envelope>) -> bool {
        self.outbox.iter().take(place).all(|ahead| match ahead {
            Outgoing::Put { envelope, .. } => message
                .is_none_or(|message| (message.context, message.tag) != (envelope.context, envelope.tag)),
            _ => false,
        })
    }

    /// Keeps an announcement if it is still good and there is room.
    pub fn announce(&mut self, announced: Announced) {
        if announced.rtr.seen >= self.plain_until && self.announced.len() < ANNOUNCED_MAX {
            self.announced.push_back(announced);
        }
    }

    /// Takes the oldest announced receive for this envelope, if the message fits into it.
    pub fn take_announced(&mut self, envelope: &Envelope, length: u64) -> Option<Announced> {
        let at = self.announced.iter().position(|announced| {
            announced.envelope.context == envelope.context && announced.envelope.tag == envelope.tag
        })?;
        if self.announced[at].capacity < length {
            return None;
        }
        self.announced.remove(at)
    }
}

/// All peers, by node; an entry is made on first use.
#[derive(Debug)]
pub(crate) struct Peers {
    nodes: u32,
    table: PeerTable<Box<Peer>>,
}

impl Peers {
    pub fn new(nodes: u32) -> Peers {
        Peers { nodes, table: PeerTable::default() }
    }

    /// How many nodes there are.
    pub fn len(&self) -> u32 {
        self.nodes
    }

    /// A peer.
    #[inline(never)]
    pub fn at(&mut self, node: Node) -> &mut Peer {
        self.inlined_at(node)
    }

    /// The same without a call, for what is in the way of every message: there are many callers, and this takes some room in each.
    #[inline(always)]
    pub fn inlined_at(&mut self, node: Node) -> &mut Peer {
        self.table.at(node, Box::default)
    }

    /// A peer that was talked to.
    #[inline(always)]
    pub fn known(&mut self, node: Node) -> Option<&mut Peer> {
        self.table.get_mut(node).map(|peer| &mut **peer)
    }

    /// Counts a message from a peer, most often one that was talked to.
    #[inline(always)]
    pub fn see(&mut self, node: Node) {
        match self.known(node) {
            Some(peer) => peer.seen += 1,
            None => self.see_stranger(node),
        }
    }

    #[cold]
    #[inline(never)]
    fn see_stranger(&mut self, node: Node) {
        self.at(node).seen += 1;
    }

    #[inline]
    pub fn get(&self, node: Node) -> Option<&Peer> {
        self.table.get(node).map(|peer| &**peer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::ids::ContextId;
    use fabric::Key;

    fn announced(tag: i32, seen: u64) -> Announced {
        Announced {
            envelope: Envelope { context: ContextId(0), source: 0, tag },
            capacity: 100,
            rtr: Rtr { request: 1, key: Key([0; 4]), seen, waiting: false, revocable: false },
        }
    }

    #[test]
    fn an_announcement_older_than_a_plain_message_is_void() {
        let mut peer = Peer::default();
        peer.announce(announced(5, 0));
        peer.count_plain();
        assert!(peer.announced.is_empty(), "the message under way may take that receive");
        peer.announce(announced(5, 0));
        assert!(peer.announced.is_empty(), "written before the peer saw the message");
        peer.announce(announced(5, 1));
        assert_eq!(peer.announced.len(), 1);
    }

    #[test]
    fn a_flood_of_announcements_takes_no_more_than_its_share() {
        let mut peer = Peer::default();
        (0..100_000).for_each(|tag| peer.announce(announced(tag, 0)));
        assert_eq!(peer.announced.len(), ANNOUNCED_MAX);
        let first = Envelope { context: ContextId(0), source: 9, tag: 0 };
        assert!(peer.take_announced(&first, 1).is_some());
        peer.announce(announced(7, 0));
        assert_eq!(peer.announced.len(), ANNOUNCED_MAX);
    }

    #[test]
    fn announcements_are_used_oldest_first_and_only_for_their_tag() {
        let mut peer = Peer::default();
        for (request, tag) in [(1, 5), (2, 6), (3, 5)] {
            let mut one = announced(tag, 0);
            one.rtr.request = request;
            peer.announce(one);
        }
        let envelope = Envelope { context: ContextId(0), source: 9, tag: 5 };
        assert_eq!(peer.take_announced(&envelope, 100).unwrap().rtr.request, 1);
        assert!(peer.take_announced(&envelope, 101).is_none(), "too long for the announced buffer");
        assert_eq!(peer.take_announced(&envelope, 1).unwrap().rtr.request, 3);
        assert!(peer.take_announced(&envelope, 1).is_none());
    }
}

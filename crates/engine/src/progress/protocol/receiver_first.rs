//! Receiver-first rendezvous (DCFA-MPI): a posted receive announces its exposed buffer (RTR), the sender puts, FIN.
//!
//! Cost: when the receive is posted first, one letter and one copy after the send has started, instead of two letters and the
//! receiver's attention. When an announcement may be used is settled by sequence ids (see `peers`); a receive is announced only
//! while no other waits that may be owed the message first: none with a wildcard, none with the same source and tag, whose
//! announcement may have been dropped.

use fabric::{Delivery, Fabric, Header, MemoryKind, Node, Ticket};
use smallvec::SmallVec;

use super::{granted, opens_claim, share};
use crate::progress::core::Core;
use crate::progress::observe::Which;
use crate::progress::tables::matching::Pattern;
use crate::progress::tables::peers::{Announced, Outgoing};
use crate::progress::tables::portions::{Part, Portions};
use crate::progress::tables::receive::{Offer, ReceiveStage, ReceiveWork};
use crate::progress::tables::request::{Request, Work};
use crate::progress::tables::send::{SendStage, SendWork};
use crate::progress::tables::watch::{Carried, Transit, numbered, sequence_of};
use crate::values::envelope::{Envelope, Kind, Rtr, Share};
use crate::values::error::Result;
use crate::values::memory::RecvBuffer;
use crate::values::request::{RequestId, Status};
use crate::values::slab::Key;

/// False if the receive has been cancelled.
pub(super) fn claimed(fabric: &dyn Fabric, peer: Node, rtr: &Rtr) -> bool {
    rtr.claim().is_none_or(|name| fabric.claim(peer, name))
}

impl Core {
    /// Posts a receive, and announces it to its sender where that pays.
    pub(super) fn post_receive(
        &mut self,
        fabric: &dyn Fabric,
        buffer: &RecvBuffer,
        pattern: Pattern,
        source_node: Option<Node>,
        waiting: bool,
    ) -> Result<RequestId> {
        let capacity = buffer.bytes();
        let announce = capacity >= self.choice.announce_min && self.posted.is_next(&pattern);
        self.make_room_for_request(fabric)?;
        let place = self.posted.push(pattern, self.requests.next_key());
        let id = RequestId::from_bits(self.requests.insert_with(|| Request::posted(buffer, place)));
        self.receive_is_posted(id.key());
        if announce
            && let (Some(node), Some(source), Some(tag)) = (source_node, pattern.source, pattern.tag)
            && self.announces_to(node)
        {
            let envelope = Envelope { context: pattern.context, source, tag };
            self.announce(fabric, id.key(), node, envelope, waiting);
        }
        Ok(id)
    }

    /// True if the peer may have announced a receive of what is sent to it: it sees as many messages without one from it as go there.
    pub fn may_be_announced_by(&mut self, peer: Node) -> bool {
        self.choice.one_way_min == 0 || self.peers.at(peer).only_receives(self.choice.one_way_min)
    }

    /// True if receives from this peer that are long enough announce themselves.
    pub fn announces_to(&mut self, peer: Node) -> bool {
        self.choice.one_way_min == 0 || self.peers.at(peer).only_sends(self.choice.one_way_min)
    }

    fn announce(&mut self, fabric: &dyn Fabric, request: Key, peer: Node, envelope: Envelope, waiting: bool) {
        if peer == fabric.me() || !fabric.route(peer).put {
            return;
        }
        let seen = self.peers.at(peer).seen;
        let Some(receive) = self.requests.receive_mut(request) else {
            return;
        };
        let ReceiveStage::Posted { offered, .. } = &mut receive.stage else { return };
        if !receive.buffer.is_contiguous() {
            return;
        }
        let Ok(key) = receive.buffer.expose(fabric, peer) else { return };
        let revocable = opens_claim(fabric, request, &envelope, waiting);
        *offered = Some(Offer { peer, key, envelope, seen, landed: false, revocable, cancelling: false });
        let header = envelope.header(Kind::Rtr, receive.buffer.bytes());
        self.post_control(fabric, peer, header, &Rtr { request, key, seen, waiting, revocable }.encode());
    }

    pub(super) fn announcement_arrived(
        &mut self,
        fabric: &dyn Fabric,
        from: Node,
        envelope: Envelope,
        capacity: u64,
        rtr: Rtr,
    ) {
        if !self.announcement_crossed(fabric, from, &envelope, capacity, &rtr) {
            self.peers.at(from).announce(Announced { envelope, capacity, rtr });
        }
    }

    /// Puts a message into an announced receive; false if there is none and the send must offer itself.
    pub(super) fn put_into_announced(&mut self, fabric: &dyn Fabric, key: Key) -> bool {
        let Some(send) = self.requests.send_mut(key) else { return false };
        let (to, length) = (send.to, send.buffer.bytes());
        let peer = self.peers.at(to);
        if peer.announced.is_empty() || send.buffer.contiguous().is_none() || !fabric.route(to).put {
            return false;
        }
        let rtr = loop {
            let Some(Announced { rtr, .. }) = peer.take_announced(&send.envelope, length) else {
                return false;
            };
            if claimed(fabric, to, &rtr) {
                break rtr;
            }
        };
        peer.sent += 1;
        peer.puts_sent += 1;
        let sequence = peer.puts_sent;
        // The peer gets its half.
        let exposed = if rtr.waiting && share::pays(&self.choice, length) && fabric.route(to).get {
            send.buffer.expose(fabric, to, MemoryKind::Host).ok()
        } else {
            None
        };
        // Not with a shared copy: a notice may overtake the SHARE.
        let delivery = match exposed {
            None => self.choice.delivery(
                fabric,
                to,
                length,
                numbered(granted::fin(rtr.request, length), sequence),
            ),
            Some(_) => Delivery { mover: self.choice.mover(length), notice: None },
        };
        send.stage = SendStage::Putting {
            receiver: rtr.request,
            portions: Portions::with(exposed),
            noticed: delivery.notice.is_some(),
            acknowledged: false,
            sequence,
        };
        let envelope = send.envelope;
        self.send_begins(fabric, (Which::Put(sequence), Some(key)), |_| {
            let carried = if exposed.is_some() { Carried::Shared } else { Carried::Announced };
            Transit::of(to, &envelope, length, carried)
        });
        // The peer is asked before the copy, so that both copy at the same time.
        let mut mine = length;
        if let Some(exposed) = exposed {
            mine = share::middle(length);
            self.ask_to_share(
                fabric,
                to,
                (rtr.request, sequence),
                Share { request: key, key: exposed, length },
            );
        }
        let Some(send) = self.requests.send_mut(key) else { return false };
        match send.buffer.put(fabric, to, &rtr.key, 0..mine, &delivery) {
            Ok(ticket) => {
                if ticket != Ticket::DONE {
                    self.keep_place(to, key, envelope);
                }
                self.transfer_started(fabric, key, ticket);
            }
            Err(error) => self.copy_failed(fabric, key, to, rtr.request, error),
        }
        true
    }

    /// The put of a send is complete: tell the receiver.
    pub(super) fn put_done(&mut self, fabric: &dyn Fabric, key: Key) {
        let Some(send) = self.requests.send(key) else { return };
        let SendWork { buffer, to, stage: SendStage::Putting { receiver, noticed, sequence, .. }, .. } = send
        else {
            return;
        };
        let fin = numbered(granted::fin(*receiver, buffer.bytes()), *sequence);
        let (to, noticed) = (*to, *noticed);
        self.put_continued(fabric, key, Part::Mine);
        let outbox = &mut self.peers.at(to).outbox;
        let place =
            outbox.iter().position(|entry| matches!(entry, Outgoing::Put { request, .. } if *request == key));
        match (place, noticed) {
            (None, true) => {}
            (None, false) => self.post_control(fabric, to, fin, &[]),
            (Some(place), noticed) => {
                if noticed {
                    outbox.remove(place);
                } else {
                    outbox[place] = Outgoing::Control(fin, SmallVec::new());
                }
                self.empty_outbox(fabric, to);
            }
        }
    }

    /// Makes later messages of the same envelope wait behind a put that is under way.
    fn keep_place(&mut self, to: Node, request: Key, envelope: Envelope) {
        let outbox = &mut self.peers.at(to).outbox;
        if outbox.is_empty() {
            self.blocked.push(to);
        }
        outbox.push_back(Outgoing::Put { request, envelope });
    }

    /// A part of the data of a send is in the receiver's memory.
    pub(super) fn put_continued(&mut self, fabric: &dyn Fabric, key: Key, part: Part) {
        let Some(send) = self.requests.send_mut(key) else { return };
        let to = send.to;
        let SendStage::Putting { portions, acknowledged, .. } = &mut send.stage else { return };
        if !portions.copied(fabric, part) {
            return;
        }
        if let Some(bad) = portions.failed {
            self.end_failed(fabric, key, to, bad);
        } else if *acknowledged {
            send.stage = SendStage::Offered { key: None, helps: None, revocable: false };
        } else {
            self.finish(fabric, key, Ok(Status::EMPTY));
        }
    }

    /// The sender has put a message, or its part of one, into an announced or granted receive.
    pub(super) fn put_arrived(&mut self, fabric: &dyn Fabric, from: Node, header: &Header) {
        if self.landed_early(from, header) {
            return;
        }
        let peer = self.peers.at(from);
        peer.has_come();
        let [_, key, length] = *header;
        let (place, envelope) = match self.requests.get(key).map(|request| &request.work) {
            Some(Work::Receive(ReceiveWork {
                buffer,
                stage: ReceiveStage::Posted { place, offered: Some(offer) },
            })) if offer.peer == from && length <= buffer.bytes() => (*place, offer.envelope),
            Some(Work::Receive(ReceiveWork {
                stage: ReceiveStage::Granted { from: sender, .. }, ..
            })) if *sender == from => {
                self.multicast_arrived(fabric, from, header);
                return self.granted_arrived(fabric, key, length);
            }
            Some(Work::Receive(ReceiveWork {
                stage: ReceiveStage::Filling { filled: 0, from: sender, .. },
                ..
            })) if *sender == from => {
                return self.stream_ended(fabric, from, key, length);
            }
            Some(Work::Receive(ReceiveWork {
                stage: ReceiveStage::Sharing { from: sender, portions, .. },
                ..
            })) if *sender == from && portions.awaits_peer() => {
                return self.sharing_continued(fabric, key, Part::Theirs);
            }
            _ => {
                return self
                    .malformed(from, "a FIN for a receive that waits for no put, or for a shorter one");
            }
        };
        let peer = self.peers.at(from);
        peer.seen += 1;
        peer.puts_seen += 1;
        self.matches(fabric, (Which::Put(sequence_of(header)), Some(key)), |_| {
            Transit::of(from, &envelope, length, Carried::Announced)
        });
        self.posted.remove(place);
        self.withdraw_announcement(fabric, key);
        self.finish(fabric, key, Ok(Status::received(&envelope, length)));
    }

    /// Ends the exposure of an announced receive that was matched.
    pub(crate) fn withdraw_announcement(&mut self, fabric: &dyn Fabric, key: Key) {
        if let Some(receive) = self.requests.receive_mut(key)
            && let ReceiveStage::Posted { offered, .. } = &mut receive.stage
            && let Some(offer) = offered.take()
        {
            fabric.withdraw(offer.key);
        }
    }
}

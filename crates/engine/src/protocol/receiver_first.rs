//! Receiver-first rendezvous (DCFA-MPI): a posted receive announces its exposed buffer (RTR), the sender puts, FIN.
//!
//! Cost: when the receive is posted first, one letter and one copy after the send has started, instead of two letters and the
//! receiver's attention. When an announcement may be used is settled by sequence ids (see `peers`); a receive is announced only
//! while no wildcard receive waits, because such a receive may be owed the message first.

use fabric::{Fabric, Node};

use crate::core::Core;
use crate::envelope::{Envelope, Kind, Rtr, words};
use crate::error::Result;
use crate::matching::Pattern;
use crate::memory::RecvBuffer;
use crate::peers::Announced;
use crate::request::{
    Offer, ReceiveStage, ReceiveWork, Request, RequestId, SendStage, SendWork, Status, Work,
};
use crate::slab::Key;

impl Core {
    /// Posts a receive, and announces it to its sender where that pays.
    pub(super) fn post_receive(
        &mut self,
        fabric: &dyn Fabric,
        buffer: &RecvBuffer,
        pattern: Pattern,
        source_node: Option<Node>,
    ) -> Result<RequestId> {
        let capacity = buffer.bytes();
        let announce = capacity >= self.tuning.receiver_first_min as u64
            && capacity > self.tuning.eager_max as u64
            && !self.posted.has_wild();
        // The place is known only after the request exists, and the request needs its place: file first, then fill in.
        let id = self.add_request(fabric, Request::new(Work::External))?;
        let place = self.posted.push(pattern, id.key());
        let work = Self::receive_work(buffer, ReceiveStage::Posted { place, offered: None });
        if let Some(request) = self.requests.get_mut(id.key()) {
            *request = work;
        }
        if announce && let (Some(node), Some(tag)) = (source_node, pattern.tag) {
            self.announce(fabric, id.key(), node, pattern, tag);
        }
        Ok(id)
    }

    fn announce(&mut self, fabric: &dyn Fabric, request: Key, peer: Node, pattern: Pattern, tag: i32) {
        if peer == fabric.me() || !fabric.reach(peer).put {
            return;
        }
        let seen = self.peers.at(peer).seen;
        let Some(Request { work: Work::Receive(receive), .. }) = self.requests.get_mut(request) else {
            return;
        };
        let ReceiveStage::Posted { offered, .. } = &mut receive.stage else { return };
        if !receive.buffer.is_contiguous() {
            return;
        }
        let Ok(key) = receive.buffer.expose(fabric, peer) else { return };
        *offered = Some(Offer { peer, key, cancelling: false });
        let capacity = receive.buffer.bytes();
        let envelope = Envelope { context: pattern.context, source: 0, tag };
        let header = envelope.header(Kind::Rtr, capacity);
        self.post_control(fabric, peer, header, &Rtr { request, key, seen }.encode());
    }

    pub(super) fn announcement_arrived(&mut self, from: Node, envelope: Envelope, capacity: u64, rtr: Rtr) {
        self.peers.at(from).announce(Announced { envelope, capacity, rtr });
    }

    /// Puts a message into an announced receive; false if there is none and the send must offer itself.
    pub(super) fn put_into_announced(&mut self, fabric: &dyn Fabric, key: Key, length: u64) -> bool {
        let Some(Request { work: Work::Send(send), .. }) = self.requests.get_mut(key) else { return false };
        let peer = self.peers.at(send.to);
        if peer.announced.is_empty() || send.buffer.contiguous().is_none() || !fabric.reach(send.to).put {
            return false;
        }
        let Some(announced) = peer.take_announced(&send.envelope, length) else { return false };
        let Ok(ticket) = send.buffer.put(fabric, send.to, &announced.rtr.key) else { return false };
        peer.sent += 1;
        send.stage = SendStage::Putting { receiver: announced.rtr.request };
        self.transfer_started(fabric, key, ticket);
        true
    }

    /// The put of a send is complete: tell the receiver.
    pub(super) fn put_done(&mut self, fabric: &dyn Fabric, key: Key) {
        let Some(Request { work: Work::Send(send), .. }) = self.requests.get(key) else { return };
        let SendWork { buffer, to, envelope, stage: SendStage::Putting { receiver }, .. } = send else {
            return;
        };
        let (to, header, receiver) = (*to, envelope.header(Kind::Fin, buffer.bytes()), *receiver);
        self.finish(fabric, key, Ok(Status::EMPTY));
        self.post_control(fabric, to, header, &words::<1, 8>([receiver]));
    }

    /// The sender has put a message into an announced receive.
    pub(super) fn put_arrived(
        &mut self,
        fabric: &dyn Fabric,
        from: Node,
        envelope: Envelope,
        length: u64,
        key: Key,
    ) {
        self.peers.at(from).seen += 1;
        let Some(Request {
            work: Work::Receive(ReceiveWork { stage: ReceiveStage::Posted { place, .. }, .. }),
            ..
        }) = self.requests.get(key)
        else {
            return self.malformed("a FIN for a receive that is not posted");
        };
        let place = *place;
        self.posted.remove(place);
        self.withdraw_announcement(fabric, key);
        self.finish(fabric, key, Ok(Status::received(&envelope, length)));
    }

    /// Ends the exposure of an announced receive that was matched.
    pub(crate) fn withdraw_announcement(&mut self, fabric: &dyn Fabric, key: Key) {
        if let Some(Request { work: Work::Receive(receive), .. }) = self.requests.get_mut(key)
            && let ReceiveStage::Posted { offered, .. } = &mut receive.stage
            && let Some(offer) = offered.take()
        {
            fabric.withdraw(offer.key);
        }
    }
}

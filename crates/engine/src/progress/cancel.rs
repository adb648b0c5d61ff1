//! Cancelling operations (MPI section 3.8.4): it either succeeds, or the operation completes; and a wait for it afterwards is local.
//!
//! What no peer knows of is cancelled at once. What one knows of (an RTS, an RTR) is *revoked*: it was announced together with a
//! word that both ranks can [claim](fabric::Signal::claim). The peer claims it before it matches the RTS, or writes into the
//! announced receive; this rank claims it to cancel. If it comes first, the request ends as cancelled at once, and whatever the
//! peer finds later of it is void; a letter tells it to forget. If the peer was first, it is in the midst of the transfer, and
//! the operation completes.
//!
//! An RTS that still waits for room in the peer's mailbox is taken back, and no letter is needed.
//!
//! A send whose data waits for room in the peer's mailbox goes on as a copy, so that its request completes at once.
//!
//! Where there is no word (fabrics without claims, more requests at a time than words, blocking calls of a poisoned rank), a letter asks the peer: the
//! request completes as cancelled when it agrees, or normally when the two crossed. Other than the standard asks for, a wait then
//! takes until the peer's next call (docs/decisions/0018).

use fabric::{Fabric, Node};

use crate::progress::core::{Core, PACKED};
use crate::progress::tables::arrived::{Arrived, Body};
use crate::progress::tables::peers::Outgoing;
use crate::progress::tables::receive::{ReceiveStage, ReceiveWork};
use crate::progress::tables::request::{Request, Work};
use crate::progress::tables::send::{SendStage, SendWork};
use crate::values::envelope::{Kind, Rts, plain_header};
use crate::values::memory::SendBuffer;
use crate::values::request::Status;
use crate::values::slab::Key;

impl Core {
    pub(crate) fn cancel(&mut self, fabric: &dyn Fabric, key: Key) {
        let Some(request) = self.requests.get_mut(key) else { return };
        match &mut request.work {
            Work::Receive(ReceiveWork {
                stage: ReceiveStage::Posted { offered: Some(offer), .. }, ..
            }) => {
                let revoked = offer.revocable && fabric.claim(fabric.me(), key);
                // Lost to the peer, whose FIN comes; or asked before, which would be answered twice.
                if !revoked && (offer.revocable || core::mem::replace(&mut offer.cancelling, true)) {
                    return;
                }
                let peer = offer.peer;
                self.post_control(
                    fabric,
                    peer,
                    plain_header(Kind::CancelReceive, u64::from(!revoked), key),
                    &[],
                );
                if revoked {
                    self.end_receive(fabric, key);
                }
            }
            Work::Receive(ReceiveWork { stage: ReceiveStage::Posted { .. }, .. }) => {
                self.end_receive(fabric, key);
            }
            Work::Send(SendWork { stage: SendStage::Offered { revocable, .. }, to, .. }) => {
                let (to, revocable) = (*to, *revocable);
                let revoked = revocable && fabric.claim(fabric.me(), key);
                if revocable && !revoked {
                    return; // Lost to the peer, whose answer comes.
                }
                if revoked && self.unpost_rts(to, key) {
                    return self.end_send(fabric, key);
                }
                self.post_control(fabric, to, plain_header(Kind::CancelSend, u64::from(!revoked), key), &[]);
                if revoked {
                    self.end_send(fabric, key);
                }
            }
            Work::Send(SendWork { stage: SendStage::Outbox | SendStage::Streaming { .. }, .. }) => {
                self.go_on_as_copy(fabric, key);
            }
            // Being transferred: too late.
            _ => {}
        }
    }

    /// Takes the RTS of a revoked send out of the outbox, if it is the last that was put there: then
    /// the peer never counts it. Sends that are cancelled where the peer takes nothing in do not pile up.
    fn unpost_rts(&mut self, to: Node, key: Key) -> bool {
        let peer = self.peers.at(to);
        let Some(Outgoing::Control(header, payload)) = peer.outbox.back() else { return false };
        let is_rts = Kind::of(header) == Some(Kind::Rts);
        let rts = Rts::decode(payload).filter(|rts| is_rts && rts.request == key);
        // Those who watch were told of it.
        if self.watch.is_some() || rts.is_none_or(|rts| rts.number != peer.sent) {
            return false;
        }
        peer.outbox.pop_back();
        peer.sent -= 1;
        peer.plain_until = peer.plain_until.min(peer.sent);
        if peer.outbox.is_empty() {
            self.blocked.retain(|blocked| *blocked != to);
        }
        true
    }

    /// Completes a send whose data has yet to be posted, on the account of a copy that is sent in its place.
    fn go_on_as_copy(&mut self, fabric: &dyn Fabric, key: Key) {
        let Some(Request { work: Work::Send(send), orphan: false, .. }) = self.requests.get(key) else {
            return;
        };
        let (to, bytes) = (send.to, send.buffer.bytes() as usize);
        // Where there is no memory for it, the send ends when the peer has made room.
        if fabric.budget().reserve(PACKED, bytes).is_err() {
            return;
        }
        let entry = Request { orphan: true, ..Request::new(Work::External) };
        let Ok(id) = self.add_request(fabric, entry) else { return fabric.budget().release(PACKED, bytes) };
        self.orphans += 1;
        let Some(send) = self.requests.send_mut(key) else { return };
        let copy = SendWork {
            buffer: SendBuffer::owned(send.buffer.packed()),
            stage: core::mem::replace(&mut send.stage, SendStage::Outbox),
            booked: Some((PACKED, bytes)),
            ..*send
        };
        if let Some(entry) = self.requests.get_mut(id.key()) {
            entry.work = Work::Send(copy);
        }
        for entry in &mut self.peers.at(to).outbox {
            if let Outgoing::Eager { request, .. } = entry
                && *request == key
            {
                *request = id.key();
            }
        }
        for stream in self.streams.iter_mut().filter(|stream| **stream == key) {
            *stream = id.key();
        }
        self.finish(fabric, key, Ok(Status::EMPTY));
    }

    /// A peer takes back an RTS, or asks whether it may.
    pub(crate) fn cancel_offer(&mut self, fabric: &dyn Fabric, from: Node, sender: u64, asks: bool) {
        let messages = &self.messages;
        let place = self.unexpected.search(|message| {
            matches!(messages.get(message), Some(Arrived { from: node, body: Body::Offered(rts), .. })
                if *node == from && rts.request == sender)
        });
        if let Some(place) = place {
            let message = self.unexpected.remove(place);
            self.take_message(fabric, message);
            if asks {
                self.post_control(fabric, from, plain_header(Kind::SendCancelled, 0, sender), &[]);
            }
        }
    }

    pub(crate) fn send_cancelled(&mut self, fabric: &dyn Fabric, from: Node, key: Key) {
        if !self.requests.get(key).is_some_and(|request| request.is_offered_to(from)) {
            return self.malformed(from, "the end of a send that was not offered");
        }
        self.end_send(fabric, key);
    }

    fn end_send(&mut self, fabric: &dyn Fabric, key: Key) {
        self.withdraw_offer(fabric, key);
        self.end_cancelled(fabric, key);
    }

    /// Ends a receive that no message has met.
    fn end_receive(&mut self, fabric: &dyn Fabric, key: Key) {
        if let Some(Request {
            work: Work::Receive(ReceiveWork { stage: ReceiveStage::Posted { place, .. }, .. }),
            ..
        }) = self.requests.get(key)
        {
            let place = *place;
            self.posted.remove(place);
            self.withdraw_announcement(fabric, key);
            self.end_cancelled(fabric, key);
        }
    }

    /// Ends a request as cancelled; or with the fault on whose account it was.
    fn end_cancelled(&mut self, fabric: &dyn Fabric, key: Key) {
        let outcome = self.fault.clone().map_or(Ok(Status::CANCELLED), Err);
        self.finish(fabric, key, outcome);
    }

    /// A peer takes back an RTR, or asks whether it may: if a put into it is under way, the FIN will tell; in every other case it was
    /// never used, or the FIN is already ahead of this answer.
    pub(crate) fn cancel_announcement(&mut self, fabric: &dyn Fabric, from: Node, receiver: u64, asks: bool) {
        let peer = self.peers.at(from);
        peer.announced.retain(|announced| announced.rtr.request != receiver);
        if !asks {
            return;
        }
        let putting = self.transfers.iter().any(|transfer| {
            matches!(self.requests.get(transfer.request), Some(Request {
                work: Work::Send(SendWork { to, stage: SendStage::Putting { receiver: r, .. }, .. }), ..
            }) if *to == from && *r == receiver)
        });
        if !putting {
            self.post_control(fabric, from, plain_header(Kind::ReceiveCancelled, 0, receiver), &[]);
        }
    }

    pub(crate) fn receive_cancelled(&mut self, fabric: &dyn Fabric, from: Node, key: Key) {
        let Some(Request {
            work: Work::Receive(ReceiveWork { stage: ReceiveStage::Posted { offered, .. }, .. }),
            ..
        }) = self.requests.get(key)
        else {
            return; // It was matched meanwhile.
        };
        if !offered.is_some_and(|offer| offer.peer == from && offer.cancelling) {
            return self.malformed(from, "the end of a receive that was not taken back");
        }
        self.end_receive(fabric, key);
    }
}

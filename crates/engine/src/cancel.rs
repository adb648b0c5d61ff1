//! Cancelling operations (MPI section 3.8.4): it either succeeds, or the operation completes.
//!
//! What no peer knows of is cancelled at once. What one knows of (an RTS, an RTR) is taken back with a letter; the request completes
//! as cancelled when the peer agrees, or normally when the two crossed. So there, other than the standard asks for, a wait is not
//! local: it takes until the peer's next call (docs/decisions/0017).

use fabric::{Fabric, Node};

use crate::core::Core;
use crate::envelope::{Kind, plain_header};
use crate::error::Result;
use crate::rank::Rank;
use crate::request::{
    Arrived, Body, ReceiveStage, ReceiveWork, Request, RequestId, SendStage, SendWork, Status, Work,
    unknown_request,
};
use crate::slab::Key;

impl Rank {
    /// Asks for a send or receive to be cancelled; its status tells whether that succeeded.
    pub fn cancel(&self, id: RequestId) -> Result<()> {
        if id == RequestId::SENT {
            return Ok(());
        }
        let mut core = self.core.borrow_mut();
        let key = match core.requests.get(id.key()) {
            None => return Err(unknown_request()),
            Some(Request { work: Work::Persistent(template), .. }) => match template.active {
                Some(active) => active.key(),
                None => {
                    return Err(crate::Error::Request { reason: "the persistent request is not active" });
                }
            },
            Some(_) => id.key(),
        };
        core.cancel(self.fabric(), key);
        Ok(())
    }
}

impl Core {
    pub(crate) fn cancel(&mut self, fabric: &dyn Fabric, key: Key) {
        let Some(request) = self.requests.get_mut(key) else { return };
        match &mut request.work {
            Work::Receive(ReceiveWork {
                stage: ReceiveStage::Posted { offered: Some(offer), .. }, ..
            }) => {
                // Asking twice would be answered twice.
                if core::mem::replace(&mut offer.cancelling, true) {
                    return;
                }
                let peer = offer.peer;
                self.post_control(fabric, peer, plain_header(Kind::CancelReceive, 0, key), &[]);
            }
            Work::Receive(ReceiveWork { stage: ReceiveStage::Posted { place, .. }, .. }) => {
                let place = *place;
                self.posted.remove(place);
                self.end_cancelled(fabric, key);
            }
            Work::Send(SendWork { stage: SendStage::Offered { .. }, to, .. }) => {
                let to = *to;
                self.post_control(fabric, to, plain_header(Kind::CancelSend, 0, key), &[]);
            }
            // Posted or being transferred: too late.
            _ => {}
        }
    }

    /// A peer takes back an RTS.
    pub(crate) fn cancel_offer(&mut self, fabric: &dyn Fabric, from: Node, sender: u64) {
        let messages = &self.messages;
        let place = self.unexpected.search(|message| {
            matches!(messages.get(message), Some(Arrived { from: node, body: Body::Offered(rts), .. })
                if *node == from && rts.request == sender)
        });
        if let Some(place) = place {
            let message = self.unexpected.remove(place);
            self.take_message(fabric, message);
            self.post_control(fabric, from, plain_header(Kind::SendCancelled, 0, sender), &[]);
        }
    }

    pub(crate) fn send_cancelled(&mut self, fabric: &dyn Fabric, from: Node, key: Key) {
        if !self.requests.get(key).is_some_and(|request| request.is_offered_to(from)) {
            return self.malformed(from, "the end of a send that was not offered");
        }
        self.withdraw_offer(fabric, key);
        self.end_cancelled(fabric, key);
    }

    /// Ends a request as cancelled; or with the fault on whose account it was.
    fn end_cancelled(&mut self, fabric: &dyn Fabric, key: Key) {
        let outcome = self.fault.clone().map_or(Ok(Status::CANCELLED), Err);
        self.finish(fabric, key, outcome);
    }

    /// A peer takes back an RTR. If a put into it is under way, the FIN will tell; in every other case it was never used, or the
    /// FIN is already ahead of this answer.
    pub(crate) fn cancel_announcement(&mut self, fabric: &dyn Fabric, from: Node, receiver: u64) {
        let peer = self.peers.at(from);
        peer.announced.retain(|announced| announced.rtr.request != receiver);
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
            work: Work::Receive(ReceiveWork { stage: ReceiveStage::Posted { place, offered }, .. }),
            ..
        }) = self.requests.get(key)
        else {
            return; // It was matched meanwhile.
        };
        if !offered.is_some_and(|offer| offer.peer == from && offer.cancelling) {
            return self.malformed(from, "the end of a receive that was not taken back");
        }
        let place = *place;
        self.posted.remove(place);
        self.withdraw_announcement(fabric, key);
        self.end_cancelled(fabric, key);
    }
}

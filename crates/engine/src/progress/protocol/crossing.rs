//! Simultaneous rendezvous (MPPA-MPI): RTS and RTR cross, and the portal only puts: the sender takes the RTR for the grant.
//!
//! Cost: as receiver-first. Where the receiver can get it does, and the RTR is void (see `peers`).
//!
//! Both sides come to the same conclusion from the same two numbers, without a further letter: the RTS carries its number among
//! the messages of its sender, the RTR how many of them its receiver had seen. If the RTS is the next, the receive had seen
//! everything before it and was owed none of it, so the RTS is its message. (Letters keep their order, and only puts are
//! overtaken, so what was seen before an RTS are messages with lower numbers.)
//!
//! An RTS that its sender may revoke (see `cancel`) never crosses: if the sender had put it, its claim would be gone, and if it had
//! cancelled it, too.
//!
//! The notice of such a put may be quicker than the RTS: it is marked, and the receive then waits for its RTS to be matched.

use fabric::{Fabric, Header, Node};

use super::{granted, receiver_first};
use crate::progress::core::Core;
use crate::progress::observe::Which;
use crate::progress::tables::receive::{ReceiveStage, ReceiveWork};
use crate::progress::tables::send::{SendStage, SendWork};
use crate::progress::tables::watch::{Carried, Transit};
use crate::values::choice::Fetch;
use crate::values::envelope::{Envelope, Grant, Rtr, Rts};
use crate::values::request::Status;
use crate::values::slab::Key;

/// In word 0 of a FIN: the message has an RTS, too.
const HAS_RTS: u64 = 1 << 8;

/// The FIN of a put that answers an RTS by an announcement.
pub(super) fn fin(receiver: Key, length: u64) -> Header {
    let [kind, receiver, length] = granted::fin(receiver, length);
    [kind | HAS_RTS, receiver, length]
}

impl Core {
    /// Takes an announcement for the grant of an RTS that it has crossed; false if it has not.
    pub(super) fn announcement_crossed(
        &mut self,
        fabric: &dyn Fabric,
        from: Node,
        envelope: &Envelope,
        capacity: u64,
        rtr: &Rtr,
    ) -> bool {
        let Some(sender) = self.peers.at(from).offered(rtr.seen + 1) else { return false };
        let Some(send) = self.requests.send(sender) else { return false };
        let SendWork { buffer, stage: SendStage::Offered { key: None, .. }, .. } = send else { return false };
        let meant = (send.envelope.context, send.envelope.tag) == (envelope.context, envelope.tag);
        if !meant || !fabric.route(from).put || !self.crosses(buffer.bytes(), capacity) {
            return false;
        }
        if !receiver_first::claimed(fabric, from, rtr) {
            return false;
        }
        let delivery = self.choice.delivery(fabric, from, buffer.bytes(), fin(rtr.request, buffer.bytes()));
        self.start_granted(fabric, Grant { sender, receiver: rtr.request, key: rtr.key }, delivery, false);
        true
    }

    /// Leaves a matched receive to the announcement that its RTS has crossed; false if it has not.
    pub(super) fn offer_crossed(
        &mut self,
        fabric: &dyn Fabric,
        key: Key,
        from: Node,
        (envelope, length): (Envelope, u64),
        rts: &Rts,
    ) -> bool {
        let grants = self.choice.fetch(fabric, from, rts.key) == Fetch::Grant { confirmed: false };
        let Some(receive) = self.requests.receive(key) else { return false };
        let ReceiveWork { buffer, stage: ReceiveStage::Posted { offered: Some(offer), .. } } = receive else {
            return false;
        };
        if rts.revocable || !grants || offer.seen + 1 != rts.number || !self.crosses(length, buffer.bytes()) {
            return false;
        }
        let (exposed, landed) = (offer.key, offer.landed);
        self.matches(fabric, (Which::CountedLast, Some(key)), |_| {
            Transit::of(from, &envelope, length, Carried::Crossed)
        });
        if landed {
            self.withdraw_announcement(fabric, key);
            self.finish(fabric, key, Ok(Status::received(&envelope, length)));
        } else if let Some(receive) = self.requests.receive_mut(key) {
            receive.stage =
                ReceiveStage::Granted { envelope, from, length, exposed, staging: None, acknowledge: None };
        }
        true
    }

    /// Whether a put into an announced receive is the data of an RTS that has yet to come; keeps it for that.
    pub(super) fn landed_early(&mut self, from: Node, header: &Header) -> bool {
        if header[0] & HAS_RTS == 0 {
            return false;
        }
        let Some(receive) = self.requests.receive_mut(header[1]) else {
            return false;
        };
        let fits = header[2] <= receive.buffer.bytes();
        let ReceiveStage::Posted { offered: Some(offer), .. } = &mut receive.stage else { return false };
        if offer.peer != from || !fits {
            return false;
        }
        offer.landed = true;
        true
    }

    /// Whether a message may be taken by announcement. What is too long is refused on the receiver's word.
    fn crosses(&self, length: u64, capacity: u64) -> bool {
        length <= capacity && (length > 0 || self.choice.moves_nothing_too())
    }
}

//! Shared copy: two ranks that wait for one large message copy half of it each.
//!
//! Between processes the copy is the cost of a large message, and while one rank copies, the other only waits. So whoever learns
//! first that both sides wait (the sender from an RTR, the receiver from an RTS) exposes its own buffer too, asks the peer to
//! copy the upper half (SHARE), and copies the lower half itself. Each tells the other when its half is done.
//!
//! A sender that waits for many offers at once says so by one letter (WAITS) when it begins to, in a stream that goes one way: where messages go both ways, each rank has a copy to make as it is. It
//! promises only what it keeps: all that it has offered to that receiver is waited for.
//!
//! Cost: two letters more, half the time for the copy; less than half where a half fits a cache that the whole does not.

use fabric::{Delivery, Fabric, Header, Mover, Node, Ticket};

use crate::progress::core::Core;
use crate::progress::observe::Which;
use crate::progress::tables::portions::{Part, Portions};
use crate::progress::tables::receive::{ReceiveStage, ReceiveWork};
use crate::progress::tables::request::Work;
use crate::progress::tables::send::{SendStage, SendWork};
use crate::progress::tables::watch::{Carried, Transit, numbered, sequence_of};
use crate::values::choice::Choice;
use crate::values::envelope::{Kind, Rts, Share, plain_header};
use crate::values::request::{RequestId, Status};
use crate::values::slab::Key;

/// Halves begin at a multiple of this: a page that both ranks copy from would be looked up twice.
const GRAIN: u64 = 4096;

/// Where the upper half begins.
pub(super) fn middle(length: u64) -> u64 {
    length / 2 / GRAIN * GRAIN
}

/// True if a message of this length is worth a shared copy.
pub(super) fn pays(choice: &Choice, length: u64) -> bool {
    length >= choice.share_min && middle(length) > 0
}

impl Core {
    /// Tells the receiver of this send, if it is offered and worth a shared copy, that the rank does nothing but wait for `all` of these.
    #[inline]
    pub(crate) fn promise_help(&mut self, fabric: &dyn Fabric, id: RequestId, all: &[Option<RequestId>]) {
        if let Some(send) = self.requests.send(id.key())
            && matches!(send.stage, SendStage::Offered { key: Some(_), helps: None, .. })
            && pays(&self.choice, send.buffer.bytes())
        {
            let to = send.to;
            self.promise_help_to(fabric, to, all);
        }
    }

    #[cold]
    fn promise_help_to(&mut self, fabric: &dyn Fabric, to: Node, all: &[Option<RequestId>]) {
        let least = self.choice.one_way_min;
        let peer = self.peers.at(to);
        let last = peer.sent;
        // A look through all requests is worth it only where most of them are waited for.
        if least == 0
            || !peer.only_receives(least)
            || peer.streams().waited_until == last
            || self.requests.len() > 2 * all.len()
        {
            return;
        }
        peer.streams().waited_until = last;
        let waited = all.iter().flatten().filter_map(|id| self.requests.get(id.key()));
        let waited = waited.filter(|request| request.is_offered_to(to)).count();
        if self.requests.iter().filter(|request| request.is_offered_to(to)).count() == waited {
            self.post_control(fabric, to, plain_header(Kind::Waits, 0, last), &[]);
        }
    }

    /// True if the sender of an offer waits for it.
    pub(super) fn is_waited_for(&self, from: Node, rts: &Rts) -> bool {
        rts.waiting || rts.number > 0 && self.peers.get(from).is_some_and(|peer| peer.waits_for(rts.number))
    }

    /// Asks `peer` to copy the upper half between its request and the exposed buffer of ours; a put names its sequence.
    pub(super) fn ask_to_share(
        &mut self,
        fabric: &dyn Fabric,
        peer: Node,
        (theirs, sequence): (Key, u64),
        share: Share,
    ) {
        let header = numbered(plain_header(Kind::Share, theirs, middle(share.length)), sequence);
        self.post_control(fabric, peer, header, &share.encode());
    }

    /// A peer asks this rank to copy the bytes from `start` on.
    pub(super) fn share_arrived(&mut self, fabric: &dyn Fabric, from: Node, header: &Header, share: Share) {
        let [_, key, start] = *header;
        if start >= share.length {
            return self.malformed(from, "a SHARE of nothing");
        }
        match self.requests.get(key).map(|request| &request.work) {
            Some(Work::Receive(ReceiveWork {
                buffer,
                stage: ReceiveStage::Posted { offered: Some(offer), .. },
            })) if offer.peer == from && share.length <= buffer.bytes() && fabric.route(from).get => {
                self.share_receive(fabric, from, header, share);
            }
            Some(Work::Send(SendWork {
                buffer,
                to,
                stage: SendStage::Offered { helps: None, key: Some(_), .. },
                ..
            })) if *to == from && share.length == buffer.bytes() && fabric.route(from).put => {
                self.share_send(fabric, from, key, start, share);
            }
            _ => self.malformed(from, "a SHARE for a request that shares nothing, or not so much"),
        }
    }

    /// The sender has taken this announced receive and copies the lower half.
    fn share_receive(&mut self, fabric: &dyn Fabric, from: Node, header: &Header, share: Share) {
        let [_, key, start] = *header;
        let peer = self.peers.at(from);
        peer.seen += 1;
        peer.puts_seen += 1;
        let Some(receive) = self.requests.receive_mut(key) else { return };
        let ReceiveStage::Posted { place, offered: Some(offer) } = &receive.stage else { return };
        let (place, envelope, exposed) = (*place, offer.envelope, Some(offer.key));
        let mover = self.choice.mover_by_letter(share.length - start);
        let ticket = receive.buffer.get(fabric, from, &share.key, start..share.length, mover);
        let portions = Portions::with(exposed);
        let (length, sender) = (share.length, share.request);
        receive.stage = ReceiveStage::Sharing { envelope, from, length, sender, portions };
        self.posted.remove(place);
        self.matches(fabric, (Which::Put(sequence_of(header)), Some(key)), |_| {
            Transit::of(from, &envelope, length, Carried::Shared)
        });
        self.part_started(fabric, key, (from, sender), mover, ticket);
    }

    /// The receiver has taken this offered send and copies the lower half.
    fn share_send(&mut self, fabric: &dyn Fabric, from: Node, key: Key, start: u64, share: Share) {
        let Some(send) = self.requests.send_mut(key) else { return };
        let mover = self.choice.mover_by_letter(share.length - start);
        let delivery = Delivery { mover, notice: None };
        let ticket = send.buffer.put(fabric, from, &share.key, start..share.length, &delivery);
        if let SendStage::Offered { helps, .. } = &mut send.stage {
            *helps = Some(share.request);
        }
        self.part_started(fabric, key, (from, share.request), mover, ticket);
    }

    fn part_started(
        &mut self,
        fabric: &dyn Fabric,
        key: Key,
        (peer, theirs): (Node, Key),
        mover: Mover,
        ticket: Result<Ticket, fabric::PortalError>,
    ) {
        match ticket {
            Ok(ticket) if mover == Mover::Together => self.transfer_joins(fabric, key, ticket),
            Ok(ticket) => self.transfer_started(fabric, key, ticket),
            Err(error) => self.copy_failed(fabric, key, peer, theirs, error),
        }
    }

    /// This rank has copied its half of an announced receive.
    pub(super) fn shared_receive_done(&mut self, fabric: &dyn Fabric, key: Key) {
        let Some(receive) = self.requests.receive(key) else { return };
        let ReceiveStage::Sharing { from, sender, .. } = &receive.stage else { return };
        let (from, sender) = (*from, *sender);
        self.post_control(fabric, from, plain_header(Kind::Shared, 0, sender), &[]);
        self.sharing_continued(fabric, key, Part::Mine);
    }

    /// One of the halves of an announced receive is in place.
    pub(super) fn sharing_continued(&mut self, fabric: &dyn Fabric, key: Key, part: Part) {
        let Some(receive) = self.requests.receive_mut(key) else { return };
        let ReceiveStage::Sharing { envelope, from, length, portions, .. } = &mut receive.stage else {
            return;
        };
        if portions.copied(fabric, part) {
            if let Some(bad) = portions.failed {
                let from = *from;
                return self.end_failed(fabric, key, from, bad);
            }
            let status = Status::received(envelope, *length);
            self.finish(fabric, key, Ok(status));
        }
    }

    /// The peer has copied the half that this rank asked it to.
    pub(super) fn shared(&mut self, fabric: &dyn Fabric, peer: Node, key: Key) {
        match self.requests.get(key).map(|request| &request.work) {
            Some(Work::Send(SendWork { to, stage: SendStage::Putting { portions, .. }, .. }))
                if *to == peer && portions.awaits_peer() =>
            {
                self.put_continued(fabric, key, Part::Theirs);
            }
            Some(Work::Receive(ReceiveWork {
                stage: ReceiveStage::Getting { from, portions, .. }, ..
            })) if *from == peer && portions.awaits_peer() => {
                self.get_continued(fabric, key, Part::Theirs);
            }
            _ => self.malformed(peer, "a half of no message"),
        }
    }
}

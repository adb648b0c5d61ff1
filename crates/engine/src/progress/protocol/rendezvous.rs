//! Sender-first rendezvous (DCFA-MPI): RTS with the exposed source, the receiver gets, DONE.
//!
//! Cost: two letters and one copy, made by the receiver. Scattered data is packed first at the sender, and got into staging
//! memory first at the receiver; if the sender waits anyway, it goes in letters instead where those are pipelined (see `stream`).

use fabric::{Fabric, Header, Mover, Node, PortStep, Ticket};
use smallvec::SmallVec;

use super::{copied, failure, fits, opens_claim, share};
use crate::progress::core::{Core, PACKED, Transfer, UNEXPECTED};
use crate::progress::observe::Which;
use crate::progress::tables::arrived::{Arrived, Body};
use crate::progress::tables::matching::Pattern;
use crate::progress::tables::peers::Outgoing;
use crate::progress::tables::portions::{Part, Portions};
use crate::progress::tables::receive::{ReceiveStage, ReceiveWork};
use crate::progress::tables::request::{Request, Work};
use crate::progress::tables::send::{SendStage, SendWork};
use crate::progress::tables::watch::{Carried, Transit};
use crate::values::choice::{Choice, Fetch};
use crate::values::envelope::{Envelope, Kind, Rts, Share, plain_header};
use crate::values::error::{Error, Result};
use crate::values::memory::{RecvBuffer, SendBuffer, Staging};
use crate::values::request::Status;
use crate::values::slab::Key;
use crate::values::trial::Copies;

/// So many transfers go together at most, so that those who wait for the first do not wait for long.
const TOGETHER: usize = 8;

/// False if the send has been cancelled.
fn claimed(fabric: &dyn Fabric, from: Node, rts: &Rts) -> bool {
    rts.claim().is_none_or(|name| fabric.claim(from, name))
}

/// How the data of an RTS comes into this buffer.
fn fetch(choice: &Choice, fabric: &dyn Fabric, from: Node, rts: &Rts, buffer: &RecvBuffer) -> Fetch {
    if rts.scattered || !buffer.is_contiguous() && choice.streams_scattered(fabric, from, rts.waiting) {
        Fetch::Stream
    } else {
        choice.fetch(fabric, from, rts.key)
    }
}

impl Core {
    /// Starts a send that waits for its receiver: into an announced receive if there is one, else by an RTS.
    pub(super) fn begin_rendezvous(&mut self, fabric: &dyn Fabric, key: Key, waiting: bool) -> Result<()> {
        let scattered = self.is_streamed(fabric, key, waiting);
        if let Some(send) = self.requests.send(key) {
            self.peers.at(send.to).goes();
        }
        if !scattered {
            self.pack(fabric, key)?;
            if self.put_into_announced(fabric, key) {
                return Ok(());
            }
        }
        self.offer(fabric, key, scattered, waiting)
    }

    /// True for a send whose data lies scattered and leaves in letters.
    fn is_streamed(&self, fabric: &dyn Fabric, key: Key, waiting: bool) -> bool {
        self.requests.send(key).is_some_and(|send| {
            send.buffer.contiguous().is_none() && self.choice.streams_scattered(fabric, send.to, waiting)
        })
    }

    /// Packs the data of a send that lies scattered.
    fn pack(&mut self, fabric: &dyn Fabric, key: Key) -> Result<()> {
        let Some(send) = self.requests.send_mut(key) else {
            return Err(Error::Internal { reason: "a rendezvous of no send" });
        };
        if send.buffer.contiguous().is_none() && send.booked.is_none() {
            let bytes = send.buffer.bytes() as usize;
            if let Err(exceeded) = fabric.budget().reserve(PACKED, bytes) {
                self.requests.remove(key);
                return Err(exceeded.into());
            }
            send.booked = Some((PACKED, bytes));
            send.buffer = SendBuffer::owned(send.buffer.packed());
            copied(fabric, bytes as u64);
        }
        Ok(())
    }

    /// The offer of a message that was to travel eagerly and was counted as such. It crosses no announcement, so it needs no number.
    /// Scattered data is not packed: the receiver asks for it piece by piece.
    pub(super) fn offer_instead(&mut self, fabric: &dyn Fabric, key: Key) -> Outgoing {
        let exposes = |to| self.choice.exposes(fabric, to);
        let (mut exposed, mut revocable, mut header) = (None, false, Header::default());
        let mut scattered = false;
        if let Some(send) = self.requests.send_mut(key) {
            scattered = send.buffer.contiguous().is_none();
            if let Some(kind) = exposes(send.to).filter(|_| !scattered) {
                exposed = send.buffer.expose(fabric, send.to, kind).ok();
            }
            revocable = opens_claim(fabric, key, &send.envelope, false);
            send.stage = SendStage::Offered { key: exposed, helps: None, revocable };
            header = send.envelope.header(Kind::Rts, send.buffer.bytes());
        }
        let rts = Rts { request: key, key: exposed, waiting: false, revocable, scattered, number: 0 };
        Outgoing::Control(header, SmallVec::from_slice(&rts.encode()))
    }

    /// Announces a send to its receiver: whether its data lies `scattered`, and is sent in letters only; `waiting` tells it that this rank can
    /// help with the copy.
    fn offer(&mut self, fabric: &dyn Fabric, key: Key, scattered: bool, waiting: bool) -> Result<()> {
        let Some(send) = self.requests.send_mut(key) else {
            return Err(Error::Internal { reason: "an offer of no send" });
        };
        let kind = self.choice.exposes(fabric, send.to).filter(|_| !scattered && send.buffer.bytes() > 0);
        // What finds no slot goes as to another cluster.
        let opens_ports = self.choice.opens_ports();
        let kind = kind.filter(|_| !opens_ports || fabric.port(PortStep::SendNear));
        let exposed = kind.and_then(|kind| send.buffer.expose(fabric, send.to, kind).ok());
        if opens_ports && exposed.is_none() {
            fabric.port(PortStep::SendFar);
        }
        let revocable = opens_claim(fabric, key, &send.envelope, waiting);
        send.stage = SendStage::Offered { key: exposed, helps: None, revocable };
        let header = send.envelope.header(Kind::Rts, send.buffer.bytes());
        let to = send.to;
        let (envelope, length) = (send.envelope, send.buffer.bytes());
        let copied = super::lazy::is_copy(send);
        let peer = self.peers.at(to);
        peer.count_plain();
        // What cannot be put crosses no announcement, so it needs no number.
        let number = if scattered { 0 } else { peer.sent };
        // What may be revoked is not put into an announcement that it has crossed: its receiver could not tell whether it was.
        if exposed.is_none() && !revocable && !scattered {
            peer.offer(key, |request| self.requests.get(request).is_some_and(Request::is_offered));
        }
        self.send_begins(fabric, (Which::CountedLast, Some(key)), |_| {
            let carried = if copied { Carried::Lazy } else { Carried::Offered };
            Transit::of(to, &envelope, length, carried)
        });
        let rts = Rts { request: key, key: exposed, waiting, revocable, scattered, number };
        self.post_control(fabric, to, header, &rts.encode());
        Ok(())
    }

    pub(super) fn offer_arrived(
        &mut self,
        fabric: &dyn Fabric,
        from: Node,
        envelope: Envelope,
        length: u64,
        rts: Rts,
    ) {
        let peer = self.peers.at(from);
        peer.seen += 1;
        peer.has_come();
        self.long_arrived(fabric, from, length, Copies::One);
        if self.direct_fits(&envelope) {
            self.post_direct(fabric);
        }
        if !self.is_possible(&envelope) {
            return self.malformed(from, "an RTS with a source or tag that no message has");
        }
        let Some(place) = self.posted.find(&envelope) else {
            if self.book_entry(fabric) {
                self.keep_message(fabric, from, envelope, length, &[], Some(Body::Offered(rts)));
            }
            return;
        };
        if !claimed(fabric, from, &rts) {
            return; // Its sender has cancelled it.
        }
        let key = self.posted.remove(place);
        if !self.offer_crossed(fabric, key, from, (envelope, length), &rts) {
            self.withdraw_announcement(fabric, key);
            self.matches(fabric, (Which::CountedLast, Some(key)), |core| {
                let carried = core.carried_by_offer(fabric, (key, from), &rts, length);
                Transit::of(from, &envelope, length, carried)
            });
            self.accept_offer_soon(fabric, key, from, (envelope, length), rts);
        }
    }

    /// Takes out the oldest message that fits, for a receive or a matched probe. Those that were cancelled are dropped.
    #[inline]
    pub(crate) fn take_unexpected(&mut self, fabric: &dyn Fabric, pattern: &Pattern) -> Option<Key> {
        loop {
            let message = self.unexpected.take(pattern)?;
            match self.messages.get(message) {
                Some(Arrived { from, body: Body::Offered(rts), .. }) if !claimed(fabric, *from, rts) => {
                    self.take_message(fabric, message);
                }
                _ => return Some(message),
            }
        }
    }

    /// The oldest message that fits, left where it is. Those that were cancelled are dropped.
    pub(crate) fn find_unexpected(&mut self, fabric: &dyn Fabric, pattern: &Pattern) -> Option<Key> {
        loop {
            let (place, message) = self.unexpected.find(pattern)?;
            if !self.messages.get(message).is_some_and(|arrived| arrived.is_cancelled(fabric)) {
                return Some(message);
            }
            self.unexpected.remove(place);
            self.take_message(fabric, message);
        }
    }

    /// How the data of an RTS will come, for those who watch.
    #[cold]
    pub(super) fn carried_by_offer(
        &self,
        fabric: &dyn Fabric,
        (key, from): (Key, Node),
        rts: &Rts,
        length: u64,
    ) -> Carried {
        let Some(receive) = self.requests.receive(key) else {
            return Carried::Offered;
        };
        match fetch(&self.choice, fabric, from, rts, &receive.buffer) {
            Fetch::Get(_) if self.is_waited_for(from, rts) && share::pays(&self.choice, length) => {
                Carried::Shared
            }
            Fetch::Get(_) => Carried::Fetched,
            Fetch::Grant { .. } => Carried::Granted,
            Fetch::Stream => Carried::Streamed,
        }
    }

    /// Fetches the data of an announced send into a matched receive, with that of offers in the next letters where that is quicker: by then it may be known, too, that
    /// the sender waits. Not where somebody watches, who is told at once how the data comes.
    fn accept_offer_soon(
        &mut self,
        fabric: &dyn Fabric,
        key: Key,
        from: Node,
        (envelope, length): (Envelope, u64),
        rts: Rts,
    ) {
        let mover = self.choice.mover_by_letter(length);
        match self.requests.receive_mut(key) {
            Some(receive) if mover == Mover::Together && self.watch.is_none() => {
                receive.stage = ReceiveStage::Matched { envelope, from, length, rts };
                self.transfers.push(Transfer { ticket: Transfer::TO_BEGIN, request: key });
            }
            _ => self.accept_offer(fabric, key, from, (envelope, length), rts, self.choice.mover(length)),
        }
    }

    /// Fetches the data of the next offers that wait for that; false if there are none.
    #[cold]
    pub(crate) fn fetch_next(&mut self, fabric: &dyn Fabric) -> bool {
        let is_waiting = |transfer: &Transfer| transfer.ticket == Transfer::TO_BEGIN;
        let Some(first) = self.transfers.iter().position(is_waiting) else { return false };
        for _ in 0..TOGETHER {
            if !self.transfers.get(first).is_some_and(is_waiting) {
                break;
            }
            let Transfer { request, .. } = self.transfers.remove(first);
            // One whose peer is lost has ended.
            if let Some(receive) = self.requests.receive(request)
                && let ReceiveStage::Matched { envelope, from, length, rts } = receive.stage
            {
                let mover = self.choice.mover_by_letter(length);
                self.accept_offer(fabric, request, from, (envelope, length), rts, mover);
            }
        }
        self.check_transfers(fabric);
        true
    }

    /// Fetches the data of an announced send into a matched receive.
    pub(super) fn accept_offer(
        &mut self,
        fabric: &dyn Fabric,
        key: Key,
        from: Node,
        (envelope, length): (Envelope, u64),
        rts: Rts,
        mover: Mover,
    ) {
        let Some(receive) = self.requests.receive_mut(key) else {
            return self.inconsistent("a matched receive without a request");
        };
        let fitting = fits(&receive.buffer, &envelope, length);
        let sender = rts.request;
        if length == 0 && !self.choice.moves_nothing_too() || fitting.is_err() {
            self.finish(fabric, key, fitting.map(|()| Status::received(&envelope, 0)));
            return self.post_control(fabric, from, plain_header(Kind::Done, 0, sender), &[]);
        }
        let portal = match fetch(&self.choice, fabric, from, &rts, &receive.buffer) {
            Fetch::Get(portal) => portal,
            Fetch::Grant { confirmed } => {
                return self.grant(fabric, key, from, (envelope, length), sender, confirmed);
            }
            Fetch::Stream => return self.ask_for_stream(fabric, key, from, (envelope, length), sender),
        };
        let is_waited_for = self.is_waited_for(from, &rts);
        let Some(receive) = self.requests.receive(key) else { return };
        let (ticket, staging, portions) = if receive.buffer.is_contiguous() {
            let exposed =
                if is_waited_for { self.share_offer(fabric, key, from, length, sender) } else { None };
            let Some(receive) = self.requests.receive(key) else { return };
            let mine = if exposed.is_some() { share::middle(length) } else { length };
            let ticket = receive.buffer.get(fabric, from, &portal, 0..mine, mover);
            (ticket, None, Portions::with(exposed))
        } else {
            if let Err(exceeded) = fabric.budget().reserve(UNEXPECTED, length as usize) {
                // The sender is let go: its message cannot be taken.
                self.finish(fabric, key, Err(exceeded.into()));
                return self.post_control(fabric, from, plain_header(Kind::Done, 0, sender), &[]);
            }
            let mut staging = Staging::new(length as usize);
            (staging.get(fabric, from, &portal, mover), Some(staging), Portions::with(None))
        };
        let Some(receive) = self.requests.receive_mut(key) else { return };
        receive.stage = ReceiveStage::Getting { envelope, from, length, sender, staging, portions };
        match ticket {
            Ok(ticket) if mover == Mover::Together => self.transfer_joins(fabric, key, ticket),
            Ok(ticket) => self.transfer_started(fabric, key, ticket),
            Err(error) => self.copy_failed(fabric, key, from, sender, error),
        }
    }

    /// Asks the waiting sender of an offer to put the upper half, where that pays; the exposure that it puts into.
    fn share_offer(
        &mut self,
        fabric: &dyn Fabric,
        key: Key,
        from: Node,
        length: u64,
        sender: u64,
    ) -> Option<fabric::Key> {
        if !share::pays(&self.choice, length) || !fabric.route(from).put {
            return None;
        }
        let receive = self.requests.receive(key)?;
        let exposed = receive.buffer.expose(fabric, from).ok()?;
        self.ask_to_share(fabric, from, (sender, 0), Share { request: key, key: exposed, length });
        Some(exposed)
    }

    /// Watches a transfer that a letter has asked for: it is asked for when those of the letters behind have been begun, too.
    pub(super) fn transfer_joins(&mut self, fabric: &dyn Fabric, request: Key, ticket: Ticket) {
        if ticket == Ticket::DONE {
            self.transfer_done(fabric, request);
        } else {
            self.transfers.push(Transfer { ticket, request });
            if self.transfers.len() >= TOGETHER {
                self.check_transfers(fabric);
            }
        }
    }

    /// Watches a transfer, or completes its request at once.
    pub(crate) fn transfer_started(&mut self, fabric: &dyn Fabric, request: Key, ticket: Ticket) {
        match if ticket == Ticket::DONE { Ok(true) } else { fabric.done(ticket) } {
            Ok(true) => self.transfer_done(fabric, request),
            Ok(false) => self.transfers.push(Transfer { ticket, request }),
            Err(error) => self.transfer_failed(fabric, request, error),
        }
    }

    pub(super) fn check_transfers(&mut self, fabric: &dyn Fabric) -> usize {
        let mut finished = 0;
        let mut at = 0;
        while at < self.transfers.len() {
            if self.transfers[at].ticket == Transfer::TO_BEGIN {
                at += 1;
                continue;
            }
            let done = fabric.done(self.transfers[at].ticket);
            if done == Ok(false) {
                at += 1;
                continue;
            }
            let Transfer { request, .. } = self.transfers.swap_remove(at);
            match done {
                Ok(_) => self.transfer_done(fabric, request),
                Err(error) => self.transfer_failed(fabric, request, error),
            }
            finished += 1;
        }
        finished
    }

    fn transfer_done(&mut self, fabric: &dyn Fabric, key: Key) {
        match self.requests.get_mut(key).map(|request| &mut request.work) {
            Some(Work::Receive(ReceiveWork { buffer, stage: ReceiveStage::Getting { staging, .. } })) => {
                if let Some(staging) = staging {
                    buffer.unpack(0, staging.bytes());
                    fabric.budget().release(UNEXPECTED, staging.bytes().len());
                    copied(fabric, staging.bytes().len() as u64);
                }
                self.get_continued(fabric, key, Part::Mine);
            }
            Some(Work::Receive(ReceiveWork { stage: ReceiveStage::Sharing { .. }, .. })) => {
                self.shared_receive_done(fabric, key);
            }
            Some(Work::Send(SendWork { stage: SendStage::Putting { .. }, .. })) => self.put_done(fabric, key),
            Some(Work::Send(SendWork {
                stage: SendStage::Offered { helps: Some(receiver), .. },
                to,
                ..
            })) => {
                let (receiver, to) = (*receiver, *to);
                self.post_control(fabric, to, plain_header(Kind::Shared, 0, receiver), &[]);
            }
            Some(Work::External) => self.finish(fabric, key, Ok(Status::EMPTY)),
            _ => self.inconsistent("a transfer of no request"),
        }
    }

    /// A part of the data of an offered send is in place.
    pub(super) fn get_continued(&mut self, fabric: &dyn Fabric, key: Key, part: Part) {
        let Some(receive) = self.requests.receive_mut(key) else { return };
        let ReceiveStage::Getting { envelope, from, length, sender, portions, .. } = &mut receive.stage
        else {
            return;
        };
        if portions.copied(fabric, part) {
            let (status, from, sender) = (Status::received(envelope, *length), *from, *sender);
            if let Some(bad) = portions.failed {
                self.end_failed(fabric, key, from, bad);
                return self.post_control(fabric, from, failure::failed(bad, sender), &[]);
            }
            self.finish(fabric, key, Ok(status));
            self.post_flag(fabric, from, plain_header(Kind::Done, 0, sender));
        }
    }

    /// The receiver has the data.
    pub(super) fn send_done(&mut self, fabric: &dyn Fabric, peer: Node, key: Key) {
        let in_transfer = self.transfers.iter().any(|transfer| transfer.request == key);
        if self.choice.opens_ports()
            && let Some(send) = self.requests.send(key)
        {
            let near = matches!(send.stage, SendStage::Offered { key: Some(_), .. });
            fabric.port(if near { PortStep::SentNear } else { PortStep::SentFar });
        }
        match self.requests.get_mut(key).map(|request| &mut request.work) {
            Some(Work::Send(SendWork {
                to,
                stage: SendStage::Putting { acknowledged: owed @ true, .. },
                ..
            })) if *to == peer && in_transfer => {
                // The acknowledgement was quicker than the next look at the ticket, which then completes the send.
                *owed = false;
                return;
            }
            Some(Work::Send(SendWork { to, stage: SendStage::Offered { .. }, .. }))
                if *to == peer && !in_transfer => {}
            _ => return self.malformed(peer, "a DONE for a send that does not wait for it"),
        }
        self.withdraw_offer(fabric, key);
        self.finish(fabric, key, Ok(Status::EMPTY));
    }

    /// Ends the exposure of an offered send.
    pub(crate) fn withdraw_offer(&mut self, fabric: &dyn Fabric, key: Key) {
        if let Some(send) = self.requests.send_mut(key)
            && let SendStage::Offered { key: exposed, .. } = &mut send.stage
            && let Some(exposed) = exposed.take()
        {
            fabric.withdraw(exposed);
        }
    }
}

//! How messages travel. One protocol a file; `deliver` is the one place where letters are told apart.
//!
//! | protocol | file | when |
//! | --- | --- | --- |
//! | eager | `eager` | up to `eager_max` bytes: the payload is in the letters |
//! | lazy | `lazy` | up to `lazy_max` bytes, on chips: a copy at the sender that leaves later |
//! | fresh | `fresh` | up to `fresh_max` bytes, where letters have turned out to be quicker: eagerly, too |
//! | sender-first rendezvous | `rendezvous` | larger, or synchronous: RTS, the receiver gets, DONE |
//! | granted rendezvous | `granted` | where portals only put: RTS, CTS with a portal key, the sender puts, FIN |
//! | receiver-first rendezvous | `receiver_first` | the receive was posted early and announced itself: the sender puts, FIN |
//! | simultaneous | `peers` | RTS and RTR cross: the RTR is void, the receiver gets |
//! | simultaneous, put only | `crossing` | RTS and RTR cross where the portal only puts: the RTR is the grant |
//! | shared copy | `share` | rendezvous of a large message that both ranks wait for: each copies half |
//! | multicast | `multicast` | a broadcast where the network copies on the way: letters, or a put, that several receivers get at once |
//! | streamed rendezvous | `stream` | rendezvous where the portal does not reach, or data that lies scattered and whose sender waits: CTS, then the data in letters |
//!
//! `crate::values::choice` says which of them carries a message. LWMPI's *local* protocol is the rendezvous over a fabric whose portal is a plain copy: the sender offers its buffer and the
//! receiver copies once, or the receive was posted and the sender copies straight into it.

mod crossing;
mod eager;
mod failure;
mod fresh;
mod granted;
mod lazy;
mod multicast;
mod plain;
mod receiver_first;
mod rendezvous;
mod share;
mod stream;

use alloc::vec::Vec;
use core::ops::Range;

use fabric::{DAMAGED, Fabric, Header, NO_NODE, Node};

use crate::progress::core::Core;
use crate::progress::observe::Which;
use crate::progress::tables::arrived::{Arrived, Body};
use crate::progress::tables::request::{Request, Work};
use crate::progress::tables::send::{SendStage, SendWork};
use crate::progress::tables::watch::{Carried, Transit, Wanted};
use crate::values::envelope::{Envelope, Grant, Kind, Rtr, Rts, Share, unwords};
use crate::values::error::{Error, Result};
use crate::values::memory::{RecvBuffer, SendBuffer};
use crate::values::request::{RequestId, Status};
use crate::values::slab::Key;

pub(crate) use failure::failed;
pub(crate) use granted::fin;
pub(crate) use multicast::UnderWay;

/// How a send may complete (MPI section 3.4, less the buffered mode, which is a copy sent in standard mode).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Completion {
    /// When the buffer may be reused.
    Local,
    /// When the receive has been matched, too.
    Matched,
}

/// What a send is besides its message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Manner {
    pub completion: Completion,
    /// Bytes booked on the budget for its data, and for which purpose.
    pub booked: Option<(&'static str, usize)>,
    pub meanwhile: Meanwhile,
}

/// What the caller does until a send is done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Meanwhile {
    /// Something else, for all that is known.
    Anything,
    /// It waits for it alone, so the receiver may ask it to help with the copy.
    Waits,
    /// It receives a message of somebody who does the same.
    Receives,
}

/// Letters of messages of so many bytes are posted [in bulk](fabric::Mailbox::in_bulk): longer ones (decision 58), laid down as the C library does (decision 64).
const BULK: u64 = 128 << 10;

/// The same where as long a message comes at the same time.
const BULK_IN_EXCHANGES: u64 = 64 << 10;

#[inline]
fn is_bulk(bytes: u64, meanwhile: Meanwhile) -> bool {
    bytes >= BULK_IN_EXCHANGES && (bytes >= BULK || meanwhile == Meanwhile::Receives)
}

impl Core {
    /// Handles one letter.
    #[inline]
    pub fn deliver(&mut self, fabric: &dyn Fabric, from: Node, header: &Header, payload: &[u8]) {
        if header[0] as u8 == Kind::Eager as u8 {
            return self.eager_arrived(fabric, from, header, payload);
        }
        self.deliver_control(fabric, from, header, payload);
    }

    fn deliver_control(&mut self, fabric: &dyn Fabric, from: Node, header: &Header, payload: &[u8]) {
        match Kind::of(header) {
            Some(Kind::Eager) => self.eager_arrived(fabric, from, header, payload),
            Some(Kind::EagerMore) => self.eager_continued(fabric, from, payload),
            Some(Kind::Rts) => match Rts::decode(payload) {
                Some(rts) => self.offer_arrived(fabric, from, Envelope::of(header), header[2], rts),
                None => self.malformed(from, "an RTS of the wrong length"),
            },
            Some(Kind::Done) => self.send_done(fabric, from, header[2]),
            Some(Kind::Cts) => match unwords(payload) {
                Some([sender, receiver]) => self.begin_stream(fabric, from, sender, receiver),
                None => self.malformed(from, "a CTS of the wrong length"),
            },
            Some(Kind::Data) => self.data_arrived(fabric, from, header[1], header[2], payload),
            Some(Kind::Rtr) => match Rtr::decode(payload) {
                Some(rtr) => self.announcement_arrived(fabric, from, Envelope::of(header), header[2], rtr),
                None => self.malformed(from, "an RTR of the wrong length"),
            },
            Some(Kind::Fin) => self.put_arrived(fabric, from, header),
            Some(Kind::Grant) => match Grant::decode(payload) {
                Some(grant) => self.granted(fabric, from, grant, header[1] != 0),
                None => self.malformed(from, "a grant of the wrong length"),
            },
            Some(Kind::Confirm) => self.confirmed(from, header[2]),
            Some(Kind::Raw) => self.raw_arrived(fabric, from, header, payload),
            Some(Kind::Want) => self.want_arrived(from, header, payload),
            Some(Kind::CancelSend) => self.cancel_offer(fabric, from, header[2], header[1] != 0),
            Some(Kind::SendCancelled) => self.send_cancelled(fabric, from, header[2]),
            Some(Kind::CancelReceive) => self.cancel_announcement(fabric, from, header[2], header[1] != 0),
            Some(Kind::ReceiveCancelled) => self.receive_cancelled(fabric, from, header[2]),
            Some(Kind::Share) => match Share::decode(payload) {
                Some(share) => self.share_arrived(fabric, from, header, share),
                None => self.malformed(from, "a SHARE of the wrong length"),
            },
            Some(Kind::Shared) => self.shared(fabric, from, header[2]),
            Some(Kind::Waits) => self.peers.at(from).streams().waits_until = header[2],
            Some(Kind::Store | Kind::Load) => self.asked(fabric, from, header, payload),
            Some(Kind::Failed) => self.failure_arrived(fabric, from, header[1], header[2]),
            None if *header == DAMAGED => {
                let node = (from != NO_NODE).then_some(from.0);
                self.fault.get_or_insert(Error::Damaged { node });
            }
            None => self.malformed(from, "a letter of unknown kind"),
        }
    }

    /// True if a message can have this source and tag.
    pub(super) fn is_possible(&self, envelope: &Envelope) -> bool {
        envelope.source < self.peers.len() && crate::progress::tables::matching::is_possible(envelope)
    }

    /// Starts a send. [`RequestId::SENT`] if it is complete already.
    #[inline]
    pub fn start_send(
        &mut self,
        fabric: &dyn Fabric,
        buffer: &SendBuffer,
        to: Node,
        envelope: Envelope,
        manner: Manner,
    ) -> Result<RequestId> {
        let bytes = buffer.bytes();
        let Manner { completion, booked, meanwhile } = manner;
        if completion == Completion::Local
            && (bytes < self.choice.eager_below || self.takes_letters(fabric, to, bytes))
        {
            if !self.lazies.is_empty() {
                self.send_copies_first(fabric, to);
            }
            return self.send_eagerly(fabric, buffer, to, envelope, (is_bulk(bytes, meanwhile), booked));
        }
        if self.is_lazy(bytes, &manner)
            && let Some(sent) = self.send_lazily(fabric, buffer, to, envelope)
        {
            return Ok(sent);
        }
        if !self.lazies.is_empty() {
            self.send_copies_first(fabric, to);
        }
        let work = SendWork { buffer: buffer.clone(), to, envelope, stage: SendStage::Outbox, booked };
        let id = self.add_request(fabric, Request::new(Work::Send(work)))?;
        self.begin_rendezvous(fabric, id.key(), meanwhile == Meanwhile::Waits)?;
        Ok(id)
    }

    /// Starts a receive; `waiting` as for sends.
    #[inline]
    pub fn start_receive(
        &mut self,
        fabric: &dyn Fabric,
        buffer: &RecvBuffer,
        pattern: crate::progress::tables::matching::Pattern,
        source_node: Option<Node>,
        waiting: bool,
    ) -> Result<RequestId> {
        self.receive_begins(fabric, false, || {
            let (tag, context) = (pattern.tag, pattern.context);
            Wanted { from: source_node, tag, context, bytes: buffer.bytes() }
        });
        self.find_or_post(fabric, buffer, pattern, source_node, waiting)
    }

    /// The part of [`start_receive`](Core::start_receive) that nobody is told of.
    #[inline]
    pub(crate) fn find_or_post(
        &mut self,
        fabric: &dyn Fabric,
        buffer: &RecvBuffer,
        pattern: crate::progress::tables::matching::Pattern,
        source_node: Option<Node>,
        waiting: bool,
    ) -> Result<RequestId> {
        match self.take_unexpected(fabric, &pattern) {
            Some(message) => self.receive_message(fabric, buffer, message),
            None => self.post_receive(fabric, buffer, pattern, source_node, waiting),
        }
    }

    /// Receives a message that is already here, or already announced, into `buffer`.
    pub fn receive_message(
        &mut self,
        fabric: &dyn Fabric,
        buffer: &RecvBuffer,
        message: Key,
    ) -> Result<RequestId> {
        let Some(arrived) = self.messages.get_mut(message) else {
            let reason = if self.messages.was_removed(message) {
                "the message was received before, expected one that was not"
            } else {
                "message names none that was ever matched, expected one from MPI_Mprobe"
            };
            return Err(Error::Request { reason });
        };
        if let Body::Data(data) = &arrived.body
            && (data.len() as u64) < arrived.length
        {
            // Its last pieces are under way: the receive completes when they are here.
            let Arrived { envelope, from, length, .. } = *arrived;
            let work = Work::Receive(filling(buffer, &envelope, from, length));
            let id = self.add_request(fabric, Request::new(work))?;
            if let Some(arrived) = self.messages.get_mut(message) {
                arrived.claimed_by = Some(id.key());
            }
            self.matches(fabric, (Which::Arrived(message), Some(id.key())), |_| {
                Transit::of(from, &envelope, length, Carried::EagerPieces)
            });
            return Ok(id);
        }
        let Some(arrived) = self.take_message(fabric, message) else {
            return Err(Error::Internal { reason: "a message vanished" });
        };
        let Arrived { envelope, from, length, .. } = arrived;
        if let Some(data) = arrived.whole() {
            copied(fabric, length);
            self.matches(fabric, (Which::Arrived(message), None), |_| {
                Transit::of(from, &envelope, length, Carried::Eager)
            });
            let outcome = store(buffer, &envelope, data);
            if let Body::Data(data) = arrived.body {
                self.spares.keep(data);
            }
            return self.add_request(fabric, Request::complete(outcome));
        }
        match arrived.body {
            Body::Lost(error) => self.add_request(fabric, Request::complete(Err(error))),
            Body::Short(_) | Body::Data(_) => Err(Error::Internal { reason: "a message vanished" }),
            Body::Offered(rts) => {
                let work = Work::Receive(filling(buffer, &envelope, from, length));
                let id = self.add_request(fabric, Request::new(work))?;
                self.matches(fabric, (Which::Arrived(message), Some(id.key())), |core| {
                    let carried = core.carried_by_offer(fabric, (id.key(), from), &rts, length);
                    Transit::of(from, &envelope, length, carried)
                });
                let mover = self.choice.mover(length);
                self.accept_offer(fabric, id.key(), from, (envelope, length), rts, mover);
                Ok(id)
            }
        }
    }

    /// Does what waits for room or for a DMA engine; returns how much it moved.
    pub fn push_backlog(&mut self, fabric: &dyn Fabric) -> usize {
        self.send_copies(fabric)
            + self.empty_outboxes(fabric)
            + self.push_streams(fabric)
            + self.check_transfers(fabric)
    }
}

/// Opens the word by which the announcement of a request may be revoked (see `cancel`), where there is one. What no program can cancel,
/// blocking calls and parts of collectives, needs none.
fn opens_claim(fabric: &dyn Fabric, request: Key, envelope: &Envelope, waiting: bool) -> bool {
    !waiting && envelope.context.is_point_to_point() && fabric.open(request)
}

/// A part of a message as one slice, packed into `scratch` if it is scattered.
#[inline]
fn piece<'a>(
    fabric: &dyn Fabric,
    buffer: &'a SendBuffer,
    part: Range<u64>,
    scratch: &'a mut Vec<u8>,
) -> &'a [u8] {
    match buffer.contiguous() {
        Some(bytes) => &bytes[part.start as usize..part.end as usize],
        None => {
            scratch.resize((part.end - part.start) as usize, 0);
            buffer.pack(part.start, scratch);
            copied(fabric, part.end - part.start);
            scratch
        }
    }
}

/// Tells a simulated core what it has copied.
fn copied(fabric: &dyn Fabric, bytes: u64) {
    if let Some(time) = fabric.virtual_time() {
        time.copied(bytes);
    }
}

/// Stores a whole eager message, or says why it does not fit.
fn store(buffer: &RecvBuffer, envelope: &Envelope, data: &[u8]) -> Result<Status> {
    fits(buffer, envelope, data.len() as u64)?;
    buffer.unpack(0, data);
    Ok(Status::received(envelope, data.len() as u64))
}

fn fits(buffer: &RecvBuffer, envelope: &Envelope, length: u64) -> Result<()> {
    if length <= buffer.bytes() {
        return Ok(());
    }
    Err(Error::Truncated {
        source: envelope.source,
        tag: envelope.tag,
        received: length,
        capacity: buffer.bytes(),
    })
}

fn filling(
    buffer: &RecvBuffer,
    envelope: &Envelope,
    from: Node,
    length: u64,
) -> crate::progress::tables::receive::ReceiveWork {
    crate::progress::tables::receive::ReceiveWork {
        buffer: buffer.clone(),
        stage: crate::progress::tables::receive::ReceiveStage::Filling {
            envelope: *envelope,
            from,
            length,
            filled: 0,
        },
    }
}

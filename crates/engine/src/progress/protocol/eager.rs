//! Eager: the payload travels inside the letters, in one piece where it fits, else split (MPPA-MPI, DCFA-MPI).
//!
//! Cost: one letter, one copy in and one copy out when the receive is posted; one more copy when it is not. The pieces of a
//! split message follow each other without another letter to the same peer between them, so they need no name.

use core::ops::RangeInclusive;

use fabric::{Fabric, Header, Node, PostError};

use super::{fits, piece, store};
use crate::progress::core::{Core, ENTRY_BYTES, UNEXPECTED};
use crate::progress::observe::Which;
use crate::progress::tables::arrived::{Arrived, Body, Short};
use crate::progress::tables::peers::{Assembling, Outgoing};
use crate::progress::tables::receive::{ReceiveStage, ReceiveWork};
use crate::progress::tables::request::{Request, Work};
use crate::progress::tables::send::{SendStage, SendWork};
use crate::progress::tables::watch::{Begin, Carried, Transit};
use crate::values::envelope::{CONTROL_MAX, Envelope, Kind, message_of, plain_header};
use crate::values::error::Result;
use crate::values::memory::SendBuffer;
use crate::values::request::{RequestId, Status};
use crate::values::slab::Key;
use crate::values::trial::Copies;

/// Memory for this many bytes of a message is taken before they are here; for more, as they come.
const TRUSTED_LENGTH: u64 = 64 << 10;

/// Messages whose letters are best fetched from their sender's cache a line of several pages at a time (decision 63): shorter ones are in its nearest cache, longer ones in none.
const FETCHED_ACROSS: RangeInclusive<u64> = 192 << 10..=768 << 10;

/// A letter that was refused so often waits for something else than a receiver that empties its mailbox.
pub(super) const PATIENCE: u32 = 256;

impl Core {
    /// Sends a message in one letter, where nothing waits for the peer, nobody watches and it has taken such letters before: most short ones. False if
    /// it takes more than that, or there is no room; nothing was sent then.
    #[inline(always)]
    pub fn send_at_once(&mut self, fabric: &dyn Fabric, bytes: &[u8], to: Node, envelope: &Envelope) -> bool {
        let length = bytes.len() as u64;
        if length >= self.choice.eager_below || self.watch.is_some() || !self.lazies.is_empty() {
            return false;
        }
        let Some(peer) = self.peers.known(to) else { return false };
        if length > peer.letter_max || !peer.outbox.is_empty() {
            return false;
        }
        let posted = fabric.try_post(to, &envelope.header(Kind::Eager, length), bytes).is_ok();
        if posted {
            peer.count_plain();
        }
        posted
    }

    #[inline]
    pub(super) fn send_eagerly(
        &mut self,
        fabric: &dyn Fabric,
        buffer: &SendBuffer,
        to: Node,
        envelope: Envelope,
        (bulk, booked): (bool, Option<(&'static str, usize)>),
    ) -> Result<RequestId> {
        let length = buffer.bytes();
        self.tell(fabric, |observer, fabric| observer.begins(fabric, &Begin::Letter));
        let peer = self.peers.inlined_at(to);
        if (peer.outbox.is_empty() || peer.lets_pass(Some(envelope))) && peer.takes(fabric, to, length) {
            let header = envelope.header(Kind::Eager, length);
            let payload = match buffer.contiguous() {
                Some(bytes) => bytes,
                None => piece(fabric, buffer, 0..length, &mut self.scratch),
            };
            if fabric.try_post(to, &header, payload).is_ok() {
                self.peers.inlined_at(to).count_plain();
                self.send_begins(fabric, (Which::CountedLast, None), |_| {
                    Transit::of(to, &envelope, length, Carried::Eager)
                });
                if let Some((purpose, bytes)) = booked {
                    fabric.budget().release(purpose, bytes);
                }
                return Ok(RequestId::SENT);
            }
        }
        let work = SendWork { buffer: buffer.clone(), to, envelope, stage: SendStage::Outbox, booked };
        let id = self.add_request(fabric, Request::new(Work::Send(work)))?;
        self.peers.at(to).count_plain();
        self.send_begins(fabric, (Which::CountedLast, Some(id.key())), |_| {
            Transit::of(to, &envelope, length, carried_eagerly(fabric, to, length))
        });
        self.queue_eager(fabric, to, Outgoing::Eager { request: id.key(), next: 0, envelope, bulk });
        Ok(id)
    }

    /// Lets an eager message, or the rest of one, wait for room behind whatever does already.
    pub(super) fn queue_eager(&mut self, fabric: &dyn Fabric, to: Node, message: Outgoing) {
        let peer = self.peers.at(to);
        peer.outbox.push_back(message);
        if peer.outbox.len() == 1 {
            self.blocked.push(to);
        }
        self.empty_outbox(fabric, to);
    }

    #[inline]
    pub(super) fn eager_arrived(&mut self, fabric: &dyn Fabric, from: Node, header: &Header, payload: &[u8]) {
        let envelope = Envelope::of(header);
        let length = header[2];
        self.peers.inlined_at(from).seen += 1;
        if self.direct_fits(&envelope) {
            if payload.len() as u64 == length {
                self.matches(fabric, (Which::CountedLast, None), |_| {
                    Transit::of(from, &envelope, length, Carried::Eager)
                });
                return self.finish_direct(envelope, length, |buffer| {
                    fits(buffer, &envelope, length)?;
                    buffer.unpack(0, payload);
                    Ok(())
                });
            }
            self.post_direct(fabric);
        }
        if !self.is_possible(&envelope) || payload.len() as u64 > length {
            return self.malformed(from, "a message with a source, tag or length that none has");
        }
        if payload.len() as u64 != length {
            self.long_arrived(fabric, from, length, Copies::Two);
        }
        match self.posted.take(&envelope) {
            Some(request) => self.eager_to_receive(fabric, from, request, envelope, length, payload),
            None => self.eager_to_unexpected(fabric, from, envelope, length, payload),
        }
    }

    fn eager_to_receive(
        &mut self,
        fabric: &dyn Fabric,
        from: Node,
        key: Key,
        envelope: Envelope,
        length: u64,
        payload: &[u8],
    ) {
        if self.watch.is_none()
            && payload.len() as u64 == length
            && let Some(request) = self.requests.get_mut(key)
            && request.fill_at_once(&envelope, payload)
        {
            return self.awaited.completed(request.mark);
        }
        self.withdraw_announcement(fabric, key);
        self.matches(fabric, (Which::CountedLast, Some(key)), |_| {
            let whole = payload.len() as u64 == length;
            let carried = if whole { Carried::Eager } else { Carried::EagerPieces };
            Transit::of(from, &envelope, length, carried)
        });
        let Some(receive) = self.requests.receive_mut(key) else {
            return self.inconsistent("a posted receive without a request");
        };
        if payload.len() as u64 == length {
            let outcome = store(&receive.buffer, &envelope, payload);
            return self.finish(fabric, key, outcome);
        }
        if let Err(error) = fits(&receive.buffer, &envelope, length) {
            let left = length - payload.len() as u64;
            self.assemble(from, Assembling::Nowhere { left });
            return self.finish(fabric, key, Err(error));
        }
        receive.buffer.unpack(0, payload);
        receive.stage = ReceiveStage::Filling { envelope, from, length, filled: payload.len() as u64 };
        self.assemble(from, Assembling::Request(key));
    }

    fn eager_to_unexpected(
        &mut self,
        fabric: &dyn Fabric,
        from: Node,
        envelope: Envelope,
        length: u64,
        payload: &[u8],
    ) {
        let whole = payload.len() as u64 == length;
        let in_entry = whole && payload.len() <= Short::MOST;
        let beside = if in_entry { 0 } else { length as usize };
        let room = fabric.budget().reserve(UNEXPECTED, ENTRY_BYTES.saturating_add(beside));
        let is_kept = room.is_ok();
        let body = match room {
            Ok(()) if in_entry => None,
            Ok(()) => {
                // What is not here yet may be a lie.
                let trusted = length.min(TRUSTED_LENGTH.max(payload.len() as u64));
                let mut data = self.spares.take(trusted as usize);
                data.extend_from_slice(payload);
                Some(Body::Data(data))
            }
            // Its receive is told.
            Err(exceeded) => Some(Body::Lost(exceeded.into())),
        };
        let mut pieces = Assembling::Nowhere { left: length - payload.len() as u64 };
        if is_kept || self.book_entry(fabric) {
            let message = self.keep_message(fabric, from, envelope, length, payload, body);
            if is_kept {
                pieces = Assembling::Message(message);
            }
        }
        if !whole {
            self.assemble(from, pieces);
        }
    }

    /// Says where the other pieces of a message go.
    fn assemble(&mut self, from: Node, pieces: Assembling) {
        if self.peers.at(from).assembling.replace(pieces).is_some() {
            self.malformed(from, "a message before the last piece of the one before");
        }
    }

    /// The next piece of the message that `from` began last.
    pub(super) fn eager_continued(&mut self, fabric: &dyn Fabric, from: Node, piece: &[u8]) {
        match self.peers.at(from).assembling {
            Some(Assembling::Request(key)) => {
                if self.fill(fabric, from, key, piece) {
                    self.peers.at(from).assembling = None;
                }
            }
            Some(Assembling::Message(message)) => self.message_continued(fabric, from, message, piece),
            Some(Assembling::Nowhere { left }) => {
                let left = left.saturating_sub(piece.len() as u64);
                self.peers.at(from).assembling = (left > 0).then_some(Assembling::Nowhere { left });
            }
            // After letters that were all full: the message was known to be whole without it.
            None if piece.is_empty() => {}
            None => self.malformed(from, "a piece of no message"),
        }
    }

    fn message_continued(&mut self, fabric: &dyn Fabric, from: Node, message: Key, piece: &[u8]) {
        let Some(Arrived { body: Body::Data(data), length, claimed_by, .. }) = self.messages.get_mut(message)
        else {
            return self.malformed(from, "a piece of a message that was received");
        };
        if piece.len() as u64 > *length - data.len() as u64 {
            return self.malformed(from, "more bytes than the message was announced with");
        }
        data.extend_from_slice(piece);
        if (data.len() as u64) < *length {
            return;
        }
        let claimed_by = *claimed_by;
        self.peers.at(from).assembling = None;
        let Some(key) = claimed_by else { return };
        let Some(Arrived { envelope, body: Body::Data(data), .. }) = self.take_message(fabric, message)
        else {
            return;
        };
        if let Some(Request { work: Work::Receive(ReceiveWork { buffer, .. }), .. }) = self.requests.get(key)
        {
            let outcome = store(buffer, &envelope, &data);
            self.spares.keep(data);
            self.finish(fabric, key, outcome);
        }
    }

    /// Adds the next piece to a receive that is being filled in order; true once it is complete.
    fn fill(&mut self, fabric: &dyn Fabric, from: Node, key: Key, piece: &[u8]) -> bool {
        let Some(receive) = self.requests.receive_mut(key) else {
            self.malformed(from, "a piece for a receive that is gone");
            return true;
        };
        let ReceiveStage::Filling { envelope, length, filled, .. } = &mut receive.stage else {
            self.malformed(from, "a piece for a receive that expects none");
            return true;
        };
        if piece.len() as u64 > *length - *filled {
            self.malformed(from, "more bytes than the message was announced with");
            return true;
        }
        if FETCHED_ACROSS.contains(length) {
            receive.buffer.unpack_across(*filled, piece);
        } else {
            receive.buffer.unpack(*filled, piece);
        }
        *filled += piece.len() as u64;
        if filled < length {
            return false;
        }
        let status = Status::received(envelope, *length);
        self.finish(fabric, key, Ok(status));
        true
    }

    /// Posts what waits, peer by peer, until a mailbox is full again.
    pub(super) fn empty_outboxes(&mut self, fabric: &dyn Fabric) -> usize {
        let mut posted = 0;
        for node in core::mem::take(&mut self.blocked) {
            posted += self.empty_outbox_of(fabric, node);
            if !self.peers.at(node).outbox.is_empty() {
                self.blocked.push(node);
            }
        }
        posted
    }

    pub(super) fn empty_outbox(&mut self, fabric: &dyn Fabric, node: Node) {
        self.empty_outbox_of(fabric, node);
        if self.peers.at(node).outbox.is_empty() {
            self.blocked.retain(|blocked| *blocked != node);
        }
    }

    fn empty_outbox_of(&mut self, fabric: &dyn Fabric, node: Node) -> usize {
        let mut posted = 0;
        let mut at = 0;
        loop {
            let peer = self.peers.at(node);
            let eager = match peer.outbox.get(at) {
                None => return posted,
                Some(Outgoing::Put { .. }) => {
                    at += 1;
                    continue;
                }
                Some(Outgoing::Control(header, payload)) => {
                    if !peer.lets_pass_at(at, message_of(header)) {
                        return posted;
                    }
                    match fabric.try_post(node, header, payload) {
                        Ok(()) => None,
                        Err(PostError::Full) => return posted,
                        Err(PostError::Lost) => {
                            self.peer_lost(fabric, node);
                            return posted + 1;
                        }
                    }
                }
                Some(&Outgoing::Eager { request, next, envelope, bulk }) => {
                    if !peer.lets_pass_at(at, Some(envelope)) {
                        return posted;
                    }
                    Some((request, next, bulk))
                }
            };
            if let Some((request, next, bulk)) = eager {
                let piece = self.post_piece(fabric, node, request, (next, bulk));
                if !matches!(piece, Piece::Refused) {
                    self.peers.at(node).refusals = 0;
                }
                match piece {
                    Piece::Refused if next == 0 && self.is_held_up(fabric, node, request) => {
                        let offer = self.offer_instead(fabric, request);
                        self.peers.at(node).outbox[at] = offer;
                        continue;
                    }
                    Piece::Refused => return posted,
                    Piece::Lost => {
                        self.peer_lost(fabric, node);
                        return posted + 1;
                    }
                    Piece::Posted { next: rest } => {
                        posted += 1;
                        if let Some(Outgoing::Eager { next, .. }) = self.peers.at(node).outbox.get_mut(at) {
                            *next = rest;
                        }
                        continue;
                    }
                    Piece::Last => self.finish(fabric, request, Ok(Status::EMPTY)),
                }
            }
            posted += 1;
            self.peers.at(node).outbox.remove(at);
        }
    }

    /// Counts a refusal. True if the message seems to wait for others: its letter needs memory that letters to another peer may hold, which
    /// does not look after its mailbox; and an offer of it would need none.
    fn is_held_up(&mut self, fabric: &dyn Fabric, to: Node, request: Key) -> bool {
        let peer = self.peers.at(to);
        peer.refusals = peer.refusals.saturating_add(1);
        let route = fabric.route(to);
        let inline = route.letter_inline;
        let needs_memory = |work: &Work| matches!(work, Work::Send(send) if send.buffer.bytes().min(route.letter_max as u64) > inline as u64);
        peer.refusals > PATIENCE
            && inline >= CONTROL_MAX
            && self.requests.get(request).is_some_and(|request| needs_memory(&request.work))
    }

    /// Posts the bytes of an eager message from `next` on, as far as one letter goes; `bulk` is whether its letters are posted so.
    fn post_piece(
        &mut self,
        fabric: &dyn Fabric,
        to: Node,
        request: Key,
        (next, bulk): (u64, bool),
    ) -> Piece {
        let Some(Request { work: Work::Send(SendWork { buffer, envelope, .. }), .. }) =
            self.requests.get(request)
        else {
            return Piece::Last; // Cancelled while it waited.
        };
        let length = buffer.bytes();
        let route = fabric.route(to);
        let most = if bulk { route.letter_bulk } else { route.letter_max };
        let size = (length - next).min(most as u64);
        let header = match next {
            0 => envelope.header(Kind::Eager, length),
            _ => plain_header(Kind::EagerMore, 0, size),
        };
        let payload = piece(fabric, buffer, next..next + size, &mut self.scratch);
        if bulk {
            fabric.in_bulk(true);
        }
        let posted = fabric.try_post(to, &header, payload);
        if bulk {
            fabric.in_bulk(false);
        }
        match posted {
            Err(PostError::Full) => Piece::Refused,
            Err(PostError::Lost) => Piece::Lost,
            Ok(()) if next + size == length && size as usize + route.letter_spare <= most => Piece::Last,
            Ok(()) => Piece::Posted { next: next + size },
        }
    }
}

/// Whether one letter is enough, for those who watch.
#[cold]
pub(super) fn carried_eagerly(fabric: &dyn Fabric, to: Node, length: u64) -> Carried {
    let route = fabric.route(to);
    if length as usize + route.letter_spare <= route.letter_max {
        Carried::Eager
    } else {
        Carried::EagerPieces
    }
}

enum Piece {
    Refused,
    Lost,
    Posted { next: u64 },
    Last,
}

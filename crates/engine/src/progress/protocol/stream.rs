//! Streamed rendezvous: where no portal reaches the peer, a CTS asks for the data in letters.
//!
//! Cost: two control letters and two copies, pipelined through the mailbox. Pieces carry the receiver's request and their
//! offset, so other letters may pass between them.

use fabric::{Fabric, Node, PostError};

use super::eager::PATIENCE;
use super::piece;
use crate::progress::core::Core;
use crate::progress::tables::receive::ReceiveStage;
use crate::progress::tables::send::{SendStage, SendWork};
use crate::values::envelope::{Kind, plain_header, words};
use crate::values::request::Status;
use crate::values::slab::Key;

/// The payload of a clear-to-send.
pub(super) fn cts(sender: Key, receiver: Key) -> [u8; 16] {
    words([sender, receiver])
}

impl Core {
    pub(crate) fn begin_stream(&mut self, fabric: &dyn Fabric, from: Node, sender: Key, receiver: Key) {
        if !self.requests.get(sender).is_some_and(|request| request.is_offered_to(from)) {
            return self.malformed(from, "a CTS for a send that is not offered");
        }
        self.withdraw_offer(fabric, sender);
        let Some(send) = self.requests.send_mut(sender) else { return };
        send.stage = SendStage::Streaming { next: 0, receiver };
        self.streams.push(sender);
        self.push_streams(fabric);
    }

    /// Posts as many pieces as the mailboxes take.
    pub(super) fn push_streams(&mut self, fabric: &dyn Fabric) -> usize {
        let mut posted = 0;
        let mut at = 0;
        while at < self.streams.len() {
            let key = self.streams[at];
            if self.push_stream(fabric, key, &mut posted) {
                self.streams.swap_remove(at);
                self.finish(fabric, key, Ok(Status::EMPTY));
            } else {
                at += 1;
            }
        }
        posted
    }

    /// True once the last piece is posted.
    fn push_stream(&mut self, fabric: &dyn Fabric, key: Key, posted: &mut usize) -> bool {
        let Some(send) = self.requests.send_mut(key) else { return true };
        let SendWork { buffer, to, stage: SendStage::Streaming { next, receiver }, .. } = send else {
            return true;
        };
        let length = buffer.bytes();
        while *next < length {
            // Letters that found the mailbox full go first.
            if self.peers.get(*to).is_some_and(|peer| !peer.lets_pass(None)) {
                return false;
            }
            // A short letter needs no memory that letters to others may hold.
            let held_up = self.peers.at(*to).refusals > PATIENCE;
            let route = fabric.route(*to);
            let most = if held_up { route.letter_inline.max(1) } else { route.letter_max } as u64;
            let size = (length - *next).min(most);
            let header = plain_header(Kind::Data, *receiver, *next);
            let payload = piece(fabric, buffer, *next..*next + size, &mut self.scratch);
            let answer = fabric.try_post(*to, &header, payload);
            if answer == Err(PostError::Lost) {
                let to = *to;
                self.peer_lost(fabric, to);
                *posted += 1;
                return false;
            }
            let peer = self.peers.at(*to);
            if answer.is_err() {
                peer.refusals = peer.refusals.saturating_add(1);
                return false;
            }
            // After some short ones, a long one is tried again.
            peer.refusals = peer.refusals.saturating_sub(if held_up { 1 } else { u32::MAX });
            *next += size;
            *posted += 1;
        }
        true
    }

    pub(super) fn data_arrived(
        &mut self,
        fabric: &dyn Fabric,
        from: Node,
        key: Key,
        offset: u64,
        piece: &[u8],
    ) {
        let Some(receive) = self.requests.receive_mut(key) else {
            return self.malformed(from, "data for a receive that is gone");
        };
        let ReceiveStage::Filling { envelope, from: sender, length, filled } = &mut receive.stage else {
            return self.malformed(from, "data for a receive that expects none");
        };
        // Pieces come in order, so this is also where each begins once.
        if *sender != from || offset != *filled || piece.len() as u64 > *length - *filled {
            return self.malformed(from, "data that is not the next of its message");
        }
        receive.buffer.unpack(offset, piece);
        *filled += piece.len() as u64;
        if *filled == *length {
            let status = Status::received(envelope, *length);
            self.finish(fabric, key, Ok(status));
        }
    }
}

//! Raw mailbox and portal: the fabric's own calls for programs that do without MPI's matching (the Nanvix IPC of LWMPI's paper).
//!
//! * A rank has one mailbox for raw messages. Each is one letter: 8 bytes of header, up to [`Rank::MAILBOX_MAX`] of data. They are
//!   read in the order of arrival; what has come and is not read yet counts against the budget.
//! * A portal moves one block: the reader allows a writer and reads, the writer writes. Both name the same number of bytes, as the
//!   hardware wants it; otherwise both calls fail. The data goes by the granted rendezvous, or in letters where no portal reaches.
//!
//! Peers are ranks of [`Rank::local`].

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use fabric::{Fabric, Header, Key as PortalKey, Node};

use crate::progress::core::Core;
use crate::progress::protocol::fin;
use crate::progress::request::{
    ReceiveStage, ReceiveWork, Request, RequestId, SendStage, SendWork, Status, Work,
};
use crate::rank::Rank;
use crate::values::envelope::{Envelope, Grant, Kind, plain_header, unwords, words};
use crate::values::error::{Error, Result};
use crate::values::memory::{RecvBuffer, SendBuffer};

/// Bytes of a message that travel in the letter's header.
const IN_HEADER: usize = 16;
/// Bytes that travel as its payload.
const IN_PAYLOAD: usize = 96;

/// Reads of one peer that may wait at a time. A rank waits in its read, so more than one are reads that it has given up, or forged.
const WANTED_MAX: usize = 16;

/// What the budget calls raw messages that nobody has read.
const UNREAD: &str = "unread mailbox messages";

/// The raw calls' part of a rank's state.
#[derive(Debug, Default)]
pub(crate) struct Raw {
    unread: VecDeque<(Node, Message)>,
    /// Why messages that came behind those were lost: the next read but theirs is told.
    lost: Option<Error>,
    /// Ranks that may write into this one's portal, once each time they are named.
    allowed: Vec<Node>,
    /// Reads of other ranks that wait for this one to write, oldest first.
    wanted: VecDeque<Wanted>,
}

#[derive(Debug)]
struct Message {
    bytes: [u8; IN_HEADER + IN_PAYLOAD],
    length: usize,
}

/// A read that waits for its data.
#[derive(Clone, Copy, Debug)]
struct Wanted {
    by: Node,
    request: u64,
    bytes: u64,
    /// Where to put it; `None` asks for letters.
    key: Option<PortalKey>,
}

impl Rank {
    /// Longest raw message in bytes.
    pub const MAILBOX_MAX: usize = IN_HEADER + IN_PAYLOAD;

    /// Sends a raw message; returns when the fabric has taken it.
    pub fn mailbox_write(&self, to: u32, message: &SendBuffer) -> Result<()> {
        let to = self.peer("destination", to)?;
        let length = message.bytes();
        if length > Rank::MAILBOX_MAX as u64 {
            let reason = "a mailbox message has at most 112 bytes";
            return Err(Error::Argument { reason, given: length as i64 });
        }
        let mut bytes = [0; Rank::MAILBOX_MAX];
        let bytes = &mut bytes[..length as usize];
        message.pack(0, bytes);
        let (header, payload) = encode(bytes);
        self.core.borrow_mut().post_control(self.fabric(), to, header, payload);
        self.wait_until(|rank| rank.core.borrow().peers.get(to).is_none_or(|peer| peer.lets_pass(None)))
    }

    /// Waits for a raw message and stores it; its sender and length.
    pub fn mailbox_read(&self, into: &RecvBuffer) -> Result<(u32, u64)> {
        self.wait_until(|rank| {
            let Raw { unread, lost, .. } = &rank.core.borrow().raw;
            !unread.is_empty() || lost.is_some()
        })?;
        let (message, lost) = {
            let raw = &mut self.core.borrow_mut().raw;
            let message = raw.unread.pop_front();
            let lost = if message.is_none() { raw.lost.take() } else { None };
            (message, lost)
        };
        let Some((from, Message { bytes, length })) = message else {
            return Err(lost.unwrap_or(Error::Internal { reason: "a mailbox message vanished" }));
        };
        self.fabric().budget().release(UNREAD, size_of::<Message>());
        let (received, capacity) = (length as u64, into.bytes());
        if received > capacity {
            return Err(Error::Truncated { source: from.0, tag: 0, received, capacity });
        }
        into.unpack(0, &bytes[..length]);
        Ok((from.0, received))
    }

    /// Allows `from` one write into this rank's portal.
    pub fn portal_allow(&self, from: u32) -> Result<()> {
        let from = self.peer("source", from)?;
        self.core.borrow_mut().raw.allowed.push(from);
        Ok(())
    }

    /// Waits for the block that `from`, which must have been allowed, writes.
    pub fn portal_read(&self, buffer: &RecvBuffer, from: u32) -> Result<()> {
        let from = self.peer("source", from)?;
        let id = self.core.borrow_mut().want(self.fabric(), buffer, from)?;
        self.wait(id).map(|_| ())
    }

    /// Writes a block into the portal of `to`, once it reads.
    pub fn portal_write(&self, to: u32, buffer: &SendBuffer) -> Result<()> {
        let to = self.peer("destination", to)?;
        let mut wanted = None;
        self.wait_until(|rank| {
            wanted = rank.core.borrow_mut().raw.take_wanted(to);
            wanted.is_some()
        })?;
        let Some(wanted) = wanted else {
            return Err(Error::Internal { reason: "a read of the portal vanished" });
        };
        let id = self.core.borrow_mut().supply(self.fabric(), buffer, wanted)?;
        self.wait(id).map(|_| ())
    }

    fn peer(&self, role: &'static str, rank: u32) -> Result<Node> {
        let (given, size) = (rank.into(), self.local().size());
        if rank < size { Ok(self.local().node(rank)) } else { Err(Error::Rank { role, given, size }) }
    }
}

impl Raw {
    fn take_wanted(&mut self, by: Node) -> Option<Wanted> {
        let at = self.wanted.iter().position(|wanted| wanted.by == by)?;
        self.wanted.remove(at)
    }
}

impl Core {
    /// A raw message has come.
    pub(crate) fn raw_arrived(&mut self, fabric: &dyn Fabric, from: Node, header: &Header, payload: &[u8]) {
        let Some(message) = decode(header, payload) else {
            return self.malformed(from, "a mailbox message of the wrong length");
        };
        match fabric.budget().reserve(UNREAD, size_of::<Message>()) {
            Ok(()) => self.raw.unread.push_back((from, message)),
            Err(exceeded) => {
                self.raw.lost.get_or_insert(exceeded.into());
            }
        }
    }

    /// A peer waits in a read of its portal.
    pub(crate) fn want_arrived(&mut self, from: Node, header: &Header, payload: &[u8]) {
        let key = unwords(payload).map(PortalKey);
        if key.is_none() && !payload.is_empty() {
            return self.malformed(from, "a read of the portal with a key of the wrong length");
        }
        if self.raw.wanted.iter().filter(|wanted| wanted.by == from).count() >= WANTED_MAX {
            return self.malformed(from, "more reads of the portal than it can wait in");
        }
        self.raw.wanted.push_back(Wanted { by: from, request: header[1], bytes: header[2], key });
    }

    fn want(&mut self, fabric: &dyn Fabric, buffer: &RecvBuffer, from: Node) -> Result<RequestId> {
        let Some(at) = self.raw.allowed.iter().position(|allowed| *allowed == from) else {
            let reason = "the source of a portal's read was not allowed to write before";
            return Err(Error::Argument { reason, given: from.0.into() });
        };
        let bytes = buffer.bytes();
        let envelope = Envelope { source: from.0, ..Envelope::default() };
        let exposed = if fabric.reach(from).put { buffer.expose(fabric, from).ok() } else { None };
        let stage = match exposed {
            Some(exposed) => ReceiveStage::Granted {
                envelope,
                from,
                length: bytes,
                exposed,
                staging: None,
                acknowledge: None,
            },
            None => ReceiveStage::Filling { envelope, from, length: bytes, filled: 0 },
        };
        let work = Work::Receive(ReceiveWork { buffer: buffer.clone(), stage });
        let id = self.add_request(fabric, Request::new(work))?;
        self.raw.allowed.swap_remove(at);
        let header = plain_header(Kind::Want, id.key(), bytes);
        match exposed {
            Some(PortalKey(key)) => self.post_control(fabric, from, header, &words::<2, 16>(key)),
            None => self.post_control(fabric, from, header, &[]),
        }
        Ok(id)
    }

    /// Moves a block to a read that waits for it. Reads of another length, and those of nothing that no portal reaches, are told
    /// so with a FIN.
    fn supply(&mut self, fabric: &dyn Fabric, buffer: &SendBuffer, wanted: Wanted) -> Result<RequestId> {
        let Wanted { by, request, bytes, key } = wanted;
        let given = buffer.bytes();
        if given != bytes || key.is_none() && given == 0 {
            self.post_control(fabric, by, fin(request, given), &[]);
            let outcome = if given == bytes {
                Ok(Status::EMPTY)
            } else {
                Err(Error::Truncated { source: fabric.me().0, tag: 0, received: given, capacity: bytes })
            };
            return self.add_request(fabric, Request::complete(outcome));
        }
        let work = SendWork {
            buffer: buffer.clone(),
            to: by,
            envelope: Envelope::default(),
            stage: SendStage::Offered { key: None, helps: None, revocable: false },
            booked: None,
        };
        let id = self.add_request(fabric, Request::new(Work::Send(work)))?;
        match key {
            Some(key) => self.granted(fabric, by, Grant { sender: id.key(), receiver: request, key }, false),
            None => self.begin_stream(fabric, by, id.key(), request),
        }
        Ok(id)
    }
}

/// A message as a letter: kind and length in word 0, the first bytes in words 1 and 2, the others as payload.
fn encode(message: &[u8]) -> (Header, &[u8]) {
    let (first, rest) = message.split_at(message.len().min(IN_HEADER));
    let mut padded = [0; IN_HEADER];
    padded[..first.len()].copy_from_slice(first);
    let [a, b] = unwords(&padded).unwrap_or_default();
    let mut header = plain_header(Kind::Raw, a, b);
    header[0] |= (message.len() as u64) << 8;
    (header, rest)
}

fn decode(header: &Header, payload: &[u8]) -> Option<Message> {
    let length = (header[0] >> 8) as usize;
    let mut bytes = [0; IN_HEADER + IN_PAYLOAD];
    bytes[..IN_HEADER].copy_from_slice(&words::<2, 16>([header[1], header[2]]));
    bytes.get_mut(IN_HEADER..IN_HEADER + payload.len())?.copy_from_slice(payload);
    (length <= bytes.len() && length.saturating_sub(IN_HEADER) == payload.len())
        .then_some(Message { bytes, length })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn messages_survive_the_letter(message in proptest::collection::vec(any::<u8>(), 0..=Rank::MAILBOX_MAX)) {
            let (header, payload) = encode(&message);
            prop_assert_eq!(Kind::of(&header), Some(Kind::Raw));
            let decoded = decode(&header, payload).unwrap();
            prop_assert_eq!(&decoded.bytes[..decoded.length], &message[..]);
        }
    }

    #[test]
    fn a_letter_whose_length_is_a_lie_is_refused() {
        let (header, payload) = encode(&[7; 100]);
        assert!(decode(&header, &payload[1..]).is_none());
        assert!(decode(&[Kind::Raw as u64 | 200 << 8, 0, 0], &[0; 96]).is_none());
        assert!(decode(&header, &[0; 300]).is_none());
    }
}

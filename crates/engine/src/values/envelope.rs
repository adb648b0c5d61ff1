//! What the letters say: the wire format between two engines.
//!
//! ```text
//!              word 0                          word 1             word 2
//!   bits  0..8   kind                     0..32  tag         message length, or what
//!        32..64  context                 32..64  source rank the kind says below
//! ```
//!
//! Letters of one sender arrive in order, so the n-th message between two nodes is the n-th on both sides: sequence ids need
//! not travel (see `peers`).

use fabric::{Header, Key};

use crate::values::ids::ContextId;

/// Which message this is: what receives match on (MPI section 3.2.3).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Envelope {
    pub context: ContextId,
    pub source: u32,
    pub tag: i32,
}

/// The kinds of letters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Kind {
    /// A message whose payload begins in this letter; word 2 is its whole length.
    Eager = 1,
    /// The next piece of the eager message that this sender began last. Word 2: length of the piece.
    EagerMore = 2,
    /// Request to send: a message that waits at its sender. Payload: [`Rts`].
    Rts = 3,
    /// Clear to send: answer to an RTS, asks for the data in letters. Payload: sender's and receiver's request.
    Cts = 4,
    /// A piece of the data asked for by a CTS. Word 1: receiver's request, word 2: offset.
    Data = 5,
    /// The receiver has got the data of an RTS. Word 2: sender's request.
    Done = 6,
    /// Request to receive: a posted receive that waits for a put. Payload: [`Rtr`].
    Rtr = 7,
    /// The data asked for by an RTR or a grant is in place. Word 1: receiver's request, word 2: length of the message.
    Fin = 8,
    /// Forget an RTS. Word 1: 0 if it is revoked, 1 if an answer is asked for; word 2: sender's request.
    CancelSend = 9,
    /// Answer: the RTS was unmatched and is forgotten. Word 2: sender's request. No answer if it had been matched.
    SendCancelled = 10,
    /// Forget an RTR. Word 1: 0 if it is revoked, 1 if an answer is asked for; word 2: receiver's request.
    CancelReceive = 11,
    /// Answer: the RTR had not been used and is forgotten. Word 2: receiver's request. No answer if it had been used.
    ReceiveCancelled = 12,
    /// Copy the bytes from word 2 on between your buffer and mine. Word 1: your request. Payload: [`Share`].
    Share = 13,
    /// The bytes that a SHARE asked for are copied. Word 2: the asker's request.
    Shared = 14,
    /// Clear to send into the receiver's memory: answer to an RTS. Word 1: 1 if the sender waits for a DONE. Payload: [`Grant`].
    Grant = 15,
    /// The receiver of an RTS names itself, ahead of a grant. Word 1: receiver's request, word 2: sender's request.
    Confirm = 16,
    /// A message of the raw mailbox. Word 0 from bit 8 on: its length; words 1 and 2: its first bytes; payload: the others.
    Raw = 17,
    /// A read of the raw portal waits. Word 1: reader's request, word 2: bytes. Payload: the portal key, or nothing where no
    /// portal reaches.
    Want = 18,
    /// A copy failed. Word 1: whose fault it is, as the reader sees it; word 2: the reader's request.
    Failed = 19,
    /// Clear me to write into memory of a window. Word 1: sender's request. Payload: address and bytes.
    Store = 20,
    /// Send me memory of a window. Word 1: receiver's request. Payload: address and bytes.
    Load = 21,
    /// Whoever has made offers does nothing but wait for them, and may be asked to share. Word 2: the number of the last.
    Waits = 22,
}

impl Kind {
    pub fn of(header: &Header) -> Option<Kind> {
        Some(match header[0] as u8 {
            1 => Kind::Eager,
            2 => Kind::EagerMore,
            3 => Kind::Rts,
            4 => Kind::Cts,
            5 => Kind::Data,
            6 => Kind::Done,
            7 => Kind::Rtr,
            8 => Kind::Fin,
            9 => Kind::CancelSend,
            10 => Kind::SendCancelled,
            11 => Kind::CancelReceive,
            12 => Kind::ReceiveCancelled,
            13 => Kind::Share,
            14 => Kind::Shared,
            15 => Kind::Grant,
            16 => Kind::Confirm,
            17 => Kind::Raw,
            18 => Kind::Want,
            19 => Kind::Failed,
            20 => Kind::Store,
            21 => Kind::Load,
            22 => Kind::Waits,
            _ => return None,
        })
    }
}

impl Envelope {
    /// A header that carries this envelope.
    #[inline]
    pub fn header(&self, kind: Kind, length: u64) -> Header {
        [
            kind as u64 | u64::from(self.context.0) << 32,
            u64::from(self.tag as u32) | u64::from(self.source) << 32,
            length,
        ]
    }

    #[inline]
    pub fn of(header: &Header) -> Envelope {
        Envelope {
            context: ContextId((header[0] >> 32) as u32),
            source: (header[1] >> 32) as u32,
            tag: header[1] as u32 as i32,
        }
    }
}

/// The envelope of a control letter that takes a receive.
pub(crate) fn message_of(header: &Header) -> Option<Envelope> {
    (header[0] as u8 == Kind::Rts as u8).then(|| Envelope::of(header))
}

/// A header without an envelope.
pub(crate) const fn plain_header(kind: Kind, word1: u64, word2: u64) -> Header {
    [kind as u64, word1, word2]
}

/// Most bytes of a control letter's payload.
pub(crate) const CONTROL_MAX: usize = 48;

/// The payload of a request to send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Rts {
    /// The sender's request, to name in the answer.
    pub request: u64,
    /// The exposed source, if the sender's fabric could expose it.
    pub key: Option<Key>,
    /// The sender waits for this message alone, so it can help to copy it.
    pub waiting: bool,
    /// Its receiver must claim it before it matches it: the sender may have cancelled it (see `cancel`).
    pub revocable: bool,
    /// The data lies scattered and is packed by whoever asks for it in letters: the sender can neither be read nor put.
    pub scattered: bool,
    /// Which of the sender's messages to this receiver it is, counted from 1; below 2^60.
    pub number: u64,
}

/// The payload of a request to receive. Its header carries the envelope that the receive waits for and the capacity.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Rtr {
    /// The receiver's request, to name in the FIN.
    pub request: u64,
    /// The exposed target.
    pub key: Key,
    /// Messages from this peer that the receiver had seen when it wrote this; below 2^62.
    pub seen: u64,
    /// The receiver waits for this message alone, so it can help to copy it.
    pub waiting: bool,
    /// Its sender must claim it before it writes: the receiver may have cancelled it.
    pub revocable: bool,
}

/// The payload of an invitation to copy a part of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Share {
    /// The asker's request, to name in the answer.
    pub request: u64,
    /// The asker's exposed buffer.
    pub key: Key,
    /// Length of the whole message.
    pub length: u64,
}

/// The payload of a grant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Grant {
    /// The sender's request.
    pub sender: u64,
    /// The receiver's request, to name in the FIN.
    pub receiver: u64,
    /// The exposed target.
    pub key: Key,
}

impl Grant {
    pub fn encode(&self) -> [u8; CONTROL_MAX] {
        let [a, b, c, d] = self.key.0;
        words([self.sender, self.receiver, a, b, c, d])
    }

    pub fn decode(payload: &[u8]) -> Option<Grant> {
        let [sender, receiver, key @ ..] = unwords::<6>(payload)?;
        Some(Grant { sender, receiver, key: Key(key) })
    }
}

impl Share {
    pub fn encode(&self) -> [u8; CONTROL_MAX] {
        let [a, b, c, d] = self.key.0;
        words([self.request, a, b, c, d, self.length])
    }

    pub fn decode(payload: &[u8]) -> Option<Share> {
        let [request, key @ .., length] = unwords::<6>(payload)?;
        Some(Share { request, key: Key(key), length })
    }
}

impl Rts {
    /// The word to claim, if there is one.
    pub fn claim(&self) -> Option<u64> {
        self.revocable.then_some(self.request)
    }

    pub fn encode(&self) -> [u8; CONTROL_MAX] {
        let Key([a, b, c, d]) = self.key.unwrap_or(Key([0; 4]));
        let flags = [self.key.is_some(), self.waiting, self.revocable, self.scattered];
        let flags = flags.iter().rev().fold(0, |word, flag| word << 1 | u64::from(*flag));
        words([self.request, a, b, c, d, flags | self.number << 4])
    }

    pub fn decode(payload: &[u8]) -> Option<Rts> {
        let [request, key @ .., last] = unwords::<6>(payload)?;
        let flag = |bit: u64| last & bit != 0;
        Some(Rts {
            request,
            key: flag(1).then_some(Key(key)),
            waiting: flag(2),
            revocable: flag(4),
            scattered: flag(8),
            number: last >> 4,
        })
    }
}

impl Rtr {
    /// As [`Rts::claim`].
    pub fn claim(&self) -> Option<u64> {
        self.revocable.then_some(self.request)
    }

    pub fn encode(&self) -> [u8; CONTROL_MAX] {
        let [a, b, c, d] = self.key.0;
        let flags = u64::from(self.waiting) | u64::from(self.revocable) << 1;
        words([self.request, a, b, c, d, flags | self.seen << 2])
    }

    pub fn decode(payload: &[u8]) -> Option<Rtr> {
        let [request, key @ .., last] = unwords::<6>(payload)?;
        let (waiting, revocable) = (last & 1 != 0, last & 2 != 0);
        Some(Rtr { request, key: Key(key), seen: last >> 2, waiting, revocable })
    }
}

/// Words as little-endian bytes.
pub(crate) fn words<const N: usize, const B: usize>(words: [u64; N]) -> [u8; B] {
    const { assert!(B == N * 8) };
    let mut bytes = [0; B];
    for (chunk, word) in bytes.chunks_exact_mut(8).zip(words) {
        chunk.copy_from_slice(&word.to_le_bytes());
    }
    bytes
}

/// The words of a payload that has exactly N of them.
pub(crate) fn unwords<const N: usize>(bytes: &[u8]) -> Option<[u64; N]> {
    if bytes.len() != N * 8 {
        return None;
    }
    let mut words = [0; N];
    for (word, chunk) in words.iter_mut().zip(bytes.chunks_exact(8)) {
        *word = u64::from_le_bytes(chunk.try_into().ok()?);
    }
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn envelopes_survive_the_wire(context: u32, source: u32, tag in 0..=i32::MAX, length: u64) {
            let envelope = Envelope { context: ContextId(context), source, tag };
            let header = envelope.header(Kind::Rts, length);
            prop_assert_eq!(Envelope::of(&header), envelope);
            prop_assert_eq!(Kind::of(&header), Some(Kind::Rts));
            prop_assert_eq!(header[2], length);
        }

        #[test]
        fn requests_to_send_and_receive_survive_the_wire(request: u64, key: [u64; 4], seen in 0..1u64 << 60, exposed: bool, waiting: bool, revocable: bool, scattered: bool) {
            let rts = Rts { request, key: exposed.then_some(Key(key)), waiting, revocable, scattered, number: seen };
            prop_assert_eq!(Rts::decode(&rts.encode()), Some(rts));
            let rtr = Rtr { request, key: Key(key), seen, waiting, revocable };
            prop_assert_eq!(Rtr::decode(&rtr.encode()), Some(rtr));
        }

        #[test]
        fn payloads_of_the_wrong_length_are_refused(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            prop_assert_eq!(Rts::decode(&bytes).is_some(), bytes.len() == CONTROL_MAX);
        }
    }
}

//! Raw messages that nobody has read, and reads that wait for their data (see `progress::raw`).

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use fabric::{Header, Key as PortalKey, Node};

use crate::values::envelope::{Kind, plain_header, unwords, words};
use crate::values::error::Error;

/// Bytes of a message that travel in the letter's header.
const IN_HEADER: usize = 16;
/// Bytes that travel as its payload.
const IN_PAYLOAD: usize = 96;

/// Longest message in bytes.
pub(crate) const LONGEST: usize = IN_HEADER + IN_PAYLOAD;

/// Reads of one peer that may wait at a time. A rank waits in its read, so more than one are reads that it has given up, or forged.
pub(crate) const WANTED_MAX: usize = 16;

/// What the budget calls raw messages that nobody has read.
pub(crate) const UNREAD: &str = "unread mailbox messages";

/// The raw calls' part of a rank's state.
#[derive(Debug, Default)]
pub(crate) struct Raw {
    pub unread: VecDeque<(Node, Message)>,
    /// Why messages that came behind those were lost: the next read but theirs is told.
    pub lost: Option<Error>,
    /// Ranks that may write into this one's portal, once each time they are named.
    pub allowed: Vec<Node>,
    /// Reads of other ranks that wait for this one to write, oldest first.
    pub wanted: VecDeque<Wanted>,
}

#[derive(Debug)]
pub(crate) struct Message {
    pub bytes: [u8; IN_HEADER + IN_PAYLOAD],
    pub length: usize,
}

/// A read that waits for its data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    pub by: Node,
    pub request: u64,
    pub bytes: u64,
    /// Where to put it; `None` asks for letters.
    pub key: Option<PortalKey>,
}

impl Raw {
    pub fn take_wanted(&mut self, by: Node) -> Option<Wanted> {
        let at = self.wanted.iter().position(|wanted| wanted.by == by)?;
        self.wanted.remove(at)
    }
}

/// A message as a letter: kind and length in word 0, the first bytes in words 1 and 2, the others as payload.
pub(crate) fn encode(message: &[u8]) -> (Header, &[u8]) {
    let (first, rest) = message.split_at(message.len().min(IN_HEADER));
    let mut padded = [0; IN_HEADER];
    padded[..first.len()].copy_from_slice(first);
    let [a, b] = unwords(&padded).unwrap_or_default();
    let mut header = plain_header(Kind::Raw, a, b);
    header[0] |= (message.len() as u64) << 8;
    (header, rest)
}

pub(crate) fn decode(header: &Header, payload: &[u8]) -> Option<Message> {
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
        fn messages_survive_the_letter(message in proptest::collection::vec(any::<u8>(), 0..=LONGEST)) {
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

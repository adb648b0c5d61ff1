//! Messages that came before their receives.

use alloc::vec::Vec;

use fabric::{Fabric, Node};

use crate::values::envelope::{Envelope, Rts};
use crate::values::error::Error;
use crate::values::slab;

/// A message that has arrived, or announced itself, before its receive.
#[derive(Debug)]
pub(crate) struct Arrived {
    pub envelope: Envelope,
    pub from: Node,
    pub length: u64,
    pub body: Body,
    /// A receive that matched it and waits for the rest of its pieces.
    pub claimed_by: Option<slab::Key>,
}

impl Arrived {
    /// Its data, if all of it is here.
    #[inline]
    pub fn whole(&self) -> Option<&[u8]> {
        match &self.body {
            Body::Short(short) => Some(short.bytes()),
            Body::Data(data) => (data.len() as u64 == self.length).then_some(data),
            Body::Offered(_) | Body::Lost(_) => None,
        }
    }

    /// Bytes that are booked for it beside its entry: all of those that it will have.
    pub fn held(&self) -> usize {
        if matches!(self.body, Body::Data(_)) { self.length as usize } else { 0 }
    }

    /// True if its sender has cancelled it: it is to be dropped, and nobody told of it.
    pub fn is_cancelled(&self, fabric: &dyn Fabric) -> bool {
        matches!(&self.body, Body::Offered(rts) if rts.claim().is_some_and(|name| !fabric.is_open(self.from, name)))
    }
}

/// What has come of a message.
#[derive(Debug)]
pub(crate) enum Body {
    /// All of it, in the entry itself.
    Short(Short),
    /// The bytes that have come so far.
    Data(Vec<u8>),
    /// Waits at its sender.
    Offered(Rts),
    /// It came and could not be kept: the outcome of its receive.
    Lost(Error),
}

/// A whole message that is so short that it is kept where other bodies say where theirs is: it takes no memory of its own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Short {
    length: u8,
    bytes: [u8; Short::MOST],
}

impl Short {
    /// As long as an offer, which an entry has room for.
    pub const MOST: usize = 55;

    /// A message of up to [`MOST`](Short::MOST) bytes.
    #[inline(always)]
    pub fn of(message: &[u8]) -> Short {
        debug_assert!(message.len() <= Short::MOST, "a longer one is kept elsewhere");
        let mut bytes = [0; Short::MOST];
        let length = message.len().min(Short::MOST);
        bytes[..length].copy_from_slice(&message[..length]);
        Short { length: length as u8, bytes }
    }

    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length).min(Short::MOST)]
    }
}

const _: () = assert!(size_of::<Body>() == size_of::<Rts>(), "short messages make no entry longer");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_message_is_kept_as_it_is() {
        let message: [u8; Short::MOST] = core::array::from_fn(|byte| byte as u8 + 1);
        for length in 0..=Short::MOST {
            assert_eq!(Short::of(&message[..length]).bytes(), &message[..length]);
        }
    }
}

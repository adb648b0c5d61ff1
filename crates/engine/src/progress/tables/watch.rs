//! What a rank shows of itself while it runs: the hooks that traces and live displays are made from.
//!
//! An [`Observer`] sits in the rank's state. Without one every hook is a test of a pointer; with one it is told of calls,
//! messages, waits, declared work and rounds of collectives, in the order in which they happen.
//!
//! # The number of a message
//!
//! Sender and receiver give a message the same [`MessageNumber`] although none travels with it:
//!
//! ```text
//!   bits 40..64 sender   26..40 receiver   25 put   0..25 sequence      (each by its low bits)
//! ```
//!
//! Letters between two nodes keep their order, so the n-th eager message or RTS is the n-th on both sides (see `peers`). Puts into
//! announced receives are the one kind that others may overtake: they are counted apart, and the letter that tells of one (FIN,
//! SHARE) names its sequence in bits 32 to 64 of word 0, which it has no other use for.

use alloc::boxed::Box;
use alloc::vec::Vec;

use core::num::NonZeroU64;

use fabric::{Fabric, Header, Node};

use crate::values::ids::ContextId;
use crate::values::slab::Key;

/// Gets told what a rank does. `fabric` is for its clock; nothing else of it may be used. A hook must be short and must not use the
/// rank.
#[allow(unused_variables, reason = "an observer that has no use for something leaves it out")]
pub trait Observer {
    /// The program has called `function`; `site` is the address that the call returns to, 0 if unknown.
    fn enter(&mut self, fabric: &dyn Fabric, function: &'static str, site: u64) {}
    /// The call entered last returns.
    fn leave(&mut self, fabric: &dyn Fabric) {}
    /// The program takes its eyes off this rank ([`Rank::pause_observer`](crate::Rank::pause_observer)) or is back: what was under way then is told of no more.
    fn pauses(&mut self, fabric: &dyn Fabric, paused: bool) {}
    /// A letter with a whole message is about to leave; [`sent`](Observer::sent) or [`send_begins`](Observer::send_begins) follows.
    /// What can wait is told after the letter has left, because the receiver waits for the letter.
    fn about_to_send(&mut self, fabric: &dyn Fabric) {}
    /// A send has begun, and its buffer may be used again.
    fn sent(&mut self, fabric: &dyn Fabric, message: MessageNumber, transit: &Transit) {}
    /// A send begins. A message that is copied first (lazy) begins when the copy leaves.
    fn send_begins(&mut self, fabric: &dyn Fabric, message: MessageNumber, transit: &Transit) {}
    /// The buffer of a send that began may be used again.
    fn send_ends(&mut self, fabric: &dyn Fabric, message: MessageNumber) {}
    /// A receive waits for its message.
    fn receive_begins(&mut self, fabric: &dyn Fabric, post: PostNumber, wanted: &Wanted) {}
    /// A message has found its receive, and all its bytes are in place. If the rank `waited`, its wait is over by that.
    fn received(
        &mut self,
        fabric: &dyn Fabric,
        message: MessageNumber,
        post: Option<PostNumber>,
        transit: &Transit,
        waited: bool,
    ) {
    }
    /// A message has found its receive; `None` where a probe had taken it out of matching.
    fn receive_matches(
        &mut self,
        fabric: &dyn Fabric,
        message: MessageNumber,
        post: Option<PostNumber>,
        transit: &Transit,
    ) {
    }
    /// All bytes of a message that has found its receive are in place.
    fn receive_ends(&mut self, fabric: &dyn Fabric, message: MessageNumber) {}
    /// The rank has nothing to do but to wait.
    fn wait_begins(&mut self, fabric: &dyn Fabric) {}
    /// It goes on.
    fn wait_ends(&mut self, fabric: &dyn Fabric) {}
    /// Declared work begins.
    fn compute_begins(&mut self, fabric: &dyn Fabric) {}
    /// Declared work is done.
    fn compute_ends(&mut self, fabric: &dyn Fabric) {}
    /// A collective starts the messages of its next round, counted from 0.
    fn round_begins(&mut self, fabric: &dyn Fabric, collective: &'static str, round: u32) {}
}

/// Names a message, alike at its sender and its receiver.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct MessageNumber(pub u64);

/// Names a receive of a rank: they are counted from 1.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct PostNumber(pub NonZeroU64);

/// A message between this rank and a peer.
///
/// Peer and tag, which a trace keeps in one word, are not neighbours: one wide load of what two narrow stores have just written
/// waits until both have reached the cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct Transit {
    /// Its length.
    pub bytes: u64,
    /// The other side.
    pub peer: Node,
    /// The context of its communicator.
    pub context: ContextId,
    /// Its tag; a collective's own where the context is that of one.
    pub tag: i32,
    /// How it travels.
    pub carried: Carried,
}

/// What a receive asks for; `None` where it takes any.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wanted {
    /// Where from.
    pub from: Option<Node>,
    /// With which tag.
    pub tag: Option<i32>,
    /// The context of its communicator.
    pub context: ContextId,
    /// Room for so many bytes.
    pub bytes: u64,
}

/// How a message travels, as far as this side knows (see `protocol`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Carried {
    /// Inside a letter.
    Eager,
    /// Inside several letters.
    EagerPieces,
    /// Copied at the sender, then offered by an RTS.
    Lazy,
    /// Offered by an RTS; how the data goes is the receiver's choice.
    Offered,
    /// Offered; the receiver gets the data.
    Fetched,
    /// Offered; the receiver grants its memory and the sender puts.
    Granted,
    /// Offered; the data comes in letters.
    Streamed,
    /// RTS and RTR have crossed; the sender puts.
    Crossed,
    /// Put into a receive that was announced before.
    Announced,
    /// Announced or offered, and copied by both.
    Shared,
}

/// The bit of a number that tells puts from other messages.
const PUT: u64 = 1 << 25;

impl MessageNumber {
    fn new(from: Node, to: Node, sequence: u64) -> MessageNumber {
        let (from, to) = (u64::from(from.0), u64::from(to.0));
        MessageNumber(from << 40 | (to & 0x3fff) << 26 | sequence & (2 * PUT - 1))
    }

    /// The number of an eager message or RTS: the count of them until now, this one included.
    pub(crate) fn plain(from: Node, to: Node, count: u64) -> MessageNumber {
        MessageNumber::new(from, to, count & (PUT - 1))
    }

    /// The number of a put by the sequence that its letter names.
    pub(crate) fn put(from: Node, to: Node, sequence: u64) -> MessageNumber {
        MessageNumber::new(from, to, sequence & (PUT - 1) | PUT)
    }
}

/// The letter of a put with its sequence.
pub(crate) fn numbered([word, a, b]: Header, sequence: u64) -> Header {
    [word | sequence << 32, a, b]
}

/// The sequence that the letter of a put names.
pub(crate) fn sequence_of(header: &Header) -> u64 {
    header[0] >> 32
}

/// An observer, and the numbers of what is under way.
pub(crate) struct Watch {
    pub observer: Box<dyn Observer>,
    /// By slot of the request table: the request, its message, and whether that is sent.
    pub open: Vec<Option<(Key, MessageNumber, bool)>>,
    /// By slot of the table of unexpected messages; none if one came while nobody watched.
    pub arrived: Vec<Option<MessageNumber>>,
    /// By slot of the request table: posted receives.
    pub posted: Vec<Option<PostNumber>>,
    /// Receives that have begun.
    pub posts: Option<NonZeroU64>,
    /// The one that has begun last, until it is posted or finds its message.
    pub latest: Option<PostNumber>,
    /// The direct one.
    pub direct: Option<PostNumber>,
    /// The rank waits for it.
    pub waits_for_direct: bool,
}

impl Watch {
    pub fn new(observer: Box<dyn Observer>) -> Watch {
        Watch {
            observer,
            open: Vec::new(),
            arrived: Vec::new(),
            posted: Vec::new(),
            posts: None,
            latest: None,
            direct: None,
            waits_for_direct: false,
        }
    }

    /// Goes on after a pause: what began before it may have ended in it, and its slots belong to others now.
    pub fn resume(&mut self, fabric: &dyn Fabric) {
        self.open.clear();
        self.arrived.clear();
        self.posted.clear();
        (self.latest, self.direct, self.waits_for_direct) = (None, None, false);
        self.observer.pauses(fabric, false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn puts_and_plain_messages_of_a_pair_never_share_a_number() {
        let (a, b) = (Node(1), Node(2));
        assert_ne!(MessageNumber::plain(a, b, 1), MessageNumber::put(a, b, 1));
        assert_ne!(MessageNumber::plain(a, b, 1), MessageNumber::plain(b, a, 1));
        assert_eq!(MessageNumber::plain(a, b, 1), MessageNumber::plain(a, b, (1 << 25) + 1));
    }

    #[test]
    fn the_letter_of_a_put_keeps_its_words_beside_the_sequence() {
        let fin = [3, 77, 4096];
        let letter = numbered(fin, 5);
        assert_eq!((letter[0] as u32, letter[1], letter[2]), (fin[0] as u32, 77, 4096));
        assert_eq!(sequence_of(&letter), 5);
    }
}

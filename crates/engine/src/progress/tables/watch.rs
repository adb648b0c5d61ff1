//! What a rank shows of itself while it runs: the four points that traces and live displays are made from.
//!
//! An [`Observer`] sits in the rank's state. Without one every point is a test of a pointer; with one it is told of calls,
//! messages, waits, declared work and rounds of collectives, in the order in which they happen:
//!
//! ```text
//!   begins ──────────────────────► ends       calls, work, sends
//!   begins ───────► matches ─────► ends       receives
//!             waits        waits              in between, if the rank has nothing to do
//! ```
//!
//! What is short is told once: a send that is done when it begins, a receive that is done when it is matched, a wait that the match ends.
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

use crate::values::envelope::Envelope;
use crate::values::group::Group;
use crate::values::ids::ContextId;
use crate::values::slab::Key;

/// Gets told what a rank does, at four points. `fabric` is for its clock; nothing else of it may be used. What is told must be dealt
/// with shortly, and without the rank.
pub trait Observer {
    /// Something begins.
    fn begins(&mut self, fabric: &dyn Fabric, what: &Begin<'_>);
    /// A message has found its receive.
    fn matches(&mut self, fabric: &dyn Fabric, what: &Match<'_>);
    /// Something has ended that began or was matched before.
    fn ends(&mut self, fabric: &dyn Fabric, what: &End);
    /// The rank waits, or goes on.
    fn waits(&mut self, fabric: &dyn Fabric, wait: Wait);
}

/// What begins.
#[derive(Clone, Copy, Debug)]
pub enum Begin<'a> {
    /// A call of the program's, which [ends](End::Call) before the next one begins; `site` is the address that it returns to, 0 if unknown.
    Call {
        /// What is called.
        function: &'static str,
        /// From where.
        site: u64,
    },
    /// A letter with a whole message is about to leave. The [`Send`](Begin::Send) that it is part of follows when it has left, because the
    /// receiver waits for the letter, and not for what is told of it.
    Letter,
    /// A send. A message that is copied first (lazy) begins when the copy leaves.
    Send {
        /// What is sent.
        message: MessageNumber,
        /// Where to, and how.
        transit: &'a Transit,
        /// Its buffer may be used again, and no end is told of.
        done: bool,
    },
    /// A receive, which waits for its [match](Match).
    Receive {
        /// Which one.
        post: PostNumber,
        /// What it asks for.
        wanted: &'a Wanted,
    },
    /// A message has come before its receive, and waits for it.
    Early {
        /// Where it came from, and how.
        transit: &'a Transit,
    },
    /// The messages of a collective's next round. They end as messages do.
    Round {
        /// Its name.
        collective: &'static str,
        /// Counted from 0.
        round: u32,
    },
    /// This rank's part in a collective, as the program asked for it.
    Collective(Meeting<'a>),
    /// A one-sided operation, which is complete soon.
    Access {
        /// What it does.
        kind: Access,
        /// Where.
        target: Node,
        /// The context of its window.
        window: ContextId,
        /// How many it moves.
        bytes: u64,
    },
    /// An epoch of a window, as the call under way has asked for.
    Epoch(Epoch),
    /// A region of the program's, which it [ends](End::Region) by the same number.
    Region(u32),
    /// Work that the program declares.
    Work,
    /// The program takes the observer's eyes off this rank ([`Rank::pause_observer`](crate::Rank::pause_observer)): what is under way is told of
    /// no more.
    Pause,
}

/// A collective of all members of a communicator with buffers or blocks of one length.
#[derive(Clone, Copy, Debug)]
pub struct Meeting<'a> {
    /// Its name.
    pub which: &'static str,
    /// The context of its messages.
    pub context: ContextId,
    /// The tag of its messages, negative if it sends none.
    pub number: i32,
    /// Counted in the communicator.
    pub root: Option<u32>,
    /// Of the buffer; of one member's block where there is one for each.
    pub bytes: u64,
    /// The members of the communicator.
    pub members: &'a Group,
}

/// A message that has found its receive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Match<'a> {
    /// The message.
    pub message: MessageNumber,
    /// The receive; `None` where a probe had taken the message out of matching.
    pub post: Option<PostNumber>,
    /// Where the message came from, and how.
    pub transit: &'a Transit,
    /// All its bytes are in place, and no end is told of.
    pub done: bool,
    /// The rank waited for it, and goes on.
    pub waited: bool,
    /// It came [before its receive](Begin::Early).
    pub early: bool,
}

/// What ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// The call that began last.
    Call,
    /// A send: its buffer may be used again.
    Send(MessageNumber),
    /// A receive that was matched: all bytes are in place.
    Receive(MessageNumber),
    /// An epoch of a window, as the call under way has asked for. With no peer: those of the kind with every peer.
    Epoch(Epoch),
    /// The region of that number that began last.
    Region(u32),
    /// Declared work.
    Work,
    /// The time in which nothing was told.
    Pause,
}

/// What a one-sided operation does at its target.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// Writes.
    Put,
    /// Reads.
    Get,
    /// Combines.
    Accumulate,
    /// Combines, and reads what was there.
    Fetch,
    /// Replaces if it is as expected.
    Swap,
}

/// An epoch of a window (MPI section 12.5).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Epoch {
    /// Of which kind.
    pub kind: EpochKind,
    /// With whom; `None` for all members.
    pub peer: Option<Node>,
    /// The context of the window.
    pub window: ContextId,
}

/// Kinds of epochs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EpochKind {
    /// From fence to fence.
    Fence,
    /// From start to complete.
    Access,
    /// From post to wait.
    Exposure,
    /// A lock that is shared.
    SharedLock,
    /// A lock that is not.
    ExclusiveLock,
    /// A lock of all members, which is shared.
    LockAll,
}

/// A wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wait {
    /// The rank has nothing to do but to wait.
    Begins,
    /// It goes on.
    Ends,
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
/// waits until both have reached the cache. So would a copy, which is why observers get it by reference.
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

impl Transit {
    pub(crate) fn of(peer: Node, envelope: &Envelope, bytes: u64, carried: Carried) -> Transit {
        Transit { peer, tag: envelope.tag, context: envelope.context, bytes, carried }
    }
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
    /// Sent once to several receivers, for whom the network copies it.
    Multicast,
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

/// Who watches, and the numbers of what is under way.
#[derive(Default)]
pub(crate) struct Watch {
    /// Whoever records or shows what the rank does.
    pub observer: Option<Box<dyn Observer>>,
    /// The program has taken its eyes off the rank.
    pub paused: bool,
    /// Whoever counts for the program itself, which no pause concerns.
    pub meter: Option<Box<dyn Observer>>,
    /// What the rank waits for.
    pub waits: Waits,
    /// By slot of the request table: the request, and what its end is.
    open: Vec<Option<(Key, End)>>,
    /// By slot of the table of unexpected messages; none if one came while nobody watched.
    arrived: Vec<Option<MessageNumber>>,
    /// By slot of the request table: posted receives.
    posted: Vec<Option<PostNumber>>,
    /// Receives that have begun.
    posts: Option<NonZeroU64>,
    /// The one that has begun last, until it is posted or finds its message.
    latest: Option<PostNumber>,
    /// The direct one.
    direct: Option<PostNumber>,
}

/// What a rank waits for whose wait was told of.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Waits {
    #[default]
    No,
    /// The direct receive: its match ends the wait.
    ForDirect,
    ForOthers,
}

impl Watch {
    /// True if anybody looks now.
    pub fn is_awake(&self) -> bool {
        self.is_observed() || self.meter.is_some()
    }

    /// True if an observer looks now, the meter not counted.
    pub fn is_observed(&self) -> bool {
        self.observer.is_some() && !self.paused
    }

    /// Tells everybody who looks.
    #[inline]
    pub fn tell(&mut self, say: impl Fn(&mut dyn Observer)) {
        if let Some(observer) = &mut self.observer
            && !self.paused
        {
            say(&mut **observer);
        }
        if let Some(meter) = &mut self.meter {
            say(&mut **meter);
        }
    }

    /// Forgets what is under way: what began before now may have ended unseen, and its slots belong to others.
    pub fn forget(&mut self) {
        self.open.clear();
        self.arrived.clear();
        self.posted.clear();
        (self.latest, self.direct, self.waits) = (None, None, Waits::No);
    }

    /// The number of a receive that begins now; the direct one waits outside of the tables.
    pub fn number_post(&mut self, direct: bool) -> PostNumber {
        let post = PostNumber(self.posts.map_or(NonZeroU64::MIN, |posts| posts.saturating_add(1)));
        self.posts = Some(post.0);
        (self.latest, self.direct) = if direct { (None, Some(post)) } else { (Some(post), self.direct) };
        post
    }

    /// The receive that has begun last waits in the tables. If none has, it is the direct one, which began before it was moved there.
    #[cold]
    pub fn keep_post(&mut self, request: Key) {
        let post = self.latest.take().or_else(|| self.direct.take());
        keep(&mut self.posted, request, post);
    }

    /// The receive that has begun last and finds its message at once; `None` if that was a probe's.
    pub fn take_latest_post(&mut self) -> Option<PostNumber> {
        self.latest.take()
    }

    /// A posted receive that has found its message; without a request the direct one.
    pub fn take_post(&mut self, request: Option<Key>) -> Option<PostNumber> {
        match request {
            Some(request) => take(&mut self.posted, request),
            None => self.direct.take(),
        }
    }

    /// Remembers the number of a message until it finds its receive.
    pub fn keep_arrived(&mut self, arrived: Key, message: MessageNumber) {
        keep(&mut self.arrived, arrived, Some(message));
    }

    /// The number of a message that came before its receive; none if it came before the observer, too.
    pub fn take_arrived(&mut self, arrived: Key) -> Option<MessageNumber> {
        take(&mut self.arrived, arrived)
    }

    /// Remembers what to tell of when a request is complete.
    pub fn keep_end(&mut self, request: Key, end: End) {
        keep(&mut self.open, request, Some((request, end)));
    }

    /// What to tell of a request that is complete.
    pub fn take_end(&mut self, request: Key) -> Option<End> {
        let (open, end) = take(&mut self.open, request)?;
        (open == request).then_some(end)
    }
}

/// Puts something into the slot of a key.
fn keep<T: Copy>(slots: &mut Vec<Option<T>>, key: Key, value: Option<T>) {
    let slot = key as u32 as usize;
    if slots.len() <= slot {
        slots.resize(slot + 1, None);
    }
    slots[slot] = value;
}

/// Takes it out.
fn take<T>(slots: &mut [Option<T>], key: Key) -> Option<T> {
    slots.get_mut(key as u32 as usize)?.take()
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

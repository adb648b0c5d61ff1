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

use crate::progress::core::Core;
use crate::progress::peers::Peer;
use crate::rank::Rank;
use crate::values::envelope::Envelope;
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
    /// The program takes its eyes off this rank ([`Rank::pause_observer`]) or is back: what was under way then is told of no more.
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
    fn plain(from: Node, to: Node, count: u64) -> MessageNumber {
        MessageNumber::new(from, to, count & (PUT - 1))
    }

    /// The number of a put by the sequence that its letter names.
    fn put(from: Node, to: Node, sequence: u64) -> MessageNumber {
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
    observer: Box<dyn Observer>,
    /// By slot of the request table: the request, its message, and whether that is sent.
    open: Vec<Option<(Key, MessageNumber, bool)>>,
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
    /// The rank waits for it.
    waits_for_direct: bool,
}

impl Rank {
    /// Lets an observer watch this rank from now on; the one before, if any, goes.
    pub fn observe(&self, observer: Box<dyn Observer>) {
        let watch = Watch {
            observer,
            open: Vec::new(),
            arrived: Vec::new(),
            posted: Vec::new(),
            posts: None,
            latest: None,
            direct: None,
            waits_for_direct: false,
        };
        self.core.borrow_mut().watch = Some(Box::new(watch));
    }

    /// Takes the observer's eyes off this rank until they are [turned back](Rank::resume_observer). False if nobody watches.
    pub fn pause_observer(&self) -> bool {
        let core = &mut *self.core.borrow_mut();
        core.tell(self.fabric(), |observer, fabric| observer.pauses(fabric, true));
        core.paused_watch = core.watch.take().or(core.paused_watch.take());
        core.paused_watch.is_some()
    }

    /// Lets the observer go on that was [paused](Rank::pause_observer). False if none was.
    pub fn resume_observer(&self) -> bool {
        let core = &mut *self.core.borrow_mut();
        let Some(mut watch) = core.paused_watch.take() else { return false };
        // What began before the pause may have ended in it, and its slots belong to others now.
        watch.open.clear();
        watch.arrived.clear();
        watch.posted.clear();
        (watch.latest, watch.direct, watch.waits_for_direct) = (None, None, false);
        watch.observer.pauses(self.fabric(), false);
        core.watch = Some(watch);
        true
    }

    /// True if an observer watches.
    #[inline]
    pub fn is_observed(&self) -> bool {
        self.core.borrow().watch.is_some()
    }

    /// Tells the observer, if there is one, of a call of the program's.
    #[cold]
    pub fn enter(&self, function: &'static str, site: u64) {
        self.tell(|observer, fabric| observer.enter(fabric, function, site));
    }

    /// Tells the observer, if there is one, that the call returns.
    #[cold]
    pub fn leave(&self) {
        self.tell(|observer, fabric| observer.leave(fabric));
    }

    /// Tells the observer something, if there is one.
    #[inline]
    pub(crate) fn tell(&self, say: impl FnOnce(&mut dyn Observer, &dyn Fabric)) {
        self.core.borrow_mut().tell(self.fabric(), say);
    }
}

impl Core {
    /// As [`Rank::tell`].
    #[inline]
    pub(crate) fn tell(&mut self, fabric: &dyn Fabric, say: impl FnOnce(&mut dyn Observer, &dyn Fabric)) {
        if let Some(watch) = &mut self.watch {
            say(&mut *watch.observer, fabric);
        }
    }

    /// A message has left in one letter. Called before it is counted.
    #[cold]
    pub(crate) fn tell_of_sent(&mut self, fabric: &dyn Fabric, to: Node, envelope: &Envelope, bytes: u64) {
        let message = self.number_sent_next(fabric, to);
        let transit = transit(to, envelope, bytes, Carried::Eager);
        self.tell(fabric, |observer, fabric| observer.sent(fabric, message, &transit));
    }

    /// The next plain message to `to` is about to be posted. Called before it is counted.
    #[cold]
    pub(crate) fn tell_of_send(
        &mut self,
        fabric: &dyn Fabric,
        to: Node,
        envelope: &Envelope,
        bytes: u64,
        carried: Carried,
    ) -> MessageNumber {
        let message = self.number_sent_next(fabric, to);
        let transit = transit(to, envelope, bytes, carried);
        self.tell(fabric, |observer, fabric| observer.send_begins(fabric, message, &transit));
        message
    }

    /// The number of the plain message that will be counted next.
    fn number_sent_next(&mut self, fabric: &dyn Fabric, to: Node) -> MessageNumber {
        MessageNumber::plain(fabric.me(), to, self.peers.at(to).plain_sent() + 1)
    }

    /// A put into an announced receive is about to begin. Called after it is counted.
    #[cold]
    pub(crate) fn tell_of_put(
        &mut self,
        fabric: &dyn Fabric,
        (key, to): (Key, Node),
        envelope: &Envelope,
        bytes: u64,
        carried: Carried,
    ) {
        let message = MessageNumber::put(fabric.me(), to, self.peers.at(to).puts_sent);
        let transit = transit(to, envelope, bytes, carried);
        self.tell(fabric, |observer, fabric| observer.send_begins(fabric, message, &transit));
        self.keep_number(key, message, true);
    }

    /// A receive begins.
    #[cold]
    pub(crate) fn tell_of_receive(
        &mut self,
        fabric: &dyn Fabric,
        from: Option<Node>,
        (tag, context): (Option<i32>, ContextId),
        bytes: u64,
    ) {
        let Some(watch) = &mut self.watch else { return };
        let post = PostNumber(watch.posts.map_or(NonZeroU64::MIN, |posts| posts.saturating_add(1)));
        watch.posts = Some(post.0);
        watch.latest = Some(post);
        let wanted = Wanted { from, tag, context, bytes };
        watch.observer.receive_begins(fabric, post, &wanted);
    }

    /// The receive that has begun last waits in the tables.
    #[cold]
    pub(crate) fn keep_post(&mut self, key: Key) {
        let Some(watch) = &mut self.watch else { return };
        let slot = key as u32 as usize;
        if watch.posted.len() <= slot {
            watch.posted.resize(slot + 1, None);
        }
        // The direct receive has begun before it was moved into the tables.
        watch.posted[slot] = watch.latest.take().or_else(|| watch.direct.take());
    }

    /// The receive that has begun last waits outside of the tables.
    #[cold]
    pub(crate) fn keep_direct_post(&mut self) {
        if let Some(watch) = &mut self.watch {
            watch.direct = watch.latest.take();
        }
    }

    /// The rank is about to park; tells of the first park of a wait.
    #[inline]
    pub(crate) fn begin_wait(&mut self, fabric: &dyn Fabric, shown: &mut bool) {
        self.begin_wait_for(fabric, shown, false);
    }

    /// The rank is about to park until its direct receive has ended; tells of the first park.
    #[inline]
    pub(crate) fn begin_direct_wait(&mut self, fabric: &dyn Fabric, shown: &mut bool) {
        self.begin_wait_for(fabric, shown, true);
    }

    #[inline(always)]
    fn begin_wait_for(&mut self, fabric: &dyn Fabric, shown: &mut bool, direct: bool) {
        if let Some(watch) = &mut self.watch
            && !core::mem::replace(shown, true)
        {
            watch.waits_for_direct = direct;
            watch.observer.wait_begins(fabric);
        }
    }

    /// The direct receive has ended, or waits in the tables now. Its message has told of the end of the wait, if it came.
    #[cold]
    pub(crate) fn end_direct_wait(&mut self, fabric: &dyn Fabric) {
        if let Some(watch) = &mut self.watch
            && core::mem::take(&mut watch.waits_for_direct)
        {
            watch.observer.wait_ends(fabric);
        }
    }

    /// The number of the plain message that was counted last. Meaningful only while an observer watches.
    pub(crate) fn number_seen_last(&mut self, fabric: &dyn Fabric, from: Node) -> MessageNumber {
        MessageNumber::plain(from, fabric.me(), self.peers.at(from).plain_seen())
    }

    /// The plain message that was counted last has found its receive.
    #[cold]
    pub(crate) fn tell_of_match(
        &mut self,
        fabric: &dyn Fabric,
        request: Key,
        from: Node,
        (envelope, bytes): (&Envelope, u64),
        carried: Carried,
    ) {
        let message = self.number_seen_last(fabric, from);
        let post = self.take_post(Some(request));
        let transit = transit(from, envelope, bytes, carried);
        self.tell_of_match_of(fabric, (Some(request), post), message, &transit);
    }

    /// The plain message that was counted last has found its receive, the direct one where there is no request, and is whole.
    #[cold]
    pub(crate) fn tell_of_received(
        &mut self,
        fabric: &dyn Fabric,
        request: Option<Key>,
        from: Node,
        (envelope, bytes): (&Envelope, u64),
    ) {
        let message = self.number_seen_last(fabric, from);
        let post = self.take_post(request);
        let transit = transit(from, envelope, bytes, Carried::Eager);
        let Some(watch) = &mut self.watch else { return };
        let waited = request.is_none() && core::mem::take(&mut watch.waits_for_direct);
        watch.observer.received(fabric, message, post, &transit, waited);
    }

    /// A put has found its announced receive.
    #[cold]
    pub(crate) fn tell_of_landing(
        &mut self,
        fabric: &dyn Fabric,
        request: Key,
        (from, sequence): (Node, u64),
        (envelope, bytes): (&Envelope, u64),
        carried: Carried,
    ) {
        let message = MessageNumber::put(from, fabric.me(), sequence);
        let post = self.take_post(Some(request));
        let transit = transit(from, envelope, bytes, carried);
        self.tell_of_match_of(fabric, (Some(request), post), message, &transit);
    }

    /// A message that came before its receive has found it; without a request it is complete.
    #[cold]
    pub(crate) fn tell_of_late_match(
        &mut self,
        fabric: &dyn Fabric,
        request: Option<Key>,
        (slot, from): (Key, Node),
        (envelope, bytes): (&Envelope, u64),
        carried: Carried,
    ) {
        let Some(watch) = &mut self.watch else { return };
        let post = watch.latest.take();
        // One that came before the observer has no number.
        let Some(message) = watch.arrived.get_mut(slot as u32 as usize).and_then(Option::take) else {
            return;
        };
        self.tell_of_match_of(fabric, (request, post), message, &transit(from, envelope, bytes, carried));
    }

    fn tell_of_match_of(
        &mut self,
        fabric: &dyn Fabric,
        (request, post): (Option<Key>, Option<PostNumber>),
        message: MessageNumber,
        transit: &Transit,
    ) {
        match request {
            Some(key) => {
                self.tell(fabric, |observer, fabric| {
                    observer.receive_matches(fabric, message, post, transit)
                });
                self.keep_number(key, message, false);
            }
            None => {
                self.tell(fabric, |observer, fabric| {
                    observer.received(fabric, message, post, transit, false)
                });
            }
        }
    }

    /// The number of a posted receive, or of the direct one, that has found its message.
    fn take_post(&mut self, request: Option<Key>) -> Option<PostNumber> {
        let watch = self.watch.as_mut()?;
        match request {
            Some(key) => watch.posted.get_mut(key as u32 as usize)?.take(),
            None => watch.direct.take(),
        }
    }

    /// Remembers the number of the plain message that was counted last until it finds its receive.
    #[cold]
    pub(crate) fn keep_number_of_arrived(&mut self, fabric: &dyn Fabric, from: Node, message: Key) {
        let number = self.number_seen_last(fabric, from);
        let Some(watch) = &mut self.watch else { return };
        let slot = message as u32 as usize;
        if watch.arrived.len() <= slot {
            watch.arrived.resize(slot + 1, None);
        }
        watch.arrived[slot] = Some(number);
    }

    /// Remembers which message a request is about until it is complete.
    #[cold]
    pub(crate) fn keep_number(&mut self, key: Key, message: MessageNumber, sent: bool) {
        let Some(watch) = &mut self.watch else { return };
        let slot = key as u32 as usize;
        if watch.open.len() <= slot {
            watch.open.resize(slot + 1, None);
        }
        watch.open[slot] = Some((key, message, sent));
    }

    /// A request is complete.
    #[cold]
    pub(crate) fn tell_of_end(&mut self, fabric: &dyn Fabric, key: Key) {
        let Some(watch) = &mut self.watch else { return };
        let Some(slot) = watch.open.get_mut(key as u32 as usize) else { return };
        match slot.take() {
            Some((open, message, true)) if open == key => watch.observer.send_ends(fabric, message),
            Some((open, message, false)) if open == key => watch.observer.receive_ends(fabric, message),
            _ => {}
        }
    }
}

impl Peer {
    /// Messages sent to it other than by announcement.
    fn plain_sent(&self) -> u64 {
        self.sent - self.puts_sent
    }

    /// Messages from it that have come other than by announcement.
    fn plain_seen(&self) -> u64 {
        self.seen - self.puts_seen
    }
}

fn transit(peer: Node, envelope: &Envelope, bytes: u64, carried: Carried) -> Transit {
    Transit { peer, tag: envelope.tag, context: envelope.context, bytes, carried }
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
        let fin = crate::progress::protocol::fin(77, 4096);
        let letter = numbered(fin, 5);
        assert_eq!((letter[0] as u32, letter[1], letter[2]), (fin[0] as u32, 77, 4096));
        assert_eq!(sequence_of(&letter), 5);
    }
}

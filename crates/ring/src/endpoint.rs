//! One rank's mailbox and signals over an exchange: what both host backends share.
//!
//! Posting and raising publish only; ringing the doorbell of the target afterwards is the backend's business, because a
//! process is woken through a futex and a fiber through a run queue.
//!
//! **Invariant:** one endpoint a rank and job. It is the ring's only consumer and the pool's only sender.

use alloc::boxed::Box;
use core::cell::Cell;
use core::ptr::NonNull;
use core::slice;

use fabric::{DAMAGED, Header, LANES, Lane, NO_NODE, Next, Node, PostError};
use processor::hints;

use crate::cell::{Body, Control, INLINE_BYTES, Payload, copy_short};
use crate::doorbell::Doorbell;
use crate::exchange::{Exchange, Front};
use crate::lines::{self, Later};
use crate::pool::{LENT_BYTES, Pool, Slot};
use crate::ring::{Company, Consumer, Ring};
use crate::sync::Ordering;

/// One rank's end of an exchange.
pub struct Endpoint {
    exchange: Exchange,
    me: u32,
    inbox: Consumer<'static>,
    /// What this rank knows of receivers that it has posted to, so that a post need not find it out: as many as are worth
    /// remembering, however many ranks there are. What is forgotten is found out again.
    receivers: Box<[Receiver; RECEIVERS]>,
    pool: Pool,
    /// Letters that had been taken when the last one was posted.
    taken_before: Cell<u64>,
    /// Whether the last long letter was not the first in a row: then its sender has time for hints also while it waits for room.
    streams: Cell<bool>,
    /// Whether letters [belong to long messages](fabric::Mailbox::in_bulk).
    bulk: Cell<bool>,
    /// What is yet to be handed over of the last long letter.
    unhanded: Later,
    company: Cell<Company>,
    /// What `raised` last reported.
    reported: [Cell<u64>; LANES],
}

/// What is known of one receiver. Invariant: the area is its.
struct Receiver {
    rank: Cell<u32>,
    area: Cell<NonNull<u8>>,
    /// How far its head was when it was last read.
    head: Cell<u64>,
}

/// Receivers that are remembered: each has the place of its number's lowest bits.
const RECEIVERS: usize = 64;

/// How much of a pooled payload is handed over at once by a rank that [converses](Endpoint::converses); the rest follows when there is nothing else to do.
const HANDED_OVER_AT_ONCE: usize = 1 << 10;

/// How much of the next slot is asked for by a rank that posts one letter after the other.
const EXPECTED_AT_ONCE: usize = 4 << 10;

/// After a letter of more bytes a poll ends. To begin another one is soon as much as a short copy where many receives are waited for (decision 58).
const GOES_ON_UP_TO: usize = 8 << 10;

/// The same for a rank that sends long letters, too.
const GOES_ON_UP_TO_IN_EXCHANGES: usize = 1 << 10;

/// So much of a letter is asked for while the one before is handed out: as many lines as a core can wait for at a time, nearly.
const ASKED_FOR: usize = 512;

/// Longer letters are not asked for: a poll mostly ends before them, and what their copies ask for themselves comes soon enough.
const ASKED_FOR_UP_TO: usize = GOES_ON_UP_TO;

/// What comes of a [look](Endpoint::take_next) for the next letter beside the letter itself.
pub struct Ends<N, L, W> {
    /// There was none.
    pub nothing: N,
    /// The payload of the one that is meant does not lie in its cell: [`take_next_long`](Endpoint::take_next_long) takes it.
    pub long: L,
    /// It was taken, and senders wait to be [told](Endpoint::tell_of_room) of the room.
    pub wanted: W,
}

impl Endpoint {
    /// The endpoint of rank `me`.
    ///
    /// # Safety
    /// It must be the only endpoint that `me` has in the life of the exchange, and the memory of the exchange must outlive
    /// it.
    ///
    /// # Panics
    /// If `me` is not a rank of the exchange.
    pub unsafe fn new(exchange: Exchange, me: Node) -> Endpoint {
        // SAFETY: the memory outlives the endpoint, which keeps the ring to itself; and this is the rank's only endpoint, hence
        // the ring's only consumer.
        let inbox = unsafe { Consumer::new(exchange.ring_for(me.0)) };
        // At first each place knows this rank itself, but for its head.
        let (rank, area) = (me.0, exchange.area(me.0));
        let receiver = |_| Receiver { rank: Cell::new(rank), area: Cell::new(area), head: Cell::new(0) };
        Endpoint {
            exchange,
            me: me.0,
            inbox,
            receivers: Box::new(core::array::from_fn(receiver)),
            pool: Pool::new(me.0, exchange.geometry().slots()),
            taken_before: Cell::new(0),
            streams: Cell::new(false),
            bulk: Cell::new(false),
            unhanded: Later::default(),
            company: Cell::new(Company::Anywhere),
            reported: Default::default(),
        }
    }

    /// Declares that every rank of the exchange runs on the calling thread, and always will: posts then get by without atomic
    /// read-modify-write operations.
    ///
    /// # Safety
    /// It must be true, for all ranks, from the first post on.
    pub unsafe fn promise_one_thread(&self) {
        self.company.set(Company::OnMyThread);
    }

    /// Says that every rank has a core of its own, so that its cache is worth a [hint](crate::lines).
    pub fn expect_own_cores(&self) {
        self.company.set(Company::OnOwnCores);
    }

    /// This rank.
    #[inline(always)]
    pub fn me(&self) -> Node {
        Node(self.me)
    }

    /// The exchange that the endpoint belongs to.
    #[inline(always)]
    pub fn exchange(&self) -> &Exchange {
        &self.exchange
    }

    /// The doorbell of this rank.
    #[inline(always)]
    pub fn my_doorbell(&self) -> &Doorbell {
        self.exchange.doorbell(self.me)
    }

    /// Appends a letter to the mailbox of `to`: [`fabric::Mailbox::try_post`] but for the wake-up.
    ///
    /// # Errors
    /// If there is no room.
    pub fn try_post(&self, to: Node, header: &Header, payload: &[u8]) -> Result<(), PostError> {
        self.post(to, header, payload).map(|_| ()).ok_or(PostError::Full)
    }

    /// As [`try_post`](Endpoint::try_post); the receiver's doorbell, for the wake-up, or nothing if there is no room.
    pub fn post(&self, to: Node, header: &Header, payload: &[u8]) -> Option<&Doorbell> {
        if payload.len() > INLINE_BYTES {
            return self.post_pooled(to, header, payload);
        }
        self.push(self.receiver(to), header, Payload::Inline(payload), || self.converses())
    }

    /// As [`post`](Endpoint::post), of a letter that fits into a cell, to a receiver that was posted to before; for any other it calls nothing but `otherwise`.
    #[inline(always)]
    pub fn post_quickly<'e, R>(
        &'e self,
        (to, header, payload): (Node, &Header, &[u8]),
        otherwise: impl FnOnce() -> R,
        posted: impl FnOnce(Option<&'e Doorbell>) -> R,
    ) -> R {
        let receiver = &self.receivers[to.0 as usize % RECEIVERS];
        if receiver.rank.get() != to.0 || payload.len() > INLINE_BYTES {
            return otherwise();
        }
        posted(self.push(receiver, header, Payload::Inline(payload), || self.converses()))
    }

    /// What is known of a receiver.
    #[inline(always)]
    fn receiver(&self, to: Node) -> &Receiver {
        let receiver = &self.receivers[to.0 as usize % RECEIVERS];
        if receiver.rank.get() != to.0 {
            self.meet(receiver, to);
        }
        receiver
    }

    /// Makes a receiver one that was posted to before.
    pub fn get_to_know(&self, to: Node) {
        self.receiver(to);
    }

    #[cold]
    #[inline(never)]
    fn meet(&self, receiver: &Receiver, to: Node) {
        receiver.area.set(self.exchange.area(to.0));
        receiver.rank.set(to.0);
        receiver.head.set(0);
    }

    /// The ring of a receiver.
    #[inline(always)]
    fn ring(&self, receiver: &Receiver) -> Ring<'_> {
        // SAFETY: an area of this exchange, whose memory outlives the endpoint.
        unsafe { self.exchange.ring_in(receiver.area.get()) }
    }

    /// True if a letter was taken since this was last asked: then this rank answers or is answered, and what it posts is waited for. A rank that has taken none posts one letter after the other, and
    /// the time that it takes to hand one over is the next one's.
    #[inline(always)]
    fn converses(&self) -> bool {
        let taken = self.inbox.taken();
        self.taken_before.replace(taken) != taken
    }

    #[inline(always)]
    fn push(
        &self,
        receiver: &Receiver,
        header: &Header,
        payload: Payload<'_>,
        converses: impl FnOnce() -> bool,
    ) -> Option<&Doorbell> {
        let ring = self.ring(receiver);
        let position = ring.claim(self.company.get(), &receiver.head)?;
        // SAFETY: just claimed. (In two halves, so that what only the second needs is not kept in registers over the first.)
        let cell = unsafe { ring.publish(position, self.me, header, payload) };
        if self.company.get() == Company::OnOwnCores {
            cell.hint(payload.length(), converses());
        }
        // SAFETY: an area of the exchange, whose memory outlives the endpoint, begins with a front.
        Some(unsafe { &receiver.area.get().cast::<Front>().as_ref().doorbell })
    }

    /// As [`post`](Endpoint::post), of a letter that does not fit into a cell.
    ///
    /// The payload is copied before a cell is claimed, so that a long copy does not hold up letters of other senders behind
    /// an unfinished cell; the look at the room first saves the copy in most cases when the ring is full.
    #[inline(never)]
    pub fn post_pooled(&self, to: Node, header: &Header, payload: &[u8]) -> Option<&Doorbell> {
        let receiver = self.receiver(to);
        let letter_max = self.exchange.geometry().letter_max();
        assert!(
            payload.len() <= letter_max,
            "a letter of {} bytes was posted, the most is {letter_max}",
            payload.len()
        );
        if !self.ring(receiver).has_room(&receiver.head) {
            return None;
        }
        let slot = self.pool.take(|slot| self.exchange.lent(slot))?;
        let place = self.exchange.slot_payload(slot);
        // SAFETY: the slot was taken, so nobody reads it, and it holds `letter_max` bytes; `payload` cannot overlap it,
        // because what lies in slots is handed out only for reading and only while they are not free.
        unsafe {
            match self.bulk.get() {
                true => processor::copy_in_bulk(payload.as_ptr(), place, payload.len()),
                false => processor::copy(payload.as_ptr(), place, payload.len()),
            }
        }
        let converses = self.converses();
        let pushed =
            self.push(receiver, header, Payload::Pooled { length: payload.len(), slot }, || converses);
        if pushed.is_none() {
            self.pool.untake(slot);
        } else if self.company.get() == Company::OnOwnCores {
            self.hint(place, payload.len(), converses);
        }
        pushed
    }

    /// After a long letter whose payload lies at `place`: hands its beginning over if somebody waits for it, and puts off the rest. In a stream the slot of the next one is asked for, which its receiver has read a while ago; where
    /// letters are answered it is the one that this rank reads next.
    #[inline(always)]
    fn hint(&self, place: *const u8, length: usize, converses: bool) {
        let at_once = if converses { length.min(HANDED_OVER_AT_ONCE) } else { 0 };
        hints::hand_over(place, at_once);
        self.streams.set(!converses);
        self.unhanded.set(place, at_once..length);
        if !converses
            && !self.bulk.get()
            && let Some(next) = self.pool.next()
        {
            let line = (&raw const *self.exchange.lent(next)).cast();
            hints::will_write(line, (LENT_BYTES + length).min(EXPECTED_AT_ONCE));
        }
    }

    /// Gives some hints that were put off, if there are any: a rank that found nothing has the time.
    #[inline(always)]
    fn hint_more(&self) -> bool {
        if self.company.get() != Company::OnOwnCores {
            return false;
        }
        let some = self.unhanded.take_some();
        some.inspect(|(line, bytes)| hints::hand_over(*line, *bytes)).is_some()
    }

    /// Letters are of long messages from now on, or no longer: [`fabric::Mailbox::in_bulk`].
    #[inline(always)]
    pub fn set_bulk(&self, is: bool) {
        self.bulk.set(is);
    }

    /// Leaves out the hints that were put off: [`fabric::Mailbox::crosses`].
    #[inline(always)]
    pub fn forget_hints(&self) {
        self.unhanded.forget();
    }

    /// Lets `to`, whose ring was full, know that this rank is about to sleep until there is room: then the `wake` of its poll is called for
    /// this rank. False if too many wait for it. See [`Ring::ask_for_room`].
    pub fn ask_for_room(&self, to: Node) -> bool {
        self.exchange.ring(to.0).ask_for_room(self.me)
    }

    /// Takes that back.
    pub fn stop_asking(&self, to: Node) {
        self.exchange.ring(to.0).stop_asking(self.me);
    }

    /// Whether the ring of `to` has room, as far as this rank can see.
    pub fn has_room(&self, to: Node) -> bool {
        let receiver = self.receiver(to);
        self.ring(receiver).has_room(&receiver.head)
    }

    /// Hands waiting letters to `sink`: [`fabric::Mailbox::poll`], where nobody sleeps until there is room.
    pub fn poll(&self, limit: usize, sink: &mut dyn FnMut(Node, &Header, &[u8])) -> usize {
        self.poll_and_wake(limit, sink, |_| ())
    }

    /// Hands waiting letters to `sink`: [`fabric::Mailbox::poll`]. Calls `wake` for ranks that wait for room here, when there is some.
    ///
    /// It ends after a letter of more than 8 KiB, or 1 KiB where this rank sends long ones, too. That may be all that its receiver waits for, and if it took the next one before it has said where that shall go, that would be copied once more. And again: whoever need not
    /// wait for what it got too early is early itself with the next.
    #[inline]
    pub fn poll_and_wake(
        &self,
        limit: usize,
        sink: &mut dyn FnMut(Node, &Header, &[u8]),
        wake: impl Fn(Node),
    ) -> usize {
        let ranks = self.exchange.geometry().ranks();
        // A number that makes no sense was written by somebody else.
        let tell = |sender| {
            if sender < ranks {
                wake(Node(sender))
            }
        };
        let each = |control: Control, body: &Body| {
            let (sender, length) = (control.sender(), control.length());
            // Everything in a cell was written by somebody else, so it is checked rather than trusted.
            if sender >= self.exchange.geometry().ranks() {
                damaged(NO_NODE, sink);
                return true;
            }
            if length <= INLINE_BYTES {
                // SAFETY: a sender writes as many bytes as the control word says.
                sink(Node(sender), &body.header, unsafe { body.inline_payload(length) });
                return true;
            }
            // SAFETY: longer letters name a slot.
            let slot = unsafe { body.slot() };
            let Some(payload) = self.pooled(slot, length) else {
                damaged(Node(sender), sink);
                return true;
            };
            sink(Node(sender), &body.header, payload);
            let exchanges = self.pool.is_ahead();
            self.done_with(slot);
            length <= if exchanges { GOES_ON_UP_TO_IN_EXCHANGES } else { GOES_ON_UP_TO }
        };
        let taken = self.inbox.take_while(limit, each, |control, body| self.ask_for(control, body), tell);
        if taken == 0 && self.streams.get() {
            self.hint_more();
        }
        taken
    }

    /// Asks for the beginning of the payload of a letter that is handed out next: it comes while the one before is copied.
    #[inline(always)]
    fn ask_for(&self, control: Control, body: &Body) {
        let length = control.length();
        let is_worth_it = (INLINE_BYTES + 1..=ASKED_FOR_UP_TO).contains(&length);
        if is_worth_it && self.company.get() == Company::OnOwnCores {
            // SAFETY: letters of this length name a slot.
            let slot = unsafe { body.slot() };
            if let Some(payload) = self.pooled(slot, length) {
                hints::will_read(payload.as_ptr(), length.min(ASKED_FOR));
            }
        }
    }

    /// Looks for a letter once, and takes it if it is the one that is meant: [`fabric::Mailbox::take_next`]. Calls nothing but, last, one of `ends`.
    #[inline(always)]
    pub fn take_next(
        &self,
        (first, second): (u64, u64),
        room: &mut [u8],
        ends: Ends<impl FnOnce(&mut [u8]) -> Next, impl FnOnce(&mut [u8]) -> Next, impl FnOnce(Next) -> Next>,
    ) -> Next {
        let take = |control: Control, body: &Body| {
            let length = control.length();
            if !self.is_meant(control, body, (first, second), room) {
                return (false, Next::ANOTHER);
            }
            if length > INLINE_BYTES {
                return (false, Next::NOTHING);
            }
            // SAFETY: a sender writes as many bytes as the control word says; there is room for them, which is the caller's alone.
            unsafe { copy_short(body.inline_payload(length), room.as_mut_ptr()) };
            (true, Next::taken(Node(control.sender()), length as u32))
        };
        match self.inbox.take_next(take) {
            None => (ends.nothing)(room),
            Some((next, true)) => (ends.wanted)(next),
            // Found, and yet nothing: it is long.
            Some((Next::NOTHING, false)) => (ends.long)(room),
            Some((next, false)) => next,
        }
    }

    /// Looks up to `looks` times whether a letter is here. Spends the time before that with hints that were put off, as long as there are any.
    #[inline(always)]
    pub fn awaits_letter(&self, looks: u32) -> bool {
        while self.inbox.is_empty() && self.hint_more() {}
        (0..looks).any(|_| {
            let here = !self.inbox.is_empty();
            if !here {
                lines::look_again();
            }
            here
        })
    }

    /// As [`take_next`](Endpoint::take_next), for the letters that it leaves to `long`.
    #[inline(never)]
    pub fn take_next_long(
        &self,
        (first, second): (u64, u64),
        room: &mut [u8],
        tell: impl FnOnce(Next) -> Next,
    ) -> Next {
        let take = |control: Control, body: &Body| {
            let taken = self.is_meant(control, body, (first, second), room)
                && control.length() > INLINE_BYTES
                && self.take_pooled(control.length(), body, room).is_some();
            let bytes = control.length() as u32;
            (taken, if taken { Next::taken(Node(control.sender()), bytes) } else { Next::ANOTHER })
        };
        match self.inbox.take_next(take) {
            None => Next::NOTHING,
            Some((next, true)) => tell(next),
            Some((next, false)) => next,
        }
    }

    /// Whether a letter is the one that a [look](Endpoint::take_next) means.
    #[inline(always)]
    fn is_meant(&self, control: Control, body: &Body, (first, second): (u64, u64), room: &[u8]) -> bool {
        let (length, [one, two, three]) = (control.length(), body.header);
        one == first
            && two == second
            && three == length as u64
            && length <= room.len()
            && control.sender() < self.exchange.geometry().ranks()
    }

    /// Calls `wake` for ranks that wait for room here, of which there is some.
    #[cold]
    pub fn tell_of_room(&self, wake: impl Fn(Node)) {
        let ranks = self.exchange.geometry().ranks();
        // A number that makes no sense was written by somebody else.
        self.inbox.tell_of_room(&|sender| {
            if sender < ranks {
                wake(Node(sender))
            }
        });
    }

    /// Stores the payload of a long letter, unless it makes no sense.
    #[inline(always)]
    fn take_pooled(&self, length: usize, body: &Body, room: &mut [u8]) -> Option<()> {
        // SAFETY: letters of this length name a slot.
        let slot = unsafe { body.slot() };
        let payload = self.pooled(slot, length)?;
        let room = &mut room[..length];
        // SAFETY: as many bytes on both sides; what is borrowed mutably overlaps with nothing.
        unsafe { processor::copy(payload.as_ptr(), room.as_mut_ptr(), length) };
        self.done_with(slot);
        Some(())
    }

    /// The payload of a long letter; `None` if there can be none. Nobody else touches it until this rank is [done](Endpoint::done_with) with the slot.
    #[inline(always)]
    fn pooled(&self, slot: Slot, length: usize) -> Option<&[u8]> {
        let geometry = self.exchange.geometry();
        if length > geometry.letter_max() || slot.number >= geometry.slots() || slot.home >= geometry.ranks()
        {
            return None;
        }
        // SAFETY: the sender filled `length` bytes of the slot before it published the letter, and gave the slot away with it.
        Some(unsafe { slice::from_raw_parts(self.exchange.slot_payload(slot), length) })
    }

    /// The payload in `slot` has been read. Where caches are each rank's own, the slot is best written by whoever has just read it.
    #[inline(always)]
    fn done_with(&self, slot: Slot) {
        let keeps = self.company.get() == Company::OnOwnCores;
        self.pool.read(slot, keeps, |slot| self.exchange.lent(slot));
    }

    /// Adds one to a counter of `to`: [`fabric::Signal::raise`] but for the wake-up. A release, so that the owner sees
    /// what was written before.
    #[inline(always)]
    pub fn raise(&self, to: Node, lane: Lane) {
        self.exchange.front(to.0).lanes.0[lane.0 as usize].fetch_add(1, Ordering::Release);
    }

    /// Reads a counter of this rank: [`fabric::Signal::raised`].
    #[inline(always)]
    pub fn raised(&self, lane: Lane) -> u64 {
        let count = self.exchange.front(self.me).lanes.0[lane.0 as usize].load(Ordering::Acquire);
        self.reported[lane.0 as usize].set(count);
        count
    }

    /// Opens a word of this rank: [`fabric::Signal::open`].
    pub fn open(&self, name: u64) -> bool {
        let word = self.exchange.claim(self.me, name as u32);
        word.inspect(|word| word.open((name >> 32) as u32)).is_some()
    }

    /// Claims a word of `owner`: [`fabric::Signal::claim`].
    pub fn claim(&self, owner: Node, name: u64) -> bool {
        self.exchange.claim(owner.0, name as u32).is_none_or(|word| word.claim((name >> 32) as u32))
    }

    /// Looks at a word of `owner`: [`fabric::Signal::is_open`].
    pub fn is_open(&self, owner: Node, name: u64) -> bool {
        self.exchange.claim(owner.0, name as u32).is_none_or(|word| word.is_open((name >> 32) as u32))
    }

    /// True if a letter waits, or a counter was raised that [`raised`](Endpoint::raised) has not reported: a reason not to
    /// sleep.
    #[inline]
    pub fn pending(&self) -> bool {
        let lanes = &self.exchange.front(self.me).lanes.0;
        !self.inbox.is_empty()
            || lanes.iter().zip(&self.reported).any(|(lane, seen)| lane.load(Ordering::Acquire) != seen.get())
    }
}

/// Hands a letter out that makes no sense. Its slot, if it has one, is not given back: which one is not known.
#[cold]
fn damaged(from: Node, sink: &mut dyn FnMut(Node, &Header, &[u8])) {
    sink(from, &DAMAGED, &[]);
}

/// Mailbox and signals of a fabric that has an `endpoint`, a method `wake` for whoever may sleep, one `finds_asleep` that tells whether it has to be called (and is given his doorbell), a method
/// `has_lost` that tells whether the rank whose mailbox was full is gone, a method `has_left` that tells at the price of a look whether one has signed off, and a method `gives_way` that lets those run who share
/// the core, if that is what a rank can do for a letter that is not here, and tells whether it has: what backends on this crate have in common, word by word. The methods are not for inlining: they would be compiled where a fabric is made, and not with it.
///
/// What most calls come to calls nothing but, last, what is cold: so it keeps nothing on the stack.
#[macro_export]
macro_rules! deliver_by_endpoint {
    ($fabric:ty) => {
        impl $fabric {
            #[cold]
            #[inline(never)]
            fn refuses(&self, to: ::fabric::Node) -> ::core::result::Result<(), ::fabric::PostError> {
                let lost = self.has_lost(to);
                ::core::result::Result::Err(if lost {
                    ::fabric::PostError::Lost
                } else {
                    ::fabric::PostError::Full
                })
            }

            #[cold]
            #[inline(never)]
            fn posted_to_sleeper(
                &self,
                to: ::fabric::Node,
            ) -> ::core::result::Result<(), ::fabric::PostError> {
                self.wake(to);
                ::core::result::Result::Ok(())
            }

            #[inline(always)]
            fn posted(
                &self,
                to: ::fabric::Node,
                bell: ::core::option::Option<&$crate::Doorbell>,
            ) -> ::core::result::Result<(), ::fabric::PostError> {
                match bell {
                    ::core::option::Option::None => self.refuses(to),
                    ::core::option::Option::Some(bell) if self.finds_asleep(to, bell) => {
                        self.posted_to_sleeper(to)
                    }
                    ::core::option::Option::Some(_) => ::core::result::Result::Ok(()),
                }
            }

            #[inline(never)]
            fn post_any(
                &self,
                to: ::fabric::Node,
                header: &::fabric::Header,
                payload: &[u8],
            ) -> ::core::result::Result<(), ::fabric::PostError> {
                if payload.len() > $crate::INLINE_BYTES {
                    return self.posted(to, self.endpoint.post_pooled(to, header, payload));
                }
                self.endpoint.get_to_know(to);
                ::fabric::Mailbox::try_post(self, to, header, payload)
            }

            #[inline(never)]
            fn take_next_long(&self, words: (u64, u64), room: &mut [u8]) -> ::fabric::Next {
                self.endpoint.take_next_long(words, room, |next| self.tell_of_room(next))
            }

            #[inline(never)]
            fn await_next(&self, first: u64, second: u64, room: &mut [u8], looks: u32) -> ::fabric::Next {
                if looks == 0 || !(self.gives_way() || self.endpoint.awaits_letter(looks)) {
                    return ::fabric::Next::NOTHING;
                }
                ::fabric::Mailbox::take_next(self, first, second, room, 0)
            }

            #[cold]
            #[inline(never)]
            fn tell_of_room(&self, next: ::fabric::Next) -> ::fabric::Next {
                self.endpoint.tell_of_room(|to| self.wake(to));
                next
            }
        }

        impl ::fabric::Mailbox for $fabric {
            fn try_post(
                &self,
                to: ::fabric::Node,
                header: &::fabric::Header,
                payload: &[u8],
            ) -> ::core::result::Result<(), ::fabric::PostError> {
                self.endpoint.post_quickly(
                    (to, header, payload),
                    || self.post_any(to, header, payload),
                    |bell| self.posted(to, bell),
                )
            }

            fn poll(
                &self,
                limit: usize,
                sink: &mut dyn FnMut(::fabric::Node, &::fabric::Header, &[u8]),
            ) -> usize {
                self.endpoint.poll_and_wake(limit, sink, |to| self.wake(to))
            }

            fn take_next(&self, first: u64, second: u64, room: &mut [u8], looks: u32) -> ::fabric::Next {
                let ends = $crate::endpoint::Ends {
                    nothing: |room: &mut [u8]| self.await_next(first, second, room, looks),
                    long: |room: &mut [u8]| self.take_next_long((first, second), room),
                    wanted: |next| self.tell_of_room(next),
                };
                self.endpoint.take_next((first, second), room, ends)
            }

            fn crosses(&self) {
                self.endpoint.forget_hints();
            }

            fn in_bulk(&self, is: bool) {
                self.endpoint.set_bulk(is);
            }
        }

        impl ::fabric::Signal for $fabric {
            fn raise(
                &self,
                to: ::fabric::Node,
                lane: ::fabric::Lane,
            ) -> ::core::result::Result<(), ::fabric::Lost> {
                if self.has_left(to) {
                    return ::core::result::Result::Err(::fabric::Lost);
                }
                self.endpoint.raise(to, lane);
                self.wake(to);
                ::core::result::Result::Ok(())
            }

            fn raised(&self, lane: ::fabric::Lane) -> u64 {
                self.endpoint.raised(lane)
            }

            fn open(&self, name: u64) -> bool {
                self.endpoint.open(name)
            }

            fn claim(&self, owner: ::fabric::Node, name: u64) -> bool {
                self.endpoint.claim(owner, name)
            }

            fn is_open(&self, owner: ::fabric::Node, name: u64) -> bool {
                self.endpoint.is_open(owner, name)
            }
        }
    };
}

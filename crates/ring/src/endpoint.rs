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

use crate::cell::{Body, Control, INLINE_BYTES, Payload, copy_short};
use crate::doorbell::Doorbell;
use crate::exchange::{Exchange, Front};
use crate::lines;
use crate::pool::{LENT_BYTES, Pool};
use crate::ring::{Consumer, Ring};
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

/// How much of a pooled payload is handed over: more of it delays the next letter by more than it saves the receiver.
const HANDED_OVER_MAX: usize = 1 << 10;

/// How much of the next slot is asked for.
const EXPECTED_MAX: usize = 4 << 10;

/// Where the other ranks of an exchange run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Company {
    /// All on the thread of this one.
    OnMyThread,
    /// Anywhere.
    Anywhere,
    /// Each on a core of its own.
    OnOwnCores,
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
            pool: Pool::new(exchange.geometry().slots()),
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
    #[inline(always)]
    pub fn post(&self, to: Node, header: &Header, payload: &[u8]) -> Option<&Doorbell> {
        if payload.len() > INLINE_BYTES {
            return self.post_pooled(to, header, payload);
        }
        let receiver = self.receiver(to);
        self.push(receiver, header, Payload::Inline(payload))
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

    #[inline(always)]
    fn push(&self, receiver: &Receiver, header: &Header, payload: Payload<'_>) -> Option<&Doorbell> {
        let (ring, head) = (self.ring(receiver), &receiver.head);
        let pushed = match self.company.get() {
            Company::OnMyThread => ring.push_alone(head, self.me, header, payload),
            Company::Anywhere => ring.push(head, self.me, header, payload),
            Company::OnOwnCores => ring.push_across(head, self.me, header, payload),
        };
        // SAFETY: an area of the exchange, whose memory outlives the endpoint, begins with a front.
        pushed.ok().map(|()| unsafe { &receiver.area.get().cast::<Front>().as_ref().doorbell })
    }

    /// The payload is copied before a cell is claimed, so that a long copy does not hold up letters of other senders behind
    /// an unfinished cell; the look at the room first saves the copy in most cases when the ring is full.
    #[inline(never)]
    fn post_pooled(&self, to: Node, header: &Header, payload: &[u8]) -> Option<&Doorbell> {
        let letter_max = self.exchange.geometry().letter_max();
        assert!(
            payload.len() <= letter_max,
            "a letter of {} bytes was posted, the most is {letter_max}",
            payload.len()
        );
        let receiver = self.receiver(to);
        if !self.ring(receiver).has_room(&receiver.head) {
            return None;
        }
        let line = |slot| self.exchange.lent(self.me, slot);
        let slot = self.pool.take(line)?;
        let place = self.exchange.slot_payload(self.me, slot);
        // SAFETY: the slot was taken, so nobody reads it, and it holds `letter_max` bytes; `payload` cannot overlap it,
        // because slots are handed out only for reading and only while they are not free.
        unsafe { core::ptr::copy_nonoverlapping(payload.as_ptr(), place, payload.len()) };
        let pushed = self.push(receiver, header, Payload::Pooled { length: payload.len(), slot });
        if pushed.is_none() {
            self.pool.untake(slot, line);
        } else if self.company.get() == Company::OnOwnCores {
            lines::hand_over(place, payload.len().min(HANDED_OVER_MAX));
            if let Some(next) = self.pool.next() {
                lines::expect((&raw const *line(next)).cast(), LENT_BYTES + payload.len().min(EXPECTED_MAX));
            }
        }
        pushed
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
                return damaged(NO_NODE, sink);
            }
            if length <= INLINE_BYTES {
                // SAFETY: a sender writes as many bytes as the control word says.
                return sink(Node(sender), &body.header, unsafe { body.inline_payload(length) });
            }
            // SAFETY: longer letters carry a slot number.
            let slot = unsafe { body.slot() };
            let Some(payload) = self.pooled(sender, slot, length) else {
                return damaged(Node(sender), sink);
            };
            sink(Node(sender), &body.header, payload);
            self.exchange.lent(sender, slot).give_back();
        };
        self.inbox.take_and_tell(limit, each, tell)
    }

    /// Takes the next letter if it is the one that is meant: [`fabric::Mailbox::take_next`]. `wake` as for [`poll_and_wake`](Endpoint::poll_and_wake).
    #[inline(always)]
    pub fn take_next(&self, first: u64, second: u64, room: &mut [u8], wake: impl Fn(Node)) -> Next {
        let ranks = self.exchange.geometry().ranks();
        let take = |control: Control, body: &Body| {
            let (sender, length) = (control.sender(), control.length());
            let [one, two, three] = body.header;
            if one != first
                || two != second
                || three != length as u64
                || length > room.len()
                || sender >= ranks
            {
                return None;
            }
            if length > INLINE_BYTES {
                self.take_pooled(sender, length, body, room)?;
            } else {
                // SAFETY: a sender writes as many bytes as the control word says; there is room for them, which is the caller's alone.
                unsafe { copy_short(body.inline_payload(length), room.as_mut_ptr()) };
            }
            Some(Next::Taken { from: Node(sender), bytes: length as u32 })
        };
        let tell = |sender| {
            if sender < ranks {
                wake(Node(sender))
            }
        };
        self.inbox.take_next(take, tell).map_or(Next::Nothing, |taken| taken.unwrap_or(Next::Another))
    }

    /// Stores the payload of a long letter, unless it makes no sense.
    #[inline(never)]
    fn take_pooled(&self, sender: u32, length: usize, body: &Body, room: &mut [u8]) -> Option<()> {
        // SAFETY: letters of this length carry a slot number.
        let slot = unsafe { body.slot() };
        let payload = self.pooled(sender, slot, length)?;
        room[..length].copy_from_slice(payload);
        self.exchange.lent(sender, slot).give_back();
        Some(())
    }

    /// The payload of a long letter; `None` if there can be none. Its sender does not touch it until the slot is given back.
    #[inline(always)]
    fn pooled(&self, sender: u32, slot: u32, length: usize) -> Option<&[u8]> {
        let geometry = self.exchange.geometry();
        if length > geometry.letter_max() || slot >= geometry.slots() {
            return None;
        }
        // SAFETY: the sender filled `length` bytes of the slot before it published the letter, and does not touch them until the slot is given back.
        Some(unsafe { slice::from_raw_parts(self.exchange.slot_payload(sender, slot), length) })
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

/// Mailbox and signals of a fabric that has an `endpoint`, a method `wake` for whoever sleeps, one `wake_at` that is given his doorbell, a method `has_lost` that tells whether the
/// rank whose mailbox was full is gone, and a method `has_left` that tells at the price of a look whether one has signed off: what backends
/// on this crate have in common, word by word. The methods are not for inlining: they would be compiled where a fabric is made, and not with it.
#[macro_export]
macro_rules! deliver_by_endpoint {
    ($fabric:ty) => {
        impl ::fabric::Mailbox for $fabric {
            fn try_post(
                &self,
                to: ::fabric::Node,
                header: &::fabric::Header,
                payload: &[u8],
            ) -> ::core::result::Result<(), ::fabric::PostError> {
                let ::core::option::Option::Some(bell) = self.endpoint.post(to, header, payload) else {
                    let lost = self.has_lost(to);
                    return ::core::result::Result::Err(if lost {
                        ::fabric::PostError::Lost
                    } else {
                        ::fabric::PostError::Full
                    });
                };
                self.wake_at(to, bell);
                ::core::result::Result::Ok(())
            }

            fn poll(
                &self,
                limit: usize,
                sink: &mut dyn FnMut(::fabric::Node, &::fabric::Header, &[u8]),
            ) -> usize {
                self.endpoint.poll_and_wake(limit, sink, |to| self.wake(to))
            }

            fn take_next(&self, first: u64, second: u64, room: &mut [u8]) -> ::fabric::Next {
                self.endpoint.take_next(first, second, room, |to| self.wake(to))
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

//! One rank's mailbox and signals over an exchange: what both host backends share. `posting` is how letters leave, `taking` how they come.
//!
//! Posting and raising publish only; ringing the doorbell of the target afterwards is the backend's business, because a
//! process is woken through a futex and a fiber through a run queue.
//!
//! **Invariant:** one endpoint a rank and job. It is the ring's only consumer and the pool's only sender.

use alloc::boxed::Box;
use core::cell::Cell;
use core::ptr::NonNull;

use fabric::{LANES, Lane, Node};

use crate::doorbell::Doorbell;
use crate::exchange::Exchange;
use crate::lines::Later;
use crate::pool::Pool;
use crate::ring::{Company, Consumer};
use crate::sync::Ordering;

mod posting;
mod taking;

pub use taking::Ends;

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

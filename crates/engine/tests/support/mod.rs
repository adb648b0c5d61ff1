//! Ranks to test with: fibers of this process, on a fabric whose habits a test can change.
#![allow(dead_code, reason = "each test file uses a part of this")]

use std::cell::{Cell, RefCell};

use corelace_engine as engine;
use engine::datatype::Basic;
use engine::{Datatype, Rank, RecvBuffer, SendBuffer, Tuning};
use fabric::*;
use fabric_local::{LocalFabric, NoHooks, Options, Outcome};

/// How the fabric behaves.
#[derive(Clone, Copy)]
pub struct Habits {
    /// Most payload bytes of a letter; 0 leaves the backend's.
    pub letter_max: usize,
    /// No put and no get: rendezvous must stream.
    pub no_portal: bool,
    /// Transfers are done only after this many questions.
    pub slow_transfers: u32,
    /// Every n-th post is refused; 0 for none.
    pub refuse_every: u32,
    /// Eager limit; 0 leaves the backend's.
    pub eager_max: usize,
    /// Receives from this size on announce themselves; 0 leaves the backend's.
    pub receiver_first_min: usize,
    /// Messages from this size on are copied by both ranks; 0 leaves the backend's.
    pub share_min: usize,
    /// Memory budget.
    pub budget: Option<usize>,
    /// OS threads to spread the fibers over.
    pub workers: usize,
}

pub const PLAIN: Habits = Habits {
    letter_max: 0,
    no_portal: false,
    slow_transfers: 0,
    refuse_every: 0,
    eager_max: 0,
    receiver_first_min: 0,
    share_min: 0,
    budget: None,
    workers: 1,
};

/// Every combination of habits that makes the engine take another path.
pub fn all_habits() -> Vec<(&'static str, Habits)> {
    vec![
        ("plain", PLAIN),
        ("two workers", Habits { workers: 2, ..PLAIN }),
        ("split eager", Habits { letter_max: 96, eager_max: 1000, ..PLAIN }),
        ("split eager, refused posts", Habits { letter_max: 96, eager_max: 1000, refuse_every: 3, ..PLAIN }),
        ("rendezvous", Habits { eager_max: 16, receiver_first_min: usize::MAX, ..PLAIN }),
        ("receiver first", Habits { eager_max: 16, receiver_first_min: 17, ..PLAIN }),
        (
            "receiver first, two workers",
            Habits { eager_max: 16, receiver_first_min: 17, workers: 2, ..PLAIN },
        ),
        ("slow transfers", Habits { eager_max: 16, receiver_first_min: 17, slow_transfers: 3, ..PLAIN }),
        ("shared copy", Habits { eager_max: 16, receiver_first_min: 17, share_min: 17, workers: 2, ..PLAIN }),
        (
            "shared copy, sender first",
            Habits { eager_max: 16, receiver_first_min: usize::MAX, share_min: 17, ..PLAIN },
        ),
        (
            "shared slow copy",
            Habits { eager_max: 16, receiver_first_min: 17, share_min: 17, slow_transfers: 4, ..PLAIN },
        ),
        ("streamed", Habits { eager_max: 16, no_portal: true, letter_max: 96, ..PLAIN }),
        ("streamed, refused posts", Habits { eager_max: 16, no_portal: true, refuse_every: 2, ..PLAIN }),
    ]
}

/// Runs `body` on `ranks` ranks and hands back their results; a rank that panics or waits for ever fails the test.
pub fn run<T: Send>(ranks: u32, habits: Habits, body: impl Fn(&Rank) -> T + Sync) -> Vec<T> {
    let options = Options { workers: habits.workers, budget: habits.budget, ..Options::new(ranks) };
    let outcomes = fabric_local::run_fibers(&options, &NoHooks, &|local: LocalFabric| {
        let fabric = Habitual::new(local, habits);
        let mut tuning = Tuning::for_fabric(fabric.caps());
        if habits.eager_max > 0 {
            tuning.eager_max = habits.eager_max;
        }
        if habits.receiver_first_min > 0 {
            tuning.receiver_first_min = habits.receiver_first_min;
        }
        if habits.share_min > 0 {
            tuning.share_min = habits.share_min;
        }
        let rank = Rank::new(Box::new(fabric), tuning);
        let value = body(&rank);
        rank.drain().expect("what was started can be finished");
        value
    });
    outcomes
        .into_iter()
        .enumerate()
        .map(|(rank, outcome)| match outcome {
            Outcome::Ended(value) => value,
            Outcome::Panicked(cause) => {
                let text = cause
                    .downcast_ref::<String>()
                    .cloned()
                    .or_else(|| cause.downcast_ref::<&str>().map(|text| text.to_string()))
                    .unwrap_or_default();
                panic!("rank {rank} panicked: {text}")
            }
            Outcome::Stalled => panic!("rank {rank} waits for ever"),
        })
        .collect()
}

/// Bytes to send.
pub fn bytes_out(data: &[u8]) -> SendBuffer {
    // SAFETY: the tests keep `data` until the operation is complete.
    unsafe { SendBuffer::new(data.as_ptr(), data.len() as u64, &Datatype::basic(Basic::Byte)) }
}

/// Bytes to receive into.
pub fn bytes_in(data: &mut [u8]) -> RecvBuffer {
    // SAFETY: as above.
    unsafe { RecvBuffer::new(data.as_mut_ptr(), data.len() as u64, &Datatype::basic(Basic::Byte)) }
}

/// A fabric with habits: the middleware of the tests.
struct Habitual {
    inner: LocalFabric,
    habits: Habits,
    caps: Caps,
    posts: Cell<u32>,
    /// Questions left per transfer under way.
    transfers: RefCell<Vec<(u64, u32)>>,
    next_ticket: Cell<u64>,
}

impl Habitual {
    fn new(inner: LocalFabric, habits: Habits) -> Habitual {
        let mut caps = *inner.caps();
        if habits.letter_max > 0 {
            caps.letter_max = habits.letter_max;
        }
        Habitual {
            inner,
            habits,
            caps,
            posts: Cell::new(0),
            transfers: RefCell::default(),
            next_ticket: Cell::new(1),
        }
    }

    fn ticket(&self) -> Ticket {
        if self.habits.slow_transfers == 0 {
            return Ticket::DONE;
        }
        let ticket = self.next_ticket.get();
        self.next_ticket.set(ticket + 1);
        self.transfers.borrow_mut().push((ticket, self.habits.slow_transfers));
        Ticket(ticket)
    }
}

impl Mailbox for Habitual {
    fn try_post(&self, to: Node, header: &Header, payload: &[u8]) -> Result<(), Full> {
        self.posts.set(self.posts.get() + 1);
        if self.habits.refuse_every > 0 && self.posts.get().is_multiple_of(self.habits.refuse_every) {
            return Err(Full);
        }
        self.inner.try_post(to, header, payload)
    }

    fn poll(&self, limit: usize, sink: &mut dyn FnMut(Node, &Header, &[u8])) -> usize {
        self.inner.poll(limit, sink)
    }
}

impl Portal for Habitual {
    unsafe fn expose(&self, base: *mut u8, len: usize, peer: Node) -> Result<Key, PortalError> {
        // SAFETY: passed on.
        unsafe { self.inner.expose(base, len, peer) }
    }

    fn withdraw(&self, key: Key) {
        self.inner.withdraw(key);
    }

    unsafe fn put(
        &self,
        peer: Node,
        local: *const u8,
        local_shape: &Shape,
        key: &Key,
        remote_shape: &Shape,
        delivery: &Delivery,
    ) -> Result<Ticket, PortalError> {
        assert!(!self.habits.no_portal, "put although reach said no");
        // SAFETY: passed on.
        unsafe { self.inner.put(peer, local, local_shape, key, remote_shape, delivery)? };
        Ok(self.ticket())
    }

    unsafe fn get(
        &self,
        peer: Node,
        local: *mut u8,
        local_shape: &Shape,
        key: &Key,
        remote_shape: &Shape,
        mover: Mover,
    ) -> Result<Ticket, PortalError> {
        assert!(!self.habits.no_portal, "get although reach said no");
        // SAFETY: passed on.
        unsafe { self.inner.get(peer, local, local_shape, key, remote_shape, mover)? };
        Ok(self.ticket())
    }

    fn done(&self, ticket: Ticket) -> bool {
        if ticket == Ticket::DONE {
            return true;
        }
        let mut transfers = self.transfers.borrow_mut();
        let at = transfers
            .iter()
            .position(|(name, _)| *name == ticket.0)
            .expect("a ticket is asked for once done");
        transfers[at].1 -= 1;
        if transfers[at].1 == 0 {
            transfers.swap_remove(at);
            return true;
        }
        false
    }

    fn reach(&self, peer: Node) -> Reach {
        if self.habits.no_portal { Reach::default() } else { self.inner.reach(peer) }
    }
}

impl Signal for Habitual {
    fn raise(&self, to: Node, lane: Lane) {
        self.inner.raise(to, lane);
    }

    fn raised(&self, lane: Lane) -> u64 {
        self.inner.raised(lane)
    }
}

impl Clock for Habitual {
    fn now(&self) -> u64 {
        self.inner.now()
    }
}

impl Park for Habitual {
    fn park(&self, rounds: u32, idle: Idle) {
        self.inner.park(rounds, idle);
    }
}

impl Memory for Habitual {
    fn budget(&self) -> &Budget {
        self.inner.budget()
    }
}

impl Fabric for Habitual {
    fn me(&self) -> Node {
        self.inner.me()
    }

    fn nodes(&self) -> u32 {
        self.inner.nodes()
    }

    fn caps(&self) -> &Caps {
        &self.caps
    }

    fn cluster(&self, node: Node) -> u32 {
        self.inner.cluster(node)
    }
}

//! A fabric with habits: the middleware of the tests.

use std::cell::{Cell, RefCell};

use fabric::*;
use fabric_local::LocalFabric;

use super::{Habits, PortalHabit};

thread_local! {
    static PUTS: Cell<Puts> = const { Cell::new(Puts { by_rank: 0, by_agent: 0 }) };
}

/// Puts that the ranks of this worker have started.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Puts {
    /// In a call of their own.
    pub by_rank: u32,
    /// On the helper core.
    pub by_agent: u32,
}

/// Puts since the last question.
pub fn puts() -> Puts {
    PUTS.replace(Puts { by_rank: 0, by_agent: 0 })
}

pub struct Habitual {
    inner: LocalFabric,
    habits: Habits,
    caps: Caps,
    posts: Cell<u32>,
    under_way: RefCell<Vec<UnderWay>>,
    next_ticket: Cell<u64>,
    as_agent: Cell<bool>,
}

/// A transfer that takes its time.
struct UnderWay {
    ticket: u64,
    questions: u32,
    peer: Node,
    local: *mut u8,
    shapes: (Shape, Shape),
    key: Key,
    direction: Direction,
}

#[derive(Clone, Copy)]
enum Direction {
    Put(Delivery),
    Get(Mover),
}

impl Habitual {
    pub fn new(inner: LocalFabric, habits: Habits) -> Habitual {
        let mut caps = *inner.caps();
        if habits.letter_max > 0 {
            caps.letter_max = habits.letter_max;
        }
        caps.agent = habits.agent;
        caps.dma = habits.agent;
        caps.timed = habits.agent;
        Habitual {
            inner,
            habits,
            caps,
            posts: Cell::new(0),
            under_way: RefCell::default(),
            next_ticket: Cell::new(1),
            as_agent: Cell::new(false),
        }
    }

    /// Does the transfer, now or after some questions.
    fn start(&self, mut transfer: UnderWay) -> Result<Ticket, PortalError> {
        if let Direction::Put(_) = transfer.direction {
            let mut puts = PUTS.get();
            *if self.as_agent.get() { &mut puts.by_agent } else { &mut puts.by_rank } += 1;
            PUTS.set(puts);
        }
        if self.habits.slow_transfers == 0 && self.step(&transfer)? {
            return Ok(Ticket::DONE);
        }
        transfer.ticket = self.next_ticket.replace(self.next_ticket.get() + 1);
        let ticket = Ticket(transfer.ticket);
        self.under_way.borrow_mut().push(transfer);
        Ok(ticket)
    }

    /// Moves the bytes and posts the notice; false if the notice found no room.
    fn step(&self, transfer: &UnderWay) -> Result<bool, PortalError> {
        let UnderWay { peer, local, shapes: (mine, theirs), key, direction, .. } = transfer;
        match direction {
            Direction::Put(delivery) => {
                // SAFETY: the caller of `put` keeps its promise until the ticket is done.
                unsafe { self.inner.put(*peer, local.cast_const(), mine, key, theirs, delivery)? };
                Ok(delivery.notice.is_none_or(|notice| self.inner.try_post(*peer, &notice, &[]).is_ok()))
            }
            Direction::Get(mover) => {
                // SAFETY: as above.
                unsafe { self.inner.get(*peer, *local, mine, key, theirs, *mover)? };
                Ok(true)
            }
        }
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
        assert!(self.reach(peer).put, "put although reach said no");
        assert!(delivery.notice.is_none() || self.habits.notices, "a notice although reach said no");
        assert!(delivery.mover == Mover::Core || self.caps.dma, "no DMA engine");
        self.start(UnderWay {
            ticket: 0,
            questions: self.habits.slow_transfers,
            peer,
            local: local.cast_mut(),
            shapes: (*local_shape, *remote_shape),
            key: *key,
            direction: Direction::Put(*delivery),
        })
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
        assert!(self.reach(peer).get, "get although reach said no");
        self.start(UnderWay {
            ticket: 0,
            questions: self.habits.slow_transfers,
            peer,
            local,
            shapes: (*local_shape, *remote_shape),
            key: *key,
            direction: Direction::Get(mover),
        })
    }

    fn done(&self, ticket: Ticket) -> bool {
        if ticket == Ticket::DONE {
            return true;
        }
        let mut under_way = self.under_way.borrow_mut();
        let at = under_way
            .iter()
            .position(|transfer| transfer.ticket == ticket.0)
            .expect("a ticket is asked for until it is done");
        let transfer = &mut under_way[at];
        transfer.questions = transfer.questions.saturating_sub(1);
        if transfer.questions == 0 && self.step(transfer).expect("a transfer that was accepted") {
            under_way.swap_remove(at);
            return true;
        }
        false
    }

    fn reach(&self, peer: Node) -> Reach {
        let local = self.cluster(peer) == self.cluster(self.me()) && self.habits.cluster_ranks != u32::MAX;
        let (put, get) = match self.habits.portal {
            PortalHabit::PutAndGet => (true, true),
            PortalHabit::PutOnly => (true, local),
            PortalHabit::Nothing => (false, false),
        };
        Reach { put, get, same_memory: get, notice: put && self.habits.notices }
    }
}

impl Signal for Habitual {
    fn raise(&self, to: Node, lane: Lane) {
        self.inner.raise(to, lane);
    }

    fn raised(&self, lane: Lane) -> u64 {
        self.inner.raised(lane)
    }

    fn open(&self, name: u64) -> bool {
        self.habits.claims && self.inner.open(name)
    }

    fn claim(&self, owner: Node, name: u64) -> bool {
        !self.habits.claims || self.inner.claim(owner, name)
    }

    fn is_open(&self, owner: Node, name: u64) -> bool {
        !self.habits.claims || self.inner.is_open(owner, name)
    }
}

impl Clock for Habitual {
    fn now(&self) -> u64 {
        self.inner.now()
    }

    /// A cycle an interruption; the others run meanwhile.
    fn work(&self, cycles: u64, _: bool) -> Worked {
        if !self.habits.agent || cycles == 0 {
            return Worked::Done;
        }
        _ = self.inner.park(0, Idle::Briefly);
        Worked::Interrupted { left: cycles - 1 }
    }

    fn copied(&self, _: u64) {
        assert!(self.caps.timed, "copies are reported where time is simulated");
    }
}

impl Park for Habitual {
    fn park(&self, rounds: u32, idle: Idle) -> Woke {
        assert!(!self.as_agent.get(), "the agent never waits");
        self.inner.park(rounds, idle)
    }

    fn as_agent(&self, on: bool) {
        assert!(
            self.caps.agent && self.as_agent.replace(on) != on,
            "once on, once off, and only with an agent"
        );
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
        node.0 / self.habits.cluster_ranks
    }
}

//! A fabric with habits: the middleware of the tests.

use std::cell::{Cell, RefCell};

use fabric::*;
use fabric_local::LocalFabric;

use super::{Habits, PortalHabit};

thread_local! {
    static PUTS: Cell<Puts> = const { Cell::new(Puts { by_rank: 0, by_agent: 0 }) };
    static LETTERS: Cell<u64> = const { Cell::new(0) };
    static TRANSFERS: Cell<u64> = const { Cell::new(0) };
    static BEFORE_GET: Cell<u64> = const { Cell::new(0) };
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

/// Letters that the ranks of this worker have posted.
pub fn letters_posted() -> u64 {
    LETTERS.get()
}

/// Those of them that they had posted when one of them began to get something last.
pub fn letters_before_get() -> u64 {
    BEFORE_GET.get()
}

/// Puts and gets that the ranks of this worker have started.
pub fn transfers_started() -> u64 {
    TRANSFERS.get()
}

/// Nanoseconds by which a clock leaps.
const LEAP: u64 = 1_000_000_000;

pub struct Habitual {
    inner: LocalFabric,
    habits: Habits,
    caps: Caps,
    /// By node.
    routes: Vec<Route>,
    posts: Cell<u32>,
    under_way: RefCell<Vec<UnderWay>>,
    next_ticket: Cell<u64>,
    /// Looks at a clock that leaps.
    looks: Cell<u64>,
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
        let caps = Caps {
            agent: habits.agent,
            dma: habits.agent,
            world_signals: habits.cluster_ranks == u32::MAX,
            own_cores: habits.own_cores,
            boards: habits.boards,
            gathers: habits.gathers,
            ..*inner.caps()
        };
        let routes = (0..inner.nodes()).map(|peer| route(&inner, &habits, peer)).collect();
        Habitual {
            inner,
            habits,
            caps,
            routes,
            posts: Cell::new(0),
            under_way: RefCell::default(),
            next_ticket: Cell::new(1),
            looks: Cell::new(0),
            as_agent: Cell::new(false),
        }
    }

    /// Does the transfer, now or after some questions.
    fn start(&self, mut transfer: UnderWay) -> Result<Ticket, PortalError> {
        TRANSFERS.set(TRANSFERS.get() + 1);
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
    fn try_post(&self, to: Node, header: &Header, payload: &[u8]) -> Result<(), PostError> {
        if self.habits.lost_node == Some(to.0) {
            return Err(PostError::Lost);
        }
        self.posts.set(self.posts.get() + 1);
        if self.habits.refuse_every > 0 && self.posts.get().is_multiple_of(self.habits.refuse_every) {
            return Err(PostError::Full);
        }
        let posted = self.inner.try_post(to, header, payload);
        LETTERS.set(LETTERS.get() + u64::from(posted.is_ok()));
        posted
    }

    fn poll(&self, limit: usize, sink: &mut dyn FnMut(Node, &Header, &[u8])) -> usize {
        self.inner.poll(limit, sink)
    }
}

impl Portal for Habitual {
    unsafe fn expose(&self, region: Region, to: Audience) -> Result<Key, PortalError> {
        // SAFETY: passed on.
        unsafe { self.inner.expose(region, to) }
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
        assert!(self.route(peer).put, "put although the route says no");
        assert!(delivery.notice.is_none() || self.habits.notices, "a notice although the route says no");
        assert!(delivery.mover != Mover::Dma || self.caps.dma, "no DMA engine");
        if self.habits.breaks_puts {
            return Err(PortalError::PeerMemory);
        }
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
        assert!(self.route(peer).get, "get although the route says no");
        BEFORE_GET.set(LETTERS.get());
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

    unsafe fn atomic(
        &self,
        peer: Node,
        key: &Key,
        word: Word,
        act: Atomic,
        before: *mut u64,
    ) -> Result<Ticket, PortalError> {
        // SAFETY: passed on.
        unsafe { self.inner.atomic(peer, key, word, act, before) }
    }

    unsafe fn atomic_array(
        &self,
        peer: Node,
        key: &Key,
        first: Word,
        op: AtomicOp,
        operands: *const u8,
        count: usize,
    ) -> Result<Ticket, PortalError> {
        // SAFETY: passed on.
        unsafe { self.inner.atomic_array(peer, key, first, op, operands, count) }
    }

    fn done(&self, ticket: Ticket) -> Result<bool, PortalError> {
        if ticket == Ticket::DONE {
            return Ok(true);
        }
        let mut under_way = self.under_way.borrow_mut();
        let at = under_way
            .iter()
            .position(|transfer| transfer.ticket == ticket.0)
            .expect("a ticket is asked for until it is done");
        let transfer = &mut under_way[at];
        transfer.questions = transfer.questions.saturating_sub(1);
        if transfer.questions > 0 {
            return Ok(false);
        }
        if self.habits.breaks_transfers {
            let UnderWay { peer, .. } = under_way.swap_remove(at);
            return Err(if peer.0 == 0 { PortalError::PeerLost } else { PortalError::PeerMemory });
        }
        let done = self.step(transfer).expect("a transfer that was accepted");
        if done {
            under_way.swap_remove(at);
        }
        Ok(done)
    }
}

impl Signal for Habitual {
    fn raise(&self, to: Node, lane: Lane) -> Result<(), Lost> {
        assert!(self.route(to).signals, "a signal although the route says no");
        if self.habits.lost_node == Some(to.0) { Err(Lost) } else { self.inner.raise(to, lane) }
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
        if self.habits.leaping_clock {
            self.looks.set(self.looks.get() + 1);
        }
        self.inner.now() + self.looks.get() * LEAP
    }

    fn virtual_time(&self) -> Option<&dyn VirtualTime> {
        self.habits.agent.then_some(self as &dyn VirtualTime)
    }
}

impl Park for Habitual {
    fn bide(&self, rounds: u32, idle: Idle) -> Option<Woke> {
        self.inner.bide(rounds, idle)
    }

    fn arm(&self) -> Armed {
        self.inner.arm()
    }

    fn pending(&self) -> bool {
        self.inner.pending()
    }

    fn sleep(&self, armed: Armed, until: Option<u64>) -> Woke {
        self.inner.sleep(armed, until)
    }

    fn disarm(&self, armed: Armed) {
        self.inner.disarm(armed);
    }

    fn fence_all(&self) -> bool {
        self.inner.fence_all()
    }

    fn park(&self, rounds: u32, idle: Idle) -> Woke {
        assert!(!self.as_agent.get(), "the agent never waits");
        self.inner.park(rounds, idle)
    }
}

impl VirtualTime for Habitual {
    fn cores(&self) -> u32 {
        1
    }

    /// A cycle an interruption; the others run meanwhile.
    fn work(&self, cycles: u64, _: u32, _: bool) -> Worked {
        if cycles == 0 {
            return Worked::Done;
        }
        _ = self.inner.park(0, Idle::Briefly);
        Worked::Interrupted { left: cycles - 1 }
    }

    fn lies_behind(&self, _: *const u8, _: usize, _: u32) -> bool {
        false
    }

    fn copied(&self, _: u64) {}

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

    fn allocate_shared(&self, bytes: usize) -> Result<Shared, PortalError> {
        if self.habits.shares_nothing {
            return Err(PortalError::Unreachable);
        }
        self.inner.allocate_shared(bytes)
    }

    fn attach_shared(&self, key: &Key) -> Result<*mut u8, PortalError> {
        self.inner.attach_shared(key)
    }

    unsafe fn release_shared(&self, key: &Key) {
        // SAFETY: passed on.
        unsafe { self.inner.release_shared(key) };
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

    fn route(&self, peer: Node) -> &Route {
        &self.routes[peer.0 as usize]
    }
}

fn route(inner: &LocalFabric, habits: &Habits, peer: u32) -> Route {
    let cluster = |node: u32| node / habits.cluster_ranks;
    let local = cluster(peer) == cluster(inner.me().0) && habits.cluster_ranks != u32::MAX;
    let (put, get) = match habits.portal {
        PortalHabit::PutAndGet => (true, true),
        PortalHabit::PutOnly => (true, local),
        PortalHabit::Nothing => (false, false),
    };
    let usual = *inner.route(Node(peer));
    let letter_max = match habits.letter_max {
        0 => usual.letter_max,
        // Peers with odd numbers are reached by another kind of way.
        most if habits.mixed_letters && peer % 2 == 1 => most / 2,
        most => most,
    };
    let notice = put && habits.notices;
    // Clusters are islands to signals.
    let signals = cluster(peer) == cluster(inner.me().0);
    Route {
        signals,
        cluster: cluster(peer),
        letter_max,
        letter_bulk: letter_max.max(habits.letter_bulk),
        put,
        get,
        same_memory: get && !habits.apart,
        notice,
        ..usual
    }
}

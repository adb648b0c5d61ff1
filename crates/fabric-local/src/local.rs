//! [`LocalFabric`]: one rank's end of a fabric inside one address space.
//!
//! **Invariant:** fields are dropped in order, so the endpoint, which points into the region, goes before it. The type is not
//! [`Send`], so a rank's fabric stays on the thread that runs the rank.

use std::cell::Cell;
use std::sync::Arc;

use fabric::{
    Alarm, Armed, Atomic, AtomicOp, Audience, Budget, Caps, Clock, Delivery, Fabric, Idle, Key, Memory,
    MemoryKind, Mover, Node, Park, Portal, PortalError, Route, Shape, Shared, Ticket, Woke, Word,
};
use ring::linux::{Mapping, monotonic_ns};
use ring::naps::Naps;
use ring::patience::Patience;
use ring::waiting::Waiting;
use ring::{Doorbell, Endpoint, transfer};

use crate::crew::Crew;
use crate::job::{Region, account};
use crate::threads::Team;
use crate::tuning::{CROWDED_CAPS, FIBER_CAPS, ROOMY_CAPS, ROOMY_ROUTE, ROUTE, WIDE_ROUTE};

/// One rank's end of a job whose ranks share an address space.
pub struct LocalFabric {
    endpoint: Endpoint,
    home: Home,
    /// A mailbox was full since this rank last waited for that.
    refused: Cell<bool>,
    naps: Naps,
    budget: Budget,
    region: Arc<Region>,
}

/// What the budget calls shared allocations.
const SHARED: &str = "shared memory";

/// Shared allocations are whole pages.
const PAGE_BYTES: usize = 4096;

/// What runs the rank.
enum Home {
    Thread(Arc<Team>, Waiting, Patience),
    Fiber(Arc<Crew>),
}

impl Home {
    /// Whether every rank has a core of its own: then it matters little whether it is a thread or a fiber.
    fn is_roomy(&self) -> bool {
        match self {
            Home::Thread(_, waiting, _) => waiting.is_roomy(),
            Home::Fiber(crew) => crew.gives_each_a_core(),
        }
    }
}

impl LocalFabric {
    pub(crate) fn on_thread(
        rank: u32,
        region: &Arc<Region>,
        team: &Arc<Team>,
        budget: Option<usize>,
    ) -> LocalFabric {
        LocalFabric::new(rank, region, budget, |endpoint| {
            let waiting = team.waiting(endpoint);
            if waiting.is_roomy() {
                endpoint.expect_own_cores();
            }
            Home::Thread(team.clone(), waiting, waiting.patience())
        })
    }

    pub(crate) fn on_fiber(
        rank: u32,
        region: &Arc<Region>,
        crew: &Arc<Crew>,
        budget: Option<usize>,
    ) -> LocalFabric {
        LocalFabric::new(rank, region, budget, |endpoint| {
            if crew.workers.len() == 1 {
                // SAFETY: all fibers of the job belong to one worker, and fibers never change workers.
                unsafe { endpoint.promise_one_thread() };
            } else if crew.gives_each_a_core() {
                endpoint.expect_own_cores();
            }
            Home::Fiber(crew.clone())
        })
    }

    fn new(
        rank: u32,
        region: &Arc<Region>,
        budget: Option<usize>,
        home: impl FnOnce(&Endpoint) -> Home,
    ) -> LocalFabric {
        let budget =
            account(budget, region.exchange().geometry()).expect("the region was made within the budget");
        // SAFETY: the launchers make one fabric a rank, and the fabric keeps the region alive behind the endpoint.
        let endpoint = unsafe { region.endpoint(rank) };
        LocalFabric {
            home: home(&endpoint),
            endpoint,
            refused: Cell::new(false),
            naps: Naps::default(),
            budget,
            region: region.clone(),
        }
    }

    /// A mailbox is full. Its owner is not lost: ranks of one process are lost together.
    #[cold]
    fn has_lost(&self, _: Node) -> bool {
        self.refused.set(true);
        false
    }

    /// Spends a round of a wait for room that has lasted: a nap, if a mailbox has refused letters lately. Nobody tells of room.
    #[inline(always)]
    fn takes_nap(&self, rounds: u32, idle: Idle) -> bool {
        idle == Idle::Briefly
            && self.refused.replace(false)
            && self.naps.are_due(rounds, monotonic_ns)
            && self.nap(rounds)
    }

    #[cold]
    fn nap(&self, rounds: u32) -> bool {
        match &self.home {
            Home::Fiber(crew) => crew.nap(&self.endpoint, self.naps.next_ns(rounds)),
            Home::Thread(team, waiting, patience) => {
                !waiting.spins(patience, self, rounds)
                    && team.nap(waiting, &self.endpoint, self.naps.next_ns(rounds))
            }
        }
    }

    /// Ranks of one process leave together.
    #[inline(always)]
    fn has_left(&self, _: Node) -> bool {
        false
    }

    /// Lets others run, where this rank shares its core with them (see [`Crew::gives_way`]).
    #[inline(always)]
    fn gives_way(&self) -> bool {
        match &self.home {
            Home::Fiber(crew) => !crew.gives_each_a_core() && crew.gives_way(&self.endpoint),
            Home::Thread(..) => false,
        }
    }

    /// Whether there is somebody to [wake](LocalFabric::wake): whoever runs the rank knows.
    #[inline(always)]
    fn finds_asleep(&self, to: Node, bell: &Doorbell) -> bool {
        match &self.home {
            Home::Fiber(crew) => crew.finds_parked(self.endpoint.me().0, to.0),
            Home::Thread(_, waiting, _) => waiting.finds_asleep(bell),
        }
    }

    /// To be called after something was published for `to`.
    #[inline(always)]
    fn wake(&self, to: Node) {
        match &self.home {
            Home::Fiber(crew) => crew.wake(self.endpoint.me().0, to.0),
            Home::Thread(team, waiting, _) => team.wake(waiting, to.0),
        }
    }
}

impl Fabric for LocalFabric {
    #[inline(always)]
    fn me(&self) -> Node {
        self.endpoint.me()
    }

    fn nodes(&self) -> u32 {
        self.region.exchange().geometry().ranks()
    }

    fn caps(&self) -> &Caps {
        match &self.home {
            home if home.is_roomy() => &ROOMY_CAPS,
            Home::Thread(..) => &CROWDED_CAPS,
            Home::Fiber(_) => &FIBER_CAPS,
        }
    }

    fn route(&self, _: Node) -> &Route {
        let wide = self.region.exchange().geometry().letter_max() >= WIDE_ROUTE.letter_bulk;
        match self.home.is_roomy() {
            true if wide => &WIDE_ROUTE,
            true => &ROOMY_ROUTE,
            false => &ROUTE,
        }
    }
}

ring::deliver_by_endpoint!(LocalFabric);
ring::wait_on_this_core!(LocalFabric, |fabric| fabric.region.exchange().geometry().ranks(), |fabric| {
    match &fabric.home {
        Home::Thread(_, waiting, _) => waiting.cores_of_process(),
        // The crew knows where its workers are.
        Home::Fiber(_) => u32::MAX,
    }
});

impl Park for LocalFabric {
    fn bide(&self, rounds: u32, idle: Idle) -> Option<Woke> {
        if self.takes_nap(rounds, idle) {
            return Some(Woke::Again);
        }
        match &self.home {
            Home::Fiber(crew) => crew.bide(&self.endpoint, rounds, idle),
            Home::Thread(_, waiting, patience) => waiting.bides(patience, self, rounds, idle),
        }
    }

    fn arm(&self) -> Armed {
        match &self.home {
            Home::Fiber(crew) => {
                crew.arm(&self.endpoint);
                Armed(0)
            }
            Home::Thread(_, waiting, _) => Armed(waiting.arm(self.endpoint.my_doorbell()).into()),
        }
    }

    fn pending(&self) -> bool {
        self.endpoint.pending()
    }

    fn sleep(&self, armed: Armed, until: Option<u64>) -> Woke {
        match &self.home {
            Home::Fiber(crew) => crew.sleep(&self.endpoint, until.is_some()),
            Home::Thread(team, waiting, patience) => {
                let limit = until.map(|until| until.saturating_sub(monotonic_ns()));
                team.sleep(waiting, (patience, self), &self.endpoint, armed.0 as u32, limit)
            }
        }
    }

    fn disarm(&self, _: Armed) {
        match &self.home {
            Home::Fiber(crew) => crew.disarm(&self.endpoint),
            Home::Thread(team, ..) => team.disarm(&self.endpoint),
        }
    }

    fn fence_all(&self) -> bool {
        match &self.home {
            Home::Fiber(crew) => crew.fence_all(),
            Home::Thread(_, waiting, _) => waiting.fence_all(),
        }
    }

    fn alarm(&self) -> Option<Box<dyn Alarm>> {
        let rank = self.endpoint.me().0;
        Some(match &self.home {
            Home::Fiber(crew) => Box::new(FiberAlarm(crew.clone(), rank)),
            Home::Thread(team, ..) => Box::new(ThreadAlarm(team.clone(), rank)),
        })
    }

    /// As the steps, which are one here, because a fiber parks for every message that it waits for.
    #[inline]
    fn park(&self, rounds: u32, idle: Idle) -> Woke {
        if self.takes_nap(rounds, idle) {
            return Woke::Again;
        }
        match &self.home {
            Home::Fiber(crew) => crew.park(&self.endpoint, rounds, idle),
            Home::Thread(team, waiting, patience) => {
                team.park(waiting, (patience, self), &self.endpoint, rounds, idle)
            }
        }
    }
}

struct ThreadAlarm(Arc<Team>, u32);

impl Alarm for ThreadAlarm {
    fn ring(&self) {
        self.0.wake_from_outside(self.1);
    }
}

struct FiberAlarm(Arc<Crew>, u32);

impl Alarm for FiberAlarm {
    fn ring(&self) {
        self.0.wake_from_outside(self.1);
    }
}

impl Clock for LocalFabric {
    fn now(&self) -> u64 {
        monotonic_ns()
    }
}

impl Memory for LocalFabric {
    fn budget(&self) -> &Budget {
        &self.budget
    }

    /// Ordinary memory: the ranks share it anyway. It belongs to the job, so that a rank that ends does not pull it away under others.
    fn allocate_shared(&self, bytes: usize) -> Result<Shared, PortalError> {
        let len = bytes.max(1).checked_next_multiple_of(PAGE_BYTES).ok_or(PortalError::Exhausted)?;
        self.budget.reserve(SHARED, len).map_err(|_| PortalError::Exhausted)?;
        let Some(mapping) = Mapping::private(len) else {
            self.budget.release(SHARED, len);
            return Err(PortalError::Exhausted);
        };
        let base = mapping.base().as_ptr();
        self.region.keep(self.me(), mapping);
        Ok(Shared { base, len, key: transfer::key_of(base, len) })
    }

    fn attach_shared(&self, key: &Key) -> Result<*mut u8, PortalError> {
        let base = transfer::base_of(key);
        if self.region.keeps(base) { Ok(base) } else { Err(PortalError::PeerMemory) }
    }

    unsafe fn release_shared(&self, key: &Key) {
        if let Some(mapping) = self.region.release(self.me(), transfer::base_of(key)) {
            self.budget.release(SHARED, mapping.bytes());
        }
    }
}

impl Portal for LocalFabric {
    /// All memory of the process is within the reach of all.
    unsafe fn expose(&self, region: fabric::Region, _: Audience) -> Result<Key, PortalError> {
        match region.kind {
            MemoryKind::Host | MemoryKind::Shared => Ok(transfer::key_of(region.base, region.len)),
            _ => Err(PortalError::Kind),
        }
    }

    unsafe fn atomic(
        &self,
        _: Node,
        key: &Key,
        word: Word,
        act: Atomic,
        before: *mut u64,
    ) -> Result<Ticket, PortalError> {
        let place = transfer::check_words(transfer::base_of(key), key.0[1], word, 1)?;
        // SAFETY: the caller vouches for the key, in whose region the word lies, and for `before`.
        unsafe {
            let found = transfer::atomic(place, word.width, act);
            if !before.is_null() {
                before.write(found);
            }
        }
        Ok(Ticket::DONE)
    }

    unsafe fn atomic_array(
        &self,
        _: Node,
        key: &Key,
        first: Word,
        op: AtomicOp,
        operands: *const u8,
        count: usize,
    ) -> Result<Ticket, PortalError> {
        let place = transfer::check_words(transfer::base_of(key), key.0[1], first, count)?;
        // SAFETY: as above, for all words and operands.
        unsafe { transfer::atomic_array(place, first.width, op, operands, count) };
        Ok(Ticket::DONE)
    }

    /// Nothing is registered with anybody, so nothing is to be undone.
    fn withdraw(&self, _: Key) {}

    unsafe fn put(
        &self,
        _: Node,
        local: *const u8,
        local_shape: &Shape,
        key: &Key,
        remote_shape: &Shape,
        _: &Delivery,
    ) -> Result<Ticket, PortalError> {
        transfer::check(local_shape, key, remote_shape)?;
        // SAFETY: the caller vouches for the local side and for the key, whose region the shape does not leave; all ranks
        // share one address space.
        unsafe { transfer::copy(local, local_shape, transfer::base_of(key), remote_shape) };
        Ok(Ticket::DONE)
    }

    unsafe fn get(
        &self,
        _: Node,
        local: *mut u8,
        local_shape: &Shape,
        key: &Key,
        remote_shape: &Shape,
        _: Mover,
    ) -> Result<Ticket, PortalError> {
        transfer::check(local_shape, key, remote_shape)?;
        // SAFETY: as for `put`.
        unsafe { transfer::copy(transfer::base_of(key), remote_shape, local, local_shape) };
        Ok(Ticket::DONE)
    }

    /// The copy is done when the call returns.
    fn done(&self, _: Ticket) -> Result<bool, PortalError> {
        Ok(true)
    }
}

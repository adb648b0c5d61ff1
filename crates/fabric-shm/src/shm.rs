//! [`ShmFabric`]: one rank's end of the shared-memory fabric.
//!
//! **Invariant:** fields are dropped in order, so the endpoint, which points into the segment, goes before it.

use std::cell::{Cell, RefCell};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use fabric::{
    Alarm, Armed, Atomic, AtomicOp, Audience, Budget, Caps, Clock, Delivery, Fabric, Idle, Key, Memory,
    MemoryKind, Mover, Node, Park, PeerTable, Portal, PortalError, Region, Route, Shape, Shared, Ticket,
    Woke, Word,
};
use ring::doorbell::Doorbell;
use ring::linux::{Mapping, Sharing, futex_wait, futex_wake_all, monotonic_ns};
use ring::naps::Naps;
use ring::patience::{Manner, Patience};
use ring::waiting::Waiting;
use ring::{Endpoint, transfer};

use crate::cma::{self, Direction};
use crate::heap::{Heap, is_shared};
use crate::segment::{Joined, Peer, Presence, Segment, create_segment};
use crate::together::{Piece, Together};
use crate::tuning::{CROWDED_ROUTES, LOOK_AFTER_NS, ROUTES, Routes, geometry};

/// What a rank must know to join its job.
#[derive(Clone, Debug)]
pub struct Options {
    /// This rank.
    pub me: Node,
    /// How many ranks the job has.
    pub ranks: u32,
    /// How many nodes the segment has: those of the job, and of others that share it.
    pub nodes: u32,
    /// How many cores the ranks of this machine share: decides whether waiting spins.
    pub cores: usize,
    /// How it waits.
    pub manner: Manner,
    /// Bytes that the library may use for this rank; `None` for no limit.
    pub budget: Option<usize>,
    /// Whether to copy between processes with cross memory attach where the kernel allows it.
    pub cma: bool,
    /// The process that started the ranks, if one did. Its descendants are this rank's peers.
    pub launcher: Option<u32>,
}

/// One rank's end of a job whose ranks are processes of one machine.
pub struct ShmFabric {
    endpoint: Endpoint,
    /// The memory of the endpoint's exchange, where that is not the segment's own.
    lane: Option<Arc<Mapping>>,
    waiting: Waiting,
    patience: Patience,
    naps: Naps,
    /// How many ranks the job has.
    ranks: u32,
    cma: bool,
    routes: &'static Routes,
    /// What was found out about each peer, as [`route`](Fabric::route) needs it.
    known: RefCell<PeerTable<Known>>,
    /// Posts that found a mailbox full.
    refusals: Cell<u32>,
    /// Whose mailboxes were full since this rank last waited for that.
    refused: Cell<Refused>,
    budget: Budget,
    together: Together,
    /// Where shared allocations come from; a rank alone has nobody to share with.
    heap: Option<Heap>,
    /// The word that peers read to find out whether they can; never changed after joining. The first lane has it.
    _probe: Option<Box<u64>>,
    segment: Arc<Segment>,
}

/// What the budget calls shared allocations.
const SHARED: &str = "shared memory";

/// One refused post in so many asks whether the peer still lives: a system call of a microsecond among as many turns for others.
const LOST_EVERY: u32 = 64;

/// Who has refused letters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Refused {
    Nobody,
    One(Node),
    Several,
}

/// What this rank knows of a peer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Known {
    Nothing,
    Reachable(libc::pid_t),
    Unreachable,
}

impl ShmFabric {
    /// Joins the job behind `segment` (see [`create_segment`](crate::create_segment)). Letters that peers posted before are
    /// there; nothing is waited for.
    ///
    /// # Errors
    /// If the segment belongs to another job size or version, the rank has joined before, memory cannot be mapped, or the budget is smaller than the
    /// mailbox.
    ///
    /// # Panics
    /// If `me` is not below `ranks`.
    pub fn join(segment: OwnedFd, options: &Options) -> io::Result<ShmFabric> {
        let Joined { segment, heap } = Segment::join(segment, geometry(options.nodes), options.me.0)?;
        ShmFabric::over(segment, Some(heap), options)
    }

    /// A job of one rank in memory of its own.
    ///
    /// # Errors
    /// As for [`join`](ShmFabric::join).
    pub fn alone(budget: Option<usize>) -> io::Result<ShmFabric> {
        let options = Options {
            me: Node(0),
            ranks: 1,
            nodes: 1,
            cores: 1,
            manner: Manner::default(),
            budget,
            cma: false,
            launcher: None,
        };
        match create_segment(1).and_then(|file| Segment::join(file, geometry(1), 0)) {
            Ok(Joined { segment, heap }) => ShmFabric::over(segment, Some(heap), &options),
            // A system without such files: then there are no shared allocations, and all else is as it would be.
            Err(_) => ShmFabric::over(Segment::private(geometry(1))?, None, &options),
        }
    }

    fn over(segment: Segment, heap: Option<Heap>, options: &Options) -> io::Result<ShmFabric> {
        let &Options { me, ranks, nodes, cores, manner, budget, cma, launcher } = options;
        let cma = cma && cma::allowed();
        assert!(me.0 < nodes, "node {} is not one of the {nodes} of this segment", me.0);
        let budget = budget.map_or_else(Budget::unlimited, Budget::new);
        budget.reserve("mailbox", geometry(nodes).rank_bytes()).map_err(io::Error::other)?;
        if !segment.entry(me.0).take() {
            let problem = format!("rank {} has joined this job before", me.0);
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, problem));
        }
        // SAFETY: the fabric drops the endpoint before the segment, and has just taken the rank as the only one.
        let endpoint = unsafe { Endpoint::new(segment.exchange(), me) };
        let waiting = Waiting::new(ranks as usize, cores, manner, Sharing::Processes, endpoint.my_doorbell());
        if waiting.is_roomy() {
            endpoint.expect_own_cores();
        }
        let probe = Box::new(probe_value(me));
        if cma {
            allow_peers(launcher);
        }
        segment.entry(me.0).join(&Peer {
            // SAFETY: no arguments, no memory, cannot fail.
            pid: unsafe { libc::getpid() },
            probe_address: (&raw const *probe).expose_provenance() as u64,
            probe_value: *probe,
        });
        Ok(ShmFabric {
            endpoint,
            lane: None,
            waiting,
            patience: waiting.patience(),
            naps: Naps::default(),
            ranks,
            cma,
            routes: if waiting.is_roomy() { &ROUTES } else { &CROWDED_ROUTES },
            refusals: Cell::new(0),
            refused: Cell::new(Refused::Nobody),
            known: RefCell::default(),
            budget,
            together: Together::default(),
            heap,
            _probe: Some(probe),
            segment: Arc::new(segment),
        })
    }

    /// Lane `number` of this rank (see [`Fabric::open_lane`]). It has no shared allocations and no budget.
    fn beside(&self, number: u32) -> io::Result<ShmFabric> {
        let mapping = self.segment.map_lane(number, self.heap.as_ref())?;
        // SAFETY: the fabric drops the endpoint before the mapping; the caller opens each lane once, by the rank's only fabric.
        let endpoint = unsafe { Endpoint::new(self.segment.exchange_in(&mapping), self.me()) };
        if self.waiting.is_roomy() {
            endpoint.expect_own_cores();
        }
        self.waiting.promise_on(endpoint.my_doorbell());
        // From now on threads of this rank sleep by one word, whatever lane they wait in: so one may sleep for several.
        self.segment.entry(self.me().0).sleep_by_calls();
        Ok(ShmFabric {
            endpoint,
            lane: Some(Arc::new(mapping)),
            waiting: self.waiting,
            patience: self.waiting.patience(),
            naps: Naps::default(),
            ranks: self.ranks,
            cma: self.cma,
            routes: self.routes,
            refusals: Cell::new(0),
            refused: Cell::new(Refused::Nobody),
            known: RefCell::default(),
            budget: Budget::unlimited(),
            together: Together::default(),
            heap: None,
            _probe: None,
            segment: self.segment.clone(),
        })
    }

    /// True if `peer`, whose mailbox is full, will never empty it: it has signed off, or its process is gone. The second costs a system
    /// call, so it is asked only of a peer that has refused for long, and only where its memory was reached before: elsewhere its
    /// process id may mean nothing here.
    #[cold]
    fn has_lost(&self, peer: Node) -> bool {
        if self.has_left(peer) {
            return true;
        }
        self.refused.set(match self.refused.get() {
            Refused::Nobody => Refused::One(peer),
            same if same == Refused::One(peer) => same,
            _ => Refused::Several,
        });
        let refusals = self.refusals.get().wrapping_add(1);
        self.refusals.set(refusals);
        let known = self.known(peer);
        refusals.is_multiple_of(LOST_EVERY)
            && matches!(known, Known::Reachable(_))
            && self.read_probe(peer) == Err(PortalError::PeerLost)
    }

    /// True if `peer` has signed off.
    #[inline(always)]
    fn has_left(&self, peer: Node) -> bool {
        self.segment.entry(peer.0).has_left()
    }

    /// Whoever shares the core is let run by the system.
    #[inline(always)]
    fn gives_way(&self) -> bool {
        false
    }

    /// To be called after a letter or signal to `to` was published.
    #[inline(always)]
    fn wake(&self, to: Node) {
        let bell = self.endpoint.exchange().doorbell(to.0);
        if self.finds_asleep(to, bell) && bell.clear() {
            wake(&self.waiting, &self.segment, to.0, bell);
        }
    }

    /// Whether there is somebody to [wake](ShmFabric::wake).
    #[inline(always)]
    fn finds_asleep(&self, _: Node, bell: &Doorbell) -> bool {
        self.waiting.finds_asleep(bell)
    }

    /// Sleeps until the only mailbox that has refused letters lately has room, or something comes, or it is time to look again: what else may have
    /// become of the receiver wakes nobody. `None` if there is nothing of that kind to wait for.
    #[cold]
    fn sleep_until_room(&self, rounds: u32) -> Option<Woke> {
        let Refused::One(peer) = self.refused.get() else { return None };
        let full = || !self.endpoint.has_room(peer) && !self.endpoint.pending();
        // The ring may have room and this rank no place for a long letter's payload: nobody tells of that.
        if !full() || !self.endpoint.ask_for_room(peer) {
            return None;
        }
        let armed = self.arm();
        let woke = if self.waiting.is_seen_by_receivers() && full() {
            Some(self.sleep(armed, Some(monotonic_ns() + self.naps.next_ns(rounds))))
        } else {
            self.disarm(armed);
            None
        };
        self.endpoint.stop_asking(peer);
        woke
    }

    /// Spends a round of a wait that has lasted for longer than it is worth spinning.
    #[cold]
    fn bide_long(&self, rounds: u32, idle: Idle) -> Option<Woke> {
        if idle == Idle::Briefly {
            let waits = self.refused.get() != Refused::Nobody && self.naps.are_due(rounds, monotonic_ns);
            let woke = if waits { self.sleep_until_room(rounds) } else { None };
            self.refused.set(Refused::Nobody);
            if woke.is_some() {
                return woke;
            }
        }
        self.waiting.yields(rounds, idle)
    }

    fn known(&self, peer: Node) -> Known {
        self.known.borrow().get(peer).copied().unwrap_or(Known::Nothing)
    }

    fn learn(&self, peer: Node, known: Known) {
        *self.known.borrow_mut().at(peer, || known) = known;
    }

    /// The process id of `peer`, if its memory can be reached.
    fn pid_of(&self, peer: Node) -> Result<libc::pid_t, PortalError> {
        match self.known(peer) {
            Known::Reachable(_) if self.segment.entry(peer.0).presence() == Presence::Gone => {
                Err(PortalError::PeerLost)
            }
            Known::Reachable(pid) => Ok(pid),
            Known::Unreachable => Err(PortalError::Unreachable),
            Known::Nothing => self.probe(peer),
        }
    }

    /// Finds out whether the memory of `peer` can be read by reading it: the only test that covers capabilities, Yama,
    /// seccomp and process-id namespaces alike. (Writing asks the same permission; filters of the calls as such were looked for before.) A peer
    /// that has not joined yet is asked again next time.
    #[cold]
    fn probe(&self, peer: Node) -> Result<libc::pid_t, PortalError> {
        if !self.cma {
            self.learn(peer, Known::Unreachable);
            return Err(PortalError::Unreachable);
        }
        let known = match self.read_probe(peer) {
            Ok(Some(pid)) => Known::Reachable(pid),
            Ok(None) => return Err(PortalError::Unreachable),
            Err(PortalError::PeerLost) => return Err(PortalError::PeerLost),
            Err(_) => Known::Unreachable,
        };
        self.learn(peer, known);
        self.pid_of(peer)
    }

    /// Reads the word of `peer` that is there to be read: the process id behind it, `None` if the peer has not joined yet, or why not.
    fn read_probe(&self, peer: Node) -> Result<Option<libc::pid_t>, PortalError> {
        let there = match self.segment.entry(peer.0).presence() {
            Presence::Absent => return Ok(None),
            Presence::Gone => return Err(PortalError::PeerLost),
            Presence::Here(there) => there,
        };
        let (mut word, shape) = (0u64, Shape::contiguous(0, size_of::<u64>()));
        let local = (&raw mut word).cast::<u8>();
        let remote = std::ptr::with_exposed_provenance_mut(there.probe_address as usize);
        // SAFETY: the local word is valid for the write; the kernel checks the remote side.
        unsafe {
            cma::transfer(Direction::Read, there.pid, (local, &shape), (remote, &shape), size_of::<u64>())
        }?;
        if word == there.probe_value { Ok(Some(there.pid)) } else { Err(PortalError::Unreachable) }
    }

    /// Where this process has the region of a key of its own, or of a shared allocation.
    fn here(&self, key: &Key) -> Result<*mut u8, PortalError> {
        if is_shared(key) {
            return self.heap.as_ref().ok_or(PortalError::Unreachable)?.reach(key);
        }
        Ok(transfer::base_of(key))
    }

    /// Where `count` words of a region are for atomics: of this process, or mapped.
    fn words(&self, peer: Node, key: &Key, first: Word, count: usize) -> Result<*mut u8, PortalError> {
        if peer != self.me() && !is_shared(key) {
            return Err(PortalError::Unreachable);
        }
        transfer::check_words(self.here(key)?, key.0[1], first, count)
    }

    /// A transfer with a peer, the local side already cast to what the direction needs.
    ///
    /// # Safety
    /// As [`Portal::put`] and [`Portal::get`].
    unsafe fn move_bytes(
        &self,
        direction: Direction,
        peer: Node,
        (local, local_shape): (*mut u8, &Shape),
        key: &Key,
        remote_shape: &Shape,
        mover: Mover,
    ) -> Result<Ticket, PortalError> {
        let bytes = transfer::check(local_shape, key, remote_shape)?;
        if peer == self.me() || is_shared(key) {
            let remote = self.here(key)?;
            // SAFETY: the region is memory of this process, its own or mapped; the caller vouches for both sides.
            unsafe {
                match direction {
                    Direction::Read => transfer::copy(remote, remote_shape, local, local_shape),
                    Direction::Write => transfer::copy(local, local_shape, remote, remote_shape),
                }
            }
        } else {
            let (pid, remote) = (self.pid_of(peer)?, transfer::base_of(key));
            if mover == Mover::Together && local_shape.is_contiguous() && remote_shape.is_contiguous() {
                let local = local.wrapping_add(local_shape.offset);
                let remote = remote.wrapping_add(remote_shape.offset);
                // SAFETY: the caller vouches for the local side until it has asked for the ticket.
                return Ok(unsafe { self.together.begin(direction, pid, Piece { local, remote, bytes }) });
            }
            // SAFETY: the caller vouches for the local side.
            unsafe { cma::transfer(direction, pid, (local, local_shape), (remote, remote_shape), bytes) }?;
        }
        Ok(Ticket::DONE)
    }
}

/// Wakes `rank`, whose announcement at `bell` the caller has taken away.
#[cold]
fn wake(waiting: &Waiting, segment: &Segment, rank: u32, bell: &Doorbell) {
    match segment.entry(rank).calls() {
        None => waiting.wake(bell),
        Some(calls) => {
            calls.fetch_add(1, Ordering::Release);
            futex_wake_all(calls, Sharing::Processes);
        }
    }
}

impl Drop for ShmFabric {
    fn drop(&mut self) {
        if self.lane.is_some() {
            return;
        }
        self.segment.entry(self.endpoint.me().0).leave();
    }
}

/// A word that no other process has at the same address by chance.
fn probe_value(me: Node) -> u64 {
    monotonic_ns().rotate_left(20) ^ (u64::from(std::process::id()) << 32 | u64::from(me.0)) ^ 0x5afe_c0de
}

/// Lets the other ranks, which are siblings of this process, read its memory where Yama restricts that to parents: naming the
/// launcher admits it and its descendants, and nobody else. Ranks without a launcher were started by their parent. Where there is no
/// Yama the call fails and is not needed.
fn allow_peers(launcher: Option<u32>) {
    // SAFETY: no arguments, no memory, cannot fail.
    let parent = || unsafe { libc::getppid() } as libc::c_ulong;
    let tracer = launcher.map_or_else(parent, libc::c_ulong::from);
    // SAFETY: integer arguments only.
    unsafe { libc::prctl(libc::PR_SET_PTRACER, tracer, 0, 0, 0) };
}

impl Fabric for ShmFabric {
    #[inline(always)]
    fn me(&self) -> Node {
        self.endpoint.me()
    }

    fn nodes(&self) -> u32 {
        self.endpoint.exchange().geometry().ranks()
    }

    fn caps(&self) -> &Caps {
        const PLAIN: Caps = Caps { maps_shared: true, boards: true, gathers: true, ..Caps::PLAIN };
        const ROOMY: Caps = Caps { own_cores: true, ..PLAIN };
        if self.waiting.is_roomy() { &ROOMY } else { &PLAIN }
    }

    fn route(&self, peer: Node) -> &Route {
        if peer == self.me() {
            return &self.routes.own;
        }
        // The kernel asks the same permission for reading and for writing.
        match self.known(peer) {
            Known::Reachable(_) => &self.routes.near,
            Known::Unreachable => &self.routes.far,
            Known::Nothing if self.probe(peer).is_ok() => &self.routes.near,
            Known::Nothing => &self.routes.far,
        }
    }

    fn open_lane(&self, number: u32) -> Option<Box<dyn Fabric>> {
        if !(1..self.segment.lanes()).contains(&number) || self.lane.is_some() {
            return None;
        }
        let lane = self.beside(number).ok()?;
        Some(Box::new(lane))
    }
}

ring::deliver_by_endpoint!(ShmFabric);
ring::wait_on_this_core!(ShmFabric, |fabric| fabric.ranks, |fabric| fabric.waiting.cores_of_process());

impl Park for ShmFabric {
    #[inline]
    fn bide(&self, rounds: u32, idle: Idle) -> Option<Woke> {
        if !self.waiting.spins(&self.patience, self, rounds) {
            return self.bide_long(rounds, idle);
        }
        if idle == Idle::Briefly {
            self.refused.set(Refused::Nobody);
        }
        Some(Woke::Again)
    }

    #[cold]
    fn arm(&self) -> Armed {
        // Looked at before the announcement, so that no call between the two is lost.
        let calls = self.segment.entry(self.me().0).calls().map(|calls| calls.load(Ordering::Acquire));
        let word = self.waiting.arm(self.endpoint.my_doorbell());
        Armed(calls.unwrap_or(word).into())
    }

    fn pending(&self) -> bool {
        self.endpoint.pending()
    }

    /// Looks up now and then: nobody wakes a process to ask what it waits for.
    #[cold]
    fn sleep(&self, armed: Armed, until: Option<u64>) -> Woke {
        let bell = self.endpoint.my_doorbell();
        let limit =
            until.map_or(LOOK_AFTER_NS, |until| until.saturating_sub(monotonic_ns()).min(LOOK_AFTER_NS));
        let undisturbed = match self.segment.entry(self.me().0).calls() {
            None => self.waiting.sleep(bell, armed.0 as u32, Some(limit)),
            Some(calls) => futex_wait(calls, armed.0 as u32, Sharing::Processes, Some(limit)),
        };
        // Woken, interrupted, or late: in each case the rank is awake now, whoever cleared the flag.
        bell.clear();
        self.patience.wakes(self);
        if undisturbed { Woke::Look } else { Woke::Again }
    }

    #[cold]
    fn disarm(&self, _: Armed) {
        self.endpoint.my_doorbell().clear();
    }

    fn fence_all(&self) -> bool {
        self.waiting.fence_all()
    }

    fn alarm(&self) -> Option<Box<dyn Alarm>> {
        let (lane, segment) = (self.lane.clone(), self.segment.clone());
        Some(Box::new(ShmAlarm { rank: self.me().0, lane, segment }))
    }
}

/// Rings the doorbell of one rank.
struct ShmAlarm {
    rank: u32,
    lane: Option<Arc<Mapping>>,
    segment: Arc<Segment>,
}

impl Alarm for ShmAlarm {
    fn ring(&self) {
        // SAFETY: the exchange is used during this call only, and the alarm holds its memory.
        let exchange = unsafe {
            match &self.lane {
                None => self.segment.exchange(),
                Some(mapping) => self.segment.exchange_in(mapping),
            }
        };
        let bell = exchange.doorbell(self.rank);
        // With a fence: whoever rings need not have registered for the sleeper's barrier.
        let waiting = Waiting::waker(Sharing::Processes);
        if waiting.finds_asleep(bell) && bell.clear() {
            wake(&waiting, &self.segment, self.rank, bell);
        }
    }
}

impl Clock for ShmFabric {
    fn now(&self) -> u64 {
        monotonic_ns()
    }
}

impl Memory for ShmFabric {
    fn budget(&self) -> &Budget {
        &self.budget
    }

    fn allocate_shared(&self, bytes: usize) -> Result<Shared, PortalError> {
        let heap = self.heap.as_ref().ok_or(PortalError::Unreachable)?;
        let shared = heap.allocate(bytes)?;
        if self.budget.reserve(SHARED, shared.len).is_err() {
            heap.release(&shared.key);
            return Err(PortalError::Exhausted);
        }
        Ok(shared)
    }

    fn attach_shared(&self, key: &Key) -> Result<*mut u8, PortalError> {
        self.heap.as_ref().ok_or(PortalError::Unreachable)?.attach(key)
    }

    unsafe fn release_shared(&self, key: &Key) {
        if let Some(bytes) = self.heap.as_ref().and_then(|heap| heap.release(key)) {
            self.budget.release(SHARED, bytes);
        }
    }
}

impl Portal for ShmFabric {
    unsafe fn expose(&self, region: Region, _: Audience) -> Result<Key, PortalError> {
        let Region { base, len, kind, .. } = region;
        let shared = self.heap.as_ref().and_then(|heap| heap.name(base, len));
        match kind {
            // Peers map what is shared, and copy without the system.
            MemoryKind::Host => Ok(shared.unwrap_or_else(|| transfer::key_of(base, len))),
            MemoryKind::Shared => shared.ok_or(PortalError::Kind),
            _ => Err(PortalError::Kind),
        }
    }

    unsafe fn atomic(
        &self,
        peer: Node,
        key: &Key,
        word: Word,
        act: Atomic,
        before: *mut u64,
    ) -> Result<Ticket, PortalError> {
        let place = self.words(peer, key, word, 1)?;
        // SAFETY: the caller vouches for the region, in which the word lies, and for `before`.
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
        peer: Node,
        key: &Key,
        first: Word,
        op: AtomicOp,
        operands: *const u8,
        count: usize,
    ) -> Result<Ticket, PortalError> {
        let place = self.words(peer, key, first, count)?;
        // SAFETY: as above, for all words and operands.
        unsafe { transfer::atomic_array(place, first.width, op, operands, count) };
        Ok(Ticket::DONE)
    }

    /// Nothing is registered with anybody, so nothing is to be undone.
    fn withdraw(&self, _: Key) {}

    unsafe fn put(
        &self,
        peer: Node,
        local: *const u8,
        local_shape: &Shape,
        key: &Key,
        remote_shape: &Shape,
        delivery: &Delivery,
    ) -> Result<Ticket, PortalError> {
        let local = (local.cast_mut(), local_shape);
        // SAFETY: the caller's promise; in this direction the local side is only read.
        unsafe { self.move_bytes(Direction::Write, peer, local, key, remote_shape, delivery.mover) }
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
        // SAFETY: the caller's promise.
        unsafe { self.move_bytes(Direction::Read, peer, (local, local_shape), key, remote_shape, mover) }
    }

    /// The kernel has copied when its call returns: before the ticket was given, or now.
    fn done(&self, ticket: Ticket) -> Result<bool, PortalError> {
        if ticket == Ticket::DONE { Ok(true) } else { self.together.done(ticket) }
    }
}

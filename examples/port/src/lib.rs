//! A complete port of Corelace to a small machine: the six traits of a fabric over the machine's registers (`board`).
//!
//! This is all that a new machine needs (`barrier` is an ability that this one has besides). `tests/conformance.rs` holds it against the contract, and runs MPI on it.

mod barrier;
pub mod board;

use std::cell::Cell;
use std::sync::Arc;
use std::time::{Duration, Instant};

use board::{Core, MESSAGE, Message, SLOTS};
use fabric::{
    Armed, Audience, Budget, Caps, Clock, Delivery, Fabric, HEADER_BYTES, Header, Idle, Key, LANES, Lane,
    Lost, MachineBarrier, Mailbox, Memory, Mover, Node, Park, Portal, PortalError, PostError, Region, Route,
    Shape, Signal, Thresholds, Ticket, Woke,
};

const LETTER_MAX: usize = MESSAGE - HEADER_BYTES;

/// Every core reaches every other alike.
const ROUTE: Route = {
    let letters = Route::of_letters(LETTER_MAX, SLOTS);
    let thresholds = Thresholds { receiver_first_min: 1024, ..letters.thresholds };
    Route { put: true, get: true, same_memory: true, thresholds, ..letters }
};

/// One core's end of the fabric.
pub struct Port {
    me: Node,
    cores: Arc<[Core]>,
    budget: Budget,
    start: Instant,
    /// Events that `raised` has reported, by lane: only newer ones keep the core awake.
    reported: [Cell<u64>; LANES],
    /// The barrier that this core has arrived at and not seen pass; 0 for none.
    meeting: Cell<u64>,
}

impl Port {
    /// The end of core `me`; `budget` bytes of memory, if limited.
    pub fn new(me: u32, cores: Arc<[Core]>, budget: Option<usize>) -> Port {
        let budget = budget.map_or_else(Budget::unlimited, Budget::new);
        Port {
            me: Node(me),
            cores,
            budget,
            start: Instant::now(),
            reported: Default::default(),
            meeting: Cell::new(0),
        }
    }

    fn has_event(&self) -> bool {
        let meeting = self.meeting.get();
        meeting > 0 && self.has_passed(meeting)
            || (0..LANES).any(|lane| self.core(self.me).events(lane) != self.reported[lane].get())
    }

    fn core(&self, node: Node) -> &Core {
        &self.cores[node.0 as usize]
    }
}

impl Mailbox for Port {
    fn try_post(&self, to: Node, header: &Header, payload: &[u8]) -> Result<(), PostError> {
        let mut bytes = [0; MESSAGE];
        for (word, place) in header.iter().zip(bytes.chunks_exact_mut(8)) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        bytes[HEADER_BYTES..][..payload.len()].copy_from_slice(payload);
        let message = Message { from: self.me.0, bytes, length: payload.len() };
        if self.core(to).deliver(message) { Ok(()) } else { Err(PostError::Full) }
    }

    fn poll(&self, limit: usize, sink: &mut dyn FnMut(Node, &Header, &[u8])) -> usize {
        let messages = std::iter::from_fn(|| self.core(self.me).take()).take(limit);
        messages
            .map(|Message { from, bytes, length }| {
                let word =
                    |at: usize| u64::from_le_bytes(bytes[8 * at..][..8].try_into().expect("eight bytes"));
                sink(Node(from), &[word(0), word(1), word(2)], &bytes[HEADER_BYTES..][..length]);
            })
            .count()
    }
}

impl Portal for Port {
    unsafe fn expose(&self, region: Region, _to: Audience) -> Result<Key, PortalError> {
        Ok(Key([region.base.expose_provenance() as u64, region.len as u64, 0, 0]))
    }

    fn withdraw(&self, _key: Key) {}

    unsafe fn put(
        &self,
        _peer: Node,
        local: *const u8,
        local_shape: &Shape,
        key: &Key,
        remote_shape: &Shape,
        _delivery: &Delivery,
    ) -> Result<Ticket, PortalError> {
        // SAFETY: the caller's promise: both sides are valid for their shapes.
        unsafe { copy(local, local_shape, region(key, remote_shape)?, remote_shape) }
    }

    unsafe fn get(
        &self,
        _peer: Node,
        local: *mut u8,
        local_shape: &Shape,
        key: &Key,
        remote_shape: &Shape,
        _mover: Mover,
    ) -> Result<Ticket, PortalError> {
        // SAFETY: as above.
        unsafe { copy(region(key, remote_shape)?, remote_shape, local, local_shape) }
    }

    fn done(&self, _ticket: Ticket) -> Result<bool, PortalError> {
        Ok(true)
    }
}

/// Where a region begins, if the shape lies inside it.
fn region(key: &Key, shape: &Shape) -> Result<*mut u8, PortalError> {
    let inside = shape.end().is_some_and(|end| end as u64 <= key.0[1]);
    if inside {
        Ok(std::ptr::with_exposed_provenance_mut(key.0[0] as usize))
    } else {
        Err(PortalError::Shape)
    }
}

/// # Safety
/// `from` must be valid for reads and `to` for writes of their shapes.
unsafe fn copy(from: *const u8, read: &Shape, to: *mut u8, write: &Shape) -> Result<Ticket, PortalError> {
    let bytes = read.row_bytes.checked_mul(read.rows).and_then(|plane| plane.checked_mul(read.planes));
    if bytes.is_none() || !read.same_counts(write) || read.end().is_none() || write.end().is_none() {
        return Err(PortalError::Shape);
    }
    for plane in 0..read.planes {
        for row in 0..read.rows {
            let at = |shape: &Shape| shape.offset + plane * shape.plane_stride + row * shape.row_stride;
            // SAFETY: the caller's promise.
            unsafe { std::ptr::copy(from.add(at(read)), to.add(at(write)), read.row_bytes) };
        }
    }
    Ok(Ticket::DONE)
}

impl Signal for Port {
    fn raise(&self, to: Node, lane: Lane) -> Result<(), Lost> {
        self.core(to).raise(lane.0 as usize);
        Ok(())
    }

    fn raised(&self, lane: Lane) -> u64 {
        let events = self.core(self.me).events(lane.0 as usize);
        self.reported[lane.0 as usize].set(events);
        events
    }

    fn cluster_barrier(&self) -> Option<&dyn MachineBarrier> {
        Some(self)
    }
}

impl Clock for Port {
    fn now(&self) -> u64 {
        self.start.elapsed().as_nanos() as u64
    }
}

impl Park for Port {
    fn bide(&self, _rounds: u32, idle: Idle) -> Option<Woke> {
        (idle == Idle::Briefly).then(std::thread::yield_now).map(|()| Woke::Again)
    }

    /// The interrupt line latches: nothing need be announced.
    fn arm(&self) -> Armed {
        Armed(0)
    }

    fn pending(&self) -> bool {
        self.core(self.me).has_message() || self.has_event()
    }

    fn sleep(&self, _armed: Armed, until: Option<u64>) -> Woke {
        let left = until.map(|until| Duration::from_nanos(until.saturating_sub(self.now())));
        self.core(self.me).sleep(|| self.has_event(), left);
        Woke::Again
    }

    fn disarm(&self, _armed: Armed) {}
}

impl Memory for Port {
    fn budget(&self) -> &Budget {
        &self.budget
    }
}

impl Fabric for Port {
    fn me(&self) -> Node {
        self.me
    }

    fn nodes(&self) -> u32 {
        self.cores.len() as u32
    }

    fn caps(&self) -> &Caps {
        &Caps::PLAIN
    }

    fn route(&self, _peer: Node) -> &Route {
        &ROUTE
    }
}

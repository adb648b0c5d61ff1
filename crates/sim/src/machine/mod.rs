//! A chip in motion.
//!
//! The driver injects letters, transfers and timers, and asks for what happens next; the machine moves packets in between. Links and
//! interfaces are reserved by packet, in event order, and only for a head that has come there: nothing is reserved ahead, so packets
//! are served in the order in which they come, also when a later transfer gets to a link first.
//!
//! A packet's head leaves an interface, takes `router` through every router and `wire` to the next one; its flits follow behind it
//! (virtual cut-through). Routers do not push back: what bounds the packets on the way are the credits of their transfer. Where a chip describes
//! finite buffers, they do (`pressure`).

mod memory;
mod motion;
mod multicast;
mod pressure;
#[cfg(test)]
mod tests;
mod trace;

use crate::buffers::Buffers;
use crate::chip::{Chip, Ddr, Dma, Io, Network, Place};
use crate::ddr::{Banks, Layout};
use crate::dma::Engine;
use crate::energy::{Energy, Meter, PowerSample};
use crate::flow::Flow;
use crate::link::LinkUse;
use crate::queue::Queue;
use crate::server::{Served, Server, Servers};
use crate::slots::Slots;
use crate::topology::{Route, Topology};
use crate::{Rate, Time};
use motion::Due;
use multicast::LetterTree;
pub(crate) use multicast::Tree;
use trace::Trace;

/// A chip in motion.
pub struct Machine {
    network: Network,
    /// Flits of a full packet.
    full_flits: u64,
    dma: Dma,
    clusters: u16,
    /// What the model has to know of each place.
    ends: Vec<End>,
    topology: Topology,
    links: Vec<LinkUse>,
    buffers: Option<Buffers>,
    engines: Vec<Engine>,
    servers: Servers,
    /// Of the memory of each I/O subsystem.
    banks: Vec<Banks>,
    queue: Queue<Due>,
    flows: Slots<Flow>,
    letters: Slots<Letter>,
    /// Room for routes, of flows and letters that are over.
    spare_routes: Vec<Route>,
    timers: Slots<(Place, u64)>,
    meter: Meter,
    trace: Trace,
    now: Time,
}

/// Bytes from one memory to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transfer {
    /// Where the bytes are.
    pub from: Place,
    /// Where they go.
    pub to: Place,
    /// How many; none is allowed, and travels as an empty packet.
    pub bytes: u64,
    /// Contiguous pieces of a 2-D or 3-D transfer, equally long. Each costs the set-up of a piece.
    pub rows: u32,
    /// Who moves them.
    pub mover: Mover,
    /// Which memory of `from` they are in.
    pub from_memory: Memory,
    /// Which memory of `to` they go to.
    pub to_memory: Memory,
    /// Comes back with the events.
    pub token: u64,
}

/// Who takes bytes out of memory and gives them to the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mover {
    /// A core, at its own rate.
    Core {
        /// Time it needs a byte.
        per_byte: Rate,
    },
    /// The DMA engine of the interface, as fast as the interface takes it.
    Dma,
}

/// A memory of a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Memory {
    /// The memory on the chip.
    Scratchpad,
    /// The memory outside it that the I/O subsystem of this index controls.
    Ddr(u16),
}

/// What a driver gets to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A letter is in the receiver's queue.
    Letter {
        /// Who sent it.
        from: Place,
        /// Who got it.
        to: Place,
        /// As injected.
        token: u64,
    },
    /// All bytes of a transfer have left the source, whose memory is free again.
    Left {
        /// The source.
        from: Place,
        /// As injected.
        token: u64,
    },
    /// All bytes of a transfer are in the destination's memory.
    Landed {
        /// The destination.
        to: Place,
        /// As injected.
        token: u64,
    },
    /// A timer has run out.
    Timer {
        /// Whose it is.
        owner: Place,
        /// As injected.
        token: u64,
    },
}

/// A letter on its way.
struct Letter {
    from: Place,
    to: Place,
    token: u64,
    flits: u32,
    /// Time on the slowest link of its way, which its end cannot come out of before.
    slowest: Time,
    route: Route,
    /// The ways to several receivers, in place of the route and the one receiver.
    tree: Option<Box<LetterTree>>,
}

/// What the model has to know of a place.
struct End {
    receive_per_byte: Rate,
    ddr: Option<Ddr>,
    active: Time,
}

impl Machine {
    /// A chip at rest, at time 0.
    pub fn new(chip: &Chip) -> Machine {
        let topology = Topology::new(chip);
        let ends = (0..chip.places()).map(Place).map(|place| {
            let (receive_per_byte, ddr) = match (chip.io_at(place), chip.kind_at(place)) {
                (Some(io), _) => (io.receive_per_byte, io.ddr),
                (None, Some((kind, _))) => (chip.kinds[usize::from(kind)].receive_per_byte, None),
                (None, None) => (chip.cluster.receive_per_byte, None),
            };
            End { receive_per_byte, ddr, active: 0 }
        });
        Machine {
            network: chip.network,
            full_flits: motion::flits(&chip.network.data, chip.network.packet_payload),
            dma: chip.dma,
            clusters: chip.clusters(),
            ends: ends.collect(),
            links: topology.links(chip),
            engines: (0..topology.interface_count()).map(|_| Engine::default()).collect(),
            buffers: chip.network.buffers.map(|buffers| Buffers::new(buffers, topology.links_of_a_plane())),
            topology,
            servers: Servers::new(chip),
            banks: chip.io.iter().map(banks).collect(),
            queue: Queue::new(),
            flows: Slots::new(),
            letters: Slots::new(),
            spare_routes: Vec::new(),
            timers: Slots::new(),
            meter: Meter::new(chip),
            trace: Trace::new(),
            now: 0,
        }
    }

    /// The time of the last event that happened. Nothing can be injected before it.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Sends a letter of so many bytes over the control plane, in one packet.
    pub fn letter(&mut self, at: Time, from: Place, to: Place, bytes: u32, token: u64) {
        self.check_time(at);
        self.trace.fold(token ^ u64::from(bytes).rotate_left(32));
        let flits = self.letter_flits(bytes);
        let mut route = self.spare_routes.pop().unwrap_or_default();
        self.topology.route(self.topology.interfaces(from, to), &mut route.links);
        let base = self.topology.links_of_a_plane();
        let times =
            route.links.iter().map(|link| self.links[usize::from(base + link)].duration(flits.into()));
        let slowest = times.max().unwrap_or(0);
        let letter = self.letters.insert(Letter { from, to, token, flits, slowest, route, tree: None });
        self.queue.push(at, from.0, Due::LetterHop { letter, hop: 0 });
    }

    /// Moves bytes over the data plane. Where one of the memories is DDR they lie there from its begin on.
    ///
    /// # Panics
    ///
    /// If a memory is named that the place does not have.
    pub fn transfer(&mut self, at: Time, transfer: Transfer) {
        self.transfer_in(at, transfer, Layout::default());
    }

    /// As [`transfer`](Machine::transfer), with where in DDR the bytes lie.
    ///
    /// # Panics
    ///
    /// If a memory is named that the place does not have.
    pub fn transfer_in(&mut self, at: Time, transfer: Transfer, layout: Layout) {
        self.check_time(at);
        self.check_memory(transfer.from, transfer.from_memory);
        self.check_memory(transfer.to, transfer.to_memory);
        self.trace.fold(transfer.token ^ transfer.bytes.rotate_left(32));
        let interfaces = self.topology.interfaces(transfer.from, transfer.to);
        let flow = self.flows.insert(Flow::new(transfer, layout, interfaces, self.network.credits));
        self.queue.push(at, transfer.from.0, Due::Begin { flow });
    }

    /// Asks for an event at a time.
    pub fn timer(&mut self, at: Time, owner: Place, token: u64) {
        self.check_time(at);
        self.trace.fold(token);
        let timer = self.timers.insert((owner, token));
        self.queue.push(at, owner.0, Due::Timer { timer });
    }

    /// Gives a job to a server that turns to it when it has done those before. Jobs must be given in the order of time.
    pub fn serve(&mut self, server: Server, at: Time, duration: Time) -> Served {
        let served = self.servers.serve(server, at, duration);
        self.trace.fold(served.start ^ served.end.rotate_left(32));
        served
    }

    /// A core of the place works from now on for so long; it costs energy, nothing else.
    pub fn active(&mut self, place: Place, duration: Time) {
        self.active_from(place, self.now, duration);
    }

    /// As [`active`](Machine::active), for a core whose clock is ahead of the machine's or behind it.
    pub fn active_from(&mut self, place: Place, at: Time, duration: Time) {
        self.ends[place.0 as usize].active += duration;
        self.meter.active(at, duration);
    }

    /// When something happens next, if anything does. It may be inside the machine, and no [`Event`].
    pub fn next_time(&self) -> Option<Time> {
        self.queue.next_time()
    }

    /// Goes on to the next event.
    pub fn step(&mut self) -> Option<(Time, Event)> {
        self.step_until(Time::MAX)
    }

    /// Goes on to the next event at `limit` or before. Without one, everything inside the machine has happened until then.
    pub fn step_until(&mut self, limit: Time) -> Option<(Time, Event)> {
        while let Some(entry) = self.queue.pop_until(limit) {
            debug_assert!(entry.time >= self.now);
            self.now = entry.time;
            self.trace.event(entry.time, entry.order, entry.due);
            if let Some(event) = self.happen(entry.due) {
                return Some((entry.time, event));
            }
        }
        None
    }

    /// A number made of everything that happened: two runs are the same if it is.
    pub fn trace_hash(&self) -> u64 {
        self.trace.hash()
    }

    /// What was spent until now.
    pub fn energy(&self) -> Energy {
        self.meter.energy(self.now)
    }

    /// The power over time until now, in windows of equal width (the last may be shorter), of which there are never many.
    pub fn power_samples(&self) -> Vec<PowerSample> {
        self.meter.samples(self.now)
    }

    /// The mean power between two moments that have passed, in microwatts.
    ///
    /// # Panics
    ///
    /// If `end` is not after `begin`.
    pub fn mean_power(&self, begin: Time, end: Time) -> u64 {
        self.meter.mean(begin, end)
    }

    /// Transfers that the DMA engines of a place move, or that wait for one.
    pub fn dma_queue(&self, place: Place) -> u32 {
        self.topology.interfaces_of(place).map(|interface| self.engines[interface as usize].depth()).sum()
    }

    /// Packets' worth of work that the memory controller of an I/O subsystem has before it.
    pub fn ddr_queue(&self, io: u16) -> u32 {
        let Some(ddr) = self.ends[self.io_place(io).0 as usize].ddr else { return 0 };
        let packet = ddr.read_per_byte.of(self.network.packet_payload.into());
        self.servers.backlog(Server::Ddr(io), self.now).div_ceil(packet.max(1)) as u32
    }

    /// How long a server has worked until `now`.
    pub fn worked(&self, server: Server, now: Time) -> Time {
        self.servers.worked(server, now)
    }

    /// All links and interfaces of both planes, and what they carried.
    pub fn links(&self) -> &[LinkUse] {
        &self.links
    }

    /// How long cores of the place were active, together.
    pub fn active_time(&self, place: Place) -> Time {
        self.ends[place.0 as usize].active
    }

    /// Flits of a letter.
    fn letter_flits(&self, bytes: u32) -> u32 {
        let plane = &self.network.control;
        (bytes + plane.header_bytes).div_ceil(plane.flit_bytes)
    }

    fn check_time(&self, at: Time) {
        assert!(at >= self.now, "injected at {at}, but {} has happened already", self.now);
    }

    fn check_memory(&self, place: Place, memory: Memory) {
        if let Memory::Ddr(io) = memory {
            let controls = self.io_place(io) == place && self.ends[place.0 as usize].ddr.is_some();
            assert!(controls, "place {} does not control DDR {io}", place.0);
        }
    }

    fn io_place(&self, io: u16) -> Place {
        Place(self.clusters + io)
    }
}

/// The banks of a subsystem's memory. One without rows has none.
fn banks(io: &Io) -> Banks {
    Banks::new(&io.ddr.and_then(|ddr| ddr.rows).unwrap_or_default())
}

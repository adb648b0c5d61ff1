//! What happens inside the machine, event by event: the way of a packet from memory to memory.
//!
//! ```text
//! Begin -> Fetch -> (Ready) -> Hop … Hop -> (Deposit) -> Landed
//!            ^  \-> Fetch of the next packet, when the mover is free and there is a credit
//!            credit, when the packet has left the network
//! ```
//!
//! Ready exists where fetching takes time (a core, DDR, the begin of a row), Deposit where the bytes go to DDR.

use super::{Event, Machine, Memory, Mover};
use crate::Time;
use crate::buffers::{Lane, Packet};
use crate::chip::Plane;
use crate::topology::{LinkId, Route};

/// What is due. Eight bytes, because millions of these go through the queue.
#[derive(Debug, Clone, Copy)]
pub(super) enum Due {
    /// A transfer wants to begin.
    Begin { flow: u32 },
    /// The mover turns to the next packet, for which it has a credit.
    Fetch { flow: u32 },
    /// The packet is out of memory and wants the interface.
    Ready { flow: u32, payload: u16 },
    /// The packet's head is before a link of its route.
    Hop { flow: u32, payload: u16, hop: u8 },
    /// The packet is out of the network and goes to DDR.
    Deposit { flow: u32 },
    /// The last packet has left the source.
    Left { flow: u32 },
    /// The last packet is in place.
    Landed { flow: u32 },
    /// A letter is before a link of its route.
    LetterHop { letter: u32, hop: u8 },
    /// A letter is in the receiver's queue.
    Letter { letter: u32 },
    /// A timer has run out.
    Timer { timer: u32 },
    /// The last flit of a packet has gone over a link and out of the buffer before it.
    Tail { link: LinkId, lane: Lane },
    /// There is room again for such a packet at the end of a link.
    Room { lane: Lane, payload: u16 },
    /// The head of a packet that goes to several destinations is before a link.
    Branch { flow: u32, branch: u16 },
    /// The last packet is in place at one of several destinations.
    LandedAt { flow: u32, leaf: u16 },
    /// A letter to several receivers is before a link.
    LetterBranch { letter: u32, branch: u16 },
    /// A letter is in the queue of one of several receivers.
    LetterAt { letter: u32, leaf: u16 },
}

const _: () = assert!(size_of::<Due>() == 8);

impl Due {
    /// All of it in a word, for the trace.
    #[inline]
    pub(super) fn bits(self) -> u64 {
        let (kind, index, payload, hop) = match self {
            Self::Begin { flow } => (0, flow, 0, 0),
            Self::Fetch { flow } => (1, flow, 0, 0),
            Self::Ready { flow, payload } => (2, flow, payload, 0),
            Self::Hop { flow, payload, hop } => (3, flow, payload, hop),
            Self::Deposit { flow } => (4, flow, 0, 0),
            Self::Left { flow } => (5, flow, 0, 0),
            Self::Landed { flow } => (6, flow, 0, 0),
            Self::LetterHop { letter, hop } => (7, letter, 0, hop),
            Self::Letter { letter } => (8, letter, 0, 0),
            Self::Timer { timer } => (9, timer, 0, 0),
            Self::Tail { link, lane } => (10, lane, link, 0),
            Self::Room { lane, payload } => (11, lane, payload, 0),
            Self::Branch { flow, branch } => (12, flow, branch, 0),
            Self::LandedAt { flow, leaf } => (13, flow, leaf, 0),
            Self::LetterBranch { letter, branch } => (14, letter, branch, 0),
            Self::LetterAt { letter, leaf } => (15, letter, leaf, 0),
        };
        u64::from(index) << 32 | u64::from(payload) << 16 | u64::from(hop) << 8 | kind
    }
}

impl Machine {
    /// Lets happen what is due now.
    pub(super) fn happen(&mut self, due: Due) -> Option<Event> {
        match due {
            Due::Hop { flow, payload, hop } => self.hop(Packet { flow, payload, hop }),
            Due::Fetch { flow } => self.fetch(flow),
            Due::Ready { flow, payload } => self.leave(flow, payload),
            Due::Begin { flow } => self.begin(flow),
            Due::Deposit { flow } => self.deposit(flow),
            Due::LetterHop { letter, hop } => self.letter_hop(letter, hop),
            Due::Tail { link, lane } => self.tail(link, lane),
            Due::Room { lane, payload } => self.room(lane, payload),
            Due::Branch { flow, branch } => self.branch(flow, branch),
            Due::LetterBranch { letter, branch } => self.letter_branch(letter, branch),
            Due::LandedAt { flow, leaf } => return Some(self.landed_at(flow, leaf)),
            Due::LetterAt { letter, leaf } => return Some(self.letter_at(letter, leaf)),
            Due::Left { flow } => return Some(self.left(flow)),
            Due::Landed { flow } => {
                let transfer = self.flows.at(flow).transfer;
                self.end_half(flow);
                return Some(Event::Landed { to: transfer.to, token: transfer.token });
            }
            Due::Letter { letter } => {
                let letter = self.letters.remove(letter);
                self.spare_routes.push(letter.route);
                return Some(Event::Letter { from: letter.from, to: letter.to, token: letter.token });
            }
            Due::Timer { timer } => {
                let (owner, token) = self.timers.remove(timer);
                return Some(Event::Timer { owner, token });
            }
        }
        None
    }

    /// A core begins at once, a DMA transfer when the engine has a channel.
    fn begin(&mut self, flow: u32) {
        let state = self.flows.at(flow);
        if state.transfer.mover == Mover::Dma {
            let engine = &mut self.engines[state.interfaces.source as usize];
            if !engine.request(flow, self.dma.channels) {
                return;
            }
        }
        self.start(flow);
    }

    fn start(&mut self, flow: u32) {
        let state = self.flows.at(flow);
        if state.tree.is_some() {
            return self.fetch_next(flow, self.now);
        }
        state.route = self.spare_routes.pop().unwrap_or_default();
        let Route { links, channels } = &mut state.route;
        self.topology.route(state.interfaces, links);
        if let Some(buffers) = self.network.buffers {
            let counts = (buffers.channels, self.network.channels_min());
            self.topology.channels(state.interfaces, links, counts, channels);
        }
        let (between, routers) = (&links[1..links.len() - 1], links.len() as u64 - 1);
        let wires: Time = between.iter().map(|link| self.links[*link as usize].wire()).sum();
        state.way_back = wires + routers * self.network.data.router;
        let paces = links.iter().map(|link| self.links[*link as usize].flit());
        state.slowest = paces.max().unwrap_or_default();
        self.fetch_next(flow, self.now);
    }

    /// The next packet can be fetched from `from` on, if there is a credit for it.
    fn fetch_next(&mut self, flow: u32, from: Time) {
        let state = self.flows.at(flow);
        if let Some(at) = state.credits.take(from) {
            self.queue.push(at, state.transfer.from.0, Due::Fetch { flow });
        }
    }

    /// Takes a packet out of memory. A core's pushing, and the reading of DDR, go on while the interface sends the packet before;
    /// a DMA engine's channel has one packet from the scratchpad at a time.
    fn fetch(&mut self, flow: u32) {
        let state = self.flows.at(flow);
        let cut = state.fetched.next(self.network.packet_payload);
        let more = !state.fetched.is_done();
        let transfer = state.transfer;
        let bytes = u64::from(cut.payload);
        let moved = match transfer.mover {
            Mover::Core { per_byte } => self.now + per_byte.of(bytes),
            Mover::Dma if cut.begins_row => self.now + self.dma.piece,
            Mover::Dma => self.now,
        };
        let read = match transfer.from_memory {
            Memory::Scratchpad => self.now,
            Memory::Ddr(io) => self.read_ddr(io, flow, cut),
        };
        let ready = moved.max(read);
        if more && !transfer.is_paced_by_interface() {
            self.fetch_next(flow, ready);
        }
        if ready == self.now {
            self.leave(flow, cut.payload);
        } else {
            self.queue.push(ready, transfer.from.0, Due::Ready { flow, payload: cut.payload });
        }
    }

    /// A packet is out of memory, and wants the interface.
    fn leave(&mut self, flow: u32, payload: u16) {
        if self.flows.at(flow).tree.is_some() {
            self.branch(flow, 0);
        } else {
            self.hop(Packet { flow, payload, hop: 0 });
        }
    }

    /// A packet's head is before a link: the interface of its source, one between routers, or the interface of its destination.
    #[inline]
    fn hop(&mut self, packet: Packet) {
        if self.buffers.is_some() {
            return self.arrive(packet);
        }
        let (flits, duration) = self.crossing(packet);
        let link = self.flows.at(packet.flow).route.links[packet.hop as usize];
        let start = self.links[link as usize].reserve(self.now, flits, duration);
        self.cross(packet, start, duration);
    }

    /// Flits of a packet, and how long they take its next link. The destination's interface may take bytes more slowly than the link brings them.
    #[inline(always)]
    pub(super) fn crossing(&mut self, packet: Packet) -> (u64, Time) {
        let flits = self.flits(packet.payload);
        let state = self.flows.at(packet.flow);
        let links = &state.route.links;
        let hop = usize::from(packet.hop);
        let duration = self.links[links[hop] as usize].duration(flits);
        self.meter.flits(self.now, flits);
        if hop + 1 < links.len() {
            return (flits, duration);
        }
        let drain = self.ends[state.transfer.to.0 as usize].receive_per_byte.of(packet.payload.into());
        (flits, duration.max(drain))
    }

    /// A packet has a link from `start` on, for so long.
    #[inline(always)]
    pub(super) fn cross(&mut self, packet: Packet, start: Time, duration: Time) {
        let Packet { flow, payload, hop } = packet;
        let state = self.flows.at(flow);
        let links = &state.route.links;
        let Some(&next) = links.get(hop as usize + 1) else {
            // The end of a packet cannot come before it is out of the slowest link of its way.
            let (slowest, transfer) = (state.slowest, state.transfer);
            let end = start + duration.max(slowest.of(self.flits(payload)));
            return match transfer.to_memory {
                Memory::Scratchpad => self.arrived(flow, payload, end),
                Memory::Ddr(_) => self.queue.push(end, transfer.to.0, Due::Deposit { flow }),
            };
        };
        let at = start + self.links[links[hop as usize] as usize].wire() + self.network.data.router;
        let spot = self.spot(next);
        self.queue.push(at, spot, Due::Hop { flow, payload, hop: hop + 1 });
        if hop == 0 {
            self.sent(flow, payload, start + duration);
        }
    }

    /// A packet will be out of the source at `end`.
    pub(super) fn sent(&mut self, flow: u32, payload: u16, end: Time) {
        let state = self.flows.at(flow);
        // Each copy is written, and all of them are read once: together as much as so many bytes that are read and written.
        let writes = state.tree.as_ref().map_or(1, |tree| tree.destinations());
        state.sent += u64::from(payload);
        let transfer = state.transfer;
        let all_sent = state.sent == transfer.bytes;
        if transfer.mover == Mover::Dma {
            self.meter.dma(self.now, u64::from(payload) * (1 + writes) / 2);
        }
        if all_sent {
            self.queue.push(end, transfer.from.0, Due::Left { flow });
        } else if transfer.is_paced_by_interface() {
            self.fetch_next(flow, end);
        }
    }

    /// A packet goes from the interface to DDR. Packets of a flow come in order, so the cut tells how long it is.
    fn deposit(&mut self, flow: u32) {
        let state = self.flows.at(flow);
        let cut = state.deposited.next(self.network.packet_payload);
        let Memory::Ddr(io) = state.transfer.to_memory else { unreachable!("only what goes to DDR") };
        let end = self.write_ddr(io, flow, cut);
        self.arrived(flow, cut.payload, end);
    }

    /// A packet is in memory at `end`; its credit goes back along the way that it came.
    fn arrived(&mut self, flow: u32, payload: u16, end: Time) {
        let state = self.flows.at(flow);
        state.arrived += u64::from(payload);
        let transfer = state.transfer;
        if state.arrived == transfer.bytes {
            self.queue.push(end, transfer.to.0, Due::Landed { flow });
            return;
        }
        if let Some(at) = state.credits.give_back(end + state.way_back) {
            self.queue.push(at, transfer.from.0, Due::Fetch { flow });
        }
    }

    /// The source is rid of the transfer; a DMA channel goes on to the one that waits.
    fn left(&mut self, flow: u32) -> Event {
        let state = self.flows.at(flow);
        let transfer = state.transfer;
        if transfer.mover == Mover::Dma {
            let next = self.engines[state.interfaces.source as usize].release();
            if let Some(next) = next {
                self.start(next);
            }
        }
        self.end_half(flow);
        Event::Left { from: transfer.from, token: transfer.token }
    }

    /// The transfer has left or landed; forgets it when it has done both.
    pub(super) fn end_half(&mut self, flow: u32) {
        let state = self.flows.at(flow);
        if state.half_over {
            self.spare_routes.push(self.flows.remove(flow).route);
        } else {
            state.half_over = true;
        }
    }

    fn letter_hop(&mut self, letter: u32, hop: u8) {
        let plane = self.network.control;
        let base = self.topology.links_of_a_plane();
        let state = self.letters.at(letter);
        let flits = u64::from(state.flits);
        let link = &mut self.links[(base + state.route.links[hop as usize]) as usize];
        let duration = link.duration(flits);
        let start = link.reserve(self.now, flits, duration);
        let wire = link.wire();
        self.meter.flits(self.now, flits);
        match state.route.links.get(hop as usize + 1) {
            Some(&next) => {
                let spot = base + next;
                let at = start + wire + plane.router;
                self.queue.push(at, self.spot(spot), Due::LetterHop { letter, hop: hop + 1 });
            }
            None => {
                let end = start + duration.max(state.slowest);
                self.queue.push(end, state.to.0, Due::Letter { letter });
            }
        }
    }

    /// Flits of a packet with that payload. Nearly all are full, which saves a division.
    #[inline]
    pub(super) fn flits(&self, payload: u16) -> u64 {
        if payload == self.network.packet_payload {
            self.full_flits
        } else {
            flits(&self.network.data, payload)
        }
    }

    /// Where events at a link stand in the order: after all places.
    #[inline]
    pub(super) fn spot(&self, link: u16) -> u16 {
        self.ends.len() as u16 + link
    }
}

/// Flits of a packet with that payload.
#[inline]
pub(super) fn flits(plane: &Plane, payload: u16) -> u64 {
    u64::from((u32::from(payload) + plane.header_bytes).div_ceil(plane.flit_bytes))
}

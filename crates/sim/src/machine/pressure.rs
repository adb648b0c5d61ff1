//! Packets where routers have finite buffers: they wait for room as well as for links, and what waits holds up what is behind it.
//!
//! ```text
//! Hop -> (waits in its buffer) -> asks -> (waits for link and room) -> crosses -> Hop at the next router
//!                                                                         \-> Tail: link free, out of its buffer -> Room, a wire's time later
//! ```

use super::Machine;
use super::motion::Due;
use crate::buffers::{Buffers, Lane, Packet};
use crate::topology::LinkId;

/// The buffer of a packet that is still with its source.
const NO_LANE: Lane = Lane::MAX;

impl Machine {
    /// A packet's head is before a link. It asks for it once it is the first in its buffer; the source's memory is no buffer.
    pub(super) fn arrive(&mut self, packet: Packet) {
        let lane = self.lane_behind(packet);
        let (flits, now) = (self.flits(packet.payload) as u32, self.now);
        if lane == NO_LANE || self.buffers().hold(lane, packet, flits, now) {
            self.ask(packet, flits);
        }
    }

    /// The last flit of a packet has gone over a link, and out of the buffer before it.
    pub(super) fn tail(&mut self, link: LinkId, lane: Lane) {
        if lane != NO_LANE {
            let (gone, next) = self.buffers().leave(lane);
            let behind = self.buffers().link(lane);
            let at = self.now + self.links[behind as usize].wire();
            self.queue.push(at, self.spot(behind), Due::Room { lane, payload: gone.payload });
            if let Some(next) = next {
                self.ask(next.packet, next.flits);
            }
        }
        self.let_onto(link);
    }

    /// A link gets to know that there is room again in a buffer that it ends in.
    pub(super) fn room(&mut self, lane: Lane, payload: u16) {
        let flits = self.flits(payload) as u32;
        self.buffers().give_back(lane, flits);
        let link = self.buffers().link(lane);
        self.let_onto(link);
    }

    fn ask(&mut self, packet: Packet, flits: u32) {
        let (lane, now) = (self.lane_of(packet, packet.hop), self.now);
        self.buffers().ask(lane, packet, flits, now);
        let link = self.buffers().link(lane);
        self.let_onto(link);
    }

    /// Lets the next packet onto a link if that is free.
    fn let_onto(&mut self, link: LinkId) {
        if !self.links[link as usize].is_free(self.now) {
            return;
        }
        let Some(asking) = self.buffers().admit(link) else { return };
        let packet = asking.packet;
        let (flits, duration) = self.crossing(packet);
        self.links[link as usize].occupy(asking.since, self.now, flits, duration);
        let lane = self.lane_behind(packet);
        if self.is_last(packet) {
            // It goes into memory, where there is always room.
            let into = self.lane_of(packet, packet.hop);
            self.buffers().give_back(into, flits as u32);
        }
        self.queue.push(self.now + duration, self.spot(link), Due::Tail { link, lane });
        self.cross(packet, self.now, duration);
    }

    /// The buffer that a packet is in while it is before its next link.
    fn lane_behind(&mut self, packet: Packet) -> Lane {
        packet.hop.checked_sub(1).map_or(NO_LANE, |hop| self.lane_of(packet, hop))
    }

    /// The channel in which a packet takes a link of its route.
    fn lane_of(&mut self, packet: Packet, hop: u8) -> Lane {
        let route = &self.flows.at(packet.flow).route;
        let (link, channel) = (route.links[hop as usize], route.channels[hop as usize]);
        self.buffers().lane(link, channel)
    }

    fn is_last(&mut self, packet: Packet) -> bool {
        self.flows.at(packet.flow).route.links.len() == usize::from(packet.hop) + 1
    }

    fn buffers(&mut self) -> &mut Buffers {
        self.buffers.as_mut().expect("only where buffers are finite")
    }
}

//! Finite buffers in routers: which packets wait where, and which may go on.
//!
//! Every link ends in a buffer for each of its channels. A packet that crosses the link takes room there for all its flits (virtual cut-through) and keeps
//! it until its last flit has left by the next link. Only the first packet of a buffer asks for its next link; a link that is free takes the one that asked first
//! among those whose channel has room. Packets of one channel never overtake each other.
//!
//! What is done with this is in `machine::pressure`; that nobody waits for ever is settled by the channels that ways take (`topology::channels`).

use std::collections::VecDeque;

use crate::Time;
use crate::chip::Buffers as Described;
use crate::topology::LinkId;

/// A packet of a flow, before a link of its route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Packet {
    pub(crate) flow: u32,
    pub(crate) payload: u16,
    pub(crate) hop: u8,
}

/// The number of a channel of a link, and of the buffer that it ends in.
pub(crate) type Lane = u32;

/// All buffers of a plane.
pub(crate) struct Buffers {
    channels: u32,
    lanes: Vec<Buffer>,
    /// How often somebody asked: who asked first has the lesser number.
    asked: u64,
}

struct Buffer {
    /// Flits that fit in beside those that are there or have been let in.
    room: u32,
    /// What is there, in the order in which it came.
    held: VecDeque<Waiting>,
    /// What asks to come in.
    asking: VecDeque<Waiting>,
}

/// A packet that waits in a buffer or for one.
#[derive(Clone, Copy)]
pub(crate) struct Waiting {
    pub(crate) packet: Packet,
    pub(crate) since: Time,
    pub(crate) flits: u32,
    /// When it asked, among all that did.
    number: u64,
}

impl Buffers {
    pub(crate) fn new(described: Described, links: u16) -> Buffers {
        let channels = u32::from(described.channels);
        let buffer = |_| Buffer { room: described.flits, held: VecDeque::new(), asking: VecDeque::new() };
        Buffers { channels, lanes: (0..u32::from(links) * channels).map(buffer).collect(), asked: 0 }
    }

    pub(crate) fn lane(&self, link: LinkId, channel: u8) -> Lane {
        u32::from(link) * self.channels + u32::from(channel)
    }

    pub(crate) fn link(&self, lane: Lane) -> LinkId {
        (lane / self.channels) as LinkId
    }

    /// Puts a packet into the buffer that it was let into. True if it is the first there and may ask.
    pub(crate) fn hold(&mut self, lane: Lane, packet: Packet, flits: u32, since: Time) -> bool {
        let held = &mut self.lanes[lane as usize].held;
        held.push_back(Waiting { packet, since, flits, number: 0 });
        held.len() == 1
    }

    /// The first packet has left a buffer, whose room is not free yet. That one, and the one that may ask now.
    pub(crate) fn leave(&mut self, lane: Lane) -> (Packet, Option<Waiting>) {
        let held = &mut self.lanes[lane as usize].held;
        let gone = held.pop_front().expect("it was held until its last flit had left");
        (gone.packet, held.front().copied())
    }

    /// A packet asks for a channel of a link.
    pub(crate) fn ask(&mut self, lane: Lane, packet: Packet, flits: u32, since: Time) {
        self.lanes[lane as usize].asking.push_back(Waiting { packet, since, flits, number: self.asked });
        self.asked += 1;
    }

    /// Lets the packet onto a free link that asked first, among those whose channel has room.
    pub(crate) fn admit(&mut self, link: LinkId) -> Option<Waiting> {
        let first = self.lane(link, 0) as usize;
        let lanes = self.lanes[first..first + self.channels as usize].iter_mut();
        let able = lanes.filter(|lane| lane.asking.front().is_some_and(|asking| asking.flits <= lane.room));
        let lane = able.min_by_key(|lane| lane.asking.front().map(|asking| asking.number))?;
        let asking = lane.asking.pop_front()?;
        lane.room -= asking.flits;
        Some(asking)
    }

    /// Gives room back.
    pub(crate) fn give_back(&mut self, lane: Lane, flits: u32) {
        self.lanes[lane as usize].room += flits;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(flow: u32) -> Packet {
        Packet { flow, payload: 4, hop: 1 }
    }

    fn buffers() -> Buffers {
        Buffers::new(Described { flits: 10, channels: 2 }, 3)
    }

    #[test]
    fn who_asked_first_is_let_in_first_as_long_as_its_channel_has_room() {
        let mut buffers = buffers();
        let (even, odd) = (buffers.lane(1, 0), buffers.lane(1, 1));
        for (flow, lane) in [(1, even), (2, even), (3, odd), (4, even)] {
            buffers.ask(lane, packet(flow), 6, 0);
        }
        let mut next = || buffers.admit(1).map(|asking| asking.packet.flow);
        // The second finds no room and is passed by one of the other channel, not by one of its own.
        assert_eq!([next(), next(), next()], [Some(1), Some(3), None]);
        buffers.give_back(even, 6);
        assert_eq!(buffers.admit(1).map(|asking| asking.packet.flow), Some(2));
        assert!(buffers.admit(0).is_none());
    }

    #[test]
    fn packets_leave_a_buffer_in_the_order_in_which_they_came() {
        let mut buffers = buffers();
        let lane = buffers.lane(2, 1);
        assert_eq!(buffers.link(lane), 2);
        assert!(buffers.hold(lane, packet(1), 4, 0));
        assert!(!buffers.hold(lane, packet(2), 4, 5));
        let mut leave = || {
            let (gone, next) = buffers.leave(lane);
            (gone.flow, next.map(|next| (next.packet.flow, next.since)))
        };
        assert_eq!([leave(), leave()], [(1, Some((2, 5))), (2, None)]);
    }
}

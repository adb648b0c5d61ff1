//! A directed link, or an interface between an end point and its router: one packet after the other.
//!
//! Invariant: reservations are made in the order of events, so `start = max(ready, free)` is first come, first served.

use crate::chip::{Place, Position};
use crate::{Chip, Time};

/// One end of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Node {
    /// A cluster or an I/O subsystem.
    Place(Place),
    /// A router of the grid.
    Router(Position),
}

/// What a link carried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkUse {
    /// Where it comes from.
    pub from: Node,
    /// Where it goes.
    pub to: Node,
    /// Whether it belongs to the control plane.
    pub control: bool,
    /// Flits that went over it, headers included.
    pub flits: u64,
    /// Packets that went over it: each was one reservation.
    pub packets: u64,
    /// Time it was occupied.
    pub busy: Time,
    /// Time that packets stood waiting for it, together.
    pub waited: Time,
    free: Time,
}

impl LinkUse {
    pub(crate) fn new(from: Node, to: Node, control: bool) -> Self {
        Self { from, to, control, flits: 0, packets: 0, busy: 0, waited: 0, free: 0 }
    }

    /// Takes the link for `duration` from the moment when the packet is there and the link is free. Returns that moment.
    #[inline]
    pub(crate) fn reserve(&mut self, ready: Time, flits: u64, duration: Time) -> Time {
        let start = ready.max(self.free);
        self.free = start + duration;
        self.flits += flits;
        self.packets += 1;
        self.busy += duration;
        self.waited += start - ready;
        start
    }
}

impl Node {
    /// The node's name in the words of the chip: `cluster 3`, `io north`, `router (1, 2)`.
    pub fn describe(self, chip: &Chip) -> String {
        match self {
            Self::Router(position) => format!("router {position}"),
            Self::Place(place) => match chip.io_at(place) {
                Some(io) => format!("io {}", io.name),
                None => format!("cluster {}", place.0),
            },
        }
    }
}

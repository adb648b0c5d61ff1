//! A directed link, or an interface between an end point and its router: one packet after the other.
//!
//! Invariant: reservations are made in the order of events, so `start = max(ready, free)` is first come, first served.

use crate::chip::{Place, Plane, Position, Shape};
use crate::{Chip, Rate, Time};

/// One end of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Node {
    /// A cluster or an I/O subsystem.
    Place(Place),
    /// A router or switch.
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
    pace: Pace,
}

/// How fast a link is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pace {
    /// Time a flit occupies it.
    pub(crate) flit: Rate,
    /// Time a head needs along it; none on an interface.
    pub(crate) wire: Time,
}

impl Pace {
    /// What a plane says of the links between its routers.
    pub(crate) fn of(plane: &Plane) -> Pace {
        Pace { flit: plane.flit_time, wire: plane.wire }
    }
}

impl LinkUse {
    pub(crate) fn new(from: Node, to: Node, control: bool, pace: Pace) -> Self {
        Self { from, to, control, flits: 0, packets: 0, busy: 0, waited: 0, free: 0, pace }
    }

    /// Time so many flits occupy it.
    #[inline]
    pub(crate) fn duration(&self, flits: u64) -> Time {
        self.pace.flit.of(flits)
    }

    /// Time a flit occupies it.
    #[inline]
    pub(crate) fn flit(&self) -> Rate {
        self.pace.flit
    }

    /// Time a head needs along it.
    #[inline]
    pub(crate) fn wire(&self) -> Time {
        self.pace.wire
    }

    /// Takes the link for `duration` from the moment when the packet is there and the link is free. Returns that moment.
    #[inline]
    pub(crate) fn reserve(&mut self, ready: Time, flits: u64, duration: Time) -> Time {
        let start = ready.max(self.free);
        self.occupy(ready, start, flits, duration);
        start
    }

    /// Whether nothing is on it any more.
    pub(crate) fn is_free(&self, now: Time) -> bool {
        self.free <= now
    }

    /// Takes the link, which is free, for a packet that has waited since it was ready.
    #[inline]
    pub(crate) fn occupy(&mut self, ready: Time, start: Time, flits: u64, duration: Time) {
        self.free = start + duration;
        self.flits += flits;
        self.packets += 1;
        self.busy += duration;
        self.waited += start - ready;
    }
}

impl Node {
    /// The node's name in the words of the chip: `cluster 3`, `io north`, `router (1, 2)`, `switch 4`.
    pub fn describe(self, chip: &Chip) -> String {
        match self {
            Self::Router(at) => match chip.network.shape {
                Shape::Mesh | Shape::Torus => format!("router {at}"),
                Shape::Crossbar => "crossbar".to_owned(),
                Shape::FatTree { .. } => format!("switch {} of level {}", at.x, at.y),
                Shape::Graph => match at.x.checked_sub(chip.places()) {
                    Some(switch) => format!("switch {switch}"),
                    None => format!("router of {}", Self::Place(Place(at.x)).describe(chip)),
                },
            },
            Self::Place(place) => chip.name_of(place),
        }
    }
}

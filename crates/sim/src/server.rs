//! Servers: things that do one job after the other, in the order in which the jobs come.

use crate::chip::Place;
use crate::{Chip, Time};

/// Something of a chip that serves first come, first served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Server {
    /// The resource manager of a place, as far as it handles letters.
    Agent(Place),
    /// The core of a place that runs the operating system.
    Kernel(Place),
    /// The memory controller of an I/O subsystem, by the subsystem's index.
    Ddr(u16),
}

/// When a job is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Served {
    /// When the server turns to it.
    pub start: Time,
    /// When it is over.
    pub end: Time,
}

/// All servers of a chip: when each is free again.
pub(crate) struct Servers {
    places: u16,
    free: Vec<Time>,
}

impl Servers {
    pub(crate) fn new(chip: &Chip) -> Self {
        let places = chip.places();
        Self { places, free: vec![0; 2 * places as usize + chip.io.len()] }
    }

    /// How long a server is still busy with what it has been given.
    pub(crate) fn backlog(&self, server: Server, now: Time) -> Time {
        self.free[server.index(self.places)].saturating_sub(now)
    }

    pub(crate) fn serve(&mut self, server: Server, at: Time, duration: Time) -> Served {
        let free = &mut self.free[server.index(self.places)];
        let start = at.max(*free);
        *free = start + duration;
        Served { start, end: *free }
    }
}

impl Server {
    /// A number for each server of a chip with that many places.
    pub(crate) fn index(self, places: u16) -> usize {
        let places = places as usize;
        match self {
            Self::Agent(place) => place.0 as usize,
            Self::Kernel(place) => places + place.0 as usize,
            Self::Ddr(io) => 2 * places + io as usize,
        }
    }
}

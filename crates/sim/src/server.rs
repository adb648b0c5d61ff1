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

/// All servers of a chip: when each is free again, and how much work it was given.
pub(crate) struct Servers {
    places: u16,
    free: Vec<Time>,
    given: Vec<Time>,
}

impl Servers {
    pub(crate) fn new(chip: &Chip) -> Self {
        let places = chip.places();
        let free = vec![0; 2 * places as usize + chip.io.len()];
        Self { places, given: free.clone(), free }
    }

    /// How long a server is still busy with what it has been given.
    pub(crate) fn backlog(&self, server: Server, now: Time) -> Time {
        self.free[server.index(self.places)].saturating_sub(now)
    }

    /// How long a server has worked until now: what it was given, less what it still has before it.
    pub(crate) fn worked(&self, server: Server, now: Time) -> Time {
        self.given[server.index(self.places)].saturating_sub(self.backlog(server, now))
    }

    pub(crate) fn serve(&mut self, server: Server, at: Time, duration: Time) -> Served {
        let index = server.index(self.places);
        self.given[index] += duration;
        let free = &mut self.free[index];
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_server_has_before_it_is_not_yet_work() {
        let chip = Chip::builtin("mesh16").expect("it ships");
        let mut servers = Servers::new(&chip);
        let kernel = Server::Kernel(Place(3));
        servers.serve(kernel, 100, 50);
        servers.serve(kernel, 120, 50);
        assert_eq!([100, 130, 200, 900].map(|now| servers.worked(kernel, now)), [0, 30, 100, 100]);
        assert_eq!(servers.worked(Server::Agent(Place(3)), 900), 0);
    }
}

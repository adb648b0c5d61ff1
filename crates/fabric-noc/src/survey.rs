//! Looks at the chip from window to window of virtual time: what a trace shows of networks, memories and power.
//!
//! The machine counts anyway; a look takes the counts at the end of a window. Windows are short at first and widen as the run goes on, so
//! that a long one has not many more of them than a short one. Looking changes nothing that happens.

use sim::{CYCLE, LinkUse, Place, Server, Time};

use crate::state::State;

/// The width of the first windows.
const FIRST_WIDTH: Time = 1000 * CYCLE;
/// Windows of one width.
const OF_A_WIDTH: u32 = 1024;

/// A window of time.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Sample<'a> {
    /// Its begin.
    pub begin: Time,
    /// Its end.
    pub end: Time,
    /// The mean power in it.
    pub microwatts: u64,
    /// All links of both planes, as [`sim::Machine::links`] has them: what they carried since the start.
    pub links: &'a [LinkUse],
    /// The places, in order.
    pub places: &'a [PlaceSample],
    /// Packets that stand before each memory controller, by I/O subsystem.
    pub ddr: &'a [u32],
}

/// A place at the end of a window.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PlaceSample {
    /// Bytes of its memory in use.
    pub memory: u64,
    /// Transfers that its DMA engines have or that wait for them.
    pub dma: u32,
    /// How long its resource manager has handled letters since the start.
    pub agent: Time,
    /// How long its system core has served calls since the start.
    pub kernel: Time,
}

/// Whoever looks.
pub(crate) struct Survey<'a> {
    show: Option<&'a dyn Fn(&Sample<'_>)>,
    next: Time,
    since: Time,
    width: Time,
    taken: u32,
    controllers: u16,
    places: Vec<PlaceSample>,
    ddr: Vec<u32>,
}

impl<'a> Survey<'a> {
    /// Without `show` nobody looks: the next look is never.
    pub(crate) fn new(show: Option<&'a dyn Fn(&Sample<'_>)>, controllers: u16) -> Survey<'a> {
        let next = if show.is_some() { FIRST_WIDTH } else { Time::MAX };
        Survey {
            show,
            next,
            since: 0,
            width: FIRST_WIDTH,
            taken: 0,
            controllers,
            places: Vec::new(),
            ddr: Vec::new(),
        }
    }

    /// When the next look is due.
    #[inline]
    pub(crate) fn next(&self) -> Time {
        self.next
    }

    /// Looks at the window that ends now; nothing happens before `quiet_until`.
    #[cold]
    pub(crate) fn look(&mut self, state: &State, now: Time, quiet_until: Time) {
        let Some(show) = self.show else { return };
        if now <= self.since {
            return;
        }
        let machine = &state.machine;
        self.places.clear();
        self.places.extend(
            state.scratchpads.used().zip(0..).map(|(memory, place)| (memory, Place(place))).map(
                |(memory, place)| PlaceSample {
                    memory,
                    dma: machine.dma_queue(place),
                    agent: machine.worked(Server::Agent(place), now),
                    kernel: machine.worked(Server::Kernel(place), now),
                },
            ),
        );
        self.ddr.clear();
        self.ddr.extend((0..self.controllers).map(|io| machine.ddr_queue(io)));
        show(&Sample {
            begin: self.since,
            end: now,
            microwatts: machine.mean_power(self.since, now),
            links: machine.links(),
            places: &self.places,
            ddr: &self.ddr,
        });
        self.since = now;
        self.taken += 1;
        if self.taken.is_multiple_of(OF_A_WIDTH) {
            self.width *= 2;
        }
        self.next = (now + self.width).max(quiet_until.saturating_add(1));
    }
}

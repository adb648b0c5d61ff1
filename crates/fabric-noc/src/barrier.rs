//! The machine's own barrier: arrivals are counted, and a fixed time after the last of them all ranks may go on.
//!
//! A meeting that is over is told to each rank by a counter beside those of the signals, so a rank cannot fall asleep on it.

use fabric::{LANES, MachineBarrier};
use sim::{Place, Time};

use crate::cargo::Cargo;
use crate::noc::NocFabric;
use crate::state::{Rest, State};

/// The counter of meetings that are over, in [`Seat::raised`](crate::state::Seat).
const MEETINGS: usize = LANES;

/// The barrier of a job.
#[derive(Clone, Copy)]
pub(crate) struct Meeting {
    /// From the last arrival until all may go on.
    time: Time,
    /// Ranks that meet.
    members: u64,
    arrivals: u64,
}

impl Meeting {
    pub(crate) fn new(time: Time, members: u32) -> Meeting {
        Meeting { time, members: members.into(), arrivals: 0 }
    }
}

impl State {
    /// A rank has arrived: the number of the meeting.
    fn arrive(&mut self, rank: u32) -> u64 {
        let clock = self.seat(rank).clock;
        let meeting = self.barrier.as_mut().expect("a machine with a barrier");
        meeting.arrivals += 1;
        let number = meeting.arrivals.div_ceil(meeting.members);
        if meeting.arrivals.is_multiple_of(meeting.members) {
            let over = clock + meeting.time;
            let token = self.hold.stow(Cargo::Meeting);
            self.machine.timer(over, Place(0), token);
        }
        number
    }

    /// All may go on.
    pub(crate) fn meeting_over(&mut self, at: Time) {
        self.counts.barriers += 1;
        for rank in 0..self.seats.len() as u32 {
            self.seat(rank).raised[MEETINGS] += 1;
            if self.seat(rank).rest == Rest::Parked {
                self.wake(rank, at);
            }
        }
    }
}

impl MachineBarrier for NocFabric {
    fn arrive(&self) -> u64 {
        self.board.settle(self.me);
        self.board.state.borrow_mut().arrive(self.me.0)
    }

    fn passed(&self, meeting: u64) -> bool {
        self.count(MEETINGS) >= meeting
    }
}

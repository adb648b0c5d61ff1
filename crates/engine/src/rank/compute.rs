//! Work, declared or counted: what a program computes on a chip in virtual time, and the hand-over to the agent meanwhile.
//!
//! On a chip with a helper core (the MPPA's resource manager), letters that come while the rank computes are handled there: a
//! grant starts the transfer of a send that the rank has left non-started, a message finds its receive. The rank's own core goes
//! on; only the costs move. Where time is real, computing takes as long as it takes and declaring it does nothing.

use alloc::rc::Rc;

use fabric::Worked;

use crate::progress::tables::watch::{Begin, End};
use crate::rank::Rank;
use crate::values::counted_work::CountedWork;
use crate::values::error::{Error, Result};

impl Rank {
    /// Lets `cores` cores compute for `cycles` cycles each, side by side: this rank's own and others of its place.
    pub fn compute(&self, cycles: u64, cores: u32) -> Result<()> {
        let most = self.fabric().virtual_time().map_or(u32::MAX, |time| time.cores());
        if !(1..=most).contains(&cores) {
            return Err(Error::Cores { given: cores, most });
        }
        self.work(cycles, cores);
        self.lane.core.borrow_mut().check_fault(self.fabric())
    }

    /// From now on the program's own code takes time, if it is counted. Once; later ones are ignored.
    pub fn count_work(&self, counted: Rc<dyn CountedWork>) {
        _ = self.counted.set(counted);
    }

    /// True if the program's own code takes time.
    pub fn counts_work(&self) -> bool {
        self.counted.get().is_some_and(|counted| counted.is_counted())
    }

    /// Lets this rank's core compute what was counted since the last time. To be called before whatever the program may tell the time by.
    pub fn catch_up(&self) {
        match self.counted.get().map(|counted| counted.cycles()) {
            None | Some(0) => {}
            Some(cycles) => self.work(cycles, 1),
        }
    }

    fn work(&self, cycles: u64, cores: u32) {
        self.lane.begins(|| Begin::Work);
        let mut left = cycles;
        let called = || !self.lane.core.borrow().lazies.is_empty();
        // Where time is real there is nothing to simulate.
        while let Some(time) = self.fabric().virtual_time()
            && let Worked::Interrupted { left: rest } = time.work(left, cores, called())
        {
            left = rest;
            // No schedules: their steps may call the program's own reductions, which belong on its own core.
            self.lane.core.borrow_mut().with_agent(self.fabric(), |core| _ = self.lane.progress_with(core));
        }
        self.lane.ends(End::Work);
    }

    /// Says that memory of this rank lies behind an I/O subsystem of the chip. Where time is real there is one memory.
    pub fn lies_behind(&self, base: *const u8, bytes: usize, subsystem: u32) -> Result<()> {
        match self.fabric().virtual_time() {
            Some(time) if !time.lies_behind(base, bytes, subsystem) => Err(Error::Argument {
                reason: "subsystem is none of the chip's I/O subsystems with memory of their own",
                given: subsystem.into(),
            }),
            _ => Ok(()),
        }
    }
}

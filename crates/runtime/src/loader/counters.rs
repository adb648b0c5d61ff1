//! What a program counts of its own computing (`mpicc --count`), as the shim shows it (`shim/count.c`).

use std::cell::Cell;

use engine::CountedWork;
use sim::{CYCLE, Core, KINDS_OF_WORK, Time};

/// Where a rank's program counts its work. The shim writes the address once, before `main`, on the thread that runs the rank.
#[repr(transparent)]
pub struct Counters {
    words: Cell<*const u64>,
}

impl Counters {
    /// Lives for ever: the program may look at it until the process ends.
    fn new() -> &'static Counters {
        Box::leak(Box::new(Counters { words: Cell::new(std::ptr::null()) }))
    }

    /// How much work of each kind there was until now. To be called on the rank's own thread.
    fn read(&self) -> [u64; KINDS_OF_WORK] {
        let words = self.words.get();
        if words.is_null() {
            return [0; KINDS_OF_WORK];
        }
        // SAFETY: the shim's array, which has at least so many words and stays loaded; the program's own code writes it, on this very thread, and does
        // not run now.
        std::array::from_fn(|kind| unsafe { words.add(kind).read_volatile() })
    }
}

/// The time of a rank's counted work, given out as it grows.
pub struct Tally {
    counters: &'static Counters,
    /// What instructions cost; nothing, where nobody says so.
    core: Core,
    /// What was given out.
    charged: Cell<Time>,
}

impl Tally {
    /// Of a rank whose core costs this.
    pub fn new(core: Core) -> Tally {
        Tally { counters: Counters::new(), core, charged: Cell::new(0) }
    }

    /// Where the program is to count.
    pub(crate) fn counters(&self) -> &'static Counters {
        self.counters
    }

    /// All cycles that were given out.
    pub fn total(&self) -> u64 {
        self.charged.get() / CYCLE
    }
}

impl CountedWork for Tally {
    fn is_counted(&self) -> bool {
        !self.counters.words.get().is_null()
    }

    /// Whole cycles; what is left of one comes with the next.
    fn cycles(&self) -> u64 {
        let charged = self.charged.get();
        let cycles = self.core.time(&self.counters.read()).saturating_sub(charged) / CYCLE;
        self.charged.set(charged + cycles * CYCLE);
        cycles
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_of_cycles_are_kept_for_the_next_time() {
        let words: &'static mut [u64; 16] = Box::leak(Box::new([0; 16]));
        let tally = Tally::new(Core { costs: [CYCLE / 2 + 100; KINDS_OF_WORK] });
        assert!(!tally.is_counted() && tally.cycles() == 0, "no program has shown its counters");
        let words = words.as_mut_ptr();
        tally.counters.words.set(words);
        assert!(tally.is_counted());
        for (count, expected) in [(1, 0), (2, 1), (4, 1), (10, 4), (10, 0)] {
            // SAFETY: leaked, and used by this thread alone.
            unsafe { words.write(count) };
            assert_eq!(tally.cycles(), expected, "after {count} instructions");
        }
        assert_eq!(tally.total(), 6);
    }
}

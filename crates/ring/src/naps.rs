//! How long a sender sleeps that waits for room: a moment at first, and longer the longer it waits.
//!
//! Room may be made without anybody telling of it, and a program that only asks whether its sends are done must not be held up for long. But each nap costs some
//! 20 us, so short ones for seconds would be a few percent of a core.

use core::cell::Cell;

/// The first nap of a wait.
const SHORTEST_NS: u64 = 1_000_000;

/// The longest.
const LONGEST_NS: u64 = 10_000_000;

/// The naps of one sender.
#[derive(Default, Debug)]
pub struct Naps {
    /// The round of the last one, and how long it was to be.
    last: Cell<(u32, u64)>,
}

impl Naps {
    /// How long to sleep in this round of a wait, in nanoseconds: an eighth longer than in the round before, if that was spent so, too.
    pub fn next_ns(&self, round: u32) -> u64 {
        let (before, ns) = self.last.get();
        let goes_on = ns > 0 && round == before.wrapping_add(1);
        let next = if goes_on { (ns + ns / 8).min(LONGEST_NS) } else { SHORTEST_NS };
        self.last.set((round, next));
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn naps_grow_from_round_to_round_and_begin_anew_in_another_wait() {
        let naps = Naps::default();
        let first: [u64; 3] = core::array::from_fn(|round| naps.next_ns(5000 + round as u32));
        assert_eq!(first, [SHORTEST_NS, SHORTEST_NS * 9 / 8, SHORTEST_NS * 81 / 64]);
        assert_eq!((5003..5100).map(|round| naps.next_ns(round)).last(), Some(LONGEST_NS));
        assert_eq!(naps.next_ns(5000), SHORTEST_NS);
    }
}

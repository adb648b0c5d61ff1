//! When a sender that waits for room begins to sleep, and for how long: a moment at first, and longer the longer it waits.
//!
//! Room may be made without anybody telling of it, and a program that only asks whether its sends are done must not be held up for long. But each nap costs some
//! 20 us, so short ones for seconds would be a few percent of a core.
//!
//! The clock says when the first is due, not the rounds of the wait: on a busy machine a round is a yield and a switch, and thousands of them a tenth of a second of the processor.

use core::cell::Cell;

/// The first nap of a wait.
const SHORTEST_NS: u64 = 1_000_000;

/// The longest.
const LONGEST_NS: u64 = 10_000_000;

/// For how long a sender waits without a nap: far longer than a receiver needs that is only busy with the letters before.
const AWAKE_NS: u64 = 2_000_000;

/// Rounds of a wait before the clock is looked at: most waits are over by then.
const ROUNDS: u32 = 256;

/// The naps of one sender.
#[derive(Default, Debug)]
pub struct Naps {
    /// The last round of a wait in which the clock was looked at, and when the first was.
    awake: Cell<(u32, u64)>,
    /// The round of the last one, and how long it was to be.
    last: Cell<(u32, u64)>,
}

impl Naps {
    /// True if a wait has lasted so long, in this round, that its next rounds are naps.
    #[inline(always)]
    pub fn are_due(&self, round: u32, now_ns: impl FnOnce() -> u64) -> bool {
        round >= ROUNDS && self.has_lasted(round, now_ns())
    }

    #[cold]
    fn has_lasted(&self, round: u32, now_ns: u64) -> bool {
        let (before, since) = self.awake.get();
        let since = if before > 0 && round == before.wrapping_add(1) { since } else { now_ns };
        self.awake.set((round, since));
        now_ns.saturating_sub(since) >= AWAKE_NS
    }

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
    fn naps_are_due_by_the_clock_however_many_rounds_that_takes() {
        for round_ns in [100, 10_000, 500_000] {
            let naps = Naps::default();
            let first = (0..100_000).find(|round| naps.are_due(*round, || u64::from(*round) * round_ns));
            let lasted = u64::from(first.unwrap() - ROUNDS) * round_ns;
            assert!((AWAKE_NS..AWAKE_NS + round_ns).contains(&lasted), "{lasted} ns in rounds of {round_ns}");
        }
    }

    #[test]
    fn another_wait_is_awake_at_first() {
        let naps = Naps::default();
        assert!((0..=ROUNDS + 3).any(|round| naps.are_due(round, || u64::from(round) * AWAKE_NS)));
        for first in [0, ROUNDS + 1, ROUNDS + 100] {
            let later = 1_000_000 * AWAKE_NS;
            assert!(
                !naps.are_due(first, || later) && !naps.are_due(first + 1, || later + 1),
                "from round {first} on"
            );
        }
    }

    #[test]
    fn naps_grow_from_round_to_round_and_begin_anew_in_another_wait() {
        let naps = Naps::default();
        let first: [u64; 3] = core::array::from_fn(|round| naps.next_ns(5000 + round as u32));
        assert_eq!(first, [SHORTEST_NS, SHORTEST_NS * 9 / 8, SHORTEST_NS * 81 / 64]);
        assert_eq!((5003..5100).map(|round| naps.next_ns(round)).last(), Some(LONGEST_NS));
        assert_eq!(naps.next_ns(5000), SHORTEST_NS);
    }
}

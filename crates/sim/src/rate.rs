//! Time a byte or a flit: a fraction of a tick, because fast links and memories move many bytes in one.
//!
//! Kept in steps of 2^-20 ticks, so whole ticks are exact and 14.8 GB/s are 14.8 GB/s to seven digits.

use crate::Time;

/// Bits of a rate below one tick.
const FRACTION: u32 = 20;

/// Time that each of some things takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Rate(u64);

impl Rate {
    /// Steps of a rate in one tick.
    pub const STEPS: u64 = 1 << FRACTION;

    /// So many whole ticks each.
    pub const fn ticks(ticks: Time) -> Rate {
        Rate(ticks * Rate::STEPS)
    }

    /// So many steps each.
    pub const fn from_steps(steps: u64) -> Rate {
        Rate(steps)
    }

    /// As [`from_steps`](Rate::from_steps) takes it.
    pub const fn steps(self) -> u64 {
        self.0
    }

    /// The time of so many, to the nearest tick.
    #[inline]
    pub const fn of(self, count: u64) -> Time {
        let exact = count as u128 * self.0 as u128;
        ((exact + (Rate::STEPS / 2) as u128) >> FRACTION) as Time
    }

    /// The time of one, if every one is made of so many of these.
    pub const fn times(self, count: u64) -> Rate {
        Rate(self.0.saturating_mul(count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_ticks_are_exact() {
        assert_eq!(Rate::ticks(270).of(1_000_003), 270 * 1_000_003);
        assert_eq!(Rate::ticks(3).times(4), Rate::ticks(12));
        assert_eq!(Rate::default().of(u64::MAX), 0);
    }

    #[test]
    fn many_bytes_pass_in_one_tick() {
        let rate = Rate::from_steps(Rate::STEPS / 8);
        assert_eq!((rate.of(1), rate.of(4), rate.of(80_000)), (0, 1, 10_000));
    }
}

//! The processor's time-stamp counter: a clock that costs a third of the system's, where all cores share it.
//!
//! A trace of short messages reads the clock every few dozen nanoseconds. The counter is used where the kernel itself keeps time by
//! it, which is its word that the counters of all cores agree and never stop. One process measures its frequency for all ranks of
//! a job, so that their times compare exactly.

/// Ticks of the counter in a second, if it is a clock; takes 20 ms.
pub fn frequency() -> Option<u64> {
    #[cfg(target_arch = "x86_64")]
    {
        let source =
            std::fs::read_to_string("/sys/devices/system/clocksource/clocksource0/current_clocksource");
        if source.ok()?.trim() != "tsc" {
            return None;
        }
        let (ticks, time) = both();
        std::thread::sleep(std::time::Duration::from_millis(20));
        let (later_ticks, later) = both();
        let nanoseconds = (later - time).as_nanos();
        u64::try_from(u128::from(later_ticks - ticks) * 1_000_000_000 / nanoseconds).ok()
    }
    #[cfg(not(target_arch = "x86_64"))]
    None
}

/// The counter.
#[inline]
pub(super) fn ticks() -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 processor has the instruction.
    unsafe {
        core::arch::x86_64::_rdtsc()
    }
    #[cfg(not(target_arch = "x86_64"))]
    0
}

/// Both clocks at one instant: the closest of a few tries.
#[cfg(target_arch = "x86_64")]
fn both() -> (u64, std::time::Instant) {
    let attempt = || {
        let before = ticks();
        let time = std::time::Instant::now();
        let after = ticks();
        (after.wrapping_sub(before), before.midpoint(after), time)
    };
    let best = (0..8).map(|_| attempt()).min_by_key(|(width, ..)| *width);
    let (_, ticks, time) = best.expect("there were tries");
    (ticks, time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_measurements_of_the_frequency_agree() {
        if let (Some(one), Some(other)) = (frequency(), frequency()) {
            assert!(one.abs_diff(other) < one / 1000, "{one} Hz, then {other} Hz");
        }
    }
}

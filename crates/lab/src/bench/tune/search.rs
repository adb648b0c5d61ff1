//! Where two ways of doing the same cross: a search by probes, and the decision whether what it has found is worth more than noise.
//!
//! It begins around the built-in value. If the way below the bound is not slower at half of it, and the way above not slower at twice as much, nothing more is asked. Else it
//! goes away from there by factors of four until the other way is quicker or the range ends, and then halves the interval, by its logarithm, until its ends are within a factor of two.

/// One size, both ways.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Probe {
    pub at: u64,
    /// The best time of the way that serves sizes up to the bound, and of the other.
    pub below: f64,
    pub above: f64,
    /// By what share best times differ that should be the same.
    pub noise: f64,
}

/// Less than this share is never told from noise: what two builds, or two boots, of the same may differ by.
pub const LEAST_NOISE: f64 = 0.05;

/// How far from each other the ends of the interval are that is not halved any more.
const CLOSE: f64 = 2.0;

impl Probe {
    /// Whether the way below is quicker here by more than noise, or the other (`Some(false)`).
    fn below_wins(&self) -> Option<bool> {
        let noise = self.noise.max(LEAST_NOISE);
        if self.above > self.below * (1.0 + noise) {
            Some(true)
        } else if self.below > self.above * (1.0 + noise) {
            Some(false)
        } else {
            None
        }
    }

    /// The time with a bound of this value.
    fn with(&self, bound: u64) -> f64 {
        if self.at <= bound { self.below } else { self.above }
    }
}

/// Probes around the crossing, and the value between them: the built-in one if nothing speaks against it. `None`: a probe could not be had.
pub fn crossing(
    built_in: u64,
    (least, most): (u64, u64),
    mut probe: impl FnMut(u64) -> Option<Probe>,
) -> Option<(u64, Vec<Probe>)> {
    let built_in_range = built_in.clamp(least, most);
    let mut probes = Vec::new();
    let mut look = |at: u64| {
        let probed = probe(at)?;
        probes.push(probed);
        Some(probed.below_wins())
    };
    let (half, twice) = ((built_in_range / 2).max(least), built_in_range.saturating_mul(2).min(most));
    // The last size at which the way below wins, and the first at which the other does.
    let ends = if look(half)? == Some(false) {
        let mut high = half;
        loop {
            let low = (high / 4).max(least);
            if low == high {
                break (None, Some(high));
            }
            if look(low)? == Some(true) {
                break (Some(low), Some(high));
            }
            high = low;
        }
    } else if look(twice)? == Some(true) {
        let mut low = twice;
        loop {
            let high = low.saturating_mul(4).min(most);
            if low == high {
                break (Some(low), None);
            }
            if look(high)? == Some(false) {
                break (Some(low), Some(high));
            }
            low = high;
        }
    } else {
        return Some((built_in, probes));
    };
    let found = match ends {
        (Some(mut low), Some(mut high)) => {
            while high as f64 / low as f64 > CLOSE {
                let middle = between(low, high);
                match look(middle)? {
                    Some(true) => low = middle,
                    Some(false) => high = middle,
                    // Either will do.
                    None => (low, high) = (middle, middle),
                }
            }
            between(low, high).max(low)
        }
        // One of them is quicker everywhere.
        (Some(_), None) => most,
        (None, _) => least.saturating_sub(1),
    };
    Some((found, probes))
}

/// The middle of an interval by its logarithm.
fn between(low: u64, high: u64) -> u64 {
    ((low as f64 * high as f64).sqrt().round() as u64).clamp(low, high)
}

/// What is made of the probes of a bound.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Decision {
    /// The value to have from now on.
    pub value: u64,
    /// How many times quicker the calls are that it changes, in the geometric mean; 1 if it changes none.
    pub gain: f64,
    /// What a gain has to be above to count.
    pub noise: f64,
}

/// The one of the found values, or the built-in one, that costs the least time over all probes; another than the built-in one only if it gains more than noise.
pub fn decide(built_in: u64, found: &[u64], probes: &[Probe]) -> Decision {
    let cost = |bound: u64| probes.iter().map(|probe| probe.with(bound).ln()).sum::<f64>();
    let best = found.iter().copied().min_by(|a, b| cost(*a).total_cmp(&cost(*b))).unwrap_or(built_in);
    let changed: Vec<&Probe> =
        probes.iter().filter(|probe| (probe.at <= best) != (probe.at <= built_in)).collect();
    let noise = changed.iter().map(|probe| probe.noise).fold(LEAST_NOISE, f64::max);
    let mean = changed.iter().map(|probe| (probe.with(built_in) / probe.with(best)).ln()).sum::<f64>();
    let gain = (mean / changed.len().max(1) as f64).exp();
    let value = if gain > 1.0 + noise { best } else { built_in };
    Decision { value, gain, noise }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine on which the first way takes 1 and a unit for each byte, and the second `start` and a quarter.
    fn machine(start: f64) -> impl Fn(u64) -> Option<Probe> {
        move |at| {
            let bytes = at as f64 / 1000.0;
            Some(Probe { at, below: 1.0 + bytes, above: start + bytes / 4.0, noise: 0.02 })
        }
    }

    #[test]
    fn a_crossing_is_found_on_either_side_of_the_built_in_value() {
        for (start, expected) in [(1.5, 667), (4.0, 4000), (100.0, 132_000), (5000.0, 6_665_333)] {
            for built_in in [64, 4096, 1 << 20] {
                let (found, probes) = crossing(built_in, (8, 1 << 24), machine(start)).unwrap();
                let ratio = found as f64 / f64::from(expected);
                assert!((0.45..2.2).contains(&ratio), "{found} from {built_in}, expected {expected}");
                assert!(probes.len() < 20, "{}", probes.len());
                let decision = decide(built_in, &[found], &probes);
                if found != built_in {
                    assert!(decision.value == found && decision.gain > 1.05, "{decision:?}");
                }
            }
        }
    }

    #[test]
    fn a_built_in_value_that_is_right_takes_two_probes() {
        let (found, probes) = crossing(4096, (8, 1 << 24), machine(4.0)).unwrap();
        assert_eq!((found, probes.len()), (4096, 2));
        assert_eq!(decide(4096, &[found], &probes), Decision { value: 4096, gain: 1.0, noise: LEAST_NOISE });
    }

    #[test]
    fn a_way_that_is_always_quicker_moves_the_bound_to_the_end_of_the_range() {
        let constant = |below, above| move |at| Some(Probe { at, below, above, noise: 0.0 });
        assert_eq!(crossing(64, (8, 4096), constant(1.0, 2.0)).unwrap().0, 4096);
        assert_eq!(crossing(64, (8, 4096), constant(2.0, 1.0)).unwrap().0, 7);
    }

    #[test]
    fn what_is_within_noise_changes_nothing() {
        let same = |at| Some(Probe { at, below: 1.0, above: 1.04, noise: 0.01 });
        assert_eq!(crossing(64, (8, 4096), same).unwrap().0, 64);
        let noisy = [Probe { at: 256, below: 1.0, above: 1.3, noise: 0.4 }];
        assert_eq!(decide(64, &[512], &noisy).value, 64);
    }

    #[test]
    fn of_several_crossings_the_one_counts_that_costs_least_in_all() {
        let near = [Probe { at: 100, below: 1.0, above: 1.2, noise: 0.0 }];
        let far = [Probe { at: 1000, below: 9.0, above: 1.0, noise: 0.0 }];
        let probes: Vec<Probe> = near.into_iter().chain(far).collect();
        assert_eq!(decide(10, &[200, 2000], &probes).value, 200);
    }

    #[test]
    fn a_probe_that_fails_ends_the_search() {
        assert_eq!(crossing(64, (8, 4096), |_| None), None);
    }
}

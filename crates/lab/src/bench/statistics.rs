//! What samples say: their median, and an interval that holds the median of all that could have been measured.
//!
//! The interval is that of order statistics: of `n` samples in order, the true median lies between the `k`th from either end with the probability that of `n` throws of a
//! coin at least `k` fall on either side. Nothing is assumed of how the samples are distributed, which is wise on machines that others use, too.

use serde::{Deserialize, Serialize};

/// The confidence that an interval has if there are enough samples.
const WANTED: f64 = 0.9;

/// Between which samples the median lies, and how sure that is.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Interval {
    pub low: f64,
    pub median: f64,
    pub high: f64,
    /// The probability that the interval holds the median.
    pub confidence: f64,
}

impl Interval {
    /// Half of its width, as a share of the median.
    pub fn spread(&self) -> f64 {
        if self.median == 0.0 { 0.0 } else { (self.high - self.low) / 2.0 / self.median.abs() }
    }

    /// Whether both may be the same.
    pub fn meets(&self, other: &Interval) -> bool {
        self.low <= other.high && other.low <= self.high
    }
}

/// The narrowest such interval of at least 90 %; of fewer than five samples the widest, which is less sure. `None` without samples.
pub fn interval(samples: &[f64]) -> Option<Interval> {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let count = sorted.len();
    let outermost = 1;
    let rank = (outermost..=count.div_ceil(2)).rev().find(|rank| confidence(count, *rank) >= WANTED);
    let rank = rank.unwrap_or(outermost);
    let (low, high) = (*sorted.get(rank - 1)?, *sorted.get(count.checked_sub(rank)?)?);
    Some(Interval { low, median: median(&sorted), high, confidence: confidence(count, rank) })
}

/// Of samples in order.
fn median(sorted: &[f64]) -> f64 {
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[middle] } else { (sorted[middle - 1] + sorted[middle]) / 2.0 }
}

/// The probability that the median lies between the samples of this rank from either end.
fn confidence(count: usize, rank: usize) -> f64 {
    // The binomial coefficients of `count`, one after the other, over all ways in which the coin can fall.
    let (mut ways, mut outside) = (0.5f64.powi(count as i32), 0.0);
    for heads in 0..rank {
        outside += ways;
        ways *= (count - heads) as f64 / (heads + 1) as f64;
    }
    (1.0 - 2.0 * outside).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_samples_hold_their_median_with_fifteen_sixteenths() {
        let found = interval(&[5.0, 1.0, 3.0, 2.0, 4.0]).unwrap();
        assert_eq!(found, Interval { low: 1.0, median: 3.0, high: 5.0, confidence: 0.9375 });
    }

    #[test]
    fn more_samples_leave_outliers_out() {
        let samples: Vec<f64> = (1..=8).map(f64::from).chain([1000.0]).collect();
        let found = interval(&samples).unwrap();
        // Nine throws: at least two on either side, 1 - 2 (1 + 9) / 512.
        assert_eq!((found.low, found.median, found.high), (2.0, 5.0, 8.0));
        assert!((found.confidence - (1.0 - 20.0 / 512.0)).abs() < 1e-12, "{found:?}");
    }

    #[test]
    fn few_samples_give_an_interval_that_says_how_little_it_knows() {
        assert_eq!(interval(&[]), None);
        assert_eq!(interval(&[7.0]).unwrap().confidence, 0.0);
        let two = interval(&[2.0, 4.0]).unwrap();
        assert_eq!((two.low, two.median, two.high, two.confidence), (2.0, 3.0, 4.0, 0.5));
    }

    #[test]
    fn intervals_meet_if_they_have_a_value_in_common() {
        let of = |low, high| Interval { low, median: low, high, confidence: 0.9 };
        assert!(of(1.0, 2.0).meets(&of(2.0, 3.0)) && of(2.0, 3.0).meets(&of(1.0, 2.0)));
        assert!(of(1.0, 9.0).meets(&of(3.0, 4.0)) && !of(1.0, 2.0).meets(&of(2.1, 3.0)));
    }

    #[test]
    fn the_spread_is_half_the_width_over_the_median() {
        assert_eq!(interval(&[9.0, 10.0, 11.0]).unwrap().spread(), 0.1);
        assert_eq!(interval(&[0.0]).unwrap().spread(), 0.0);
    }
}

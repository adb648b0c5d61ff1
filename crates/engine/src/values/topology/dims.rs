//! Dimensions for a number of members (MPI_Dims_create, MPI section 8.5.2).

use alloc::vec::Vec;

/// More factors than any number of 32 bits has: what comes after is ones.
const MOST: usize = 32;

/// `count` factors of `nodes`, none smaller than the next, as close to each other as there are: the largest and the smallest differ least, and of
/// those that do, the sum is the smallest.
pub fn balanced(nodes: u32, count: usize) -> Vec<u32> {
    let mut search = Search {
        divisors: divisors_of(nodes),
        chosen: Vec::new(),
        best: Vec::new(),
        key: (u32::MAX, u64::MAX),
    };
    if count > 0 {
        search.choose(nodes, count.min(MOST));
    }
    search.best.reverse();
    search.best.resize(count, 1);
    search.best
}

/// Factors are chosen from the smallest to the largest, those near the root of what is left first: so a good choice is found at once, and what
/// cannot come near to it is not followed.
struct Search {
    divisors: Vec<u32>,
    chosen: Vec<u32>,
    best: Vec<u32>,
    /// How far apart the best are, and their sum.
    key: (u32, u64),
}

impl Search {
    /// Chooses `left` factors of `rest`.
    fn choose(&mut self, rest: u32, left: usize) {
        let low = self.chosen.last().copied().unwrap_or(1);
        if left == 1 {
            let smallest = self.chosen.first().copied().unwrap_or(rest);
            let sum = self.chosen.iter().map(|factor| u64::from(*factor)).sum::<u64>() + u64::from(rest);
            // Of equals, those with the larger factors in front.
            let key = (rest - smallest, sum);
            let is_larger = || self.chosen.iter().chain([&rest]).rev().gt(self.best.iter().rev());
            if key < self.key || key == self.key && is_larger() {
                self.key = key;
                self.best.clone_from(&self.chosen);
                self.best.push(rest);
            }
            return;
        }
        let fits = |factor: u32| power(factor, left) <= u64::from(rest);
        for index in (0..self.divisors.partition_point(|divisor| fits(*divisor))).rev() {
            let factor = self.divisors[index];
            if factor < low {
                break;
            }
            if !rest.is_multiple_of(factor) {
                continue;
            }
            // The largest is at least the root of what is left, and smaller factors leave more.
            let smallest = self.chosen.first().copied().unwrap_or(factor);
            let largest = smallest.saturating_add(self.key.0);
            if power(largest, left - 1) < u64::from(rest / factor) {
                break;
            }
            self.chosen.push(factor);
            self.choose(rest / factor, left - 1);
            self.chosen.pop();
        }
    }
}

fn power(base: u32, exponent: usize) -> u64 {
    u64::from(base).saturating_pow(exponent as u32)
}

fn divisors_of(number: u32) -> Vec<u32> {
    let (mut small, mut large) = (Vec::new(), Vec::new());
    let mut divisor = 1_u64;
    while divisor * divisor <= u64::from(number) {
        if u64::from(number).is_multiple_of(divisor) {
            small.push(divisor as u32);
            if divisor * divisor != u64::from(number) {
                large.insert(0, number / divisor as u32);
            }
        }
        divisor += 1;
    }
    small.append(&mut large);
    small
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_are_close_to_each_other_and_in_order() {
        for (nodes, count, expected) in [
            (1, 3, &[1, 1, 1][..]),
            (12, 2, &[4, 3]),
            (16, 3, &[4, 2, 2]),
            (24, 3, &[4, 3, 2]),
            (36, 3, &[4, 3, 3]),
            (64, 3, &[4, 4, 4]),
            (7, 2, &[7, 1]),
            (60, 4, &[5, 3, 2, 2]),
            (1024, 5, &[4, 4, 4, 4, 4]),
            (6, 0, &[]),
            // As far apart as 20, 18, 14 and with the same sum.
            (5040, 3, &[21, 16, 15]),
        ] {
            assert_eq!(balanced(nodes, count), expected, "{nodes} in {count} dimensions");
        }
    }

    #[test]
    fn numbers_with_many_divisors_in_many_dimensions_take_no_time() {
        let factors = balanced(2_095_133_040, 12);
        assert_eq!(factors.iter().map(|factor| u64::from(*factor)).product::<u64>(), 2_095_133_040);
        assert!(factors.is_sorted_by(|a, b| a >= b));
        let prime = balanced(2_147_483_647, 3);
        assert_eq!(prime, [2_147_483_647, 1, 1]);
    }
}

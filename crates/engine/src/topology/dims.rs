//! Dimensions for a number of members (MPI_Dims_create, MPI section 8.5.2).

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// `count` factors of `nodes`, none smaller than the next, as close to each other as there are: those with the smallest sum.
pub fn balanced(nodes: u32, count: usize) -> Vec<u32> {
    let divisors: Vec<u32> = divisors_of(nodes);
    let mut known = BTreeMap::new();
    let mut factors = smallest(nodes, count, &divisors, &mut known).1;
    factors.sort_unstable_by(|a, b| b.cmp(a));
    factors
}

fn divisors_of(number: u32) -> Vec<u32> {
    let small = (1..).take_while(|divisor| divisor * divisor <= u64::from(number));
    let small: Vec<u64> = small.filter(|divisor| u64::from(number) % divisor == 0).collect();
    let large = small.iter().rev().map(|divisor| u64::from(number) / divisor);
    let mut all: Vec<u32> = small.iter().copied().chain(large).map(|divisor| divisor as u32).collect();
    all.dedup();
    all
}

/// Factors with the smallest sum, and that sum; of a number that divides the one whose divisors are given.
fn smallest(
    number: u32,
    count: usize,
    divisors: &[u32],
    known: &mut BTreeMap<(u32, usize), (u64, Vec<u32>)>,
) -> (u64, Vec<u32>) {
    if count <= 1 || number == 1 {
        let mut factors = alloc::vec![1; count];
        if let Some(first) = factors.first_mut() {
            *first = number;
        }
        return (factors.iter().map(|factor| u64::from(*factor)).sum(), factors);
    }
    if let Some(found) = known.get(&(number, count)) {
        return found.clone();
    }
    let mut best: Option<(u64, Vec<u32>)> = None;
    for &factor in
        divisors.iter().take_while(|factor| **factor <= number).filter(|factor| number % **factor == 0)
    {
        // Only of what could still be better.
        if best.as_ref().is_some_and(|(sum, _)| u64::from(factor) >= *sum) {
            break;
        }
        let (sum, mut factors) = smallest(number / factor, count - 1, divisors, known);
        let sum = sum + u64::from(factor);
        if best.as_ref().is_none_or(|(known, _)| sum < *known) {
            factors.push(factor);
            best = Some((sum, factors));
        }
    }
    let best = best.expect("every number is divided by one");
    known.insert((number, count), best.clone());
    best
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

//! Dimensions for a number of members (MPI_Dims_create, MPI section 8.5.2).

use alloc::vec::Vec;

/// `count` factors of `nodes`, none smaller than the next, as close to each other as there are: those with the smallest sum.
pub fn balanced(nodes: u32, count: usize) -> Vec<u32> {
    let divisors: Vec<u32> = divisors_of(nodes);
    // For each divisor the smallest sum of so many factors, and the last of these.
    let mut known: Vec<Vec<(u64, u32)>> = Vec::new();
    for factors in 1..=count {
        let best = |index: usize| {
            let number = divisors[index];
            if factors == 1 {
                return (u64::from(number), number);
            }
            let mut best = (u64::MAX, number);
            for &factor in &divisors[..=index] {
                let rest = number / factor;
                if !number.is_multiple_of(factor) || u64::from(factor) >= best.0 {
                    continue;
                }
                let Ok(place) = divisors.binary_search(&rest) else { continue };
                let sum = known[factors - 2][place].0 + u64::from(factor);
                if sum < best.0 {
                    best = (sum, factor);
                }
            }
            best
        };
        let row = (0..divisors.len()).map(best).collect();
        known.push(row);
    }
    let mut chosen: Vec<u32> = Vec::with_capacity(count);
    let mut left = nodes;
    for row in known.iter().rev() {
        let factor = divisors.binary_search(&left).map_or(1, |place| row[place].1);
        left /= factor;
        // Kept in order: there are few.
        let place = chosen.iter().position(|other| *other < factor).unwrap_or(chosen.len());
        chosen.insert(place, factor);
    }
    chosen
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

//! Grids (MPI section 8.5.1). Members are numbered in row-major order: the last dimension varies fastest.

use alloc::vec;
use alloc::vec::Vec;

use super::Neighbor;

/// A grid: of how many members in each dimension, and which dimensions are circles.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cart {
    dims: Vec<u32>,
    periods: Vec<bool>,
}

impl Cart {
    /// A grid with these dimensions; nothing if it has more members than can be numbered.
    pub fn new(dims: &[u32], periods: &[bool]) -> Option<Cart> {
        assert_eq!(dims.len(), periods.len(), "a period for each dimension");
        dims.iter().try_fold(1_u32, |size, dim| size.checked_mul(*dim))?;
        Some(Cart { dims: dims.to_vec(), periods: periods.to_vec() })
    }

    /// Members. A grid without dimensions has one.
    pub fn size(&self) -> u32 {
        self.dims.iter().product()
    }

    /// Dimensions.
    pub fn dimensions(&self) -> usize {
        self.dims.len()
    }

    /// Members in each dimension.
    pub fn dims(&self) -> &[u32] {
        &self.dims
    }

    /// Which dimensions are circles.
    pub fn periods(&self) -> &[bool] {
        &self.periods
    }

    /// Where a member is.
    pub fn coordinates(&self, rank: u32) -> Vec<u32> {
        let mut coordinates = vec![0; self.dims.len()];
        let mut left = rank;
        for (coordinate, dim) in coordinates.iter_mut().zip(&self.dims).rev() {
            *coordinate = left % dim;
            left /= dim;
        }
        coordinates
    }

    /// Who is there. In a circle every number is a place; elsewhere the first dimension whose number is none is the error.
    pub fn rank(&self, coordinates: &[i64]) -> Result<u32, usize> {
        let mut rank = 0;
        for (index, (&dim, &periodic)) in self.dims.iter().zip(&self.periods).enumerate() {
            let given = coordinates[index];
            let place = if periodic { given.rem_euclid(i64::from(dim)) } else { given };
            if !(0..i64::from(dim)).contains(&place) {
                return Err(index);
            }
            rank = rank * dim + place as u32;
        }
        Ok(rank)
    }

    /// The member some steps along a dimension.
    fn along(&self, rank: u32, dimension: usize, steps: i64) -> Neighbor {
        let stride: u32 = self.dims[dimension + 1..].iter().product();
        let dim = i64::from(self.dims[dimension]);
        let here = i64::from(rank / stride) % dim;
        let there = here.checked_add(steps)?;
        let place = if self.periods[dimension] { there.rem_euclid(dim) } else { there };
        (0..dim).contains(&place).then(|| (i64::from(rank) + (place - here) * i64::from(stride)) as u32)
    }

    /// From whom, and to whom, data moves that all members shift by so many steps along a dimension.
    pub fn shift(&self, rank: u32, dimension: usize, steps: i64) -> (Neighbor, Neighbor) {
        let back = steps.checked_neg().and_then(|back| self.along(rank, dimension, back));
        (back, self.along(rank, dimension, steps))
    }

    /// The neighbours of a member: in each dimension the one before it and the one behind it.
    pub fn neighbors(&self, rank: u32) -> Vec<Neighbor> {
        let around = |dimension| [self.along(rank, dimension, -1), self.along(rank, dimension, 1)];
        (0..self.dims.len()).flat_map(around).collect()
    }

    /// The grid of the dimensions that remain, which of those grids a member is in, and its place there.
    pub fn sub(&self, rank: u32, remain: &[bool]) -> (Cart, u32, u32) {
        let (mut which, mut place) = (0, 0);
        for ((&dim, &remains), coordinate) in self.dims.iter().zip(remain).zip(self.coordinates(rank)) {
            let number = if remains { &mut place } else { &mut which };
            *number = *number * dim + coordinate;
        }
        let kept = |index: &usize| remain[*index];
        let grid = Cart {
            dims: (0..self.dims.len()).filter(kept).map(|index| self.dims[index]).collect(),
            periods: (0..self.dims.len()).filter(kept).map(|index| self.periods[index]).collect(),
        };
        (grid, which, place)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn places_and_ranks_are_each_others_inverse_and_shifts_meet(
            dims in proptest::collection::vec((1u32..5, any::<bool>()), 0..4),
            steps in -6i64..6,
        ) {
            let (dims, periods): (Vec<u32>, Vec<bool>) = dims.into_iter().unzip();
            let cart = Cart::new(&dims, &periods).expect("small");
            for rank in 0..cart.size() {
                let place: Vec<i64> = cart.coordinates(rank).into_iter().map(i64::from).collect();
                prop_assert_eq!(cart.rank(&place), Ok(rank));
                for dimension in 0..dims.len() {
                    let (from, to) = cart.shift(rank, dimension, steps);
                    let mut moved = place.clone();
                    moved[dimension] += steps;
                    prop_assert_eq!(to, cart.rank(&moved).ok());
                    if let Some(to) = to {
                        prop_assert_eq!(cart.shift(to, dimension, steps).0, Some(rank));
                    }
                    if let Some(from) = from {
                        prop_assert_eq!(cart.shift(from, dimension, steps).1, Some(rank));
                    }
                }
            }
        }

        #[test]
        fn the_grids_that_remain_cover_all_members_once(
            dims in proptest::collection::vec((1u32..5, any::<bool>()), 1..4),
        ) {
            let (sizes, remain): (Vec<u32>, Vec<bool>) = dims.into_iter().unzip();
            let cart = Cart::new(&sizes, &remain).expect("small");
            let mut seen = alloc::collections::BTreeSet::new();
            for rank in 0..cart.size() {
                let (grid, which, place) = cart.sub(rank, &remain);
                prop_assert!(place < grid.size());
                prop_assert!(which < cart.size() / grid.size());
                prop_assert!(seen.insert((which, place)));
            }
        }
    }

    #[test]
    fn a_coordinate_beyond_the_edge_is_nobody_unless_the_dimension_is_a_circle() {
        let cart = Cart::new(&[3, 4], &[true, false]).expect("small");
        assert_eq!(cart.rank(&[-1, 3]), Ok(11));
        assert_eq!(cart.rank(&[0, 4]), Err(1));
        assert_eq!(cart.neighbors(0), [Some(8), Some(4), None, Some(1)]);
        assert_eq!(cart.shift(0, 1, i64::MIN), (None, None));
    }
}

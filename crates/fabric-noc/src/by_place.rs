//! Something for each place that a rank has to do with: room for those that it has met, however many the chip has.
//!
//! Invariant: sorted by place, each at most once. A rank meets few places, or meets them in order, so that inserting seldom moves anything.

use sim::Place;

/// What a rank keeps of places; a default where it has nothing yet.
pub(crate) struct ByPlace<T>(Vec<(Place, T)>);

impl<T: Default> ByPlace<T> {
    pub(crate) const fn new() -> ByPlace<T> {
        ByPlace(Vec::new())
    }

    pub(crate) fn of(&mut self, place: Place) -> &mut T {
        let at = match self.0.binary_search_by_key(&place, |(met, _)| *met) {
            Ok(at) => at,
            Err(free) => {
                self.0.insert(free, (place, T::default()));
                free
            }
        };
        &mut self.0[at].1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_keeps_its_own_and_only_places_that_were_met_take_room() {
        let mut kept: ByPlace<u64> = ByPlace::new();
        for place in [7, 4000, 0, 7, 9] {
            *kept.of(Place(place)) += u64::from(place) + 1;
        }
        let expected = [(0, 1), (7, 16), (9, 10), (4000, 4001)].map(|(place, sum)| (Place(place), sum));
        assert_eq!(kept.0, expected);
    }
}

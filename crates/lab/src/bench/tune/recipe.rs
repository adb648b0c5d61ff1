//! What each bound separates, and how to have one side or the other whatever the size: by the name of an algorithm, by a bound that is out of the way, or by a limit of messages.

use runtime::{BOUNDS_VARIABLE, Bound, Bounds, Settings};

use cli::profile;

/// What a profile can set.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Number {
    Bound(Bound),
    /// Of messages between processes.
    Limit(&'static str),
}

impl Number {
    /// As profiles write it.
    pub fn name(self) -> &'static str {
        match self {
            Number::Bound(bound) => profile::name(bound),
            Number::Limit(name) => name,
        }
    }

    /// The value that no profile is needed for.
    pub fn built_in(self) -> u64 {
        match self {
            Number::Bound(bound) => Bounds::BUILT_IN.get(bound),
            Number::Limit(name) => {
                let settings = Settings::read(|_| None).expect("nothing is set");
                settings.tuning_of_processes().get(name).unwrap_or_default() as u64
            }
        }
    }
}

/// The two sides of a bound.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Sides {
    /// The algorithm up to the bound, and the one above it.
    Algorithms(&'static str, &'static str),
    /// Of a number that is out of the way: all sizes are on one side of it.
    Moved,
}

/// What goes from below the bound to above.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Axis {
    /// The bytes of a call, from the first to the second of these.
    Bytes(u64, u64),
    /// As `Bytes`, where the bound is about the blocks of all members together.
    Together(u64, u64),
    /// The members of a call of so many bytes.
    Members(u64),
}

/// How a number is measured.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Recipe {
    pub number: Number,
    /// The calls that it is about.
    pub calls: &'static [&'static str],
    pub sides: Sides,
    pub axis: Axis,
    /// Members for which the number has a meaning: at least and at most so many.
    pub members: (u32, u32),
    /// What ranks are.
    pub ranks: &'static str,
}

impl Recipe {
    const fn of(number: Number, calls: &'static [&'static str], sides: Sides, axis: Axis) -> Recipe {
        Recipe { number, calls, sides, axis, members: (2, u32::MAX), ranks: "process" }
    }

    const fn between(self, least: u32, most: u32) -> Recipe {
        Recipe { members: (least, most), ..self }
    }

    const fn by_fibers(self) -> Recipe {
        Recipe { ranks: "fiber", ..self }
    }

    /// Numbers of members to measure with, on so many cores: 2, one for each core, four for each; or the least that the number has a meaning for.
    pub fn sizes(&self, cores: u32) -> Vec<u32> {
        let (least, most) = self.members;
        let mut sizes: Vec<u32> =
            [2, cores, 4 * cores].into_iter().filter(|size| (least..=most).contains(size)).collect();
        sizes.dedup();
        if sizes.is_empty() { vec![least] } else { sizes }
    }

    /// The variables that have a call on the side below, or above.
    pub fn environment(&self, call: &str, above: bool) -> (String, String) {
        let out_of_the_way = |is_most: bool| if is_most { OUT_OF_THE_WAY } else { 0 };
        match (self.sides, self.number) {
            (Sides::Algorithms(low, high), _) => {
                let variable = format!("CORELACE_{}_ALGORITHM", call.to_uppercase());
                (variable, if above { high } else { low }.to_owned())
            }
            (Sides::Moved, Number::Bound(bound)) => {
                let mut bounds = Bounds::BUILT_IN;
                bounds.set(bound, out_of_the_way(!above));
                (BOUNDS_VARIABLE.to_owned(), profile::list(&bounds))
            }
            (Sides::Moved, Number::Limit(name)) => {
                (profile::variable(name), out_of_the_way(!above).to_string())
            }
        }
    }
}

/// More than any size that is measured.
const OUT_OF_THE_WAY: u64 = 1 << 30;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// For any number of members.
const MOST: u32 = u32::MAX;

const fn algorithms(low: &'static str, high: &'static str) -> Sides {
    Sides::Algorithms(low, high)
}

/// All that is measured. What a bound of the tables separates is forced by the algorithms' names, which go by messages; boards are measured by their own bounds.
pub const RECIPES: [Recipe; 21] = {
    use Bound::*;
    use Number::{Bound as Of, Limit};
    [
        Recipe::of(Of(BoardBcastRoomBytes), &["bcast"], Sides::Moved, Axis::Bytes(KIB, 128 * KIB)),
        Recipe::of(
            Of(BoardBlockRoomBytes),
            &["allgather", "reduce"],
            Sides::Moved,
            Axis::Bytes(512, 32 * KIB),
        ),
        Recipe::of(Of(BoardDirectRoomBytes), &["gather", "reduce"], Sides::Moved, Axis::Bytes(512, 32 * KIB))
            .by_fibers(),
        Recipe::of(
            Of(BoardNearBlockBytes),
            &["allgather", "alltoall"],
            Sides::Moved,
            Axis::Bytes(256, 4 * KIB),
        )
        .by_fibers(),
        Recipe::of(Of(BoardFarBlockBytes), &["alltoall"], Sides::Moved, Axis::Bytes(512, 4 * KIB))
            .between(64, MOST),
        Recipe::of(Limit("eager_max"), &["message"], Sides::Moved, Axis::Bytes(KIB, 64 * KIB)).between(2, 2),
        Recipe::of(Limit("share_min"), &["message"], Sides::Moved, Axis::Bytes(8 * KIB, MIB)).between(2, 2),
        Recipe::of(
            Of(BarrierExchangeMembers),
            &["barrier"],
            algorithms("dissemination", "tree"),
            Axis::Members(0),
        ),
        Recipe::of(
            Of(AllreduceExchangeMembers),
            &["allreduce"],
            algorithms("recursive_doubling", "tree"),
            Axis::Members(8),
        ),
        Recipe::of(
            Of(AllgatherExchangeMembers),
            &["allgather"],
            algorithms("bruck", "tree"),
            Axis::Members(8),
        ),
        Recipe::of(
            Of(AllreduceShortBytes),
            &["allreduce"],
            algorithms("tree", "halving_doubling"),
            Axis::Bytes(KIB, 256 * KIB),
        )
        .between(3, MOST),
        Recipe::of(
            Of(AllgatherExchangeBytes),
            &["allgather"],
            algorithms("bruck", "ring"),
            Axis::Together(KIB, MIB),
        )
        .between(2, 4),
        Recipe::of(
            Of(AllgatherRoundBytes),
            &["allgather"],
            algorithms("tree", "ring"),
            Axis::Bytes(256, 64 * KIB),
        )
        .between(5, MOST),
        Recipe::of(
            Of(AllgathervRoundBytes),
            &["allgatherv"],
            algorithms("gather_bcast", "ring"),
            Axis::Bytes(256, 64 * KIB),
        )
        .between(4, MOST),
        Recipe::of(
            Of(BcastTreeBytes),
            &["bcast"],
            algorithms("binomial", "scatter_ring"),
            Axis::Bytes(16 * KIB, 4 * MIB),
        )
        .between(8, 64),
        Recipe::of(
            Of(ReduceTreeBytes),
            &["reduce"],
            algorithms("binomial", "halving_gather"),
            Axis::Bytes(4 * KIB, MIB),
        )
        .between(4, 64),
        Recipe::of(
            Of(ReduceScatterRoundBytes),
            &["reduce_scatter"],
            algorithms("reduce_scatterv", "pairwise"),
            Axis::Bytes(128, 64 * KIB),
        )
        .between(4, MOST),
        Recipe::of(
            Of(AlltoallBruckBytes),
            &["alltoall"],
            algorithms("bruck", "direct"),
            Axis::Bytes(8, 4 * KIB),
        )
        .between(8, MOST),
        Recipe::of(
            Of(AlltoallDirectBytes),
            &["alltoall"],
            algorithms("direct", "pairwise"),
            Axis::Bytes(KIB, 256 * KIB),
        )
        .between(3, 64),
        Recipe::of(
            Of(GatherTreeBytes),
            &["gather"],
            algorithms("binomial", "linear"),
            Axis::Bytes(128, 64 * KIB),
        )
        .between(3, MOST),
        Recipe::of(
            Of(ScatterTreeBytes),
            &["scatter"],
            algorithms("binomial", "linear"),
            Axis::Bytes(128, 64 * KIB),
        )
        .between(3, MOST),
    ]
};

#[cfg(test)]
mod tests {
    use super::*;

    use runtime::variables::{Setting, Values, controls};

    #[test]
    fn every_algorithm_of_a_recipe_is_one_of_its_collective() {
        for recipe in RECIPES {
            let Sides::Algorithms(low, high) = recipe.sides else { continue };
            for call in recipe.calls {
                let control = controls()
                    .iter()
                    .find(|control| matches!(control.setting, Setting::Algorithm(name) if name == *call));
                let Some(Values::Choice(known)) = control.map(|control| &control.values) else {
                    panic!("{call}")
                };
                assert!(known.contains(&low) && known.contains(&high), "{call}: {low}, {high}");
            }
        }
    }

    #[test]
    fn a_built_in_value_lies_where_it_is_measured() {
        for recipe in RECIPES {
            let value = recipe.number.built_in();
            if let Axis::Bytes(low, high) | Axis::Together(low, high) = recipe.axis {
                assert!((low..=high).contains(&value), "{}: {value}", recipe.number.name());
            }
        }
    }

    #[test]
    fn members_are_those_that_the_bound_has_a_meaning_for() {
        let of = |bound| RECIPES.into_iter().find(|recipe| recipe.number == Number::Bound(bound)).unwrap();
        assert_eq!(of(Bound::BoardBcastRoomBytes).sizes(2), [2, 8]);
        assert_eq!(of(Bound::BoardBcastRoomBytes).sizes(16), [2, 16, 64]);
        assert_eq!(of(Bound::AllreduceShortBytes).sizes(2), [8]);
        assert_eq!(of(Bound::BoardFarBlockBytes).sizes(2), [64]);
    }

    #[test]
    fn both_sides_are_forced_by_one_variable() {
        let of = |name| RECIPES.into_iter().find(|recipe| recipe.number.name() == name).unwrap();
        let barrier = of("barrier.exchange-members");
        let variable = "CORELACE_BARRIER_ALGORITHM".to_owned();
        assert_eq!(barrier.environment("barrier", false), (variable.clone(), "dissemination".into()));
        assert_eq!(barrier.environment("barrier", true), (variable, "tree".into()));
        assert_eq!(of("eager_max").environment("message", true), ("CORELACE_EAGER_MAX".into(), "0".into()));
        let (variable, list) = of("board.bcast-room-bytes").environment("bcast", false);
        assert_eq!(variable, "CORELACE_BOUNDS");
        assert_eq!(Bounds::read(&list).unwrap().get(Bound::BoardBcastRoomBytes), OUT_OF_THE_WAY);
    }
}

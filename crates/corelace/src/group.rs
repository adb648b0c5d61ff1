//! Ordered sets of ranks (MPI section 7.3).

use crate::address::number;
use crate::error::Result;

/// An ordered set of ranks, from which [`Communicator::create`](crate::Communicator::create) makes a communicator. Working
/// with groups is local: no other rank takes part.
///
/// ```
/// corelace::run(6, |world| {
///     let all = world.group();
///     let even = all.include(&[0, 2, 4]).unwrap();
///     let low = all.include(&[0, 1, 2]).unwrap();
///     assert_eq!(even.intersection(&low).size(), 2);
///     assert_eq!(even.union(&low).size(), 4);
///     assert_eq!(all.translate(4, &even), Some(2));
///     assert_eq!(all.translate(5, &even), None);
/// })?;
/// # Ok::<(), corelace::RunError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Group(pub(crate) engine::Group);

impl Group {
    /// How many ranks there are.
    pub fn size(&self) -> usize {
        self.0.size() as usize
    }

    /// The members with these ranks, in this order (MPI_Group_incl).
    pub fn include(&self, ranks: &[usize]) -> Result<Group> {
        Ok(Group(self.0.include(&numbers(ranks))?))
    }

    /// The members without these ranks, in their order (MPI_Group_excl).
    pub fn exclude(&self, ranks: &[usize]) -> Result<Group> {
        Ok(Group(self.0.exclude(&numbers(ranks))?))
    }

    /// All members of this group, then those of the other that are not in it (MPI_Group_union).
    pub fn union(&self, other: &Group) -> Group {
        Group(self.0.union(&other.0))
    }

    /// The members that are in the other group, too, in this group's order (MPI_Group_intersection).
    pub fn intersection(&self, other: &Group) -> Group {
        Group(self.0.intersection(&other.0))
    }

    /// The members that are not in the other group (MPI_Group_difference).
    pub fn difference(&self, other: &Group) -> Group {
        Group(self.0.difference(&other.0))
    }

    /// The rank that member `rank` of this group has in another one (MPI_Group_translate_ranks).
    pub fn translate(&self, rank: usize, other: &Group) -> Option<usize> {
        let node = self.0.node(u32::try_from(rank).ok()?)?;
        other.0.rank_of(node).map(|rank| rank as usize)
    }
}

impl PartialEq for Group {
    /// The same ranks in the same order.
    fn eq(&self, other: &Group) -> bool {
        self.0.compare(&other.0) == engine::GroupComparison::Identical
    }
}

impl Eq for Group {}

fn numbers(ranks: &[usize]) -> Vec<i64> {
    ranks.iter().copied().map(number).collect()
}

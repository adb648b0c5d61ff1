//! Ordered sets of ranks (MPI section 7.3).

use std::marker::PhantomData;

use crate::address::number;
use crate::communicator::{Communicator, Comparison};
use crate::error::{Error, Result};
use crate::kind::Kind;

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
///     assert_eq!(even, all.range(0, 5, 2).unwrap());
///     assert_eq!(even.compare(&all.range(4, 0, -2).unwrap()), corelace::Comparison::Similar);
///     assert!(all.range(0, 6, 3).is_err(), "there is no rank 6");
///     assert_eq!(even.rank_in(&world), world.rank().is_multiple_of(2).then_some(world.rank() / 2));
///     assert_eq!(all.exclude(&[1, 3, 5]).unwrap(), all.difference(&all.include(&[1, 3, 5]).unwrap()));
/// })?;
/// # Ok::<(), corelace::RunError>(())
/// ```
///
/// It belongs to its rank, as communicators do.
#[derive(Clone, Debug)]
pub struct Group<'job>(pub(crate) engine::Group, PhantomData<(&'job (), *const ())>);

impl<'job> Group<'job> {
    pub(crate) fn of(group: engine::Group) -> Group<'job> {
        Group(group, PhantomData)
    }

    /// How many ranks there are.
    pub fn size(&self) -> usize {
        self.0.size() as usize
    }

    /// The members with these ranks, in this order (MPI_Group_incl).
    pub fn include(&self, ranks: &[usize]) -> Result<Group<'job>> {
        Ok(Group::of(self.0.include(&numbers(ranks))?))
    }

    /// The members without these ranks, in their order (MPI_Group_excl).
    pub fn exclude(&self, ranks: &[usize]) -> Result<Group<'job>> {
        Ok(Group::of(self.0.exclude(&numbers(ranks))?))
    }

    /// All members of this group, then those of the other that are not in it (MPI_Group_union).
    pub fn union(&self, other: &Group<'_>) -> Group<'job> {
        Group::of(self.0.union(&other.0))
    }

    /// The members that are in the other group, too, in this group's order (MPI_Group_intersection).
    pub fn intersection(&self, other: &Group<'_>) -> Group<'job> {
        Group::of(self.0.intersection(&other.0))
    }

    /// The members that are not in the other group (MPI_Group_difference).
    pub fn difference(&self, other: &Group<'_>) -> Group<'job> {
        Group::of(self.0.difference(&other.0))
    }

    /// Members `first`, `first + stride`, …, `last` (MPI_Group_range_incl); a stride may be negative.
    pub fn range(&self, first: usize, last: usize, stride: isize) -> Result<Group<'job>> {
        if stride == 0 {
            return Err(Error::length(String::from("a range of ranks has the stride 0, expected another")));
        }
        let (mut ranks, mut rank) = (Vec::new(), number(first));
        let (end, step) = (number(last), stride as i64);
        // A rank outside of the group ends it: it is refused below.
        while (step > 0 && rank <= end) || (step < 0 && rank >= end) {
            ranks.push(rank);
            match rank.checked_add(step).filter(|_| (0..self.size() as i64).contains(&rank)) {
                Some(next) => rank = next,
                None => break,
            }
        }
        Ok(Group::of(self.0.include(&ranks)?))
    }

    /// This rank's place in the group of a communicator, or `None` (MPI_Group_rank).
    pub fn rank_in<K: Kind>(&self, comm: &Communicator<'_, K>) -> Option<usize> {
        let node = comm.comm.group().node(comm.comm.rank())?;
        self.0.rank_of(node).map(|rank| rank as usize)
    }

    /// How this group compares with another (MPI_Group_compare): never [`Congruent`](Comparison::Congruent), which is for communicators.
    pub fn compare(&self, other: &Group<'_>) -> Comparison {
        match self.0.compare(&other.0) {
            engine::GroupComparison::Identical => Comparison::Identical,
            engine::GroupComparison::Similar => Comparison::Similar,
            engine::GroupComparison::Unequal => Comparison::Unequal,
        }
    }

    /// The rank that member `rank` of this group has in another one (MPI_Group_translate_ranks).
    pub fn translate(&self, rank: usize, other: &Group<'_>) -> Option<usize> {
        let node = self.0.node(u32::try_from(rank).ok()?)?;
        other.0.rank_of(node).map(|rank| rank as usize)
    }
}

impl PartialEq for Group<'_> {
    /// The same ranks in the same order.
    fn eq(&self, other: &Group<'_>) -> bool {
        self.0.compare(&other.0) == engine::GroupComparison::Identical
    }
}

impl Eq for Group<'_> {}

fn numbers(ranks: &[usize]) -> Vec<i64> {
    ranks.iter().copied().map(number).collect()
}

//! Ordered sets of processes (MPI section 7.3).

use alloc::rc::Rc;
use alloc::vec::Vec;

use fabric::Node;

use crate::values::error::{Error, Result};

/// An ordered set of the job's processes. Cheap to clone; the group of all of them takes no memory.
#[derive(Clone, Debug)]
pub struct Group(Members);

#[derive(Clone, Debug)]
enum Members {
    /// Nodes 0 to n - 1 in order.
    All(u32),
    List(Rc<[Node]>),
}

/// How two groups compare (MPI_Group_compare).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GroupComparison {
    /// Same members in the same order.
    Identical,
    /// Same members in another order.
    Similar,
    /// Different members.
    Unequal,
}

impl Group {
    /// All nodes of a job, in order.
    pub fn all(nodes: u32) -> Group {
        Group(Members::All(nodes))
    }

    /// The given nodes; they must be distinct.
    pub fn of(nodes: Vec<Node>) -> Group {
        if nodes.iter().enumerate().all(|(rank, node)| node.0 as usize == rank) {
            return Group::all(nodes.len() as u32);
        }
        Group(Members::List(nodes.into()))
    }

    /// The group without members.
    pub fn empty() -> Group {
        Group::all(0)
    }

    /// Members.
    #[inline]
    pub fn size(&self) -> u32 {
        match &self.0 {
            Members::All(n) => *n,
            Members::List(list) => list.len() as u32,
        }
    }

    /// The node of a member.
    #[inline]
    pub fn node(&self, rank: u32) -> Option<Node> {
        match &self.0 {
            Members::All(n) => (rank < *n).then_some(Node(rank)),
            Members::List(list) => list.get(rank as usize).copied(),
        }
    }

    /// The rank of a node in this group.
    pub fn rank_of(&self, node: Node) -> Option<u32> {
        match &self.0 {
            Members::All(n) => (node.0 < *n).then_some(node.0),
            Members::List(list) => list.iter().position(|member| *member == node).map(|rank| rank as u32),
        }
    }

    /// All nodes, by rank.
    pub fn nodes(&self) -> impl Iterator<Item = Node> + '_ {
        (0..self.size()).map(|rank| self.node(rank).expect("rank below size"))
    }

    /// Compares members and order.
    pub fn compare(&self, other: &Group) -> GroupComparison {
        if self.size() != other.size() {
            GroupComparison::Unequal
        } else if self.nodes().eq(other.nodes()) {
            GroupComparison::Identical
        } else if self.nodes().all(|node| other.rank_of(node).is_some()) {
            GroupComparison::Similar
        } else {
            GroupComparison::Unequal
        }
    }

    /// The members with the given ranks, in that order (MPI_Group_incl).
    pub fn include(&self, ranks: &[i64]) -> Result<Group> {
        let mut taken = alloc::vec![false; self.size() as usize];
        let mut nodes = Vec::with_capacity(ranks.len());
        for &given in ranks {
            let rank = self.check(given)?;
            if core::mem::replace(&mut taken[rank as usize], true) {
                return Err(Error::Group {
                    reason: "a rank stands twice in the list, expected distinct ranks",
                });
            }
            nodes.push(self.node(rank).expect("checked"));
        }
        Ok(Group::of(nodes))
    }

    /// The members without the given ranks, in their order (MPI_Group_excl).
    pub fn exclude(&self, ranks: &[i64]) -> Result<Group> {
        let mut drop = alloc::vec![false; self.size() as usize];
        for &given in ranks {
            let rank = self.check(given)?;
            if core::mem::replace(&mut drop[rank as usize], true) {
                return Err(Error::Group {
                    reason: "a rank stands twice in the list, expected distinct ranks",
                });
            }
        }
        Ok(Group::of(self.nodes().zip(drop).filter(|(_, drop)| !drop).map(|(node, _)| node).collect()))
    }

    /// The ranks that triplets (first, last, stride) name (MPI_Group_range_incl and _excl).
    pub fn expand_ranges(&self, ranges: &[[i64; 3]]) -> Result<Vec<i64>> {
        let mut ranks = Vec::new();
        for &[first, last, stride] in ranges {
            if stride == 0 {
                return Err(Error::Argument {
                    reason: "the stride of a range must not be zero",
                    given: stride,
                });
            }
            let mut rank = first;
            while (stride > 0 && rank <= last) || (stride < 0 && rank >= last) {
                ranks.push(i64::from(self.check(rank)?));
                rank += stride;
            }
        }
        Ok(ranks)
    }

    /// All members of this group, then those of the other that are not in it (MPI_Group_union).
    pub fn union(&self, other: &Group) -> Group {
        let more = other.nodes().filter(|node| self.rank_of(*node).is_none());
        Group::of(self.nodes().chain(more).collect())
    }

    /// Members of both, in this group's order.
    pub fn intersection(&self, other: &Group) -> Group {
        Group::of(self.nodes().filter(|node| other.rank_of(*node).is_some()).collect())
    }

    /// Members of this group that are not in the other.
    pub fn difference(&self, other: &Group) -> Group {
        Group::of(self.nodes().filter(|node| other.rank_of(*node).is_none()).collect())
    }

    fn check(&self, given: i64) -> Result<u32> {
        if (0..i64::from(self.size())).contains(&given) {
            Ok(given as u32)
        } else {
            Err(Error::Rank { role: "rank", given, size: self.size() })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(nodes: &[u32]) -> Group {
        Group::of(nodes.iter().map(|&n| Node(n)).collect())
    }

    fn numbers(group: &Group) -> Vec<u32> {
        group.nodes().map(|node| node.0).collect()
    }

    #[test]
    fn set_operations_keep_the_order_of_the_first_group() {
        let (a, b) = (list(&[5, 1, 3]), list(&[3, 4, 5]));
        assert_eq!(numbers(&a.union(&b)), [5, 1, 3, 4]);
        assert_eq!(numbers(&a.intersection(&b)), [5, 3]);
        assert_eq!(numbers(&a.difference(&b)), [1]);
    }

    #[test]
    fn ranges_may_run_backwards() {
        let group = Group::all(10);
        assert_eq!(group.expand_ranges(&[[8, 2, -3], [0, 1, 1]]).unwrap(), [8, 5, 2, 0, 1]);
        assert!(group.expand_ranges(&[[0, 3, 0]]).is_err());
    }

    #[test]
    fn a_rank_outside_the_group_or_named_twice_is_refused() {
        assert_eq!(Group::all(2).include(&[2]).unwrap_err(), Error::Rank { role: "rank", given: 2, size: 2 });
        assert!(Group::all(3).include(&[1, 1]).is_err());
        assert!(Group::all(3).exclude(&[-1]).is_err());
    }

    #[test]
    fn comparison_tells_order_from_membership() {
        assert_eq!(list(&[1, 2]).compare(&list(&[1, 2])), GroupComparison::Identical);
        assert_eq!(list(&[1, 2]).compare(&list(&[2, 1])), GroupComparison::Similar);
        assert_eq!(list(&[1, 2]).compare(&list(&[1, 3])), GroupComparison::Unequal);
    }
}

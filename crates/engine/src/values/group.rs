//! Ordered sets of processes (MPI section 7.3).
//!
//! Members whose nodes lie at equal distances (the world, its halves, every k-th rank, one rank, none) are a range of three numbers; all
//! others are a list, which makes itself an index when it is first asked for the rank of a node. So a look-up costs O(1) or O(log p),
//! and the algebra O(p log p) at most, O(1) where two ranges without gaps meet.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use fabric::Node;

use crate::values::error::{Error, Result};
use crate::values::order;
use crate::values::shared::Locked;

/// An ordered set of the job's processes. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Group {
    members: Members,
    /// The session that it comes from; 0 for the world (MPI section 11.3).
    session: u32,
}

#[derive(Clone, Debug)]
enum Members {
    Range(Range),
    List(Arc<List>),
}

/// Nodes `first`, `first + step`, …; the step of less than two members is 1, so that equal ranges are the same numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Range {
    first: u32,
    step: i32,
    count: u32,
}

#[derive(Debug)]
struct List {
    nodes: Box<[Node]>,
    /// Ranks, ordered by their nodes.
    index: Locked<Option<Arc<[u32]>>>,
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
        Group::range(0, 1, nodes)
    }

    /// The given nodes; they must be distinct.
    pub fn of(nodes: Vec<Node>) -> Group {
        match Range::that_is(&nodes) {
            Some(range) => Group { members: Members::Range(range), session: 0 },
            None => {
                let list = Arc::new(List { nodes: nodes.into(), index: Locked::new(None) });
                Group { members: Members::List(list), session: 0 }
            }
        }
    }

    /// The group without members.
    pub fn empty() -> Group {
        Group::all(0)
    }

    fn range(first: u32, step: i32, count: u32) -> Group {
        let (first, step) = match count {
            0 => (0, 1),
            1 => (first, 1),
            _ => (first, step),
        };
        Group { members: Members::Range(Range { first, step, count }), session: 0 }
    }

    /// The same group as one of a session.
    pub fn of_session(self, session: u32) -> Group {
        Group { session, ..self }
    }

    /// The session that it comes from, or 0; so do the groups and communicators that are made of it.
    pub fn session(&self) -> u32 {
        self.session
    }

    /// Other members, of the same session.
    pub(crate) fn derive(&self, members: Group) -> Group {
        members.of_session(self.session)
    }

    /// Members.
    #[inline]
    pub fn size(&self) -> u32 {
        match &self.members {
            Members::Range(range) => range.count,
            Members::List(list) => list.nodes.len() as u32,
        }
    }

    /// The node of a member.
    #[inline]
    pub fn node(&self, rank: u32) -> Option<Node> {
        match &self.members {
            Members::Range(range) => (rank < range.count).then(|| range.node(rank)),
            Members::List(list) => list.nodes.get(rank as usize).copied(),
        }
    }

    /// The rank of a node in this group.
    pub fn rank_of(&self, node: Node) -> Option<u32> {
        match &self.members {
            Members::Range(range) => range.rank_of(node),
            Members::List(list) => list.rank_of(node),
        }
    }

    /// All nodes, by rank.
    pub fn nodes(&self) -> impl Iterator<Item = Node> + '_ {
        (0..self.size()).map(|rank| self.node(rank).expect("rank below size"))
    }

    /// True only if members and order are the same, and where a glance tells so: of two lists, if one is a clone of the other.
    pub fn is_same(&self, other: &Group) -> bool {
        match (&self.members, &other.members) {
            (Members::Range(one), Members::Range(other)) => one == other,
            (Members::List(one), Members::List(other)) => Arc::ptr_eq(one, other),
            _ => false,
        }
    }

    /// Compares members and order.
    pub fn compare(&self, other: &Group) -> GroupComparison {
        if self.size() != other.size() {
            return GroupComparison::Unequal;
        }
        let identical = match (&self.members, &other.members) {
            // Both kinds are canonical: what could be a range is one.
            (Members::Range(a), Members::Range(b)) => a == b,
            (Members::List(a), Members::List(b)) => Arc::ptr_eq(a, b) || a.nodes == b.nodes,
            _ => false,
        };
        if identical {
            GroupComparison::Identical
        } else if self.is_within(other) {
            GroupComparison::Similar
        } else {
            GroupComparison::Unequal
        }
    }

    fn is_within(&self, other: &Group) -> bool {
        if let (Members::Range(a), Members::Range(b)) = (&self.members, &other.members)
            && a.count == b.count
        {
            return a.count == 0 || *a == *b || *a == b.reversed();
        }
        self.nodes().all(|node| other.rank_of(node).is_some())
    }

    /// The members with the given ranks, in that order (MPI_Group_incl).
    pub fn include(&self, ranks: &[i64]) -> Result<Group> {
        self.check_list(ranks)?;
        let nodes = ranks.iter().map(|rank| self.node(*rank as u32).expect("checked"));
        Ok(self.derive(Group::of(nodes.collect())))
    }

    /// The members without the given ranks, in their order (MPI_Group_excl).
    pub fn exclude(&self, ranks: &[i64]) -> Result<Group> {
        let dropped = self.check_list(ranks)?;
        if dropped.is_empty() {
            return Ok(self.clone());
        }
        let stays = |rank: &u32| dropped.binary_search(&u64::from(*rank)).is_err();
        let nodes = (0..self.size()).filter(stays).map(|rank| self.node(rank).expect("rank below size"));
        Ok(self.derive(Group::of(nodes.collect())))
    }

    /// The members that triplets (first, last, stride) of ranks name, in their order (MPI_Group_range_incl).
    pub fn include_ranges(&self, ranges: &[[i64; 3]]) -> Result<Group> {
        if let (Members::Range(range), [[first, last, stride]]) = (&self.members, ranges)
            && *stride != 0
        {
            let count = (last - first) / stride + 1;
            if (last - first).signum() * stride.signum() < 0 || count <= 0 {
                return Ok(self.derive(Group::empty()));
            }
            self.check(*first)?;
            self.check(first + (count - 1) * stride)?;
            let step = if count > 1 { range.step * *stride as i32 } else { 1 };
            return Ok(self.derive(Group::range(range.node(*first as u32).0, step, count as u32)));
        }
        self.include(&self.expand_ranges(ranges)?)
    }

    /// The members that no triplet of ranks names (MPI_Group_range_excl).
    pub fn exclude_ranges(&self, ranges: &[[i64; 3]]) -> Result<Group> {
        self.exclude(&self.expand_ranges(ranges)?)
    }

    fn expand_ranges(&self, ranges: &[[i64; 3]]) -> Result<Vec<i64>> {
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
        let more = other.difference(self);
        match (self.size(), more.size()) {
            (_, 0) => self.clone(),
            (0, _) => more,
            _ => self.then(&more),
        }
    }

    /// The members of this group, then those of another that has none of them.
    pub(crate) fn then(&self, other: &Group) -> Group {
        if let (Members::Range(a), Members::Range(b)) = (&self.members, &other.members)
            && let Some(joined) = a.followed_by(b)
        {
            return self.derive(joined);
        }
        self.derive(Group::of(self.nodes().chain(other.nodes()).collect()))
    }

    /// Members of both, in this group's order.
    pub fn intersection(&self, other: &Group) -> Group {
        self.derive(self.common(other))
    }

    fn common(&self, other: &Group) -> Group {
        if let Some((low, high)) = self.common_span(other) {
            let Members::Range(range) = &self.members else { unreachable!("a span is of ranges") };
            let count = high + 1 - low;
            return Group::range(if range.step > 0 { low } else { high }, range.step, count);
        }
        if self.is_apart(other) {
            return Group::empty();
        }
        Group::of(self.nodes().filter(|node| other.rank_of(*node).is_some()).collect())
    }

    /// Members of this group that are not in the other.
    pub fn difference(&self, other: &Group) -> Group {
        self.derive(self.without(other))
    }

    fn without(&self, other: &Group) -> Group {
        if self.is_apart(other) {
            return self.clone();
        }
        if let (Some((low, high)), Members::Range(range)) = (self.common_span(other), &self.members) {
            let (first, last) = range.bounds();
            match (first == low, last == high) {
                (true, true) => return Group::empty(),
                (true, false) => {
                    let start = if range.step > 0 { high + 1 } else { last };
                    return Group::range(start, range.step, last - high);
                }
                (false, true) => {
                    let start = if range.step > 0 { first } else { low - 1 };
                    return Group::range(start, range.step, low - first);
                }
                (false, false) => {}
            }
        }
        Group::of(self.nodes().filter(|node| other.rank_of(*node).is_none()).collect())
    }

    /// True if the two have no member in common.
    pub(crate) fn is_disjoint(&self, other: &Group) -> bool {
        self.is_apart(other) || self.nodes().all(|node| other.rank_of(node).is_none())
    }

    /// The lowest and highest node that two ranges without gaps have in common.
    fn common_span(&self, other: &Group) -> Option<(u32, u32)> {
        let (Members::Range(a), Members::Range(b)) = (&self.members, &other.members) else { return None };
        let whole = |range: &Range| range.count > 0 && range.step.abs() == 1;
        if !whole(a) || !whole(b) {
            return None;
        }
        let (low, high) = (a.bounds().0.max(b.bounds().0), a.bounds().1.min(b.bounds().1));
        (low <= high).then_some((low, high))
    }

    /// True for ranges between whose nodes there is a gap: they are disjoint. False says nothing.
    fn is_apart(&self, other: &Group) -> bool {
        if self.size() == 0 || other.size() == 0 {
            return true;
        }
        let (Members::Range(a), Members::Range(b)) = (&self.members, &other.members) else { return false };
        a.bounds().1 < b.bounds().0 || b.bounds().1 < a.bounds().0
    }

    /// The ranks in ascending order, if they are distinct and all exist.
    fn check_list(&self, ranks: &[i64]) -> Result<Vec<u64>> {
        for rank in ranks {
            self.check(*rank)?;
        }
        let mut sorted: Vec<u64> = ranks.iter().map(|rank| *rank as u64).collect();
        order::sort(&mut sorted);
        match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(Error::Rank {
                role: "a rank that stands twice in the list, where each may once,",
                given: pair[0] as i64,
                size: self.size(),
            }),
            None => Ok(sorted),
        }
    }

    fn check(&self, given: i64) -> Result<u32> {
        if (0..i64::from(self.size())).contains(&given) {
            Ok(given as u32)
        } else {
            Err(Error::Rank { role: "rank", given, size: self.size() })
        }
    }
}

impl Range {
    fn that_is(nodes: &[Node]) -> Option<Range> {
        let count = nodes.len() as u32;
        let (Some(first), Some(second)) = (nodes.first(), nodes.get(1)) else {
            return Some(Range { first: nodes.first().map_or(0, |node| node.0), step: 1, count });
        };
        let step = i32::try_from(i64::from(second.0) - i64::from(first.0)).ok()?;
        let range = Range { first: first.0, step, count };
        let apart = |pair: &[Node]| i64::from(pair[1].0) - i64::from(pair[0].0) == i64::from(step);
        nodes.windows(2).all(apart).then_some(range)
    }

    #[inline]
    fn node(&self, rank: u32) -> Node {
        Node(self.first.wrapping_add(rank.wrapping_mul(self.step as u32)))
    }

    fn rank_of(&self, node: Node) -> Option<u32> {
        let distance = i64::from(node.0) - i64::from(self.first);
        let (rank, rest) = (distance / i64::from(self.step), distance % i64::from(self.step));
        (rest == 0 && (0..i64::from(self.count)).contains(&rank)).then_some(rank as u32)
    }

    /// The lowest and the highest node of a range that has some.
    fn bounds(&self) -> (u32, u32) {
        let last = self.node(self.count - 1).0;
        (self.first.min(last), self.first.max(last))
    }

    fn reversed(&self) -> Range {
        if self.count < 2 {
            return *self;
        }
        Range { first: self.node(self.count - 1).0, step: -self.step, count: self.count }
    }

    /// Both as one range, if the second continues the first.
    fn followed_by(&self, next: &Range) -> Option<Group> {
        let step = match (self.count, next.count) {
            (1, 1) => next.first.wrapping_sub(self.first) as i32,
            (1, _) => next.step,
            _ => self.step,
        };
        let fits = (next.count == 1 || next.step == step)
            && (self.count == 1 || self.step == step)
            && self.node(self.count - 1).0.wrapping_add(step as u32) == next.first;
        fits.then(|| Group::range(self.first, step, self.count + next.count))
    }
}

impl List {
    fn index(&self) -> Arc<[u32]> {
        let known = self.index.lock().clone();
        known.unwrap_or_else(|| {
            let by_node = |(rank, node): (usize, &Node)| u64::from(node.0) << 32 | rank as u64;
            let mut ranks: Vec<u64> = self.nodes.iter().enumerate().map(by_node).collect();
            order::sort(&mut ranks);
            let made: Arc<[u32]> = ranks.into_iter().map(|rank| rank as u32).collect();
            *self.index.lock() = Some(made.clone());
            made
        })
    }

    fn rank_of(&self, node: Node) -> Option<u32> {
        let index = self.index();
        let at = index.binary_search_by_key(&node.0, |rank| self.nodes[*rank as usize].0).ok()?;
        Some(index[at])
    }
}

#[cfg(test)]
#[path = "group_tests.rs"]
mod tests;

//! Groups, by example and against a naive model.

use proptest::prelude::*;

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
    assert_eq!(numbers(&group.include_ranges(&[[8, 2, -3], [0, 1, 1]]).unwrap()), [8, 5, 2, 0, 1]);
    assert_eq!(numbers(&group.include_ranges(&[[8, 2, -3]]).unwrap()), [8, 5, 2]);
    assert!(group.include_ranges(&[[0, 3, 0]]).is_err());
    assert!(group.include_ranges(&[[0, 12, 3]]).is_err());
}

#[test]
fn a_rank_outside_the_group_or_named_twice_is_refused() {
    assert_eq!(Group::all(2).include(&[2]).unwrap_err(), Error::Rank { role: "rank", given: 2, size: 2 });
    assert!(matches!(Group::all(3).include(&[1, 1]).unwrap_err(), Error::Rank { given: 1, .. }));
    assert!(Group::all(3).exclude(&[-1]).is_err());
}

#[test]
fn comparison_tells_order_from_membership() {
    assert_eq!(list(&[1, 2]).compare(&list(&[1, 2])), GroupComparison::Identical);
    assert_eq!(list(&[1, 2]).compare(&list(&[2, 1])), GroupComparison::Similar);
    assert_eq!(list(&[1, 2]).compare(&list(&[1, 3])), GroupComparison::Unequal);
}

#[test]
fn regular_subgroups_of_a_large_world_are_ranges() {
    let world = Group::all(1 << 30);
    let half = world.include_ranges(&[[0, (1 << 30) - 1, 2]]).unwrap();
    assert_eq!((half.size(), half.rank_of(Node(6)), half.rank_of(Node(7))), (1 << 29, Some(3), None));
    let upper = world.difference(&Group::all(1 << 29));
    assert_eq!((upper.size(), upper.node(0)), (1 << 29, Some(Node(1 << 29))));
    assert_eq!(Group::all(1 << 29).union(&upper).compare(&world), GroupComparison::Identical);
    assert_eq!(world.intersection(&upper).compare(&upper), GroupComparison::Identical);
}

/// Distinct nodes: a range, or any list.
fn members() -> impl Strategy<Value = Vec<u32>> {
    let range = (0u32..20, prop_oneof![-4i32..0, 1i32..5], 0u32..8).prop_map(|(first, step, count)| {
        (0..count as i32).map(|i| (40 + first as i32 + i * step) as u32).collect()
    });
    let any = proptest::sample::subsequence((30u32..70).collect::<Vec<_>>(), 0..12).prop_shuffle();
    prop_oneof![range, any]
}

proptest! {
    #[test]
    fn groups_behave_as_lists_without_repetition(a in members(), b in members(), picks in proptest::collection::vec(-1i64..9, 0..5)) {
        let (x, y) = (list(&a), list(&b));
        prop_assert_eq!(&numbers(&x), &a);
        for node in 0..100 {
            prop_assert_eq!(x.rank_of(Node(node)), a.iter().position(|n| *n == node).map(|at| at as u32));
        }
        let only = |of: &[u32], other: &[u32], within: bool| -> Vec<u32> {
            of.iter().copied().filter(|n| other.contains(n) == within).collect()
        };
        prop_assert_eq!(numbers(&x.intersection(&y)), only(&a, &b, true));
        prop_assert_eq!(numbers(&x.difference(&y)), only(&a, &b, false));
        let mut both = a.clone();
        both.extend(only(&b, &a, false));
        prop_assert_eq!(numbers(&x.union(&y)), both);
        prop_assert_eq!(x.is_disjoint(&y), only(&a, &b, true).is_empty());
        let (mut sorted_a, mut sorted_b) = (a.clone(), b.clone());
        sorted_a.sort_unstable();
        sorted_b.sort_unstable();
        let expected = if a == b {
            GroupComparison::Identical
        } else if sorted_a == sorted_b {
            GroupComparison::Similar
        } else {
            GroupComparison::Unequal
        };
        prop_assert_eq!(x.compare(&y), expected);

        let exists = |rank: &i64| (0..a.len() as i64).contains(rank);
        let twice = picks.iter().enumerate().any(|(at, rank)| picks[..at].contains(rank));
        let right = picks.iter().all(exists) && !twice;
        let included = picks.iter().filter(|rank| exists(rank)).map(|rank| a[*rank as usize]).collect::<Vec<_>>();
        prop_assert_eq!(x.include(&picks).ok().map(|g| numbers(&g)), right.then_some(included));
        let rest = (0..a.len()).filter(|rank| !picks.contains(&(*rank as i64))).map(|rank| a[rank]).collect::<Vec<_>>();
        prop_assert_eq!(x.exclude(&picks).ok().map(|g| numbers(&g)), right.then_some(rest));
    }

    #[test]
    fn a_range_of_ranks_is_the_list_of_them(a in members(), first in 0i64..8, last in 0i64..8, stride in prop_oneof![-3i64..0, 1i64..4]) {
        let x = list(&a);
        let mut ranks = Vec::new();
        let mut rank = first;
        while (stride > 0 && rank <= last) || (stride < 0 && rank >= last) {
            ranks.push(rank);
            rank += stride;
        }
        let (one, naive) = (x.include_ranges(&[[first, last, stride]]), x.include(&ranks));
        prop_assert_eq!(one.is_ok(), naive.is_ok());
        if let (Ok(one), Ok(naive)) = (one, naive) {
            prop_assert_eq!(one.compare(&naive), GroupComparison::Identical);
        }
    }
}

//! Intercommunicators: their creation, messages across, and every collective against what a naive model says.

use corelace_engine::datatype::Basic;
use corelace_engine::{
    Bridge, Builtin, Comm, Comparison, Datatype, Dest, Error, GroupComparison, Mode, Op, Plan, Rank,
    RecvBuffer, RecvParts, RequestId, Root, SendBuffer, SendParts, Source, Tag, TagMatch, UserFunction,
};
use proptest::prelude::*;

use crate::support::{Habits, PLAIN, all_habits, bytes_in, bytes_out, run};

fn tag(value: i64) -> Tag {
    Tag::new(value).unwrap()
}

fn out(numbers: &[u64]) -> SendBuffer {
    // SAFETY: the tests keep the numbers until the operation is complete.
    unsafe { SendBuffer::new(numbers.as_ptr().cast(), numbers.len() as u64, &Datatype::basic(Basic::U64)) }
}

/// Room for `count` numbers, or for that many from each.
fn room(numbers: &mut [u64], count: u64) -> RecvBuffer {
    // SAFETY: as above.
    unsafe { RecvBuffer::new(numbers.as_mut_ptr().cast(), count, &Datatype::basic(Basic::U64)) }
}

/// Two sides of the world, in an order of their own; the last rank is the leader of each. Who is on no side gets nothing.
fn connect(rank: &Rank, sides: &[Option<u32>], keys: &[i32]) -> Option<Comm> {
    let world = rank.world();
    let me = world.rank() as usize;
    let local = rank.split(world, sides[me], keys[me]).unwrap()?;
    let other = (0..world.size()).filter(|r| sides[*r as usize] == Some(1 - sides[me].unwrap()));
    // The remote leader is the last in its side's order.
    let remote = other.max_by_key(|r| (keys[*r as usize], *r)).unwrap();
    let leader = local.size() - 1;
    let bridge = (local.rank() == leader).then_some(Bridge { comm: world, leader: remote, crossing: None });
    Some(rank.create_intercomm(&local, leader, bridge, tag(17)).unwrap())
}

fn halves(rank: &Rank, split: u32) -> Comm {
    let sides: Vec<_> = (0..rank.world().size()).map(|r| Some(u32::from(r >= split))).collect();
    connect(rank, &sides, &vec![0; sides.len()]).unwrap()
}

#[test]
fn messages_go_to_the_other_group_under_its_ranks() {
    for (name, habits) in all_habits() {
        run(5, habits, |rank| {
            let comm = halves(rank, 2);
            let (me, there) = (comm.rank(), comm.peers().size());
            assert_eq!((comm.size(), there), if rank.world().rank() < 2 { (2, 3) } else { (3, 2) });
            let ids: Vec<RequestId> = (0..there)
                .map(|to| {
                    let text = Box::leak(Box::new([b'a' + rank.world().rank() as u8; 2000]));
                    rank.isend(Mode::Standard, &bytes_out(text), Dest::Rank(to), tag(i64::from(me)), &comm)
                        .unwrap()
                })
                .collect();
            for from in 0..there {
                let found = rank.probe(Source::Rank(from), TagMatch::Any, &comm).unwrap();
                assert_eq!(
                    (found.source, found.tag),
                    (Source::Rank(from), TagMatch::Is(tag(i64::from(from))))
                );
                let mut text = [0; 2000];
                let status = rank.recv(&bytes_in(&mut text), Source::Any, found.tag, &comm).unwrap();
                assert_eq!(status.source, Source::Rank(from), "{name}");
                assert_eq!(text, [b'a' + comm.peers().node(from).unwrap().0 as u8; 2000], "{name}");
            }
            for id in ids {
                rank.wait(id).unwrap();
            }
        });
    }
}

#[test]
fn both_sides_merge_in_the_order_that_they_ask_for() {
    for (low, high) in [(false, true), (true, false), (true, true), (false, false)] {
        run(5, PLAIN, move |rank| {
            let comm = halves(rank, 2);
            let merged = rank.merge(&comm, if rank.world().rank() < 2 { low } else { high }).unwrap();
            let found: Vec<u32> = merged.group().nodes().map(|node| node.0).collect();
            let expected: Vec<u32> = if low && !high { vec![2, 3, 4, 0, 1] } else { (0..5).collect() };
            assert_eq!(found, expected);
            assert_eq!(found[merged.rank() as usize], rank.world().rank());
            let mut total = [0];
            let one = [1u64 << rank.world().rank()];
            rank.allreduce(Some(&out(&one)), &room(&mut total, 1), &Op::builtin(Builtin::Sum), &merged)
                .and_then(Plan::wait)
                .unwrap();
            assert_eq!(total, [0b11111]);
        });
    }
}

#[test]
fn duplicates_splits_and_subgroups_of_an_intercommunicator_are_intercommunicators() {
    run(6, PLAIN, |rank| {
        let comm = halves(rank, 3);
        let copy = rank.dup(&comm).unwrap();
        assert_eq!(copy.compare(&comm), Comparison::Congruent);
        assert_eq!(copy.compare(rank.world()), Comparison::Unequal);
        let (other, request) = rank.idup(&comm).unwrap();
        rank.wait(request).unwrap();
        assert_ne!(other.context(), copy.context());
        cross_sum(rank, &other);

        // Colour 1 has members on one side only.
        let me = rank.world().rank();
        let part = rank.split(&comm, Some(u32::from(me == 5)), -(me as i32)).unwrap();
        assert_eq!(part.is_none(), me == 5);
        if let Some(part) = part {
            let nodes: Vec<u32> = part.group().nodes().map(|node| node.0).collect();
            let expected = if me < 3 { vec![2, 1, 0] } else { vec![4, 3] };
            assert_eq!(nodes, expected, "ordered by key");
            cross_sum(rank, &part);
        }

        let group = comm.group().include(&[2, 0]).unwrap();
        let sub = rank.create(&comm, &group).unwrap();
        assert_eq!(sub.is_none(), comm.rank() == 1);
        if let Some(sub) = sub {
            assert_eq!(sub.group().compare(&group), GroupComparison::Identical);
            assert_eq!(sub.peers().size(), 2);
            cross_sum(rank, &sub);
        }
        let nobody =
            rank.create(&comm, &comm.group().include(if me < 3 { &[] } else { &[0] }).unwrap()).unwrap();
        assert!(nobody.is_none(), "one side gives no member");
    });
}

/// An all-reduction across gives each side the other's sum.
fn cross_sum(rank: &Rank, comm: &Comm) {
    let (one, mut total) = ([1u64 << rank.world().rank()], [0]);
    rank.allreduce(Some(&out(&one)), &room(&mut total, 1), &Op::builtin(Builtin::Sum), comm)
        .and_then(Plan::wait)
        .unwrap();
    assert_eq!(total[0], comm.peers().nodes().map(|node| 1u64 << node.0).sum::<u64>());
}

#[test]
fn groups_without_a_communicator_are_connected_by_name() {
    run(6, PLAIN, |rank| {
        let all = rank.world().group();
        let (odd, even) =
            (all.include_ranges(&[[1, 5, 2]]).unwrap(), all.include_ranges(&[[4, 0, -2]]).unwrap());
        let (own, other) = if rank.world().rank() % 2 == 1 { (&odd, &even) } else { (&even, &odd) };
        let leads = own.rank_of(rank.fabric().me()) == Some(1);
        let comm =
            rank.create_intercomm_from_groups(own, 1, leads.then_some((other, 1)), "test://name").unwrap();
        assert_eq!(comm.peers().compare(other), GroupComparison::Identical);
        cross_sum(rank, &comm);
    });
}

#[test]
fn a_bridge_that_leads_nowhere_fails_at_all_members_of_the_side() {
    run(3, PLAIN, |rank| {
        let bridge =
            (rank.world().rank() == 0).then_some(Bridge { comm: rank.world(), leader: 7, crossing: None });
        let error = rank.create_intercomm(rank.world(), 0, bridge, tag(0)).unwrap_err();
        let expected = if rank.world().rank() == 0 {
            matches!(error, Error::Rank { .. })
        } else {
            matches!(error, Error::Comm { .. })
        };
        assert!(expected, "{error}");
        cross_check_world(rank);
    });
}

fn cross_check_world(rank: &Rank) {
    rank.barrier(rank.world()).and_then(Plan::wait).unwrap();
}

#[test]
fn sides_with_a_common_member_are_refused_everywhere() {
    run(2, PLAIN, |rank| {
        let bridge = Some(Bridge { comm: rank.world(), leader: 1 - rank.world().rank(), crossing: None });
        let error = rank.create_intercomm(rank.world(), rank.world().rank(), bridge, tag(0)).unwrap_err();
        assert!(matches!(error, Error::Comm { .. }), "{error}");
    });
}

#[test]
fn what_has_no_meaning_on_an_intercommunicator_is_refused() {
    run(3, PLAIN, |rank| {
        let comm = halves(rank, 1);
        let (one, mut room_) = ([1], [0; 4]);
        let sum = Op::builtin(Builtin::Sum);
        let refused = |plan: Result<Plan<'_>, Error>| plan.err();
        let scan = refused(rank.scan(Some(&out(&one)), &room(&mut room_, 1), &sum, &comm));
        assert!(matches!(scan, Some(Error::Comm { .. })));
        let exscan = refused(rank.exscan(Some(&out(&one)), &room(&mut room_, 1), &sum, &comm));
        assert!(matches!(exscan, Some(Error::Comm { .. })));
        let in_place = refused(rank.allreduce(None, &room(&mut room_, 1), &sum, &comm));
        assert!(matches!(in_place, Some(Error::Buffer { .. })));
        let neighbors = refused(rank.neighbor_allgather(&out(&one), &room(&mut room_, 1), &comm));
        assert!(matches!(neighbors, Some(Error::Topology { .. })));
        let root = refused(rank.bcast(&room(&mut room_, 1), comm.peers().size(), &comm));
        assert!(matches!(root, Some(Error::Root { size, .. }) if size == comm.peers().size()));
        let intra = refused(rank.bcast(&room(&mut room_, 1), Root::Me, rank.world()));
        assert!(matches!(intra, Some(Error::Root { .. })));
        assert!(matches!(rank.create_group(&comm, comm.group(), tag(1)), Err(Error::Comm { .. })));
        assert!(matches!(rank.merge(rank.world(), true), Err(Error::Comm { .. })));
    });
}

/// Keeps the value of the lowest rank: associative, and not commutative.
struct Lowest;

impl UserFunction for Lowest {
    unsafe fn apply(&self, input: *const u8, inout: *mut u8, count: u64, _: &Datatype) {
        // SAFETY: the engine gives two distinct pieces of memory for `count` elements, which are of 8 bytes in this file.
        unsafe { std::ptr::copy_nonoverlapping(input, inout, 8 * count as usize) };
    }
}

/// What member `node` has at `index` in collective `salt`.
fn value(node: u32, index: u64, salt: u64) -> u64 {
    (u64::from(node) + 1) * 1_000_003 + index * 101 + salt
}

/// How a collective is run: blocking, non-blocking, or persistent, twice.
fn perform(rank: &Rank, form: u32, plan: Plan<'_>) {
    match form % 3 {
        0 => plan.wait().unwrap(),
        1 => {
            let id = plan.start().unwrap();
            rank.wait(id).unwrap();
        }
        _ => {
            let id = plan.keep().unwrap();
            for _ in 0..2 {
                rank.start(id).unwrap();
                rank.wait(id).unwrap();
            }
            rank.free(id).unwrap();
        }
    }
}

/// One collective, with counts that follow from `salt`, against what the model says.
fn collective(rank: &Rank, comm: &Comm, which: u32, salt: u64, form: u32) {
    let me = rank.world().rank();
    let (here, there): (Vec<u32>, Vec<u32>) =
        (comm.group().nodes().map(|n| n.0).collect(), comm.peers().nodes().map(|n| n.0).collect());
    let is_lower = here[0] < there[0];
    let n = 1 + salt % 5;
    let data = |node: u32, count: u64| (0..count).map(|i| value(node, i, salt)).collect::<Vec<u64>>();
    let lowest = salt % 7 == 3;
    let sum = if lowest { Op::user(std::rc::Rc::new(Lowest), false) } else { Op::builtin(Builtin::Sum) };
    let summed = |nodes: &[u32], i: u64| {
        let values = nodes.iter().map(|node| value(*node, i, salt));
        if lowest { value(nodes[0], i, salt) } else { values.sum() }
    };
    // The root is on the lower side or the upper one.
    let at_root_side = is_lower == salt.is_multiple_of(2);
    let place = (salt / 2) as usize % if at_root_side { here.len() } else { there.len() };
    let root_node = if at_root_side { here[place] } else { there[place] };
    let root = match (at_root_side, root_node == me) {
        (true, true) => Root::Me,
        (true, false) => Root::Beside,
        (false, _) => Root::Rank(place as u32),
    };
    let size = |node: u32| u64::from(node % 4) + salt % 3;
    let ends = |lengths: &[u64]| {
        let starts: Vec<i64> = lengths
            .iter()
            .scan(0, |at, len| {
                *at += *len as i64 + 1;
                Some(*at - *len as i64)
            })
            .collect();
        let total = starts.last().map_or(0, |last| *last as u64) + lengths.last().copied().unwrap_or(0) + 1;
        (starts, total)
    };
    let u64s = Datatype::basic(Basic::U64);
    match which % 12 {
        0 => perform(rank, form, rank.barrier(comm).unwrap()),
        1 => {
            let mut buffer = data(me, n);
            perform(rank, form, rank.bcast(&room(&mut buffer, n), root, comm).unwrap());
            assert_eq!(buffer, data(if at_root_side { me } else { root_node }, n));
        }
        2 => {
            let (own, mut total) = (data(me, n), vec![0; n as usize]);
            let recv = room(&mut total, n);
            perform(rank, form, rank.reduce(Some(&out(&own)), Some(&recv), &sum, root, comm).unwrap());
            let expected = (0..n).map(|i| if root == Root::Me { summed(&there, i) } else { 0 });
            assert_eq!(total, expected.collect::<Vec<_>>());
        }
        3 => {
            let (own, mut total) = (data(me, n), vec![0; n as usize]);
            perform(rank, form, rank.allreduce(Some(&out(&own)), &room(&mut total, n), &sum, comm).unwrap());
            assert_eq!(total, (0..n).map(|i| summed(&there, i)).collect::<Vec<_>>());
        }
        4 => {
            let (own, mut all) = (data(me, n), vec![0; n as usize * there.len()]);
            let recv = room(&mut all, n);
            perform(rank, form, rank.gather(Some(&out(&own)), Some(&recv), root, comm).unwrap());
            if root == Root::Me {
                assert_eq!(all, there.iter().flat_map(|node| data(*node, n)).collect::<Vec<_>>());
            }
        }
        5 => {
            let own = data(me, n * there.len() as u64);
            let mut block = vec![0; n as usize];
            // SAFETY: the numbers live as long as the operation.
            let send = unsafe { SendBuffer::new(own.as_ptr().cast(), n, &u64s) };
            perform(rank, form, rank.scatter(Some(&send), Some(&room(&mut block, n)), root, comm).unwrap());
            if !at_root_side {
                let first = u64::from(comm.rank()) * n;
                assert_eq!(block, (first..first + n).map(|i| value(root_node, i, salt)).collect::<Vec<_>>());
            }
        }
        6 => {
            let lengths: Vec<u64> = there.iter().map(|node| size(*node)).collect();
            let (starts, total) = ends(&lengths);
            let (own, mut all) = (data(me, size(me)), vec![0; total as usize]);
            // SAFETY: as above.
            let recv = unsafe { RecvParts::new(all.as_mut_ptr().cast(), &lengths, &starts, &u64s) };
            if salt.is_multiple_of(2) {
                perform(rank, form, rank.gatherv(Some(&out(&own)), Some(&recv), root, comm).unwrap());
            } else {
                perform(rank, form, rank.allgatherv(Some(&out(&own)), &recv, comm).unwrap());
            }
            if salt % 2 == 1 || root == Root::Me {
                for ((node, start), length) in there.iter().zip(&starts).zip(&lengths) {
                    assert_eq!(all[*start as usize..][..*length as usize], data(*node, *length));
                }
            }
        }
        7 => {
            let lengths: Vec<u64> = there.iter().map(|node| size(*node)).collect();
            let (starts, total) = ends(&lengths);
            let (own, mut block) = (data(me, total), vec![0; size(me) as usize]);
            // SAFETY: as above.
            let send = unsafe { SendParts::new(own.as_ptr().cast(), &lengths, &starts, &u64s) };
            let recv = room(&mut block, size(me));
            perform(rank, form, rank.scatterv(Some(&send), Some(&recv), root, comm).unwrap());
            if !at_root_side {
                let mine: Vec<u64> = here.iter().map(|node| size(*node)).collect();
                let first = ends(&mine).0[comm.rank() as usize] as u64;
                assert_eq!(
                    block,
                    (first..first + size(me)).map(|i| value(root_node, i, salt)).collect::<Vec<_>>()
                );
            }
        }
        8 => {
            let (own, mut all) = (data(me, n), vec![0; n as usize * there.len()]);
            perform(rank, form, rank.allgather(Some(&out(&own)), &room(&mut all, n), comm).unwrap());
            assert_eq!(all, there.iter().flat_map(|node| data(*node, n)).collect::<Vec<_>>());
        }
        9 => {
            let own = data(me, n * there.len() as u64);
            let mut all = vec![0; own.len()];
            // SAFETY: as above.
            let send = unsafe { SendBuffer::new(own.as_ptr().cast(), n, &u64s) };
            perform(rank, form, rank.alltoall(Some(&send), &room(&mut all, n), comm).unwrap());
            let first = u64::from(comm.rank()) * n;
            let block = |node: &u32| (first..first + n).map(|i| value(*node, i, salt)).collect::<Vec<_>>();
            assert_eq!(all, there.iter().flat_map(block).collect::<Vec<_>>());
        }
        10 => {
            // From a to b go (a + b) % 4 numbers, the first ones of a.
            let lengths: Vec<u64> = there.iter().map(|node| u64::from((node + me) % 4)).collect();
            let (starts, total) = ends(&lengths);
            let (own, mut all) = (data(me, 4), vec![0; total as usize]);
            let zeros = vec![0; lengths.len()];
            let types = vec![u64s.clone(); lengths.len()];
            let bytes: Vec<i64> = starts.iter().map(|start| start * 8).collect();
            // SAFETY: as above.
            let (send, recv) = unsafe {
                (
                    SendParts::new(own.as_ptr().cast(), &lengths, &zeros, &u64s),
                    RecvParts::with_types(all.as_mut_ptr().cast(), &lengths, &bytes, &types),
                )
            };
            let plan = if salt.is_multiple_of(2) {
                rank.alltoallv(Some(&send), &recv, comm)
            } else {
                rank.alltoallw(Some(&send), &recv, comm)
            };
            perform(rank, form, plan.unwrap());
            for ((node, start), length) in there.iter().zip(&starts).zip(&lengths) {
                assert_eq!(all[*start as usize..][..*length as usize], data(*node, *length));
            }
        }
        _ => {
            // Blocks of equal size have the same sum on both sides only if they are p * q each.
            let total = (here.len() * there.len()) as u64 * n;
            let each = there.len() as u64 * n;
            let mut counts = vec![each; here.len()];
            if salt % 2 == 1 && here.len() > 1 {
                counts[0] -= n;
                *counts.last_mut().unwrap() += n;
            }
            let own = data(me, total);
            let mine = counts[comm.rank() as usize];
            let mut block = vec![0; mine as usize];
            let recv = room(&mut block, mine);
            let plan = if salt.is_multiple_of(2) {
                rank.reduce_scatter_block(Some(&out(&own)), &recv, &sum, comm)
            } else {
                rank.reduce_scatter(Some(&out(&own)), &recv, &counts, &sum, comm)
            };
            perform(rank, form, plan.unwrap());
            let first: u64 = counts[..comm.rank() as usize].iter().sum();
            assert_eq!(block, (first..first + mine).map(|i| summed(&there, i)).collect::<Vec<_>>());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn random_collectives_across_random_sides_do_what_the_model_says(
        sides in proptest::collection::vec(prop_oneof![4 => Just(Some(0)), 4 => Just(Some(1)), 1 => Just(None)], 2..12),
        keys in proptest::collection::vec(-3i32..3, 12),
        calls in proptest::collection::vec((0u32..12, 0u64..1000, 0u32..3), 1..16),
        habit in 0usize..8,
    ) {
        let mut sides: Vec<Option<u32>> = sides;
        sides[0] = Some(0);
        let last = sides.len() - 1;
        sides[last] = Some(1);
        let habits: Habits = all_habits()[habit].1;
        run(sides.len() as u32, habits, |rank| {
            let Some(comm) = connect(rank, &sides, &keys[..sides.len()]) else { return };
            for (which, salt, form) in &calls {
                collective(rank, &comm, *which, *salt, *form);
            }
        });
    }
}

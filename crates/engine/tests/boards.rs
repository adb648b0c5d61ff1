//! Collectives by memory that the members share: random sequences of them against a model, members who disagree, and that no message is sent.

mod support;

use std::sync::atomic::{AtomicU32, Ordering};

use corelace_engine::datatype::Basic;
use corelace_engine::{
    Builtin, Comm, Datatype, Error, Op, Plan, Rank, RecvBuffer, Reduction, RequestId, SendBuffer,
    UserFunction,
};
use proptest::prelude::*;
use support::habitual::letters_posted;
use support::{Habits, PLAIN, PortalHabit, run};

const SHARED: Habits = Habits { boards: true, ..PLAIN };

/// Members who share a core, who have one each, who are too many to look at each other, and who cannot read each other's memory. Those who are many meet in groups, of which the last is smaller, or one
/// member alone.
const WAYS: [(u32, Habits); 7] = [
    (2, Habits { own_cores: true, workers: 2, ..SHARED }),
    (5, SHARED),
    (7, Habits { workers: 2, ..SHARED }),
    (5, Habits { own_cores: true, workers: 2, ..SHARED }),
    (18, Habits { own_cores: true, ..SHARED }),
    (3, Habits { portal: PortalHabit::Nothing, workers: 2, ..SHARED }),
    (21, Habits { own_cores: true, workers: 2, ..SHARED }),
];

/// Elements: none, in a note, just not, in rooms, longer than those, in several pieces of a hall.
const COUNTS: [usize; 8] = [0, 1, 14, 15, 300, 2100, 9000, 40_000];

#[derive(Clone, Copy, Debug)]
enum Which {
    Barrier,
    Bcast,
    Allreduce,
    Reduce,
    Allgather,
    Gather,
    Scatter,
    Alltoall,
    Scan,
    Exscan,
    ReduceScatter,
}

/// MPI's three forms of a collective; the blocking one may be done at once where it has a root, or is a scan.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Form {
    Blocking,
    AtOnce,
    NonBlocking,
    Persistent,
}

#[derive(Clone, Copy, Debug)]
struct Call {
    form: Form,
    which: Which,
    count: usize,
    root: u32,
    in_place: bool,
    seed: i64,
}

fn calls() -> impl Strategy<Value = Vec<Call>> {
    let which = prop_oneof![
        Just(Which::Barrier),
        Just(Which::Bcast),
        Just(Which::Allreduce),
        Just(Which::Reduce),
        Just(Which::Allgather),
        Just(Which::Gather),
        Just(Which::Scatter),
        Just(Which::Alltoall),
        Just(Which::Scan),
        Just(Which::Exscan),
        Just(Which::ReduceScatter),
    ];
    let form = prop_oneof![3 => Just(Form::Blocking), 3 => Just(Form::AtOnce), 2 => Just(Form::NonBlocking), 1 => Just(Form::Persistent)];
    let call = (form, which, prop::sample::select(&COUNTS[..]), 0..18_u32, any::<bool>(), 0..1000_i64);
    let call = call.prop_map(|(form, which, count, root, in_place, seed)| Call {
        form,
        which,
        count,
        root,
        in_place,
        seed,
    });
    prop::collection::vec(call, 30..60)
}

/// Element `index` of what `member` brings.
fn datum(seed: i64, member: u32, index: usize) -> i64 {
    seed * 1_000_003 + i64::from(member) * 7919 + index as i64
}

fn data(seed: i64, member: u32, count: usize) -> Vec<i64> {
    (0..count).map(|index| datum(seed, member, index)).collect()
}

fn long() -> Datatype {
    Datatype::basic(Basic::I64)
}

fn out(values: &[i64], count: usize) -> SendBuffer {
    // SAFETY: the tests keep the values until the collective is done.
    unsafe { SendBuffer::new(values.as_ptr().cast(), count as u64, &long()) }
}

fn room(values: &mut [i64], count: usize) -> RecvBuffer {
    // SAFETY: as above.
    unsafe { RecvBuffer::new(values.as_mut_ptr().cast(), count as u64, &long()) }
}

fn sum() -> Op {
    Op::builtin(Builtin::Sum)
}

fn summing() -> Reduction {
    Reduction::new(Builtin::Sum, &Datatype::basic(Basic::I64)).unwrap()
}

fn summed(seed: i64, members: u32, count: usize) -> Vec<i64> {
    (0..count).map(|index| (0..members).map(|member| datum(seed, member, index)).sum()).collect()
}

/// Takes part in one form or the other.
fn complete(rank: &Rank, plan: Plan<'_>, form: Form) {
    match form {
        Form::Blocking | Form::AtOnce => plan.wait().unwrap(),
        Form::NonBlocking => {
            let request = plan.start().unwrap();
            rank.wait(request).unwrap();
        }
        Form::Persistent => {
            let request = plan.keep().unwrap();
            rank.start(request).unwrap();
            rank.wait(request).unwrap();
            rank.free(request).unwrap();
        }
    }
}

fn bytes(values: &mut [i64]) -> &mut [u8] {
    // SAFETY: any bytes are numbers, and the other way round.
    unsafe { core::slice::from_raw_parts_mut(values.as_mut_ptr().cast(), size_of_val(values)) }
}

/// Does this member's part of one with a root, as [`check`] does, if it can do so at once.
fn is_done_at_once(rank: &Rank, comm: &Comm, call: Call) -> bool {
    let Call { which, count, in_place, seed, .. } = call;
    let (me, p) = (comm.rank(), comm.size());
    let (root, all) = (call.root % p, count * p as usize);
    let (mut own, mut values) = (data(seed, me, count), vec![0; all]);
    let dealt = data(seed, root, all)[me as usize * count..][..count].to_vec();
    match which {
        Which::Bcast => {
            let done = rank.bcast_at_once(bytes(&mut own), root, comm);
            assert!(!done || own == data(seed, root, count), "{call:?}");
            done
        }
        Which::Gather if me == root => {
            values[me as usize * count..][..count].copy_from_slice(&own);
            let own = (!in_place).then_some(&*bytes(&mut own));
            let done = rank.gather_here_at_once(own, bytes(&mut values), comm);
            let expected: Vec<i64> = (0..p).flat_map(|member| data(seed, member, count)).collect();
            assert!(!done || values == expected, "{call:?}");
            done
        }
        Which::Gather => rank.gather_at_once(bytes(&mut own), root, comm),
        Which::Scatter if me == root => {
            let mut all = data(seed, root, all);
            let place = (!in_place).then_some(bytes(&mut own));
            let done = rank.scatter_here_at_once(place, bytes(&mut all), comm);
            assert!(!done || in_place || own == dealt, "{call:?}");
            done
        }
        Which::Scatter => {
            let done = rank.scatter_at_once(bytes(&mut own), root, comm);
            assert!(!done || own == dealt, "{call:?}");
            done
        }
        Which::Reduce => {
            let target = (me == root).then(|| bytes(&mut values[..count]));
            let done = rank.reduce_at_once(bytes(&mut own), target, summing(), root, comm);
            assert!(!done || me != root || values[..count] == summed(seed, p, count), "{call:?}");
            done
        }
        Which::Scan | Which::Exscan => {
            let (with_own, to) = if let Which::Scan = which { (true, me + 1) } else { (false, me) };
            let (value, target) = (bytes(&mut own), bytes(&mut values[..count]));
            let done = rank.scan_at_once(value, target, summing(), with_own, comm);
            assert!(!done || to == 0 || values[..count] == summed(seed, to, count), "{call:?}");
            done
        }
        _ => false,
    }
}

/// Calls one, and compares with what it should give.
fn check(rank: &Rank, comm: &Comm, call: Call) {
    if call.form == Form::AtOnce && is_done_at_once(rank, comm, call) {
        return;
    }
    let Call { form, which, count, in_place, seed, .. } = call;
    let (me, p) = (comm.rank(), comm.size());
    let root = call.root % p;
    let (own, at_root) = (data(seed, me, count), me == root);
    let everything = || (0..p).flat_map(|member| data(seed, member, count)).collect::<Vec<_>>();
    match which {
        Which::Barrier => complete(rank, rank.barrier(comm).unwrap(), form),
        Which::Bcast => {
            let mut values = own;
            complete(rank, rank.bcast(&room(&mut values, count), root, comm).unwrap(), form);
            assert_eq!(values, data(seed, root, count), "{call:?}");
        }
        Which::Allreduce => {
            let mut values = own.clone();
            let send = (!in_place).then(|| out(&own, count));
            complete(
                rank,
                rank.allreduce(send.as_ref(), &room(&mut values, count), &sum(), comm).unwrap(),
                form,
            );
            assert_eq!(values, summed(seed, p, count), "{call:?}");
        }
        Which::Reduce => {
            let mut values = own.clone();
            let send = (!in_place || !at_root).then(|| out(&own, count));
            let recv = at_root.then(|| room(&mut values, count));
            complete(rank, rank.reduce(send.as_ref(), recv.as_ref(), &sum(), root, comm).unwrap(), form);
            if at_root {
                assert_eq!(values, summed(seed, p, count), "{call:?}");
            }
        }
        Which::Allgather => {
            let mut values = vec![0; count * p as usize];
            values[me as usize * count..][..count].copy_from_slice(&own);
            let send = (!in_place).then(|| out(&own, count));
            complete(rank, rank.allgather(send.as_ref(), &room(&mut values, count), comm).unwrap(), form);
            assert_eq!(values, everything(), "{call:?}");
        }
        Which::Gather => {
            let mut values = vec![0; count * p as usize];
            values[me as usize * count..][..count].copy_from_slice(&own);
            let send = (!in_place || !at_root).then(|| out(&own, count));
            let recv = at_root.then(|| room(&mut values, count));
            complete(rank, rank.gather(send.as_ref(), recv.as_ref(), root, comm).unwrap(), form);
            if at_root {
                assert_eq!(values, everything(), "{call:?}");
            }
        }
        Which::Scatter => {
            let (all, mut values) = (data(seed, root, count * p as usize), vec![0; count]);
            let send = at_root.then(|| out(&all, count));
            let recv = (!in_place || !at_root).then(|| room(&mut values, count));
            complete(rank, rank.scatter(send.as_ref(), recv.as_ref(), root, comm).unwrap(), form);
            if !in_place || !at_root {
                assert_eq!(values, all[me as usize * count..][..count], "{call:?}");
            }
        }
        Which::Alltoall => {
            let (all, mut values) = (data(seed, me, count * p as usize), vec![0; count * p as usize]);
            complete(
                rank,
                rank.alltoall(Some(&out(&all, count)), &room(&mut values, count), comm).unwrap(),
                form,
            );
            let part =
                |from: u32| data(seed, from, count * p as usize)[me as usize * count..][..count].to_vec();
            assert_eq!(values, (0..p).flat_map(part).collect::<Vec<_>>(), "{call:?}");
        }
        Which::ReduceScatter => {
            // Blocks of the same length, or each a bit longer than the one before.
            let counts: Vec<u64> =
                (0..p).map(|member| count as u64 + seed as u64 % 2 * u64::from(member)).collect();
            let first = counts[..me as usize].iter().sum::<u64>() as usize;
            let (total, mine) = (counts.iter().sum::<u64>() as usize, counts[me as usize] as usize);
            let (all, mut values) = (data(seed, me, total), data(seed, me, total));
            let send = (!in_place).then(|| out(&all, mine));
            let recv = room(&mut values, mine);
            let plan = match seed % 2 {
                0 => rank.reduce_scatter_block(send.as_ref(), &recv, &sum(), comm),
                _ => rank.reduce_scatter(send.as_ref(), &recv, &counts, &sum(), comm),
            };
            complete(rank, plan.unwrap(), form);
            assert_eq!(values[..mine], summed(seed, p, total)[first..][..mine], "{call:?}");
            let rest = &data(seed, me, total)[mine..];
            assert!(in_place || values[mine..] == *rest, "{call:?} writes no more than its block");
        }
        Which::Scan | Which::Exscan => {
            let mut values = own.clone();
            let send = (!in_place).then(|| out(&own, count));
            let (plan, to) = match which {
                Which::Scan => (rank.scan(send.as_ref(), &room(&mut values, count), &sum(), comm), me + 1),
                _ => (rank.exscan(send.as_ref(), &room(&mut values, count), &sum(), comm), me),
            };
            complete(rank, plan.unwrap(), form);
            // The first member of an exclusive one gets nothing.
            assert_eq!(values, if to == 0 { own } else { summed(seed, to, count) }, "{call:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, ..ProptestConfig::default() })]

    #[test]
    fn any_sequence_of_collectives_gives_what_the_model_says(calls in calls()) {
        for (members, habits) in WAYS {
            run(members, habits, |rank| {
                // The others of the first group wait in the world for those of the second, and the other way round.
                let half = rank.split(rank.world(), Some(rank.world().rank() % 2), 0).unwrap().unwrap();
                for (at, call) in calls.iter().enumerate() {
                    check(rank, if at % 3 == 2 { &half } else { rank.world() }, *call);
                }
            });
        }
    }
}

/// What a non-blocking collective reads and writes, and what it should give, if it gives this member anything.
struct Begun {
    call: Call,
    request: RequestId,
    _own: Vec<i64>,
    values: Vec<i64>,
    expected: Option<Vec<i64>>,
}

/// Begins one of several that go on at the same time.
fn begin(rank: &Rank, comm: &Comm, call: Call) -> Begun {
    // Blocks for all members are long enough if those of a few make a long buffer.
    let (me, p, count, seed) = (comm.rank(), comm.size(), call.count.min(9000), call.seed);
    let (root, all) = (call.root % p, count * p as usize);
    let at_root = me == root;
    let everything = || (0..p).flat_map(|member| data(seed, member, count)).collect::<Vec<_>>();
    let own = data(seed, me, all);
    let mut values = own.clone();
    let (send, recv) = (out(&own, count), room(&mut values, count));
    let (plan, expected) = match call.which {
        Which::Barrier => (rank.barrier(comm), None),
        Which::Bcast => (rank.bcast(&recv, root, comm), Some(data(seed, root, count))),
        Which::Allreduce => (rank.allreduce(Some(&send), &recv, &sum(), comm), Some(summed(seed, p, count))),
        Which::Reduce => {
            let plan = rank.reduce(Some(&send), at_root.then_some(&recv), &sum(), root, comm);
            (plan, at_root.then(|| summed(seed, p, count)))
        }
        Which::Allgather => (rank.allgather(Some(&send), &recv, comm), Some(everything())),
        Which::Gather => {
            let plan = rank.gather(Some(&send), at_root.then_some(&recv), root, comm);
            (plan, at_root.then(everything))
        }
        Which::Scatter => {
            let plan = rank.scatter(at_root.then_some(&send), Some(&recv), root, comm);
            (plan, Some(data(seed, root, all)[me as usize * count..][..count].to_vec()))
        }
        Which::Alltoall => {
            let part = |from: u32| data(seed, from, all)[me as usize * count..][..count].to_vec();
            (rank.alltoall(Some(&send), &recv, comm), Some((0..p).flat_map(part).collect()))
        }
        Which::ReduceScatter => {
            let plan = rank.reduce_scatter_block(Some(&send), &recv, &sum(), comm);
            (plan, Some(summed(seed, p, all)[me as usize * count..][..count].to_vec()))
        }
        Which::Scan => (rank.scan(Some(&send), &recv, &sum(), comm), Some(summed(seed, me + 1, count))),
        Which::Exscan => {
            let plan = rank.exscan(Some(&send), &recv, &sum(), comm);
            (plan, (me > 0).then(|| summed(seed, me, count)))
        }
    };
    Begun { call, request: plan.unwrap().start().unwrap(), _own: own, values, expected }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, ..ProptestConfig::default() })]

    #[test]
    fn collectives_under_way_side_by_side_and_blocking_ones_between_give_what_the_model_says(calls in calls()) {
        for (members, habits) in WAYS {
            run(members, habits, |rank| {
                let comm = rank.world();
                warm_up(rank, comm);
                let mut begun = Vec::new();
                for (at, call) in calls.iter().enumerate() {
                    // Members wait in different orders.
                    match (at + comm.rank() as usize) % 5 {
                        0 if !begun.is_empty() => finish(rank, begun.swap_remove(at % begun.len())),
                        _ => {}
                    }
                    if at % 4 == 3 {
                        check(rank, comm, *call);
                    } else {
                        begun.push(begin(rank, comm, *call));
                    }
                }
                begun.into_iter().for_each(|one| finish(rank, one));
            });
        }
    }
}

fn finish(rank: &Rank, begun: Begun) {
    rank.wait(begun.request).unwrap();
    if let Some(expected) = begun.expected {
        let wrong = begun.values.iter().zip(&expected).position(|(value, expected)| value != expected);
        assert!(
            wrong.is_none(),
            "element {wrong:?} of {:?} at {} of {}",
            begun.call,
            rank.world().rank(),
            rank.world().size()
        );
    }
}

#[test]
fn more_collectives_than_a_board_has_notes_may_be_under_way() {
    for (members, habits) in WAYS {
        run(members, habits, |rank| {
            let comm = rank.world();
            warm_up(rank, comm);
            // The blocks of an all-gather fit into notes, all of them together into rooms, of which there are fewer.
            let which =
                [Which::Bcast, Which::Allreduce, Which::Allgather, Which::Allgather, Which::Allgather];
            let call = |seed: i64| Call {
                form: Form::NonBlocking,
                which: which[seed as usize % which.len()],
                count: 9,
                root: 1,
                in_place: false,
                seed,
            };
            let begun: Vec<Begun> = (0..200).map(|seed| begin(rank, comm, call(seed))).collect();
            for one in begun.into_iter().rev() {
                finish(rank, one);
            }
        });
    }
}

#[test]
fn who_gives_in_a_short_collective_with_a_root_does_so_at_once_where_there_is_room() {
    for (members, habits) in &WAYS[..5] {
        run(*members, *habits, |rank| {
            let comm = rank.world();
            warm_up(rank, comm);
            for seed in 0..20 {
                rank.barrier(comm).unwrap().wait().unwrap();
                for which in [Which::Bcast, Which::Gather, Which::Scatter, Which::Reduce] {
                    let call = Call { form: Form::AtOnce, which, count: 1, root: 1, in_place: false, seed };
                    let is_done = is_done_at_once(rank, comm, call);
                    let gives = (comm.rank() == 1) == matches!(which, Which::Bcast | Which::Scatter);
                    assert!(is_done || !gives, "{which:?}");
                    if !is_done {
                        check(rank, comm, Call { form: Form::Blocking, ..call });
                    }
                }
            }
        });
    }
}

#[test]
fn a_member_that_comes_late_to_what_it_left_open_does_not_write_over_it() {
    let (begun_by, done_by) = (AtomicU32::new(0), AtomicU32::new(0));
    run(2, Habits { workers: 2, ..SHARED }, |rank| {
        let comm = rank.world();
        warm_up(rank, comm);
        let until = |flag: &AtomicU32, round: u32| {
            while flag.load(Ordering::Acquire) < round {
                std::thread::yield_now();
            }
        };
        let call =
            |which, seed, in_place| Call { form: Form::Blocking, which, count: 200, root: 1, in_place, seed };
        for round in 1..=100 {
            let seed = i64::from(round);
            let is_late = comm.rank() == 0;
            if !is_late {
                until(&begun_by, round);
            }
            let open = begin(rank, comm, call(Which::Allreduce, seed, false));
            if is_late {
                // The other one comes second, is done, and goes on; this one finds all there and makes no progress meanwhile.
                begun_by.store(round, Ordering::Release);
                until(&done_by, round);
            }
            for seed in 0..3 {
                check(rank, comm, call(Which::Bcast, seed, true));
                if !is_late && seed == 2 {
                    done_by.store(round, Ordering::Release);
                }
            }
            // In the room of the first one.
            check(rank, comm, call(Which::Allreduce, seed + 1, false));
            finish(rank, open);
        }
    });
}

#[test]
fn a_long_scan_lets_those_go_first_that_wait_for_room() {
    for (members, habits) in WAYS {
        run(members, habits, |rank| {
            let comm = rank.world();
            warm_up(rank, comm);
            let call = |which, count, seed| Call {
                form: Form::Blocking,
                which,
                count,
                root: 0,
                in_place: true,
                seed,
            };
            for seed in 0..10 {
                // More than there are rooms.
                let begun: Vec<Begun> =
                    (0..7).map(|at| begin(rank, comm, call(Which::Bcast, 300, seed + at))).collect();
                check(rank, comm, call(Which::Scan, 9000, seed));
                check(rank, comm, call(Which::Exscan, 200, seed));
                begun.into_iter().for_each(|one| finish(rank, one));
            }
        });
    }
}

#[test]
fn a_member_that_expects_other_bytes_leaves_it_to_the_form_that_tells_of_it() {
    run(2, WAYS[0].1, |rank| {
        let comm = rank.world();
        warm_up(rank, comm);
        let mut values = vec![5; 4];
        if comm.rank() == 0 {
            assert!(rank.bcast_at_once(bytes(&mut values[..3]), 0, comm));
        } else {
            assert!(!rank.bcast_at_once(bytes(&mut values), 0, comm));
            let error = rank.bcast(&room(&mut values, 4), 0, comm).unwrap().wait().unwrap_err();
            assert!(matches!(error, Error::Short { source: 0, received: 24, expected: 32 }), "{error}");
        }
        assert!(!rank.bcast_at_once(bytes(&mut values), 2, comm), "there is no rank 2");
        rank.barrier(comm).unwrap().wait().unwrap();
    });
}

#[test]
fn persistent_collectives_are_started_in_any_order_again_and_again_without_a_letter() {
    for ((members, habits), count) in WAYS[..4].iter().flat_map(|way| [(way, 20), (way, 9000)]) {
        run(*members, Habits { workers: 1, ..*habits }, |rank| {
            let comm = rank.world();
            let own: Vec<Vec<i64>> = (0..3).map(|which| data(which, comm.rank(), count)).collect();
            let mut values = vec![vec![0; count]; 3];
            let requests: Vec<RequestId> = (0..3)
                .map(|which| {
                    let (own, values) = (&own[which], &mut values[which]);
                    let plan = rank.allreduce(Some(&out(own, count)), &room(values, count), &sum(), comm);
                    plan.unwrap().keep().unwrap()
                })
                .collect();
            rank.barrier(comm).unwrap().wait().unwrap();
            let before = letters_posted();
            for round in 0..if count == 20 { 50 } else { 10 } {
                // Each member begins with another one.
                for which in 0..3 {
                    rank.start(requests[(which + comm.rank() as usize + round) % 3]).unwrap();
                }
                for request in &requests {
                    rank.wait(*request).unwrap();
                }
                for (which, values) in values.iter_mut().enumerate() {
                    assert_eq!(*values, summed(which as i64, *members, count));
                    values.fill(0);
                }
            }
            assert_eq!(letters_posted(), before);
            for request in requests {
                rank.free(request).unwrap();
            }
        });
    }
}

#[test]
fn long_reductions_go_on_side_by_side_and_with_blocking_ones_that_use_the_same_memory() {
    for (members, habits) in WAYS {
        run(members, habits, |rank| {
            let comm = rank.world();
            warm_up(rank, comm);
            let call = |which, count, seed| Call {
                form: Form::Blocking,
                which,
                count,
                root: seed as u32,
                in_place: false,
                seed,
            };
            for seed in 0..12 {
                let lengths = [40_000, 9000, 14, 20_000];
                let begun: Vec<Begun> = (lengths.iter().enumerate())
                    .map(|(at, count)| begin(rank, comm, call(Which::Allreduce, *count, seed + at as i64)))
                    .collect();
                let between = [Which::Allreduce, Which::Bcast, Which::Reduce, Which::Scan][seed as usize % 4];
                check(rank, comm, call(between, [9000, 20_000, 300][seed as usize % 3], seed));
                // Members wait in different orders.
                let turned = (comm.rank() as usize + seed as usize) % begun.len();
                let mut begun = begun;
                begun.rotate_left(turned);
                begun.into_iter().for_each(|one| finish(rank, one));
            }
        });
    }
}

#[test]
fn collectives_with_a_root_follow_each_other_through_all_slots_of_a_hall() {
    // Those whose members share cores.
    for (members, habits) in [WAYS[1], WAYS[2], WAYS[5]] {
        run(members, habits, |rank| {
            let comm = rank.world();
            warm_up(rank, comm);
            // More of a length than there are slots for it, and notes; then others, while some are not yet done with these.
            for (count, times) in
                [(300, 300), (1, 300), (3000, 80), (9000, 20), (300, 3), (3000, 3), (15, 300)]
            {
                for seed in 0..times {
                    let others = [Which::Gather, Which::Scatter][seed as usize % 2];
                    let which = if seed % 9 == 8 { others } else { Which::Bcast };
                    let form = if seed % 3 == 0 { Form::Blocking } else { Form::AtOnce };
                    let root = seed as u32 / 40;
                    check(rank, comm, Call { form, which, count, root, in_place: false, seed });
                }
            }
        });
    }
}

/// Calls after which a communicator has its board.
fn warm_up(rank: &Rank, comm: &Comm) {
    for _ in 0..8 {
        rank.barrier(comm).unwrap().wait().unwrap();
    }
}

#[test]
fn no_letter_is_sent_once_there_is_a_board() {
    for (members, habits) in &WAYS[..4] {
        run(*members, Habits { workers: 1, ..*habits }, |rank| {
            warm_up(rank, rank.world());
            let before = letters_posted();
            let call = |form, which, count| {
                check(rank, rank.world(), Call { form, which, count, root: 1, in_place: false, seed: 5 });
            };
            for form in [Form::Blocking, Form::NonBlocking] {
                for which in [Which::Barrier, Which::Bcast, Which::Allreduce, Which::Reduce, Which::Alltoall]
                {
                    call(form, which, 14);
                }
                call(form, Which::Scan, 14);
                call(form, Which::Exscan, 14);
                call(form, Which::ReduceScatter, 14);
                call(form, Which::Allreduce, 9000);
            }
            for which in [Which::Bcast, Which::Allreduce, Which::Reduce, Which::Allgather, Which::Alltoall] {
                call(Form::Blocking, which, 9000);
            }
            call(Form::Blocking, Which::Scan, 9000);
            call(Form::Blocking, Which::Exscan, 9000);
            call(Form::Blocking, Which::ReduceScatter, 9000);
            assert_eq!(letters_posted(), before);
        });
    }
}

#[test]
fn members_who_disagree_on_the_length_are_told_and_go_on() {
    // Lengths of one form, and of two: in notes, where the data lie, and through a hall.
    for (few, many) in [(3, 4), (3, 9000), (9000, 40_000)] {
        for (members, habits) in WAYS {
            run(members, habits, |rank| {
                let comm = rank.world();
                warm_up(rank, comm);
                let me = comm.rank();
                let count = if me == 0 { few } else { many };
                let (own, mut values) = (vec![1; many], vec![0; many]);
                let (less, more) = (few as u64 * 8, many as u64 * 8);
                for is_blocking in [true, false] {
                    let plan =
                        rank.allreduce(Some(&out(&own, count)), &room(&mut values, count), &sum(), comm);
                    let ended = match is_blocking {
                        true => plan.unwrap().wait(),
                        false => plan.unwrap().start().and_then(|request| rank.wait(request)).map(|_| ()),
                    };
                    match ended {
                        Err(Error::Short { received, expected, source: 0 })
                            if me != 0 && (received, expected) == (less, more) => {}
                        Err(Error::Truncated { received, capacity, .. })
                            if me == 0 && (received, capacity) == (more, less) => {}
                        other => panic!("{other:?} at {me} of {members}"),
                    }
                }
                for root in [0, 1] {
                    let got = rank.bcast(&room(&mut values, count), root, comm).unwrap().wait();
                    // The root learns of it where it helps the other one of two.
                    let is_right = got.is_ok() == ((me == 0) == (root == 0)) || me == root;
                    assert!(is_right, "{got:?} of {root} at {me}");
                }
                let ended = rank
                    .scan(Some(&out(&own, count)), &room(&mut values, count), &sum(), comm)
                    .unwrap()
                    .wait();
                // The first one waits for nobody, and all others depend on it.
                assert_eq!(ended.is_ok(), me == 0, "{ended:?} at {me} of {members}");
                for count in [300, 40_000] {
                    for which in [Which::Scan, Which::Allreduce, Which::Bcast, Which::Exscan] {
                        check(
                            rank,
                            comm,
                            Call { form: Form::Blocking, which, count, root: 0, in_place: true, seed: 9 },
                        );
                    }
                }
            });
        }
    }
}

#[test]
fn a_broadcast_longer_than_the_hall_reaches_types_with_gaps() {
    run(3, Habits { workers: 2, portal: PortalHabit::Nothing, ..SHARED }, |rank| {
        let comm = rank.world();
        warm_up(rank, comm);
        let count = 700_000;
        let apart = Datatype::strided(count, 1, 16, &long()).unwrap();
        for root in 0..3 {
            let mut values = vec![-1_i64; 2 * count as usize];
            for index in (0..values.len()).step_by(2).filter(|_| comm.rank() == root) {
                values[index] = i64::from(root) + index as i64;
            }
            // SAFETY: the values live until the collective is done, and hold what the type describes.
            let buffer = unsafe { RecvBuffer::new(values.as_mut_ptr().cast(), 1, &apart) };
            rank.bcast(&buffer, root, comm).unwrap().wait().unwrap();
            let is_right = |(index, value): (usize, &i64)| {
                *value == if index % 2 == 0 { i64::from(root) + index as i64 } else { -1 }
            };
            assert!(values.iter().enumerate().all(is_right));
        }
    });
}

#[test]
fn a_long_broadcast_waits_for_those_who_have_not_read_the_short_ones_before() {
    for (members, habits) in WAYS {
        run(members, Habits { workers: 1, ..habits }, |rank| {
            let comm = rank.world();
            warm_up(rank, comm);
            // As many as a board has notes: the root lays them down while nobody has read any.
            for seed in 0..100 {
                let count = if seed % 33 == 32 { 9000 } else { 1 };
                check(
                    rank,
                    comm,
                    Call { form: Form::Blocking, which: Which::Bcast, count, root: 0, in_place: false, seed },
                );
            }
        });
    }
}

#[test]
fn a_result_that_the_order_decides_is_the_same_whoever_comes_first() {
    // Zeros of both signs: which of two is the greater one is decided by the order of the operands.
    let zero =
        |member: u32, index: u64| if (((index + 1) * 0x9E37) >> member) & 1 == 0 { 0.0_f64 } else { -0.0 };
    run(7, Habits { workers: 2, ..SHARED }, |rank| {
        let comm = rank.world();
        warm_up(rank, comm);
        let (count, kind) = (20_000, Datatype::basic(Basic::F64));
        let own: Vec<f64> = (0..count).map(|index| zero(comm.rank(), index)).collect();
        let mut first = None;
        for round in 0..40 {
            let mut greatest = vec![1.0_f64; count as usize];
            // SAFETY: both live until the collective is done.
            let (send, recv) = unsafe {
                (
                    SendBuffer::new(own.as_ptr().cast(), count, &kind),
                    RecvBuffer::new(greatest.as_mut_ptr().cast(), count, &kind),
                )
            };
            // Others are late from round to round.
            (0..(comm.rank() * 7 + round * 5) % 11).for_each(|_| std::thread::yield_now());
            rank.allreduce(Some(&send), &recv, &Op::builtin(Builtin::Max), comm).unwrap().wait().unwrap();
            let bits: Vec<u64> = greatest.iter().map(|value| value.to_bits()).collect();
            assert!(*first.get_or_insert_with(|| bits.clone()) == bits, "round {round}");
        }
    });
}

/// What a sum of numbers gives in which the order of the additions can be seen: of each group from its last one down, and of the groups from the last one down.
fn summed_in_groups(members: u32, size: u32, index: u64, number: fn(u32, u64) -> f64) -> f64 {
    let sum = |sum: Option<f64>, next: f64| Some(sum.map_or(next, |sum| next + sum));
    let group = |first: u32| {
        let numbers = (first..members.min(first + size)).rev().map(|member| number(member, index));
        numbers.fold(None, sum).unwrap()
    };
    (0..members).step_by(size as usize).rev().map(group).fold(None, sum).unwrap()
}

#[test]
fn many_with_a_core_each_combine_group_by_group_in_the_order_of_ranks_whoever_comes_first() {
    let number = |member: u32, index: u64| {
        (0.1 + f64::from(member)) * 10_f64.powi(((u64::from(member) * 7 + index * 3) % 17) as i32)
    };
    for (members, size) in [(17, 5), (18, 5), (21, 5), (26, 6), (36, 6)] {
        run(members, Habits { own_cores: true, workers: 2, ..SHARED }, |rank| {
            let (comm, kind) = (rank.world(), Datatype::basic(Basic::F64));
            warm_up(rank, comm);
            for round in 0..40 {
                // In a note, in rooms, and so long that each member combines a part: then there are no groups of values.
                let count = [1, 14, 15, 64, 65, 400][round as usize % 6];
                let size = if count > 64 { members } else { size };
                let own: Vec<f64> = (0..count).map(|index| number(comm.rank(), index)).collect();
                let mut total = own.clone();
                // SAFETY: both live until the collective is done.
                let (send, recv) = unsafe {
                    (
                        SendBuffer::new(own.as_ptr().cast(), count, &kind),
                        RecvBuffer::new(total.as_mut_ptr().cast(), count, &kind),
                    )
                };
                // Others are late from round to round.
                (0..(comm.rank() * 7 + round * 5) % 11).for_each(|_| std::thread::yield_now());
                let send = (round % 2 == 0).then_some(&send);
                rank.allreduce(send, &recv, &sum(), comm).unwrap().wait().unwrap();
                for (index, total) in (0..).zip(&total) {
                    let expected = summed_in_groups(members, size, index, number);
                    assert_eq!(total.to_bits(), expected.to_bits(), "{index} of {count}, {members} members");
                }
            }
        });
    }
}

/// Takes part in a scan of zeros of both signs, of which the last greatest one stays: the result is decided by the order of the operands.
fn scan_of_zeros(rank: &Rank, count: u64, with_own: bool, form: Form) -> (Vec<u64>, Vec<u64>) {
    let zero = |member: u32, index: u64| {
        if (((index + 1) * 0x9E37) >> (member % 13)) & 1 == 0 { 0.0_f64 } else { -0.0 }
    };
    let (comm, kind) = (rank.world(), Datatype::basic(Basic::F64));
    let mine = |member: u32| (0..count).map(|index| zero(member, index)).collect::<Vec<_>>();
    let (own, mut greatest) = (mine(comm.rank()), vec![1.0_f64; count as usize]);
    // SAFETY: both live until the collective is done.
    let (send, recv) = unsafe {
        (
            SendBuffer::new(own.as_ptr().cast(), count, &kind),
            RecvBuffer::new(greatest.as_mut_ptr().cast(), count, &kind),
        )
    };
    let op = Op::builtin(Builtin::Max);
    let scan = if with_own { Rank::scan } else { Rank::exscan };
    complete(rank, scan(rank, Some(&send), &recv, &op, comm).unwrap(), form);
    // `input` replaces `inout` only if it is greater, which no zero is: what comes last stays.
    let last = if with_own { Some(comm.rank()) } else { comm.rank().checked_sub(1) };
    let expected = last.map_or_else(|| vec![1.0; count as usize], mine);
    let bits = |values: Vec<f64>| values.into_iter().map(f64::to_bits).collect();
    (bits(greatest), bits(expected))
}

#[test]
fn scans_combine_in_the_order_of_ranks_whoever_comes_first() {
    for (members, workers) in [(1, 1), (2, 2), (3, 1), (4, 2), (6, 2), (8, 2), (9, 1), (33, 2)] {
        run(members, Habits { workers, ..SHARED }, |rank| {
            warm_up(rank, rank.world());
            for round in 0..30 {
                // Others are late from round to round.
                (0..(rank.world().rank() * 7 + round * 5) % 11).for_each(|_| std::thread::yield_now());
                let count = [1, 7, 8, 200, 2500, 9000][round as usize % 6];
                let form = if round % 5 == 0 { Form::NonBlocking } else { Form::Blocking };
                let (got, expected) = scan_of_zeros(rank, count, round % 2 == 0, form);
                assert!(got == expected, "round {round} of {members}");
            }
        });
    }
}

#[test]
fn scans_one_after_the_other_and_between_broadcasts_overtake_nobody() {
    for (members, habits) in WAYS {
        run(members, habits, |rank| {
            let comm = rank.world();
            warm_up(rank, comm);
            for seed in 0..120 {
                let which =
                    [Which::Scan, Which::Bcast, Which::Scan, Which::Exscan, Which::Exscan][seed as usize % 5];
                // In notes, in rooms, in a few slots, in more than there are, and so on: a room that a chain has used is used by another one, and by none.
                let count = [1, 2500, 30_000, 20, 300, 5000, 3][seed as usize % 7];
                check(
                    rank,
                    comm,
                    Call { form: Form::Blocking, which, count, root: 0, in_place: seed % 3 == 0, seed },
                );
            }
        });
    }
}

#[test]
fn scans_in_a_row_wait_for_their_neighbours_and_what_ends_the_row_for_all() {
    for (members, habits) in WAYS {
        run(members, habits, |rank| {
            let comm = rank.world();
            warm_up(rank, comm);
            for seed in 0..200 {
                // Who is ahead changes, so that members are as many turns apart as there are notes between them.
                if (seed / 25 + i64::from(comm.rank())) % 3 == 0 && seed % 7 == 0 {
                    (0..20).for_each(|_| std::thread::yield_now());
                }
                // Rows of more turns than there are notes, of fewer, and of one; what ends them lies in notes, in rooms, or is left open for a while.
                let (form, which, count) = match seed % 131 {
                    90 => (Form::Blocking, Which::Bcast, 1),
                    92 => (Form::NonBlocking, Which::Scan, 1),
                    100 => (Form::Blocking, Which::Exscan, 200),
                    110 => (Form::Blocking, Which::Gather, 3),
                    130 => (Form::Blocking, Which::Allreduce, 1),
                    other if other % 3 == 0 => (Form::Blocking, Which::Exscan, 1),
                    other if other % 5 == 0 => (Form::AtOnce, Which::Exscan, 7),
                    other if other % 2 == 0 => (Form::Blocking, Which::Scan, 2),
                    _ => (Form::AtOnce, Which::Scan, 1),
                };
                check(rank, comm, Call { form, which, count, root: 0, in_place: seed % 4 == 0, seed });
            }
        });
    }
}

/// Keeps the left one of two: not commutative.
struct Left;

impl UserFunction for Left {
    unsafe fn apply(&self, input: *const u8, inout: *mut u8, count: u64, _: &Datatype) {
        // SAFETY: so many numbers each, as the engine says.
        unsafe { std::ptr::copy_nonoverlapping(input.cast::<i64>(), inout.cast::<i64>(), count as usize) };
    }
}

#[test]
fn an_operation_of_the_programs_own_is_scanned_by_messages_in_the_order_of_ranks() {
    run(5, SHARED, |rank| {
        let comm = rank.world();
        warm_up(rank, comm);
        let op = Op::user(std::rc::Rc::new(Left), false);
        let (own, mut values) = (data(4, comm.rank(), 20), vec![0; 20]);
        let before = letters_posted();
        rank.scan(Some(&out(&own, 20)), &room(&mut values, 20), &op, comm).unwrap().wait().unwrap();
        assert_eq!(values, data(4, 0, 20));
        assert!(letters_posted() > before);
    });
}

#[test]
fn a_member_whose_own_block_does_not_fit_fails_and_so_do_those_who_need_it() {
    for (members, habits) in WAYS {
        run(members, habits, |rank| {
            let comm = rank.world();
            warm_up(rank, comm);
            let own = vec![1; 9000];
            // One that speaks for its group, where there are such, and others.
            for (count, culprit) in [(2, 1), (2, 0), (2, members - 1), (9000, 1), (9000, 0)] {
                let mut values = vec![0; count * members as usize];
                let given = if comm.rank() == culprit { count - 1 } else { count };
                let ended =
                    rank.allgather(Some(&out(&own, given)), &room(&mut values, count), comm).unwrap().wait();
                assert!(ended.is_err(), "{ended:?}");
                check(
                    rank,
                    comm,
                    Call {
                        form: Form::Blocking,
                        which: Which::Allgather,
                        count,
                        root: 0,
                        in_place: false,
                        seed: 3,
                    },
                );
            }
        });
    }
}

#[test]
fn communicators_come_and_go_with_their_boards() {
    for workers in [1, 2] {
        run(4, Habits { workers, ..SHARED }, |rank| {
            for seed in 0..200 {
                let comm = rank.dup(rank.world()).unwrap();
                warm_up(rank, &comm);
                check(
                    rank,
                    &comm,
                    Call {
                        form: Form::Blocking,
                        which: Which::Allreduce,
                        count: 15,
                        root: 0,
                        in_place: false,
                        seed,
                    },
                );
            }
        });
    }
}

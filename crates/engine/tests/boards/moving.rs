//! Long collectives that combine nothing, while their members do something else: data go from where they lie to where they are wanted.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use corelace_engine::{Comm, Datatype, Error, Plan, Rank, RecvBuffer, RequestId, SendBuffer};

use super::calls::*;
use crate::support::habitual::letters_posted;
use crate::support::{Habits, run};

const MOVING: [Which; 5] = [Which::Bcast, Which::Allgather, Which::Alltoall, Which::Gather, Which::Scatter];

/// Those who can read each other's memory, of whom few enough hold long data for all.
fn ways() -> impl Iterator<Item = (u32, Habits)> {
    WAYS.into_iter().enumerate().filter(|(at, _)| ![4, 5, 6].contains(at)).map(|(_, way)| way)
}

fn long_one(which: Which, root: u32, seed: i64) -> Call {
    Call { form: Form::NonBlocking, which, count: 9000, root, in_place: false, seed }
}

/// Makes no progress until others have come so far.
fn until(flag: &AtomicU32, reached: u32) {
    let begun = Instant::now();
    while flag.load(Ordering::Acquire) < reached {
        assert!(begun.elapsed() < Duration::from_secs(60), "the others wait for this one");
        std::thread::yield_now();
    }
}

#[test]
fn long_ones_are_begun_and_started_again_without_a_letter() {
    for (members, habits) in ways() {
        run(members, Habits { workers: 1, ..habits }, |rank| {
            let comm = rank.world();
            warm_up(rank, comm);
            let kept = |(seed, which)| begin_by(rank, comm, long_one(which, 1, seed), Plan::keep);
            let mut kept: Vec<Begun> = (0..).zip(MOVING).map(kept).collect();
            rank.barrier(comm).unwrap().wait().unwrap();
            let before = letters_posted();
            for round in 0..4 {
                // Each member starts them in another order, and begins others between.
                for at in 0..kept.len() {
                    let one = (at + comm.rank() as usize + round) % kept.len();
                    let Begun { own, values, request, .. } = &mut kept[one];
                    values.copy_from_slice(own);
                    rank.start(*request).unwrap();
                }
                let begun = |(seed, which)| begin(rank, comm, long_one(which, round as u32, seed));
                let begun: Vec<Begun> = (10..).zip(MOVING).map(begun).collect();
                kept.iter().for_each(|one| wait_and_compare(rank, one));
                begun.into_iter().for_each(|one| finish(rank, one));
            }
            assert_eq!(letters_posted(), before);
            kept.into_iter().for_each(|one| rank.free(one.request).unwrap());
        });
    }
}

#[test]
fn whoever_takes_or_gives_is_done_while_the_root_makes_no_progress() {
    let pair = Habits { workers: 2, ..SHARED };
    for habits in [pair, Habits { own_cores: true, ..pair }, Habits { own_cores: true, apart: true, ..pair }]
    {
        for which in [Which::Bcast, Which::Scatter, Which::Gather] {
            let done = AtomicU32::new(0);
            run(2, habits, |rank| {
                let comm = rank.world();
                warm_up(rank, comm);
                for round in 1..=20 {
                    let one = begin(rank, comm, long_one(which, 0, round.into()));
                    if comm.rank() == 0 {
                        until(&done, round);
                        finish(rank, one);
                    } else {
                        finish(rank, one);
                        done.fetch_add(1, Ordering::AcqRel);
                    }
                }
            });
        }
    }
}

#[test]
fn nobody_is_done_before_the_others_have_read() {
    let pair = Habits { workers: 2, ..SHARED };
    let by_all = [Which::Allgather, Which::Alltoall];
    let ways = [
        (pair, &[Which::Bcast, Which::Scatter][..]),
        (pair, &by_all),
        (Habits { own_cores: true, ..pair }, &by_all),
    ];
    for (habits, which) in
        ways.into_iter().flat_map(|(habits, all)| all.iter().map(move |which| (habits, *which)))
    {
        let round_of = [AtomicU32::new(0), AtomicU32::new(0)];
        run(2, habits, |rank| {
            let comm = rank.world();
            warm_up(rank, comm);
            for round in 1..=10 {
                let call = long_one(which, 0, round.into());
                if comm.rank() == 1 {
                    // It comes first, finds nothing to read, and does not look again.
                    let one = begin(rank, comm, call);
                    round_of[1].store(round, Ordering::Release);
                    until(&round_of[0], round);
                    finish(rank, one);
                } else {
                    until(&round_of[1], round);
                    let one = begin(rank, comm, call);
                    for _ in 0..1000 {
                        assert!(matches!(rank.test(one.request), Ok(None)), "{which:?}");
                    }
                    round_of[0].store(round, Ordering::Release);
                    finish(rank, one);
                }
            }
        });
    }
}

#[test]
fn more_long_ones_than_a_board_has_notes_wait_for_one_that_comes_late() {
    let ways: Vec<(u32, Habits)> = ways().filter(|(members, _)| *members <= 5).collect();
    for (members, habits) in ways {
        let begun_by = AtomicU32::new(0);
        run(members, Habits { workers: members as usize, ..habits }, |rank| {
            let comm = rank.world();
            warm_up(rank, comm);
            let is_late = comm.rank() == 1;
            if is_late {
                until(&begun_by, members - 1);
            }
            let begun = |seed: i64| {
                begin(rank, comm, long_one(MOVING[seed as usize % MOVING.len()], seed as u32, seed))
            };
            let begun: Vec<Begun> = (0..80).map(begun).collect();
            if !is_late {
                // Nothing waits inside, whoever is missing.
                rank.progress();
                begun_by.fetch_add(1, Ordering::AcqRel);
            }
            begun.into_iter().rev().for_each(|one| finish(rank, one));
        });
    }
}

#[test]
fn long_ones_on_several_communicators_go_on_beside_blocking_ones() {
    for (members, habits) in WAYS {
        run(members, habits, |rank| {
            let world = rank.world();
            let half = rank.split(world, Some(world.rank() % 2), 0).unwrap().unwrap();
            let copy = rank.dup(world).unwrap();
            let comms: [&Comm; 3] = [world, &half, &copy];
            comms.iter().for_each(|comm| warm_up(rank, comm));
            for seed in 0..6 {
                let which = |at: i64| MOVING[(seed + at) as usize % MOVING.len()];
                let mut begun: Vec<Begun> = (0..6)
                    .map(|at| begin(rank, comms[at as usize % 3], long_one(which(at), at as u32, seed + at)))
                    .collect();
                for (at, comm) in (0..).zip(comms) {
                    let call = long_one(which(at), at as u32, seed);
                    check(rank, comm, Call { form: Form::Blocking, in_place: true, ..call });
                    check(rank, comm, Call { form: Form::Blocking, count: 14, ..call });
                }
                // Members wait in different orders.
                begun.rotate_left((world.rank() as usize + seed as usize) % 6);
                begun.into_iter().for_each(|one| finish(rank, one));
            }
        });
    }
}

/// Numbers with others between them, and behind the last.
fn apart(count: usize) -> Datatype {
    Datatype::strided(count as u64, 1, 16, &long()).unwrap().resized(0, 16 * count as i64).unwrap()
}

fn spread(values: &[i64]) -> Vec<i64> {
    values.iter().flat_map(|value| [*value, -1]).collect()
}

#[test]
fn types_with_gaps_keep_their_gaps() {
    for ((members, habits), form) in
        ways().flat_map(|way| [(way, Form::NonBlocking), (way, Form::Persistent)])
    {
        run(members, habits, |rank| {
            let comm = rank.world();
            warm_up(rank, comm);
            let (me, p, count) = (comm.rank(), members as usize, 9000);
            let kind = apart(count);
            for (seed, which) in (0..).zip(MOVING).chain((5..).zip(MOVING)) {
                let root = seed as u32 % members;
                let (own, all) = (spread(&data(seed, me, count)), spread(&data(seed, me, count * p)));
                let mut values = vec![-1; 2 * count * p];
                let blocks =
                    |of: &dyn Fn(u32) -> Vec<i64>| spread(&(0..members).flat_map(of).collect::<Vec<_>>());
                // SAFETY: all of them live until the collective is done, and hold a block of the type for each member.
                let (one, each, into) = unsafe {
                    (
                        SendBuffer::new(own.as_ptr().cast(), 1, &kind),
                        SendBuffer::new(all.as_ptr().cast(), 1, &kind),
                        RecvBuffer::new(values.as_mut_ptr().cast(), 1, &kind),
                    )
                };
                let part = |of: u32| part(seed, of, me as usize * count, count);
                let (plan, expected) = match which {
                    Which::Bcast => {
                        if me == root {
                            into_place(&into, &own);
                        }
                        (rank.bcast(&into, root, comm), spread(&data(seed, root, count)))
                    }
                    Which::Allgather => {
                        (rank.allgather(Some(&one), &into, comm), blocks(&|member| data(seed, member, count)))
                    }
                    Which::Alltoall => (rank.alltoall(Some(&each), &into, comm), blocks(&part)),
                    Which::Gather => {
                        let plan = rank.gather(Some(&one), (me == root).then_some(&into), root, comm);
                        (plan, if me == root { blocks(&|member| data(seed, member, count)) } else { vec![] })
                    }
                    _ => {
                        let plan = rank.scatter((me == root).then_some(&each), Some(&into), root, comm);
                        (plan, spread(&part(root)))
                    }
                };
                complete(rank, plan.unwrap(), form);
                let (got, rest) = values.split_at(expected.len());
                assert!(got == expected && rest.iter().all(|value| *value == -1), "{which:?} at {me} of {p}");
            }
        });
    }
}

/// Lays numbers down where a buffer lies.
fn into_place(buffer: &RecvBuffer, values: &[i64]) {
    // SAFETY: the caller's buffer holds as many.
    unsafe { buffer.base().cast::<i64>().copy_from_nonoverlapping(values.as_ptr(), values.len()) };
}

#[test]
fn who_takes_is_told_of_a_part_that_could_not_be_written() {
    let named = AtomicU32::new(0);
    run(2, Habits { own_cores: true, workers: 2, breaks_puts: true, ..SHARED }, |rank: &Rank| {
        let comm = rank.world();
        warm_up(rank, comm);
        let mut values = vec![7; 9000];
        let begin = |values: &mut [i64]| -> RequestId {
            rank.bcast(&room(values, 9000), 0, comm).unwrap().start().unwrap()
        };
        let ended = match comm.rank() {
            0 => {
                // The other one is there, and does nothing until this one has tried.
                until(&named, 1);
                let ended = rank.wait(begin(&mut values));
                named.store(2, Ordering::Release);
                ended
            }
            _ => {
                let request = begin(&mut values);
                named.store(1, Ordering::Release);
                until(&named, 2);
                rank.wait(request)
            }
        };
        assert!(matches!(ended, Err(Error::PeerMemory { .. })), "{ended:?} at {}", comm.rank());
    });
}

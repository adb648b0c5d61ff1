//! Collectives that go on while their members do something else.

use std::sync::atomic::{AtomicU32, Ordering};

use corelace_engine::RequestId;

use super::calls::*;
use crate::support::habitual::letters_posted;
use crate::support::{Habits, run};

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

//! Collectives in flight: several at once, barriers, errors, memory.

use std::cell::Cell;
use std::rc::Rc;

use corelace_engine::datatype::Basic;
use corelace_engine::{
    Builtin, Datatype, Error, Op, Plan, Rank, RecvBuffer, RecvParts, SendBuffer, State, UserFunction,
};

use crate::support::{Habits, PLAIN, all_habits, run};

fn out(numbers: &[u64]) -> SendBuffer {
    // SAFETY: the tests keep the numbers until the operation is complete.
    unsafe { SendBuffer::new(numbers.as_ptr().cast(), numbers.len() as u64, &Datatype::basic(Basic::U64)) }
}

fn room(numbers: &mut [u64]) -> RecvBuffer {
    // SAFETY: as above.
    unsafe {
        RecvBuffer::new(numbers.as_mut_ptr().cast(), numbers.len() as u64, &Datatype::basic(Basic::U64))
    }
}

fn sum() -> Op {
    Op::builtin(Builtin::Sum)
}

#[test]
fn many_collectives_on_one_communicator_do_not_mix_and_complete_in_any_order() {
    for (name, habits) in all_habits() {
        run(5, habits, |rank| {
            let world = rank.world();
            let (me, p) = (u64::from(world.rank()), u64::from(world.size()));
            const LENGTH: usize = 30;
            let given: Vec<Vec<u64>> = (0..6).map(|round| vec![me + round * 100; LENGTH]).collect();
            let mut sums: Vec<Vec<u64>> = vec![vec![0; LENGTH]; 6];
            let mut roots: Vec<Vec<u64>> = (0..6).map(|round| vec![me * 1000 + round; LENGTH]).collect();
            let mut ids = Vec::new();
            for round in 0..6 {
                let (from, into) = (out(&given[round]), room(&mut sums[round]));
                ids.push(rank.allreduce(Some(&from), &into, &sum(), world).and_then(Plan::start).unwrap());
                ids.push(
                    rank.bcast(&room(&mut roots[round]), round as u32 % 5, world)
                        .and_then(Plan::start)
                        .unwrap(),
                );
                ids.push(rank.barrier(world).and_then(Plan::start).unwrap());
            }
            // Members wait in different orders.
            ids.rotate_left(me as usize * 3);
            if me % 2 == 0 {
                ids.reverse();
            }
            for id in ids {
                rank.wait(id).unwrap();
            }
            for round in 0..6 {
                let expected = p * (p - 1) / 2 + p * round as u64 * 100;
                assert_eq!(sums[round], vec![expected; LENGTH], "{name}");
                assert_eq!(roots[round], vec![round as u64 % 5 * 1000 + round as u64; LENGTH], "{name}");
            }
        });
    }
}

#[test]
fn a_nonblocking_collective_goes_on_while_its_rank_waits_for_something_else() {
    run(4, PLAIN, |rank| {
        let world = rank.world();
        let mut total = [0];
        let id =
            rank.allreduce(Some(&out(&[1])), &room(&mut total), &sum(), world).and_then(Plan::start).unwrap();
        // Nobody asks for the result, but everybody's barrier needs the others to have made progress with it.
        rank.barrier(world).and_then(Plan::wait).unwrap();
        rank.barrier(world).and_then(Plan::wait).unwrap();
        while rank.state(id).unwrap() == State::Active {
            rank.poke().unwrap();
        }
        rank.wait(id).unwrap();
        assert_eq!(total, [4]);
    });
}

#[test]
fn no_member_leaves_a_barrier_before_the_last_has_entered_it() {
    use std::sync::atomic::{AtomicU32, Ordering};
    for members in [1, 2, 3, 8, 17, 18, 40] {
        let entered = AtomicU32::new(0);
        run(members, Habits { workers: 2, ..PLAIN }, |rank| {
            let world = rank.world();
            let other = rank.dup(world).unwrap();
            for round in 1..=60 {
                let algorithm = ["dissemination", "tree"][round as usize / 3 % 2];
                assert!(rank.prefer_algorithm("barrier", Some(algorithm)));
                entered.fetch_add(1, Ordering::SeqCst);
                match round % 3 {
                    0 => rank.barrier(world).and_then(Plan::wait).unwrap(),
                    1 => rank.barrier(&other).and_then(Plan::wait).unwrap(),
                    _ => {
                        let id = rank.barrier(world).and_then(Plan::start).unwrap();
                        rank.wait(id).unwrap();
                    }
                }
                assert!(entered.load(Ordering::SeqCst) >= round * members, "round {round} of {members}");
            }
        });
    }
}

#[test]
fn members_that_disagree_on_the_length_get_an_error_and_the_communicator_goes_on() {
    for (name, habits) in all_habits() {
        for length in [0, 2usize, 5000] {
            run(2, habits, |rank| {
                let world = rank.world();
                let me = world.rank();
                let mut numbers = vec![7; if me == 0 { length + 1 } else { length }];
                let outcome = rank.bcast(&room(&mut numbers), 0, world).and_then(Plan::wait);
                if me == 1 {
                    assert!(matches!(outcome, Err(Error::Truncated { .. })), "{name}: {outcome:?}");
                }
                let mut numbers = vec![7; if me == 0 { length } else { length + 1 }];
                let id = rank.bcast(&room(&mut numbers), 0, world).and_then(Plan::start).unwrap();
                let outcome = rank.wait(id);
                if me == 1 {
                    assert!(matches!(outcome, Err(Error::Short { source: 0, .. })), "{name}: {outcome:?}");
                }
                let mut total = [0];
                rank.allreduce(Some(&out(&[1])), &room(&mut total), &sum(), world)
                    .and_then(Plan::wait)
                    .unwrap();
                assert_eq!(total, [2], "{name}: the next collective is not disturbed");
            });
        }
    }
}

#[test]
fn a_member_whose_own_block_does_not_fit_fails_and_the_others_end() {
    for (name, habits) in all_habits() {
        for length in [1usize, 5000] {
            run(4, habits, |rank| {
                let (world, at_root) = (rank.world(), rank.world().rank() == 0);
                let odd = if at_root { 2 * length } else { length };
                let (given, mut taken) = (vec![7; 4 * odd], vec![0; length]);
                let send = at_root.then(|| out(&given[..odd]));
                let outcome =
                    rank.scatter(send.as_ref(), Some(&room(&mut taken)), 0, world).and_then(Plan::wait);
                match at_root {
                    true => assert!(
                        matches!(outcome, Err(Error::Truncated { source: 0, .. })),
                        "{name}: {outcome:?}"
                    ),
                    false => assert!(outcome.is_err(), "{name}: the root has failed"),
                }
                let mut all = vec![0; 4 * length];
                let into = room(&mut all[..length]);
                let outcome = rank.allgather(Some(&out(&given[..odd])), &into, world).and_then(Plan::start);
                let outcome = outcome.and_then(|id| rank.wait(id));
                assert!(outcome.is_err(), "{name}: one member has failed");
                rank.barrier(world).and_then(Plan::wait).unwrap();
            });
        }
    }
}

#[test]
fn wrong_arguments_are_refused_before_anything_is_sent() {
    run(2, PLAIN, |rank| {
        let world = rank.world();
        let me = world.rank();
        let mut numbers = [0; 4];
        assert_eq!(
            rank.bcast(&room(&mut numbers), 2, world).and_then(Plan::wait),
            Err(Error::Root { given: 2, size: 2 })
        );
        let mut result = [0; 4];
        let into = room(&mut result);
        if me == 1 {
            let refused = rank.reduce(None, None, &sum(), 0, world).and_then(Plan::wait);
            assert!(matches!(refused, Err(Error::Buffer { .. })), "in place away from the root");
        } else {
            let refused = rank.gather(Some(&out(&numbers)), None, 0, world).and_then(Plan::wait);
            assert!(matches!(refused, Err(Error::Buffer { .. })), "no room at the root");
        }
        let refused = rank.allreduce(None, &into, &Op::builtin(Builtin::MinLoc), world).and_then(Plan::wait);
        assert_eq!(refused, Err(Error::Op { op: "MPI_MINLOC", datatype: Basic::U64 }));
        let refused = rank.allgather(Some(&out(&[1, 2, 3, 4, 5])), &into, world).and_then(Plan::wait);
        assert!(matches!(refused, Err(Error::Truncated { .. })), "own block too long");
        let (counts, displacements, datatype) = ([1], [0], Datatype::basic(Basic::U64));
        // SAFETY: nothing is written.
        let parts = unsafe { RecvParts::new(result.as_mut_ptr().cast(), &counts, &displacements, &datatype) };
        assert!(matches!(
            rank.allgatherv(None, &parts, world).and_then(Plan::wait),
            Err(Error::Argument { .. })
        ));
        rank.barrier(world).and_then(Plan::wait).unwrap();
    });
}

#[test]
fn scratch_memory_counts_against_the_budget_and_is_given_back() {
    run(4, Habits { budget: Some(256 << 10), ..PLAIN }, |rank| {
        let world = rank.world();
        let budget = rank.fabric().budget();
        let small = vec![1; 1000];
        let mut result = vec![0; 1000];
        rank.allreduce(Some(&out(&small)), &room(&mut result), &sum(), world).and_then(Plan::wait).unwrap();
        assert_eq!(result, vec![4; 1000]);
        rank.barrier(world).and_then(Plan::wait).unwrap();
        let before = budget.used();
        let large = vec![1; 100_000];
        let mut result = vec![0; 100_000];
        let refused =
            rank.allreduce(Some(&out(&large)), &room(&mut result), &sum(), world).and_then(Plan::wait);
        assert!(matches!(refused, Err(Error::Memory(_))), "{refused:?}");
        assert_eq!(budget.used(), before, "a schedule that was not built holds nothing");
        rank.barrier(world).and_then(Plan::wait).unwrap();
    });
}

#[test]
fn a_user_operation_may_use_the_rank() {
    struct Curious {
        calls: Cell<u32>,
        rank: *const Rank,
    }
    impl UserFunction for Curious {
        unsafe fn apply(&self, input: *const u8, inout: *mut u8, count: u64, _: &Datatype) {
            // SAFETY: the rank outlives the operation; the engine passes valid numbers.
            unsafe {
                (*self.rank).progress();
                for index in 0..count as usize {
                    *inout.cast::<u64>().add(index) += *input.cast::<u64>().add(index);
                }
            }
            self.calls.set(self.calls.get() + 1);
        }
    }
    run(4, PLAIN, |rank| {
        let function = Rc::new(Curious { calls: Cell::new(0), rank });
        let op = Op::user(function.clone(), false);
        let mut totals = [[0; 1]; 8];
        let given: Vec<[u64; 1]> = (0..8).map(|round| [round]).collect();
        let ids: Vec<_> = totals
            .iter_mut()
            .zip(&given)
            .map(|(total, given)| {
                rank.allreduce(Some(&out(given)), &room(total), &op, rank.world())
                    .and_then(Plan::start)
                    .unwrap()
            })
            .collect();
        for (id, total) in ids.into_iter().zip(0..) {
            rank.wait(id).unwrap();
            assert_eq!(totals[total], [4 * total as u64]);
        }
        assert!(function.calls.get() > 0);
    });
}

#[test]
fn a_local_reduction_combines_into_the_second_buffer() {
    run(1, PLAIN, |rank| {
        let mut numbers = [10, 20, 30];
        rank.reduce_local(&out(&[1, 2, 3]), &room(&mut numbers), &sum()).unwrap();
        assert_eq!(numbers, [11, 22, 33]);
        let overlapping = out(&numbers[1..]);
        let refused = rank.reduce_local(&overlapping, &room(&mut numbers[..2]), &sum());
        assert!(matches!(refused, Err(Error::Buffer { .. })));
    });
}

#[test]
fn all_members_of_an_allreduction_get_the_same_bits() {
    for members in 2..=9 {
        let results = run(members, PLAIN, |rank| {
            let me = rank.world().rank();
            // One member has a NaN, and sums round differently in different orders.
            let given = [if me == 1 { f64::NAN } else { f64::from(me) }, 0.1 * f64::from(me + 1), 1e16];
            let mut results = Vec::new();
            for algorithm in ["recursive_doubling", "tree", "halving_doubling"] {
                assert!(rank.prefer_algorithm("allreduce", Some(algorithm)));
                for op in [Builtin::Max, Builtin::Sum, Builtin::Min] {
                    let mut result = given;
                    let double = Datatype::basic(Basic::F64);
                    // SAFETY: the array lives until the call returns.
                    let buffer = unsafe { RecvBuffer::new(result.as_mut_ptr().cast(), 3, &double) };
                    rank.allreduce(None, &buffer, &Op::builtin(op), rank.world())
                        .and_then(Plan::wait)
                        .unwrap();
                    results.extend(result.map(f64::to_bits));
                }
            }
            results
        });
        for other in &results {
            assert_eq!(*other, results[0], "{members} members");
        }
    }
}

#[test]
fn persistent_collectives_run_again_with_what_their_buffers_hold_now() {
    for (name, habits) in all_habits() {
        run(5, habits, |rank| {
            let world = rank.world();
            let me = u64::from(world.rank());
            let mut given = [[0; 40]; 2];
            let mut totals = [[0; 40]; 2];
            let mut word = [0];
            let op = sum();
            let [a, b] = &mut given;
            let [x, y] = &mut totals;
            let first = rank.allreduce(Some(&out(a)), &room(x), &op, world).and_then(Plan::keep).unwrap();
            let second = rank.allreduce(Some(&out(b)), &room(y), &op, world).and_then(Plan::keep).unwrap();
            let third = rank.bcast(&room(&mut word), 2, world).and_then(Plan::keep).unwrap();
            let fence = rank.barrier(world).and_then(Plan::keep).unwrap();
            for round in 0..4 {
                (given[0], given[1]) = ([round + me; 40], [round * 10; 40]);
                word[0] = me + round;
                let mut ids = [first, second, third, fence];
                ids.rotate_left(me as usize % 4); // Members start them in different orders.
                for id in ids {
                    rank.start(id).unwrap();
                }
                for id in [second, fence, third, first] {
                    rank.wait(id).unwrap();
                }
                assert_eq!(totals, [[5 * round + 10; 40], [50 * round; 40]], "{name}");
                assert_eq!(word, [2 + round], "{name}");
            }
            for id in [first, second, third, fence] {
                rank.free(id).unwrap();
            }
            rank.barrier(world).and_then(Plan::wait).unwrap();
        });
    }
}

#[test]
fn members_at_the_next_barrier_still_help_those_that_are_behind() {
    // The others are in the barrier, with their signals raised, while rank 0 still needs their help with a reduction.
    run(3, Habits { workers: 1, ..PLAIN }, |rank| {
        let world = rank.world();
        let copy = rank.dup(world).unwrap();
        for round in 0..20 {
            let (given, mut total) = ([round], [0]);
            if world.rank() == 0 {
                let id = rank
                    .allreduce(Some(&out(&given)), &room(&mut total), &sum(), &copy)
                    .and_then(Plan::start)
                    .unwrap();
                rank.wait(id).unwrap();
                rank.barrier(world).and_then(Plan::wait).unwrap();
            } else {
                let id = rank
                    .allreduce(Some(&out(&given)), &room(&mut total), &sum(), &copy)
                    .and_then(Plan::start)
                    .unwrap();
                rank.barrier(world).and_then(Plan::wait).unwrap();
                rank.wait(id).unwrap();
            }
            assert_eq!(total, [3 * round]);
        }
    });
}

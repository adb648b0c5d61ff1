//! Windows: what ranks do to each other's memory, and what they cannot do to it, however hard they try.
#![allow(clippy::forget_non_drop, reason = "what is tested is that a value is forgotten, whatever its type")]

use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use corelace::{BoxError, Communicator, Datatype, ErrorKind, Failure, Job, Window, op};
use proptest::prelude::*;

/// Every way to carry ranks inside of a program.
fn carriers(ranks: usize) -> Vec<Job> {
    let mut carriers = vec![Job::new(ranks).threads()];
    if std::env::var("CORELACE_TEST_RANKS").as_deref() != Ok("threads") {
        carriers.extend([Job::new(ranks), Job::new(ranks).cores(1)]);
    }
    carriers
}

/// Runs something on ranks of every kind; none may fail.
fn everywhere(ranks: usize, body: impl Fn(&Communicator<'_>) -> Result<(), BoxError> + Sync) {
    for job in carriers(ranks) {
        job.try_run(|world| body(&world)).unwrap();
    }
}

/// One step of a rank that all ranks know of.
#[derive(Clone, Debug)]
enum Step {
    Put { target: usize, at: usize, values: Vec<i64> },
    Add { target: usize, at: usize, values: Vec<i64> },
}

const RANKS: usize = 3;
const LEN: usize = 200;

/// Steps of all ranks in one epoch: puts to places that are the origin's alone, sums anywhere behind them.
fn epochs() -> impl Strategy<Value = Vec<Vec<Step>>> {
    let values = prop::collection::vec(any::<i64>(), 1..90);
    let step = (0..RANKS, 0..100usize, values, any::<bool>());
    let steps = prop::collection::vec(step, 0..6);
    let of_origin = |origin: usize, steps: Vec<(usize, usize, Vec<i64>, bool)>| {
        let steps = steps.into_iter().map(move |(target, at, values, is_put)| {
            if is_put {
                let own = LEN / 2 / RANKS;
                let (at, len) = (origin * own + at % own / 2, values.len().min(own / 2));
                Step::Put { target, at, values: values[..len].to_vec() }
            } else {
                let len = values.len().min(LEN - LEN / 2 - at % 50);
                Step::Add { target, at: LEN / 2 + at % 50, values: values[..len].to_vec() }
            }
        });
        steps.collect::<Vec<_>>()
    };
    let epoch = prop::collection::vec(steps, RANKS).prop_map(move |all| {
        all.into_iter().enumerate().map(|(origin, steps)| of_origin(origin, steps)).collect::<Vec<_>>()
    });
    // Epoch by epoch, rank by rank: one list of steps each.
    prop::collection::vec(epoch, 1..4).prop_map(|epochs| epochs.into_iter().flatten().collect())
}

fn apply(model: &mut [Vec<i64>], step: &Step) {
    match step {
        Step::Put { target, at, values } => model[*target][*at..][..values.len()].copy_from_slice(values),
        Step::Add { target, at, values } => {
            for (there, value) in model[*target][*at..].iter_mut().zip(values) {
                *there = there.wrapping_add(*value);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn epochs_of_any_kind_leave_what_a_sequence_of_steps_leaves(epochs in epochs(), by_locks in any::<bool>()) {
        let mut model = vec![vec![0; LEN]; RANKS];
        epochs.iter().flatten().for_each(|step| apply(&mut model, step));
        for job in carriers(RANKS) {
            job.try_run(|world| {
                let mut window = world.allocate_window::<i64>(LEN)?;
                for epoch in epochs.chunks(RANKS) {
                    let steps = &epoch[world.rank()];
                    if by_locks {
                        for step in steps {
                            match step {
                                Step::Put { target, at, values } => window.lock_shared(*target)?.put(*at, &values[..])?,
                                Step::Add { target, at, values } => {
                                    window.lock_all()?.at(*target)?.accumulate(*at, &values[..], op::sum())?;
                                }
                            }
                        }
                        window.fence()?;
                    } else {
                        window.fenced(|epoch| steps.iter().try_for_each(|step| match step {
                            Step::Put { target, at, values } => epoch.at(*target)?.put(*at, &values[..]),
                            Step::Add { target, at, values } => {
                                epoch.at(*target)?.accumulate(*at, &values[..], op::sum())
                            }
                        }))?;
                    }
                }
                window.read(|all| (0..RANKS).for_each(|rank| assert_eq!(all.of(rank), Some(&model[rank][..]))))?;
                Ok(window.free()?)
            }).unwrap();
        }
    }
}

#[test]
fn what_eight_ranks_add_up_in_one_element_is_complete_for_every_type() {
    const TIMES: usize = 300;
    fn counts<T>(world: &Communicator<'_>, one: T, expected: T) -> Result<(), BoxError>
    where
        T: op::Number + PartialEq + std::fmt::Debug,
    {
        let mut window = world.allocate_window::<T>(2)?;
        for turn in 0..TIMES {
            let there = window.lock_shared(turn % world.size())?;
            there.fetch_add(0, one)?;
            there.accumulate(1, &one, op::commutative(|a: T, b: T| if a == b { a } else { b }))?;
        }
        window.fence()?;
        let mut sums = Vec::new();
        for rank in 0..world.size() {
            sums.push(window.lock_all()?.at(rank)?.get(0)?);
        }
        let sum = world.allreduce(&sums[world.rank()], op::sum())?;
        assert_eq!(sum, expected);
        Ok(window.free()?)
    }
    everywhere(8, |world| {
        let all = 8 * TIMES;
        counts(world, 1u8, all as u8)?;
        counts(world, 1i16, all as i16)?;
        counts(world, 1u32, all as u32)?;
        counts(world, -1i64, -(all as i64))?;
        counts(world, 0.5f32, all as f32 / 2.0)?;
        counts(world, 0.25f64, all as f64 / 4.0)
    });
}

#[test]
fn exclusive_locks_let_one_rank_in_at_a_time_whatever_others_hold() {
    everywhere(6, |world| {
        let mut window = world.allocate_window::<u64>(64)?;
        for turn in 0..60 {
            if (turn + world.rank()) % 3 == 0 {
                // The numbers are never seen half changed.
                let all = window.lock_all()?;
                let seen = all.at(0)?.get_vec(0, 64)?;
                assert!(seen.iter().all(|number| *number == seen[0]), "{seen:?}");
            } else {
                let mut numbers = window.lock_exclusive(0)?;
                let first = numbers[0];
                numbers.iter_mut().for_each(|number| {
                    assert_eq!(*number, first);
                    *number += 1;
                });
            }
        }
        window.fence()?;
        assert_eq!(*window.lock_exclusive(0)?, [6 * 40; 64]);
        Ok(window.free()?)
    });
}

#[test]
fn puts_and_gets_that_conflict_leave_words_that_somebody_has_written() {
    everywhere(4, |world| {
        let mut window = world.allocate_window::<[u64; 3]>(50)?;
        let mine = [[world.rank() as u64 + 1; 3]; 50];
        let mut into = mine;
        for _ in 0..100 {
            let all = window.lock_all()?;
            all.at(0)?.put(0, &mine[..])?;
            all.at(0)?.get_into(0, &mut into[..])?;
            assert!(into.iter().flatten().all(|word| (1..=4).contains(word)), "{into:?}");
            all.flush()?;
        }
        window.fence()?;
        Ok(window.free()?)
    });
}

#[test]
fn parts_may_differ_in_length_and_those_of_shared_windows_follow_each_other() {
    everywhere(5, |world| {
        let rank = world.rank();
        for is_shared in [false, true] {
            let len = (rank * 7) % 4;
            let mut window = match is_shared {
                false => world.allocate_window::<u16>(len)?,
                true => world.allocate_shared_window::<u16>(len)?,
            };
            assert_eq!((window.rank(), window.size()), (rank, 5));
            window.local(|mine| {
                assert_eq!(mine, vec![0; len], "zero at first");
                mine.fill(rank as u16);
            })?;
            window.read(|all| {
                let expected: Vec<u16> = (0..5).flat_map(|rank| vec![rank as u16; (rank * 7) % 4]).collect();
                let parts: Vec<u16> = (0..5).filter_map(|rank| all.of(rank)).flatten().copied().collect();
                assert_eq!(parts, expected);
                assert_eq!(all.of(5), None);
                if is_shared {
                    assert_eq!(all.whole(), Some(&expected[..]));
                }
            })?;
            assert_eq!(window.len_of(3)?, 1);
            window.free()?;
        }
        Ok(())
    });
}

#[test]
fn who_waits_for_a_word_lets_others_run_that_share_its_core() {
    everywhere(7, |world| {
        // A token goes around, once for each of ten rounds, by puts alone.
        let window = world.allocate_window::<u32>(1)?;
        let next = (world.rank() + 1) % world.size();
        for round in 1..=10u32 {
            if world.rank() > 0 {
                window.lock_shared(world.rank())?.wait_until(0, |token| token == round)?;
            }
            window.lock_shared(next)?.put(0, &round)?;
            if world.rank() == 0 {
                window.lock_shared(0)?.wait_until(0, |token| token == round)?;
            }
        }
        Ok(window.free()?)
    });
}

#[test]
fn what_is_outside_is_told_with_its_numbers() {
    everywhere(2, |world| {
        let window = world.allocate_window::<u64>(10)?;
        let error = window.lock_shared(2).err().ok_or("rank 2 is locked")?;
        assert_eq!(error.kind(), ErrorKind::Rank);
        assert_eq!(error.to_string(), "target is 2, expected a rank from 0 to 1");
        let all = window.lock_all()?;
        let there = all.at(1)?;
        let error = there.put(8, &[1; 4][..]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Range);
        assert_eq!(
            error.to_string(),
            "the data lies at bytes 64 to 95 of the window of rank 1, expected a part of its 80 bytes"
        );
        for error in [
            there.get(10).map(drop).unwrap_err(),
            there.get_vec(usize::MAX, 2).map(drop).unwrap_err(),
            there.get_vec(1, usize::MAX).map(drop).unwrap_err(),
            there.swap(10, 1).map(drop).unwrap_err(),
            there.compare_and_swap(usize::MAX, 1, 1).map(drop).unwrap_err(),
            there.fetch_add(10, 1).map(drop).unwrap_err(),
            there.accumulate(9, &[1, 2][..], op::max()).unwrap_err(),
            there.wait_until(10, |_| true).map(drop).unwrap_err(),
        ] {
            assert_eq!(error.kind(), ErrorKind::Range, "{error}");
        }
        there.put(10, &[0u64; 0][..])?;
        assert_eq!(there.get_vec(0, 10)?, [0; 10]);
        // One kind of lock at a time.
        let error = window.lock_exclusive(0).err().ok_or("locked twice")?;
        assert_eq!(error.kind(), ErrorKind::Epoch);
        drop(all);
        drop(window.lock_exclusive(world.rank())?);
        // More than there can be, at one rank alone.
        for len in [usize::MAX, usize::MAX / 16] {
            let wanted = if world.rank() == 1 { len } else { 1 };
            let error = world.allocate_window::<u64>(wanted).err().ok_or("too much memory")?;
            assert_eq!(error.kind(), ErrorKind::Reach, "{error}");
        }
        Ok(window.free()?)
    });
}

#[test]
fn ranks_that_want_different_things_are_told_and_may_go_on() {
    everywhere(3, |world| {
        let first = world.rank() == 0;
        let elements = match first {
            true => world.allocate_window::<u32>(1).map(drop),
            false => world.allocate_window::<u64>(1).map(drop),
        };
        assert_eq!(elements.unwrap_err().kind(), ErrorKind::Length);

        let mut window = world.allocate_window::<u32>(1)?;
        type Call = fn(&mut Window<'_, u32>) -> corelace::Result<()>;
        let calls: [Call; 4] = [
            |window| window.fence(),
            |window| window.local(|_| panic!("nobody else has agreed")),
            |window| window.read(|_| panic!("nobody else has agreed")),
            |window| window.fenced(|_| panic!("nobody else has agreed")),
        ];
        for (index, call) in calls.iter().enumerate() {
            let other = calls[(index + 1) % calls.len()];
            let error = if first { call(&mut window) } else { other(&mut window) }.unwrap_err();
            assert_eq!(
                error.to_string(),
                "the ranks call different methods of the window, expected the same at all of them"
            );
            assert_eq!(error.kind(), ErrorKind::Epoch);
        }
        window.local(|mine| mine[0] = 5)?;
        Ok(window.free()?)
    });
}

#[test]
fn an_error_in_an_epoch_comes_out_when_all_have_ended_it() {
    everywhere(3, |world| {
        let mut window = world.allocate_window::<u32>(1)?;
        let result = window.fenced(|epoch| epoch.at(world.rank())?.put(world.rank(), &1));
        assert_eq!(
            result.map_err(|error| error.kind()).err(),
            (world.rank() > 0).then_some(ErrorKind::Range)
        );
        window.local(|mine| assert_eq!(mine[0], u32::from(world.rank() == 0)))?;
        Ok(window.free()?)
    });
}

#[test]
fn a_lock_that_is_forgotten_keeps_others_out_and_the_window_in_place() {
    everywhere(3, |world| {
        let mut window = world.allocate_window::<u64>(4)?;
        if world.rank() == 1 {
            let mut lock = window.lock_exclusive(2)?;
            lock.fill(7);
            mem::forget(lock);
            assert_eq!(window.lock_exclusive(2).map(drop).unwrap_err().kind(), ErrorKind::Epoch);
        }
        let error = window.local(|_| -> () { panic!("somebody has a lock") }).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Epoch);
        if world.rank() != 1 {
            let told = "another rank cannot take part, because it holds a lock that it has forgotten or has left a phase by a panic or an error";
            assert_eq!(error.to_string(), told);
        }
        assert_eq!(window.free().unwrap_err().kind(), ErrorKind::Epoch);
        Ok(())
    });
}

#[test]
fn a_window_that_one_rank_drops_or_forgets_is_there_for_the_others() {
    everywhere(4, |world| {
        let window = world.allocate_window::<u64>(1 << 12)?;
        let window = match world.rank() {
            // The first has allocated the memory of all.
            0 => {
                drop(window);
                None
            }
            1 => {
                mem::forget(window);
                None
            }
            _ => Some(window),
        };
        world.barrier()?;
        if let Some(window) = window {
            let all = window.lock_all()?;
            for rank in 0..4 {
                all.at(rank)?.put(world.rank() * 8, &[3u64; 8][..])?;
                assert_eq!(all.at(rank)?.get_vec(world.rank() * 8, 8)?, [3; 8]);
            }
        }
        Ok(world.barrier()?)
    });
}

#[test]
fn a_phase_that_a_panic_has_left_is_over_for_all() {
    for job in carriers(3) {
        job.try_run(|world| {
            let mut window = world.allocate_window::<u64>(4)?;
            if world.rank() == 2 {
                let left = catch_unwind(AssertUnwindSafe(|| {
                    window.local(|mine| -> () {
                        mine.fill(1);
                        std::panic::resume_unwind(Box::new("on purpose"))
                    })
                }));
                assert!(left.is_err());
                for error in [
                    window.lock_all().map(drop).unwrap_err(),
                    window.lock_shared(0).map(drop).unwrap_err(),
                    window.lock_exclusive(2).map(drop).unwrap_err(),
                    window.fence().unwrap_err(),
                ] {
                    let told = "a phase of the window was left by a panic or an error, expected no further use of it";
                    assert_eq!(error.to_string(), told);
                }
            } else {
                let error = window.local(|mine| mine.fill(2)).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Epoch);
                assert_eq!(window.lock_all().map(drop).unwrap_err().kind(), ErrorKind::Epoch);
            }
            assert_eq!(window.free().unwrap_err().kind(), ErrorKind::Epoch);
            Ok(())
        })
        .unwrap();
    }
}

#[test]
fn a_rank_that_panics_gives_its_lock_back() {
    for job in carriers(3) {
        let seen = AtomicUsize::new(0);
        let error = job
            .run(|world| {
                let window = world.allocate_window::<u64>(2).unwrap();
                if world.rank() == 0 {
                    let mut lock = window.lock_exclusive(1).unwrap();
                    world.barrier().unwrap();
                    lock.fill(9);
                    std::panic::resume_unwind(Box::new(String::from("on purpose")));
                }
                world.barrier().unwrap();
                let lock = window.lock_exclusive(1).unwrap();
                assert_eq!(*lock, [9, 9]);
                seen.fetch_add(1, Ordering::SeqCst);
            })
            .unwrap_err();
        assert_eq!(seen.into_inner(), 2, "{error}");
    }
}

#[test]
fn a_closure_that_panics_changes_nothing() {
    everywhere(2, |world| {
        let mut window = world.allocate_window::<u32>(100)?;
        window.local(|mine| mine.fill(6))?;
        let all = window.lock_all()?;
        let angry = op::commutative(|a: u32, b: u32| if a == 7 { panic!("on purpose") } else { a + b });
        let caught = catch_unwind(AssertUnwindSafe(|| all.at(0)?.fetch_and_op(3, 7, angry.clone())));
        assert!(caught.is_err());
        assert_eq!(all.at(0)?.get(3)?, 6);
        assert_eq!(all.at(world.rank())?.fetch_and_op(50, 1, angry)?, 6);
        drop(all);
        window.local(|mine| assert_eq!(mine[50], 7))?;
        Ok(window.free()?)
    });
}

#[test]
fn a_fence_that_others_do_not_come_to_is_told_by_name() {
    let error = Job::new(2)
        .run(|world| {
            let mut window = world.allocate_window::<u64>(1).unwrap();
            if world.rank() == 0 {
                let _ = window.fence();
            } else {
                let _ = world.recv::<u8>(0, 0);
            }
        })
        .unwrap_err();
    assert!(matches!(&error.failures()[0].cause, Failure::Stalled(_)), "{error}");
    assert!(error.to_string().contains("rank 0 waits in a fence of a window"), "{error}");
}

#[test]
fn ranks_that_wait_in_vain_inside_of_a_phase_or_with_a_lock_are_unwound() {
    for job in carriers(3) {
        let ended = AtomicUsize::new(0);
        let error = job
            .run(|world| {
                let mut window = world.allocate_window::<u64>(100).unwrap();
                let body = |mine: &mut [u64]| {
                    if world.rank() == 0 {
                        std::panic::resume_unwind(Box::new(String::from("on purpose")));
                    }
                    mine.fill(3);
                    // A thread uses the slice until the rank is unwound.
                    let (slice, over) = (&*mine, AtomicBool::new(false));
                    std::thread::scope(|threads| {
                        let _tells = Tells(&over);
                        threads.spawn(|| {
                            while !over.load(Ordering::SeqCst) {
                                assert!(slice.iter().all(|number| *number == 3));
                                std::thread::yield_now();
                            }
                            ended.fetch_add(1, Ordering::SeqCst);
                        });
                        if world.rank() == 1 {
                            let _ = world.recv::<u8>(0, 0);
                        }
                    });
                };
                let _ = window.local(body);
            })
            .unwrap_err();
        assert_eq!(error.failures().len(), 3, "{error}");
        assert_eq!(ended.into_inner(), 2);

        let error = job
            .run(|world| {
                let window = world.allocate_window::<u64>(100).unwrap();
                if world.rank() == 0 {
                    std::panic::resume_unwind(Box::new(String::from("on purpose")));
                }
                let mut lock = window.lock_exclusive(world.rank()).unwrap();
                lock.fill(1);
                let _ = world.recv::<u8>(0, 0);
            })
            .unwrap_err();
        assert_eq!(error.failures().len(), 3, "{error}");
    }
}

/// Says that its scope has ended.
struct Tells<'f>(&'f AtomicBool);

impl Drop for Tells<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

#[test]
fn structs_without_padding_are_elements_and_words_are_compared_by_their_bytes() {
    #[repr(C)]
    #[derive(Clone, Copy, PartialEq, Debug, Datatype)]
    struct Entry {
        key: [u8; 4],
        value: f32,
    }
    everywhere(2, |world| {
        let window = world.allocate_window::<Entry>(3)?;
        let all = window.lock_all()?;
        let mine = all.at(world.rank())?;
        let (empty, zero) = (Entry { key: [0; 4], value: 0.0 }, Entry { key: [0; 4], value: -0.0 });
        let full = Entry { key: *b"four", value: 1.5 };
        assert_eq!(mine.compare_and_swap(1, zero, full)?, empty, "equal numbers with other bytes");
        assert_eq!(mine.compare_and_swap(1, empty, full)?, empty);
        assert_eq!(mine.swap(1, zero)?, full);
        assert_eq!(mine.get(1)?.value.to_bits(), (-0.0f32).to_bits());
        drop(all);
        Ok(window.free()?)
    });
}

#[test]
fn windows_of_smaller_communicators_and_many_after_each_other_have_memory_of_their_own() {
    everywhere(6, |world| {
        let row = world.split(Some(world.rank() as u32 % 2), 0)?.ok_or("every rank has a color")?;
        for round in 0..30u64 {
            let mut outer = world.allocate_window::<u64>(1000)?;
            let mut inner = row.allocate_window::<u64>(1000)?;
            inner.local(|mine| {
                assert!(mine.iter().all(|number| *number == 0), "memory of another window");
                mine.fill(round + 1);
            })?;
            outer.local(|mine| {
                assert!(mine.iter().all(|number| *number == 0), "memory of another window");
                mine.fill(round + 100);
            })?;
            let next = (row.rank() + 1) % row.size();
            assert_eq!(inner.lock_all()?.at(next)?.get(999)?, round + 1);
            assert_eq!(outer.lock_all()?.at((world.rank() + 1) % 6)?.get(999)?, round + 100);
            inner.free()?;
            outer.free()?;
        }
        Ok(())
    });
}

#[test]
fn elements_that_want_to_lie_at_round_addresses_do_or_are_refused() {
    #[repr(C, align(16384))]
    #[derive(Clone, Copy, Datatype)]
    struct Page([u64; 2048]);
    everywhere(3, |world| match world.allocate_window::<Page>(1 + world.rank()) {
        Ok(mut window) => {
            window.local(|mine| assert!(mine.iter().all(|page| std::ptr::from_ref(page).is_aligned())))?;
            Ok(window.free()?)
        }
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Reach, "{error}");
            Ok(())
        }
    });
}

/// Ranks of one cluster and of several, which do not address each other's memory.
#[test]
fn a_chip_has_windows_whose_operations_take_time() {
    for (chip, ranks) in [("mesh16", 4), ("mppa256-andey", 18), ("mppa256-bostan", 3)] {
        let run = corelace::run_on(chip, ranks, |world| on_a_chip(&world).map_err(|error| error.to_string()));
        for (rank, outcome) in run.unwrap().values.iter().enumerate() {
            let took = outcome.as_ref().unwrap_or_else(|error| panic!("{chip}, rank {rank}: {error}"));
            assert!(*took > 0.0, "{chip}, rank {rank}: no time has passed");
        }
    }
}

/// Everything once; the time of a put to another rank.
fn on_a_chip(world: &Communicator<'_>) -> Result<f64, BoxError> {
    let (rank, ranks) = (world.rank(), world.size());
    let next = (rank + 1) % ranks;
    let mut window = world.allocate_window::<f64>(8 + rank)?;
    assert_eq!(window.len_of(next)?, 8 + next);
    window.local(|mine| mine.fill(rank as f64))?;
    // Each rank changes an element of rank 0 in three ways, none of which gets lost.
    for _ in 0..5 {
        window.lock_all()?.at(0)?.accumulate(0, &[0.5, 1.0][..], op::sum())?;
    }
    let began = world.wtime();
    window.fenced(|epoch| epoch.at(next)?.put(3, &[1.5, 2.5][..]))?;
    let took = world.wtime() - began;
    window.local(|mine| {
        assert_eq!(mine[3..5], [1.5, 2.5]);
        assert_eq!(mine[5], rank as f64);
    })?;
    assert_eq!(window.lock_shared(0)?.get_vec(0, 3)?, [2.5 * ranks as f64, 5.0 * ranks as f64, 0.0]);
    assert_eq!(window.lock_shared(next)?.get(8 + next).unwrap_err().kind(), ErrorKind::Range);
    window.read(|all| assert_eq!(all.of(rank).map(|mine| mine[3]), Some(1.5)))?;

    let mut words = world.allocate_window::<u32>(3)?;
    let all = words.lock_all()?;
    let first = all.at(0)?;
    first.fetch_add(0, 1)?;
    first.fetch_and_op(1, rank as u32, op::max())?;
    let found = first.compare_and_swap(2, 0, 1 + rank as u32)?;
    assert_eq!(found == 0, first.get(2)? == 1 + rank as u32);
    first.wait_until(0, |count| count == ranks as u32)?;
    all.flush()?;
    drop(all);
    words.fence()?;
    assert_eq!(words.lock_all()?.at(0)?.get_vec(0, 2)?, [ranks as u32, ranks as u32 - 1]);
    words.fence()?;
    words.lock_exclusive(rank)?[0] = 9;
    words.local(|mine| assert_eq!(mine[0], 9))?;
    words.free()?;

    // Bytes, which nothing changes in one step on a chip.
    let mut bytes = world.allocate_window::<u8>(1)?;
    for _ in 0..3 {
        bytes.lock_shared(ranks - 1)?.fetch_add(0, 1)?;
    }
    bytes.fence()?;
    assert_eq!(bytes.lock_shared(ranks - 1)?.swap(0, 3 * ranks as u8)?, 3 * ranks as u8);
    bytes.free()?;
    window.free()?;
    Ok(took)
}

//! Collectives with a root, which need not wait for the others: how far it may be ahead of them.

use corelace_engine::{Datatype, RecvBuffer};

use super::calls::*;
use crate::support::{Habits, PortalHabit, run};

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

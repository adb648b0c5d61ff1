//! Reductions give the same bits, whoever comes first.

use corelace_engine::datatype::Basic;
use corelace_engine::{Builtin, Datatype, Op, RecvBuffer, SendBuffer};

use super::calls::*;
use crate::support::{Habits, run};

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

//! Reductions give the same bits, whoever comes first.

use corelace_engine::datatype::Basic;
use corelace_engine::{Builtin, Datatype, Op, Plan, Rank, RecvBuffer, SendBuffer};

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

/// A number of a size that makes the order of additions visible.
fn number(member: u32, index: u64) -> f64 {
    (0.1 + f64::from(member)) * 10_f64.powi(((u64::from(member) * 7 + index * 3) % 17) as i32)
}

/// The sum of neighbours in pairs, then of pairs of these, and so on.
fn summed_in_pairs(first: u32, span: u32, members: u32, index: u64) -> f64 {
    let half = span / 2;
    match span {
        1 => number(first, index),
        _ if first + half >= members => summed_in_pairs(first, half, members, index),
        _ => {
            summed_in_pairs(first, half, members, index) + summed_in_pairs(first + half, half, members, index)
        }
    }
}

/// Plans a sum of a kind; the first element of what this member gets, and how many.
fn sum_of<'r>(
    rank: &'r Rank,
    (kind, root): (usize, u32),
    send: Option<&SendBuffer>,
    recv: &RecvBuffer,
    block: u64,
) -> (Plan<'r>, u64, u64) {
    let (comm, op, all) = (rank.world(), sum(), recv.count());
    match kind {
        0 => (rank.allreduce(send, recv, &op, comm).unwrap(), 0, all),
        1 if comm.rank() == root => (rank.reduce(send, Some(recv), &op, root, comm).unwrap(), 0, all),
        1 => {
            // SAFETY: what the caller has lent.
            let own = unsafe { SendBuffer::new(recv.base(), all, recv.datatype()) };
            (rank.reduce(send.or(Some(&own)), None, &op, root, comm).unwrap(), 0, 0)
        }
        _ => {
            // SAFETY: as above.
            let part = unsafe { RecvBuffer::new(recv.base(), block, recv.datatype()) };
            let first = block * u64::from(comm.rank());
            (rank.reduce_scatter_block(send, &part, &op, comm).unwrap(), first, block)
        }
    }
}

#[test]
fn sums_have_the_same_bits_in_every_way_form_and_call_from_the_first_on() {
    let alone = |members| (members, Habits { own_cores: true, workers: 2, ..SHARED });
    let apart = |members| (members, Habits { own_cores: true, apart: true, workers: 2, ..SHARED });
    let more = [alone(3), alone(7), alone(9), alone(17), alone(26), alone(36), apart(5), apart(11)];
    for (members, habits) in WAYS.into_iter().chain(more) {
        run(members, habits, |rank| {
            let (comm, kind) = (rank.world(), Datatype::basic(Basic::F64));
            // The first of them go by messages.
            for round in 0..70_u32 {
                // In a note, in rooms, in slices, where the data lie or through a hall: a block for
                // each member.
                let block = [1, 2, 14, 15, 65, 400, 1500][round as usize % 7];
                let block = if members > 8 { block / 8 + 1 } else { block };
                let (which, root) = (round as usize / 3 % 3, (round * 5) % members);
                let count = block * u64::from(members);
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
                let (plan, first, got) = sum_of(rank, (which, root), send, &recv, block);
                let form = [Form::Blocking, Form::NonBlocking, Form::Blocking, Form::Persistent];
                complete(rank, plan, form[round as usize / 2 % 4]);
                for (index, total) in (first..first + got).zip(&total) {
                    let expected = summed_in_pairs(0, members.next_power_of_two(), members, index);
                    let at = format_args!("{which}, {index} of {count}, round {round}, {members}");
                    assert_eq!(total.to_bits(), expected.to_bits(), "{at}");
                }
            }
        });
    }
}

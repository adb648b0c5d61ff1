//! Prefix reductions: what they give, whom a member waits for, and what uses their memory after them.

use corelace_engine::datatype::Basic;
use corelace_engine::{Builtin, Datatype, Op, Rank, RecvBuffer, SendBuffer, UserFunction};

use super::calls::*;
use crate::support::habitual::letters_posted;
use crate::support::{Habits, run};

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

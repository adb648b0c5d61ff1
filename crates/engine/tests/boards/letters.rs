//! Once there is a board no message is sent; boards come and go with their communicators.

use super::calls::*;
use crate::support::habitual::{letters_posted, transfers_started};
use crate::support::{Habits, run};

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

#[test]
fn blocks_that_do_not_fit_into_a_room_together_are_not_read_where_they_lie_by_processes_that_share_cores() {
    let (members, habits) = WAYS[8];
    run(members, Habits { workers: 1, ..habits }, |rank| {
        warm_up(rank, rank.world());
        let before = (letters_posted(), transfers_started());
        for (seed, count) in (0..).zip([513, 700, 1024, 2048, 514]) {
            let call =
                Call { form: Form::Blocking, which: Which::Alltoall, count, root: 0, in_place: false, seed };
            check(rank, rank.world(), call);
        }
        assert_eq!((letters_posted(), transfers_started()), before);
    });
}

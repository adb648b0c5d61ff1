//! Members who disagree on a length, and members who fail: all are told, and go on.

use corelace_engine::{Dest, Error, Mode, Plan, Rank, Source, Tag, TagMatch};

use super::calls::*;
use crate::support::{PortalHabit, run};

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
fn members_who_disagree_where_they_meet_at_once_are_told_by_the_form_that_goes_on() {
    // Each begins with what it lays down at once; the form that goes on lays down nothing else.
    run(2, WAYS[0].1, |rank| {
        let (comm, me) = (rank.world(), rank.world().rank());
        warm_up(rank, comm);
        let count = 3 + me as usize;
        let (mut own, mut values) = (vec![1; count], vec![0; count]);
        assert!(!rank.allreduce_at_once(Some(bytes(&mut own)), bytes(&mut values), summing(), comm));
        let error = rank.allreduce(Some(&out(&own, count)), &room(&mut values, count), &sum(), comm);
        match error.unwrap().wait().unwrap_err() {
            Error::Truncated { source: 1, received: 32, capacity: 24, .. } if me == 0 => {}
            Error::Short { source: 0, received: 24, expected: 32 } if me == 1 => {}
            other => panic!("{other}"),
        }
        // And the next one begins anew.
        check(
            rank,
            comm,
            Call { form: Form::AtOnce, which: Which::Allreduce, count: 3, root: 0, in_place: true, seed: 7 },
        );
    });
}

#[test]
fn a_member_that_comes_late_finds_what_was_laid_down_at_once() {
    run(2, WAYS[0].1, |rank| {
        let (comm, me) = (rank.world(), rank.world().rank());
        warm_up(rank, comm);
        for seed in 0..50 {
            let call = Call {
                form: Form::AtOnce,
                which: [Which::Barrier, Which::Allreduce, Which::Allgather, Which::Alltoall]
                    [seed as usize % 4],
                count: 1 + seed as usize % 5,
                root: 0,
                in_place: seed % 8 > 3,
                seed,
            };
            if me == (seed % 2) as u32 {
                // By a message, which the other sends when it has been here.
                let mut word = [0];
                rank.recv(&room(&mut word, 1), Source::Rank(1 - me), TagMatch::Any, comm).unwrap();
                assert!(is_done_at_once(rank, comm, call), "all has been laid down: {call:?}");
            } else {
                let is_done = is_done_at_once(rank, comm, call);
                assert!(!is_done, "nobody has come: {call:?}");
                rank.send(Mode::Standard, &out(&[1], 1), Dest::Rank(1 - me), Tag::new(0).unwrap(), comm)
                    .unwrap();
                check(rank, comm, Call { form: Form::Blocking, ..call });
            }
        }
    });
}

/// How a collective ends that blocks, or does not.
fn ended(rank: &Rank, plan: Plan<'_>, is_blocking: bool) -> Result<(), Error> {
    match is_blocking {
        true => plan.wait(),
        false => plan.start().and_then(|request| rank.wait(request)).map(|_| ()),
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
                    match ended(rank, plan.unwrap(), is_blocking) {
                        Err(Error::Short { received, expected, source: 0 })
                            if me != 0 && (received, expected) == (less, more) => {}
                        Err(Error::Truncated { received, capacity, .. })
                            if me == 0 && (received, capacity) == (more, less) => {}
                        other => panic!("{other:?} at {me} of {members}"),
                    }
                }
                // Of those who cannot read each other's memory, long ones that do not block go by messages, and short ones do not.
                let forms = if habits.portal == PortalHabit::Nothing { 2 } else { 4 };
                for (root, is_blocking) in
                    [(0, true), (1, true), (0, false), (1, false)][..forms].iter().copied()
                {
                    let plan = rank.bcast(&room(&mut values, count), root, comm).unwrap();
                    let got = ended(rank, plan, is_blocking);
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
fn members_who_disagree_on_the_blocks_of_an_alltoall_are_told_and_go_on() {
    // In rooms, through a hall, and where they lie: of one form, and of two.
    for (few, many) in [(300, 301), (700, 701), (300, 700), (700, 2048), (700, 9000), (3, 700)] {
        let (members, habits) = WAYS[8];
        run(members, habits, |rank| {
            let comm = rank.world();
            warm_up(rank, comm);
            let me = comm.rank();
            for culprit in [0, 3, members - 1] {
                let count = if me == culprit { few } else { many };
                let (own, mut values) = (vec![1; many * members as usize], vec![0; many * members as usize]);
                let plan = rank.alltoall(Some(&out(&own, count)), &room(&mut values, count), comm).unwrap();
                let ended = plan.wait();
                let is_right = match ended {
                    Err(Error::Short { source, .. }) => me != culprit && source == culprit,
                    Err(Error::Truncated { .. }) => me == culprit,
                    _ => false,
                };
                assert!(is_right, "{ended:?} at {me}, {few} at {culprit} and {many} at the others");
                for (seed, which) in
                    (0..).zip([Which::Alltoall, Which::Allreduce, Which::Bcast, Which::Alltoall])
                {
                    for count in [few, many] {
                        check(
                            rank,
                            comm,
                            Call { form: Form::Blocking, which, count, root: 1, in_place: false, seed },
                        );
                    }
                }
            }
        });
    }
}

#[test]
fn a_member_whose_own_block_does_not_fit_fails_and_so_do_those_who_need_it() {
    for (members, habits) in WAYS {
        run(members, habits, |rank| {
            let comm = rank.world();
            warm_up(rank, comm);
            let own = vec![1; 9000];
            // One that speaks for its group, where there are such, and others.
            let cases = [(2, 1), (2, 0), (2, members - 1), (9000, 1), (9000, 0)];
            for ((count, culprit), is_blocking) in
                cases.into_iter().flat_map(|case| [(case, true), (case, false)])
            {
                let mut values = vec![0; count * members as usize];
                let given = if comm.rank() == culprit { count - 1 } else { count };
                let plan = rank.allgather(Some(&out(&own, given)), &room(&mut values, count), comm).unwrap();
                let ended = ended(rank, plan, is_blocking);
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

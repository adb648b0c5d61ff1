//! Long data between two members with a core each, which go where they lie or through rooms, by trial: either way gives the same, members change from one to the other together, and those who disagree on a length are
//! told, whichever way it was.

use corelace_engine::{Comm, Error, Rank};
use proptest::prelude::*;

use super::calls::*;
use crate::support::habitual::transfers_started;
use crate::support::{Habits, run};

/// Two who address each other's memory, and two who do not. Their clocks say that both ways take as long: so the first calls of a class go where the data lie, the next through rooms, and later ones either way in turn.
const PAIRS: [Habits; 2] = [
    Habits { own_cores: true, workers: 2, leaping_clock: true, ..SHARED },
    Habits { own_cores: true, apart: true, workers: 2, leaping_clock: true, ..SHARED },
];

const TRIED: [Which; 6] =
    [Which::Bcast, Which::Allreduce, Which::Allgather, Which::Alltoall, Which::Gather, Which::Scatter];

/// Calls of a class after which it has gone both ways.
const BOTH_WAYS: i64 = 20;

fn call(which: Which, count: usize, seed: i64) -> Call {
    Call { form: Form::Blocking, which, count, root: seed as u32 % 2, in_place: seed % 3 == 0, seed }
}

/// Does a call: true if somebody's data were read or written where they lie, by this member.
fn lies(rank: &Rank, comm: &Comm, call: Call) -> bool {
    let before = transfers_started();
    check(rank, comm, call);
    transfers_started() > before
}

#[test]
fn every_collective_goes_both_ways_and_gives_the_same() {
    for habits in PAIRS {
        run(2, habits, |rank| {
            let comm = rank.world();
            warm_up(rank, comm);
            for which in TRIED {
                // One of each class: just longer than a room, several laps of all rooms with a rest, and the longest that is tried.
                for count in [8193, 20_000, 40_001, 131_072] {
                    let lying = (0..2 * BOTH_WAYS).filter(|seed| {
                        // Each of the two as the root, which leads.
                        let call = Call { root: (*seed >= BOTH_WAYS).into(), ..call(which, count, *seed) };
                        lies(rank, comm, call)
                    });
                    let lying = lying.count() as i64;
                    assert!((1..2 * BOTH_WAYS).contains(&lying), "{which:?} of {count}: {lying} lay");
                }
            }
        });
    }
}

#[test]
fn members_who_address_each_other_try_short_data_too() {
    run(2, PAIRS[0], |rank| {
        let comm = rank.world();
        warm_up(rank, comm);
        // Both blocks of a scatter are longer than a room, or go by it.
        for which in &TRIED[..5] {
            let which = *which;
            for count in [1024, 2048, 4096, 8192] {
                let lying =
                    (0..BOTH_WAYS).filter(|seed| lies(rank, comm, call(which, count, 2 * seed))).count();
                assert!((1..BOTH_WAYS as usize).contains(&lying), "{which:?} of {count}: {lying} lay");
            }
        }
    });
}

#[test]
fn what_is_longer_than_caches_is_read_where_it_lies() {
    run(2, PAIRS[1], |rank| {
        let comm = rank.world();
        warm_up(rank, comm);
        for which in TRIED {
            assert!((0..BOTH_WAYS).all(|seed| lies(rank, comm, call(which, 131_073, seed))), "{which:?}");
        }
    });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, ..ProptestConfig::default() })]

    #[test]
    fn sequences_of_calls_that_change_their_ways_give_what_the_model_says(calls in calls()) {
        for habits in PAIRS {
            run(2, habits, |rank| {
                let comm = rank.world();
                for round in 0..12 {
                    for call in &calls {
                        check(rank, comm, Call { seed: call.seed + round, ..*call });
                    }
                }
            });
        }
    }

    #[test]
    fn others_under_way_between_them_change_nothing(calls in calls()) {
        for habits in PAIRS {
            run(2, habits, |rank| {
                let comm = rank.world();
                warm_up(rank, comm);
                let mut begun = Vec::new();
                for (at, one) in (0..).zip(calls.iter().cycle().take(400)) {
                    if at % 3 == 0 {
                        begun.push(begin(rank, comm, *one));
                    }
                    let which = TRIED[at as usize % TRIED.len()];
                    check(rank, comm, call(which, [300, 9000, 40_000][at as usize / 40 % 3], at));
                    // Members wait in different orders.
                    if begun.len() > 3 {
                        finish(rank, begun.swap_remove((at + i64::from(comm.rank())) as usize % begun.len()));
                    }
                }
                begun.into_iter().for_each(|one| finish(rank, one));
            });
        }
    }
}

#[test]
fn members_who_disagree_on_a_length_are_told_and_go_on_whichever_way_it_was() {
    for habits in PAIRS {
        // Of one class, of two, and one that is not tried.
        for (few, many) in
            [(9000, 9001), (9000, 40_000), (3, 40_000), (300, 310), (300, 40_000), (9000, 200_000)]
        {
            run(2, habits, |rank| {
                let comm = rank.world();
                warm_up(rank, comm);
                for round in 0..12 {
                    let (me, low) = (comm.rank(), round as u32 / 2 % 2);
                    let count = if me == low { few } else { many };
                    let (own, mut values) = (vec![1; many], vec![0; 2 * many]);
                    let (given, place) = (out(&own, count), room(&mut values, count));
                    let ended = match round % 3 {
                        0 => rank.allreduce(Some(&given), &place, &sum(), comm),
                        1 => rank.bcast(&place, 0, comm),
                        _ => rank.scan(Some(&given), &place, &sum(), comm),
                    };
                    match ended.unwrap().wait() {
                        Err(Error::Short { .. }) if me != low => {}
                        Err(Error::Truncated { .. }) if me == low => {}
                        // The root learns of it only where it helps the other one, and the first in a scan never.
                        Ok(()) if round % 3 > 0 && me == 0 => {}
                        other => panic!("{other:?} at {me} in round {round}"),
                    }
                    // So many that they go the one way or the other, or change it, when the next one fails.
                    for seed in 0..7 + round {
                        for which in [Which::Allreduce, TRIED[seed as usize % TRIED.len()]] {
                            check(rank, comm, call(which, few, seed));
                            check(rank, comm, call(which, many, seed));
                        }
                    }
                }
            });
        }
    }
}

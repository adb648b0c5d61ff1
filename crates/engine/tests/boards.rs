//! Collectives by memory that the members share: random sequences of them against a model, members who disagree, and that no message is sent.

#[path = "boards/agreement.rs"]
mod agreement;
#[path = "boards/calls.rs"]
mod calls;
#[path = "boards/letters.rs"]
mod letters;
#[path = "boards/moving.rs"]
mod moving;
#[path = "boards/order.rs"]
mod order;
#[path = "boards/rooted.rs"]
mod rooted;
#[path = "boards/scans.rs"]
mod scans;
mod support;
#[path = "boards/tried.rs"]
mod tried;
#[path = "boards/under_way.rs"]
mod under_way;

use calls::{WAYS, begin, calls, check, finish, warm_up};
use proptest::prelude::*;
use support::run;

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, ..ProptestConfig::default() })]

    #[test]
    fn any_sequence_of_collectives_gives_what_the_model_says(calls in calls()) {
        for (members, habits) in WAYS {
            run(members, habits, |rank| {
                // The others of the first group wait in the world for those of the second, and the other way round.
                let half = rank.split(rank.world(), Some(rank.world().rank() % 2), 0).unwrap().unwrap();
                for (at, call) in calls.iter().enumerate() {
                    check(rank, if at % 3 == 2 { &half } else { rank.world() }, *call);
                }
            });
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, ..ProptestConfig::default() })]

    #[test]
    fn collectives_under_way_side_by_side_and_blocking_ones_between_give_what_the_model_says(calls in calls()) {
        for (members, habits) in WAYS {
            run(members, habits, |rank| {
                let comm = rank.world();
                warm_up(rank, comm);
                let mut begun = Vec::new();
                for (at, call) in calls.iter().enumerate() {
                    // Members wait in different orders.
                    match (at + comm.rank() as usize) % 5 {
                        0 if !begun.is_empty() => finish(rank, begun.swap_remove(at % begun.len())),
                        _ => {}
                    }
                    if at % 4 == 3 {
                        check(rank, comm, *call);
                    } else {
                        begun.push(begin(rank, comm, *call));
                    }
                }
                begun.into_iter().for_each(|one| finish(rank, one));
            });
        }
    }
}

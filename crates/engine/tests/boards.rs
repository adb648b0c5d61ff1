//! Collectives by memory that the members share: random sequences of them against a model, members who disagree, and that no message is sent.

mod agreement;
mod calls;
mod letters;
mod moving;
mod order;
mod rooted;
mod scans;
mod tried;
mod under_way;

use calls::{WAYS, begin, calls, cases, check, finish, warm_up};
use proptest::prelude::*;

use crate::support::run;

// A case is 45 calls on average, in each of nine ways to share memory.
// Three of them are more calls than there are pairs of a collective and a length.
proptest! {
    #![proptest_config(cases(3))]

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
    #![proptest_config(cases(3))]

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

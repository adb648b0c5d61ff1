//! Broadcasts and barriers on chips whose network copies packets on the way: against what the root has, and against the same chip without multicast.

use corelace_engine::{Plan, Protocol, Rank, Tuning};
use fabric::Fabric;
use fabric_local::{NoHooks, Outcome};
use fabric_noc::{Map, NocFabric, Options, Stats};
use proptest::prelude::*;
use sim::{CYCLE, Chip};

use crate::support::bytes_in;
use crate::support::cells::{Cells, Kind};

fn andey() -> Chip {
    Chip::builtin("mppa256-andey").expect("a chip that ships")
}

fn without(mut chip: Chip) -> Chip {
    chip.leave_multicast();
    chip
}

/// Runs a job on a chip; what its ranks returned, and what was counted.
fn job<T>(
    chip: &Chip,
    (map, ranks): (Map, u32),
    protocol: Protocol,
    body: impl Fn(&Rank) -> T,
) -> (Vec<T>, Stats) {
    let options = Options { map, ..Options::new(chip, ranks) };
    let report = fabric_noc::run(&options, &NoHooks, &|fabric: NocFabric| {
        let tuning = Tuning { protocol, ..Tuning::for_route(fabric.route(fabric.me())) };
        let rank = Rank::new(Box::new(fabric), tuning);
        let value = body(&rank);
        rank.drain().expect("what was started can be finished");
        value
    });
    let report = report.expect("a job that fits");
    let value = |outcome| match outcome {
        Outcome::Ended(value) => value,
        Outcome::Panicked(_) => panic!("a rank failed"),
        Outcome::Stalled => panic!("a rank waits for ever"),
    };
    (report.outcomes.into_iter().map(value).collect(), report.stats)
}

/// Cycles from the begin of a broadcast until the last rank has the data, when all have come together before it.
fn broadcast(chip: &Chip, shape: (Map, u32), bytes: usize, algorithm: Option<&str>) -> (u64, Stats) {
    let (times, stats) = job(chip, shape, Protocol::Auto, |rank| {
        assert!(rank.prefer_algorithm("bcast", algorithm));
        let mut data = vec![rank.world().rank() as u8; bytes];
        rank.barrier(rank.world()).and_then(Plan::wait).unwrap();
        let begin = rank.fabric().now();
        rank.bcast(&bytes_in(&mut data), 0, rank.world()).and_then(Plan::wait).unwrap();
        assert!(data.iter().all(|byte| *byte == 0));
        (begin, rank.fabric().now())
    });
    let (first, last) = (times[0].0, times.iter().map(|(_, end)| *end).max().unwrap());
    ((last - first) / CYCLE, stats)
}

#[derive(Clone, Copy, Debug)]
enum Form {
    Blocking,
    NonBlocking,
    Persistent,
}

fn form() -> impl Strategy<Value = Form> {
    prop_oneof![Just(Form::Blocking), Just(Form::NonBlocking), Just(Form::Persistent)]
}

/// Element `index` of what `root` has in turn `turn`.
fn datum(root: u32, turn: usize, index: usize) -> [u32; 2] {
    let seed = root.wrapping_mul(0x9e37_79b9) ^ (turn * 31 + index) as u32;
    [seed | 1, seed.rotate_left(11)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    /// Any members, in any places, any root, any length and layout, in each form, several times in a row: everybody has what the root had.
    #[test]
    fn everybody_gets_the_roots_data(
        ranks in 2u32..40,
        scatter in any::<bool>(),
        colours in 1u32..4,
        root_seed in any::<u32>(),
        count in prop_oneof![Just(1usize), Just(11), Just(12), 13usize..100, 100usize..3000],
        mix in 0usize..20,
        form in form(),
        forced in any::<bool>(),
        protocol in prop_oneof![3 => Just(Protocol::Auto), 1 => Just(Protocol::Pe), 1 => Just(Protocol::Dma), 1 => Just(Protocol::Eager), 1 => Just(Protocol::Lazy)],
    ) {
        let map = if scatter { Map::Scatter } else { Map::Compact };
        let check = |rank: &Rank| {
            if forced {
                assert!(rank.prefer_algorithm("bcast", Some("multicast")));
            }
            let me = rank.world().rank();
            // Members in another order than their nodes.
            let comm = rank.split(rank.world(), Some(me % colours), -(me as i32 % 5)).unwrap().expect("a part for each");
            let root = root_seed % comm.size();
            let mut cells = Cells::of(Kind::mixed(mix + me as usize), &vec![[0, 0]; count]);
            let fill = |cells: &mut Cells, turn| {
                for index in 0..count {
                    cells.set(index, if comm.rank() == root { datum(root, turn, index) } else { [me, 7] });
                }
            };
            let kept = matches!(form, Form::Persistent)
                .then(|| rank.bcast(&cells.room(count), root, &comm).and_then(Plan::keep).unwrap());
            for turn in 0..4 {
                fill(&mut cells, turn);
                match (form, kept) {
                    (Form::Blocking, _) => rank.bcast(&cells.room(count), root, &comm).and_then(Plan::wait).unwrap(),
                    (_, Some(id)) => {
                        rank.start(id).unwrap();
                        rank.wait(id).unwrap();
                    }
                    _ => {
                        let id = rank.bcast(&cells.room(count), root, &comm).and_then(Plan::start).unwrap();
                        rank.wait(id).unwrap();
                    }
                }
                let expected: Vec<[u32; 2]> = (0..count).map(|index| datum(root, turn, index)).collect();
                assert_eq!(cells.values(), expected);
                cells.check_gaps();
            }
            if let Some(id) = kept {
                rank.free(id).unwrap();
            }
        };
        let (_, stats) = job(&andey(), (map, ranks), protocol, check);
        let (_, again) = job(&andey(), (map, ranks), protocol, check);
        prop_assert_eq!(stats.trace_hash, again.trace_hash, "two runs are the same run");
    }
}

#[test]
fn a_short_broadcast_over_sixteen_clusters_takes_one_letter_instead_of_four_in_a_row() {
    let (by_messages, _) = broadcast(&without(andey()), (Map::Scatter, 16), 8, None);
    let (by_multicast, stats) = broadcast(&andey(), (Map::Scatter, 16), 8, None);
    // A letter takes its sender, its resource manager and its receiver 3800 + 4800 + 4000 cycles, and four follow each other in the tree.
    let letter = 12_600;
    assert!(by_multicast < letter + 1000, "{by_multicast} cycles by multicast");
    assert!(
        by_messages > by_multicast + 3 * (letter - 4000),
        "{by_messages} cycles by messages, {by_multicast} by multicast"
    );
    assert_eq!(stats.transfers, 0);
}

#[test]
fn a_long_broadcast_over_sixteen_clusters_moves_its_bytes_once_instead_of_four_times() {
    let bytes = 64 << 10;
    let (by_messages, before) = broadcast(&without(andey()), (Map::Scatter, 16), bytes, Some("binomial"));
    let (by_multicast, after) = broadcast(&andey(), (Map::Scatter, 16), bytes, None);
    assert_eq!((before.transfers, after.transfers), (15, 1));
    // The bytes take 0.27 cycles each, and a put 16 885 to set up: in the tree four times, one round after the other.
    let (once, set_up) = (bytes as u64 * 27 / 100, 16_885);
    assert!(by_messages > 4 * (set_up + once), "{by_messages} cycles by messages");
    // By multicast once, after the words of fifteen members, which take the root's resource manager 4800 each; the first of them exposes its memory (4000) and takes
    // a letter's way (12 600). Setting up takes 500 more.
    let words = 4000 + 12_600 + 14 * 4800;
    let most = words + set_up + 500 + once;
    assert!(
        by_multicast < most + most / 50 && most < by_multicast + most / 50,
        "{by_multicast} cycles by multicast, {most} by hand"
    );
    assert!(by_multicast < by_messages);
    // 256 packets of 66 flits, which each of the 31 links and interfaces of the tree carries once, at 12 pJ a flit; words and barrier come on top.
    let flits = 31 * 256 * 66 * 12_000;
    let network = after.energy.network;
    assert!(flits < network && network < flits + flits / 50, "{network} fJ, {flits} for the data");
    assert!(network < before.energy.network);
}

#[test]
fn members_of_one_cluster_and_of_two_have_nothing_to_gain() {
    for ranks in [6, 20] {
        let with = broadcast(&andey(), (Map::Compact, ranks), 8, None);
        let none = broadcast(&without(andey()), (Map::Compact, ranks), 8, None);
        assert_eq!(with.0, none.0, "{ranks} ranks, twelve a cluster");
    }
}

#[test]
fn a_root_that_runs_ahead_finds_mailboxes_full_and_goes_on() {
    let rounds = 60;
    let (sums, _) = job(&andey(), (Map::Scatter, 16), Protocol::Auto, |rank| {
        let mut sum = 0u64;
        for round in 0..rounds {
            let mut data = [if rank.world().rank() == 0 { round as u8 } else { 255 }; 90];
            if rank.world().rank() == 9 {
                rank.compute(20_000, 1).unwrap();
            }
            rank.bcast(&bytes_in(&mut data), 0, rank.world()).and_then(Plan::wait).unwrap();
            sum += data.iter().map(|byte| u64::from(*byte)).sum::<u64>();
        }
        sum
    });
    let expected: u64 = 90 * (0..rounds).sum::<u64>();
    assert_eq!(sums, vec![expected; 16]);
}

/// When ranks came to each of some barriers, and when they went on; one of them comes late.
fn barriers(chip: &Chip, shape: (Map, u32)) -> (Vec<Vec<(u64, u64)>>, Stats) {
    job(chip, shape, Protocol::Auto, |rank| {
        let me = rank.world().rank();
        let meet = |turn: u32| {
            if me == turn * 7 % rank.world().size() {
                rank.compute(50_000, 1).unwrap();
            }
            let came = rank.fabric().now();
            rank.barrier(rank.world()).and_then(Plan::wait).unwrap();
            (came, rank.fabric().now())
        };
        (0..4).map(meet).collect()
    })
}

#[test]
fn nobody_leaves_a_barrier_before_the_last_has_come_and_multicast_lets_all_go_sooner() {
    for shape in [(Map::Scatter, 16), (Map::Compact, 192), (Map::Compact, 30)] {
        let longest = |chip: &Chip| {
            let (times, _) = barriers(chip, shape);
            let turn = |turn: usize| {
                let last = times.iter().map(|rank| rank[turn].0).max().unwrap();
                let gone = times.iter().map(|rank| rank[turn].1);
                assert!(gone.clone().all(|gone| gone >= last), "{shape:?}, turn {turn}");
                (gone.max().unwrap() - last) / CYCLE
            };
            (0..4).map(turn).max().unwrap()
        };
        let (with, none) = (longest(&andey()), longest(&without(andey())));
        // Without it, node 0 lets the others go one by one, 3800 cycles each.
        let others = if shape.1 == 16 { 15 } else { 2 };
        assert!(with + 3800 * (others - 2) < none, "{shape:?}: {with} cycles, {none} without multicast");
    }
}

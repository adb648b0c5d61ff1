//! Counters: exact, separate, and ordered with data. Claims: one winner.

use fabric::{Audience, Delivery, Fabric, LANES, Lane, MachineBarrier, Node, Region, Shape};

use crate::Case;
use crate::desk::{Desk, pattern};

pub const CASES: &[Case] = &[
    Case {
        name: "raises_of_all_nodes_at_one_are_counted",
        ranks: &[2, 3, 16],
        budget: None,
        body: all_to_one,
    },
    Case {
        name: "raises_of_one_node_at_all_are_counted",
        ranks: &[2, 3, 16],
        budget: None,
        body: one_to_all,
    },
    Case { name: "lanes_are_counted_apart", ranks: &[1, 2], budget: None, body: lanes },
    Case { name: "a_raise_carries_the_data_put_before_it", ranks: &[2, 3], budget: None, body: data_first },
    Case { name: "barriers_of_signals_keep_nodes_in_step", ranks: &[2, 3, 16], budget: None, body: in_step },
    Case {
        name: "barriers_of_the_machine_keep_a_cluster_in_step",
        ranks: &[1, 2, 3, 16],
        budget: None,
        body: by_hardware,
    },
    Case { name: "one_of_two_nodes_wins_a_claim", ranks: &[1, 2, 3], budget: None, body: claims },
];

fn all_to_one(fabric: &dyn Fabric) {
    const RAISES: u64 = 500;
    let desk = Desk::new(fabric);
    if desk.me() == Node(0) {
        let expected = RAISES * u64::from(fabric.nodes() - 1);
        let mut last = 0;
        desk.wait(|| (fabric.raised(Lane(0)) >= expected / 2).then_some(()));
        while last < expected {
            let now = desk.wait(|| Some(fabric.raised(Lane(0))).filter(|&now| now != last));
            assert!(now > last, "a counter fell from {last} to {now}");
            last = now;
        }
    } else {
        (0..RAISES).for_each(|_| desk.raise(Node(0), Lane(0)));
    }
    desk.barrier();
    let expected = if desk.me() == Node(0) { RAISES * u64::from(fabric.nodes() - 1) } else { 0 };
    assert_eq!(fabric.raised(Lane(0)), expected);
    desk.leave();
}

fn one_to_all(fabric: &dyn Fabric) {
    const RAISES: u64 = 100;
    let desk = Desk::new(fabric);
    if desk.me() == Node(0) {
        (0..RAISES).for_each(|_| desk.nodes().for_each(|node| desk.raise(node, Lane(1))));
    }
    desk.wait_raised(Lane(1), RAISES);
    desk.barrier();
    assert_eq!(fabric.raised(Lane(1)), RAISES);
    desk.leave();
}

fn lanes(fabric: &dyn Fabric) {
    let desk = Desk::new(fabric);
    let next = Node((desk.me().0 + 1) % fabric.nodes());
    let free = LANES as u8 - 1;
    for lane in 0..free {
        (0..=u64::from(lane)).for_each(|_| desk.raise(next, Lane(lane)));
    }
    (0..free).for_each(|lane| desk.wait_raised(Lane(lane), u64::from(lane) + 1));
    desk.barrier();
    for lane in 0..free {
        assert_eq!(fabric.raised(Lane(lane)), u64::from(lane) + 1, "lane {lane}");
    }
    desk.leave();
}

/// Node 1 puts into node 0 and raises; node 0 must see the data as soon as it sees the count.
fn data_first(fabric: &dyn Fabric) {
    const TURNS: u64 = 300;
    const BYTES: usize = 256;
    let desk = Desk::new(fabric);
    let mut region = vec![0u8; BYTES];
    desk.barrier();
    match desk.me() {
        Node(0) => {
            // SAFETY: the region lives until it is withdrawn, and is read only between a raise and its answer.
            let key =
                unsafe { fabric.expose(Region::host(region.as_mut_ptr(), BYTES), Audience::One(Node(1))) }
                    .expect("an exposure");
            desk.post_key(Node(1), &key);
            for turn in 1..=TURNS {
                let stop = desk.wait(|| match fabric.raised(Lane(0)) {
                    _ if fabric.raised(Lane(1)) > 0 => Some(true),
                    count => (count >= turn).then_some(false),
                });
                if stop {
                    break;
                }
                // SAFETY: a plain read; node 1 writes again only after the answer below.
                let seen =
                    unsafe { std::slice::from_raw_parts(std::hint::black_box(region.as_ptr()), BYTES) };
                assert_eq!(seen, pattern(turn, BYTES), "the count of turn {turn} came before its data");
                desk.raise(Node(1), Lane(0));
            }
            fabric.withdraw(key);
        }
        Node(1) => {
            let key = desk.receive_key();
            if fabric.route(Node(0)).put {
                for turn in 1..=TURNS {
                    let (data, shape) = (pattern(turn, BYTES), Shape::contiguous(0, BYTES));
                    // SAFETY: the data lives until the ticket is done; node 0 exposes the region.
                    let ticket = unsafe {
                        fabric.put(Node(0), data.as_ptr(), &shape, &key, &shape, &Delivery::BY_CORE)
                    };
                    desk.finish(ticket.expect("a put within reach"));
                    desk.raise(Node(0), Lane(0));
                    desk.wait_raised(Lane(0), turn);
                }
            } else {
                desk.raise(Node(0), Lane(1));
            }
        }
        _ => {}
    }
    desk.leave();
}

/// After barrier b every node posts b to its neighbour: a letter of another turn shows that somebody ran ahead.
fn in_step(fabric: &dyn Fabric) {
    let desk = Desk::new(fabric);
    let next = Node((desk.me().0 + 1) % fabric.nodes());
    for turn in 0..100 {
        desk.post(next, &[turn, 0, 0], &[]);
        assert_eq!(desk.receive().header[0], turn, "a node passed a barrier that others had not reached");
        desk.barrier();
    }
    desk.leave();
}

/// Where the machine has a barrier: everybody counts up between two meetings, and nobody sees a count of another meeting.
fn by_hardware(fabric: &dyn Fabric) {
    let desk = Desk::new(fabric);
    let cluster = fabric.route(desk.me()).cluster;
    let mates: Vec<Node> = desk.nodes().filter(|node| fabric.route(*node).cluster == cluster).collect();
    if let Some(barrier) = fabric.cluster_barrier() {
        meet(&desk, barrier, &mates, Lane(0));
    }
    if let Some(barrier) = fabric.world_barrier() {
        meet(&desk, barrier, &desk.nodes().collect::<Vec<_>>(), Lane(1));
    }
    desk.leave();
}

fn meet(desk: &Desk<'_>, barrier: &dyn MachineBarrier, mates: &[Node], lane: Lane) {
    for turn in 1..=100 {
        mates.iter().for_each(|mate| desk.raise(*mate, lane));
        let meeting = barrier.arrive();
        assert_eq!(meeting, 2 * turn - 1);
        desk.wait_asleep(|| barrier.passed(meeting).then_some(()));
        assert_eq!(desk.fabric.raised(lane), turn * mates.len() as u64, "turn {turn}");
        // And nobody raises again before all have looked.
        let meeting = barrier.arrive();
        desk.wait_asleep(|| barrier.passed(meeting).then_some(()));
    }
}

/// Every node opens a word again and again, and races its neighbour for it. Whoever has won says so; both cannot.
fn claims(fabric: &dyn Fabric) {
    const ROUNDS: u64 = 300;
    let desk = Desk::new(fabric);
    let me = desk.me();
    let next = Node((me.0 + 1) % fabric.nodes());
    let name = |round: u64| round << 32 | 7;
    // A fabric without words says so, and lets everybody have everything.
    let words = fabric.open(name(1));
    for round in 1..=ROUNDS {
        if round > 1 {
            assert_eq!(fabric.open(name(round)), words);
        }
        assert!(fabric.is_open(me, name(round)), "a word that was just opened");
        assert_eq!(fabric.claim(me, name(round - 1)), !words, "the round before is over");
        desk.barrier();
        let theirs = fabric.claim(next, name(round));
        let mine = fabric.claim(me, name(round));
        if words {
            assert!(!fabric.is_open(me, name(round)));
            assert!(!fabric.claim(me, name(round)), "a word is claimed once");
        }
        desk.post(next, &[u64::from(theirs), 0, 0], &[]);
        let neighbour = desk.receive().header[0] == 1;
        assert_eq!(mine != neighbour, words, "round {round}: one of the two has the word");
    }
    assert!(fabric.claim(next, u64::from(u32::MAX)), "a word that nobody has is given to all");
    desk.leave();
}

//! The node's place in the job, its caps, its clock and its memory.

use fabric::{Fabric, Idle, Node};

use crate::Case;
use crate::desk::Desk;

const BUDGET: usize = 8 << 20;

pub const CASES: &[Case] = &[
    Case { name: "node_numbers_are_dense_and_distinct", ranks: &[1, 3, 16], budget: None, body: numbers },
    Case { name: "caps_are_equal_on_all_nodes", ranks: &[2, 3], budget: None, body: caps },
    Case { name: "routes_are_sound_and_equal_on_both_sides", ranks: &[1, 2, 3], budget: None, body: routes },
    Case { name: "the_clock_never_goes_back", ranks: &[2], budget: None, body: clock },
    Case {
        name: "a_budget_refuses_what_does_not_fit_and_says_who_holds_it",
        ranks: &[2],
        budget: Some(BUDGET),
        body: budget,
    },
    Case { name: "without_a_budget_nothing_is_refused", ranks: &[2], budget: None, body: no_budget },
];

fn numbers(fabric: &dyn Fabric) {
    let desk = Desk::new(fabric);
    assert!(desk.me().0 < fabric.nodes());
    desk.post(Node(0), &[u64::from(fabric.route(desk.me()).cluster), 0, 0], &[]);
    if desk.me() == Node(0) {
        let mut seen = vec![false; fabric.nodes() as usize];
        for _ in desk.nodes() {
            let letter = desk.receive();
            assert!(
                !std::mem::replace(&mut seen[letter.from.0 as usize], true),
                "two nodes are {:?}",
                letter.from
            );
            let cluster = u64::from(fabric.route(letter.from).cluster);
            assert_eq!(letter.header[0], cluster, "nodes disagree on the cluster of {:?}", letter.from);
        }
    }
    desk.leave();
}

fn caps(fabric: &dyn Fabric) {
    let (desk, caps) = (Desk::new(fabric), fabric.caps());
    assert!(caps.ticks_per_second > 0);
    let header = [caps.ticks_per_second, u64::from(caps.dma), u64::from(caps.agent)];
    desk.others().for_each(|node| desk.post(node, &header, &[]));
    desk.others().for_each(|_| assert_eq!(desk.receive().header, header, "nodes differ in their caps"));
    desk.leave();
}

/// What two nodes tell of the way between them is the same on both sides, and stays so.
fn routes(fabric: &dyn Fabric) {
    let desk = Desk::new(fabric);
    desk.barrier();
    for peer in desk.nodes() {
        let route = *fabric.route(peer);
        assert!(route.letter_inline <= route.letter_max && route.mailbox_letters > 0);
        assert!(route.letter_max <= route.letter_bulk, "letters in bulk are shorter than others to {peer:?}");
        assert!(route.granularity.is_power_of_two());
        let neighbours = route.cluster == fabric.route(desk.me()).cluster;
        assert!(
            route.signals || !neighbours && !fabric.caps().world_signals,
            "signals do not reach {peer:?}"
        );
        assert_eq!(*fabric.route(peer), route, "the route to {peer:?} changes");
        let header =
            [route.letter_max as u64, route.mailbox_letters as u64, route.thresholds.eager_max as u64];
        desk.post(peer, &header, &[]);
    }
    for _ in desk.nodes() {
        let letter = desk.receive();
        let route = fabric.route(letter.from);
        let expected =
            [route.letter_max as u64, route.mailbox_letters as u64, route.thresholds.eager_max as u64];
        assert_eq!(letter.header, expected, "{:?} tells another way", letter.from);
    }
    desk.leave();
}

fn clock(fabric: &dyn Fabric) {
    let desk = Desk::new(fabric);
    let start = fabric.now();
    let mut last = start;
    for round in 0..10_000 {
        if round % 100 == 0 {
            fabric.park(0, Idle::Briefly);
        }
        let now = fabric.now();
        assert!(now >= last, "the clock fell from {last} to {now}");
        last = now;
    }
    // Virtual clocks may stand still while a node only looks at them, but not across messages to and from another.
    let other = Node(1 - desk.me().0);
    for _ in 0..10 {
        desk.post(other, &[0; 3], &[]);
        desk.receive();
    }
    assert!(fabric.now() > start, "the clock stands still");
    desk.leave();
}

fn budget(fabric: &dyn Fabric) {
    let desk = Desk::new(fabric);
    let budget = fabric.budget();
    assert_eq!(budget.limit(), BUDGET);
    let free = BUDGET - budget.used();
    budget.reserve("conformance", free - 10).expect("the rest of the budget");
    let refused = budget.reserve("one too many", 11).expect_err("more than the budget");
    let message = refused.to_string();
    assert!(message.starts_with("11 bytes for one too many do not fit"), "{message}");
    assert!(message.contains(&format!("{} by conformance", free - 10)), "{message}");
    budget.release("conformance", free - 10);
    budget.reserve("conformance", 11).expect("room after a release");
    budget.release("conformance", 11);
    desk.leave();
}

fn no_budget(fabric: &dyn Fabric) {
    let desk = Desk::new(fabric);
    fabric.budget().reserve("conformance", 1 << 50).expect("no limit");
    fabric.budget().release("conformance", 1 << 50);
    desk.leave();
}

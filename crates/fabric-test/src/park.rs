//! Waiting: nothing is lost between looking and sleeping.

use fabric::{Fabric, Idle, Lane, Node};

use crate::Case;
use crate::desk::Desk;

pub const CASES: &[Case] = &[
    Case { name: "letters_wake_sleeping_nodes", ranks: &[2], budget: None, body: letter_ping_pong },
    Case { name: "signals_wake_sleeping_nodes", ranks: &[2], budget: None, body: signal_ping_pong },
    Case { name: "a_token_wakes_each_node_of_a_ring", ranks: &[3, 16], budget: None, body: token },
    Case {
        name: "nodes_that_sleep_after_every_letter_lose_none",
        ranks: &[3, 16],
        budget: None,
        body: storm,
    },
    Case { name: "a_waiting_letter_keeps_a_node_awake", ranks: &[1, 2], budget: None, body: letter_waits },
    Case { name: "an_unreported_raise_keeps_a_node_awake", ranks: &[1, 2], budget: None, body: raise_waits },
    Case {
        name: "an_unread_signal_does_not_starve_others",
        ranks: &[2, 3],
        budget: None,
        body: unread_signal,
    },
    Case { name: "a_brief_park_returns_by_itself", ranks: &[1, 2, 16], budget: None, body: briefly },
];

/// Every park sleeps at once, so that each of the wake-ups is needed.
fn letter_ping_pong(fabric: &dyn Fabric) {
    const TURNS: u64 = 3000;
    let desk = Desk::new(fabric);
    let other = Node(1 - desk.me().0);
    for turn in 0..TURNS {
        if turn % 2 == u64::from(desk.me().0) {
            desk.post(other, &[turn, 0, 0], &turn.to_le_bytes());
        } else {
            let mut seen = None;
            while seen.is_none() {
                if fabric.poll(1, &mut |_, header, _| seen = Some(header[0])) == 0 {
                    fabric.park(u32::MAX, Idle::UntilWoken);
                }
            }
            assert_eq!(seen, Some(turn));
        }
    }
    desk.leave();
}

fn signal_ping_pong(fabric: &dyn Fabric) {
    const TURNS: u64 = 3000;
    let desk = Desk::new(fabric);
    let other = Node(1 - desk.me().0);
    for turn in 0..TURNS {
        if desk.me() == Node(0) {
            desk.raise(other, Lane(0));
        }
        desk.wait_asleep(|| (fabric.raised(Lane(0)) > turn).then_some(()));
        if desk.me() == Node(1) {
            desk.raise(other, Lane(0));
        }
    }
    desk.leave();
}

fn token(fabric: &dyn Fabric) {
    const ROUNDS: u64 = 60;
    let desk = Desk::new(fabric);
    let next = Node((desk.me().0 + 1) % fabric.nodes());
    for round in 0..ROUNDS {
        if desk.me() == Node(0) {
            desk.raise(next, Lane(0));
        }
        desk.wait_asleep(|| (fabric.raised(Lane(0)) > round).then_some(()));
        if desk.me() != Node(0) {
            desk.raise(next, Lane(0));
        }
    }
    desk.leave();
}

/// Every node posts to nodes in an order of its own and sleeps whenever it finds nothing: wake-ups race with falling
/// asleep on all nodes at once.
fn storm(fabric: &dyn Fabric) {
    const LETTERS: u32 = 400;
    let desk = Desk::new(fabric);
    let (me, nodes) = (desk.me().0, fabric.nodes());
    let mut seen = 0;
    let mut take = |fabric: &dyn Fabric| {
        let taken = fabric.poll(1, &mut |_, _, _| ()) as u32;
        seen += taken;
        (taken, seen)
    };
    for number in 0..LETTERS {
        // With the stride running over all nodes, each node gets as many letters as it posts.
        let to = Node((me + 1 + number % (nodes - 1)) % nodes);
        while fabric.try_post(to, &[0; 3], &[]).is_err() {
            if take(fabric).0 == 0 {
                fabric.park(0, Idle::Briefly);
            }
        }
        if number % 3 == me % 3 {
            take(fabric);
        }
    }
    // Node j gets letter number k of node i if i + 1 + k % (n - 1) = j; that is LETTERS of them in sum over i.
    let expected: u32 = (0..nodes)
        .filter(|&from| from != me)
        .map(|from| {
            let step = (me + nodes - from - 1) % nodes;
            LETTERS / (nodes - 1) + u32::from(step < LETTERS % (nodes - 1))
        })
        .sum();
    loop {
        match take(fabric) {
            (_, seen) if seen == expected => break,
            (0, _) => _ = fabric.park(u32::MAX, Idle::UntilWoken),
            _ => {}
        }
    }
    desk.leave();
}

fn letter_waits(fabric: &dyn Fabric) {
    let desk = Desk::new(fabric);
    fabric.try_post(desk.me(), &[5, 0, 0], b"waits").expect("room for one letter");
    // Nobody will post again: a fabric that sleeps here hangs.
    (0..100).for_each(|_| _ = fabric.park(u32::MAX, Idle::UntilWoken));
    assert_eq!(desk.receive().payload, b"waits");
    desk.leave();
}

fn raise_waits(fabric: &dyn Fabric) {
    let desk = Desk::new(fabric);
    desk.raise(desk.me(), Lane(0));
    (0..100).for_each(|_| _ = fabric.park(u32::MAX, Idle::UntilWoken));
    assert_eq!(fabric.raised(Lane(0)), 1);
    desk.leave();
}

/// Node 0 waits for a letter while a signal that it will read later keeps it awake: the others must get to run and post.
fn unread_signal(fabric: &dyn Fabric) {
    let desk = Desk::new(fabric);
    desk.raise(desk.me(), Lane(0));
    let next = Node((desk.me().0 + 1) % fabric.nodes());
    for turn in 0..100 {
        if desk.me() == Node(0) {
            desk.post(next, &[turn, 0, 0], &[]);
        }
        assert_eq!(desk.receive().header[0], turn);
        if desk.me() != Node(0) {
            desk.post(next, &[turn, 0, 0], &[]);
        }
    }
    assert_eq!(fabric.raised(Lane(0)), 1);
    desk.leave();
}

fn briefly(fabric: &dyn Fabric) {
    let desk = Desk::new(fabric);
    for rounds in (0..50).chain([u32::MAX]) {
        fabric.park(rounds, Idle::Briefly);
    }
    desk.leave();
}

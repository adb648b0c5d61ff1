//! Waiting: nothing is lost between looking and sleeping.

use std::sync::atomic::{AtomicBool, Ordering};

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
    Case { name: "armed_nodes_are_woken_by_letters", ranks: &[2, 3], budget: None, body: by_steps },
    Case {
        name: "what_comes_between_arming_and_sleeping_is_not_slept_on",
        ranks: &[1, 2],
        budget: None,
        body: between_steps,
    },
    Case { name: "a_sleep_ends_with_its_deadline", ranks: &[1, 2], budget: None, body: deadline },
    Case { name: "an_alarm_ends_a_sleep", ranks: &[1, 2, 3], budget: None, body: alarm },
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

/// The token goes around by letters; every node waits for it in the three steps.
fn by_steps(fabric: &dyn Fabric) {
    const ROUNDS: u64 = 500;
    let desk = Desk::new(fabric);
    let next = Node((desk.me().0 + 1) % fabric.nodes());
    for round in 0..ROUNDS {
        if desk.me() == Node(0) {
            desk.post(next, &[round, 0, 0], &[]);
        }
        let mut seen = None;
        while fabric.poll(1, &mut |_, header, _| seen = Some(header[0])) == 0 {
            let armed = fabric.arm();
            if fabric.pending() {
                // Perhaps a signal of a node that is ahead, which is for later: others must run.
                fabric.disarm(armed);
                fabric.bide(0, Idle::Briefly);
            } else {
                fabric.sleep(armed, None);
            }
        }
        assert_eq!(seen, Some(round));
        if desk.me() != Node(0) {
            desk.post(next, &[round, 0, 0], &[]);
        }
    }
    desk.leave();
}

/// Nobody else will post or raise: a fabric that loses one of these sleeps for ever.
fn between_steps(fabric: &dyn Fabric) {
    let desk = Desk::new(fabric);
    for turn in 1..=100 {
        let armed = fabric.arm();
        fabric.try_post(desk.me(), &[turn, 0, 0], &[]).expect("room for one letter");
        fabric.sleep(armed, None);
        assert_eq!(desk.receive().header[0], turn);

        let armed = fabric.arm();
        desk.raise(desk.me(), Lane(0));
        fabric.sleep(armed, None);
        desk.wait_raised(Lane(0), turn);

        let armed = fabric.arm();
        desk.raise(desk.me(), Lane(1));
        fabric.disarm(armed);
        desk.wait_raised(Lane(1), turn);
    }
    desk.barrier();
    desk.leave();
}

fn deadline(fabric: &dyn Fabric) {
    let desk = Desk::new(fabric);
    desk.barrier();
    if desk.me() == Node(0) {
        let until = fabric.now() + fabric.caps().ticks_per_second / 500;
        while fabric.now() < until {
            let armed = fabric.arm();
            fabric.sleep(armed, Some(until));
        }
    }
    desk.leave();
}

/// A thread that is no rank rings until it is told that it was heard. The deadline is for fabrics that would take a sleep without end for
/// a stall: it does not come.
fn alarm(fabric: &dyn Fabric) {
    let desk = Desk::new(fabric);
    desk.barrier();
    if let Some(alarm) = fabric.alarm() {
        let (heard, second) = (AtomicBool::new(false), fabric.caps().ticks_per_second);
        let (start, until) = (fabric.now(), fabric.now() + 600 * second);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !heard.load(Ordering::Relaxed) {
                    alarm.ring();
                    std::thread::yield_now();
                }
            });
            for _ in 0..20 {
                let armed = fabric.arm();
                fabric.sleep(armed, Some(until));
            }
            heard.store(true, Ordering::Relaxed);
        });
        // Those that look up twice a second by themselves would take longer.
        assert!(fabric.now() < start + 5 * second, "the alarm was not heard");
    }
    desk.leave();
}

fn briefly(fabric: &dyn Fabric) {
    let desk = Desk::new(fabric);
    for rounds in (0..50).chain([u32::MAX]) {
        fabric.park(rounds, Idle::Briefly);
    }
    desk.leave();
}

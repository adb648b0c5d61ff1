//! Multicast, where the network has it: every receiver gets what it would get alone, in order with what is sent to it alone.

use fabric::{Audience, Fabric, Idle, Landing, Lane, Mover, Multicast, Node, PostError, Region, Ticket};

use crate::Case;
use crate::desk::Desk;

pub const CASES: &[Case] = &[
    Case { name: "letters to several come to each, in order", ranks: &[3, 16], budget: None, body: letters },
    Case { name: "a signal to several raises each counter", ranks: &[3, 16], budget: None, body: signals },
    Case { name: "a put to several lands everywhere, then tells", ranks: &[3, 16], budget: None, body: puts },
];

/// One node of every cluster but the root's, as far as one multicast reaches.
fn receivers(desk: &Desk<'_>, multicast: &dyn Multicast, root: Node) -> Vec<Node> {
    let cluster = |node: Node| desk.fabric.route(node).cluster;
    let mut met = vec![cluster(root)];
    let mut others = Vec::new();
    for node in desk.nodes() {
        if !met.contains(&cluster(node)) && others.len() < multicast.laws().most {
            met.push(cluster(node));
            others.push(node);
        }
    }
    others
}

/// Lets every node be the root once, with the nodes that it sends to, if there are any.
fn each_root(fabric: &dyn Fabric, turn: impl Fn(&Desk<'_>, &dyn Multicast, Node, &[Node])) {
    let desk = Desk::new(fabric);
    if let Some(multicast) = fabric.multicast() {
        for root in desk.nodes() {
            let to = receivers(&desk, multicast, root);
            if !to.is_empty() {
                turn(&desk, multicast, root, &to);
            }
            desk.barrier();
        }
    }
    desk.leave();
}

fn letters(fabric: &dyn Fabric) {
    const TURNS: u64 = 30;
    each_root(fabric, |desk, multicast, root, to| {
        let payload = |turn: u64| vec![turn as u8; turn as usize * 7 % (fabric.route(to[0]).letter_max + 1)];
        if desk.me() == root {
            for turn in 0..TURNS {
                to.iter().for_each(|node| desk.post(*node, &[turn, 1, 0], &[]));
                while let Err(error) = multicast.try_post(to, &[turn, 2, 0], &payload(turn)) {
                    assert_eq!(error, PostError::Full);
                    if desk.poll() == 0 {
                        fabric.park(0, Idle::Briefly);
                    }
                }
            }
        } else if to.contains(&desk.me()) {
            for turn in 0..TURNS {
                let alone = desk.receive();
                assert_eq!((alone.from, alone.header), (root, [turn, 1, 0]));
                let shared = desk.receive();
                assert_eq!((shared.from, shared.header), (root, [turn, 2, 0]));
                assert_eq!(shared.payload, payload(turn));
            }
        }
    });
}

fn signals(fabric: &dyn Fabric) {
    const LANE: Lane = Lane(1);
    let before = std::cell::Cell::new(0);
    each_root(fabric, |desk, multicast, root, to| {
        if desk.me() == root {
            (0..5).for_each(|_| multicast.raise(to, LANE));
        } else if to.contains(&desk.me()) {
            let wanted = before.get() + 5;
            desk.wait_asleep(|| (fabric.raised(LANE) >= wanted).then_some(()));
            assert_eq!(fabric.raised(LANE), wanted);
            before.set(wanted);
        }
    });
}

fn puts(fabric: &dyn Fabric) {
    each_root(fabric, |desk, multicast, root, to| {
        for (number, bytes) in [1usize, 96, 5000].into_iter().enumerate() {
            let data: Vec<u8> = (0..bytes).map(|at| (at * 7 + number) as u8 ^ root.0 as u8).collect();
            if desk.me() == root {
                let landings: Vec<Landing> = to
                    .iter()
                    .map(|_| {
                        let letter = desk.receive();
                        let key = fabric::Key::from_bytes(&letter.payload).expect("a letter with a key");
                        Landing { node: letter.from, key, notice: [9, number as u64, 0] }
                    })
                    .collect();
                let mover = if number == 1 { Mover::Core } else { Mover::Dma };
                // SAFETY: the data stays until the ticket is done, and each receiver exposes its region until it is told.
                let ticket = unsafe { multicast.put(&landings, data.as_ptr(), bytes, mover) }.expect("a put");
                if ticket != Ticket::DONE {
                    desk.wait(|| fabric.done(ticket).expect("it gets there").then_some(()));
                }
            } else if to.contains(&desk.me()) {
                let mut room = vec![0; bytes];
                // SAFETY: the room stays, unread, until the exposure ends.
                let key = unsafe {
                    fabric
                        .expose(Region::host(room.as_mut_ptr(), bytes), Audience::One(root))
                        .expect("a region")
                };
                desk.post_key(root, &key);
                let notice = desk.receive();
                assert_eq!((notice.from, notice.header), (root, [9, number as u64, 0]));
                fabric.withdraw(key);
                assert_eq!(room, data);
            }
        }
    });
}

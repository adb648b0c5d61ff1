//! Letters: order, room, sizes.

use std::cell::Cell;

use fabric::{Fabric, Idle, Lane, Next, Node, PostError};

use crate::Case;
use crate::desk::{Desk, pattern};

pub const CASES: &[Case] = &[
    Case { name: "letters_of_each_sender_arrive_in_order", ranks: &[2, 3, 16], budget: None, body: order },
    Case {
        name: "all_to_all_letters_arrive_once_and_in_order",
        ranks: &[2, 3, 16],
        budget: None,
        body: all_to_all,
    },
    Case {
        name: "a_full_mailbox_refuses_until_it_is_polled",
        ranks: &[2, 3],
        budget: None,
        body: short_back_pressure,
    },
    Case {
        name: "long_letters_are_refused_until_buffers_return",
        ranks: &[2, 3],
        budget: None,
        body: long_back_pressure,
    },
    Case { name: "letters_of_every_size_arrive_whole", ranks: &[2], budget: None, body: sizes },
    Case { name: "letters_to_oneself_arrive", ranks: &[1, 2], budget: None, body: to_oneself },
    Case { name: "a_sink_may_post", ranks: &[2, 3], budget: None, body: post_in_sink },
    Case { name: "poll_hands_out_at_most_its_limit", ranks: &[2], budget: None, body: limit },
    Case { name: "the_next_letter_is_taken_only_if_it_is_meant", ranks: &[2, 3], budget: None, body: next },
];

fn next(fabric: &dyn Fabric) {
    let desk = Desk::new(fabric);
    let most = fabric.route(Node(0)).letter_max;
    let lengths = [0, 1, 8, 13, 16, 96, 97, 700, most].map(|length: usize| length.min(most));
    if desk.me() == Node(fabric.nodes() - 1) {
        for (number, length) in (0..).zip(lengths) {
            desk.post(Node(0), &[number, 5, length as u64], &pattern(number, length));
        }
        // One whose third word is not its length, and one behind it.
        desk.post(Node(0), &[1000, 5, 77], &[]);
        desk.post(Node(0), &[1001, 5, 0], &[]);
    }
    if desk.me() == Node(0) {
        let mut room = vec![0; most];
        for (number, length) in (0..).zip(lengths) {
            let found = wait_for(fabric, || {
                let found = fabric.take_next(number + 1, 5, &mut room, 3);
                (found != Next::NOTHING).then_some(found)
            });
            assert_eq!(found, Next::ANOTHER, "letter {number} has another first word");
            assert_eq!(fabric.take_next(number, 6, &mut room, 1), Next::ANOTHER, "and another second word");
            if length > 0 {
                let short = &mut room[..length - 1];
                assert_eq!(fabric.take_next(number, 5, short, 1), Next::ANOTHER, "there is no room for it");
            }
            let next = fabric.take_next(number, 5, &mut room, 1);
            assert_ne!(next, Next::NOTHING, "letter {number} was there");
            match next.letter() {
                Some((from, bytes)) => {
                    assert_eq!((from, bytes as usize), (Node(fabric.nodes() - 1), length));
                    assert_eq!(room[..length], pattern(number, length));
                }
                // Fabrics need not look; then all letters are polled.
                None => assert_eq!(desk.receive().payload, pattern(number, length)),
            }
        }
        for (number, third) in [(1000, 77), (1001, 0)] {
            if number == 1000 {
                wait_for(fabric, || {
                    (fabric.take_next(number, 5, &mut room, 1) != Next::NOTHING).then_some(())
                });
            }
            assert_eq!(desk.receive().header, [number, 5, third]);
        }
    }
    desk.leave();
}

/// What `look` finds, at last.
fn wait_for<T>(fabric: &dyn Fabric, mut look: impl FnMut() -> Option<T>) -> T {
    let mut rounds = 0;
    loop {
        if let Some(found) = look() {
            return found;
        }
        fabric.park(rounds, Idle::UntilWoken);
        rounds += 1;
    }
}

fn order(fabric: &dyn Fabric) {
    const LETTERS: u64 = 600;
    let desk = Desk::new(fabric);
    let length =
        |number: u64| [0, 8, 24, 96, 97, 700][number as usize % 6].min(fabric.route(Node(0)).letter_max);
    if desk.me() == Node(0) {
        let mut next = vec![0; fabric.nodes() as usize];
        for _ in 0..LETTERS * u64::from(fabric.nodes() - 1) {
            let letter = desk.receive();
            let number = next[letter.from.0 as usize];
            assert_eq!(
                letter.header,
                [number, u64::from(letter.from.0), 77],
                "out of order from {:?}",
                letter.from
            );
            assert_eq!(letter.payload, pattern(number, length(number)));
            next[letter.from.0 as usize] += 1;
        }
        assert!(next[1..].iter().all(|&count| count == LETTERS));
    } else {
        for number in 0..LETTERS {
            desk.post(Node(0), &[number, u64::from(desk.me().0), 77], &pattern(number, length(number)));
        }
    }
    desk.leave();
}

fn all_to_all(fabric: &dyn Fabric) {
    const LETTERS: u64 = 60;
    let desk = Desk::new(fabric);
    let length = |number: u64| (number as usize * 5) % fabric.route(Node(0)).letter_max.min(200);
    for number in 0..LETTERS {
        for to in desk.nodes() {
            desk.post(to, &[number, u64::from(to.0), 0], &pattern(number, length(number)));
        }
    }
    let mut next = vec![0; fabric.nodes() as usize];
    for _ in 0..LETTERS * u64::from(fabric.nodes()) {
        let letter = desk.receive();
        let number = &mut next[letter.from.0 as usize];
        assert_eq!(
            letter.header,
            [*number, u64::from(desk.me().0), 0],
            "out of order from {:?}",
            letter.from
        );
        assert_eq!(letter.payload, pattern(*number, length(*number)));
        *number += 1;
    }
    desk.leave();
}

fn short_back_pressure(fabric: &dyn Fabric) {
    back_pressure(fabric, fabric.route(Node(0)).letter_inline.min(8));
}

fn long_back_pressure(fabric: &dyn Fabric) {
    back_pressure(fabric, fabric.route(Node(0)).letter_max);
}

/// Node 1 posts to node 0, which does not poll until node 1 has been refused; then nothing may be missing, and there must
/// be room again.
fn back_pressure(fabric: &dyn Fabric, length: usize) {
    const FILLED: Lane = Lane(0);
    const EMPTIED: Lane = Lane(1);
    let (desk, capacity) = (Desk::new(fabric), fabric.route(Node(0)).mailbox_letters as u64);
    for turn in 0..3u64 {
        match desk.me() {
            Node(1) => {
                let mut sent = 0;
                while fabric.try_post(Node(0), &[turn, sent, 0], &pattern(sent, length))
                    != Err(PostError::Full)
                {
                    sent += 1;
                    assert!(sent <= capacity, "a mailbox of {capacity} letters took {sent}");
                }
                assert!(sent > 0, "an empty mailbox refused a letter");
                desk.raise(Node(0), FILLED);
                desk.wait_raised(EMPTIED, turn + 1);
                desk.post(Node(0), &[turn, sent, 1], &pattern(sent, length));
            }
            Node(0) => {
                // Not through the desk, which polls.
                while fabric.raised(FILLED) <= turn {
                    fabric.park(0, Idle::Briefly);
                }
                let mut expected = 0;
                while desk.poll() > 0 {}
                desk.raise(Node(1), EMPTIED);
                loop {
                    let letter = desk.receive();
                    assert_eq!(
                        letter.header[..2],
                        [turn, expected],
                        "a letter was lost while the box was full"
                    );
                    assert_eq!(letter.payload, pattern(expected, length));
                    expected += 1;
                    if letter.header[2] == 1 {
                        break;
                    }
                }
            }
            _ => {}
        }
        // Node 0 polls up to here; from here on it does not until node 1 has been refused.
        desk.barrier();
    }
    desk.leave();
}

fn sizes(fabric: &dyn Fabric) {
    let (desk, route) = (Desk::new(fabric), fabric.route(Node(0)));
    let near = |edge: usize| edge.saturating_sub(3)..=edge + 3;
    let mut lengths: Vec<usize> =
        (0..=300).chain(near(route.letter_inline)).chain(near(route.letter_max)).collect();
    lengths.extend((0..20).flat_map(|power| near(1 << power)).chain(near(route.letter_bulk)));
    lengths.retain(|&length| length <= route.letter_bulk);
    let other = Node(1 - desk.me().0);
    // The buffer is overwritten after each post: a fabric that still reads it then would deliver rubbish.
    let mut buffer = vec![0; route.letter_bulk];
    for (number, &length) in lengths.iter().enumerate() {
        let number = number as u64;
        buffer[..length].copy_from_slice(&pattern(number, length));
        fabric.in_bulk(length > route.letter_max);
        desk.post(other, &[number, u64::MAX, 1 << 63], &buffer[..length]);
        fabric.in_bulk(false);
        buffer.fill(0xee);
        let letter = desk.receive();
        assert_eq!(letter.from, other);
        assert_eq!(letter.header, [number, u64::MAX, 1 << 63]);
        assert_eq!(letter.payload, pattern(number, length), "a letter of {length} bytes came damaged");
    }
    desk.leave();
}

fn to_oneself(fabric: &dyn Fabric) {
    let desk = Desk::new(fabric);
    for number in 0..500u64 {
        let payload = pattern(number, number as usize % (fabric.route(Node(0)).letter_max + 1));
        desk.post(desk.me(), &[number, 1, 2], &payload);
        let letter = desk.receive();
        assert_eq!((letter.from, letter.header), (desk.me(), [number, 1, 2]));
        assert_eq!(letter.payload, payload);
    }
    desk.leave();
}

/// A letter goes round all nodes, each passing it on from inside its sink.
fn post_in_sink(fabric: &dyn Fabric) {
    const HOPS: u64 = 200;
    let desk = Desk::new(fabric);
    let next = Node((desk.me().0 + 1) % fabric.nodes());
    let hops = HOPS * u64::from(fabric.nodes());
    if desk.me() == Node(0) {
        desk.post(next, &[1, 0, 0], b"passed on inside the sink");
    }
    let seen = Cell::new(0);
    let mut rounds = 0;
    while seen.get() < HOPS {
        let taken = fabric.poll(usize::MAX, &mut |_, header, payload| {
            assert_eq!(payload, b"passed on inside the sink");
            seen.set(seen.get() + 1);
            if header[0] < hops {
                fabric
                    .try_post(next, &[header[0] + 1, 0, 0], payload)
                    .expect("one letter in an empty mailbox");
            }
        });
        if taken == 0 {
            fabric.park(rounds, Idle::UntilWoken);
            rounds += 1;
        }
    }
    desk.leave();
}

fn limit(fabric: &dyn Fabric) {
    let desk = Desk::new(fabric);
    let letters = fabric.route(Node(0)).mailbox_letters.min(10) as u64;
    if desk.me() == Node(0) {
        (0..letters).for_each(|number| desk.post(Node(1), &[number, 0, 0], &[]));
        desk.raise(Node(1), Lane(0));
    } else {
        while fabric.raised(Lane(0)) == 0 {
            fabric.park(0, Idle::Briefly);
        }
        let mut seen = Vec::new();
        assert_eq!(fabric.poll(0, &mut |_, _, _| panic!("a letter was handed out with limit 0")), 0);
        let first = letters.min(3);
        let taken = fabric.poll(first as usize, &mut |_, header, _| seen.push(header[0]));
        assert_eq!(taken as u64, first);
        let rest = fabric.poll(usize::MAX, &mut |_, header, _| seen.push(header[0]));
        assert_eq!(rest as u64, letters - first);
        assert_eq!(seen, (0..letters).collect::<Vec<_>>());
    }
    desk.leave();
}

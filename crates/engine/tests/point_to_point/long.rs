//! Long messages: in letters or offered, whichever is quicker; announced where they go one way; offered first where they go both.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use corelace_engine::{Dest, Mode, Source};

use super::{is, pattern, receive, send, tag};
use crate::support::habitual::{letters_before_get, letters_posted, puts};
use crate::support::{ANNOUNCED, FRESH, Habits, PLAIN, bytes_in, bytes_out, run};

#[test]
fn long_messages_are_offered_and_go_in_letters_by_turns_to_see_what_is_quicker() {
    const BYTES: usize = 1000;
    // Neither is, by this clock: then they go in letters, but for 8 turns at first, and 8 when 68 turns of letters are over.
    run(2, FRESH, |rank| {
        for message in 0..140 {
            if rank.world().rank() == 1 {
                assert_eq!(receive(rank, BYTES, Source::Rank(0), is(7)).unwrap().0, pattern(message, BYTES));
                send(rank, Mode::Standard, &[], 0, 8);
                continue;
            }
            let before = letters_posted();
            send(rank, Mode::Standard, &pattern(message, BYTES), 1, 7);
            receive(rank, 0, Source::Rank(1), is(8)).unwrap();
            // Besides the answer: an offer and a word that it was taken, or pieces of 96 bytes.
            let is_offered = message < 8 || (76..84).contains(&message);
            let expected = if is_offered { 2 } else { BYTES.div_ceil(96) };
            assert_eq!(letters_posted() - before - 1, expected as u64, "message {message}");
        }
    });
    run(2, FRESH, |rank| {
        if rank.world().rank() == 1 {
            return (0..40).for_each(|_| drop(receive(rank, BYTES, Source::Rank(0), is(7)).unwrap()));
        }
        let before = letters_posted();
        (0..40).for_each(|message| send(rank, Mode::Synchronous, &pattern(message, BYTES), 1, 7));
        assert_eq!(letters_posted() - before, 80, "synchronous messages are always offered");
    });
}

#[test]
fn long_messages_around_a_ring_find_their_way_though_nobody_hears_from_whom_it_sends_to() {
    const BYTES: usize = 1000;
    run(3, FRESH, |rank| {
        let me = rank.world().rank();
        let mut before = 0;
        for round in 0..30 {
            let data = pattern(me as usize + round, BYTES);
            let sent =
                rank.isend(Mode::Standard, &bytes_out(&data), Dest::Rank((me + 1) % 3), tag(7), rank.world());
            let left = (me + 2) % 3;
            let (data, _) = receive(rank, BYTES, Source::Rank(left), is(7)).unwrap();
            assert_eq!(data, pattern(left as usize + round, BYTES), "round {round}");
            rank.wait(sent.unwrap()).unwrap();
            if round == 19 {
                before = letters_posted();
            }
        }
        // All three, in ten rounds by which some may be ahead by one: 3 x 11 pieces in each, or 3 x 2 letters if they were offered.
        let posted = letters_posted() - before;
        assert!(posted > 3 * 11 * 8, "{posted} letters");
    });
}

#[test]
fn receives_announce_themselves_once_messages_come_without_any_that_go() {
    const BYTES: usize = 1000;
    run(2, Habits { one_way_min: 4, ..ANNOUNCED }, |rank| {
        let world = rank.world();
        for message in 0..30 {
            if world.rank() == 0 {
                receive(rank, 0, Source::Rank(1), is(8)).unwrap();
                send(rank, Mode::Standard, &pattern(message, BYTES), 1, 7);
                if message == 9 {
                    receive(rank, BYTES, Source::Rank(1), is(9)).unwrap();
                }
                continue;
            }
            let mut room = vec![0; BYTES];
            let id = rank.irecv(&bytes_in(&mut room), Source::Rank(0), is(7), world).unwrap();
            puts();
            send(rank, Mode::Standard, &[], 0, 8);
            rank.wait(id).unwrap();
            let is_put = (4..10).contains(&message) || message >= 14;
            assert_eq!(puts().by_rank, u32::from(is_put), "message {message}");
            assert_eq!(room, pattern(message, BYTES));
            if message == 9 {
                send(rank, Mode::Standard, &pattern(0, BYTES), 0, 9);
            }
        }
    });
}

#[test]
fn of_two_that_exchange_long_messages_each_offers_its_own_before_it_fetches_the_others() {
    const BYTES: usize = 1000;
    // How far they are: rank 1 has posted its receive, rank 0 has offered its message.
    let step = AtomicUsize::new(0);
    run(2, Habits { one_way_min: 4, ..ANNOUNCED }, |rank| {
        let (world, other) = (rank.world(), 1 - rank.world().rank());
        // Outside of the library, so that what comes stays in the mailbox.
        let stay_until = |reached: usize| {
            while step.load(Ordering::Relaxed) < reached {
                let _ = rank.fabric().park(0, fabric::Idle::Briefly);
            }
        };
        for round in 0..6 {
            let (data, mut room) = (pattern(round, BYTES), vec![0; BYTES]);
            let receiving = rank.irecv(&bytes_in(&mut room), Source::Rank(other), is(7), world).unwrap();
            if other == 0 {
                step.store(2 * round + 1, Ordering::Relaxed);
                stay_until(2 * round + 2);
            } else {
                stay_until(2 * round + 1);
            }
            let sending = rank.isend(Mode::Standard, &bytes_out(&data), Dest::Rank(other), tag(7), world);
            if other == 0 {
                assert!(
                    room.iter().all(|byte| *byte == 0),
                    "round {round}: fetched before its own was offered"
                );
            } else {
                step.store(2 * round + 2, Ordering::Relaxed);
            }
            rank.wait(receiving).unwrap();
            rank.wait(sending.unwrap()).unwrap();
            assert!(room == data, "round {round}");
        }
    });
}

#[test]
fn a_send_and_receive_offers_its_long_message_before_it_fetches_one_that_is_here() {
    const BYTES: usize = 1000;
    let is_offered = AtomicBool::new(false);
    for replaces in [false, true] {
        is_offered.store(false, Ordering::Relaxed);
        run(2, Habits { one_way_min: 4, ..ANNOUNCED }, |rank| {
            let (world, me) = (rank.world(), rank.world().rank());
            let (ours, theirs) = (pattern(me as usize, BYTES), pattern(1 - me as usize, BYTES));
            if me == 0 {
                let sending = rank.isend(Mode::Standard, &bytes_out(&ours), Dest::Rank(1), tag(7), world);
                is_offered.store(true, Ordering::Relaxed);
                assert!(receive(rank, BYTES, Source::Rank(1), is(7)).unwrap().0 == theirs);
                rank.wait(sending.unwrap()).unwrap();
                return;
            }
            while !is_offered.load(Ordering::Relaxed) {
                let _ = rank.fabric().park(0, fabric::Idle::Briefly);
            }
            // The offer is taken from the mailbox, and nobody has received it.
            rank.probe(Source::Rank(0), is(7), world).unwrap();
            let before = letters_posted();
            let mut room = if replaces { ours.clone() } else { vec![0; BYTES] };
            let (to, from) = ((Dest::Rank(0), tag(7)), (Source::Rank(0), is(7)));
            let both = if replaces {
                rank.isendrecv_replace(&bytes_in(&mut room), to, from, world)
            } else {
                let sent = bytes_out(&ours);
                rank.isendrecv((&sent, to.0, to.1), (&bytes_in(&mut room), from.0, from.1), world)
            };
            assert_eq!(letters_before_get(), before + 1, "its own offer comes before the fetch");
            rank.wait(both.unwrap()).unwrap();
            assert!(room == theirs);
        });
    }
}

#[test]
fn whoever_waits_for_all_that_it_has_offered_is_asked_to_copy_halves() {
    const BYTES: usize = 10_000;
    let habits =
        Habits { eager_max: 16, receiver_first_min: usize::MAX, one_way_min: 4, share_min: 8192, ..PLAIN };
    for (waits_for_all, is_asked) in [(true, true), (false, false)] {
        run(2, habits, |rank| {
            let world = rank.world();
            for window in 0..6 {
                if world.rank() == 1 {
                    receive(rank, 0, Source::Rank(0), is(8)).unwrap();
                    for message in 0..5 {
                        let (data, _) = receive(rank, BYTES, Source::Rank(0), is(7)).unwrap();
                        assert!(data == pattern(window + message, BYTES), "window {window}");
                    }
                    continue;
                }
                puts();
                let data: Vec<_> = (0..5).map(|message| pattern(window + message, BYTES)).collect();
                let sent = data.iter().map(|data| {
                    rank.isend(Mode::Standard, &bytes_out(data), Dest::Rank(1), tag(7), world).unwrap()
                });
                let sent: Vec<_> = sent.map(Some).collect();
                send(rank, Mode::Standard, &[], 1, 8);
                let waited = if waits_for_all { &sent[..] } else { &sent[..4] };
                for id in waited.iter().flatten() {
                    rank.wait_among(*id, waited).unwrap();
                }
                let halves = puts().by_rank;
                let is_stream = 5 * (window + 1) >= habits.one_way_min;
                assert_eq!(halves > 0, is_asked && is_stream, "window {window}: {halves} halves");
                if !waits_for_all {
                    rank.wait(sent[4].unwrap()).unwrap();
                }
            }
        });
    }
}

#[test]
fn letters_of_messages_in_bulk_are_longer_also_behind_a_full_mailbox() {
    const BULK: usize = 128 << 10;
    let habits = Habits { letter_max: 1000, letter_bulk: 2000, eager_max: 1 << 20, ..PLAIN };
    for refuse_every in [0, 3] {
        run(2, Habits { refuse_every, ..habits }, |rank| {
            for (message, (bytes, letter)) in
                [(BULK - 1, 1000), (BULK, 2000), (5 * BULK + 1, 2000)].into_iter().enumerate()
            {
                if rank.world().rank() == 1 {
                    let received = receive(rank, bytes, Source::Rank(0), is(7)).unwrap();
                    assert_eq!(received.0, pattern(message, bytes));
                    continue;
                }
                let before = letters_posted();
                send(rank, Mode::Standard, &pattern(message, bytes), 1, 7);
                assert_eq!(letters_posted() - before, bytes.div_ceil(letter) as u64, "{bytes} bytes");
            }
        });
    }
}

//! Cancelling (MPI section 3.8.4): the wait is local, and an operation is cancelled or completes, never both.
//!
//! Peers stay outside of the library by yielding their fiber, which polls nothing, until a flag is up.

use std::sync::atomic::{AtomicU32, Ordering};

use corelace_engine::{
    Dest, Message, Mode, Plan, Protocol, Rank, RequestId, Source, State, Status, Tag, TagMatch,
};

use crate::support::{ANNOUNCED, GRANTED, Habits, PLAIN, PortalHabit, all_habits, bytes_in, bytes_out, run};

const LONG: usize = 3000;

fn is(tag: u16) -> TagMatch {
    TagMatch::Is(Tag::own(tag))
}

fn isend(rank: &Rank, mode: Mode, data: &[u8], to: u32, tag: u16) -> RequestId {
    rank.isend(mode, &bytes_out(data), Dest::Rank(to), Tag::own(tag), rank.world()).unwrap()
}

fn irecv(rank: &Rank, room: &mut [u8], from: u32, tag: u16) -> RequestId {
    rank.irecv(&bytes_in(room), Source::Rank(from), is(tag), rank.world()).unwrap()
}

fn receive(rank: &Rank, size: usize, from: u32, tag: u16) -> Vec<u8> {
    let mut room = vec![0; size];
    let status = rank.recv(&bytes_in(&mut room), Source::Rank(from), is(tag), rank.world()).unwrap();
    room.truncate(status.bytes as usize);
    room
}

fn cancel(rank: &Rank, id: RequestId) -> Status {
    rank.cancel(id).unwrap();
    rank.wait(id).unwrap()
}

/// A step that both ranks can see without the library.
#[derive(Default)]
struct Step(AtomicU32);

impl Step {
    fn reach(&self, step: u32) {
        self.0.store(step, Ordering::Release);
    }

    /// Stays outside of the library until then. A peer that waits for this rank meanwhile fails the test.
    fn stay_outside_until(&self, rank: &Rank, step: u32) {
        for _ in 0..10_000_000 {
            if self.0.load(Ordering::Acquire) >= step {
                return;
            }
            let _ = rank.fabric().park(0, fabric::Idle::Briefly);
        }
        panic!("the peer waits for a rank that is busy elsewhere");
    }
}

#[test]
fn the_wait_after_a_cancel_needs_no_call_of_the_peer() {
    for (name, habits) in all_habits().into_iter().filter(|(_, habits)| habits.claims) {
        let step = Step::default();
        run(2, habits, |rank| {
            rank.barrier(rank.world()).and_then(Plan::wait).unwrap();
            if rank.world().rank() == 1 {
                step.stay_outside_until(rank, 1);
                assert_eq!(receive(rank, LONG, 0, 9), [9; LONG], "{name}");
                assert_eq!(rank.iprobe(Source::Any, TagMatch::Any, rank.world()), Ok(None), "{name}");
                return;
            }
            for size in [0, 8, LONG] {
                let (mut room, data) = (vec![1; size], vec![2; size]);
                let id = irecv(rank, &mut room, 1, 5);
                assert!(cancel(rank, id).cancelled, "{name}: a receive of {size}");
                let id = isend(rank, Mode::Synchronous, &data, 1, 5);
                assert!(cancel(rank, id).cancelled, "{name}: a synchronous send of {size}");
            }
            step.reach(1);
            rank.wait(isend(rank, Mode::Standard, &[9; LONG], 1, 9)).unwrap();
        });
    }
}

#[test]
fn a_message_passes_a_cancelled_receive_and_goes_to_the_next() {
    for (name, habits) in all_habits() {
        run(2, habits, |rank| {
            let world = rank.world();
            if world.rank() == 0 {
                receive(rank, 0, 1, 1);
                rank.send(Mode::Standard, &bytes_out(&[3; LONG]), Dest::Rank(1), Tag::own(5), world).unwrap();
                return rank
                    .send(Mode::Standard, &bytes_out(&[4; LONG]), Dest::Rank(1), Tag::own(5), world)
                    .unwrap();
            }
            let mut rooms = vec![[0; LONG]; 4];
            let [one, two, three, four] = &mut rooms[..] else { unreachable!() };
            let gone = irecv(rank, one, 0, 5);
            let first = cancel(rank, gone);
            let next = irecv(rank, two, 0, 5);
            let again = irecv(rank, three, 0, 5);
            rank.cancel(again).unwrap();
            let last = rank.irecv(&bytes_in(four), Source::Any, TagMatch::Any, world).unwrap();
            assert!(first.cancelled && rank.wait(again).unwrap().cancelled, "{name}");
            rank.wait(isend(rank, Mode::Standard, &[], 0, 1)).unwrap();
            rank.wait(next).unwrap();
            rank.wait(last).unwrap();
            assert_eq!(rooms.iter().map(|room| room[LONG - 1]).collect::<Vec<_>>(), [0, 3, 0, 4], "{name}");
        });
    }
}

#[test]
fn a_receive_that_its_sender_writes_into_completes() {
    for habits in [ANNOUNCED, Habits { claims: false, ..ANNOUNCED }] {
        let step = Step::default();
        run(2, Habits { slow_transfers: 3, ..habits }, |rank| {
            let world = rank.world();
            if world.rank() == 0 {
                receive(rank, 0, 1, 1); // The announcement is here.
                let data = vec![3; LONG];
                let id = isend(rank, Mode::Standard, &data, 1, 5);
                assert_eq!(rank.state(id), Ok(State::Active), "the transfer takes its time");
                step.reach(1);
                return assert!(!rank.wait(id).unwrap().cancelled);
            }
            let mut room = vec![0; LONG];
            let id = irecv(rank, &mut room, 0, 5);
            rank.wait(isend(rank, Mode::Standard, &[], 0, 1)).unwrap();
            step.stay_outside_until(rank, 1);
            assert!(!cancel(rank, id).cancelled);
            assert_eq!(room, [3; LONG]);
        });
    }
}

#[test]
fn a_send_that_its_receiver_has_matched_completes() {
    let sender_first = Habits { receiver_first_min: usize::MAX, slow_transfers: 3, ..ANNOUNCED };
    for habits in [sender_first, GRANTED, Habits { claims: false, ..sender_first }] {
        for matched in [true, false] {
            let step = Step::default();
            run(2, habits, |rank| {
                let world = rank.world();
                if world.rank() == 0 {
                    let data = vec![3; LONG];
                    let id = isend(rank, Mode::Synchronous, &data, 1, 5);
                    step.reach(1);
                    step.stay_outside_until(rank, 2);
                    assert!(!cancel(rank, id).cancelled);
                    return;
                }
                step.stay_outside_until(rank, 1);
                let mut room = vec![0; LONG];
                let id = if matched {
                    let (message, status) = rank.mprobe(Source::Any, is(5), world).unwrap();
                    assert_eq!((status.bytes, matches!(message, Message::Null)), (LONG as u64, false));
                    step.reach(2);
                    rank.imrecv(&bytes_in(&mut room), message).unwrap()
                } else {
                    rank.probe(Source::Any, is(5), world).unwrap();
                    let id = irecv(rank, &mut room, 0, 5);
                    step.reach(2);
                    id
                };
                rank.wait(id).unwrap();
                assert_eq!(room, [3; LONG]);
            });
        }
    }
}

#[test]
fn a_cancelled_send_is_seen_by_no_probe_and_no_receive() {
    for probe in 0..3 {
        let step = Step::default();
        run(2, ANNOUNCED, |rank| {
            let world = rank.world();
            if world.rank() == 0 {
                let data = vec![3; LONG];
                let id = isend(rank, Mode::Synchronous, &data, 1, 5);
                rank.wait(isend(rank, Mode::Standard, &[], 1, 1)).unwrap();
                step.stay_outside_until(rank, 1);
                assert!(cancel(rank, id).cancelled);
                step.reach(2);
                return rank.wait(isend(rank, Mode::Standard, &[4; LONG], 1, 5)).map(|_| ()).unwrap();
            }
            receive(rank, 0, 0, 1);
            assert!(rank.iprobe(Source::Any, TagMatch::Any, world).unwrap().is_some(), "it is here");
            step.reach(1);
            step.stay_outside_until(rank, 2);
            // The letter that tells of the cancellation is unread.
            let mut room = vec![0; LONG];
            match probe {
                0 => {
                    rank.probe(Source::Any, is(5), world).unwrap();
                    rank.wait(irecv(rank, &mut room, 0, 5)).unwrap();
                }
                1 => {
                    let (message, _) = rank.mprobe(Source::Any, TagMatch::Any, world).unwrap();
                    rank.mrecv(&bytes_in(&mut room), message).unwrap();
                }
                _ => _ = rank.wait(irecv(rank, &mut room, 0, 5)).unwrap(),
            }
            assert_eq!(room, [4; LONG]);
        });
    }
}

#[test]
fn a_probe_does_not_report_a_send_whose_cancellation_is_still_on_its_way() {
    let step = Step::default();
    run(2, ANNOUNCED, |rank| {
        let world = rank.world();
        if world.rank() == 0 {
            let data = vec![3; LONG];
            let id = isend(rank, Mode::Synchronous, &data, 1, 5);
            rank.wait(isend(rank, Mode::Standard, &[], 1, 1)).unwrap();
            step.stay_outside_until(rank, 1);
            assert!(cancel(rank, id).cancelled);
            return step.reach(2);
        }
        receive(rank, 0, 0, 1);
        step.reach(1);
        step.stay_outside_until(rank, 2);
        assert_eq!(rank.iprobe(Source::Any, is(5), world), Ok(None));
    });
}

#[test]
fn a_send_that_waits_for_room_completes_as_a_copy() {
    let eager = PLAIN;
    let streamed = Habits { eager_max: 16, portal: PortalHabit::Nothing, ..PLAIN };
    for (habits, size) in [(eager, 64), (streamed, 4 << 20)] {
        let step = Step::default();
        run(2, habits, |rank| {
            let world = rank.world();
            if world.rank() == 1 {
                let mut room = vec![0; size];
                let id = irecv(rank, &mut room, 0, 5);
                rank.wait(isend(rank, Mode::Standard, &[], 0, 1)).unwrap();
                step.stay_outside_until(rank, 1);
                if size > 64 {
                    // Matches it, and goes.
                    while rank.progress() == 0 {}
                    step.reach(2);
                    step.stay_outside_until(rank, 3);
                }
                rank.wait(id).unwrap();
                assert_eq!(room, vec![0; size]);
                let sent = u64::from_le_bytes(receive(rank, 8, 0, 9).try_into().unwrap());
                for number in 1..sent {
                    assert_eq!(receive(rank, size, 0, 5), vec![number as u8; size]);
                }
                return;
            }
            receive(rank, 0, 1, 1);
            let mut sent = 0u64;
            let mut data = vec![0; size];
            loop {
                data.fill(sent as u8);
                let id = isend(rank, Mode::Standard, &data, 1, 5);
                sent += 1;
                if id == RequestId::SENT {
                    continue;
                }
                if size > 64 {
                    step.reach(1);
                    step.stay_outside_until(rank, 2);
                    rank.progress(); // The answer is here, and the mailbox full.
                    assert_eq!(rank.state(id), Ok(State::Active));
                }
                assert!(!cancel(rank, id).cancelled);
                break;
            }
            data.fill(0xee);
            step.reach(3);
            rank.wait(isend(rank, Mode::Standard, &sent.to_le_bytes(), 1, 9)).unwrap();
        });
    }
}

#[test]
fn more_operations_than_there_are_words_are_cancelled_all_the_same() {
    const MANY: u16 = 700;
    run(2, ANNOUNCED, |rank| {
        if rank.world().rank() == 1 {
            receive(rank, 0, 0, 9999);
            return;
        }
        let (mut rooms, data) = (vec![[0; 100]; MANY.into()], [1; 100]);
        let receives: Vec<_> =
            rooms.iter_mut().zip(0..).map(|(room, tag)| irecv(rank, room, 1, tag)).collect();
        let sends: Vec<_> = (0..MANY).map(|tag| isend(rank, Mode::Synchronous, &data, 1, tag)).collect();
        for id in receives.iter().chain(&sends) {
            rank.cancel(*id).unwrap();
        }
        for id in receives.into_iter().chain(sends) {
            assert!(rank.wait(id).unwrap().cancelled);
        }
        rank.wait(isend(rank, Mode::Standard, &[], 1, 9999)).unwrap();
    });
}

/// Every way in which a claim is made, with ranks that run at the same time.
fn racing() -> Vec<(&'static str, Habits)> {
    let announced = Habits { workers: 2, ..ANNOUNCED };
    let put_only = Habits { portal: PortalHabit::PutOnly, ..announced };
    vec![
        ("announced", announced),
        ("announced, slow", Habits { slow_transfers: 2, ..announced }),
        ("sender first", Habits { receiver_first_min: usize::MAX, ..announced }),
        ("put only", put_only),
        ("put only, noticed, slow", Habits { slow_transfers: 2, notices: true, ..put_only }),
        ("forced pe", Habits { protocol: Protocol::Pe, receiver_first_min: 1, ..put_only }),
        ("streamed", Habits { portal: PortalHabit::Nothing, letter_max: 96, ..announced }),
        ("no claims", Habits { claims: false, ..announced }),
    ]
}

#[test]
fn sends_that_race_their_receives_are_cancelled_or_received_and_never_both() {
    const TURNS: u32 = 1500;
    for (name, habits) in racing() {
        println!("{name}");
        run(2, habits, |rank| {
            rank.barrier(rank.world()).and_then(Plan::wait).unwrap();
            if rank.world().rank() == 0 {
                let mut arrived = Vec::new();
                for turn in 0..TURNS {
                    let data = [turn; 100].map(u32::to_le_bytes).concat();
                    let mode = if turn % 2 == 0 { Mode::Synchronous } else { Mode::Standard };
                    let id = isend(rank, mode, &data, 1, 5);
                    (0..turn % 50).for_each(|_| core::hint::spin_loop());
                    if turn % 7 == 0 {
                        rank.poke().unwrap();
                    }
                    if !cancel(rank, id).cancelled {
                        arrived.extend(turn.to_le_bytes());
                    }
                }
                rank.wait(isend(rank, Mode::Standard, &[], 1, 5)).unwrap();
                rank.wait(isend(rank, Mode::Standard, &arrived, 1, 6)).unwrap();
                return;
            }
            let mut got: Vec<u8> = Vec::new();
            loop {
                let message = receive(rank, 400, 0, 5);
                let Some(first) = message.first_chunk::<4>() else { break };
                assert!(message.chunks(4).all(|turn| turn == first), "a message in one piece");
                got.extend(first);
            }
            assert_eq!(
                got,
                receive(rank, TURNS as usize * 4, 0, 6),
                "those that were not cancelled, in order"
            );
        });
    }
}

#[test]
fn receives_that_race_their_sends_are_cancelled_or_filled_and_never_both() {
    const MESSAGES: u32 = 700;
    for (name, habits) in racing() {
        println!("{name}");
        run(2, habits, |rank| {
            rank.barrier(rank.world()).and_then(Plan::wait).unwrap();
            if rank.world().rank() == 0 {
                for number in 0..MESSAGES {
                    let data = [number; 100].map(u32::to_le_bytes).concat();
                    rank.wait(isend(rank, Mode::Standard, &data, 1, 5)).unwrap();
                }
                return;
            }
            let mut next = 0u32;
            let mut turn = 0;
            while next < MESSAGES {
                turn += 1;
                let mut room = vec![0xaa; 400];
                let id = irecv(rank, &mut room, 0, 5);
                (0..turn % 50).for_each(|_| core::hint::spin_loop());
                if turn % 3 == 0 {
                    rank.poke().unwrap();
                }
                if cancel(rank, id).cancelled {
                    assert_eq!(room, [0xaa; 400], "a cancelled receive is untouched");
                    let _ = rank.fabric().park(0, fabric::Idle::Briefly);
                } else {
                    assert_eq!(room, [next; 100].map(u32::to_le_bytes).concat());
                    next += 1;
                }
            }
        });
    }
}

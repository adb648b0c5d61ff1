//! Who is told of a fault: the request that it strikes, or else a rank that stays poisoned; and what is short of memory.

use std::sync::atomic::{AtomicBool, Ordering};

use corelace_engine::datatype::Basic;
use corelace_engine::{
    Datatype, Dest, Error, Mode, Plan, Rank, RecvBuffer, RequestId, SendBuffer, Source, State, Tag, TagMatch,
};

use crate::support::{Habits, PLAIN, bytes_in, bytes_out, run};

const RECEIVER_FIRST: Habits = Habits { eager_max: 16, receiver_first_min: 17, ..PLAIN };
const SENDER_FIRST: Habits = Habits { receiver_first_min: usize::MAX, ..RECEIVER_FIRST };

fn is(tag: u16) -> TagMatch {
    TagMatch::Is(Tag::own(tag))
}

fn isend(rank: &Rank, data: &[u8], to: u32, tag: u16) -> RequestId {
    rank.isend(Mode::Standard, &bytes_out(data), Dest::Rank(to), Tag::own(tag), rank.world()).unwrap()
}

fn irecv(rank: &Rank, room: &mut [u8], from: u32, tag: u16) -> Result<RequestId, Error> {
    rank.irecv(&bytes_in(room), Source::Rank(from), is(tag), rank.world())
}

fn receive(rank: &Rank, room: &mut [u8], from: u32, tag: u16) -> Result<u64, Error> {
    let status = rank.recv(&bytes_in(room), Source::Rank(from), is(tag), rank.world())?;
    Ok(status.bytes)
}

/// Poisons rank 1 by a message from rank 0 that is too long for a receive that was freed.
fn poison_by_message(rank: &Rank, small: &mut [u8; 2]) {
    if rank.world().rank() == 0 {
        isend(rank, &[1; 10], 1, 60);
    } else {
        let lost = irecv(rank, small, 0, 60).unwrap();
        rank.free(lost).unwrap();
    }
}

#[test]
fn a_fault_of_a_freed_request_poisons_the_rank_for_good_and_ends_what_is_under_way() {
    for habits in [PLAIN, SENDER_FIRST] {
        run(2, habits, |rank| {
            let mut small = [0; 2];
            if rank.world().rank() == 0 {
                receive(rank, &mut [], 1, 1).unwrap();
                return poison_by_message(rank, &mut small);
            }
            let (mut room, mut other) = ([0; 500], [0; 8]);
            let waiting = irecv(rank, &mut room, 0, 5).unwrap();
            poison_by_message(rank, &mut small);
            isend(rank, &[], 0, 1);
            let is_cause =
                |error: &Error| matches!(error, Error::Truncated { received: 10, capacity: 2, .. });
            assert!(is_cause(&rank.wait(waiting).unwrap_err()), "the open receive ends, with the cause");
            assert!(rank.state(waiting).is_err(), "and is gone");
            for _ in 0..2 {
                assert!(is_cause(&receive(rank, &mut other, 0, 6).unwrap_err()));
                assert!(is_cause(&irecv(rank, &mut other, 0, 6).unwrap_err()));
                assert!(is_cause(&rank.iprobe(Source::Any, TagMatch::Any, rank.world()).unwrap_err()));
                assert!(is_cause(&rank.barrier(rank.world()).and_then(Plan::wait).unwrap_err()));
                assert!(is_cause(&rank.poisoned().unwrap()));
            }
        });
    }
}

#[test]
fn memory_that_a_peer_may_write_is_not_given_back_by_a_poisoned_rank() {
    [true, false].into_iter().for_each(poisoned_while_announced);
}

fn poisoned_while_announced(claims: bool) {
    let over = AtomicBool::new(false);
    run(2, Habits { claims, ..RECEIVER_FIRST }, |rank| {
        let mut small = [0; 2];
        if rank.world().rank() == 0 {
            receive(rank, &mut [], 1, 1).unwrap(); // The announcement is here.
            poison_by_message(rank, &mut small);
            while !over.load(Ordering::Relaxed) {
                rank.poke().unwrap();
            }
            // It was taken back: nobody puts into it any more.
            isend(rank, &[1; 500], 1, 5);
            return;
        }
        let mut room = [7; 500];
        let announced = irecv(rank, &mut room, 0, 5).unwrap();
        poison_by_message(rank, &mut small);
        isend(rank, &[], 0, 1);
        while rank.poisoned().is_none() {
            rank.progress();
            rank.fabric().park(0, fabric::Idle::Briefly);
        }
        if !claims {
            assert_eq!(rank.test(announced), Ok(None), "the peer has not answered");
            assert_eq!(rank.state(announced), Ok(State::Active));
        }
        assert!(matches!(rank.wait(announced), Err(Error::Truncated { .. })));
        over.store(true, Ordering::Relaxed);
        for _ in 0..100 {
            rank.progress();
            rank.fabric().park(0, fabric::Idle::Briefly);
        }
        assert_eq!(room, [7; 500]);
    });
}

#[test]
fn a_rank_poisoned_from_outside_ends_all_its_requests_at_once() {
    for habits in [PLAIN, RECEIVER_FIRST, SENDER_FIRST] {
        run(2, habits, |rank| {
            let cause = Error::Internal { reason: "the job has come to rest" };
            let mut rooms = [[0; 5000]; 2];
            let [one, two] = &mut rooms;
            let data = [1; 5000];
            let other = 1 - rank.world().rank();
            let open = [
                irecv(rank, one, other, 5).unwrap(),
                irecv(rank, two, other, 5).unwrap(),
                rank.isend(
                    Mode::Synchronous,
                    &bytes_out(&data),
                    Dest::Rank(other),
                    Tag::own(9),
                    rank.world(),
                )
                .unwrap(),
            ];
            rank.poison(cause.clone());
            rank.poison(Error::Internal { reason: "later" });
            for id in open {
                assert_eq!(rank.test(id), Err(cause.clone()));
            }
            assert_eq!(irecv(rank, &mut [0; 4], other, 5), Err(cause.clone()));
            assert_eq!(rank.poisoned(), Some(cause));
        });
    }
}

#[test]
fn a_message_that_the_budget_cannot_keep_is_the_fault_of_its_own_receive() {
    run(2, Habits { eager_max: 20_000, budget: Some(104_096), ..PLAIN }, |rank| {
        if rank.world().rank() == 0 {
            let data = vec![3; 10_000];
            let sent: Vec<_> = (0..12).map(|_| isend(rank, &data, 1, 5)).collect();
            for id in sent {
                rank.wait(id).unwrap();
            }
            isend(rank, &[], 1, 6);
            receive(rank, &mut [], 1, 7).unwrap();
        } else {
            rank.probe(Source::Rank(0), is(6), rank.world()).unwrap();
            let mut room = vec![0; 10_000];
            let got: Vec<_> = (0..12).map(|_| receive(rank, &mut room, 0, 5)).collect();
            let kept = got.iter().take_while(|outcome| **outcome == Ok(10_000)).count();
            assert!((1..12).contains(&kept), "{kept} of them fit");
            for outcome in &got[kept..] {
                let text = outcome.as_ref().expect_err("it was lost").to_string();
                assert!(text.contains("unexpected messages"), "{text}");
            }
            receive(rank, &mut [], 0, 6).unwrap();
            assert_eq!(rank.fabric().budget().held("unexpected messages"), 0);
            isend(rank, &[], 0, 7);
        }
    });
}

#[test]
fn a_flood_of_empty_messages_counts_against_the_budget() {
    let sent = AtomicBool::new(false);
    run(2, Habits { budget: Some(100_000), ..PLAIN }, |rank| {
        if rank.world().rank() == 0 {
            for _ in 0..2000 {
                rank.send(Mode::Standard, &bytes_out(&[]), Dest::Rank(1), Tag::own(5), rank.world()).unwrap();
            }
            sent.store(true, Ordering::Relaxed);
        } else {
            let error = receive(rank, &mut [], 0, 6).unwrap_err().to_string();
            assert!(error.contains("unexpected messages"), "{error}");
            while !sent.load(Ordering::Relaxed) {
                rank.progress();
                rank.fabric().park(0, fabric::Idle::Briefly);
            }
        }
    });
}

#[test]
fn a_sender_is_let_go_whose_scattered_receive_finds_no_memory() {
    run(2, Habits { budget: Some(100_000), ..SENDER_FIRST }, |rank| {
        let world = rank.world();
        if world.rank() == 0 {
            let data = vec![1; 80_000];
            rank.wait(isend(rank, &data, 1, 5)).unwrap();
        } else {
            // Pairs have gaps: the data comes into memory of the library's first.
            let mut room = vec![(0.0f64, 0i32); 8000];
            // SAFETY: the vector covers the elements and stays until the receive is over.
            let buffer = unsafe {
                RecvBuffer::new(room.as_mut_ptr().cast(), 8000, &Datatype::basic(Basic::PairF64I32))
            };
            let outcome = rank.recv(&buffer, Source::Rank(0), is(5), world);
            assert!(matches!(outcome, Err(Error::Memory(_))), "{outcome:?}");
        }
    });
}

#[test]
fn a_buffer_of_more_bytes_than_there_are_addresses_is_refused() {
    run(1, PLAIN, |rank| {
        let (world, double) = (rank.world(), Datatype::basic(Basic::F64));
        for count in [1 << 60, 1 << 61, u64::MAX] {
            // SAFETY: refused before it is used.
            let (out, into) = unsafe {
                (
                    SendBuffer::new([].as_ptr(), count, &double),
                    RecvBuffer::new([].as_mut_ptr(), count, &double),
                )
            };
            let sent = rank.send(Mode::Standard, &out, Dest::Rank(0), Tag::own(1), world);
            assert_eq!(sent, Err(Error::Size { count, size: 8 }));
            assert!(sent.unwrap_err().to_string().contains(&format!("count is {count}, expected at most")));
            assert_eq!(rank.recv(&into, Source::Rank(0), is(1), world), Err(Error::Size { count, size: 8 }));
        }
    });
}

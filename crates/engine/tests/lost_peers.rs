//! What becomes of requests when the fabric says that a peer is gone, or that a transfer came to nothing.

use corelace_engine::{Dest, Error, Mode, Rank, RequestId, Source, Tag, TagMatch};

use crate::support::{ANNOUNCED, CHIP, Habits, PLAIN, PortalHabit, bytes_in, bytes_out, run};

const TAG: Tag = Tag::own(3);

fn isend(rank: &Rank, data: &[u8], to: u32) -> RequestId {
    rank.isend(Mode::Standard, &bytes_out(data), Dest::Rank(to), TAG, rank.world()).unwrap()
}

fn irecv(rank: &Rank, room: &mut [u8], from: u32) -> RequestId {
    rank.irecv(&bytes_in(room), Source::Rank(from), TagMatch::Is(TAG), rank.world()).unwrap()
}

#[test]
fn sends_to_a_lost_peer_fail_with_its_number_and_those_to_others_go_on() {
    let letters_only = Habits { portal: PortalHabit::Nothing, letter_max: 96, eager_max: 1000, ..PLAIN };
    for habits in [PLAIN, ANNOUNCED, letters_only] {
        run(3, Habits { lost_node: Some(2), ..habits }, |rank| {
            let (short, long) = ([7u8; 8], [7u8; 5000]);
            match rank.world().rank() {
                0 => {
                    for data in [&short[..], &long[..], &short[..]] {
                        let lost = isend(rank, data, 2);
                        assert_eq!(rank.wait(lost).unwrap_err(), Error::PeerLost { node: 2 });
                    }
                    rank.wait(isend(rank, &long, 1)).unwrap();
                    assert_eq!(rank.poisoned(), None);
                }
                1 => {
                    let mut room = [0u8; 5000];
                    assert_eq!(rank.wait(irecv(rank, &mut room, 0)).unwrap().bytes, 5000);
                    assert_eq!(room, long);
                }
                _ => {}
            }
        });
    }
}

#[test]
fn a_receive_that_was_announced_to_a_lost_peer_ends() {
    run(2, Habits { lost_node: Some(1), ..ANNOUNCED }, |rank| {
        if rank.world().rank() == 0 {
            let mut room = [0u8; 5000];
            let receive = irecv(rank, &mut room, 1);
            assert_eq!(rank.wait(receive).unwrap_err(), Error::PeerLost { node: 1 });
            assert_eq!(rank.poisoned(), None);
        }
    });
}

#[test]
fn a_word_of_no_request_that_cannot_reach_a_lost_peer_poisons_the_rank_and_names_the_peer() {
    run(2, Habits { lost_node: Some(1), receiver_first_min: usize::MAX, ..ANNOUNCED }, |rank| {
        if rank.world().rank() == 1 {
            // Rank 0 reads it, but its thanks will never come.
            isend(rank, &vec![9u8; 3000].leak()[..], 0);
            return;
        }
        let mut room = [0u8; 3000];
        rank.wait(irecv(rank, &mut room, 1)).unwrap();
        assert_eq!(room, [9; 3000]);
        rank.drain().unwrap();
        assert_eq!(rank.poisoned(), Some(Error::PeerLost { node: 1 }));
        assert_eq!(rank.poke().unwrap_err(), Error::PeerLost { node: 1 });
    });
}

#[test]
fn a_barrier_with_a_lost_peer_fails_with_its_number() {
    run(2, Habits { lost_node: Some(0), ..PLAIN }, |rank| {
        if rank.world().rank() == 1 {
            let error = rank.barrier(rank.world()).and_then(|plan| plan.wait()).unwrap_err();
            assert_eq!(error, Error::PeerLost { node: 0 });
        }
    });
}

/// Gets and puts that were begun and come to nothing: both requests are told, and the ranks live on.
#[test]
fn a_transfer_that_fails_under_way_is_the_fault_of_both_its_requests() {
    let get =
        Habits { slow_transfers: 2, breaks_transfers: true, receiver_first_min: usize::MAX, ..ANNOUNCED };
    let put = Habits { slow_transfers: 2, breaks_transfers: true, ..ANNOUNCED };
    let granted = Habits { breaks_transfers: true, ..CHIP };
    for habits in [get, put, granted] {
        run(2, habits, |rank| {
            let (me, data) = (rank.world().rank(), [5u8; 4000]);
            let mut room = [0u8; 4000];
            // The transfer touches memory of rank 1, or rank 0 is gone, whoever makes it (see `Habitual::done`).
            let request = if me == 0 { irecv(rank, &mut room, 1) } else { isend(rank, &data, 0) };
            let error = rank.wait(request).unwrap_err();
            let other = 1 - me;
            assert!(
                matches!(error, Error::PeerLost { node } | Error::PeerMemory { node, .. } if node == other)
                    || matches!(error, Error::SendMemory { .. } | Error::ReceiveMemory { .. }),
                "rank {me}: {error:?}"
            );
            assert_eq!(rank.poisoned(), None);
            let (mut small, eight) = ([0u8; 8], [1u8; 8]);
            let (sent, received) = (isend(rank, &eight, other), irecv(rank, &mut small, other));
            rank.wait(sent).unwrap();
            rank.wait(received).unwrap();
        });
    }
}

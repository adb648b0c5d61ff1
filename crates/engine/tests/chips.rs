//! What only chips have: a helper core that takes over while the rank computes, lazy copies, raw mailboxes and portals, an I/O rank.

use corelace_engine::{Dest, Error, Mode, Plan, Protocol, Rank, Source, State, Tag, TagMatch};

use crate::support::habitual::puts;
use crate::support::{CHIP, GRANTED, Habits, PLAIN, PortalHabit, all_habits, bytes_in, bytes_out, run};

const TAG: TagMatch = TagMatch::Is(Tag::own(3));

fn isend(rank: &Rank, data: &[u8], to: u32) -> corelace_engine::RequestId {
    rank.isend(Mode::Standard, &bytes_out(data), Dest::Rank(to), Tag::own(3), rank.world()).unwrap()
}

fn receive(rank: &Rank, room: usize, from: u32) -> Vec<u8> {
    let mut data = vec![0; room];
    let status = rank.recv(&bytes_in(&mut data), Source::Rank(from), TAG, rank.world()).unwrap();
    data.truncate(status.bytes as usize);
    data
}

#[test]
fn a_send_left_non_started_is_started_by_the_agent_while_the_rank_computes() {
    run(2, Habits { protocol: Protocol::Dma, receiver_first_min: usize::MAX, ..CHIP }, |rank| {
        puts();
        let data = [7; 3000];
        if rank.world().rank() == 0 {
            let id = isend(rank, &data, 1);
            assert_eq!((puts().by_rank, rank.state(id).unwrap()), (0, State::Active), "no grant yet");
            rank.compute(100, 1).unwrap();
            assert_eq!(
                (puts().by_agent, rank.state(id).unwrap()),
                (1, State::Complete),
                "without an MPI call"
            );
            rank.wait(id).unwrap();
        } else {
            assert_eq!(receive(rank, 3000, 0), data);
        }
    });
}

#[test]
fn a_send_whose_receive_was_announced_before_is_started_by_the_rank() {
    run(2, Habits { protocol: Protocol::Dma, receiver_first_min: 1, ..CHIP }, |rank| {
        puts();
        let data = [7; 3000];
        if rank.world().rank() == 0 {
            rank.compute(10, 1).unwrap(); // The announcement comes meanwhile.
            let id = isend(rank, &data, 1);
            assert_eq!(puts().by_rank, 1);
            rank.compute(100, 1).unwrap();
            assert_eq!((puts().by_agent, rank.state(id).unwrap()), (0, State::Complete));
            rank.wait(id).unwrap();
        } else {
            assert_eq!(receive(rank, 3000, 0), data);
        }
    });
}

#[test]
fn exactly_one_of_rank_and_agent_starts_each_transfer() {
    for receiver_first_min in [1, usize::MAX] {
        let started: Vec<u32> =
            run(2, Habits { protocol: Protocol::Dma, receiver_first_min, ..CHIP }, |rank| {
                let other = 1 - rank.world().rank();
                let out: Vec<Vec<u8>> = (0..40u8).map(|n| vec![n; 100 + usize::from(n)]).collect();
                let mut ids = Vec::new();
                for (n, data) in out.iter().enumerate() {
                    ids.push(isend(rank, data, other));
                    rank.compute(n as u64 % 5, 1).unwrap();
                    assert_eq!(receive(rank, 200, other), *data);
                }
                for id in ids {
                    rank.wait(id).unwrap();
                }
                rank.barrier(rank.world()).and_then(Plan::wait).unwrap();
                let puts = puts();
                puts.by_rank + puts.by_agent
            });
        assert_eq!(started.iter().sum::<u32>(), 80, "one put a message");
    }
}

#[test]
fn a_lazy_send_returns_before_its_receive_and_counts_until_it_has_left() {
    run(2, Habits { protocol: Protocol::Lazy, lazy_buffer: 5000, ..CHIP }, |rank| {
        let held = || rank.fabric().budget().held("lazy buffer");
        if rank.world().rank() == 0 {
            let mut data = vec![1; 2000];
            let sent = [isend(rank, &data, 1), isend(rank, &data, 1)];
            assert_eq!(sent.map(|id| rank.state(id).unwrap()), [State::Complete; 2]);
            data.fill(2); // It is the rank's again.
            assert_eq!(held(), 4000);
            let third = isend(rank, &data, 1);
            assert_eq!(rank.state(third).unwrap(), State::Active, "no room for a third copy");
            rank.barrier(rank.world()).and_then(Plan::wait).unwrap();
            rank.compute(200, 1).unwrap();
            assert_eq!(held(), 0, "the agent has sent the copies");
            rank.wait(third).unwrap();
        } else {
            rank.barrier(rank.world()).and_then(Plan::wait).unwrap();
            for expected in [1, 1, 2] {
                assert_eq!(receive(rank, 2000, 0), [expected; 2000]);
            }
        }
    });
}

#[test]
fn a_message_of_another_tag_passes_a_put_that_is_under_way() {
    let habits = Habits { eager_max: 16, receiver_first_min: 17, slow_transfers: 1_000_000, ..PLAIN };
    run(2, habits, |rank| {
        let world = rank.world();
        if world.rank() == 0 {
            receive(rank, 0, 1); // The announcement is ahead of this.
            let data = [5; 400];
            let large = isend(rank, &data, 1);
            let other =
                rank.isend(Mode::Standard, &bytes_out(&[9]), Dest::Rank(1), Tag::own(4), world).unwrap();
            assert_eq!(rank.state(other).unwrap(), State::Complete, "posted at once");
            assert_eq!(rank.state(large).unwrap(), State::Active);
            rank.wait(large).unwrap();
        } else {
            let mut room = vec![0; 400];
            let large = rank.irecv(&bytes_in(&mut room), Source::Rank(0), TAG, world).unwrap();
            rank.wait(isend(rank, &[], 0)).unwrap();
            let mut small = [0];
            rank.recv(&bytes_in(&mut small), Source::Rank(0), TagMatch::Is(Tag::own(4)), world).unwrap();
            assert_eq!((small, rank.state(large).unwrap()), ([9], State::Active));
            rank.wait(large).unwrap();
            assert_eq!(room, [5; 400]);
        }
    });
}

#[test]
fn computing_takes_nothing_where_time_is_real() {
    run(1, PLAIN, |rank| rank.compute(u64::MAX, 1).unwrap());
}

#[test]
fn raw_messages_arrive_in_order_beside_other_traffic() {
    for (name, habits) in all_habits() {
        run(3, habits, |rank| {
            let me = rank.local().rank();
            if me == 0 {
                let mut next = [0u8; 3];
                for _ in 0..40 {
                    let mut message = [0; Rank::MAILBOX_MAX];
                    let (source, length) = rank.mailbox_read(&bytes_in(&mut message)).unwrap();
                    let expected = next[source as usize];
                    assert_eq!(
                        (length as usize, message[0]),
                        (usize::from(expected) * 5 % 112 + 1, expected),
                        "{name}"
                    );
                    assert!(message[..length as usize].iter().all(|byte| *byte == expected));
                    next[source as usize] += 1;
                }
                for from in [1, 2] {
                    assert_eq!(receive(rank, 500, from), [from as u8; 500], "{name}");
                }
            } else {
                let data = [me as u8; 500];
                let id = isend(rank, &data, 0);
                for n in 0..20u8 {
                    rank.mailbox_write(0, &bytes_out(&vec![n; usize::from(n) * 5 % 112 + 1])).unwrap();
                }
                rank.wait(id).unwrap();
            }
        });
    }
}

#[test]
fn raw_portals_move_blocks_of_every_size_on_every_path() {
    for (name, habits) in all_habits() {
        run(2, habits, |rank| {
            for size in [0, 1, 96, 97, 5000] {
                let data: Vec<u8> = (0..size).map(|at| at as u8).collect();
                if rank.local().rank() == 0 {
                    rank.portal_write(1, &bytes_out(&data)).unwrap();
                } else {
                    let mut room = vec![0xee; size];
                    rank.portal_allow(0).unwrap();
                    rank.portal_read(&bytes_in(&mut room), 0).unwrap();
                    assert_eq!(room, data, "{name}");
                }
            }
        });
    }
}

#[test]
fn raw_calls_refuse_what_cannot_work() {
    for portal in [PortalHabit::PutOnly, PortalHabit::Nothing] {
        run(2, Habits { portal, ..GRANTED }, |rank| {
            assert!(matches!(
                rank.mailbox_write(2, &bytes_out(&[])),
                Err(Error::Rank { given: 2, size: 2, .. })
            ));
            assert!(matches!(
                rank.mailbox_write(0, &bytes_out(&[0; 113])),
                Err(Error::Argument { given: 113, .. })
            ));
            let mut room = [0; 8];
            assert!(matches!(rank.portal_read(&bytes_in(&mut room), 0), Err(Error::Argument { .. })));
            if rank.local().rank() == 0 {
                rank.mailbox_write(1, &bytes_out(&[1; 9])).unwrap();
                let error = rank.portal_write(1, &bytes_out(&[0; 7])).unwrap_err();
                assert!(matches!(error, Error::Truncated { received: 7, capacity: 8, .. }));
            } else {
                let error = rank.mailbox_read(&bytes_in(&mut room)).unwrap_err();
                assert!(matches!(error, Error::Truncated { received: 9, capacity: 8, .. }));
                rank.portal_allow(0).unwrap();
                let error = rank.portal_read(&bytes_in(&mut room), 0).unwrap_err();
                assert!(matches!(error, Error::Truncated { received: 7, capacity: 8, .. }));
            }
        });
    }
}

#[test]
fn a_flood_of_reads_of_the_portal_poisons_with_the_name_of_its_sender() {
    /// A letter that asks for eight bytes: its kind, the reader's request, the bytes.
    const WANT: [u64; 3] = [18, 1, 8];
    run(2, PLAIN, |rank| {
        if rank.local().rank() == 0 {
            // One more than a rank may have waiting; so few find room without being taken.
            for _ in 0..17 {
                rank.fabric().try_post(fabric::Node(1), &WANT, &[]).expect("room for a few letters");
            }
        } else {
            let error = loop {
                if let Err(error) = rank.poke() {
                    break error;
                }
                if let Some(error) = rank.poisoned() {
                    break error;
                }
            };
            assert!(matches!(error, Error::Malformed { node: 0, .. }), "{error}");
        }
    });
}

#[test]
fn a_flood_of_raw_messages_is_an_error_that_says_who_holds_what() {
    run(2, Habits { budget: Some(70_000), ..PLAIN }, |rank| {
        if rank.local().rank() == 0 {
            for _ in 0..1000 {
                rank.mailbox_write(1, &bytes_out(&[0; 100])).unwrap();
            }
            isend(rank, &[], 1);
            return;
        }
        receive(rank, 0, 0); // All of them have come, and the rank is none the worse for it.
        let mut message = [0; 100];
        let mut read = 0;
        let error = loop {
            match rank.mailbox_read(&bytes_in(&mut message)) {
                Ok((from, length)) => assert_eq!((from, length), (0, 100)),
                Err(error) => break error.to_string(),
            }
            read += 1;
        };
        assert!((100..1000).contains(&read), "{read} of them fit");
        assert!(error.contains("for unread mailbox messages do not fit"), "{error}");
        assert_eq!(rank.poisoned(), None);
    });
}

#[test]
fn the_io_rank_is_the_last_of_the_local_communicator_and_in_no_other_s_world() {
    run(4, Habits { io_rank: true, ..PLAIN }, |rank| {
        let (world, local) = (rank.world(), rank.local());
        assert_eq!(local.size(), 4);
        assert_eq!(rank.is_io_rank(), local.rank() == 3);
        assert_eq!(world.size(), if rank.is_io_rank() { 1 } else { 3 });
        rank.barrier(world).and_then(Plan::wait).unwrap();
        rank.barrier(local).and_then(Plan::wait).unwrap();
        let tag = Tag::own(8);
        if rank.is_io_rank() {
            for _ in 0..3 {
                let mut number = [0];
                let status = rank.recv(&bytes_in(&mut number), Source::Any, TagMatch::Any, local).unwrap();
                assert_eq!(status.source, Source::Rank(number[0].into()));
            }
            rank.wait(isend(rank, &[], 0)).unwrap(); // To itself: rank 0 of its own world.
            receive(rank, 0, 0);
        } else {
            let out = [local.rank() as u8];
            rank.send(Mode::Standard, &bytes_out(&out), Dest::Rank(3), tag, local).unwrap();
        }
        assert_eq!(rank.dup(local).unwrap().size(), 4);
        assert_eq!(rank.dup(world).unwrap().size(), world.size());
    });
}

#[test]
fn without_an_io_rank_the_local_communicator_has_the_world_s_members() {
    run(3, PLAIN, |rank| {
        assert!(!rank.is_io_rank());
        assert_eq!(rank.world().compare(rank.local()), corelace_engine::Comparison::Congruent);
    });
}

//! Operations that are described once and started again and again, whole or in partitions.
#![allow(clippy::forget_non_drop, reason = "what is tested is that a value is forgotten, whatever its type")]

use std::mem;

use corelace::{Any, Datatype, ErrorKind, Job, Request, Selection, op, wait_all, wait_any};

const RANKS: [usize; 4] = [1, 2, 4, 7];

#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Default, Datatype)]
struct Cell {
    kind: u8,
    value: f64,
}

fn cell(number: usize) -> Cell {
    Cell { kind: number as u8, value: number as f64 / 2.0 }
}

#[test]
fn every_send_mode_can_be_started_again() {
    for ranks in RANKS {
        corelace::run(ranks, |world| {
            let (next, previous) = ((world.rank() + 1) % ranks, (world.rank() + ranks - 1) % ranks);
            world.attach_buffer(1 << 20).unwrap();
            for length in [1, 3000] {
                let mut out: [Vec<Cell>; 4] = [(); 4].map(|()| vec![Cell::default(); length]);
                let mut into = out.clone();
                world
                    .scope(|s| {
                        let [a, b, c, d] = &mut out;
                        let mut sends = [
                            s.send_init(&mut a[..], next, 0)?,
                            s.synchronous_send_init(&mut b[..], next, 1)?,
                            s.buffered_send_init(&mut c[..], next, 2)?,
                            s.ready_send_init(&mut d[..], next, 3)?,
                        ];
                        let mut receives = Vec::new();
                        for (tag, into) in into.iter_mut().enumerate() {
                            receives.push(s.recv_init(&mut into[..], previous, tag as i32)?);
                        }
                        for round in 0..5 {
                            for (mode, send) in sends.iter_mut().enumerate() {
                                send.outgoing()?.fill(cell(100 * world.rank() + 10 * mode + round));
                            }
                            let mut started = Vec::new();
                            for receive in &mut receives {
                                started.push(receive.start()?);
                            }
                            // A ready send is only allowed now: all receives are posted.
                            world.barrier()?;
                            for send in &mut sends {
                                started.push(send.start()?);
                            }
                            let statuses = wait_all(started)?;
                            assert!(statuses[..4].iter().all(|status| status.source() == Some(previous)));
                            for (mode, receive) in receives.iter_mut().enumerate() {
                                let expected = cell(100 * previous + 10 * mode + round);
                                assert!(receive.incoming()?.iter().all(|cell| *cell == expected));
                            }
                        }
                        Ok(())
                    })
                    .unwrap();
            }
            world.detach_buffer().unwrap();
        })
        .unwrap();
    }
}

#[test]
fn rounds_can_be_waited_for_in_any_order_and_tested() {
    corelace::run(4, |world| {
        if world.rank() > 0 {
            for round in 0..3u64 {
                world.send(&(10 * world.rank() as u64 + round), 0, 0).unwrap();
                world.barrier().unwrap();
            }
            return;
        }
        let mut into = [0u64; 3];
        world
            .scope(|s| {
                let mut receives = Vec::new();
                for (index, value) in into.iter_mut().enumerate() {
                    receives.push(s.recv_init(value, index + 1, Any)?);
                }
                for round in 0..3 {
                    let mut started = Vec::new();
                    for receive in &mut receives {
                        started.push(receive.start()?);
                    }
                    let (_, first) = wait_any(&mut started)?.unwrap();
                    assert!(first.source().is_some());
                    for mut started in started {
                        while !started.test()? {}
                        started.wait()?;
                    }
                    for (index, receive) in receives.iter_mut().enumerate() {
                        assert_eq!(*receive.incoming()?, 10 * (index as u64 + 1) + round);
                    }
                    world.barrier()?;
                }
                Ok(())
            })
            .unwrap();
    })
    .unwrap();
}

#[test]
fn a_round_that_nobody_waited_for_is_completed_before_the_buffer_is_lent_out() {
    for forget in [true, false] {
        corelace::run(2, |world| {
            let other = 1 - world.rank();
            let (mut out, mut into) = (vec![0usize; 5000], vec![0usize; 5000]);
            world
                .scope(|s| {
                    let mut receive = s.recv_init(&mut into[..], other, 0)?;
                    let mut send = s.send_init(&mut out[..], other, 0)?;
                    for round in 0..4 {
                        let (receiving, sending) = (receive.start()?, send.start()?);
                        if forget {
                            mem::forget((receiving, sending));
                        } else {
                            drop((receiving, sending));
                        }
                        assert!(receive.incoming()?.iter().all(|value| *value == round));
                        send.outgoing()?.fill(round + 1);
                    }
                    // Started again without a look: that waits, too.
                    mem::forget(receive.start()?);
                    mem::forget(send.start()?);
                    mem::forget(receive.start()?);
                    mem::forget(send.start()?);
                    mem::forget(receive);
                    drop(send);
                    Ok(())
                })
                .unwrap();
            assert_eq!(into, [4; 5000], "the scope has completed what was lost");
        })
        .unwrap();
    }
}

#[test]
fn persistent_collectives_give_the_same_as_the_others() {
    for ranks in RANKS {
        corelace::run(ranks, |world| {
            let rank = world.rank();
            let (mut told, mut mine, mut sums) = ([Cell::default(); 3], [0u64; 20], [0u64; 20]);
            let (mut one, mut all) = ([cell(rank)], vec![Cell::default(); ranks]);
            let (mut out, mut into) = (vec![rank; 2 * ranks], vec![0; 2 * ranks]);
            world
                .scope(|s| {
                    let mut barrier = s.barrier_init()?;
                    let mut telling = s.broadcast_init(&mut told[..], ranks - 1)?;
                    let mut summing =
                        s.allreduce_init(&mut mine[..], &mut sums[..], op::commutative(|a, b| a + b))?;
                    let mut gathering = s.allgather_init(&mut one, &mut all)?;
                    let mut turning = s.alltoall_init(&mut out, &mut into)?;
                    for round in 0..4 {
                        telling.incoming()?.fill(cell(100 * rank + round));
                        summing.outgoing()?.fill((rank + round) as u64);
                        gathering.outgoing()?[0] = cell(10 * rank + round);
                        let started = [
                            telling.start()?,
                            summing.start()?,
                            gathering.start()?,
                            turning.start()?,
                            barrier.start()?,
                        ];
                        wait_all(started)?;
                        assert_eq!(*telling.incoming()?, [cell(100 * (ranks - 1) + round); 3]);
                        let sum: usize = (0..ranks).map(|rank| rank + round).sum();
                        assert_eq!(*summing.incoming()?, [sum as u64; 20]);
                        let cells: Vec<Cell> = (0..ranks).map(|rank| cell(10 * rank + round)).collect();
                        assert_eq!(*gathering.incoming()?, cells);
                        assert!(
                            turning.incoming()?.chunks(2).enumerate().all(|(from, pair)| pair == [from; 2])
                        );
                    }
                    Ok(())
                })
                .unwrap();
        })
        .unwrap();
    }
}

#[test]
fn parts_of_a_grid_are_exchanged_in_place() {
    for ranks in RANKS {
        corelace::run(ranks, |world| {
            let ring = world.cartesian(&[ranks], &[true]).unwrap().unwrap();
            let (left, right) = ring.shift(0, 1).unwrap();
            // Three rows of five: the outer columns are the neighbours'.
            let mut grid = vec![cell(ring.rank()); 15];
            let column = |number| Selection::strided(number, 3, 1, 5);
            ring.scope(|s| {
                let mut halo = s.exchange(&mut grid);
                halo.recv(&column(0), left, 0)?;
                halo.recv(&column(4), right, 1)?;
                halo.send(&column(1), left, 1)?;
                halo.send(&column(3), right, 0)?;
                // The same edge to somebody else is fine; the rim is taken.
                halo.send(&Selection::strided(1, 1, 3, 1), None, 5)?;
                for taken in [column(0), Selection::strided(0, 15, 1, 1)] {
                    assert_eq!(halo.send(&taken, right, 9).unwrap_err().kind(), ErrorKind::Length);
                }
                for taken in
                    [column(1), column(4), Selection::strided(2, 2, 2, 1), Selection::strided(2, 9, 1, 5)]
                {
                    assert_eq!(halo.recv(&taken, right, 9).unwrap_err().kind(), ErrorKind::Length);
                }
                for round in 0..4 {
                    if round % 2 == 0 {
                        halo.start()?.wait()?;
                    } else {
                        let mut going = halo.start()?;
                        while !going.test()? {}
                        mem::forget(going);
                    }
                    for row in halo.items()?.chunks_exact_mut(5) {
                        assert_eq!(row[0], cell(left.unwrap() + 10 * round));
                        assert_eq!(row[4], cell(right.unwrap() + 10 * round));
                        row[1..4].fill(cell(ring.rank() + 10 * (round + 1)));
                    }
                }
                Ok(())
            })
            .unwrap();
        })
        .unwrap();
    }
}

#[test]
fn partitions_are_filled_in_any_order_and_arrive_whole() {
    for (partitions, received_as) in [(1, 6), (6, 1), (6, 4), (3, 3)] {
        for ranks in RANKS {
            corelace::run(ranks, |world| {
                let (next, previous) = ((world.rank() + 1) % ranks, (world.rank() + ranks - 1) % ranks);
                let (mut out, mut into) = (vec![Cell::default(); 12_000], vec![Cell::default(); 12_000]);
                world
                    .scope(|s| {
                        let mut receive = s.partitioned_recv(&mut into, received_as, previous, 3)?;
                        let mut send = s.partitioned_send(&mut out, partitions, next, 3)?;
                        for round in 0..3 {
                            let mut coming = receive.start()?;
                            let mut parts = send.start()?;
                            for index in (0..partitions).rev() {
                                let value = cell(100 * world.rank() + 10 * round + index);
                                parts.partition(index)?.fill(value);
                                assert!(!parts.is_ready(index)?);
                                parts.ready(index)?;
                            }
                            for part in 0..received_as {
                                while !coming.arrived(part)? {}
                                let each = 12_000 / received_as;
                                let first = part * each / (12_000 / partitions);
                                let expected = cell(100 * previous + 10 * round + first);
                                assert_eq!(coming.partition(part)?.unwrap()[0], expected);
                            }
                            parts.wait()?;
                            let status = coming.wait()?;
                            assert_eq!(
                                (status.source(), status.count::<Cell>()),
                                (Some(previous), Some(12_000))
                            );
                        }
                        Ok(())
                    })
                    .unwrap();
            })
            .unwrap();
        }
    }
}

#[test]
fn misuse_of_partitions_is_an_error_and_does_no_harm() {
    for job in [Job::new(2), Job::new(2).threads()] {
        job.run(|world| {
            let mut data = vec![world.rank() as u32; 6000];
            world
                .scope(|s| {
                    if world.rank() == 1 {
                        let mut receive = s.partitioned_recv(&mut data, 3, 0, 0)?;
                        for _ in 0..4 {
                            let mut coming = receive.start()?;
                            assert!(coming.arrived(3).is_err());
                            coming.wait()?;
                        }
                        return Ok(());
                    }
                    let mut send = s.partitioned_send(&mut data, 4, 1, 0)?;
                    let mut parts = send.start()?;
                    parts.ready_range(1..3)?;
                    assert!(parts.ready(1).is_err());
                    assert!(parts.ready_range(0..2).is_err());
                    assert!(!parts.is_ready(0)?, "none of a range is marked if one cannot be");
                    assert!(parts.ready(4).is_err());
                    assert!(parts.partition(4).is_err());
                    assert!(parts.partition(2).is_err());
                    assert_eq!(parts.unready().iter().map(|(index, _)| *index).collect::<Vec<_>>(), [0, 3]);
                    // Waiting says that all is ready.
                    parts.wait()?;
                    // So does dropping, and what is forgotten is completed when somebody looks at the slice …
                    drop(send.start()?);
                    send.items()?[0] = 7;
                    mem::forget(send.start()?);
                    send.items()?[0] = 8;
                    // … or when the scope ends.
                    mem::forget(send.start()?);
                    Ok(())
                })
                .unwrap();
            if world.rank() == 1 {
                assert_eq!(data[..2], [8, 0]);
            }
        })
        .unwrap();
    }
    corelace::run(1, |world| {
        let mut data = [0u8; 10];
        let mut kind = |partitions: usize| {
            let made = world.scope(|s| s.partitioned_send(&mut data, partitions, 0, 0).map(drop));
            made.err().map(|error| error.kind())
        };
        assert_eq!([kind(0), kind(3)], [Some(ErrorKind::Length); 2]);
        let wild = world.scope(|s| s.partitioned_recv(&mut data, 1, Any, 0).map(drop));
        assert!(wild.is_err());
    })
    .unwrap();
}

#[test]
fn nobody_is_sent_to_again_and_again() {
    corelace::run(1, |world| {
        let (mut out, mut into) = ([1u8; 4], [2u8; 4]);
        world
            .scope(|s| {
                let mut send = s.send_init(&mut out[..], None, 0)?;
                let mut receive = s.recv_init(&mut into[..], None, 0)?;
                for _ in 0..3 {
                    assert_eq!(receive.start()?.wait()?.source(), None);
                    Request::wait(send.start()?)?;
                }
                Ok(())
            })
            .unwrap();
        assert_eq!(into, [2; 4]);
        world
            .scope(|s| {
                let mut send = s.partitioned_send(&mut out, 2, None, 0)?;
                let mut receive = s.partitioned_recv(&mut into, 2, None, 0)?;
                send.start()?.wait()?;
                receive.start()?.wait()?;
                Ok(())
            })
            .unwrap();
    })
    .unwrap();
}

#[test]
fn the_three_forms_of_a_collective_agree() {
    /// The lower rank's kind stays: associative, not commutative.
    fn join(a: Cell, b: Cell) -> Cell {
        Cell { kind: a.kind, value: a.value + b.value }
    }
    for ranks in RANKS {
        for each in [1, 700] {
            corelace::run(ranks, |world| {
                let (rank, root) = (world.rank(), ranks / 2);
                let op = || op::ordered(join);
                let zero = |count: usize| vec![Cell::default(); count];
                let mine: Vec<Cell> = (0..each).map(|index| cell(10 * rank + index % 9)).collect();
                let all: Vec<Cell> = (0..each * ranks).map(|index| cell(rank + index % 11)).collect();

                let gathered = world.gather(&mine[..], root).unwrap().unwrap_or_default();
                let dealt = world.scatter(&gathered, root).unwrap();
                let reduced = world.reduce(&mine[..], op(), root).unwrap().unwrap_or(zero(each));
                let upto = world.scan(&mine[..], op()).unwrap();
                let below = world.exscan(&mine[..], op()).unwrap().unwrap_or(zero(each));
                let shared = world.reduce_scatter_block(&all, op()).unwrap();
                let turned = world.alltoall(&all).unwrap();
                // The block of each rank is what a reduction of everything has there.
                let whole = world.allreduce(&all[..], op()).unwrap();
                assert_eq!(shared, whole[rank * each..][..each]);

                let expected = [gathered.clone(), dealt, reduced, upto, below, shared, turned];
                let mut results = expected.each_ref().map(|result| zero(result.len()));
                world
                    .scope(|s| {
                        let [a, b, c, d, e, f, g] = &mut results;
                        s.igather(&mine, a, root)?;
                        s.iscatter(&gathered, &mut b[..], root)?;
                        s.ireduce(&mine[..], &mut c[..], op(), root)?;
                        s.iscan(&mine[..], &mut d[..], op())?;
                        s.iexscan(&mine[..], &mut e[..], op())?;
                        s.ireduce_scatter_block(&all, f, op())?;
                        s.ialltoall(&all, g)?;
                        Ok(())
                    })
                    .unwrap();
                assert_eq!(results, expected);

                let mut out = [(); 4].map(|()| mine.clone());
                let (mut dealing, mut sharing, mut turning) = (gathered, all.clone(), all);
                let mut results = expected.each_ref().map(|result| zero(result.len()));
                world
                    .scope(|s| {
                        let [a, b, c, d, e, f, g] = &mut results;
                        let [first, second, third, fourth] = &mut out;
                        let mut kept = [
                            s.gather_init(first, a, root)?,
                            s.scatter_init(&mut dealing, b, root)?,
                            s.reduce_init(&mut second[..], &mut c[..], op(), root)?,
                            s.scan_init(&mut third[..], &mut d[..], op())?,
                            s.exscan_init(&mut fourth[..], &mut e[..], op())?,
                            s.reduce_scatter_block_init(&mut sharing, f, op())?,
                            s.alltoall_init(&mut turning, g)?,
                        ];
                        for _ in 0..3 {
                            for one in &mut kept {
                                one.incoming()?.fill(Cell::default());
                            }
                            let mut started = Vec::new();
                            for one in &mut kept {
                                started.push(one.start()?);
                            }
                            wait_all(started)?;
                            for (one, expected) in kept.iter_mut().zip(&expected) {
                                assert_eq!(one.incoming()?, expected);
                            }
                        }
                        Ok(())
                    })
                    .unwrap();
            })
            .unwrap();
        }
    }
    corelace::run(2, |world| {
        assert_eq!(world.reduce_scatter_block(&[1, 2, 3], op::sum()).unwrap_err().kind(), ErrorKind::Length);
        let wrong = world.scope(|s| s.igather(&[1u8], &mut [], 2).map(drop));
        assert_eq!(wrong.unwrap_err().kind(), ErrorKind::Root);
    })
    .unwrap();
}

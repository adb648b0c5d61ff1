//! Operations that do not wait: completion, forgotten requests, errors and panics in a scope.

use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};

use corelace::{Any, ErrorKind, Request, op, test_any, wait_all, wait_any};

/// Large enough to wait for the receiver on every fabric.
const LARGE: usize = 1 << 18;

#[test]
fn neighbours_exchange_halos_in_a_scope() {
    for ranks in [1, 2, 5, 16] {
        corelace::run(ranks, |world| {
            let (right, left) = ((world.rank() + 1) % ranks, (world.rank() + ranks - 1) % ranks);
            for length in [1, 100, LARGE] {
                let out = vec![world.rank() as u32; length];
                let (mut from_left, mut from_right) = (vec![0u32; length], vec![0u32; length]);
                world
                    .scope(|s| {
                        let receives =
                            [s.irecv(&mut from_left[..], left, 1)?, s.irecv(&mut from_right[..], right, 2)?];
                        s.isend(&out[..], right, 1)?;
                        s.isend(&out[..], left, 2)?;
                        let done = wait_all(receives)?;
                        assert_eq!(done[0].1.source(), Some(left));
                        assert_eq!(done[1].0[length - 1], right as u32);
                        Ok(())
                    })
                    .unwrap();
                assert_eq!(from_left, vec![left as u32; length]);
            }
        })
        .unwrap();
    }
}

#[test]
#[allow(clippy::forget_non_drop, reason = "whether a request has a destructor is not the user's business")]
fn forgotten_requests_are_completed_at_the_end_of_the_scope() {
    corelace::run(2, |world| {
        let other = 1 - world.rank();
        let out = vec![world.rank(); LARGE];
        let mut into = vec![usize::MAX; LARGE];
        world
            .scope(|s| {
                mem::forget(s.irecv(&mut into[..], other, 0)?);
                mem::forget(s.synchronous_isend(&out[..], other, 0)?);
                Ok(())
            })
            .unwrap();
        assert_eq!(into, vec![other; LARGE]);
    })
    .unwrap();
}

#[test]
fn a_scope_tells_the_error_of_a_request_that_nobody_waited_for() {
    corelace::run(2, |world| {
        if world.rank() == 0 {
            world.send(&[1u8; 10][..], 1, 0).unwrap();
        } else {
            let mut small = [0u8; 4];
            let error = world
                .scope(|s| {
                    s.irecv(&mut small[..], 0, 0)?;
                    Ok(())
                })
                .unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Truncated);
        }
    })
    .unwrap();
}

#[test]
fn an_error_in_a_scope_cancels_receives_and_completes_sends() {
    corelace::run(2, |world| {
        if world.rank() == 0 {
            let (out, mut never) = (vec![7u8; LARGE], vec![0u8; LARGE]);
            let error = world
                .scope(|s| {
                    s.irecv(&mut never[..], 1, 9)?;
                    s.isend(&out[..], 1, 0)?;
                    s.isend(&out[..], 5, 0)?;
                    Ok(())
                })
                .unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Rank);
        } else {
            assert_eq!(world.recv_vec::<u8>(0, 0).unwrap().0, vec![7; LARGE]);
        }
    })
    .unwrap();
}

#[test]
fn a_panic_in_a_scope_leaves_nothing_in_flight() {
    corelace::run(2, |world| {
        let other = 1 - world.rank();
        for length in [4, LARGE] {
            let caught = catch_unwind(AssertUnwindSafe(|| {
                let mut into = vec![0u8; length];
                let _ = world.scope(|s| -> corelace::Result<()> {
                    s.irecv(&mut into[..], other, 3)?;
                    panic!("on purpose");
                });
            }));
            assert!(caught.is_err());
            // The receive of the scope is gone on both sides: this one gets the message.
            world.barrier().unwrap();
            let sending = world.isend_owned(vec![1u8; length], other, 3).unwrap();
            assert_eq!(world.recv_vec::<u8>(other, 3).unwrap().0, vec![1; length]);
            sending.wait().unwrap();
        }
    })
    .unwrap();
}

#[test]
fn testing_makes_progress_until_the_message_is_there() {
    corelace::run(2, |world| {
        if world.rank() == 0 {
            let (_, _) = world.recv::<u8>(1, 0).unwrap();
            world.send(&vec![5u64; LARGE][..], 1, 1).unwrap();
        } else {
            let mut into = vec![0u64; LARGE];
            world
                .scope(|s| {
                    let mut receiving = s.irecv(&mut into[..], 0, 1)?;
                    assert!(!receiving.test()?);
                    world.send(&0u8, 0, 0)?;
                    while !receiving.test()? {}
                    let (data, status) = receiving.wait()?;
                    assert_eq!((data[LARGE - 1], status.count::<u64>()), (5, Some(LARGE)));
                    // The buffer is ours again, inside of the scope.
                    data[0] = 1;
                    Ok(())
                })
                .unwrap();
            assert_eq!(into[0], 1);
        }
    })
    .unwrap();
}

#[test]
fn waiting_for_any_takes_requests_in_the_order_of_completion() {
    corelace::run(4, |world| {
        if world.rank() == 0 {
            let mut requests: Vec<_> =
                (1..4).map(|from| world.irecv_owned::<u32>(1, from, 0).unwrap()).collect();
            for expected in [3, 1, 2] {
                world.send(&0u8, expected, 1).unwrap();
                let (_, (data, status)) = wait_any(&mut requests).unwrap().expect("one is under way");
                assert_eq!((data, status.source()), (vec![expected as u32], Some(expected)));
            }
            assert!(wait_any(&mut requests).unwrap().is_none());
            assert!(test_any(&mut requests).unwrap().is_none());
        } else {
            let (_, _) = world.recv::<u8>(0, 1).unwrap();
            world.send(&(world.rank() as u32), 0, 0).unwrap();
        }
    })
    .unwrap();
}

#[test]
fn owned_requests_give_their_vectors_back() {
    corelace::run(2, |world| {
        let other = 1 - world.rank();
        for length in [0, 3, LARGE] {
            let receiving = world.irecv_owned::<usize>(LARGE, other, 0).unwrap();
            let mut sending = world.isend_owned(vec![world.rank(); length], other, 0).unwrap();
            let (received, status) = receiving.wait().unwrap();
            assert_eq!((received, status.count::<usize>()), (vec![other; length], Some(length)));
            while !sending.test().unwrap() {}
            assert_eq!(sending.wait().unwrap(), vec![world.rank(); length]);
        }
    })
    .unwrap();
}

#[test]
fn a_dropped_owned_send_still_arrives_and_a_dropped_receive_is_cancelled() {
    corelace::run(2, |world| {
        let other = 1 - world.rank();
        drop(world.irecv_owned::<usize>(10, other, 0).unwrap());
        // A message that is sent before the receive is gone would be its own.
        world.barrier().unwrap();
        drop(world.isend_owned(vec![world.rank(); LARGE], other, 0).unwrap());
        world.barrier().unwrap();
        assert_eq!(world.recv_vec::<usize>(other, 0).unwrap().0, vec![other; LARGE]);
        // This one meets no receive before the job ends; it must not keep the job from ending.
        drop(world.isend_owned(vec![1u8], other, 77).unwrap());
    })
    .unwrap();
}

#[test]
fn forgotten_owned_requests_do_no_harm() {
    corelace::run(2, |world| {
        let other = 1 - world.rank();
        mem::forget(world.irecv_owned::<usize>(10, other, 5).unwrap());
        mem::forget(world.isend_owned(vec![world.rank(); LARGE], other, 0).unwrap());
        assert_eq!(world.recv_vec::<usize>(other, 0).unwrap().0, vec![other; LARGE]);
        world.send(&[1usize; 10][..], other, 5).unwrap();
    })
    .unwrap();
}

#[test]
fn a_scope_with_thousands_of_requests_completes_them_all() {
    corelace::run(3, |world| {
        let out: Vec<u32> = (0..3000).collect();
        let mut into = vec![0u32; 6000];
        let others: Vec<usize> = (0..3).filter(|rank| *rank != world.rank()).collect();
        world
            .scope(|s| {
                for (slot, value) in into.iter_mut().enumerate() {
                    s.irecv(value, others[slot % 2], (slot / 2) as i32)?;
                }
                for (tag, value) in out.iter().enumerate() {
                    for other in &others {
                        s.isend(value, *other, tag as i32)?.wait()?;
                    }
                }
                Ok(())
            })
            .unwrap();
        assert!(into.iter().enumerate().all(|(slot, value)| *value == slot as u32 / 2));
    })
    .unwrap();
}

#[test]
fn collectives_run_beside_messages_in_a_scope() {
    for ranks in [1, 2, 5, 16] {
        corelace::run(ranks, |world| {
            let mine = [world.rank() as u64; 3];
            let (mut sum, mut all) = ([0u64; 3], vec![0u64; 3 * ranks]);
            let mut word = if world.rank() == 0 { 42u8 } else { 0 };
            let mut token = 0u8;
            world
                .scope(|s| {
                    let summing = s.iallreduce(&mine[..], &mut sum[..], op::sum())?;
                    let gathering = s.iallgather(&mine, &mut all)?;
                    let hearing = s.ibroadcast(&mut word, 0)?;
                    let barrier = s.ibarrier()?;
                    let receiving = s.irecv(&mut token, Any, 0)?;
                    s.isend(&1u8, (world.rank() + 1) % ranks, 0)?;
                    assert_eq!(*receiving.wait()?.0, 1);
                    barrier.wait()?;
                    assert_eq!(*hearing.wait()?, 42);
                    assert_eq!(gathering.wait()?[3 * ranks - 1], ranks as u64 - 1);
                    assert_eq!(summing.wait()?[0], (ranks * (ranks - 1) / 2) as u64);
                    Ok(())
                })
                .unwrap();
        })
        .unwrap();
    }
}

#[test]
fn requests_of_different_kinds_share_a_trait() {
    fn finish<R: Request>(mut request: R) -> R::Output {
        while !request.test().unwrap() {}
        request.wait().unwrap()
    }
    corelace::run(1, |world| {
        let receiving = world.irecv_owned::<u8>(1, 0, 0).unwrap();
        let sending = world.isend_owned(vec![3u8], 0, 0).unwrap();
        assert_eq!(finish(receiving).0, [3]);
        assert_eq!(finish(sending), [3]);
    })
    .unwrap();
}

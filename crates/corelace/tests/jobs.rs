//! Jobs inside of the program: results, panics, deadlocks, and what a failed job leaves behind.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use corelace::{Any, Failure, Job};

use crate::own_process::in_own_process;

#[test]
fn results_come_in_the_order_of_ranks() {
    for ranks in [1, 2, 5, 16, 192] {
        assert_eq!(corelace::run(ranks, |world| world.rank()).unwrap(), (0..ranks).collect::<Vec<_>>());
    }
}

#[test]
fn ranks_may_borrow_from_the_caller() {
    let words = ["zero", "one", "two"];
    let count = AtomicUsize::new(0);
    let mine = corelace::run(3, |world| {
        count.fetch_add(world.rank(), Ordering::Relaxed);
        words[world.rank()]
    });
    assert_eq!(mine.unwrap(), words);
    assert_eq!(count.into_inner(), 3);
}

#[test]
fn threads_and_any_number_of_cores_carry_ranks() {
    let sum = |job: Job| {
        let sums = job.run(|world| world.allreduce(&world.rank(), corelace::op::sum()).unwrap());
        assert_eq!(sums.unwrap(), [28; 8]);
    };
    sum(Job::new(8).threads());
    for cores in [1, 2, 3, 8] {
        sum(Job::new(8).cores(cores).stack(256 << 10));
    }
}

#[test]
fn jobs_can_be_nested_and_run_side_by_side() {
    let totals = corelace::run(2, |world| {
        let inner =
            Job::new(3).cores(1).run(|inner| inner.allreduce(&(inner.rank() + 1), corelace::op::sum()));
        inner.unwrap().into_iter().map(Result::unwrap).sum::<usize>() + world.rank()
    });
    assert_eq!(totals.unwrap(), [18, 19]);
    std::thread::scope(|threads| {
        for _ in 0..4 {
            threads.spawn(|| assert_eq!(corelace::run(4, |world| world.size()).unwrap(), [4; 4]));
        }
    });
}

#[test]
fn a_job_without_ranks_is_refused() {
    let error = corelace::run(0, |_| ()).unwrap_err();
    assert_eq!(error.to_string(), "a job of 0 ranks cannot be run, expected 1 to 2147483647");
    assert!(error.failures().is_empty());
}

#[test]
fn a_panic_names_its_rank_and_those_who_waited_for_it() {
    for job in [Job::new(4), Job::new(4).cores(1), Job::new(4).threads()] {
        let error = job
            .run(|world| match world.rank() {
                2 => panic!("rank two has had enough"),
                3 => {}
                _ => drop(world.recv::<u8>(2, 7)),
            })
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "rank 2 panicked: rank two has had enough; then others waited in vain: \
             rank 0 waits to receive from rank 2 with tag 7, rank 1 waits to receive from rank 2 with tag 7"
        );
        let ranks: Vec<usize> = error.failures().iter().map(|failure| failure.rank).collect();
        assert_eq!(ranks, [2, 0, 1]);
        assert!(matches!(&error.failures()[0].cause, Failure::Panicked(text) if text.contains("enough")));
    }
}

#[test]
fn an_error_names_its_rank_and_keeps_its_cause() {
    let error = Job::new(3)
        .try_run(|world| {
            if world.rank() == 1 {
                world.send(&0u8, 17, 0)?;
            }
            Ok(world.barrier()?)
        })
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "rank 1 failed: destination is 17, expected a rank from 0 to 2; then others waited in vain: \
         rank 0 waits in barrier, rank 2 waits in barrier"
    );
    assert!(std::error::Error::source(&error).unwrap().is::<corelace::Error>());
    assert_eq!(Job::new(3).try_run(|world| Ok(world.rank())).unwrap(), [0, 1, 2]);
}

#[test]
fn a_deadlock_tells_what_every_rank_waits_for() {
    let error = corelace::run(5, |world| match world.rank() {
        0 => drop(world.recv::<u8>(Any, 3)),
        1 => drop(world.synchronous_send(&1u8, 2, 4)),
        2 => drop(world.probe(1, 9)),
        3 => {
            let mut into = 0u8;
            let _ = world.scope(|s| s.irecv(&mut into, 4, Any)?.wait().map(|_| ()));
        }
        _ => {}
    })
    .unwrap_err();
    assert_eq!(
        error.to_string(),
        "ranks wait in vain for others that have ended: rank 0 waits to receive from any rank with tag 3, \
         rank 1 waits in a send to rank 2 with tag 4, rank 2 probes for a message from rank 1 with tag 9, \
         rank 3 waits to receive from rank 4 with any tag"
    );
}

#[test]
fn a_deadlock_of_many_ranks_is_told_briefly_and_at_once() {
    let start = Instant::now();
    let error =
        corelace::run(100, |world| world.recv::<u8>((world.rank() + 1) % 100, 0).unwrap().0).unwrap_err();
    assert!(start.elapsed() < Duration::from_secs(10));
    assert_eq!(error.failures().len(), 100);
    let text = error.to_string();
    assert!(text.ends_with("rank 7 waits to receive from rank 8 with tag 0, and 92 more"), "{text}");
}

#[test]
fn a_deadlock_between_a_barrier_and_a_receive_is_noticed() {
    let error = corelace::run(3, |world| {
        if world.rank() > 0 {
            world.barrier().unwrap();
        } else {
            let (_, _) = world.recv::<u8>(1, 0).unwrap();
        }
    });
    assert_eq!(
        error.unwrap_err().to_string(),
        "all ranks wait in vain: rank 0 waits to receive from rank 1 with tag 0, rank 1 waits in barrier, \
         rank 2 waits in barrier"
    );
}

#[test]
fn a_failed_job_leaves_the_calling_thread_usable() {
    for _ in 0..3 {
        let failed = corelace::run(3, |world| {
            let mut into = vec![0u8; 1 << 20];
            let _ = world.scope(|s| s.irecv(&mut into[..], (world.rank() + 1) % 3, 0)?.wait().map(|_| ()));
        });
        assert!(failed.is_err());
        let panicked = corelace::run(3, |world| {
            let out = vec![1u8; 1 << 20];
            drop(world.isend_owned(out, (world.rank() + 1) % 3, 0).unwrap());
            assert!(world.rank() != 1, "on purpose");
            world.barrier().unwrap();
        });
        assert!(panicked.is_err());
        assert_eq!(
            corelace::run(3, |world| world.allgather(&world.rank()).unwrap()).unwrap(),
            [[0, 1, 2]; 3]
        );
    }
    assert!(!std::thread::panicking(), "a rank that was left behind must not mark the thread as panicking");
}

#[test]
fn a_job_of_processes_can_be_joined_once() {
    in_own_process("jobs::a_job_of_processes_can_be_joined_once", || {
        let universe = corelace::init().unwrap();
        let world = universe.world();
        assert_eq!((world.rank(), world.size(), universe.program()), (0, 1, None));
        world.send_recv_replace(&mut 3u8, 0, 0, 0, 0).unwrap();
        world.barrier().unwrap();
        let error = corelace::init().err().unwrap();
        assert_eq!(error.to_string(), "this process has joined a job before; it can do so once");
        universe.finalize().unwrap();
        assert!(corelace::init().is_err());
    });
}

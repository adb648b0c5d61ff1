//! Safe programs that do their worst: forget, panic, lie about lengths, start threads, catch what they should not. Each has to stay
//! sound, which the sanitizers watch, and to end with the error that it deserves.
#![allow(clippy::forget_non_drop, reason = "what is tested is that a value is forgotten, whatever its type")]

use std::cell::Cell;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use corelace::{Communicator, Datatype, ErrorKind, Failure, Job, Parts, RunError, Selection, op};
use proptest::prelude::*;

/// Every way to carry ranks inside of a program; threads notice a stall only after a panic. With `CORELACE_TEST_RANKS=threads` only
/// these: the address sanitizer takes a fiber that has caught a panic for one that uses frames which are gone.
fn carriers(ranks: usize) -> Vec<Job> {
    let mut carriers = vec![Job::new(ranks).threads()];
    if std::env::var("CORELACE_TEST_RANKS").as_deref() != Ok("threads") {
        carriers.extend([Job::new(ranks), Job::new(ranks).cores(1)]);
    }
    carriers
}

/// Ends the job: the others wait in vain from now on, also if they are threads.
fn give_up() -> ! {
    resume_unwind(Box::new(String::from("on purpose")))
}

fn assert_stalled(error: &RunError, ranks: &[usize]) {
    let stalled = |failure: &&corelace::RankFailure| matches!(failure.cause, Failure::Stalled(_));
    let found: Vec<usize> = error.failures().iter().filter(stalled).map(|failure| failure.rank).collect();
    assert_eq!(found, ranks, "{error}");
}

/// Says when it is dropped.
struct Tells<'f>(&'f AtomicBool);

impl Drop for Tells<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

#[test]
fn a_stalled_rank_ends_the_threads_that_use_what_it_borrowed() {
    for job in carriers(3) {
        let (rounds, over) = (AtomicUsize::new(0), AtomicBool::new(false));
        let data = vec![1u8; 1 << 16];
        let lent: &[u8] = &data;
        let result = job.run(|world| {
            if world.rank() == 0 {
                give_up();
            }
            std::thread::scope(|threads| {
                let _tells = Tells(&over);
                if world.rank() == 1 {
                    threads.spawn(|| {
                        while !over.load(Ordering::SeqCst) || rounds.load(Ordering::SeqCst) == 0 {
                            assert!(
                                lent.iter().all(|byte| *byte == 1),
                                "lent memory was given back too early"
                            );
                            rounds.fetch_add(1, Ordering::SeqCst);
                        }
                    });
                }
                let _ = world.recv::<u8>(0, 0);
            });
        });
        assert_stalled(&result.unwrap_err(), &[1, 2]);
        assert!(over.load(Ordering::SeqCst), "destructors of stalled ranks run");
        let seen = rounds.load(Ordering::SeqCst);
        drop(data);
        std::thread::yield_now();
        assert_eq!(rounds.load(Ordering::SeqCst), seen, "nobody reads after the job");
    }
}

#[test]
fn a_stall_on_a_chip_unwinds_its_ranks() {
    let drops = AtomicUsize::new(0);
    struct Counts<'c>(&'c AtomicUsize);
    impl Drop for Counts<'_> {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }
    let error = corelace::run_on("mesh16", 4, |world| {
        let _counts = Counts(&drops);
        let mut into = vec![0u8; 1 << 16];
        let _ = world.recv_into(&mut into[..], (world.rank() + 1) % 4, 3);
    });
    assert_stalled(&error.unwrap_err(), &[0, 1, 2, 3]);
    assert_eq!(drops.into_inner(), 4);
}

/// Tries everything on drop, and keeps what came out.
struct Stubborn<'w, 'j> {
    world: &'w Communicator<'j>,
    kinds: &'w Mutex<Vec<Option<ErrorKind>>>,
}

impl Drop for Stubborn<'_, '_> {
    fn drop(&mut self) {
        let world = self.world;
        let other = (world.rank() + 1) % world.size();
        let mut into = vec![0u8; 1 << 16];
        let mut kinds = vec![
            world.send(&[1u8; 1 << 16][..], other, 1).err(),
            world.send(&1u8, other, 1).err(),
            world.recv::<u8>(other, 2).err(),
            world.recv_into(&mut into[..], other, 2).err(),
            world.probe(other, 3).err(),
            world.try_probe(other, 3).err(),
            world.barrier().err(),
            world.allreduce(&1u64, op::sum()).err(),
            world.gatherv(&[1u8], 0).err(),
            world.split(Some(0), 0).err(),
            world.duplicate().err(),
            world.isend_owned(vec![1u8; 1 << 16], other, 4).err(),
            world.irecv_owned::<u8>(1 << 16, other, 4).err(),
            world.scope(|s| s.ibarrier()?.wait()).err(),
            world.cartesian(&[3], &[true]).err(),
            world.distributed_graph(&[]).err(),
            world.intercommunicator(0, world, 0, 0).err(),
            world.generalized_request(|| ()).err(),
            world.allocate_window::<u8>(1).err(),
            world.scope(|s| s.send_init(&mut into[..], other, 5)?.start()?.wait().map(drop)).err(),
            world.scope(|s| s.barrier_init()?.start()?.wait().map(drop)).err(),
            world.scope(|s| s.partitioned_send(&mut into[..4], 2, other, 6)?.start()?.wait()).err(),
        ];
        let mut kinds = kinds.drain(..).map(|error| error.map(|error| error.kind())).collect();
        self.kinds.lock().unwrap().append(&mut kinds);
    }
}

#[test]
fn destructors_that_call_after_a_stall_get_errors_at_once() {
    for job in carriers(3) {
        // One for each: the thread sanitizer does not see the standard library hand a lock over to a thread that waits for it.
        let kinds: [Mutex<Vec<_>>; 3] = Default::default();
        let result = job.run(|world| {
            if world.rank() == 0 {
                give_up();
            }
            let _stubborn = Stubborn { world: &world, kinds: &kinds[world.rank()] };
            let mut into = vec![0u8; 1 << 16];
            let _ = world.recv_into(&mut into[..], 0, 0);
        });
        assert_stalled(&result.unwrap_err(), &[1, 2]);
        let kinds = kinds.map(|kinds| kinds.into_inner().unwrap());
        assert_eq!(kinds.map(|kinds| kinds == [Some(ErrorKind::Stalled); 22]), [false, true, true]);
    }
}

#[test]
fn a_destructor_that_waits_during_a_panic_is_ended_by_an_error() {
    struct Waits<'w, 'j>(&'w Communicator<'j>);
    impl Drop for Waits<'_, '_> {
        fn drop(&mut self) {
            let error = self.0.recv::<u8>(1, 0).expect_err("nobody sends");
            assert_eq!(error.kind(), ErrorKind::Stalled);
        }
    }
    for job in carriers(2) {
        let error = job
            .run(|world| {
                let _waits = (world.rank() == 0).then(|| Waits(&world));
                give_up();
            })
            .unwrap_err();
        assert!(
            error.failures().iter().all(|failure| matches!(&failure.cause, Failure::Panicked(_))),
            "{error}"
        );
    }
}

#[test]
fn whoever_catches_a_stall_gets_errors_and_is_still_told_of() {
    for job in carriers(2) {
        let error = job
            .run(|world| {
                if world.rank() == 0 {
                    give_up();
                }
                let caught = catch_unwind(AssertUnwindSafe(|| world.recv::<u8>(0, 7)));
                assert!(caught.is_err());
                assert_eq!(world.recv::<u8>(0, 8).unwrap_err().kind(), ErrorKind::Stalled);
                assert_eq!(world.barrier().unwrap_err().kind(), ErrorKind::Stalled);
            })
            .unwrap_err();
        assert!(error.to_string().ends_with("rank 1 waits to receive from rank 0 with tag 7"), "{error}");
    }
}

#[test]
#[expect(
    clippy::forget_non_drop,
    reason = "a program forgets what it likes, also what need not be dropped today"
)]
fn requests_guards_and_messages_can_be_forgotten() {
    for job in carriers(2) {
        job.run(|world| {
            let other = 1 - world.rank();
            let out = vec![world.rank() as u8; 1 << 16];
            let mut into = vec![9u8; 1 << 16];
            world
                .scope(|s| {
                    mem::forget(s.irecv(&mut into[..], other, 0)?);
                    mem::forget(s.isend(&out[..], other, 0)?);
                    mem::forget(s.ibarrier()?);
                    Ok(())
                })
                .unwrap();
            assert!(
                into.iter().all(|byte| *byte == other as u8),
                "the scope has completed what was forgotten"
            );
            // The vectors of forgotten requests are leaked, so they can arrive and leave for ever.
            mem::forget(world.irecv_owned::<u8>(1 << 16, other, 1).unwrap());
            mem::forget(world.isend_owned(out, other, 1).unwrap());
            world.send(&[7u32; 3][..], other, 2).unwrap();
            mem::forget(world.matched_probe(other, 2).unwrap());
            mem::forget(world.duplicate().unwrap());
            mem::forget(world.barrier());
        })
        .unwrap();
    }
}

#[test]
fn dropped_requests_keep_their_memory_until_the_end_of_a_stalled_job() {
    for job in carriers(3) {
        let result = job.run(|world| {
            if world.rank() == 0 {
                give_up();
            }
            let other = 3 - world.rank();
            drop(world.isend_owned(vec![1u8; 1 << 18], other, 1).unwrap());
            drop(world.irecv_owned::<u8>(1 << 18, other, 2).unwrap());
            let kept = world.isend_owned(vec![2u8; 1 << 18], other, 3).unwrap();
            let _ = world.recv::<u8>(0, 0);
            kept.wait().unwrap()
        });
        assert_stalled(&result.unwrap_err(), &[1, 2]);
    }
}

#[test]
fn panics_in_scopes_reductions_and_destructors_name_their_rank() {
    let told = |result: Result<Vec<()>, RunError>, text: &str| {
        let error = result.unwrap_err();
        let panicked = |failure: &corelace::RankFailure| matches!(&failure.cause, Failure::Panicked(message) if message.contains(text));
        assert!(error.failures().iter().any(panicked), "{error}");
    };
    struct PanicsOnDrop;
    impl Drop for PanicsOnDrop {
        fn drop(&mut self) {
            resume_unwind(Box::new(String::from("in drop")));
        }
    }
    for job in carriers(3) {
        told(
            job.run(|world| {
                let (out, mut into) = (vec![1u8; 1 << 16], vec![0u8; 1 << 16]);
                let _ = world.scope(|s| -> corelace::Result<()> {
                    let _receiving = s.irecv(&mut into[..], (world.rank() + 1) % 3, 0)?;
                    let _sending = s.isend(&out[..], (world.rank() + 2) % 3, 1)?;
                    if world.rank() == 1 {
                        resume_unwind(Box::new(String::from("in the scope")));
                    }
                    Ok(())
                });
            }),
            "in the scope",
        );
        told(
            job.run(|world| {
                let panics = op::commutative(|_: u64, _: u64| -> u64 {
                    resume_unwind(Box::new(String::from("in a reduction")))
                });
                let _ = world.allreduce(&1u64, panics);
            }),
            "in a reduction",
        );
        told(job.run(|world| drop((world.rank() == 2).then_some(PanicsOnDrop))), "in drop");
    }
}

#[test]
fn threads_inside_of_ranks_use_what_they_can_reach() {
    for job in carriers(3) {
        let sums = job.run(|world| {
            let mut parts = [0u64; 4];
            std::thread::scope(|threads| {
                for (index, part) in parts.iter_mut().enumerate() {
                    threads.spawn(move || *part = index as u64);
                }
                world.barrier().unwrap();
            });
            let inner = std::thread::scope(|threads| {
                threads
                    .spawn(|| corelace::run(2, |inner| inner.allreduce(&1u64, op::sum()).unwrap()))
                    .join()
                    .unwrap()
            });
            world.allreduce(&(parts.iter().sum::<u64>() + inner.unwrap()[0]), op::sum()).unwrap()
        });
        assert_eq!(sums.unwrap(), [24; 3]);
    }
}

/// Neither dense nor without bytes that nobody may look at.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Default, Datatype)]
struct Gapped {
    a: u8,
    b: u64,
}

#[test]
fn rounds_of_persistent_requests_can_be_forgotten_with_their_requests() {
    for job in carriers(2) {
        job.run(|world| {
            let other = 1 - world.rank();
            let mark = Gapped { a: world.rank() as u8 + 1, b: world.rank() as u64 };
            let (mut out, mut into) = (vec![mark; 1 << 13], vec![Gapped::default(); 1 << 13]);
            let (mut grid, mut parts, mut room) = (vec![mark; 400], vec![mark; 400], vec![mark; 400]);
            world
                .scope(|s| {
                    let mut receive = s.recv_init(&mut into[..], other, 0)?;
                    let mut send = s.send_init(&mut out[..], other, 0)?;
                    mem::forget(receive.start()?);
                    mem::forget(send.start()?);
                    mem::forget((receive, send));

                    let mut halo = s.exchange(&mut grid);
                    halo.recv(&Selection::strided(0, 20, 1, 20), other, 1)?;
                    halo.send(&Selection::strided(1, 20, 1, 20), other, 1)?;
                    mem::forget(halo.start()?);
                    mem::forget(halo);

                    let mut coming = s.partitioned_recv(&mut room, 4, other, 2)?;
                    let mut parted = s.partitioned_send(&mut parts, 4, other, 2)?;
                    mem::forget(coming.start()?);
                    let mut round = parted.start()?;
                    round.ready(2)?;
                    mem::forget(round);
                    mem::forget((coming, parted));
                    mem::forget(s.barrier_init()?.start()?);
                    Ok(())
                })
                .unwrap();
            let theirs = Gapped { a: other as u8 + 1, b: other as u64 };
            assert!(
                into.iter().chain(&room).all(|cell| *cell == theirs),
                "the scope has completed what was forgotten"
            );
            assert!(grid.chunks(20).all(|row| row[0] == theirs && row[1] == mark));
        })
        .unwrap();
    }
}

#[test]
fn persistent_requests_of_a_stalled_job_lend_nothing_out() {
    for job in carriers(3) {
        let lent = AtomicUsize::new(0);
        let result = job.run(|world| {
            if world.rank() == 0 {
                give_up();
            }
            let mut into = vec![0u8; 1 << 16];
            let mut parts = vec![0u8; 1 << 16];
            let _ = world.scope(|s| -> corelace::Result<()> {
                let mut receive = s.recv_init(&mut into[..], 0, 0)?;
                let mut parted = s.partitioned_recv(&mut parts, 2, 0, 1)?;
                mem::forget(receive.start()?);
                mem::forget(parted.start()?);
                let caught = catch_unwind(AssertUnwindSafe(|| receive.incoming().map(|_| ())));
                assert!(caught.is_err());
                if receive.incoming().is_ok() || parted.items().is_ok() || receive.start().is_ok() {
                    lent.fetch_add(1, Ordering::SeqCst);
                }
                Ok(())
            });
        });
        assert_stalled(&result.unwrap_err(), &[1, 2]);
        assert_eq!(lent.into_inner(), 0);
    }
}

#[test]
fn panics_in_the_midst_of_rounds_leave_nothing_in_flight() {
    for job in carriers(2) {
        let result = job.run(|world| {
            let other = 1 - world.rank();
            let (mut out, mut into) = (vec![1u8; 1 << 16], vec![0u8; 1 << 16]);
            let (mut own, mut sum) = ([1u64; 4], [0u64; 4]);
            let (mut parts, mut grid) = ([3u8; 64], [4u8; 64]);
            let _ = world.scope(|s| -> corelace::Result<()> {
                let panics = op::commutative(|_: u64, _: u64| -> u64 {
                    resume_unwind(Box::new(String::from("in a persistent reduction")))
                });
                let mut receive = s.recv_init(&mut into[..], other, 0)?;
                let mut send = s.send_init(&mut out[..], other, 0)?;
                let mut parted = s.partitioned_send(&mut parts, 4, other, 1)?;
                let mut halo = s.exchange(&mut grid);
                halo.recv(&Selection::indexed(&[(0, 9)]), other, 2)?;
                let mut adding = s.allreduce_init(&mut own[..], &mut sum[..], panics)?;
                let _rounds = (receive.start()?, send.start()?, parted.start()?, halo.start()?);
                adding.start()?.wait()?;
                Ok(())
            });
        });
        let error = result.unwrap_err();
        assert!(error.to_string().contains("in a persistent reduction"), "{error}");
    }
}

/// The engine drops the closure of a persistent reduction that was freed when something else
/// begins.
#[test]
fn a_destructor_that_panics_in_the_engine_goes_on_after_the_call_and_harms_no_other() {
    struct Grenade;
    impl Drop for Grenade {
        fn drop(&mut self) {
            if !std::thread::panicking() {
                resume_unwind(Box::new("a destructor"));
            }
        }
    }
    for job in carriers(3) {
        job.run(|world| {
            let (mut own, mut sum) = ([1u64; 2], [0u64; 2]);
            let grenade = Grenade;
            let adding = op::commutative(move |a: u64, b: u64| {
                let _ = &grenade;
                a + b
            });
            world
                .scope(|s| {
                    let mut kept = s.allreduce_init(&mut own[..], &mut sum[..], adding)?;
                    kept.start()?.wait()
                })
                .unwrap();
            // Whatever begins next drops it. What goes on has been done by all ranks.
            let mut panics = 0;
            for round in 1..4u64 {
                let mut got = 0;
                let outcome = catch_unwind(AssertUnwindSafe(|| {
                    let plus = op::commutative(|a: u64, b: u64| a + b);
                    world.scope(|s| s.iallreduce(&round, &mut got, plus)?.wait().map(drop))
                }));
                panics += u32::from(outcome.is_err());
                assert_eq!(got, 3 * round);
            }
            assert_eq!(panics, 1, "the panic goes on once");
            assert_eq!(world.allreduce(&1u64, op::sum()).unwrap(), 3);
        })
        .unwrap();
    }
}

#[test]
fn generalized_requests_end_in_any_order_and_with_any_closure() {
    for job in carriers(2) {
        job.run(|world| {
            // Dropped or forgotten on either side, in either order.
            let (request, completer) = world.generalized_request(|| 1).unwrap();
            drop(request);
            completer.complete();
            let (request, completer) = world.generalized_request(|| 1).unwrap();
            drop(completer);
            drop(request);
            let (request, completer) = world.generalized_request(|| 1).unwrap();
            mem::forget(request);
            completer.complete();
            let (request, completer) = world.generalized_request(|| 1).unwrap();
            mem::forget(completer);
            drop(request);
            let (request, completer) = world.generalized_request(|| 1).unwrap();
            drop(completer);
            assert!(request.wait().is_err());
            // A panic of a closure is the rank's, and leaves the request behind it.
            let (request, completer) =
                world.generalized_request(|| -> u8 { resume_unwind(Box::new("in the query")) }).unwrap();
            completer.complete();
            assert!(catch_unwind(AssertUnwindSafe(|| request.wait())).is_err());
            world.barrier().unwrap();
        })
        .unwrap();
    }
    let error = Job::new(1)
        .run(|world| {
            let (request, completer) = world.generalized_request(|| ()).unwrap();
            mem::forget(completer);
            let _ = request.wait();
        })
        .unwrap_err();
    assert!(error.to_string().contains("complete itself"), "{error}");
}

#[test]
fn views_and_parts_can_be_forgotten_and_outlive_each_other() {
    for job in carriers(2) {
        job.run(|world| {
            let other = 1 - world.rank();
            let mut grid = vec![Gapped::default(); 1000];
            let (mut first, mut second) = {
                let mut parts = Parts::of(&mut grid);
                let pair = parts.take(&Selection::strided(0, 500, 1, 2)).unwrap();
                let mut other = parts.take(&Selection::strided(1, 500, 1, 2)).unwrap();
                other.copy_from_slice(&[Gapped { a: 1, b: world.rank() as u64 }; 500]).unwrap();
                mem::forget(parts);
                (pair, other)
            };
            world
                .scope(|s| {
                    mem::forget(s.irecv(&mut first, other, 0)?);
                    mem::forget(s.isend(&second, other, 0)?);
                    Ok(())
                })
                .unwrap();
            assert_eq!(first.to_vec(), [Gapped { a: 1, b: other as u64 }; 500]);
            second.copy_from_slice(&first.to_vec()).unwrap();
            assert!(grid.iter().all(|cell| *cell == Gapped { a: 1, b: other as u64 }));
        })
        .unwrap();
    }
}

#[test]
fn messages_longer_than_partitions_and_views_have_room_for_are_errors_and_shorter_ones_are_told() {
    for job in carriers(2) {
        job.run(|world| {
            if world.rank() == 0 {
                let mut short = [1u8; 3];
                world.scope(|s| s.partitioned_send(&mut short, 3, 1, 0)?.start()?.wait()).unwrap();
                let mut long = vec![1u8; 100_000];
                world.scope(|s| s.partitioned_send(&mut long, 2, 1, 1)?.start()?.wait()).unwrap();
                world.send(&[1u8; 70][..], 1, 2).unwrap();
                return;
            }
            let mut room = vec![Gapped { a: 7, b: 7 }; 60];
            // What comes may be shorter than the room, as of any receive: the rest stays as it is.
            let short = world.scope(|s| s.partitioned_recv(&mut room, 2, 0, 0)?.start()?.wait());
            assert_eq!(short.unwrap().bytes(), 3);
            assert_eq!(room[1], Gapped { a: 7, b: 7 });
            let long = world.scope(|s| s.partitioned_recv(&mut room, 2, 0, 1)?.start()?.wait().map(drop));
            assert!(long.is_err(), "more bytes than partitions");
            let long = world.recv_into(&mut Selection::strided(0, 5, 1, 2).of_mut(&mut room).unwrap(), 0, 2);
            assert_eq!(long.unwrap_err().kind(), ErrorKind::Truncated);
            assert_eq!(room[1..][..58].iter().skip(10).filter(|cell| cell.b != 7).count(), 0);
        })
        .unwrap();
    }
}

thread_local!(static SCOPED: Cell<usize> = const { Cell::new(usize::MAX) });

/// What crates for scoped values do: sets one for the time of a closure.
fn with_scoped<R>(value: usize, body: impl FnOnce() -> R) -> R {
    struct Restore(usize);
    impl Drop for Restore {
        fn drop(&mut self) {
            SCOPED.set(self.0);
        }
    }
    let _restore = Restore(SCOPED.replace(value));
    body()
}

#[test]
fn scoped_thread_locals_hold_over_waits_in_threads_and_without_waits_in_fibers() {
    let waits = Job::new(4).threads().run(|world| {
        with_scoped(world.rank(), || {
            world.barrier().unwrap();
            SCOPED.get()
        })
    });
    assert_eq!(waits.unwrap(), [0, 1, 2, 3]);
    let does_not = Job::new(4).cores(1).run(|world| {
        let seen = with_scoped(world.rank(), || SCOPED.get());
        world.barrier().unwrap();
        (seen, SCOPED.get())
    });
    assert_eq!(does_not.unwrap(), [0, 1, 2, 3].map(|rank| (rank, usize::MAX)));
}

/// What ranks answer when they are asked for their lengths in the first half of a collective with a `v`.
fn lengths() -> impl Strategy<Value = Vec<usize>> {
    let length = prop_oneof![
        Just(usize::MAX),
        Just(1usize << 63),
        Just((1usize << 63) + 1),
        Just(isize::MAX as usize),
        Just(usize::MAX / 8 + 1),
        Just(1usize << 61),
        0usize..5,
    ];
    proptest::collection::vec(length, 2)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    #[test]
    fn lengths_that_other_ranks_lie_about_are_errors(lies in lengths()) {
        let honest = |length: &usize| *length < 5;
        let expect_error = !lies.iter().all(honest);
        // Rank 0 collects; the others take part in the two collectives that its one consists of, the first with a lie. Whether they
        // are told of the error does not matter here.
        let told = Mutex::new(None);
        let _ = Job::new(3).cores(1).run(|world| {
            let mine = [world.rank() as u64 + 1; 4];
            if world.rank() == 0 {
                let outcome = world.gatherv(&mine, 0).map(|_| ()).map_err(|error| error.kind());
                *told.lock().unwrap() = Some(outcome);
            } else {
                let _ = world.gather(&lies[world.rank() - 1], 0);
                let _ = world.gather(&mine[..], 0);
            }
        });
        if expect_error {
            prop_assert_eq!(told.into_inner().unwrap(), Some(Err(ErrorKind::Length)));
        }
    }

    #[test]
    fn lengths_that_neighbours_and_other_groups_lie_about_are_errors(lies in lengths()) {
        let lie = lies[0];
        let told = Mutex::new(Vec::new());
        let _ = Job::new(2).cores(1).run(|world| {
            let honest = world.rank() == 0;
            let pair = world.cartesian(&[2], &[true]).unwrap().unwrap();
            let side = world.split(Some(world.rank() as u32), 0).unwrap().unwrap();
            let between = side.intercommunicator(0, &world, 1 - world.rank(), 0).unwrap();
            if honest {
                told.lock().unwrap().push(between.allgatherv(&[1u64; 4]).map(drop).map_err(|error| error.kind()));
                told.lock().unwrap().push(pair.neighbor_allgatherv(&[1u64; 4]).map(drop).map_err(|error| error.kind()));
            } else {
                let _ = between.allgather(&lie);
                if lie < 5 {
                    let _ = between.allgatherv(&vec![1u64; lie]);
                }
                let _ = pair.neighbor_allgather(&lie);
                let _ = pair.neighbor_allgather(&[1u64; 4]);
            }
        });
        if lie >= 5 {
            prop_assert_eq!(told.into_inner().unwrap(), vec![Err(ErrorKind::Length); 2]);
        }
    }

    #[test]
    fn shares_that_the_root_lies_about_are_errors(lie in lengths()) {
        let lie = lie[0];
        let outcome = Job::new(2).cores(1).run(|world| {
            if world.rank() == 0 {
                let mut told = lie;
                let _ = world.broadcast(&mut told, 0);
                return Ok(());
            }
            world.scatter::<u64>(&[], 0).map(|_| ()).map_err(|error| error.kind())
        });
        if lie >= 5 {
            prop_assert_eq!(outcome.map(|all| all[1]).ok(), Some(Err(ErrorKind::Length)));
        }
    }
}

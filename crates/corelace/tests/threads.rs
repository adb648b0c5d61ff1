//! Threads that take turns on one rank.
//!
//! A process can join a job once, so this is one test, in a process of its own.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Barrier;

use corelace::{Communicator, ErrorKind, Group, Serialized, Session, Universe, op};

use crate::own_process::in_own_process;

fn is_shared<T: Send + Sync + Clone>(_: &T) {}

#[test]
fn threads_take_turns_on_a_rank_and_keep_nothing_of_it() {
    in_own_process("threads::threads_take_turns_on_a_rank_and_keep_nothing_of_it", || {
        let universe = corelace::init().unwrap().serialized().ok().expect("no session");
        is_shared(&universe);
        let begin = Barrier::new(4);
        std::thread::scope(|threads| {
            for number in 0..4u64 {
                let (universe, begin) = (universe.clone(), &begin);
                threads.spawn(move || {
                    // A closure with a count that is not atomic, of which the thread keeps a share.
                    let calls = Rc::new(RefCell::new(0u64));
                    let counted = calls.clone();
                    let sum = op::commutative(move |a: u64, b: u64| {
                        *counted.borrow_mut() += 1;
                        a + b
                    });
                    begin.wait();
                    for round in 0..200 {
                        let kept = sum.clone();
                        let got = universe.with(|world| {
                            let mut own = [number; 3];
                            let mut result = [0u64; 3];
                            world.scope(|s| {
                                let mut adding =
                                    s.allreduce_init(&mut own[..], &mut result[..], kept.clone())?;
                                adding.start()?.wait()?;
                                Ok(())
                            })?;
                            assert_eq!(result, [number; 3]);
                            let sending = world.isend_owned(vec![number; 100], 0, round)?;
                            let (received, _) = world.recv_vec::<u64>(0, round)?;
                            sending.wait()?;
                            Ok(received)
                        });
                        assert_eq!(got.unwrap(), [number; 100]);
                        drop(kept);
                    }
                    let shares = Rc::strong_count(&calls);
                    assert_eq!(shares, 2, "the engine holds no share of the closure");
                });
            }
        });

        // Inside of itself it is an error, and a panic leaves it usable.
        let nested = universe.with(|_| universe.with(|_| Ok(())));
        assert_eq!(nested.unwrap_err().kind(), ErrorKind::Length);
        let other = universe.clone();
        assert!(
            std::thread::spawn(move || other.with(|_| -> corelace::Result<()> { panic!("on purpose") }))
                .join()
                .is_err()
        );
        assert_eq!(universe.with(|world| Ok(world.size())).unwrap(), 1);

        let clone = universe.clone();
        let universe = universe.into_universe().err().expect("there is a clone");
        drop(clone);
        let universe: Universe = universe.into_universe().ok().expect("the last one");
        universe.finalize().unwrap();
    });
}

/// Panics when it is dropped.
struct Grenade(&'static str);

impl Drop for Grenade {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            std::panic::resume_unwind(Box::new(self.0));
        }
    }
}

#[test]
fn a_turn_ends_with_nothing_of_its_thread_in_the_engine_whatever_panics() {
    const TEST: &str = "threads::a_turn_ends_with_nothing_of_its_thread_in_the_engine_whatever_panics";
    in_own_process(TEST, || {
        let universe = corelace::init().unwrap().serialized().ok().expect("no session");
        for own_panic in [false, true] {
            let first = universe.clone();
            let turn = move || {
                let shared = Rc::new(Cell::new(0u64));
                let outcome = catch_unwind(AssertUnwindSafe(|| {
                    first.with(|world| {
                        let mut data = [[1u64; 2]; 3];
                        let [a, b, c] = &mut data;
                        let op = |text: Option<&'static str>| {
                            let (grenade, share) = (text.map(Grenade), shared.clone());
                            op::commutative(move |a: u64, b: u64| {
                                let _ = &grenade;
                                share.set(share.get() + 1);
                                a + b
                            })
                        };
                        let (ops, mut results) = ([Some("first"), Some("second"), None].map(op), [[0; 2]; 3]);
                        let [one, two, three] = ops;
                        let [d, e, f] = &mut results;
                        world.scope(|scope| {
                            let _kept = (
                                scope.allreduce_init(&mut a[..], &mut d[..], one)?,
                                scope.allreduce_init(&mut b[..], &mut e[..], two)?,
                                scope.allreduce_init(&mut c[..], &mut f[..], three)?,
                            );
                            Ok(())
                        })?;
                        if own_panic {
                            std::panic::resume_unwind(Box::new("its own"));
                        }
                        Ok(())
                    })
                }));
                let told = *outcome.unwrap_err().downcast::<&str>().unwrap();
                assert_eq!(told, if own_panic { "its own" } else { "first" });
                assert_eq!(Rc::strong_count(&shared), 1, "the engine holds no share of a closure");
                // The turn has ended: this thread may have another.
                assert_eq!(first.with(|world| world.allreduce(&2u64, op::sum())).unwrap(), 2);
            };
            std::thread::spawn(turn).join().unwrap();
        }
        assert_eq!(universe.with(|world| world.allreduce(&3u64, op::sum())).unwrap(), 3);
    });
}

/// What belongs to a rank is in neither of the sets that threads ask for; `Serialized` is in both.
#[test]
fn only_the_serialized_handle_is_for_threads() {
    trait Ambiguous<A> {
        fn some() {}
    }
    struct Sent;
    impl<T: ?Sized> Ambiguous<()> for T {}
    impl<T: ?Sized + Send> Ambiguous<Sent> for T {}
    // These compile only if the types are not `Send`: otherwise both of the implementations above fit.
    let _ = <Communicator<'_> as Ambiguous<_>>::some;
    let _ = <Group<'_> as Ambiguous<_>>::some;
    let _ = <Universe as Ambiguous<_>>::some;
    let _ = <Session<'_> as Ambiguous<_>>::some;
    fn sent<T: Send + Sync>() {}
    sent::<Serialized>();
}

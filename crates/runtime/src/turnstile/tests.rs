//! The turnstile under threads that come and go, among them a habitué that is late.

use std::cell::Cell;
use std::sync::Barrier;

use engine::Gate;
use fabric::Idle;
use fabric_local::{LocalFabric, NoHooks, Options, Outcome};

use super::*;

/// Data that only who is inside may touch.
struct Guarded(Cell<u64>);
// SAFETY: used by whoever is inside only; that this holds is what the test is for.
unsafe impl Sync for Guarded {}

fn both_kinds() -> [Turnstile; 2] {
    let leaning = Turnstile::default();
    leaning.lean();
    [Turnstile::default(), leaning]
}

/// Comes in `times` times, now and then deeper or by trying, and counts.
fn count_up(turnstile: &Turnstile, counter: &Guarded, times: u64) {
    for n in 0..times {
        if n % 5 == 0 {
            while !turnstile.try_enter() {
                std::hint::spin_loop();
            }
        } else {
            turnstile.enter();
        }
        if n % 3 == 0 {
            turnstile.enter();
            turnstile.leave();
        }
        let seen = counter.0.get();
        if n % 64 == 0 {
            std::thread::yield_now();
        }
        counter.0.set(seen + 1);
        if n % 7 == 0 {
            turnstile.outside(|| ());
        }
        turnstile.leave();
    }
}

#[test]
fn one_thread_at_a_time_is_inside_however_deep() {
    for turnstile in both_kinds() {
        let counter = Guarded(Cell::new(0));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| count_up(&turnstile, &counter, 20_000));
            }
        });
        assert_eq!(counter.0.get(), 80_000);
        assert_eq!((turnstile.word.into_inner(), turnstile.owner.into_inner()), (FREE, 0));
    }
}

/// The turnstile goes from habitué to habitué: fresh ones, each with a rival that comes at the worst moment.
#[test]
fn a_habitue_and_a_rival_are_never_inside_together() {
    let started = Barrier::new(2);
    for _ in 0..300 {
        let turnstile = Turnstile::default();
        turnstile.lean();
        let counter = Guarded(Cell::new(0));
        turnstile.enter();
        turnstile.leave();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                started.wait();
                count_up(&turnstile, &counter, 20);
            });
            started.wait();
            count_up(&turnstile, &counter, 400);
        });
        assert_eq!(counter.0.get(), 420);
    }
}

#[test]
fn the_first_thread_becomes_the_habitue_and_others_take_it_away() {
    let turnstile = Turnstile::default();
    turnstile.lean();
    if turnstile.barrier.get().is_none() {
        // A kernel without the barrier: then nobody ever does.
        turnstile.enter();
        return assert_eq!(turnstile.habitue.load(Ordering::Relaxed), 0);
    }
    turnstile.enter();
    assert!(turnstile.is_habitue(me()));
    assert_eq!(turnstile.word.load(Ordering::Relaxed), FREE, "the habitué goes without the word");
    turnstile.leave();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..STREAK {
                turnstile.enter();
                assert_eq!(turnstile.habitue.load(Ordering::Relaxed), 0);
                turnstile.leave();
            }
            turnstile.enter();
            assert!(turnstile.is_habitue(me()), "it came often in a row");
            turnstile.leave();
        });
    });
}

#[test]
fn who_tries_finds_the_habitue_inside_and_it_can_leave() {
    for turnstile in both_kinds() {
        turnstile.enter();
        std::thread::scope(|scope| {
            scope.spawn(|| assert!(!turnstile.try_enter()));
        });
        assert!(turnstile.is_inside());
        turnstile.leave();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                assert!(turnstile.try_enter());
                turnstile.leave();
            });
        });
    }
}

#[test]
fn a_thread_that_waits_lets_others_in() {
    for turnstile in both_kinds() {
        turnstile.enter();
        std::thread::scope(|scope| {
            let other = scope.spawn(|| {
                turnstile.enter();
                turnstile.leave();
            });
            turnstile.outside(|| other.join().unwrap());
        });
        turnstile.leave();
        assert_eq!(turnstile.word.load(Ordering::Relaxed), FREE);
    }
}

/// A habitué that was put off its core between finding its name and taking its room, and goes on much later.
#[test]
fn a_habitue_that_is_late_disturbs_nobody() {
    let turnstile = Turnstile::default();
    turnstile.lean();
    turnstile.enter();
    turnstile.leave();
    let name = turnstile.habitue.load(Ordering::Relaxed);
    if name == 0 {
        return assert!(turnstile.barrier.get().is_none(), "a kernel without the barrier");
    }
    let late = me();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..=STREAK {
                turnstile.enter();
                turnstile.leave();
            }
            turnstile.enter();
            assert!(turnstile.is_habitue(me()));
            // What the late one does: step 1, then it finds its name gone.
            let room = &turnstile.rooms[name >> THREAD_BITS];
            room.store(1, Ordering::Relaxed);
            assert!(turnstile.is_inside() && !turnstile.is_wanted());
            assert_ne!(turnstile.habitue.load(Ordering::Relaxed) & ((1 << THREAD_BITS) - 1), late);
            turnstile.vacate(room);
            assert!(
                turnstile.is_inside() && turnstile.has_guest(),
                "the room of the present habitué is taken"
            );
            turnstile.leave();
            assert!(!turnstile.has_guest());
        });
    });
}

/// Threads that wait for each other in turn, with nothing but stirs to wake them.
/// What wants the cores for itself, for others to come in at the worst moment.
mod alone {
    use super::*;

    #[test]
    fn a_thread_that_waits_sees_every_stir_also_of_those_whom_it_has_let_in() {
        const THREADS: u64 = 3;
        const TURNS: u64 = 6_000;
        /// Used by the thread that is inside only.
        struct Inside<'a>(&'a LocalFabric, TurnstileGate, Cell<u64>);
        // SAFETY: as said.
        unsafe impl Sync for Inside<'_> {}

        let body = |fabric: LocalFabric| {
            let turnstile: &'static Turnstile = Box::leak(Box::default());
            let inside = Inside(&fabric, TurnstileGate::new(turnstile, &fabric), Cell::new(0));
            let inside = &inside;
            std::thread::scope(|scope| {
                for me in 0..THREADS {
                    scope.spawn(move || {
                        let Inside(fabric, gate, turn) = inside;
                        for mine in (me..TURNS).step_by(THREADS as usize) {
                            turnstile.enter();
                            let mut rounds = 0;
                            while turn.get() != mine {
                                gate.park(*fabric, rounds, Idle::UntilWoken);
                                rounds += 1;
                            }
                            turn.set(mine + 1);
                            gate.stir();
                            turnstile.leave();
                        }
                    });
                }
            });
            assert_eq!(get(&turnstile.expired), 0, "sleeps that no stir has ended");
        };
        let outcomes = fabric_local::run_threads(&Options::new(1), &NoHooks, &body);
        outcomes.into_iter().for_each(Outcome::unwrap);
    }
}

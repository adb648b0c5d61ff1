//! How jobs of threads and fibers end, and what ranks keep across switches.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::time::Duration;

use corelace_fabric_local as fabric_local;
use fabric::{Fabric, Idle, Lane, Mailbox, Node, Park, Signal, Woke};
use fabric_local::{
    Hooks, LocalFabric, NoHooks, Options, Outcome, Stall, Summons, rank_of_stack_address, run_fibers,
    run_threads,
};
use fabric_test::{describe_panic, within};

const LIMIT: Duration = Duration::from_secs(60);

fn options(ranks: u32, workers: usize) -> Options {
    Options { workers, ..Options::new(ranks) }
}

/// Waits for a letter that nobody posts.
fn wait_in_vain(fabric: &LocalFabric) {
    while fabric.poll(1, &mut |_, _, _| ()) == 0 {
        park(fabric);
    }
}

/// Waits, and ends the rank if the job has stalled.
fn park(fabric: &LocalFabric) {
    if fabric.park(u32::MAX, Idle::UntilWoken) == Woke::Stalled {
        Stall::unwind();
    }
}

fn wait_raised(fabric: &LocalFabric, lane: Lane, count: u64) {
    while fabric.raised(lane) < count {
        park(fabric);
    }
}

#[test]
fn outcomes_come_in_the_order_of_ranks() {
    for workers in [1, 2, 3, 0] {
        let outcomes = run_fibers(&options(7, workers), &NoHooks, &|fabric| fabric.me().0 * 10);
        let values: Vec<u32> = outcomes.into_iter().map(Outcome::unwrap).collect();
        assert_eq!(values, [0, 10, 20, 30, 40, 50, 60]);
    }
    let outcomes = run_threads(&options(5, 0), &NoHooks, &|fabric| fabric.me().0 * 10);
    let values: Vec<u32> = outcomes.into_iter().map(Outcome::unwrap).collect();
    assert_eq!(values, [0, 10, 20, 30, 40]);
}

/// Counts drops.
struct Dropped<'c>(&'c AtomicUsize);

impl Drop for Dropped<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn fibers_that_wait_for_each_other_are_stalled_and_unwound() {
    within(LIMIT, || {
        for workers in [1, 2, 4] {
            let drops = AtomicUsize::new(0);
            let outcomes = run_fibers(&options(8, workers), &NoHooks, &|fabric| {
                let _dropped = Dropped(&drops);
                wait_in_vain(&fabric);
            });
            assert!(outcomes.iter().all(|outcome| matches!(outcome, Outcome::Stalled)));
            assert_eq!(drops.load(Ordering::Relaxed), 8, "stacks were not unwound with {workers} workers");
        }
    });
}

#[test]
fn stalled_fibers_are_leaked_where_they_must_not_be_unwound() {
    within(LIMIT, || {
        let drops = AtomicUsize::new(0);
        let options = Options { unwind_stalled: false, ..options(4, 2) };
        let outcomes = run_fibers(&options, &NoHooks, &|fabric| {
            let _dropped = Dropped(&drops);
            if fabric.me() != Node(3) {
                wait_in_vain(&fabric);
            }
        });
        assert!(outcomes[..3].iter().all(|outcome| matches!(outcome, Outcome::Stalled)));
        assert!(matches!(outcomes[3], Outcome::Ended(())));
        assert_eq!(drops.load(Ordering::Relaxed), 1);
    });
}

/// A destructor that waits, as the end of an MPI process does; it cannot be unwound out of.
struct WaitsOnDrop<'d>(LocalFabric, #[expect(dead_code, reason = "held for its drop")] Dropped<'d>);

impl Drop for WaitsOnDrop<'_> {
    fn drop(&mut self) {
        while self.0.park(u32::MAX, Idle::UntilWoken) != Woke::Stalled {}
    }
}

#[test]
fn a_rank_that_waits_during_its_own_panic_is_told_of_a_stall_and_ends() {
    within(LIMIT, || {
        let drops = AtomicUsize::new(0);
        let body = |fabric: LocalFabric| {
            let me = fabric.me();
            let waits = WaitsOnDrop(fabric, Dropped(&drops));
            if me == Node(1) {
                std::panic::resume_unwind(Box::new("rank 1 gives up"));
            }
            wait_in_vain(&waits.0);
        };
        let check = |outcomes: Vec<Outcome<()>>| {
            assert!(matches!(outcomes[..], [Outcome::Stalled, Outcome::Panicked(_), Outcome::Stalled]));
            assert_eq!(drops.swap(0, Ordering::Relaxed), 3);
        };
        check(run_fibers(&options(3, 1), &NoHooks, &body));
        check(run_fibers(&options(3, 2), &NoHooks, &body));
    });
}

/// Rank 1 panics, rank 0 waits for it, ranks 2 and 3 have nothing to do with them.
fn panics_while_others_wait(fabric: LocalFabric) -> u32 {
    match fabric.me() {
        Node(0) => wait_in_vain(&fabric),
        Node(1) => std::panic::resume_unwind(Box::new("rank 1 gives up")),
        Node(me) => {
            let other = Node(5 - me);
            for count in 1..=100 {
                fabric.raise(other, Lane(0)).unwrap();
                wait_raised(&fabric, Lane(0), count);
            }
        }
    }
    fabric.me().0
}

fn check_panic(outcomes: Vec<Outcome<u32>>) {
    assert!(matches!(outcomes[0], Outcome::Stalled), "{outcomes:?}");
    let Outcome::Panicked(payload) = &outcomes[1] else { panic!("{outcomes:?}") };
    assert_eq!(describe_panic(&**payload), "rank 1 gives up");
    assert!(matches!(outcomes[2], Outcome::Ended(2)), "{outcomes:?}");
    assert!(matches!(outcomes[3], Outcome::Ended(3)), "{outcomes:?}");
}

#[test]
fn a_panicking_fiber_takes_only_those_with_it_that_wait_for_it() {
    within(LIMIT, || {
        for workers in [1, 2, 4] {
            check_panic(run_fibers(&options(4, workers), &NoHooks, &panics_while_others_wait));
        }
    });
}

#[test]
fn a_panicking_thread_takes_only_those_with_it_that_wait_for_it() {
    within(LIMIT, || {
        for unwind_stalled in [true, false] {
            let options = Options { unwind_stalled, ..options(4, 0) };
            check_panic(run_threads(&options, &NoHooks, &panics_while_others_wait));
        }
    });
}

thread_local! {
    /// What a C library keeps: the rank that runs on this thread.
    static CURRENT: RefCell<Option<u32>> = const { RefCell::new(None) };
}

/// Checks that a rank gains only a thread that it does not have and loses only one that it has, and counts the gains.
#[derive(Default)]
struct Keeping {
    switches: AtomicU32,
}

impl Hooks for Keeping {
    fn enter(&self, rank: u32) {
        assert_ne!(CURRENT.replace(Some(rank)), Some(rank), "rank {rank} was given a thread that it had");
        self.switches.fetch_add(1, Ordering::Relaxed);
    }

    fn leave(&self, rank: u32) {
        assert_eq!(CURRENT.replace(None), Some(rank), "rank {rank} left a thread that it did not have");
    }
}

#[test]
fn hooks_know_the_rank_that_runs_on_every_thread() {
    within(LIMIT, || {
        let body = |fabric: LocalFabric| {
            let (me, next) = (fabric.me().0, Node((fabric.me().0 + 1) % fabric.nodes()));
            for count in 1..=50 {
                assert_eq!(CURRENT.with_borrow(|&current| current), Some(me));
                fabric.raise(next, Lane(0)).unwrap();
                wait_raised(&fabric, Lane(0), count);
            }
        };
        for workers in [1, 3] {
            let hooks = Keeping::default();
            run_fibers(&options(6, workers), &hooks, &body).into_iter().for_each(Outcome::unwrap);
            assert!(hooks.switches.load(Ordering::Relaxed) > 6, "no fiber ever waited");
        }
        let hooks = Keeping::default();
        run_threads(&options(6, 0), &hooks, &body).into_iter().for_each(Outcome::unwrap);
        assert_eq!(hooks.switches.load(Ordering::Relaxed), 6);
    });
}

#[test]
fn a_fiber_keeps_its_errno_and_its_thread() {
    within(LIMIT, || {
        let outcomes = run_fibers(&options(6, 2), &NoHooks, &|fabric| {
            let (me, next) = (fabric.me().0, Node((fabric.me().0 + 1) % fabric.nodes()));
            let thread = std::thread::current().id();
            // SAFETY: the location is this thread's.
            let errno = || unsafe { libc::__errno_location() };
            for count in 1..=50 {
                // SAFETY: as above.
                unsafe { *errno() = me as i32 + 1 };
                fabric.raise(next, Lane(0)).unwrap();
                while fabric.raised(Lane(0)) < count {
                    park(&fabric);
                    // SAFETY: as above.
                    assert_eq!(unsafe { *errno() }, me as i32 + 1);
                }
                assert_eq!(std::thread::current().id(), thread);
            }
        });
        outcomes.into_iter().for_each(Outcome::unwrap);
    });
}

unsafe extern "C" {
    fn fesetround(mode: i32) -> i32;
    fn fegetround() -> i32;
    fn feenableexcept(traps: i32) -> i32;
    fn fegetexcept() -> i32;
}

#[cfg(target_arch = "x86_64")]
#[test]
fn a_fiber_keeps_its_rounding_and_its_traps_and_starts_with_those_of_its_worker() {
    const MODES: [i32; 4] = [0, 0x400, 0x800, 0xc00];
    const TRAPS: [i32; 2] = [0, 0x1d];
    within(LIMIT, || {
        for workers in [1, 2] {
            let outcomes = run_fibers(&options(6, workers), &NoHooks, &|fabric| {
                let (me, next) = (fabric.me().0, Node((fabric.me().0 + 1) % fabric.nodes()));
                // SAFETY: these change and read the calling thread's floating-point control only.
                let control = || unsafe { (fegetround(), fegetexcept()) };
                assert_eq!(control(), (0, 0), "of whoever ran before");
                let mine = (MODES[me as usize % 4], TRAPS[me as usize / 2 % 2]);
                // SAFETY: as above; traps that this rank could run into are of its own making.
                unsafe {
                    fesetround(mine.0);
                    feenableexcept(mine.1);
                }
                let third = std::hint::black_box(1.0) / std::hint::black_box(3.0);
                for count in 1..=50 {
                    fabric.raise(next, Lane(0)).unwrap();
                    wait_raised(&fabric, Lane(0), count);
                    assert_eq!(control(), mine);
                    assert_eq!(std::hint::black_box(1.0) / std::hint::black_box(3.0), third);
                }
            });
            outcomes.into_iter().for_each(Outcome::unwrap);
            // SAFETY: as above.
            assert_eq!(unsafe { (fegetround(), fegetexcept()) }, (0, 0), "the worker's");
        }
    });
}

#[test]
fn an_address_on_a_stack_tells_its_rank() {
    let body = |fabric: LocalFabric| {
        let me = fabric.me().0;
        let here = &raw const me as usize;
        assert_eq!(rank_of_stack_address(here), Some((me, false)));
        here
    };
    let fibers = run_fibers(&options(5, 2), &NoHooks, &|fabric| {
        let (me, here) = (fabric.me().0, body(fabric));
        // One and a half stacks below: the guard is as large as the stack.
        assert_eq!(rank_of_stack_address(here - (384 << 10)), Some((me, true)));
    });
    fibers.into_iter().for_each(Outcome::unwrap);
    let threads = run_threads(&options(3, 0), &NoHooks, &body);
    for address in threads.into_iter().map(Outcome::unwrap) {
        assert_eq!(rank_of_stack_address(address), None, "no rank of this thread");
    }
}

#[test]
fn a_fabric_cannot_be_parked_outside_of_its_rank() {
    thread_local!(static STOLEN: RefCell<Option<LocalFabric>> = const { RefCell::new(None) });
    let outcomes = run_fibers(&options(2, 1), &NoHooks, &|fabric| match fabric.me() {
        Node(0) => {
            fabric.raise(Node(1), Lane(0)).unwrap();
            STOLEN.replace(Some(fabric));
        }
        _ => {
            wait_raised(&fabric, Lane(0), 1);
            let stolen = STOLEN.take().expect("rank 0 runs on the same worker");
            let caught =
                std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| stolen.park(0, Idle::UntilWoken)));
            assert!(describe_panic(&*caught.expect_err("a refusal")).contains("outside of its rank"));
        }
    });
    outcomes.into_iter().for_each(Outcome::unwrap);
}

#[test]
fn a_fiber_job_can_run_inside_a_fiber() {
    within(LIMIT, || {
        let outcomes = run_fibers(&options(2, 1), &NoHooks, &|outer| {
            let inner = run_fibers(&options(2, 1), &NoHooks, &|fabric| {
                fabric.raise(Node(1 - fabric.me().0), Lane(0)).unwrap();
                wait_raised(&fabric, Lane(0), 1);
                fabric.me().0
            });
            outer.raise(Node(1 - outer.me().0), Lane(0)).unwrap();
            wait_raised(&outer, Lane(0), 1);
            inner.into_iter().map(Outcome::unwrap).sum::<u32>()
        });
        assert_eq!(outcomes.into_iter().map(Outcome::unwrap).collect::<Vec<_>>(), [1, 1]);
    });
}

#[test]
#[should_panic(expected = "bytes for mailbox do not fit")]
fn a_budget_too_small_for_a_mailbox_is_refused_before_ranks_start() {
    let options = Options { budget: Some(1000), ..options(2, 2) };
    run_fibers(&options, &NoHooks, &|_| ());
}

#[test]
fn letters_are_long_where_every_rank_has_a_core_and_memory_has_no_limit() {
    let longest = |options: &Options| {
        let outcomes = run_threads(options, &NoHooks, &|fabric| {
            let longest = fabric.route(Node(0)).letter_max;
            fabric.try_post(fabric.me(), &[0; 3], &vec![7; longest]).unwrap();
            assert_eq!(fabric.poll(1, &mut |_, _, payload| assert!(payload == vec![7; longest])), 1);
            longest
        });
        outcomes.into_iter().map(Outcome::unwrap).max().unwrap()
    };
    assert_eq!(longest(&options(1, 0)), 16 << 10);
    assert_eq!(longest(&Options { budget: Some(64 << 10), ..options(1, 0) }), 2 << 10);
    assert_eq!(longest(&options(1000, 0)), 2 << 10, "fewer cores than ranks, on any machine of today");
}

#[test]
fn ranks_that_sleep_or_wait_look_up_when_they_are_called() {
    within(LIMIT, || {
        for threads in [true, false] {
            let summons = Summons::default();
            summons.call();
            let options = Options { workers: 2, summons: summons.clone(), ..Options::new(4) };
            // The others wait for a letter that rank 0 posts only when all of them have looked up.
            let looked = AtomicU32::new(0);
            let body = |fabric: LocalFabric| {
                if fabric.me() == Node(0) {
                    while looked.load(Ordering::Relaxed) < 3 {
                        summons.call();
                        fabric.park(u32::MAX, Idle::Briefly);
                    }
                    summons.end();
                    (1..4).for_each(|to| fabric.try_post(Node(to), &[0; 3], &[]).unwrap());
                    return;
                }
                let mut told = false;
                while fabric.poll(1, &mut |_, _, _| ()) == 0 {
                    if fabric.park(u32::MAX, Idle::UntilWoken) == Woke::Look && !told {
                        told = true;
                        looked.fetch_add(1, Ordering::Relaxed);
                    }
                }
            };
            let run = if threads { run_threads::<()> } else { run_fibers::<()> };
            run(&options, &NoHooks, &body).into_iter().for_each(Outcome::unwrap);
        }
    });
}

#[test]
fn a_fiber_that_is_asked_while_it_looks_for_a_letter_answers_with_its_next_park() {
    within(LIMIT, || {
        let summons = Summons::default();
        let options = Options { summons: summons.clone(), ..options(4, 1) };
        // The others look for a letter that rank 0 posts only when all of them have looked up. It asks once, when they have given way.
        let looked = AtomicU32::new(0);
        let body = |fabric: LocalFabric| {
            if fabric.me() == Node(0) {
                fabric.park(u32::MAX, Idle::Briefly);
                summons.call();
                while looked.load(Ordering::Relaxed) < 3 {
                    fabric.park(u32::MAX, Idle::Briefly);
                }
                summons.end();
                (1..4).for_each(|to| fabric.try_post(Node(to), &[1, 2, 0], &[]).unwrap());
                return;
            }
            let mut told = false;
            while fabric.take_next(1, 2, &mut [], 1).letter().is_none() {
                if fabric.park(u32::MAX, Idle::UntilWoken) == Woke::Look && !told {
                    told = true;
                    looked.fetch_add(1, Ordering::Relaxed);
                }
            }
        };
        run_fibers::<()>(&options, &NoHooks, &body).into_iter().for_each(Outcome::unwrap);
    });
}

#[test]
fn a_fiber_that_is_not_unwound_is_told_once_that_it_waits_in_vain() {
    within(LIMIT, || {
        let told: &'static AtomicU32 = Box::leak(Box::default());
        let options = Options { workers: 2, unwind_stalled: false, ..Options::new(4) };
        let outcomes = run_fibers(&options, &NoHooks, &|fabric| {
            while fabric.poll(1, &mut |_, _, _| ()) == 0 {
                if fabric.park(u32::MAX, Idle::UntilWoken) == Woke::InVain {
                    told.fetch_add(1, Ordering::Relaxed);
                }
            }
        });
        assert!(outcomes.iter().all(|outcome| matches!(outcome, Outcome::Stalled)));
        assert_eq!(told.load(Ordering::Relaxed), 4);
    });
}

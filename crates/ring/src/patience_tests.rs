//! Waits on a core whose time, and whose other users, the test decides.

use super::*;

/// How long a round takes, and a yield that nobody uses.
const ROUND_NS: u64 = 50;
const PROMPT_NS: u64 = 400;

/// A core. Every look at the clock finds that a few rounds have passed.
struct Stage {
    now: Cell<u64>,
    /// How long a yield takes.
    yield_ns: Cell<u64>,
    yields: Cell<u32>,
    shared: Cell<bool>,
    crowded: Cell<bool>,
}

impl Ground for Stage {
    fn now_ns(&self) -> u64 {
        self.now.get()
    }

    fn give_away(&self) {
        self.yields.set(self.yields.get() + 1);
        self.pass(self.yield_ns.get());
    }

    fn is_shared(&self) -> bool {
        self.shared.get()
    }

    fn is_crowded(&self) -> bool {
        self.crowded.get()
    }
}

impl Stage {
    fn new() -> Stage {
        Stage {
            now: Cell::new(1_000_000_000),
            yield_ns: Cell::new(PROMPT_NS),
            yields: Cell::new(0),
            shared: Cell::new(true),
            crowded: Cell::new(false),
        }
    }

    /// One that no other rank was seen on.
    fn alone() -> Stage {
        let stage = Stage::new();
        stage.shared.set(false);
        stage
    }

    fn pass(&self, ns: u64) {
        self.now.set(self.now.get() + ns);
    }

    /// A wait whose message comes after so long. For how long it has spun, and whether it slept.
    fn wait(&self, patience: &Patience, ns: u64) -> (u64, bool) {
        let begun = self.now.get();
        for round in 0.. {
            if self.now.get() - begun >= ns {
                return (ns, false);
            }
            if !patience.lasts(round, self) {
                let spun = self.now.get() - begun;
                self.now.set(self.now.get().max(begun + ns));
                patience.wakes(self);
                return (spun, true);
            }
            self.pass(ROUND_NS);
        }
        unreachable!("rounds do not end");
    }

    /// A wait whose message comes in the first yield.
    fn wait_for_same_core(&self, patience: &Patience) -> u32 {
        let before = self.yields.get();
        let mut round = 0;
        while self.yields.get() == before && patience.lasts(round, self) {
            self.pass(ROUND_NS);
            round += 1;
        }
        round
    }
}

const MS: u64 = 1_000_000;

#[test]
fn waits_within_the_limit_are_spun_through() {
    let (stage, patience) = (Stage::new(), Patience::new(LIMIT_NS));
    for ns in [100, 20_000, 60_000, 300_000, MS, 3 * MS, 10_000, 3 * MS] {
        assert_eq!(stage.wait(&patience, ns), (ns, false));
    }
}

#[test]
fn a_longer_wait_is_slept_through_once_the_limit_is_over() {
    let (stage, patience) = (Stage::new(), Patience::new(LIMIT_NS));
    let (spun, slept) = stage.wait(&patience, 2000 * MS);
    assert!(slept && (LIMIT_NS..LIMIT_NS + 100_000).contains(&spun), "{spun}");
}

#[test]
fn long_waits_in_a_row_are_slept_through_early_until_one_is_short() {
    let (stage, patience) = (Stage::new(), Patience::new(LIMIT_NS));
    for _ in 0..STRIKES {
        assert!(stage.wait(&patience, 20 * MS).0 >= LIMIT_NS);
    }
    for _ in 0..3 {
        let (spun, slept) = stage.wait(&patience, 20 * MS);
        assert!(slept && spun < 2 * EARLY_NS, "{spun}");
    }
    // This one sleeps, too, but is over within the limit.
    assert!(stage.wait(&patience, MS).1);
    assert_eq!(stage.wait(&patience, MS), (MS, false));
}

#[test]
fn without_a_limit_to_spin_a_waiter_sleeps_almost_at_once() {
    let (stage, patience) = (Stage::new(), Patience::new(0));
    for _ in 0..10 {
        let (spun, slept) = stage.wait(&patience, MS);
        assert!(slept && spun < 2000, "{spun}");
    }
    assert_eq!(stage.yields.get(), 0);
}

#[test]
fn a_waiter_that_does_not_count_rounds_sleeps() {
    assert!(!Patience::new(LIMIT_NS).lasts(u32::MAX, &Stage::new()));
}

#[test]
fn a_core_that_others_want_is_left_to_them_early_and_found_again() {
    let (stage, patience) = (Stage::new(), Patience::new(LIMIT_NS));
    stage.yield_ns.set(3 * MS);
    for _ in 0..LOSSES {
        assert!(stage.wait(&patience, 20 * MS).1);
    }
    let yields = stage.yields.get();
    assert_eq!(yields, LOSSES);
    for _ in 0..EARLY_WAITS {
        let (spun, slept) = stage.wait(&patience, MS);
        assert!(slept && spun < 2 * EARLY_NS, "{spun}");
    }
    assert_eq!(stage.yields.get(), yields, "a waiter that sleeps early does not yield");
    // Others still want it, which shows at once; and then no longer.
    assert!(stage.wait(&patience, MS).0 >= 3 * MS || stage.yields.get() == yields + 1);
    stage.yield_ns.set(PROMPT_NS);
    for _ in 0..EARLY_WAITS {
        stage.wait(&patience, MS);
    }
    assert_eq!(stage.wait(&patience, MS), (MS, false));
}

#[test]
fn a_core_that_no_other_rank_was_seen_on_is_not_given_away() {
    let (stage, patience) = (Stage::alone(), Patience::new(LIMIT_NS));
    assert_eq!(stage.wait(&patience, 3 * MS), (3 * MS, false));
    assert_eq!(stage.yields.get(), 0);
}

#[test]
fn being_without_the_core_once_ends_that_wait_only() {
    let (stage, patience) = (Stage::new(), Patience::new(LIMIT_NS));
    for round in 0..EAGER + CLOCK_EVERY {
        assert!(patience.lasts(round, &stage));
        stage.pass(ROUND_NS);
    }
    stage.pass(MS);
    let next = EAGER + CLOCK_EVERY;
    assert!(
        (next..next + CLOCK_EVERY).any(|round| !patience.lasts(round, &stage)),
        "the gap was not noticed"
    );
    assert_eq!(stage.wait(&patience, MS), (MS, false));
}

#[test]
fn answers_that_come_with_the_first_yield_again_and_again_make_a_waiter_impatient() {
    let (stage, patience) = (Stage::new(), Patience::new(LIMIT_NS));
    for _ in 0..STRIKES {
        assert!(stage.wait_for_same_core(&patience) > EAGER);
    }
    assert!(stage.wait_for_same_core(&patience) <= IMPATIENT + 1);
}

#[test]
fn one_late_answer_does_not() {
    let (stage, patience) = (Stage::new(), Patience::new(LIMIT_NS));
    for _ in 0..2 * STRIKES {
        assert!(stage.wait_for_same_core(&patience) > EAGER);
        stage.wait(&patience, 500);
    }
}

#[test]
fn an_answer_by_spinning_and_a_wait_that_ends_in_sleep_give_patience_back() {
    for ns in [5 * ROUND_NS, 20 * MS] {
        let (stage, patience) = (Stage::new(), Patience::new(LIMIT_NS));
        for _ in 0..STRIKES {
            stage.wait_for_same_core(&patience);
        }
        stage.wait(&patience, ns);
        assert_eq!(stage.wait(&patience, MS), (MS, false), "after {ns} ns");
    }
}

#[test]
fn an_impatient_waiter_probes_now_and_then() {
    let (stage, patience) = (Stage::new(), Patience::new(LIMIT_NS));
    for _ in 0..STRIKES {
        stage.wait_for_same_core(&patience);
    }
    let probes = (0..4 * PROBE_EVERY).filter(|_| stage.wait_for_same_core(&patience) > EAGER).count();
    assert_eq!(probes, 4);
}

#[test]
fn a_wait_whose_patience_is_over_spins_no_more_when_it_goes_on() {
    let (stage, patience) = (Stage::alone(), Patience::new(LIMIT_NS));
    assert_eq!(patience.rounds_spent(), 0);
    assert!(!stage.wait(&patience, MS).1);
    assert_eq!(patience.rounds_spent(), 0, "it ended before");
    assert!(stage.wait(&patience, 10 * MS).1);
    assert!(!patience.lasts(patience.rounds_spent(), &stage));
    assert_eq!(stage.wait(&patience, 3 * MS), (3 * MS, false), "the next one is another");
}

#[test]
fn a_waiter_whose_process_has_more_threads_than_cores_yields_at_each_look() {
    let (stage, patience) = (Stage::alone(), Patience::new(LIMIT_NS));
    assert_eq!(stage.wait(&patience, 100_000), (100_000, false));
    assert_eq!(stage.yields.get(), 0);
    stage.crowded.set(true);
    stage.wait(&patience, 100_000);
    assert!(stage.yields.get() > 10, "{}", stage.yields.get());
}

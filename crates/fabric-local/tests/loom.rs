//! Model checks of sleeping threads: no wake-up is lost, and a stall is noticed exactly when there is one.
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p corelace-fabric-local --release --test fabric-local`

use corelace_fabric_local::idlers::Idlers;
use corelace_fabric_local::modelled::Waiting;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, Ordering};
use loom::thread;
use ring::Doorbell;

/// Two threads of a job, as workers of fibers are.
struct Pair {
    idlers: Idlers,
    waiting: Waiting,
    bells: [Doorbell; 2],
    /// What has been posted to each.
    posted: [AtomicU32; 2],
}

impl Pair {
    fn new(watched: bool) -> Arc<Pair> {
        Arc::new(Pair {
            idlers: Idlers::new(2, watched),
            waiting: Waiting::default(),
            bells: [Doorbell::new(), Doorbell::new()],
            posted: [AtomicU32::new(0), AtomicU32::new(0)],
        })
    }

    fn post(&self, to: usize) {
        self.posted[to].fetch_add(1, Ordering::Release);
        self.idlers.wake(&self.waiting, &self.bells[to]);
    }

    /// Waits for so many posts; false if the job stalls before.
    fn receive(&self, me: usize, count: u32) -> bool {
        loop {
            if self.posted[me].load(Ordering::Acquire) >= count {
                return true;
            }
            if self.idlers.stalled() {
                return false;
            }
            let pending = || self.posted[me].load(Ordering::Acquire) >= count;
            if self.idlers.sleep(&self.waiting, &self.bells[me], pending) {
                self.stall();
            }
        }
    }

    fn depart(&self) {
        if self.idlers.depart() {
            self.stall();
        }
    }

    fn stall(&self) {
        self.idlers.stall(&self.waiting, self.bells.iter());
    }
}

/// Runs the lives of two threads: what each returns.
fn both(watched: bool, lives: [fn(&Pair) -> bool; 2]) -> [bool; 2] {
    let pair = Pair::new(watched);
    let other = {
        let pair = pair.clone();
        thread::spawn(move || lives[1](&pair))
    };
    let one = lives[0](&pair);
    [one, other.join().unwrap()]
}

fn model(body: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(body);
}

#[test]
fn threads_that_wake_each_other_never_stall() {
    model(|| {
        let ping = |pair: &Pair| {
            pair.post(1);
            let got = pair.receive(0, 1);
            pair.depart();
            got
        };
        let pong = |pair: &Pair| {
            let got = pair.receive(1, 1);
            pair.post(0);
            pair.depart();
            got
        };
        assert_eq!(both(true, [ping, pong]), [true, true]);
    });
}

#[test]
fn two_threads_that_wait_in_vain_are_both_told() {
    model(|| {
        assert_eq!(both(true, [|pair| pair.receive(0, 1), |pair| pair.receive(1, 1)]), [false, false]);
    });
}

#[test]
fn a_thread_that_waits_for_one_that_has_ended_is_told_and_a_post_before_the_end_is_not_lost() {
    model(|| {
        let ends = |pair: &Pair| {
            pair.depart();
            true
        };
        assert_eq!(both(true, [|pair| pair.receive(0, 1), ends]), [false, true]);
    });
    model(|| {
        let posts_and_ends = |pair: &Pair| {
            pair.post(0);
            pair.depart();
            true
        };
        assert_eq!(both(true, [|pair| pair.receive(0, 1), posts_and_ends]), [true, true]);
    });
}

/// As threads do after one of them has panicked.
#[test]
fn a_stall_is_noticed_also_if_it_is_looked_for_only_when_one_ends() {
    model(|| {
        let watches_and_ends = |pair: &Pair| {
            pair.idlers.watch();
            pair.depart();
            true
        };
        assert_eq!(both(false, [|pair| pair.receive(0, 1), watches_and_ends]), [false, true]);
    });
}

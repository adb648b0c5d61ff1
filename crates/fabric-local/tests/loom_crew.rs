//! Model checks of fibers on several workers: no parked fiber with something pending stays parked, and a stall is noticed exactly
//! when all are parked with nothing pending.
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p corelace-fabric-local --release --test fabric-local`

use std::cell::RefCell;
use std::collections::VecDeque;

use corelace_fabric_local::idlers::Idlers;
use corelace_fabric_local::inbox::{Inbox, Sleeper};
use corelace_fabric_local::modelled::Waiting;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, Ordering, fence};
use loom::thread;
use ring::Doorbell;
use ring::sync::model_heavy_barriers;

/// What a fiber does, step by step.
#[derive(Clone, Copy)]
enum Step {
    Post {
        to: u32,
    },
    /// Waits until it has been posted to so often in all.
    Receive {
        posts: u32,
    },
}
use Step::{Post, Receive};

/// The life of a fiber, and its worker.
type Life = (usize, &'static [Step]);

/// The shared parts of a crew. Workers and fibers go through them as `crew` and `fibers` do.
struct Crew {
    lives: &'static [Life],
    idlers: Idlers,
    waiting: Waiting,
    workers: Vec<(Inbox, Doorbell)>,
    seats: Vec<Seat>,
    /// Fibers park by heavy barriers, and those who post to them pass none.
    light: bool,
}

struct Seat {
    sleeper: Sleeper,
    posted: AtomicU32,
}

impl Crew {
    fn new(lives: &'static [Life], light: bool) -> Arc<Crew> {
        model_heavy_barriers(light);
        let workers = lives.iter().map(|life| life.0).max().unwrap() + 1;
        Arc::new(Crew {
            lives,
            light,
            idlers: Idlers::new(workers, true),
            waiting: Waiting::default(),
            workers: (0..workers).map(|_| (Inbox::new(), Doorbell::new())).collect(),
            seats: lives
                .iter()
                .map(|_| Seat { sleeper: Sleeper::awake(), posted: AtomicU32::new(0) })
                .collect(),
        })
    }

    /// What a fiber passes that parks: the heavy barrier, too, is a fence to loom.
    fn barrier(&self) -> Option<impl FnOnce()> {
        (self.workers.len() > 1).then_some(|| fence(Ordering::SeqCst))
    }

    fn wake_remote(&self, to: u32) {
        let sleeper = &self.seats[to as usize].sleeper;
        if sleeper.needs_notice(self.light) {
            let (inbox, bell) = &self.workers[self.lives[to as usize].0];
            inbox.put(to, sleeper);
            self.idlers.wake(&self.waiting, bell);
        }
    }

    fn rouse(&self) {
        let ranks = 0..self.lives.len() as u32;
        if self.idlers.visit(|| ranks.for_each(|rank| self.wake_remote(rank))) {
            self.stall();
        }
    }

    fn stall(&self) {
        self.idlers.stall(&self.waiting, self.workers.iter().map(|(_, bell)| bell));
    }
}

/// One worker: its fibers and which of them are ready.
struct Worker<'c> {
    crew: &'c Crew,
    index: usize,
    ready: RefCell<VecDeque<u32>>,
    fibers: Vec<Fiber>,
}

struct Fiber {
    rank: u32,
    steps: &'static [Step],
    received: u32,
}

impl Worker<'_> {
    fn new(crew: &Crew, index: usize) -> Worker<'_> {
        let lives = (0..).zip(crew.lives).filter(|(_, life)| life.0 == index);
        let fibers: Vec<_> = lives.map(|(rank, life)| Fiber { rank, steps: life.1, received: 0 }).collect();
        let ready = fibers.iter().map(|fiber| fiber.rank).collect();
        Worker { crew, index, ready: RefCell::new(ready), fibers }
    }

    /// Runs the fibers: those that have ended.
    fn work(&mut self) -> Vec<u32> {
        let crew = self.crew;
        let (inbox, bell) = &crew.workers[self.index];
        let mut ended = Vec::new();
        while ended.len() < self.fibers.len() && !crew.idlers.stalled() {
            if !inbox.is_empty() {
                inbox.take(|rank| &crew.seats[rank as usize].sleeper, |rank| self.make_ready(rank));
            }
            let next = self.ready.borrow_mut().pop_front();
            match next {
                Some(rank) => {
                    if self.resume(rank) {
                        ended.push(rank);
                    }
                }
                None => {
                    if crew.idlers.sleep(&crew.waiting, bell, || !inbox.is_empty()) {
                        crew.stall();
                    }
                }
            }
        }
        if ended.len() == self.fibers.len() && crew.idlers.depart() {
            crew.stall();
        }
        ended
    }

    fn make_ready(&self, rank: u32) {
        let mut ready = self.ready.borrow_mut();
        assert!(!ready.contains(&rank), "fiber {rank} is ready twice");
        ready.push_back(rank);
    }

    /// Lets a fiber run until it ends, which is true, or parks.
    fn resume(&mut self, rank: u32) -> bool {
        let crew = self.crew;
        let position = self.fibers.iter().position(|fiber| fiber.rank == rank);
        let at = position.expect("a fiber runs on its worker");
        let seat = &crew.seats[rank as usize];
        while let Some((step, rest)) = self.fibers[at].steps.split_first() {
            match *step {
                Post { to } => self.post(to),
                Receive { posts } => {
                    let received = seat.posted.load(Ordering::Acquire);
                    self.fibers[at].received = received;
                    if received < posts {
                        let pending = || seat.posted.load(Ordering::Acquire) != received;
                        if pending() || !seat.sleeper.parks(crew.barrier(), pending) {
                            self.make_ready(rank);
                        }
                        return false;
                    }
                }
            }
            self.fibers[at].steps = rest;
        }
        true
    }

    fn post(&self, to: u32) {
        let crew = self.crew;
        let seat = &crew.seats[to as usize];
        seat.posted.fetch_add(1, Ordering::Release);
        if crew.lives[to as usize].0 != self.index {
            crew.wake_remote(to);
        } else if seat.sleeper.unparks() {
            self.make_ready(to);
        }
    }
}

/// Runs the lives in every order that the bound allows: the fibers of `ending` end, and the others are told that they wait in vain.
fn check(preemptions: usize, lives: &'static [Life], ending: &'static [u32]) {
    check_barriers(false, preemptions, lives, ending);
}

/// As [`check`], with light posters or not.
fn check_barriers(light: bool, preemptions: usize, lives: &'static [Life], ending: &'static [u32]) {
    model(preemptions, move || {
        let crew = Crew::new(lives, light);
        run(&crew, ending);
        assert_eq!(crew.idlers.awake(), 0, "whoever has ended or waits for ever is not awake");
    });
}

/// As [`check`], while somebody who is none of the workers makes all fibers look up.
fn check_asked(preemptions: usize, lives: &'static [Life], ending: &'static [u32]) {
    model(preemptions, move || {
        let crew = Crew::new(lives, false);
        let asker = {
            let crew = crew.clone();
            thread::spawn(move || crew.rouse())
        };
        run(&crew, ending);
        asker.join().unwrap();
        // Who was woken by the asker and told of a stall at the same time has not fallen asleep again.
        assert!(crew.idlers.stalled() || crew.idlers.awake() == 0, "the asker leaves no trace");
    });
}

fn model(preemptions: usize, body: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(body);
}

fn run(crew: &Arc<Crew>, ending: &[u32]) {
    let others: Vec<_> = (1..crew.workers.len())
        .map(|worker| {
            let crew = crew.clone();
            thread::spawn(move || Worker::new(&crew, worker).work())
        })
        .collect();
    let mut ended = Worker::new(crew, 0).work();
    others.into_iter().for_each(|other| ended.extend(other.join().unwrap()));
    ended.sort_unstable();
    assert_eq!(ended, ending);
}

#[test]
fn fibers_of_two_workers_wake_each_other() {
    for light in [false, true] {
        check_barriers(
            light,
            3,
            &[(0, &[Post { to: 1 }, Receive { posts: 1 }]), (1, &[Receive { posts: 1 }, Post { to: 0 }])],
            &[0, 1],
        );
    }
}

/// A poster that passes no barrier relies on that of the fiber that parks.
#[test]
#[should_panic]
fn a_light_post_to_a_fiber_that_parks_by_a_fence_may_lose_a_wake_up() {
    model(3, || {
        let crew = Crew::new(&[(0, &[Receive { posts: 1 }]), (1, &[Post { to: 0 }])], true);
        model_heavy_barriers(false);
        run(&crew, &[0, 1]);
    });
}

/// The second post to fiber 1 may come while its first notice is taken out of the inbox, where fiber 0 is below it.
#[test]
fn a_fiber_that_is_notified_anew_hides_no_other_in_the_inbox() {
    check(
        3,
        &[
            (0, &[Receive { posts: 1 }]),
            (0, &[Receive { posts: 2 }]),
            (1, &[Post { to: 0 }, Post { to: 1 }, Post { to: 1 }]),
        ],
        &[0, 1, 2],
    );
}

/// Fiber 0 is woken by its neighbour and, at the same time, through the inbox.
#[test]
fn a_fiber_that_is_woken_from_both_sides_is_ready_once() {
    check(
        3,
        &[
            (0, &[Receive { posts: 2 }]),
            (0, &[Post { to: 0 }, Receive { posts: 1 }]),
            (1, &[Post { to: 0 }, Post { to: 1 }]),
        ],
        &[0, 1, 2],
    );
}

#[test]
fn two_workers_that_post_to_one_lose_no_wake_up() {
    check(
        2,
        &[
            (0, &[Receive { posts: 1 }]),
            (0, &[Receive { posts: 1 }]),
            (1, &[Post { to: 0 }]),
            (2, &[Post { to: 1 }]),
        ],
        &[0, 1, 2, 3],
    );
}

#[test]
fn fibers_that_wait_for_each_other_are_told_and_only_they() {
    check(
        3,
        &[
            (0, &[Post { to: 2 }, Receive { posts: 1 }]),
            (1, &[Receive { posts: 1 }]),
            (1, &[Receive { posts: 1 }]),
        ],
        &[2],
    );
}

#[test]
fn a_stall_is_noticed_also_if_somebody_asks_meanwhile() {
    check_asked(3, &[(0, &[Receive { posts: 1 }])], &[]);
    check_asked(2, &[(0, &[Receive { posts: 1 }]), (1, &[Receive { posts: 1 }])], &[]);
}

#[test]
fn who_asks_makes_nobody_stall_who_will_be_woken() {
    check_asked(2, &[(0, &[Receive { posts: 1 }]), (1, &[Post { to: 0 }])], &[0, 1]);
}

//! The conformance suite of the fabric: one set of cases that every backend passes.
//!
//! A case is an SPMD body, `fn(&dyn Fabric)`, that every rank of a small job runs; it panics when the fabric breaks its
//! contract. A backend supplies a [`Runner`] that starts such a job, and its test file is a call of [`conform`].
//!
//! | module | contract |
//! | --- | --- |
//! | `mailbox` | order per sender, back-pressure, every letter size, letters to oneself |
//! | `portal` | puts and gets of every alignment and shape, refusals, what routes announce |
//! | `atomic` | steps on words that nothing comes between |
//! | `shared` | memory that one node allocates and all map |
//! | `signal` | counting, lanes, order with data, claims |
//! | `park` | no lost wake-up, brief parks return |
//! | `multicast` | one sender and several receivers at once, where the network has it |
//! | `place` | node numbers, caps, routes, clock, budget |
//!
//! **Invariant:** cases assume nothing but the documentation of the traits and what the caps say, and leave no letter
//! unread and no region exposed behind.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;
use std::time::Duration;

use fabric::Fabric;

mod atomic;
mod desk;
mod mailbox;
mod multicast;
mod park;
mod place;
mod portal;
mod shared;
mod signal;

/// What every rank of a case runs.
pub type Body = fn(&dyn Fabric);

/// Starts jobs on a backend.
pub trait Runner {
    /// Runs `body` on `ranks` ranks at the same time, each with `budget` bytes of memory, and waits for all of them. The
    /// error says which ranks failed and how (see [`describe_panic`]).
    fn run(&self, ranks: u32, budget: Option<usize>, body: Body) -> Result<(), String>;
}

/// One case of the suite.
#[derive(Clone, Copy)]
pub struct Case {
    /// What a fabric does if the case passes.
    pub name: &'static str,
    /// The job sizes to run it with.
    pub ranks: &'static [u32],
    /// The memory of each rank.
    pub budget: Option<usize>,
    /// What each rank runs.
    pub body: Body,
}

/// The whole suite.
pub fn cases() -> Vec<Case> {
    [
        mailbox::CASES,
        multicast::CASES,
        portal::CASES,
        atomic::CASES,
        shared::CASES,
        signal::CASES,
        park::CASES,
        place::CASES,
    ]
    .concat()
}

/// Runs the suite on a backend.
///
/// # Panics
/// After all cases have run, if one of them failed, with a list of all failures.
pub fn conform(backend: &str, runner: &dyn Runner) {
    let mut failures = Vec::new();
    let mut runs = 0;
    for case in cases() {
        for &ranks in case.ranks {
            runs += 1;
            if let Err(failure) = runner.run(ranks, case.budget, case.body) {
                failures.push(format!("  {} with {ranks} ranks: {failure}", case.name));
            }
        }
    }
    println!("{backend}: {} of {runs} conformance runs passed", runs - failures.len());
    assert!(failures.is_empty(), "{backend} does not conform:\n{}", failures.join("\n"));
}

/// Runs `job` on a thread of its own and waits at most `limit` for it: a lost wake-up then fails the test instead of
/// hanging it. A job that does not end is left behind.
///
/// # Panics
/// If `job` panics, or does not end in time.
pub fn within(limit: Duration, job: impl FnOnce() + Send + 'static) {
    let (done, ended) = mpsc::channel();
    let thread = std::thread::spawn(move || {
        let outcome = catch_unwind(AssertUnwindSafe(job));
        // The receiver is gone if it has given up waiting.
        let _ = done.send(outcome.map_err(|panic| describe_panic(&*panic)));
    });
    match ended.recv_timeout(limit) {
        Ok(outcome) => {
            thread.join().expect("the job's panic was caught");
            outcome.unwrap_or_else(|failure| panic!("{failure}"));
        }
        Err(_) => {
            panic!("the job did not end within {limit:?}: a wake-up was lost, or ranks wait for each other")
        }
    }
}

/// The message of a caught panic.
pub fn describe_panic(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| text.to_string());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without a message".into())
}

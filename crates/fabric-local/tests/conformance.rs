//! The conformance suite on threads, and on fibers over one and several workers.

use std::time::Duration;

use corelace_fabric_local as fabric_local;
use fabric_local::{LocalFabric, NoHooks, Options, Outcome, run_fibers, run_threads};
use fabric_test::{Body, Runner, conform, describe_panic, within};

/// How to run a job.
struct Local {
    fibers: bool,
    workers: usize,
}

impl Runner for Local {
    fn run(&self, ranks: u32, budget: Option<usize>, body: Body) -> Result<(), String> {
        let options = Options { budget, workers: self.workers, ..Options::new(ranks) };
        let body = |fabric: LocalFabric| body(&fabric);
        let run = if self.fibers { run_fibers } else { run_threads };
        let failures = run(&options, &NoHooks, &body).into_iter().enumerate().filter_map(
            |(rank, outcome)| match outcome {
                Outcome::Ended(()) => None,
                Outcome::Panicked(panic) => Some(format!("rank {rank} failed: {}", describe_panic(&*panic))),
                Outcome::Stalled => Some(format!("rank {rank} waits for ever")),
            },
        );
        let failures: Vec<String> = failures.collect();
        if failures.is_empty() { Ok(()) } else { Err(failures.join("; ")) }
    }
}

const LIMIT: Duration = Duration::from_secs(60);

#[test]
fn threads_conform() {
    within(LIMIT, || conform("threads", &Local { fibers: false, workers: 0 }));
}

#[test]
fn fibers_of_one_worker_conform() {
    within(LIMIT, || conform("fibers of one worker", &Local { fibers: true, workers: 1 }));
}

#[test]
fn fibers_of_two_workers_conform() {
    within(LIMIT, || conform("fibers of two workers", &Local { fibers: true, workers: 2 }));
}

#[test]
fn fibers_of_more_workers_than_cores_conform() {
    within(LIMIT, || conform("fibers of five workers", &Local { fibers: true, workers: 5 }));
}

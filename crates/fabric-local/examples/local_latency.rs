//! Half round trips of short letters between two local ranks, and the time to start many: a look, not a benchmark.
//!
//! `cargo run --release -p corelace-fabric-local --example local_latency`

use std::time::Instant;

use corelace_fabric_local as fabric_local;
use fabric::{Clock, Fabric, Idle, Mailbox, Node, Park};
use fabric_local::{LocalFabric, NoHooks, Options, Outcome, run_fibers, run_threads};

const TURNS: u64 = 10_000;
const SAMPLES: u32 = 20;

/// Half a round trip in nanoseconds, the best of some samples: other programs may use the cores too.
fn ping_pong(fabric: LocalFabric) -> f64 {
    let (me, other) = (fabric.me(), Node(1 - fabric.me().0));
    let payload = [7u8; 8];
    let receive = || {
        let mut rounds = 0;
        while fabric.poll(1, &mut |_, _, payload| assert_eq!(payload.len(), 8)) == 0 {
            fabric.park(rounds, Idle::UntilWoken);
            rounds += 1;
        }
    };
    let sample = || {
        let start = fabric.now();
        for _ in 0..TURNS {
            if me == Node(0) {
                fabric.try_post(other, &[1, 2, 3], &payload).expect("room for one letter");
                receive();
            } else {
                receive();
                fabric.try_post(other, &[1, 2, 3], &payload).expect("room for one letter");
            }
        }
        (fabric.now() - start) as f64 / (2 * TURNS) as f64
    };
    (0..SAMPLES).map(|_| sample()).fold(f64::MAX, f64::min)
}

fn main() {
    let report = |what: &str, outcomes: Vec<Outcome<f64>>| {
        let nanoseconds = outcomes.into_iter().next().expect("rank 0").unwrap();
        println!("{what:<28} {nanoseconds:7.1} ns half round trip of 8 bytes");
    };
    {
        let options = |workers| Options { workers, ..Options::new(2) };
        report("two fibers, one worker", run_fibers(&options(1), &NoHooks, &ping_pong));
        report("two fibers, two workers", run_fibers(&options(2), &NoHooks, &ping_pong));
        report("two threads", run_threads(&options(0), &NoHooks, &ping_pong));
    }
    let start = Instant::now();
    let outcomes = run_fibers(&Options::new(192), &NoHooks, &|fabric| fabric.me().0);
    assert!(outcomes.into_iter().map(Outcome::unwrap).eq(0..192));
    println!("192 fibers start and end in  {:7.1} us", start.elapsed().as_secs_f64() * 1e6);
}

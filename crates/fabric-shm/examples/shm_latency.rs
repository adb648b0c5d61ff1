//! Half round trips of letters between two processes: a look, not a benchmark.
//!
//! `cargo run --release -p corelace-fabric-shm --example shm_latency`

use corelace_fabric_shm as fabric_shm;
use fabric::{Clock, Idle, Mailbox, Node, Park};
use fabric_shm::{Manner, Options, ShmFabric, create_segment};

/// Half a round trip of `bytes` bytes in nanoseconds.
fn ping_pong(fabric: &ShmFabric, me: u32, bytes: usize, turns: u64) -> f64 {
    let (payload, other) = (vec![7u8; bytes], Node(1 - me));
    let receive = || {
        let mut rounds = 0;
        while fabric.poll(1, &mut |_, _, payload| assert_eq!(payload.len(), bytes)) == 0 {
            fabric.park(rounds, Idle::UntilWoken);
            rounds += 1;
        }
    };
    let start = fabric.now();
    for _ in 0..turns {
        if me == 0 {
            fabric.try_post(other, &[1, 2, 3], &payload).expect("room for one letter");
            receive();
        } else {
            receive();
            fabric.try_post(other, &[1, 2, 3], &payload).expect("room for one letter");
        }
    }
    (fabric.now() - start) as f64 / (2 * turns) as f64
}

fn main() {
    let segment = create_segment(2).expect("a memfd");
    // SAFETY: this process has one thread.
    let child = unsafe { libc::fork() };
    let me = u32::from(child == 0);
    let options = Options {
        me: Node(me),
        ranks: 2,
        nodes: 2,
        cores: 2,
        manner: Manner::default(),
        budget: None,
        cma: true,
        launcher: None,
    };
    let fabric = ShmFabric::join(segment, &options).expect("to join");
    for bytes in [0, 8, 32, 64, 96, 128, 1024, 8192, 16384] {
        let best = (0..30).map(|_| ping_pong(&fabric, me, bytes, 3_000)).fold(f64::MAX, f64::min);
        if me == 0 {
            println!("{bytes:6} bytes {best:8.1} ns half round trip");
        }
    }
    if me == 0 {
        // SAFETY: the child is this process's and has not been waited for.
        unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) };
    }
}

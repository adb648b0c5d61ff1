//! A job of ten thousand fibers: what it takes, besides what is talked about.

use std::time::Instant;

use corelace_engine as engine;
use engine::datatype::Basic;
use engine::{Builtin, Datatype, Op, Rank, RecvBuffer, SendBuffer, Tuning};
use fabric::Fabric;
use fabric_local::{LocalFabric, NoHooks, Options, run_fibers};

use crate::own_process::in_own_process;

const RANKS: u32 = 10_000;
/// Bytes that a rank may take, its stack included.
const BYTES: u64 = 100 << 10;

/// The most memory that this process ever had, in bytes.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).expect("the peak of the resident set");
    line.split_whitespace().nth(1).and_then(|number| number.parse::<u64>().ok()).expect("a number of kB")
        * 1024
}

#[test]
fn ten_thousand_fibers_meet_and_take_less_than_100_kib_each() {
    in_own_process("many_ranks::ten_thousand_fibers_meet_and_take_less_than_100_kib_each", || {
        let before = peak();
        let start = Instant::now();
        let outcomes = run_fibers(&Options::new(RANKS), &NoHooks, &|fabric: LocalFabric| {
            let tuning = Tuning::for_route(fabric.route(fabric.me()));
            let rank = Rank::new(Box::new(fabric), tuning);
            let (one, mut sum) = (1u64, 0u64);
            let datatype = Datatype::basic(Basic::U64);
            // SAFETY: both live until the collective has ended.
            let (send, receive) = unsafe {
                (
                    SendBuffer::new((&raw const one).cast(), 1, &datatype),
                    RecvBuffer::new((&raw mut sum).cast(), 1, &datatype),
                )
            };
            rank.allreduce(Some(&send), &receive, &Op::builtin(Builtin::Sum), rank.world())
                .unwrap()
                .wait()
                .unwrap();
            rank.barrier(rank.world()).unwrap().wait().unwrap();
            sum
        });
        assert!(outcomes.into_iter().all(|outcome| outcome.unwrap() == u64::from(RANKS)));
        let each = (peak() - before) / u64::from(RANKS);
        println!("{RANKS} ranks: {:.2} s, {} KiB each", start.elapsed().as_secs_f64(), each >> 10);
        assert!(each < BYTES, "{each} bytes a rank, expected less than {BYTES}");
    });
}

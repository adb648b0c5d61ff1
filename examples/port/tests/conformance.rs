//! The port against the contract of the fabric, and MPI on it.

use std::sync::Arc;
use std::time::Duration;

use corelace_example_port::Port;
use corelace_example_port::board::Core;
use engine::datatype::Basic;
use engine::{Datatype, Dest, Mode, Rank, RecvBuffer, SendBuffer, Source, Tag, TagMatch, Tuning};
use fabric::Fabric;
use fabric_test::{Body, Runner, conform, within};

/// A thread for each core.
fn run_cores(cores: u32, budget: Option<usize>, body: impl Fn(Port) + Sync) -> Result<(), String> {
    let board: Arc<[Core]> = (0..cores).map(|_| Core::default()).collect();
    std::thread::scope(|scope| {
        let (board, body) = (&board, &body);
        let threads: Vec<_> =
            (0..cores).map(|me| scope.spawn(move || body(Port::new(me, board.clone(), budget)))).collect();
        let failed =
            threads.into_iter().enumerate().filter_map(|(me, thread)| thread.join().err().map(|_| me));
        match failed.collect::<Vec<_>>().as_slice() {
            [] => Ok(()),
            failed => Err(format!("cores {failed:?} failed")),
        }
    })
}

struct Board;

impl Runner for Board {
    fn run(&self, ranks: u32, budget: Option<usize>, body: Body) -> Result<(), String> {
        run_cores(ranks, budget, |port| body(&port))
    }
}

#[test]
fn the_port_conforms() {
    within(Duration::from_secs(60), || conform("example port", &Board));
}

#[test]
fn mpi_runs_on_the_port() {
    within(Duration::from_secs(60), || {
        run_cores(5, None, |port| {
            let tuning = Tuning::for_route(port.route(port.me()));
            let rank = Rank::new(Box::new(port), tuning);
            for bytes in [0, 8, 96, 97, 1000, 100_000] {
                pass_around(&rank, bytes);
            }
            rank.barrier(rank.world()).unwrap().wait().unwrap();
        })
        .unwrap();
    });
}

/// A message goes around the ring; every rank adds one to each byte.
fn pass_around(rank: &Rank, bytes: usize) {
    let (world, tag, byte) = (rank.world(), Tag::own(1), Datatype::basic(Basic::Byte));
    let (me, size) = (world.rank(), world.size());
    let (next, previous) = ((me + 1) % size, (me + size - 1) % size);
    let (out, mut room) = (vec![0u8; bytes], vec![0u8; bytes]);
    // SAFETY: the buffers live until the blocking calls below have returned.
    let receive = unsafe { RecvBuffer::new(room.as_mut_ptr(), bytes as u64, &byte) };
    // SAFETY: as above.
    let send = |data: &[u8]| unsafe { SendBuffer::new(data.as_ptr(), data.len() as u64, &byte) };
    if me == 0 {
        rank.send(Mode::Standard, &send(&out), Dest::Rank(next), tag, world).unwrap();
    }
    rank.recv(&receive, Source::Rank(previous), TagMatch::Is(tag), world).unwrap();
    if me == 0 {
        assert!(room.iter().all(|byte| u32::from(*byte) == size - 1));
    } else {
        let more: Vec<u8> = room.iter().map(|byte| byte + 1).collect();
        rank.send(Mode::Standard, &send(&more), Dest::Rank(next), tag, world).unwrap();
    }
}

/// The guide says how much code a port is.
#[test]
fn a_port_is_about_two_hundred_lines() {
    let lines = include_str!("../src/lib.rs").lines().filter(|line| !line.trim().is_empty()).count();
    assert!(lines <= 200, "{lines} lines that are not empty");
}

//! Half a round trip of eight bytes between two fibers of one worker, through the whole engine.
//!
//! `cargo run --release -p corelace-engine --example fiber_latency`; pin it to a core for steady figures. Under
//! `valgrind --tool=callgrind` it counts instructions instead.

use std::time::Instant;

use corelace_engine::datatype::Basic;
use corelace_engine::{
    Datatype, Dest, Error, Mode, Rank, RecvBuffer, SendBuffer, Source, Tag, TagMatch, Tuning,
};
use fabric::Fabric;
use fabric_local::{LocalFabric, NoHooks, Options, Outcome};

const ROUNDS: u32 = 5;

fn main() {
    let trips = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(200_000);
    let options = Options { workers: 1, ..Options::new(2) };
    let best = fabric_local::run_fibers(&options, &NoHooks, &|fabric: LocalFabric| measure(fabric, trips))
        .into_iter()
        .map(Outcome::unwrap)
        .next()
        .expect("two ranks");
    println!("{best:.1} ns half round trip of 8 bytes, best of {ROUNDS} times {trips} round trips");
}

/// The best of several rounds, in nanoseconds.
fn measure(fabric: LocalFabric, trips: u32) -> f64 {
    let tuning = Tuning::for_route(fabric.route(fabric.me()));
    let rank = Rank::new(Box::new(fabric), tuning);
    let byte = Datatype::basic(Basic::Byte);
    let mut best = f64::INFINITY;
    for _ in 0..ROUNDS {
        let begin = Instant::now();
        for _ in 0..trips {
            trip(&rank, &byte).expect("two ranks that talk to each other only");
        }
        best = best.min(begin.elapsed().as_nanos() as f64 / f64::from(trips) / 2.0);
    }
    best
}

fn trip(rank: &Rank, byte: &Datatype) -> Result<(), Error> {
    let (world, tag) = (rank.world(), Tag::own(5));
    let peer = 1 - world.rank();
    let (out, mut room) = ([1u8; 8], [0u8; 8]);
    // SAFETY: both arrays outlive the blocking calls below.
    let (out, room) =
        unsafe { (SendBuffer::new(out.as_ptr(), 8, byte), RecvBuffer::new(room.as_mut_ptr(), 8, byte)) };
    let send = || rank.send(Mode::Standard, &out, Dest::Rank(peer), tag, world);
    let receive = || rank.recv(&room, Source::Rank(peer), TagMatch::Is(tag), world).map(drop);
    if world.rank() == 0 { send().and_then(|()| receive()) } else { receive().and_then(|()| send()) }
}

//! What recording an event costs, in nanoseconds: the best of nine rounds for each kind.

use std::hint::black_box;
use std::time::Instant;

use corelace_trace::{Event, MessageId, Protocol, Recording};

const EVENTS: u64 = 1_000_000;

fn main() {
    let directory = std::env::temp_dir();
    let path = directory.join(format!("corelace-trace-cost-{}", std::process::id()));
    let mut recording = Recording::create(&path, 0, 16 << 20, 1_000_000_000).expect("a recording");
    let function = recording.intern("MPI_Send");
    let site = recording.intern("ring.c:17");
    // The first lap through the ring touches its pages for the first time; a run longer than its limit pays only what follows.
    let first = nanoseconds(|time| {
        recording.record(Event::Enter { time, function, site });
    });
    println!("first touch  {first:6.1} ns an event");
    let mut measure = |what: &str, event: &dyn Fn(u64) -> Event| {
        let best = (0..9).map(|_| nanoseconds(|time| recording.record(event(time)))).fold(f64::MAX, f64::min);
        println!("{what:12} {best:6.1} ns an event");
    };
    measure("enter", &|time| Event::Enter { time, function, site });
    measure("leave", &|time| Event::Leave { time });
    measure("wait", &|time| Event::Wait { begin: time, end: time + 5 });
    measure("send start", &|time| Event::SendStart {
        time,
        message: MessageId::new(0, time),
        to: 1,
        tag: 0,
        comm: 0,
        bytes: 8,
        protocol: Protocol::Eager,
        done: false,
    });
    drop(recording);
    std::fs::remove_file(&path).expect("the recording just written");
}

fn nanoseconds(mut record: impl FnMut(u64)) -> f64 {
    let begin = Instant::now();
    for time in 0..EVENTS {
        record(black_box(time));
    }
    begin.elapsed().as_nanos() as f64 / EVENTS as f64
}

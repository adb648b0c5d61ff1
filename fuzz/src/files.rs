//! Files of other programs, other versions and other people: recordings, traces and chips.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use report::{Analysis, Run};
use rustix::fs::MemfdFlags;
use sim::Chip;
use sim::chip::BUILTIN;
use trace::{Event, Job, MessageId, Protocol, Recording, Stream, Trace};

/// The launcher reads what a rank has recorded.
pub fn recording(bytes: &[u8]) {
    let (_file, path) = written(bytes);
    match Stream::of_recording(&path) {
        Ok(stream) => {
            // Events are at least a word each, or one more at its end.
            assert!(stream.events().count() <= bytes.len());
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// A recording as a rank writes it, without the parts that are empty: 4 KiB of header, the strings, one chunk.
pub fn recording_seeds() -> Vec<Vec<u8>> {
    let whole = recorded(0);
    let word = |at: usize| u64::from_ne_bytes(whole[at * 8..at * 8 + 8].try_into().expect("a word"));
    let (chunk_words, string_words, strings_used) = (word(4) as usize, word(6) as usize, word(7) as usize);
    let chunk = 4096 + string_words * 8;
    let used = (chunk_words * 8).min(2048);
    let mut small = whole[..4096 + strings_used * 8].to_vec();
    small.extend_from_slice(&whole[chunk..chunk + used]);
    for (at, value) in [(4, used as u64 / 8), (5, 1), (6, strings_used as u64)] {
        small[at * 8..at * 8 + 8].copy_from_slice(&value.to_ne_bytes());
    }
    vec![small]
}

/// A viewer reads a trace, whole or not, and says what it means.
pub fn trace(bytes: &[u8]) {
    let (_file, path) = written(bytes);
    let whole = Trace::open(&path);
    match Trace::salvage(&path) {
        Ok(trace) => {
            assert_eq!(whole.is_ok(), trace.damage.is_none());
            let run = Run::of(&trace);
            let analysis = Analysis::of(&run);
            _ = report::text(&run, &analysis);
        }
        Err(error) => assert!(whole.is_err() && !error.to_string().is_empty()),
    }
}

pub fn trace_seeds() -> Vec<Vec<u8>> {
    let files = [0, 1].map(|rank| written(&recorded(rank)));
    let paths: Vec<PathBuf> = files.iter().map(|(_, path)| path.clone()).collect();
    let job = Job { ranks: 2, command: "solve".into(), ticks_per_second: 1_000_000_000, ..Job::default() };
    let (file, path) = written(&[]);
    trace::merge(&paths, &job, &path, &mut str::to_owned).expect("recordings of ours");
    vec![read(&file)]
}

/// The bytes of a short recording: two calls, a message and a wait.
fn recorded(rank: u32) -> Vec<u8> {
    let (file, path) = written(&[]);
    let mut recording = Recording::create(&path, rank, 16 << 10, 1_000_000_000).expect("memory");
    let function = recording.intern("MPI_Send");
    let site = recording.intern("solve.c:42");
    let message = MessageId(7);
    recording.record(Event::Enter { time: 100, function, site });
    if rank == 0 {
        recording.record(Event::SendStart {
            time: 110,
            message,
            to: 1,
            tag: 5,
            comm: 0,
            bytes: 8,
            protocol: Protocol::Eager,
            done: true,
        });
    } else {
        recording.record(Event::RecvPost { time: 105, request: 1, from: 0, tag: 5, comm: 0, bytes: 8 });
        recording.record(Event::Wait { begin: 106, end: 120 });
        recording.record(Event::RecvMatch {
            time: 120,
            message,
            request: 1,
            from: 0,
            tag: 5,
            bytes: 8,
            protocol: Protocol::Eager,
            done: true,
            waited: 0,
        });
    }
    recording.record(Event::Leave { time: 130 });
    recording.record(Event::Compute { begin: 130, end: 200 });
    drop(recording);
    read(&file)
}

/// `--chip FILE`: what is accepted can be simulated.
pub fn chip(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    match Chip::from_toml(&text, "a.toml") {
        Ok(chip) => {
            assert!(chip.ranks_max() > 0 && chip.ticks_per_second() > 0);
            for place in 0..chip.places() {
                assert!(!chip.ports(sim::chip::Place(place)).is_empty());
            }
            assert!(chip.ipc(&chip.default_ipc).is_some());
        }
        Err(error) => assert!(error.line > 0 && !error.reason.is_empty()),
    }
}

pub fn chip_seeds() -> Vec<Vec<u8>> {
    BUILTIN.iter().map(|(_, text)| text.as_bytes().to_vec()).collect()
}

/// A file in memory with these bytes, and its name.
fn written(bytes: &[u8]) -> (File, PathBuf) {
    let file = File::from(rustix::fs::memfd_create(c"fuzz", MemfdFlags::CLOEXEC).expect("a file in memory"));
    file.write_all_at(bytes, 0).expect("room for it");
    let path = format!("/proc/self/fd/{}", file.as_raw_fd()).into();
    (file, path)
}

fn read(file: &File) -> Vec<u8> {
    let mut bytes = vec![0; file.metadata().expect("a file").len() as usize];
    file.read_exact_at(&mut bytes, 0).expect("what is there");
    bytes
}

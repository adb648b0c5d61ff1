//! Traces: every kind of job leaves one that can be read and whose two sides agree, however the job ends.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use rustix::process::Signal;
use trace::{AccessKind, EpochKind, Event, MessageId, ServerKind, Stream, Trace};

use crate::support::job::{Ended, kill};
use crate::support::{MODES, compiled, mpirun, program, root, scratch};

fn example(name: &str) -> PathBuf {
    compiled(&root().join("examples/c").join(name))
}

/// Runs a program with `--trace` and these words; what it said, and its trace.
#[track_caller]
fn traced(words: &[&str], program: &Path) -> (Ended, Trace) {
    let file = scratch("trace").join("job.trace");
    let job = mpirun(words).arguments(&["--trace"]).argument(&file).argument(program).start();
    let ended = job.wait().expect_success();
    job.expect_nothing_left();
    let trace = Trace::open(&file).unwrap_or_else(|error| panic!("{words:?}: {error}\n{ended}"));
    assert_eq!(
        std::fs::read_dir(file.parent().unwrap()).unwrap().count(),
        1,
        "nothing but the trace is left"
    );
    (ended, trace)
}

fn ranks(trace: &Trace) -> impl Iterator<Item = &Stream> {
    trace.streams.iter().filter(|stream| !stream.is_chip())
}

/// Sends and receives name the same messages with the same sizes; none is received before it is sent; those of a pair, context and tag
/// match in the order in which they were sent.
fn expect_pairs(trace: &Trace, what: &str) -> usize {
    let mut sent: HashMap<MessageId, (u32, u32, u64, u64)> = HashMap::new();
    let mut order: HashMap<(u32, u32, i32), Vec<MessageId>> = HashMap::new();
    for stream in ranks(trace) {
        for event in stream.events() {
            if let Event::SendStart { time, message, to, tag, bytes, .. } = event {
                let before = sent.insert(message, (stream.rank, to, bytes, time));
                assert_eq!(before, None, "{what}: {message:?} was sent twice");
                order.entry((stream.rank, to, tag)).or_default().push(message);
            }
        }
    }
    let mut matched: HashMap<(u32, u32, i32), Vec<MessageId>> = HashMap::new();
    for stream in ranks(trace) {
        for event in stream.events() {
            if let Event::RecvMatch { time, message, from, tag, bytes, .. } = event {
                let (sender, to, sent_bytes, sent_at) = sent[&message].to_owned();
                assert_eq!((sender, to, sent_bytes), (from, stream.rank, bytes), "{what}: {message:?}");
                assert!(
                    sent_at <= time,
                    "{what}: {message:?} came {} ticks before it was sent",
                    sent_at - time
                );
                matched.entry((from, stream.rank, tag)).or_default().push(message);
            }
        }
    }
    assert_eq!(order, matched, "{what}: not every message was received in its order");
    sent.len()
}

fn expect_times_that_never_go_back(trace: &Trace, what: &str) {
    for stream in &trace.streams {
        let times: Vec<u64> = stream.events().map(|event| event.time()).collect();
        assert!(!times.is_empty(), "{what}: stream {} is empty", stream.rank);
        assert!(times.is_sorted(), "{what}: times of stream {} go back", stream.rank);
    }
}

fn expect_calls_that_end(trace: &Trace, what: &str) {
    for stream in ranks(trace) {
        let enters = stream.events().filter(|event| matches!(event, Event::Enter { .. })).count();
        let leaves = stream.events().filter(|event| matches!(event, Event::Leave { .. })).count();
        assert!(
            enters > 0 && enters == leaves,
            "{what}: rank {}: {enters} calls, {leaves} ends",
            stream.rank
        );
    }
}

#[test]
fn jobs_of_every_kind_leave_traces_whose_sends_and_receives_agree() {
    for mode in MODES {
        let (ended, trace) = traced(&["-n", "4", "--ranks", mode], &example("stencil.c"));
        assert_eq!((trace.job.ranks, trace.job.mode.as_str()), (4, mode));
        assert_eq!(ranks(&trace).count(), 4, "{mode}");
        assert!(expect_pairs(&trace, mode) > 100, "{mode}: a stencil sends more than that");
        expect_times_that_never_go_back(&trace, mode);
        expect_calls_that_end(&trace, mode);
        assert!(ended.stderr.contains(" events of 4 ranks\n"), "{ended}");
    }
}

#[test]
fn a_chip_leaves_a_stream_of_its_own_beside_those_of_its_ranks() {
    let words = ["-n", "16", "--chip", "mppa256-andey", "--map", "scatter"];
    let (_, trace) = traced(&words, &example("stencil.c"));
    assert!(expect_pairs(&trace, "chip") > 100);
    expect_times_that_never_go_back(&trace, "chip");
    let chip = trace.job.chip.as_ref().expect("the trace describes its chip");
    assert_eq!((chip.name.as_str(), trace.job.places.len()), ("mppa256-andey", 16));
    let stream = trace.chip().expect("the chip has a stream");
    let (mut data, mut control, mut worked) = (0, 0, 0);
    for event in stream.events() {
        match event {
            Event::LinkUse { link, flits, .. } if (link as usize) < chip.links.len() => {
                data += u64::from(flits)
            }
            Event::LinkUse { link, flits, .. } => {
                assert!((link as usize) < chip.links.len() + chip.control_links.len(), "{event:?}");
                control += u64::from(flits);
            }
            Event::ServerUse { begin, end, server, busy, .. } => {
                assert!(server == ServerKind::Agent && busy <= end - begin, "{event:?}");
                worked += busy;
            }
            _ => {}
        }
    }
    assert!(data > 0 && control > 0, "messages between clusters cross links, and so do letters");
    assert!(worked > 0, "resource managers handle letters");
    let memory = stream.events().any(|event| matches!(event, Event::Memory { bytes: 1.., .. }));
    let power = stream.events().any(|event| matches!(event, Event::Power { microwatts: 1.., .. }));
    assert!(memory && power);
}

#[test]
fn tracing_does_not_change_what_happens_on_a_chip() {
    let program = example("stencil.c");
    let words = ["-n", "8", "--chip", "mppa256-andey", "--map", "scatter", "--stats=json"];
    let hash = |stderr: &str| {
        let line = stderr.lines().find(|line| line.contains("trace_hash")).expect("figures").to_string();
        line.split("\"trace_hash\":").nth(1).expect("a hash").to_string()
    };
    let plain = mpirun(words).argument(&program).run().expect_success();
    let (recorded, _) = traced(&words, &program);
    assert_eq!(hash(&plain.stderr), hash(&recorded.stderr));
}

#[test]
fn a_job_whose_rank_is_killed_leaves_what_its_ranks_had_recorded() {
    let file = scratch("trace").join("killed.trace");
    let job = mpirun(["-n", "3", "--trace"])
        .argument(&file)
        .argument(program("moments.c"))
        .argument("waiting")
        .start();
    let lines = job.lines(3);
    let victim = lines.iter().find_map(|line| line.strip_prefix("1 ")).expect("rank 1 has arrived");
    kill(victim.parse().expect("a process"), Signal::KILL);
    let ended = job.wait().expect_code(137);
    job.expect_nothing_left();
    let trace = Trace::open(&file).expect("a readable trace");
    assert_eq!(ranks(&trace).count(), 3, "{ended}");
    let names: Vec<&str> = trace
        .rank(1)
        .expect("the victim's stream")
        .events()
        .filter_map(|event| match event {
            Event::Enter { function, .. } => Some(trace.rank(1)?.name(function)),
            _ => None,
        })
        .collect();
    assert!(names.contains(&"MPI_Barrier"), "{names:?}");
    assert_eq!(trace.job.failure.as_deref(), Some("the job ended with status 137"));
}

#[test]
fn a_host_that_is_killed_leaves_what_its_ranks_had_recorded() {
    for mode in ["thread", "fiber"] {
        let file = scratch("trace").join("killed.trace");
        let words = ["-n", "3", "--ranks", mode, "--trace"];
        let job = mpirun(words).argument(&file).argument(program("moments.c")).argument("waiting").start();
        let lines = job.lines(1);
        let (_, host) = lines[0].split_once(' ').expect("rank and process");
        kill(host.parse().expect("a process"), Signal::KILL);
        job.wait().expect_code(137);
        job.expect_nothing_left();
        let trace = Trace::open(&file).unwrap_or_else(|error| panic!("{mode}: {error}"));
        assert_eq!(ranks(&trace).count(), 3, "{mode}");
    }
}

#[test]
fn a_limit_drops_the_oldest_events_and_says_so() {
    let file = scratch("trace").join("short.trace");
    let words = ["-n", "2", "--trace-limit", "32K", "--trace"];
    let ended = mpirun(words).argument(&file).argument(example("stencil.c")).run().expect_success();
    let expected =
        "oldest events were dropped to stay within 32768 bytes; a larger --trace-limit keeps more\n";
    assert!(ended.stderr.contains(expected), "{ended}");
    let trace = Trace::open(&file).expect("a readable trace");
    for stream in ranks(&trace) {
        assert!(stream.dropped > 0, "rank {} dropped nothing", stream.rank);
        let last = stream.events().last().expect("the newest are kept");
        assert!(matches!(last, Event::Leave { .. }), "{last:?} is not the end of MPI_Finalize");
    }
}

#[test]
fn mistakes_about_traces_are_answered_with_flag_value_and_expectation() {
    let program = example("hello.c");
    for (words, expected) in [
        (
            &["--trace-limit", "1M"][..],
            "--trace-limit without --trace: it is about the memory that a trace takes",
        ),
        (&["--trace", "/nowhere/t", "-n", "2"], "--trace /nowhere/t: No such file or directory"),
        (
            &["--trace", "/dev/null", "--trace-limit", "9"],
            "--trace-limit 9: expected at least 16384 bytes for 1 recordings",
        ),
    ] {
        let ended = mpirun(words).argument(&program).run();
        assert_ne!(ended.code(), 0, "{ended}");
        assert!(ended.stderr.contains(expected), "{words:?}: {ended}");
    }
}

#[test]
fn progress_tells_what_ranks_do_in_every_kind_of_job() {
    for mode in MODES {
        let job = mpirun(["-n", "3", "--ranks", mode, "--progress"]);
        let job = job.argument(program("moments.c")).argument("waiting").start();
        let line = job.stderr_line_with("corelace: 3 ranks:");
        assert!(line.contains(" messages/s, ") && line.contains("B/s"), "{mode}: {line}");
        job.signal(Signal::TERM);
        job.wait();
        job.expect_nothing_left();
    }
}

#[test]
fn a_job_can_be_recorded_and_shown_at_once() {
    let file = scratch("shown").join("job.trace");
    let job = mpirun(["-n", "2", "--progress", "--trace"]).argument(&file);
    let job = job.argument(program("moments.c")).argument("waiting").start();
    job.stderr_line_with("corelace: 2 ranks:");
    job.signal(Signal::TERM);
    job.wait();
    job.expect_nothing_left();
    let trace = Trace::open(&file).unwrap();
    assert_eq!(ranks(&trace).filter(|stream| stream.events().next().is_some()).count(), 2);
}

#[test]
fn pcontrol_marks_regions() {
    let program = program("regions.c");
    for words in [["--ranks", "process"], ["--ranks", "thread"], ["--ranks", "fiber"], ["--chip", "mesh16"]] {
        let (_, trace) = traced(&[&words[..], &["-n", "2"]].concat(), &program);
        for stream in ranks(&trace) {
            let marks: Vec<(u32, bool)> = stream
                .events()
                .filter_map(|event| match event {
                    Event::Region { number, begins, .. } => Some((number, begins)),
                    _ => None,
                })
                .collect();
            let round = [(3, true), (7, true), (7, false), (3, false)];
            assert_eq!(marks, [round, round].concat(), "{words:?}: rank {}", stream.rank);
        }
    }
}

#[test]
fn pcontrol_stops_a_recording_and_lets_it_go_on() {
    let program = program("pcontrol.c");
    for words in [["--ranks", "process"], ["--ranks", "thread"], ["--ranks", "fiber"], ["--chip", "mesh16"]] {
        let (_, trace) = traced(&[&words[..], &["-n", "2"]].concat(), &program);
        for stream in ranks(&trace) {
            let sent: Vec<i32> = stream
                .events()
                .filter_map(|event| match event {
                    Event::SendStart { tag, bytes: 4, .. } if (0..4).contains(&tag) => Some(tag),
                    _ => None,
                })
                .collect();
            assert_eq!(sent, [0, 3], "{words:?}: rank {}", stream.rank);
            let calls: Vec<&str> = stream
                .events()
                .filter_map(|event| match event {
                    Event::Enter { function, .. } => Some(stream.name(function)),
                    _ => None,
                })
                .collect();
            let pause = calls.iter().position(|call| *call == "MPI_Pcontrol").expect("the pause is a call");
            assert_eq!(calls[pause - 1..=pause + 1], ["MPI_Sendrecv", "MPI_Pcontrol", "MPI_Sendrecv"]);
            let depth = stream.events().fold(0, |depth, event| match event {
                Event::Enter { .. } => depth + 1,
                Event::Leave { .. } => depth - 1,
                _ => depth,
            });
            assert!((0..=1).contains(&depth), "{words:?}: {depth} calls are open at the end");
        }
    }
}

#[test]
fn one_sided_operations_and_epochs_are_recorded_by_their_origins() {
    for mode in MODES {
        let (_, trace) = traced(&["--ranks", mode, "-n", "3"], &program("onesided_waits.c"));
        expect_times_that_never_go_back(&trace, mode);
        let accesses: Vec<Vec<(AccessKind, u32, u64)>> = ranks(&trace)
            .map(|stream| {
                let of = |event| match event {
                    Event::Access { kind, target, bytes, .. } => Some((kind, target, bytes)),
                    _ => None,
                };
                stream.events().filter_map(of).collect()
            })
            .collect();
        use AccessKind::{Accumulate, Fetch, Get, Put, Swap};
        let of_rank_1 = vec![(Fetch, 2, 8), (Swap, 2, 8), (Accumulate, 2, 8), (Get, 2, 1024)];
        assert_eq!(accesses, [vec![(Put, 2, 4096)], of_rank_1, vec![]], "{mode}");
        for stream in ranks(&trace) {
            let mut open = 0;
            for event in stream.events() {
                match event {
                    Event::EpochBegin { asked, time, .. } => {
                        assert!(asked <= time, "{mode}");
                        open += 1;
                    }
                    // There was none before the only fence.
                    Event::EpochEnd { kind: EpochKind::Fence, .. } => {}
                    Event::EpochEnd { .. } => open -= 1,
                    _ => {}
                }
            }
            assert_eq!(open, 0, "{mode}: what rank {} began", stream.rank);
        }
    }
}

//! Properties of recordings and merged files: what is written is read, the ring forgets the oldest, damage never panics.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use corelace_trace::{
    AccessKind, EpochKind, Event, Job, MessageId, Name, Protocol, Recording, ServerKind, Stream, Trace,
    TraceError, merge,
};
use proptest::prelude::*;

fn time() -> impl Strategy<Value = u64> {
    // Near times share a base, far ones need a new one, and none may overflow.
    prop_oneof![0..1_000_000u64, any::<u64>()]
}

fn protocol() -> impl Strategy<Value = Protocol> {
    (0..Protocol::ALL.len()).prop_map(|index| Protocol::ALL[index])
}

prop_compose! {
    fn span()(end in time(), lasted in any::<u64>()) -> (u64, u64) {
        (end.saturating_sub(lasted), end)
    }
}

fn event() -> impl Strategy<Value = Event> {
    let message = any::<u64>().prop_map(MessageId);
    let name = any::<u32>().prop_map(Name);
    prop_oneof![
        (time(), name.clone(), name.clone()).prop_map(|(time, function, site)| Event::Enter {
            time,
            function,
            site
        }),
        time().prop_map(|time| Event::Leave { time }),
        (time(), message.clone(), any::<(u32, i32, u32, u64, bool)>(), protocol()).prop_map(
            |(time, message, (to, tag, comm, bytes, done), protocol)| Event::SendStart {
                time,
                message,
                to,
                tag,
                comm,
                bytes,
                protocol,
                done
            }
        ),
        (time(), message.clone()).prop_map(|(time, message)| Event::SendEnd { time, message }),
        (time(), any::<(u64, u32, i32, u32, u64)>()).prop_map(|(time, (request, from, tag, comm, bytes))| {
            Event::RecvPost { time, request, from, tag, comm, bytes }
        }),
        (time(), message.clone(), any::<(u64, u32, i32, u64, bool, u64)>(), protocol()).prop_map(
            |(time, message, (request, from, tag, bytes, done, waited), protocol)| Event::RecvMatch {
                time,
                message,
                request,
                from,
                tag,
                bytes,
                protocol,
                done,
                waited
            }
        ),
        (time(), message).prop_map(|(time, message)| Event::RecvEnd { time, message }),
        span().prop_map(|(begin, end)| Event::Wait { begin, end }),
        span().prop_map(|(begin, end)| Event::Compute { begin, end }),
        (time(), name.clone(), any::<u32>()).prop_map(|(time, collective, round)| Event::Phase {
            time,
            collective,
            round
        }),
        (time(), 0..AccessKind::ALL.len(), any::<u32>(), any::<u32>(), any::<u64>()).prop_map(
            |(time, kind, target, window, bytes)| Event::Access {
                time,
                kind: AccessKind::ALL[kind],
                target,
                window,
                bytes
            }
        ),
        (time(), 0..1000u64, 0..EpochKind::ALL.len(), any::<u32>(), any::<(u32, bool)>()).prop_map(
            |(time, waited, kind, peer, (window, begins))| {
                let (asked, kind) = (time - waited.min(time), EpochKind::ALL[kind]);
                if begins {
                    Event::EpochBegin { asked, time, kind, peer, window }
                } else {
                    Event::EpochEnd { asked, time, kind, peer, window }
                }
            }
        ),
        (time(), name.clone(), any::<(u32, i32)>(), any::<(u32, u64)>()).prop_map(
            |(time, which, (comm, number), (root, bytes))| Event::Collective {
                time,
                which,
                comm,
                number,
                root,
                bytes
            }
        ),
        (time(), name.clone(), any::<u32>()).prop_map(|(time, members, comm)| Event::Members {
            time,
            comm,
            members
        }),
        (time(), name, any::<u64>()).prop_map(|(time, which, value)| Event::Counter { time, which, value }),
        (time(), any::<(u32, bool)>()).prop_map(|(time, (number, begins))| Event::Region {
            time,
            number,
            begins
        }),
        (span(), any::<(u32, u32)>()).prop_map(|((begin, end), (link, flits))| Event::LinkUse {
            begin,
            end,
            link,
            flits
        }),
        (time(), any::<u64>()).prop_map(|(time, microwatts)| Event::Power { time, microwatts }),
        (time(), any::<u32>(), any::<u64>()).prop_map(|(time, place, bytes)| Event::Memory {
            time,
            place,
            bytes
        }),
        (time(), any::<(u32, u32)>()).prop_map(|(time, (place, depth))| Event::DmaQueue {
            time,
            place,
            depth
        }),
        (time(), any::<(u32, u32)>()).prop_map(|(time, (controller, depth))| Event::DdrQueue {
            time,
            controller,
            depth
        }),
        (span(), 0..ServerKind::ALL.len(), any::<(u32, u64)>()).prop_map(
            |((begin, end), server, (place, busy))| Event::ServerUse {
                begin,
                end,
                server: ServerKind::ALL[server],
                place,
                busy
            }
        ),
    ]
}

fn job() -> Job {
    Job { ranks: 1, command: "a program".into(), ticks_per_second: 1_000_000_000, ..Job::default() }
}

/// Records events and strings under a limit; the paths of the recording and of the merged file.
fn recorded(directory: &Path, events: &[Event], names: &[String], limit: u64) -> (PathBuf, PathBuf) {
    let (recording, file) = (directory.join("rank"), directory.join("trace"));
    let mut rank = Recording::create(&recording, 0, limit, 1_000_000_000).unwrap();
    names.iter().for_each(|name| _ = rank.intern(name));
    events.iter().for_each(|event| rank.record(*event));
    assert_eq!(rank.events(), events.len() as u64);
    drop(rank);
    merge(std::slice::from_ref(&recording), &job(), &file, &mut str::to_owned).unwrap();
    (recording, file)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_is_recorded_is_read(events in prop::collection::vec(event(), 0..300), names in prop::collection::vec(".{0,20}", 0..9)) {
        let directory = tempfile::tempdir().unwrap();
        let (_, file) = recorded(directory.path(), &events, &names, 1 << 20);
        let trace = Trace::open(&file).unwrap();
        prop_assert_eq!(&trace.job, &job());
        prop_assert_eq!(trace.streams[0].events().collect::<Vec<_>>(), events);
        prop_assert_eq!(trace.streams[0].dropped, 0);
        let mut distinct: Vec<&str> = vec![""];
        names.iter().for_each(|name| if !distinct.contains(&name.as_str()) { distinct.push(name) });
        for (index, name) in distinct.into_iter().enumerate() {
            prop_assert_eq!(trace.streams[0].name(Name(index as u32)), name);
        }
    }

    #[test]
    fn a_full_ring_forgets_the_oldest_and_counts_them(events in prop::collection::vec(event(), 1500..3000)) {
        let directory = tempfile::tempdir().unwrap();
        let (recording, _) = recorded(directory.path(), &events, &[], 1 << 14);
        let stream = Stream::of_recording(&recording).unwrap();
        let kept: VecDeque<Event> = stream.events().collect();
        prop_assert!(stream.dropped > 0);
        prop_assert_eq!(stream.dropped as usize + kept.len(), events.len());
        prop_assert_eq!(kept, events[stream.dropped as usize..].to_vec());
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..4000), begins_well in any::<bool>()) {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("noise");
        let mut all = if begins_well { beginning() } else { Vec::new() };
        all.extend(bytes);
        std::fs::write(&file, &all).unwrap();
        if let Ok(trace) = Trace::salvage(&file) {
            trace.streams.iter().for_each(|stream| _ = stream.events().count());
        }
        prop_assert!(Trace::open(&file).is_err());
    }

    #[test]
    fn a_flipped_byte_never_panics(events in prop::collection::vec(event(), 1..60), at in any::<prop::sample::Index>(), value in any::<u8>()) {
        let directory = tempfile::tempdir().unwrap();
        let (recording, file) = recorded(directory.path(), &events, &["a".into()], 1 << 14);
        let mut bytes = std::fs::read(&file).unwrap();
        let place = at.index(bytes.len());
        bytes[place] = value;
        std::fs::write(&file, &bytes).unwrap();
        _ = Trace::salvage(&file).map(|trace| trace.streams.iter().map(|stream| stream.events().count()).sum::<usize>());
        // The same for a recording: its header, and the beginning of its first chunks.
        let mut bytes = std::fs::read(&recording).unwrap();
        let first_chunk = 4096 + 256 * 1024;
        let place = match at.index(4096) {
            place if place < 80 => place,
            place => first_chunk + place,
        };
        bytes[place] = value;
        std::fs::write(&recording, &bytes).unwrap();
        _ = Stream::of_recording(&recording).map(|stream| stream.events().count());
    }
}

/// A beginning that is right: what follows is taken for streams.
fn beginning() -> Vec<u8> {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("empty");
    merge(&[], &job(), &file, &mut str::to_owned).unwrap();
    let mut bytes = std::fs::read(&file).unwrap();
    bytes[24] = 3;
    bytes
}

#[test]
fn a_trace_cut_at_any_byte_is_salvaged_or_refused_clearly() {
    let directory = tempfile::tempdir().unwrap();
    let events: Vec<Event> = (0..40).map(|time| Event::Wait { begin: time, end: time + 1 }).collect();
    let (_, file) = recorded(directory.path(), &events, &["MPI_Send".into(), "x.c:1".into()], 1 << 14);
    let bytes = std::fs::read(&file).unwrap();
    let cut = directory.path().join("cut");
    let mut most = 0;
    for length in 0..bytes.len() {
        std::fs::write(&cut, &bytes[..length]).unwrap();
        let error = Trace::open(&cut).unwrap_err().to_string();
        assert!(error.contains("cut") && error.contains("expected"), "{error}");
        if let Ok(trace) = Trace::salvage(&cut) {
            assert!(trace.damage.is_some());
            let kept: Vec<Event> = trace.streams.iter().flat_map(|stream| stream.events()).collect();
            assert_eq!(kept, events[..kept.len()]);
            assert!(kept.len() >= most, "more bytes give no fewer events");
            most = kept.len();
        }
    }
    assert_eq!(most, events.len() - 1);
}

#[test]
fn a_recording_cut_at_any_page_is_refused_clearly() {
    let directory = tempfile::tempdir().unwrap();
    let (recording, _) = recorded(directory.path(), &[Event::Leave { time: 1 }], &[], 1 << 14);
    let bytes = std::fs::read(&recording).unwrap();
    for length in (0..bytes.len()).step_by(1024) {
        std::fs::write(&recording, &bytes[..length]).unwrap();
        let error = Stream::of_recording(&recording).unwrap_err();
        assert!(matches!(error, TraceError::Damaged { .. }), "{error}");
    }
}

#[test]
fn foreign_files_are_refused_with_what_they_begin_with() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("photo.png");
    std::fs::write(&file, b"\x89PNG\r\n\x1a\n and so on, long enough for a header").unwrap();
    let error = Trace::open(&file).unwrap_err();
    assert!(matches!(error, TraceError::Foreign { .. }));
    assert!(error.to_string().contains("not a trace of Corelace"), "{error}");
    assert!(Trace::open(&directory.path().join("missing")).unwrap_err().to_string().contains("No such file"));
}

#[test]
fn another_version_and_another_byte_order_are_refused_by_name() {
    let directory = tempfile::tempdir().unwrap();
    let (_, file) = recorded(directory.path(), &[], &[], 1 << 14);
    let good = std::fs::read(&file).unwrap();
    let refused = |at: usize, value: &[u8]| {
        let mut bytes = good.clone();
        bytes[at..at + value.len()].copy_from_slice(value);
        std::fs::write(&file, &bytes).unwrap();
        Trace::open(&file).unwrap_err().to_string()
    };
    assert!(refused(4, &9u32.to_ne_bytes()).contains("version 9"));
    assert!(refused(8, &0x0102_0304_0506_0708u64.swap_bytes().to_ne_bytes()).contains("byte order"));
}

#[test]
fn a_recording_is_whole_while_its_rank_still_writes() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("rank");
    let mut recording = Recording::create(&path, 7, 1 << 20, 1).unwrap();
    let name = recording.intern("MPI_Recv");
    recording.record(Event::Enter { time: 5, function: name, site: Name::NONE });
    let stream = Stream::of_recording(&path).unwrap();
    assert_eq!((stream.rank, stream.events().count(), stream.name(name)), (7, 1, "MPI_Recv"));
}

#[test]
fn strings_beyond_their_region_have_no_name() {
    let directory = tempfile::tempdir().unwrap();
    let mut recording = Recording::create(&directory.path().join("rank"), 0, 1 << 14, 1).unwrap();
    let long = "x".repeat(200 * 1024);
    assert_eq!(recording.intern(&long), Name(1));
    assert_eq!(recording.intern(&format!("{long}y")), Name::NONE);
    assert_eq!(recording.intern("short"), Name(2));
    assert_eq!(recording.intern("short"), Name(2));
}

#[test]
fn merging_leaves_out_recordings_that_cannot_be_read_and_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let (recording, _) = recorded(directory.path(), &[Event::Leave { time: 1 }], &[], 1 << 14);
    let output = directory.path().join("all");
    let merged =
        merge(&[directory.path().join("never-written"), recording], &job(), &output, &mut str::to_owned)
            .unwrap();
    assert_eq!((merged.events, merged.dropped, merged.unreadable.len()), (1, 0, 1));
    assert_eq!(Trace::open(&output).unwrap().streams.len(), 1);
}

#[test]
fn leaving_at_the_time_of_the_last_event_takes_no_record_and_is_an_event() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("rank");
    let mut recording = Recording::create(&path, 0, 1 << 14, 1).unwrap();
    let function = recording.intern("MPI_Recv");
    recording.record(Event::Enter { time: 5, function, site: Name::NONE });
    recording.record(Event::Wait { begin: 5, end: 9 });
    recording.leave_at_last();
    recording.record(Event::Enter { time: 12, function, site: Name::NONE });
    assert_eq!(recording.events(), 4);
    let events: Vec<Event> = Stream::of_recording(&path).unwrap().events().collect();
    assert_eq!(events[1..3], [Event::Wait { begin: 5, end: 9 }, Event::Leave { time: 9 }]);
    assert_eq!(events.len(), 4);
}

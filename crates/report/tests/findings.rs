//! Known causes must be named: a late sender, an imbalance, a hot link, each in a trace made by hand.

use corelace_report::{Analysis, Run, State, chrome, csv, page, sentences, text};
use trace::{AccessKind, EpochKind, Event, Protocol};

use crate::support::by_hand::ByHand;
use crate::support::stencil::Stencil;

fn said(run: &Run) -> String {
    sentences(run, &Analysis::of(run)).join("\n")
}

#[test]
fn a_late_sender_is_named_with_the_call_that_waited_for_it() {
    let mut hand = ByHand::new(2);
    hand.compute(0, 0, 900).compute(1, 0, 100);
    hand.call(0, "MPI_Send", "late.c:10", 900, 910, |events| {
        events.send(900, 0, 1, 5, 64, Protocol::Eager).sent(910, 0);
    });
    hand.call(1, "MPI_Recv", "late.c:20", 100, 930, |events| {
        events.wait(110, 920).receive(105, 920, 0, 0, 5, 64).arrived(930, 0, 0);
    });
    let run = hand.run();
    let text = said(&run);
    assert!(
        text.contains("Rank 1 waited 790 ns in MPI_Recv (late.c:20) for rank 0, which sent late: rank 0 was computing 100 % of that time."),
        "{text}"
    );
    let analysis = Analysis::of(&run);
    assert_eq!(analysis.waits.caused, [790, 0]);
    // The path goes through the sender's work, not through the receiver's waiting.
    let path: Vec<(u32, Option<State>)> =
        analysis.critical.pieces.iter().map(|piece| (piece.rank, piece.state)).collect();
    assert_eq!(path, [(0, Some(State::Compute)), (1, None), (1, Some(State::Transfer))]);
    assert_eq!(analysis.critical.total(), run.duration);
}

#[test]
fn a_wait_recorded_after_the_message_that_ended_it_is_explained_by_it() {
    let mut hand = ByHand::new(2);
    hand.compute(0, 0, 900).compute(1, 0, 100);
    hand.call(0, "MPI_Send", "", 900, 910, |events| {
        events.send(900, 0, 1, 5, 64, Protocol::Eager).sent(910, 0);
    });
    hand.call(1, "MPI_Recv", "", 100, 930, |events| {
        events.receive(105, 920, 0, 0, 5, 64).arrived(920, 0, 0).wait(110, 920);
    });
    let text = said(&hand.run());
    assert!(text.contains("Rank 1 waited 790 ns in MPI_Recv for rank 0, which sent late"), "{text}");
}

#[test]
fn a_receiver_that_spins_waits_too() {
    let mut hand = ByHand::new(2);
    hand.compute(0, 0, 900).compute(1, 0, 100);
    hand.call(0, "MPI_Send", "", 900, 910, |events| {
        events.send(900, 0, 1, 5, 64, Protocol::Eager).sent(910, 0);
    });
    hand.call(1, "MPI_Recv", "", 100, 930, |events| {
        events.receive(105, 920, 0, 0, 5, 64).arrived(930, 0, 0);
    });
    let text = said(&hand.run());
    assert!(text.contains("Rank 1 waited 795 ns in MPI_Recv for rank 0, which sent late"), "{text}");
}

#[test]
fn a_late_receiver_is_named() {
    let mut hand = ByHand::new(2);
    hand.compute(1, 0, 500);
    hand.call(0, "MPI_Ssend", "", 0, 540, |events| {
        events.send(10, 0, 1, 5, 1 << 20, Protocol::RendezvousGet).wait(20, 530).sent(535, 0);
    });
    hand.call(1, "MPI_Recv", "", 500, 530, |events| {
        events.receive(505, 506, 0, 0, 5, 1 << 20).arrived(529, 0, 0);
    });
    let text = said(&hand.run());
    assert!(
        text.contains("Rank 0 waited 485 ns in MPI_Ssend for rank 1, which was late to receive"),
        "{text}"
    );
}

#[test]
fn an_imbalance_is_named_with_what_it_costs() {
    let mut hand = ByHand::new(4);
    for rank in 0..4 {
        let end = if rank == 2 { 1000 } else { 400 };
        hand.compute(rank, 0, end);
        hand.call(rank, "MPI_Barrier", "", end, 1010, |events| {
            if end < 1000 {
                events.wait(end + 1, 1005);
            }
        });
    }
    let text = said(&hand.run());
    assert!(
        text.contains("The work is unbalanced: rank 2 computed 1.00 µs, 1.82 times the mean; spread evenly, the run could be up to 450 ns (45 %) shorter."),
        "{text}"
    );
}

#[test]
fn the_rank_that_comes_last_to_a_collective_is_named() {
    let mut hand = ByHand::new(3);
    for (rank, end) in [(0, 400), (1, 1000), (2, 300)] {
        hand.compute(rank, 0, end);
        hand.call(rank, "MPI_Barrier", "b.c:1", end, 1010, |events| {
            if end < 1000 {
                events.wait(end + 1, 1005);
            }
        });
    }
    let run = hand.run();
    let text = said(&run);
    assert!(
        text.contains("Rank 2 waited 699 ns in MPI_Barrier (b.c:1) for rank 1, which came last"),
        "{text}"
    );
    let path = Analysis::of(&run).critical;
    assert_eq!(path.longest_on(3), Some((1, 1000)), "the path goes through the rank that came last");
}

#[test]
fn ranks_that_left_nothing_are_admitted() {
    let mut hand = ByHand::new(2);
    hand.compute(0, 0, 100);
    let text = said(&hand.run());
    assert!(text.contains("2 ranks ran") && text.contains("Nothing was recorded of rank 1."), "{text}");
}

#[test]
fn a_balanced_run_is_called_balanced() {
    let mut hand = ByHand::new(2);
    hand.compute(0, 0, 500).compute(1, 0, 500);
    let text = said(&hand.run());
    assert!(text.contains("The work is balanced"), "{text}");
    assert!(!text.contains("waited"), "{text}");
}

#[test]
fn a_hot_link_is_named_by_its_ends() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("trace");
    Stencil { ranks: 16, rounds: 20, slow: Some(5), mesh: 4 }.write(&file);
    let run = Run::of(&trace::Trace::open(&file).unwrap());
    let text = said(&run);
    assert!(text.contains("The hot link C0 → C1 carried most"), "{text}");
    assert!(text.contains("Of the control network, link IO → C0 carried most"), "{text}");
    assert!(text.contains("10 % of what it could over the run"), "{text}");
    assert!(
        text.contains("The resource manager of C0 worked most of all servers: 60 % of the run"),
        "{text}"
    );
    assert!(text.contains("C15 held most memory: 1.39 MiB"), "{text}");
    assert!(text.contains("rank 5, which sent late: rank 5 was computing"), "{text}");
    assert!(text.contains("Rank 5 made others wait longest"), "{text}");
    assert!(text.contains("The work is unbalanced: rank 5 computed"), "{text}");
    assert!(text.contains("W on average"), "{text}");
    assert!(text.contains("The longest queues were 10 transfers at the DMA engines of C1."), "{text}");
}

#[test]
fn overwritten_events_are_admitted() {
    let mut hand = ByHand::new(1);
    for time in 0..10_000 {
        hand.event(0, Event::Compute { begin: time, end: time + 1 });
    }
    let text = said(&hand.run_under(8192));
    assert!(
        text.contains("The trace is not whole") && text.contains("old events were overwritten"),
        "{text}"
    );
}

#[test]
fn a_trace_without_events_has_a_report_too() {
    let run = ByHand::new(0).run();
    assert!(text(&run, &Analysis::of(&run)).contains("0 ranks ran for 0 ns."));
}

#[test]
fn calls_that_were_never_left_last_until_the_end() {
    let mut hand = ByHand::new(1);
    hand.enter(0, "MPI_Recv", "crash.c:3", 10);
    hand.event(0, Event::Wait { begin: 20, end: 500 });
    let run = hand.run();
    assert_eq!((run.ranks[0].calls[0].begin, run.ranks[0].calls[0].end), (0, 490));
}

/// Rank 0 has rank 2 locked and computes; rank 1 wants it, too, and then puts.
fn a_lock() -> ByHand {
    let (kind, peer, window) = (EpochKind::ExclusiveLock, 2, 9);
    let mut hand = ByHand::new(3);
    hand.call(0, "MPI_Win_lock", "a.c:1", 0, 100, |events| {
        events.push(Event::EpochBegin { asked: 0, time: 90, kind, peer, window });
    });
    hand.compute(0, 100, 5000);
    hand.call(0, "MPI_Win_unlock", "a.c:2", 5000, 5100, |events| {
        events.push(Event::EpochEnd { asked: 5000, time: 5050, kind, peer, window });
    });
    hand.call(1, "MPI_Win_lock", "b.c:7", 1000, 5200, |events| {
        events.push(Event::EpochBegin { asked: 1000, time: 5150, kind, peer, window });
    });
    hand.call(1, "MPI_Put", "b.c:8", 5200, 5600, |events| {
        events.push(Event::Access { time: 5210, kind: AccessKind::Put, target: 2, window, bytes: 4096 });
    });
    hand.call(1, "MPI_Win_unlock", "b.c:9", 6000, 6100, |events| {
        events.push(Event::EpochEnd { asked: 6000, time: 6050, kind, peer, window });
    });
    hand
}

#[test]
fn a_lock_that_another_rank_had_is_a_wait_for_that_rank() {
    let run = a_lock().run();
    let text = said(&run);
    assert!(
        text.contains("Rank 1 waited 4.05 µs in MPI_Win_lock (b.c:7) for rank 0, which had the lock: rank 0 was computing"),
        "{text}"
    );
    assert!(
        text.contains(
            "1 one-sided operation moved 4.00 KiB; most of it rank 1 at rank 2: 4.00 KiB in 1 operation."
        ),
        "{text}"
    );
    assert!(!text.contains("No messages"), "{text}");
    let epochs: Vec<_> =
        run.ranks[1].epochs.iter().map(|epoch| (epoch.begin, epoch.end, epoch.peer)).collect();
    assert_eq!(epochs, [(5150, 6050, Some(2))]);
    assert_eq!((run.accesses[0].begin, run.accesses[0].end), (5210, 5600));
}

#[test]
fn windows_are_in_every_format() {
    let run = a_lock().run();
    let (mut table, mut tracks) = (Vec::new(), Vec::new());
    csv(&run, &mut table).unwrap();
    let table = String::from_utf8(table).unwrap();
    for row in [
        "epoch,0,0.000000090,0.000005050,exclusive lock,,2,,,",
        "held,1,0.000001000,0.000005050,had the lock,,0,,,",
        "access,1,0.000005210,0.000005600,put,,2,,4096,",
    ] {
        assert!(table.lines().any(|line| line == row), "no {row} in\n{table}");
    }
    chrome(&run, &mut tracks).unwrap();
    let parsed: serde_json::Value = serde_json::from_slice(&tracks).unwrap();
    let events = parsed["traceEvents"].as_array().unwrap();
    let count = |phase: &str, kind: &str| {
        events.iter().filter(|event| event["ph"] == phase && event["cat"] == kind).count()
    };
    assert_eq!((count("b", "epoch"), count("e", "epoch")), (2, 2));
    assert_eq!((count("s", "one-sided"), count("f", "one-sided")), (1, 1));
    let text = text(&run, &Analysis::of(&run));
    assert!(text.contains("One-sided operations") && text.contains("exclusive lock"), "{text}");
    let page = page(&run, &Analysis::of(&run));
    for name in ["accessFrom", "epochBegin", "waitHeld"] {
        assert!(page.contains(&format!("data-name=\"{name}\"")), "{name}");
    }
}

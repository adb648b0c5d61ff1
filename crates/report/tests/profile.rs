//! Sums over the whole run: calls by function and call site, wait states by pattern, and what is said if cores are shared.

use corelace_report::analysis::Pattern;
use corelace_report::{Analysis, Collective, Run, csv_profile, sentences, text};
use trace::{EpochKind, Event, NO_ROOT, Name, Protocol};

use crate::support::by_hand::ByHand;

/// Rank 1 receives twice, in 100 and 300 ticks; both ranks are in a reduction of 800 bytes, for which rank 0 is late.
fn two_ranks() -> ByHand {
    let mut hand = ByHand::new(2);
    hand.compute(0, 0, 100);
    hand.call(0, "MPI_Send", "a.c:1", 100, 110, |events| {
        events.send(100, 0, 1, 5, 64, Protocol::Eager).sent(110, 0);
    });
    hand.compute(0, 110, 500);
    hand.call(0, "MPI_Send", "a.c:2", 500, 510, |events| {
        events.send(500, 1, 1, 5, 1000, Protocol::Eager).sent(510, 1);
    });
    hand.call(1, "MPI_Recv", "a.c:7", 20, 120, |events| {
        events.wait(20, 115).receive(20, 115, 0, 0, 5, 64).arrived(116, 0, 0);
    });
    hand.call(1, "MPI_Recv", "a.c:7", 220, 520, |events| {
        events.wait(220, 515).receive(220, 515, 0, 1, 5, 1000).arrived(516, 0, 1);
    });
    hand.compute(0, 510, 900);
    for (rank, begin) in [(0, 900), (1, 520)] {
        hand.call(rank, "MPI_Allreduce", "a.c:9", begin, 950, |events| {
            events.push(Event::Collective {
                time: begin,
                which: Name::NONE,
                comm: 1,
                number: -1,
                root: NO_ROOT,
                bytes: 800,
            });
            if rank == 1 {
                events.wait(520, 940);
            }
        });
    }
    hand
}

/// The row of a table, cells by a bar.
fn row(text: &str, begins: &str) -> String {
    let line = text.lines().find(|line| line.trim_start().starts_with(begins));
    let cells = line.unwrap_or_else(|| panic!("no {begins} in\n{text}")).split("  ").map(str::trim);
    cells.filter(|cell| !cell.is_empty()).collect::<Vec<_>>().join("|")
}

#[test]
fn calls_are_summed_by_function_and_call_site() {
    let run = two_ranks().run();
    let analysis = Analysis::of(&run);
    let text = text(&run, &analysis);
    let table = text.split("Calls by function and call site").nth(1).expect("a table");
    assert_eq!(row(table, "MPI_Recv"), "MPI_Recv|2|1.04 KiB|400 ns|21 %|200 ns|300 ns|390 ns|a.c:7");
    // A collective counts the buffer of each rank; sends from two places are two rows.
    assert_eq!(
        row(table, "MPI_Allreduce"),
        "MPI_Allreduce|2|1.56 KiB|480 ns|26 %|240 ns|430 ns|420 ns|a.c:9"
    );
    assert_eq!(row(table, "MPI_Send"), "MPI_Send|1|64 B|10.0 ns|0.5 %|10.0 ns|10.0 ns|0 ns|a.c:1");
    let mut csv = Vec::new();
    csv_profile(&run, &analysis, &mut csv).unwrap();
    assert_eq!(
        String::from_utf8(csv).unwrap().lines().take(3).collect::<Vec<_>>(),
        [
            "function,site,calls,bytes,total_s,mean_s,longest_s,waiting_s",
            "MPI_Allreduce,a.c:9,2,1600,0.000000480,0.000000240,0.000000430,0.000000420",
            "MPI_Recv,a.c:7,2,1064,0.000000400,0.000000200,0.000000300,0.000000390",
        ]
    );
}

#[test]
fn waits_are_summed_by_pattern_with_the_worst_call_site_and_a_remedy() {
    let run = two_ranks().run();
    let analysis = Analysis::of(&run);
    let found: Vec<(Pattern, u64, u64)> =
        analysis.patterns.iter().map(|sum| (sum.pattern, sum.ticks, sum.times)).collect();
    assert_eq!(
        found,
        [
            (Pattern::Collective(Collective::NToN), 380, 1),
            (Pattern::LateSender, 360, 2),
            (Pattern::OnItsWay, 70, 3),
        ]
    );
    let text = text(&run, &analysis);
    assert_eq!(
        row(&text, "waiting in an n-to-n"),
        "waiting in an n-to-n collective|380 ns|20 %|47 %|1|MPI_Allreduce (a.c:9) 100 %"
    );
    assert_eq!(row(&text, "late sender"), "late sender|360 ns|19 %|44 %|2|MPI_Recv (a.c:7) 100 %");
    assert!(text.contains("  late sender: Send earlier"), "{text}");
    assert!(
        text.contains("Most waiting is of one pattern, waiting in an n-to-n collective: 20 % of all time."),
        "{text}"
    );
}

#[test]
fn each_kind_of_waiting_is_a_pattern_of_its_own() {
    let pattern_in = |function: &str| {
        let mut hand = ByHand::new(2);
        hand.compute(0, 0, 800);
        hand.call(0, function, "b.c:3", 800, 1000, |_| {});
        hand.call(1, function, "b.c:3", 100, 1000, |events| {
            events.wait(100, 900);
        });
        let run = hand.run();
        let analysis = Analysis::of(&run);
        (analysis.patterns[0].ticks, analysis.patterns[0].pattern.title(&run))
    };
    for (function, title) in [
        ("MPI_Barrier", "waiting at a barrier"),
        ("PMPI_Alltoall", "waiting in an n-to-n collective"),
        ("MPI_Bcast", "waiting for the root"),
        ("MPI_Gather", "root waiting for members"),
        ("MPI_Scan", "waiting in a scan"),
        ("MPI_Win_fence", "waiting at a fence"),
        ("MPI_Comm_split", "making communicators and windows"),
        ("MPI_Finalize", "waiting at the end of the job"),
    ] {
        assert_eq!(pattern_in(function), (700, title), "{function}");
    }
    assert_eq!(pattern_in("MPI_Probe"), (800, "not explained"));
    let (kind, peer, window) = (EpochKind::ExclusiveLock, 1, 9);
    let mut hand = ByHand::new(2);
    hand.call(0, "MPI_Win_lock", "", 0, 10, |events| {
        events.push(Event::EpochBegin { asked: 0, time: 5, kind, peer, window });
    });
    hand.call(0, "MPI_Win_unlock", "", 500, 510, |events| {
        events.push(Event::EpochEnd { asked: 500, time: 505, kind, peer, window });
    });
    hand.call(1, "MPI_Win_lock", "", 100, 520, |events| {
        events.push(Event::EpochBegin { asked: 100, time: 515, kind, peer, window });
    });
    let run = hand.run();
    assert_eq!(Analysis::of(&run).patterns[0].pattern.title(&run), "waiting for a lock");
}

fn said(run: &Run) -> String {
    sentences(run, &Analysis::of(run)).join("\n")
}

#[test]
fn more_ranks_than_cores_are_said_first_and_not_blamed_on_messages() {
    let alone = two_ranks().run();
    assert!(!said(&alone).contains("core"), "cores are not known: {}", said(&alone));
    let enough = two_ranks().on_cores(2).run();
    assert_eq!(said(&enough), said(&alone));
    let crowded = two_ranks().on_cores(1).run();
    let second = said(&crowded).lines().nth(1).expect("a second sentence").to_owned();
    assert!(second.starts_with("2 ranks shared 1 core: at most 1 ran at a time"), "{second}");
    let text = text(&crowded, &Analysis::of(&crowded));
    assert!(text.contains("waiting for others or for a core."), "{text}");
    assert!(text.contains("for a core, or for messages on their way"), "{text}");
    assert!(text.contains("which came last or had no core"), "{text}");
    assert!(!text.contains("% messages on their way") && !text.contains("Most waiting is"), "{text}");
}

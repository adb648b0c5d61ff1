//! Regions that the program marks: a table of totals, bars above the calls, rows of other formats.

use corelace_report::{Analysis, Run, chrome, csv, text};
use trace::Event;

use crate::support::browser::Browser;
use crate::support::by_hand::ByHand;

/// Two ranks with region 3 twice, and region 7 within; rank 1 ends nothing, and ends a region whose begin was overwritten.
fn two_ranks() -> Run {
    let mut hand = ByHand::new(2);
    for begin in [0, 1000] {
        let mark = |time, number, begins| Event::Region { time, number, begins };
        hand.event(0, mark(begin, 3, true)).event(0, mark(begin + 100, 7, true));
        hand.call(0, "MPI_Recv", "a.c:7", begin + 100, begin + 300, |events| {
            events.wait(begin + 100, begin + 250);
        });
        hand.event(0, mark(begin + 300, 7, false)).event(0, mark(begin + 400, 3, false));
    }
    hand.event(1, Event::Region { time: 50, number: 9, begins: false });
    hand.event(1, Event::Region { time: 500, number: 3, begins: true });
    hand.compute(1, 500, 2000);
    hand.run()
}

#[test]
fn regions_are_summed_up_with_what_ranks_did_in_them() {
    let run = two_ranks();
    let regions: Vec<_> = run.ranks[0].regions.iter().map(|r| (r.begin, r.end, r.number, r.depth)).collect();
    assert_eq!(regions, [(0, 400, 3, 0), (100, 300, 7, 1), (1000, 1400, 3, 0), (1100, 1300, 7, 1)]);
    assert_eq!(
        (run.ranks[1].regions.len(), run.ranks[1].regions[0].end),
        (1, 2000),
        "the end of the rank ends it"
    );
    let text = text(&run, &Analysis::of(&run));
    let table: Vec<Vec<&str>> = text
        .lines()
        .skip_while(|line| *line != "Regions of the program")
        .skip(2)
        .take(2)
        .map(|line| line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect())
        .collect();
    assert_eq!(
        table,
        [
            ["3", "3", "2.30 µs", "767 ns", "1.50 µs", "1.90 µs", "100 ns", "300 ns"],
            ["7", "2", "400 ns", "200 ns", "200 ns", "0 ns", "100 ns", "300 ns"],
        ]
    );
}

#[test]
fn regions_are_in_other_formats() {
    let run = two_ranks();
    let (mut rows, mut events) = (Vec::new(), Vec::new());
    csv(&run, &mut rows).unwrap();
    assert!(
        String::from_utf8(rows).unwrap().lines().any(|row| row == "region,0,0.000000100,0.000000300,7,,,,,")
    );
    chrome(&run, &mut events).unwrap();
    let parsed: serde_json::Value = serde_json::from_slice(&events).unwrap();
    let regions = parsed["traceEvents"].as_array().unwrap().iter().filter(|event| event["cat"] == "region");
    assert_eq!(regions.count(), 10);
}

#[test]
fn regions_are_bars_of_the_timeline_and_named_where_one_points() {
    let run = two_ranks();
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("page.html");
    std::fs::write(&file, corelace_report::page(&run, &Analysis::of(&run))).unwrap();
    let mut browser = Browser::open(&file);
    let lines = browser.evaluate("describe(0, 150).join('\\n')");
    assert!(lines.as_str().unwrap().contains("region 3, 400 ns\nregion 7, 200 ns\nMPI_Recv"), "{lines}");
    assert!(browser.text("#region-table").contains("2.30 µs"));
    let colour = "(() => { drawTimeline(); const ratio = devicePixelRatio, x = GUTTER + 350 / data.duration * (width - GUTTER); \
        return [...tracks.getContext('2d').getImageData(x * ratio, 5 * ratio, 1, 1).data].slice(0, 3).join() })()";
    let bar = browser.evaluate(colour);
    assert_eq!(bar, browser.evaluate("rgb(regionColour(3)).join()"), "a bar above what the rank does");
    assert_eq!(browser.complaints(), [] as [String; 0]);
}

//! The formats of other viewers, and what damaged traces do to any of them: nothing.

use corelace_report::{Analysis, Run, chrome, csv, otf2, page, text};
use serde_json::Value;

use trace::{Protocol, Trace};

use crate::support::by_hand::ByHand;
use crate::support::stencil::Stencil;

fn a_message() -> Run {
    let mut hand = ByHand::new(2);
    hand.call(0, "MPI_Send", "a,b.c:10", 1000, 3000, |events| {
        events.send(1500, 0, 1, 5, 64, Protocol::Eager).sent(2500, 0);
    });
    hand.call(1, "MPI_Recv", "b.c:20", 0, 4000, |events| {
        events.wait(500, 3500).receive(100, 3500, 0, 0, 5, 64).arrived(3800, 0, 0);
    });
    hand.run()
}

#[test]
fn chrome_gets_a_slice_a_call_and_a_flow_a_message() {
    let mut output = Vec::new();
    chrome(&a_message(), &mut output).unwrap();
    let parsed: Value = serde_json::from_slice(&output).unwrap();
    let events = parsed["traceEvents"].as_array().unwrap();
    let of = |phase: &str| events.iter().filter(|event| event["ph"] == phase).collect::<Vec<_>>();
    let names: Vec<&str> = of("X").iter().map(|slice| slice["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["MPI_Send", "MPI_Recv", "waiting"]);
    assert_eq!(of("X")[0]["ts"], 1.0, "microseconds");
    assert_eq!(of("X")[0]["args"]["site"], "a,b.c:10");
    let (start, finish) = (of("s")[0], of("f")[0]);
    assert_eq!((&start["tid"], &finish["tid"], &start["id"]), (&0.into(), &1.into(), &finish["id"]));
    assert_eq!((&finish["args"]["bytes"], &finish["args"]["protocol"]), (&64.into(), &"eager".into()));
}

#[test]
fn csv_has_a_row_each_and_quotes_what_needs_it() {
    let mut output = Vec::new();
    csv(&a_message(), &mut output).unwrap();
    let rows: Vec<String> = String::from_utf8(output).unwrap().lines().map(str::to_owned).collect();
    assert_eq!(
        rows,
        [
            "kind,rank,begin_s,end_s,function,site,peer,tag,bytes,protocol",
            "call,0,0.000001000,0.000003000,MPI_Send,\"a,b.c:10\",,,,",
            "call,1,0.000000000,0.000004000,MPI_Recv,b.c:20,,,,",
            "wait,1,0.000000500,0.000003500,MPI_Recv,b.c:20,0,,,",
            "message,0,0.000001500,0.000003800,,,1,5,64,eager",
        ]
    );
}

#[test]
fn markup_in_names_stays_data_of_the_page() {
    let mut hand = ByHand::new(1);
    hand.call(0, "<!--<script>", "</script><b>", 0, 1000, |_| {});
    let run = hand.run();
    let page = page(&run, &Analysis::of(&run));
    let (_, data) = page.split_once("id=\"data\"").unwrap();
    let (_, data) = data.split_once('>').unwrap();
    let (data, _) = data.split_once('<').expect("the end of the element is the next markup");
    let data: Value = serde_json::from_str(data).expect("all of the data is before it");
    let names = data.to_string();
    assert!(names.contains("<!--<script>") && names.contains("</script><b>"), "{names}");
}

#[test]
fn damaged_traces_are_reported_without_a_panic() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("trace");
    Stencil { ranks: 3, rounds: 4, slow: Some(1), mesh: 2 }.write(&file);
    let whole = std::fs::read(&file).unwrap();
    // The same damage every time: a linear congruential generator.
    let mut state = 1u64;
    let mut next = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let mut reported = 0;
    for _ in 0..800 {
        let mut bytes = whole.clone();
        for _ in 0..1 + next(8) {
            let at = next(bytes.len());
            bytes[at] = next(256) as u8;
        }
        bytes.truncate(whole.len() - next(2) * next(whole.len()));
        std::fs::write(&file, &bytes).unwrap();
        let Ok(trace) = Trace::salvage(&file) else { continue };
        let run = Run::of(&trace);
        let analysis = Analysis::of(&run);
        assert!(!text(&run, &analysis).is_empty() && !page(&run, &analysis).is_empty());
        chrome(&run, &mut Vec::new()).unwrap();
        csv(&run, &mut Vec::new()).unwrap();
        // A file each of the ranks that it claims to have.
        if run.ranks.len() < 100 {
            otf2(&run, &directory.path().join("archive")).unwrap();
        }
        reported += 1;
    }
    assert!(reported > 200, "most damage leaves something to report: {reported}");
}

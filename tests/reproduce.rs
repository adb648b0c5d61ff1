//! The published figures, and laws of messages on chips: what `corelace reproduce` and `corelace fit` say.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;

use crate::support::job::{Ended, Job};
use crate::support::{PATIENCE, corelace, root, scratch};

fn json(ended: &Ended) -> Vec<Value> {
    serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {ended}"))
}

#[test]
fn the_laws_of_messages_fit_and_kinds_follow_from_the_description() {
    let pictures = scratch("pictures");
    // All applications on all chips: this computes, and for long where others do, too.
    let all = corelace(["reproduce", "--quick", "--json", "--plot"]).argument(&pictures);
    let ended = all.limit(PATIENCE).run();
    let figures = json(&ended);
    assert!(figures.len() >= 45, "{ended}");
    let of = |kind: &'static str| figures.iter().filter(move |figure| figure["kind"] == kind);
    let missed: Vec<&Value> = of("fit").filter(|figure| figure["pass"] == false).collect();
    assert!(missed.iter().all(|figure| figure["seed"] == "001"), "{missed:#?}");
    assert!(of("fit").filter(|figure| figure["seed"] == "000").count() >= 17, "{ended}");
    assert!(
        of("implied").all(|figure| figure["because"].as_str().is_some_and(|why| !why.is_empty())),
        "{ended}"
    );
    assert!(of("predicted").count() >= 5, "{ended}");
    assert!(of("unpublished").all(|figure| figure["paper"].is_null()), "{ended}");
    let misses = figures.iter().any(|figure| figure["pass"] == false);
    assert_eq!(ended.status.code(), Some(i32::from(misses)), "{ended}");
    for picture in ["throughput", "latency", "a2a", "weak-scaling", "power", "time-fn", "time-gf", "time-km"]
    {
        let svg = fs::read_to_string(pictures.join(format!("{picture}.svg"))).unwrap();
        assert!(svg.contains("<polyline"), "{picture}: {svg}");
    }
}

#[test]
fn an_interrupt_ends_all_runs_and_takes_the_temporary_directory_away() {
    let running = corelace(["reproduce", "--quick"]).start();
    // It is at work when a first program is there.
    let compiled = || {
        let workshops = fs::read_dir(running.temporary()).unwrap().flatten();
        workshops.filter(|workshop| workshop.path().join("pingpong").exists()).count() > 0
    };
    let deadline = Instant::now() + Duration::from_secs(100);
    while !compiled() {
        assert!(Instant::now() < deadline, "no program was compiled");
        thread::sleep(Duration::from_millis(5));
    }
    running.signal(Signal::TERM);
    running.wait().expect_code(130).expect_said(&["corelace: interrupted"]);
    running.expect_nothing_left();
}

#[test]
fn what_the_fits_leave_free_is_measured_at_both_ends_while_they_hold() {
    let ended = corelace(["reproduce", "--quick", "--json", "--spread", "--only", "a.eager"]).run();
    let figures = json(&ended);
    let named =
        |id: &str| figures.iter().find(|figure| figure["id"] == id).unwrap_or_else(|| panic!("{ended}"));
    let (fit, half) = (named("a.eager"), named("a.eager.half"));
    assert_eq!((&fit["kind"], &fit["pass"], &fit["spread"]), (&"fit".into(), &true.into(), &Value::Null));
    assert_eq!(half["kind"], "assumed");
    let ours = half["ours"].as_f64().unwrap();
    let [low, high] = [0, 1].map(|end| half["spread"][end].as_f64().unwrap());
    assert!(low < 0.8 * ours && ours <= high && high < 2.0 * ours, "{low} to {high}, and {ours}: {ended}");
    assert!(!ended.stderr.contains("does not count"), "{ended}");
}

#[test]
fn an_end_at_which_a_fit_breaks_does_not_count() {
    let directory = scratch("chips");
    let text = fs::read_to_string(root().join("chips/mppa256-andey.toml")).unwrap();
    let (old, new) = (
        "high    = { agent = 4800, take = 4800, put_core = 13879, put_dma = 16085 }",
        "high    = { agent = 9600, take = 8000, put_core = 5879, put_dma = 8085 }",
    );
    assert!(text.contains(old));
    let chip = directory.join("broken.toml");
    fs::write(&chip, text.replace(old, new)).unwrap();
    let only = ["reproduce", "--quick", "--json", "--spread", "--only", "a.eager", "--chip"];
    let ended = corelace(only).argument(&chip).run();
    assert!(ended.stderr.contains("does not count: a.eager is "), "{ended}");
    let high =
        json(&ended).iter().find(|figure| figure["id"] == "a.eager.half").unwrap()["spread"][1].as_f64();
    assert!(high.is_some_and(|high| high < 0.6), "{ended}");
}

#[test]
fn a_seed_selects_the_figures_of_its_publication() {
    let figures =
        json(&corelace(["reproduce", "--quick", "--json", "--seed", "001", "--only", "b.messages"]).run());
    assert_eq!(figures.len(), 2, "{figures:#?}");
    assert!(figures.iter().all(|figure| figure["seed"] == "001"), "{figures:#?}");
    assert_eq!(figures[0]["ours"], 5.0);
}

/// The figures of MPI/ES on a copy of the Earth Simulator with one change.
fn earth_simulator_with(directory: &Path, old: &str, new: &str) -> Vec<Value> {
    let text = fs::read_to_string(root().join("chips/earth-simulator.toml")).unwrap();
    assert!(text.contains(old), "{old}");
    let file = directory.join("copy.toml");
    fs::write(&file, text.replacen(old, new, 1)).unwrap();
    json(&corelace(["reproduce", "--quick", "--seed", "004", "--json", "--chip"]).argument(&file).run())
}

fn ours(figures: &[Value], id: &str) -> f64 {
    let figure = figures.iter().find(|figure| figure["id"] == id).unwrap_or_else(|| panic!("no {id}"));
    figure["ours"].as_f64().unwrap_or_else(|| panic!("{figure}"))
}

#[test]
fn the_earth_simulator_answers_what_if_as_physics_does() {
    let directory = scratch("earth-simulator");
    // Everything but the clock is in seconds.
    let faster_clock =
        earth_simulator_with(&directory, "value = 500, unit = \"MHz\"", "value = 1, unit = \"GHz\"");
    let missed: Vec<&Value> = faster_clock.iter().filter(|figure| figure["pass"] == false).collect();
    assert!(missed.is_empty(), "{missed:#?}");
    // A crossbar twice as fast: the throughput between nodes follows, that of a node does not.
    let wider = earth_simulator_with(
        &directory,
        "link           = { value = 12.3",
        "link           = { value = 24.6",
    );
    assert!((ours(&wider, "d.case4.bw") / ours(&faster_clock, "d.case4.bw") - 2.0).abs() < 0.01);
    assert!((ours(&wider, "d.case3.bw") / ours(&faster_clock, "d.case3.bw") - 1.0).abs() < 0.01);
    assert_eq!(ours(&wider, "d.alloc.case2"), 3.0);
    // Local memory half as fast: two copies out of two become dearer in a node, none of global memory.
    let local = earth_simulator_with(
        &directory,
        "rate           = { value = 14.8, unit = \"GB/s\", from",
        "rate           = { value = 7.4, unit = \"GB/s\", from",
    );
    assert!((ours(&local, "d.case1.bw") / ours(&faster_clock, "d.case1.bw") - 0.5).abs() < 0.01);
    assert!((ours(&local, "d.case3.bw") / ours(&faster_clock, "d.case3.bw") - 1.0).abs() < 0.01);
}

/// What is asked of the first MPPA, lines of its description and what they become, and figures with the factor that physics gives each.
type WhatIf = (&'static str, &'static [(&'static str, &'static str)], &'static [(&'static str, f64)]);

const WHAT_IFS: [WhatIf; 7] = [
    (
        "wider links alone do not help: the interface is the limit",
        &[(
            "link           = { value = 4, unit = \"bytes/cycle\"",
            "link           = { value = 8, unit = \"bytes/cycle\"",
        )],
        &[("a.cc0-cc15.dma.K", 1.0), ("a.cc0-cc15.pe.K", 1.0), ("a.throughput.dma", 1.0)],
    ),
    (
        "links and interfaces twice as fast",
        &[
            (
                "link           = { value = 4, unit = \"bytes/cycle\"",
                "link           = { value = 8, unit = \"bytes/cycle\"",
            ),
            ("receive        = { value = 0.27,", "receive        = { value = 0.135,"),
        ],
        &[("a.cc0-cc15.dma.K", 0.5), ("a.throughput.dma", 2.0), ("a.cc0-cc15.pe.K", 1.0)],
    ),
    (
        "a core that writes twice as fast",
        &[("put_per_byte   = { value = 0.98,", "put_per_byte   = { value = 0.49,")],
        &[("a.cc0-cc15.pe.K", 0.5), ("a.throughput.pe", 2.0), ("a.cc0-cc15.dma.K", 1.0)],
    ),
    (
        // In cycles of the faster clock the memory outside is twice as slow.
        "a clock of 800 MHz",
        &[("frequency = { value = 400,", "frequency = { value = 800,")],
        &[("a.cc0-cc15.dma.K", 1.0), ("a.cc0-cc15.dma.h", 1.0), ("a.io-cc15.dma.K", 2.0)],
    ),
    (
        "a memory outside that answers twice as late",
        &[("latency        = { value = 126.9,", "latency        = { value = 253.8,")],
        // The bursts themselves are 30 of the 538 ns of a packet.
        &[("a.io-cc15.dma.K", 1.944), ("a.cc15-io.dma.K", 1.0), ("a.cc0-cc15.dma.K", 1.0)],
    ),
    (
        // Program, stack and buffers take some 0.6 MiB; the rest holds a sixteenth of the matrix, whose rows are tried by 250.
        "a quarter more memory of a cluster",
        &[
            (
                "scratchpad     = { value = 2, unit = \"MiB\", from = \"MPPA-MPI\"",
                "scratchpad     = { value = 2.5, unit = \"MiB\", from = \"MPPA-MPI\"",
            ),
            ("usable         = { value = 1.5,", "usable         = { value = 1.875,"),
        ],
        &[("a.hpl.memory", 1.2), ("a.cc0-cc15.dma.K", 1.0)],
    ),
    (
        "a sixth less of it",
        &[("usable         = { value = 1.5,", "usable         = { value = 1.25,")],
        &[("a.hpl.memory", 0.8), ("a.cc0-cc15.dma.K", 1.0)],
    ),
];

#[test]
fn figures_answer_what_if_as_physics_does() {
    let text = fs::read_to_string(root().join("chips/mppa256-andey.toml")).unwrap();
    let directory = scratch("what-if");
    let figures = |chip: &Path, start: &str| {
        let words = ["reproduce", "--quick", "--json", "--only", start, "--chip"];
        json(&corelace(words).argument(chip).run())
    };
    // Figures of one ping-pong are measured together; those of Linpack are runs of their own.
    let start_of = |id: &'static str| match id.rsplit_once('.') {
        Some((start, _)) if !id.starts_with("a.hpl") => &id[..=start.len()],
        _ => id,
    };
    let mut shipped = HashMap::new();
    for (what, changes, expected) in WHAT_IFS {
        let changed = changes.iter().fold(text.clone(), |text, (old, new)| {
            assert!(text.contains(old), "{what}: {old}");
            text.replace(old, new)
        });
        let copy = directory.join("copy.toml");
        fs::write(&copy, changed).unwrap();
        let mut copied = HashMap::new();
        for (id, factor) in expected {
            let start = start_of(id);
            let of_shipped = || figures(Path::new("mppa256-andey"), start);
            let shipped = ours(shipped.entry(start).or_insert_with(of_shipped), id);
            let copied = ours(copied.entry(start).or_insert_with(|| figures(&copy, start)), id);
            assert!(
                (copied / shipped / factor - 1.0).abs() < 0.02,
                "{what}: {id} goes from {shipped} to {copied}, expected {factor} times"
            );
        }
    }
}

/// The law from cluster 0 to 15 of a description, by DMA.
fn law(chip: &Path) -> (f64, f64) {
    let fit = ["fit", "--from", "0", "--to", "15", "--protocol", "dma", "--sizes", "0,4000,40000", "--json"];
    let directions = json(&corelace(fit).argument("--chip").argument(chip).run().expect_success());
    assert_eq!((&directions[0]["from"], &directions[0]["to"]), (&"0".into(), &"15".into()));
    (directions[0]["K"].as_f64().unwrap(), directions[0]["h"].as_f64().unwrap())
}

/// A copy of the teaching chip with other numbers.
fn changed(directory: &Path, changes: &[(&str, &str)]) -> std::path::PathBuf {
    let mut text = fs::read_to_string(root().join("chips/mesh16.toml")).unwrap();
    for (from, to) in changes {
        assert!(text.contains(from), "{from}");
        text = text.replace(from, to);
    }
    let file = directory.join("changed.toml");
    fs::write(&file, text).unwrap();
    file
}

#[test]
fn messages_go_twice_as_fast_over_links_and_interfaces_of_twice_the_width() {
    let directory = scratch("chips");
    let (per_byte, per_call) = law(Path::new("mesh16"));
    let changes = [
        ("link           = { value = 4,", "link           = { value = 8,"),
        ("receive        = { value = 0.25,", "receive        = { value = 0.125,"),
    ];
    let (wide_per_byte, wide_per_call) = law(&changed(&directory, &changes));
    assert!((per_byte - 0.25).abs() < 0.001 && (wide_per_byte - 0.125).abs() < 0.001, "{wide_per_byte}");
    assert!((per_call - wide_per_call).abs() < 100.0, "{per_call} and {wide_per_call}");
}

#[test]
fn a_cluster_that_moves_five_hops_nearer_is_two_ways_of_five_hops_quicker() {
    let directory = scratch("chips");
    let (_, far) = law(Path::new("mesh16"));
    // Clusters 1 and 15 change places: cluster 15 is now next to cluster 0, one hop away instead of six.
    let changes = [("[0, 0], [1, 0],", "[0, 0], [3, 3],"), ("[2, 3], [3, 3],", "[2, 3], [1, 0],")];
    let (_, near) = law(&changed(&directory, &changes));
    // A hop is 10 cycles; the receiver's word and the data go five of them less each.
    assert!((far - near - 100.0).abs() < 1.0, "{far} and {near}");
}

#[test]
fn mistakes_of_fit_and_reproduce_are_answered() {
    let refused = |job: Job, sentence: &str| {
        let ended = job.run();
        assert!(!ended.status.success() && ended.stderr.contains(sentence), "{ended}");
    };
    refused(corelace(["fit", "--to", "99"]), "an end is \"99\", expected a cluster, 0 to 15, or io");
    refused(corelace(["fit", "--sizes", "8"]), "--sizes is \"8\", expected at least two sizes");
    refused(corelace(["fit", "--chip", "mesh17"]), "mesh16");
    refused(corelace(["fit", "--protocol", "pigeon"]), "lwmpi-unopt");
    refused(
        corelace(["reproduce", "--only", "z."]),
        "--only is \"z.\", expected the beginning of one of: a.",
    );
    refused(corelace(["reproduce", "--seed", "005"]), "[possible values: 000, 001, 002, 003, 004]");
}

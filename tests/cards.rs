//! The cluster of DCFA-MPI: ranks on cards and hosts, registered memory, shadows, and programs in three modes.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::apps::{app, word};
use crate::support::job::{Ended, Job};
use crate::support::{corelace, mpirun, program, root, scratch};

fn on_cards(ranks: usize, flags: &[&str], program: &Path) -> Job {
    let ranks = ranks.to_string();
    let job = mpirun(["--chip", "xeonphi-ib8", "-n", &ranks, "--map", "scatter", "--stats=json"]);
    job.arguments(flags).argument(program)
}

fn stats(ended: &Ended) -> Value {
    let line = ended.stderr.lines().find(|line| line.starts_with('{')).expect("figures in JSON");
    serde_json::from_str(line).expect("one line of JSON")
}

#[test]
fn messages_of_every_size_arrive_whole_between_cards_hosts_and_both() {
    let program = program("all_to_all.c");
    for flags in [&["--on", "card"][..], &["--on", "host"], &["--on", "host,card"], &["--ipc", "intel-phi"]] {
        for bytes in ["1", "5000", "20000"] {
            on_cards(10, flags, &program).argument(bytes).run().expect_success().expect_output("no errors\n");
        }
    }
}

#[test]
fn receives_match_by_order_and_from_any_source_as_on_hosts() {
    for (name, ranks) in [("matching.c", 4), ("order.c", 4)] {
        on_cards(ranks, &[], &program(name)).run().expect_success();
    }
}

/// Letters and transfers of a message of so many bytes, by who comes first.
fn of_a_message(first: &str, bytes: &str, capacity: &str) -> (u64, u64) {
    let program = program("rendezvous.c");
    let sent = |messages: &str| {
        let words = [first, messages, bytes, capacity];
        let ended =
            on_cards(2, &[], &program).arguments(&words).run().expect_success().expect_output("no errors\n");
        ["letters", "transfers"].map(|key| stats(&ended)[key].as_u64().expect("a count"))
    };
    // What the longer run has more is ten messages: beginning and end drop out.
    let [letters, transfers] = [0, 1].map(|index| sent("11")[index] - sent("1")[index]);
    assert_eq!((letters % 10, transfers % 10), (0, 0), "{letters} {transfers}");
    (letters / 10, transfers / 10)
}

#[test]
fn who_comes_first_decides_the_rendezvous_and_both_mispredictions_end_well() {
    // RTS, the adapter's request of an RDMA read, DONE.
    assert_eq!(of_a_message("sender", "65536", "65536"), (3, 1));
    // RTR and DONE, beside an RDMA write.
    assert_eq!(of_a_message("receiver", "65536", "65536"), (2, 1));
    // The RTR is dropped.
    assert_eq!(of_a_message("both", "65536", "65536"), (4, 1));
    // An eager message meets a receive that has announced itself.
    assert_eq!(of_a_message("receiver", "4096", "65536"), (2, 0));
    assert_eq!(of_a_message("sender", "4096", "65536"), (1, 0));
    // A receive that expects an eager message gets an RTS: too long, and the sender is let go.
    assert_eq!(of_a_message("receiver", "65536", "4096"), (2, 0));
}

#[test]
fn what_is_registered_stays_so_and_the_run_says_how_often() {
    let commonly = app("commonly");
    let count = |words: &[&str]| {
        let job = on_cards(2, &[], &commonly).arguments(&["--sizes", "65536", "--repeat", "12"]);
        stats(&job.arguments(words).run().expect_success())
    };
    let (reused, fresh) = (count(&[]), count(&["--fresh"]));
    let number =
        |stats: &Value, key: &str| stats[key].as_u64().unwrap_or_else(|| panic!("no {key} in {stats}"));
    // Two ranks: a buffer to receive into, and the shadow of the one that is sent.
    assert_eq!((number(&reused, "registrations"), number(&reused, "evictions")), (4, 0));
    assert!(number(&reused, "registered_before") >= 2 * 13 * 2);
    // 14 iterations, of which the last 16 regions stay.
    assert_eq!(
        (number(&fresh, "registrations"), number(&fresh, "evictions")),
        (2 * 14 * 2, 2 * (14 * 2 - 16))
    );
    assert_eq!(number(&fresh, "shadowed"), 2 * 14 * 65536);
}

#[test]
fn the_three_modes_find_one_result_and_offloading_takes_longest() {
    let stencil = app("stencil5");
    let run = |ranks, flags: &[&str], mode: &str| {
        let words = ["--size", "130", "--steps", "5", "--threads", "56", "--mode", mode];
        let ended = on_cards(ranks, flags, &stencil).arguments(&words).run().expect_success();
        let line = ended.stdout.trim_end().to_owned();
        assert_eq!(word(&line, "check"), "passed", "{line}");
        let time: f64 = word(&line, "cycles").parse().unwrap();
        (word(&line, "result").to_owned(), time)
    };
    let (dcfa, direct) = run(4, &["--ipc", "dcfa"], "dcfa");
    let (card, intel) = run(4, &["--ipc", "intel-phi"], "card");
    let (offload, hosts) = run(8, &["--on", "host,card", "--ipc", "intel-offload"], "offload");
    assert_eq!((&dcfa, &dcfa), (&card, &offload));
    assert!(direct < intel && intel < hosts, "{direct} {intel} {hosts}");
}

#[test]
fn a_kind_or_a_software_that_is_not_there_is_refused_with_those_that_are() {
    let program = program("all_to_all.c");
    let refused = |flags: &[&str], reason: &str| {
        on_cards(2, flags, &program).run().expect_code(127).expect_said(&[reason])
    };
    refused(&["--on", "adapter"], "--on \"adapter\", expected one of: card host");
    refused(&["--ipc", "fast"], "--ipc \"fast\", expected one of: dcfa-direct dcfa");
}

/// A figure of the table for a copy of the description in which a text, which must be there, is replaced.
fn figure(id: &str, changes: &[(&str, &str)]) -> f64 {
    let mut text = fs::read_to_string(root().join("chips/xeonphi-ib8.toml")).unwrap();
    for (old, new) in changes {
        assert!(text.contains(old), "no {old}");
        text = text.replace(old, new);
    }
    let chip = scratch("cards").join("copy.toml");
    fs::write(&chip, text).unwrap();
    let ended = corelace(["reproduce", "--quick", "--json", "--seed", "002", "--only", id, "--chip"])
        .argument(&chip)
        .run();
    let figures: Vec<Value> =
        serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {ended}"));
    let found = figures.iter().find(|figure| figure["id"] == id).unwrap_or_else(|| panic!("{ended}"));
    found["ours"].as_f64().unwrap_or_else(|| panic!("{ended}"))
}

#[test]
fn figures_follow_a_changed_description_in_the_direction_and_by_the_amount_of_its_physics() {
    let out = ("bandwidth      = { value = 0.964", "bandwidth      = { value = 1.928");
    let ratio = figure("c.bw.direct", &[out]) / figure("c.bw.direct", &[]);
    assert!((ratio - 2.0).abs() < 0.05, "twice the way out of the card: {ratio}");
    let engine = (
        "{ value = 5.757, unit = \"GB/s\", from = \"chosen: as fast",
        "{ value = 2.8785, unit = \"GB/s\", from = \"chosen: as fast",
    );
    let ratio = figure("c.bw.offload", &[engine]) / figure("c.bw.offload", &[]);
    // One part of two takes twice as long.
    assert!((ratio - 2.0 / 3.0).abs() < 0.02, "half the rate of the engine: {ratio}");
    let dear = ("register       = { value = 50,", "register       = { value = 500,");
    let (fresh, dearer) = (figure("c.mr.fresh", &[]), figure("c.mr.fresh", &[dear]));
    assert!(dearer > 5.0 * fresh && fresh > 1.5, "{fresh} and {dearer}");
}

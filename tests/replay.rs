//! `corelace replay`: a recorded run on another machine takes as long as a run there.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::{MODES, corelace, mpirun, program, scratch};

/// A run of the program with something of everything: its trace.
#[track_caller]
fn recorded(words: &[&str]) -> PathBuf {
    let file = scratch("replay").join("run.trace");
    mpirun(words)
        .arguments(&["-n", "6", "--trace"])
        .argument(&file)
        .argument(program("recorded.c"))
        .run()
        .expect_success();
    file
}

/// What a replay says in JSON.
#[track_caller]
fn replayed(trace: &Path, words: &[&str]) -> Value {
    let ended = corelace(["replay", "--json"]).argument(trace).arguments(words).run().expect_success();
    serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {ended}"))
}

#[track_caller]
fn expect_near(one: &Value, other: &Value, what: &str) {
    let [one, other] = [one, other].map(|seconds| seconds.as_f64().expect("a number"));
    assert!((one / other - 1.0).abs() < 0.02, "{what}: {one} s beside {other} s");
}

#[test]
fn a_run_takes_as_long_as_it_did_on_the_chip_where_it_was_recorded() {
    let trace = recorded(&["--chip", "mesh16", "--map", "scatter"]);
    let replay = replayed(&trace, &["--chip", "mesh16", "--map", "scatter"]);
    for rank in 0..6 {
        let times = &replay["ranks"][rank];
        expect_near(&times["replayed"]["seconds"], &times["recorded"]["seconds"], &format!("rank {rank}"));
    }
    assert_eq!(replay["left_out"], 0);
    assert_eq!(replay["played"]["accesses"], 6 * 4, "two puts, a get and an accumulate of each rank");
}

#[test]
fn a_run_recorded_on_one_chip_takes_as_long_on_another_as_a_run_there() {
    // Computing is declared in cycles, of which a second has 1000 and 600 million.
    let flags = ["--chip", "mppa256-bostan", "--computing", "1.6666666667"];
    let elsewhere = replayed(&recorded(&["--chip", "mesh16"]), &flags);
    let there = replayed(&recorded(&["--chip", "mppa256-bostan"]), &flags[..2]);
    expect_near(&elsewhere["replayed"]["seconds"], &there["recorded"]["seconds"], "mppa256-bostan");
    assert_ne!(elsewhere["replayed"]["seconds"], elsewhere["recorded"]["seconds"]);
}

#[test]
fn runs_of_every_kind_of_ranks_are_replayed_whole_and_without_computing_by_request() {
    for mode in MODES {
        let trace = recorded(&["--ranks", mode]);
        let replay = replayed(&trace, &["--chip", "epiphany-iv", "--computing", "0"]);
        assert_eq!(replay["left_out"], 0, "{mode}");
        assert_eq!(replay["played"]["accesses"], 6 * 4, "{mode}");
        let seconds = replay["replayed"]["seconds"].as_f64().expect("a number");
        assert!(seconds > 0.0 && seconds < 0.1, "{mode}: {seconds} s of communication");
    }
}

#[test]
fn a_replay_leaves_a_trace_that_can_be_replayed() {
    let trace = recorded(&["--chip", "mesh16"]);
    let copy = trace.with_file_name("copy.trace");
    let text = corelace(["replay", "--chip", "mesh16", "--trace"])
        .argument(&copy)
        .argument(&trace)
        .run()
        .expect_success();
    assert!(text.stdout.contains("slowest rank") && text.stdout.contains("1.00"), "{text}");
    let again = replayed(&copy, &["--chip", "mesh16"]);
    assert_eq!(again["left_out"], 0);
}

#[test]
fn what_cannot_be_replayed_is_said() {
    let short = scratch("replay").join("short.trace");
    mpirun(["-n", "2", "--trace-limit", "32768", "--trace"])
        .argument(&short)
        .argument(program("traffic.c"))
        .arguments(&["1", "5000"])
        .run()
        .expect_success();
    let refused = |words: &[&str], expected: &str| {
        let ended = corelace(["replay"]).argument(&short).arguments(words).run();
        assert_ne!(ended.code(), 0, "{ended}");
        assert!(ended.stderr.contains(expected), "{words:?}: {ended}");
    };
    refused(&["--chip", "mesh16"], "record again with a larger --trace-limit");
    refused(&["--chip", "mesh17"], "mesh17");
    refused(
        &["--chip", "mesh16", "--computing", "-1"],
        "--computing -1: expected a number that is not negative",
    );
    refused(&["--chip", "mesh16", "--trace", &short.to_string_lossy()], "would overwrite");
}

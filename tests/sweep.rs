//! `corelace sweep`: a program on copies of a chip with other numbers.

use std::fs;
use std::io::Read;
use std::process::Command;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use rustix::process::Signal;

use crate::support::{compiled_with, corelace, mpirun, program, root, scratch, succeed};

#[test]
fn every_combination_runs_and_what_does_not_fit_is_a_line_among_the_others() {
    let plot = scratch("sweep").join("sweep.svg");
    let ended = corelace([
        "sweep",
        "mesh16",
        "--vary",
        "link=1,4",
        "--vary",
        "usable=16,1024KiB",
        "-n",
        "4",
        "--map",
        "scatter",
    ])
    .argument("--plot")
    .argument(&plot)
    .argument(program("all_to_all.c"))
    .argument("4000")
    .run()
    .expect_success();
    let lines: Vec<&str> = ended.stdout.lines().collect();
    assert_eq!(lines.len(), 5, "{ended}");
    assert!(lines[0].contains("network.data.link") && lines[0].contains("cluster.usable"), "{ended}");
    assert!(lines[1].contains("does not fit: ") && lines[3].contains("does not fit: "), "{ended}");
    assert!(lines[2].contains(" 1.000 ") && lines[4].contains(" 0."), "a wider link is faster: {ended}");
    assert_eq!(fs::read_to_string(plot).expect("it was written").matches("<polyline").count(), 1);
}

#[test]
fn a_sweep_says_what_a_run_says_and_a_source_file_is_compiled_once() {
    let source = root().join("examples/c/ring.c");
    let swept = corelace([
        "sweep",
        "mesh16",
        "--vary",
        "network.*.router=5,50",
        "--json",
        "-n",
        "3",
        "--map",
        "scatter",
        "--jobs",
        "1",
        "--",
    ])
    .argument(&source)
    .run()
    .expect_success();
    let swept: serde_json::Value = serde_json::from_str(&swept.stdout).expect("JSON");
    let alone = mpirun(["--chip", "mesh16", "-n", "3", "--map", "scatter", "--stats=json"])
        .argument(compiled_with(&source, &["-O2", "-g", "--count"]));
    let alone = alone.run().expect_success();
    let line = alone.stderr.lines().find(|line| line.starts_with('{')).expect("figures in JSON");
    let alone: serde_json::Value = serde_json::from_str(line).expect("JSON");
    assert_eq!(swept["rows"][0]["run"]["cycles"], alone["cycles"]);
    assert!(swept["rows"][1]["run"]["cycles"].as_u64() > alone["cycles"].as_u64(), "{swept}");
}

#[test]
fn keys_that_are_not_there_are_refused_with_those_that_are() {
    let ended = corelace(["sweep", "mesh16", "--vary", "network.data.lnk=2", "--", "true"]).run();
    assert!(ended.stderr.contains("mesh16 has no number 'network.data.lnk'"), "{ended}");
    let ended = corelace(["sweep", "mesh16", "--vary", "link=4MB", "--", "true"]).run();
    assert!(ended.stderr.contains("no combination is a chip"), "{ended}");
}

#[test]
fn an_interrupt_ends_all_runs_and_leaves_nothing() {
    let pipe = scratch("sweep").join("pipe");
    let mut make = Command::new("mkfifo");
    make.arg(&pipe);
    succeed(make);
    let words = ["sweep", "mesh16", "--vary", "router=1,2,3,4,5,6,7,8", "-n", "2", "--jobs", "2", "--"];
    let running = corelace(words).argument(program("stays.c")).argument(&pipe).start();
    let (told, hear) = mpsc::channel();
    thread::spawn(move || {
        let mut both = [0; 2];
        let read = fs::File::open(&pipe).and_then(|mut pipe| pipe.read_exact(&mut both));
        _ = told.send(read);
    });
    hear.recv_timeout(Duration::from_secs(100)).expect("runs that start").expect("a word of both");
    running.signal(Signal::TERM);
    running.wait().expect_code(130).expect_said(&["corelace: interrupted"]);
    running.expect_nothing_left();
}

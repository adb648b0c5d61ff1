//! From a run to its report: known faults are named, and every form of the report is made.

use std::fs;
use std::path::PathBuf;

use crate::support::job::Ended;
use crate::support::{MODES, compile, compiled, corelace, mpirun, program, root, scratch};

/// The trace of `known_faults.c` on four clusters of a chip, slow in the way that is named.
fn faulty(what: &str) -> PathBuf {
    let file = scratch("trace").join("job.trace");
    let job = mpirun(["--chip", "mppa256-andey", "-n", "4", "--map", "scatter", "--trace"]).argument(&file);
    job.argument(program("known_faults.c"))
        .argument(what)
        .run()
        .expect_success()
        .expect_output("no errors\n");
    file
}

fn text(trace: &PathBuf) -> Ended {
    corelace(["report", "--text"]).argument(trace).run().expect_success()
}

#[track_caller]
fn expect_sentence(ended: &Ended, parts: &[&str]) {
    let said = ended.stdout.lines().any(|line| parts.iter().all(|part| line.contains(part)));
    assert!(said, "no sentence with {parts:?}\n{ended}");
}

#[test]
fn a_late_sender_is_named_with_who_waited_for_it() {
    expect_sentence(&text(&faulty("late")), &["Rank 1 waited", "MPI_Recv", "for rank 0", "sent late"]);
}

#[test]
fn an_imbalance_is_named_with_the_rank_that_computes_longest() {
    expect_sentence(&text(&faulty("unbalanced")), &["unbalanced", "rank 2 computed"]);
}

#[test]
fn a_hot_link_is_named_by_its_ends() {
    expect_sentence(&text(&faulty("hot")), &["link C0 → C1 carried most"]);
}

#[test]
fn a_run_of_processes_is_made_into_a_page_and_into_the_formats_of_other_viewers() {
    let room = scratch("report");
    let (trace, page, chrome, csv) =
        (room.join("job.trace"), room.join("page.html"), room.join("job.json"), room.join("job.csv"));
    let stencil = compiled(&root().join("examples/c/stencil.c"));
    mpirun(["-n", "4", "--trace"]).argument(&trace).argument(&stencil).run().expect_success();
    corelace(["report", "-o"]).argument(&page).argument(&trace).run().expect_success();
    corelace(["report", "--format", "chrome", "-o"])
        .argument(&chrome)
        .argument(&trace)
        .run()
        .expect_success();
    corelace(["report", "--format", "csv", "-o"]).argument(&csv).argument(&trace).run().expect_success();
    assert!(fs::read_to_string(&page).unwrap().contains("<canvas"));
    let events: serde_json::Value = serde_json::from_str(&fs::read_to_string(&chrome).unwrap()).unwrap();
    assert!(events["traceEvents"].as_array().is_some_and(|events| events.len() > 100), "{events:.200}");
    assert!(fs::read_to_string(&csv).unwrap().lines().count() > 100);
}

#[test]
fn what_is_no_trace_is_refused_by_name() {
    let ended = corelace(["report", "--text"]).argument(root().join("README.md")).run();
    assert!(!ended.status.success() && ended.stderr.contains("README.md"), "{ended}");
}

/// The number of the one line of a program's source that holds this text.
fn line_of(source: &std::path::Path, text: &str) -> usize {
    let source = fs::read_to_string(source).unwrap();
    let mut lines =
        (1..).zip(source.lines()).filter(|(_, line)| line.contains(text)).map(|(number, _)| number);
    let line = lines.next().expect("the program has such a line");
    assert_eq!(lines.next(), None, "one line holds {text}");
    line
}

#[test]
fn call_sites_are_files_and_lines_where_the_program_was_compiled_with_debug_information() {
    let source = root().join("tests/c/known_faults.c");
    let room = scratch("debug");
    let program = room.join("known_faults");
    compile(&source, &program, &["-g"]);
    let receive = format!("main at c/known_faults.c:{}", line_of(&source, "MPI_Recv(data, 8"));
    let modes = [["--ranks", "process"], ["--ranks", "thread"], ["--ranks", "fiber"], ["--chip", "mesh16"]];
    for mode in modes {
        let (trace, csv) = (room.join("job.trace"), room.join("job.csv"));
        let job = mpirun(mode).arguments(&["-n", "2", "--trace"]).argument(&trace).argument(&program);
        job.argument("late").run().expect_success();
        corelace(["report", "--format", "csv", "-o"]).argument(&csv).argument(&trace).run().expect_success();
        let calls = fs::read_to_string(&csv).unwrap();
        let found = calls.lines().any(|line| line.contains("MPI_Recv") && line.contains(&receive));
        assert!(found, "{mode:?}: no call of MPI_Recv in {receive}\n{calls}");
    }
}

/// A rank that waited, why, and for whom, as the table of values has it.
fn held(csv: &str) -> Vec<(String, String, String)> {
    let rows = csv.lines().filter(|row| row.starts_with("held,"));
    rows.map(|row| {
        let cells: Vec<&str> = row.split(',').collect();
        (cells[1].to_owned(), cells[4].to_owned(), cells[6].to_owned())
    })
    .collect()
}

#[test]
fn waits_at_windows_are_named_with_who_held_them_up() {
    for mode in MODES {
        let room = scratch("windows");
        let (trace, csv) = (room.join("job.trace"), room.join("job.csv"));
        let job = mpirun(["--ranks", mode, "-n", "3", "--trace"]).argument(&trace);
        job.argument(program("onesided_waits.c")).run().expect_success().expect_output("no errors\n");
        corelace(["report", "--format", "csv", "-o"]).argument(&csv).argument(&trace).run().expect_success();
        let rows = fs::read_to_string(&csv).unwrap();
        for (rank, why, peer) in [
            ("1", "had the lock", "0"),
            ("1", "late to post", "2"),
            ("2", "late to complete", "1"),
            ("1", "came last to the fence", "0"),
            ("2", "came last to the fence", "0"),
        ] {
            // Fibers of one worker run one after the other: who holds a lock is not held up while it works.
            let wanted = (rank.to_owned(), why.to_owned(), peer.to_owned());
            let found = held(&rows).contains(&wanted);
            assert!(found || mode == "fiber", "{mode}: rank {rank} was not held up by {peer}, {why}\n{rows}");
        }
        assert!(rows.contains(",put,,2,,4096,") && rows.contains("exclusive lock,,2,"), "{mode}\n{rows}");
    }
}

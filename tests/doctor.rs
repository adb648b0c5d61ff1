//! `corelace doctor`: what it says beforehand is what a job then meets.

use std::process::Command;

use serde_json::Value;

use crate::support::job::Ended;
use crate::support::{corelace, started_by};
use crate::surroundings::{shell, unshared, without};

/// What the doctor says in these surroundings, by the name of the finding.
fn findings(surroundings: Command, more: &[&str]) -> (Ended, Vec<Value>) {
    let job = started_by(surroundings, "corelace", ["doctor", "--json"]).arguments(more);
    let ended = job.run();
    let list = serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {ended}"));
    (ended, list)
}

/// Grade, value and meaning of a finding.
#[track_caller]
fn found<'a>(findings: &'a [Value], what: &str) -> [&'a str; 3] {
    let finding = findings.iter().find(|finding| finding["what"] == what);
    let finding = finding.unwrap_or_else(|| panic!("nothing about {what} in {findings:#?}"));
    ["grade", "value", "meaning"].map(|field| finding[field].as_str().expect("a text"))
}

#[test]
fn a_job_of_each_kind_of_ranks_is_tried() {
    let ended = corelace(["doctor"]).run().expect_success();
    for line in ["ok    job of processes", "ok    job of threads", "ok    job of fibers"] {
        assert!(ended.stdout.contains(line), "{line}: {ended}");
    }
    let verdict = ended.stdout.lines().last().expect("a last line");
    assert!(verdict.starts_with("MPI programs run on this machine"), "{ended}");
}

#[test]
fn quick_looks_and_runs_nothing() {
    let (ended, list) = findings(Command::new("env"), &["--quick"]);
    assert_eq!(ended.code(), 0, "{ended}");
    assert!(list.iter().all(|finding| !finding["what"].as_str().unwrap().contains("job")), "{ended}");
    for what in ["kernel", "pidfd", "memfd", "/proc", "open files", "stack", "core files"] {
        assert_eq!(found(&list, what)[0], "good", "{what}: {ended}");
    }
}

#[test]
fn what_a_filter_takes_away_is_found() {
    let (ended, list) = findings(without(&["membarrier", "process_vm_writev"]), &["--quick"]);
    assert_eq!(ended.code(), 0, "slower, but everything works: {ended}");
    for what in ["membarrier, processes", "membarrier, threads", "reading a peer"] {
        assert_eq!(found(&list, what)[0], "fair", "{what}: {ended}");
    }
    let (ended, list) = findings(without(&["pidfd_open=ENOSYS"]), &[]);
    assert_eq!(ended.code(), 1, "{ended}");
    assert_eq!(found(&list, "pidfd")[0], "bad", "{ended}");
    let [grade, value, said] = found(&list, "job of processes");
    assert_eq!((grade, value), ("bad", "failed"), "{ended}");
    assert!(said.contains("pidfd_open"), "the launcher's own words: {ended}");
}

#[test]
fn limits_are_told_as_numbers_of_ranks() {
    let (ended, list) =
        findings(shell("ulimit -n 120; ulimit -f 512; ulimit -v 1000000; ulimit -s 512"), &["--quick"]);
    assert_eq!(ended.code(), 1, "no two processes fit into so little: {ended}");
    let [grade, value, meaning] = found(&list, "open files");
    assert_eq!((grade, value), ("fair", "120, at most 120"), "{ended}");
    assert!(meaning.contains("about 16 ranks"), "{ended}");
    let [grade, value, meaning] = found(&list, "file size");
    // Shells count blocks of 512 or of 1024 bytes.
    assert!(grade == "bad" && ["256 KiB", "512 KiB"].contains(&value), "{ended}");
    assert!(meaning.contains("about 0 ranks"), "{ended}");
    let [grade, _, meaning] = found(&list, "address space");
    assert!(grade == "fair" && meaning.contains("ranks that are threads or fibers"), "{ended}");
    assert_eq!(found(&list, "stack")[..2], ["fair", "512 KiB"], "{ended}");
}

#[test]
fn without_proc_the_doctor_says_which_ranks_do_without() {
    let (ended, list) = findings(unshared(&[], "mount -t tmpfs none /proc"), &[]);
    let [grade, value, meaning] = found(&list, "/proc");
    assert_eq!((grade, value), ("fair", "not there"), "{ended}");
    assert!(meaning.contains("--ranks process"), "{ended}");
    assert_eq!(found(&list, "job of processes")[0], "good", "{ended}");
    assert_eq!(found(&list, "job of fibers")[0], "bad", "{ended}");
}

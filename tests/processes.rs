//! Processes that come later (MPI chapter 11): a job that ranks have started is watched, explained and ended like the first.

use std::process::Command;
use std::time::Duration;

use crate::support::{job::Ended, mpirun, on, program, started_by};

#[test]
fn what_the_standard_says_of_spawning_ports_and_names_holds() {
    let program = program("spawn.c");
    for ranks in [1, 3] {
        let ended = on("process", ranks, &program).run().expect_success().expect_output("no errors\n");
        assert_eq!(ended.stderr, "", "{ranks} ranks: {ended}");
    }
    let checked = mpirun(["--check", "-n", "2"]).argument(&program).run();
    let checked = checked.expect_success().expect_output("no errors\n");
    assert_eq!(checked.stderr, "", "{checked}");
}

#[test]
fn a_thousand_workers_come_one_after_the_other_with_few_descriptors() {
    // Fewer descriptors than workers, so the launcher must give back what it holds of those that ended.
    let mut limited = Command::new("sh");
    limited.args(["-c", "ulimit -n 256; exec \"$@\"", "sh", "env"]);
    let job = started_by(limited, "mpirun", ["-n", "1"]).argument(program("spawn_pool.c")).argument("1000");
    let ended = job.limit(Duration::from_secs(1200)).run();
    ended.expect_success().expect_output("1000\n");
}

/// A job of two ranks that start two others.
fn ends(what: &str) -> Ended {
    mpirun(["--timeout", "20", "--hang-timeout", "1", "--on-hang", "abort", "-n", "2"])
        .argument(program("spawn_ends.c"))
        .argument(what)
        .run()
}

#[test]
fn a_child_that_crashes_ends_the_job_and_is_named() {
    let ended = ends("child crashes");
    assert_eq!(ended.status.code(), Some(128 + 11), "{ended}");
    assert!(ended.stderr.contains("rank 1 of spawned job 1 (pid "), "{ended}");
    assert!(ended.stderr.contains("was killed by signal 11 (SIGSEGV)"), "{ended}");
}

#[test]
fn a_parent_that_dies_takes_its_children_along() {
    let ended = ends("parent dies");
    assert_eq!(ended.status.code(), Some(128 + 9), "{ended}");
    assert!(ended.stderr.contains("rank 0 (pid "), "{ended}");
}

#[test]
fn a_child_that_aborts_ends_all_that_are_connected() {
    let ended = ends("child aborts");
    assert_eq!(ended.status.code(), Some(9), "{ended}");
    assert!(ended.stderr.contains("rank 1 of spawned job 1 (pid "), "{ended}");
}

#[test]
fn the_status_of_a_child_is_a_status_of_the_job() {
    let ended = ends("child exits");
    assert_eq!(ended.status.code(), Some(7), "{ended}");
    assert_eq!(ended.stdout.matches("children are there\n").count(), 2, "{ended}");
}

#[test]
fn a_program_that_is_missing_is_named_where_nobody_asks_for_codes() {
    let ended = ends("missing");
    assert!(ended.stderr.contains("program \"no-such-program\" not found"), "{ended}");
}

#[test]
fn a_port_that_nobody_accepts_at_is_a_hang_that_is_explained() {
    let ended = ends("nobody");
    assert_eq!(ended.status.code(), Some(125), "{ended}");
    assert!(ended.stderr.contains("MPI_Comm_connect"), "{ended}");
}

#[test]
fn children_that_wait_for_ever_are_explained_with_their_parents() {
    let ended = ends("hang");
    assert_eq!(ended.status.code(), Some(125), "{ended}");
    assert!(ended.stderr.contains("all 4 ranks have waited"), "{ended}");
}

#[test]
fn ranks_that_share_a_process_say_that_they_cannot() {
    let program = program("spawn_ends.c");
    for mode in ["thread", "fiber"] {
        let ended = on(mode, 2, &program).argument("hang").run();
        assert!(ended.stderr.contains("--ranks process can"), "{mode}: {ended}");
    }
}

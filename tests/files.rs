//! Files (MPI chapter 14), through C programs that check themselves, in every kind of ranks.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::abi::mpich;
use crate::support::job::{Ended, Job};
use crate::support::{MODES, mpirun, on, program, scratch};

/// The programs that anybody may run.
const PROGRAMS: [&str; 5] = ["files.c", "files_beside.c", "files_forms.c", "files_views.c", "files_errors.c"];

#[test]
fn files_are_read_and_written_in_every_form_by_every_kind_of_ranks() {
    for name in PROGRAMS {
        let program = program(name);
        for ranks in [1, 5] {
            for mode in MODES {
                let ended = on(mode, ranks, &program).run().expect_success().expect_output("no errors\n");
                assert_eq!(ended.stderr, "", "{mode}, {ranks} ranks: {ended}");
            }
        }
    }
}

#[test]
fn collective_accesses_to_files_read_nothing_else_from_the_system() {
    let program = program("files_reads.c");
    for ranks in [1, 3] {
        for mode in MODES {
            on(mode, ranks, &program).run().expect_success().expect_output("no errors\n");
        }
    }
}

/// Their bytes go through memory that is shared, or in pieces.
#[test]
fn files_work_between_processes_that_may_not_read_each_other() {
    for name in ["files_forms.c", "files_views.c"] {
        let job = on("process", 4, &program(name)).variable("CORELACE_CMA", "off");
        job.run().expect_success().expect_output("no errors\n");
    }
}

#[test]
fn threads_may_have_files_of_their_own_and_share_one() {
    let program = program("files_threads.c");
    for (ranks, lanes) in [(1, "8"), (3, "1"), (3, "8")] {
        let ended = on("process", ranks, &program).variable("CORELACE_LANES", lanes).run();
        ended.expect_success().expect_output("no errors\n");
    }
}

#[test]
fn files_are_those_of_the_host_on_chips() {
    for (chip, name) in
        [("mppa256-andey", "files_forms.c"), ("mesh16", "files_views.c"), ("mesh16", "files.c")]
    {
        let job = mpirun(["--chip", chip, "--map", "scatter", "-n", "4"]).argument(program(name));
        job.run().expect_success().expect_output("no errors\n");
    }
}

/// The byte at a place of a record, as the program computes it.
fn pattern(from: usize, message: usize, at: usize) -> u8 {
    (from * 31 + message * 7 + at * 13 + (at >> 8) * 5 + 1) as u8
}

#[test]
fn what_was_written_before_a_rank_is_killed_is_in_the_file_and_no_lock_is_left() {
    const RECORD: usize = 5000;
    const RECORDS: usize = 60;
    let program = program("files_killed.c");
    let file = scratch("killed").join("records");
    let (name, count) = (file.to_str().expect("a plain name"), RECORDS.to_string());
    let ended = on("process", 3, &program).arguments(&[name, &count]).run();
    assert_ne!(ended.code(), 0, "{ended}");
    let written = fs::read(&file).expect("the file");
    let told: Vec<(usize, usize)> = ended
        .stdout
        .lines()
        .filter_map(|line| {
            let (rank, record) = line.split_once(' ')?;
            Some((rank.parse().ok()?, record.parse().ok()?))
        })
        .collect();
    assert!(told.iter().any(|(rank, record)| (*rank, *record) == (1, RECORDS / 2)), "{ended}");
    for (rank, record) in told {
        let start = (rank * RECORDS + record) * RECORD;
        let wrong = (0..RECORD).find(|at| written[(start + at) * 2] != pattern(rank, record, *at));
        assert_eq!(wrong, None, "record {record} of rank {rank}");
    }
    // The same file once more, with locks, by ranks of which none is killed.
    on("process", 1, &program).arguments(&[name, &count]).run().expect_success();
}

/// Under a limit of the user's; /dev/full, which the programs write to, is a full disk.
#[test]
fn a_file_that_may_not_grow_says_that_the_quota_is_used_up() {
    let program = program("files_limit.c");
    let file = scratch("limit").join("short");
    on("process", 2, &program).argument(&file).run().expect_success().expect_output("no errors\n");
}

/// Runs the program on one of the two libraries.
fn exchange(on_mpich: bool, way: &str, file: &Path) -> Ended {
    let program = program("files_exchange.c");
    let job = if on_mpich {
        let mut launcher = Command::new(mpich().program("mpiexec"));
        launcher.args(["-n", "4"]).arg(program);
        Job::of(launcher).variable("LD_LIBRARY_PATH", mpich().root().join("lib"))
    } else {
        on("process", 4, &program)
    };
    job.argument(way).argument(file).run().expect_success().expect_output("no errors\n")
}

#[test]
fn files_of_mpich_are_read_and_ours_are_read_by_it_native_and_external32() {
    let folder = scratch("exchange");
    for (writes, reads) in [(true, false), (false, true)] {
        let file = folder.join(format!("matrix-{writes}"));
        exchange(writes, "write", &file);
        exchange(reads, "read", &file);
    }
    let bytes = |file: &str| fs::read(folder.join(file)).expect("a file");
    for representation in ["native", "external32"] {
        let ours = bytes(&format!("matrix-false.{representation}"));
        assert!(ours == bytes(&format!("matrix-true.{representation}")), "{representation}");
    }
}

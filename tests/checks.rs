//! `mpirun --check`: wrong programs are told what is wrong and where. (That right ones are told nothing is in `right.rs`.)

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use crate::support::job::Ended;
use crate::support::{MODES, compile, mpirun, on, program, root, scratch};

/// The status of a job that ended well but for what was found.
const FOUND: i32 = 3;

/// The program of mistakes, with debug information.
fn mistakes() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let product = scratch("checks").join("checks");
        let source = root().join("tests/c/checks.c");
        compile(&source, &product, &["-g", "-O0", "-DWITH_THREADS", "-pthread"]);
        product
    })
}

fn checked(mode: &str, mistake: &str) -> Ended {
    mpirun(["--check", "--timeout", "60", "--ranks", mode, "-n", "2"])
        .argument(mistakes())
        .argument(mistake)
        .run()
}

/// Makes a mistake in every kind of ranks; each of these must be in one line of what is said.
fn is_found(mistake: &str, code: i32, lines: &[&[&str]]) {
    for mode in MODES {
        let ended = checked(mode, mistake).expect_code(code);
        for parts in lines {
            assert!(
                ended.stderr.lines().any(|line| parts.iter().all(|part| line.contains(part))),
                "{mistake}, {mode}: no line with {parts:?}\n{ended}"
            );
        }
        // And nothing is said by the same program without checks.
        let quiet = ["leaked", "changed", "overlapping", "aliased", "unreceived"];
        if quiet.iter().any(|start| mistake.starts_with(start)) && mistake != "unreceived-long" {
            let ended = on(mode, 2, mistakes()).argument(mistake).run().expect_success();
            assert_eq!(ended.stderr, "", "{mistake}, {mode}");
        }
    }
}

#[test]
fn objects_that_are_never_freed_are_counted_by_the_call_that_made_them() {
    is_found(
        "leaked-objects",
        FOUND,
        &[
            &["check: rank 0: 3 communicators made by MPI_Comm_dup in leaked_objects at ", "checks.c:18"],
            &["check: rank 1: 1 datatype made by MPI_Type_contiguous", "was not freed before MPI_Finalize"],
            &["rank 1: 1 group made by MPI_Comm_group"],
            &["rank 0: 1 info object made by MPI_Info_create"],
            &["check: 8 findings"],
        ],
    );
}

#[test]
fn requests_that_are_left_say_what_they_are_and_how_far_they_got() {
    is_found(
        "leaked-requests",
        FOUND,
        &[
            &[
                "rank 1: the request of MPI_Irecv in leaked_requests at ",
                "(a receive from rank 0 with tag 77) is not complete at MPI_Finalize",
            ],
            &["rank 0: the request of MPI_Isend in ", "complete, but was never waited for, tested or freed"],
            &["rank 0: the request of MPI_Send_init in ", "is inactive, but was never freed"],
        ],
    );
}

#[test]
fn messages_that_nobody_receives_name_their_sender() {
    is_found(
        "unreceived",
        FOUND,
        &[&[
            "rank 1: a message of 20 bytes from rank 0 with tag 42 on MPI_COMM_WORLD was never received",
            "MPI_Send in unreceived at ",
        ]],
    );
    is_found(
        "unreceived-long",
        FOUND,
        &[
            &[
                "rank 1: a message of 400000 bytes from rank 0 with tag 43",
                "MPI_Isend in unreceived_long at ",
            ],
            &["rank 0: the request of MPI_Isend in unreceived_long", "is not complete at MPI_Finalize"],
        ],
    );
}

#[test]
fn data_that_changes_while_a_send_owns_it_is_found_whatever_its_size() {
    for (mistake, call) in
        [("changed-short", "MPI_Isend"), ("changed-long", "MPI_Isend"), ("changed-persistent", "MPI_Start")]
    {
        let beginning = format!("check: rank 0: buf of {call} in changed_");
        is_found(
            mistake,
            FOUND,
            &[&[&beginning, "was changed before MPI_Wait in changed_"], &["check: 1 finding"]],
        );
    }
}

#[test]
fn memory_of_two_operations_at_once_is_found_when_the_second_begins() {
    is_found(
        "overlapping-receives",
        FOUND,
        &[
            &[
                "rank 0: MPI_Irecv in overlapping_receives at ",
                "4 bytes of buf from 0x",
                "are also buf of a receive from rank 1 with tag 1 that MPI_Irecv in overlapping_receives at ",
            ],
            &["check: 2 findings"],
        ],
    );
    is_found(
        "send-of-a-receive",
        FOUND,
        &[&["rank 1: MPI_Send in send_of_a_receive", "are to be read, and are also buf"]],
    );
    is_found(
        "aliased-collective",
        FOUND,
        &[&["MPI_Allreduce in aliased_collective", "sendbuf and recvbuf overlap"]],
    );
}

#[test]
fn collective_calls_that_differ_are_found_before_they_hang() {
    is_found(
        "different-functions",
        FOUND,
        &[&[
            "rank 0: collective call 1 on MPI_COMM_WORLD differs in its function: rank 0 calls MPI_Barrier in ",
            "rank 1 calls MPI_Bcast in different_functions at ",
            "with root 1 and 16 bytes of MPI_INT",
        ]],
    );
    is_found(
        "different-roots",
        FOUND,
        &[&["differs in its root", "with root 0 and 16 bytes", "with root 1 and 16 bytes"]],
    );
    is_found("different-ops", FOUND, &[&["differs in its operation", "MPI_SUM", "MPI_MAX"]]);
    is_found(
        "different-pending",
        FOUND,
        &[&[
            "collective call 1 on the communicator that MPI_Comm_dup in ",
            "MPI_Ibarrier in ",
            "MPI_Ibcast in ",
        ]],
    );
    for mode in MODES {
        let ended = checked(mode, "different-counts");
        assert!(
            !ended.status.success() && ended.stderr.contains("differs in its number of bytes"),
            "{ended}"
        );
    }
}

#[test]
fn a_handle_used_after_its_end_says_where_that_was() {
    is_found(
        "freed-handles",
        FOUND,
        &[
            &[
                "MPI_Barrier in freed_handles",
                "comm names a communicator that is gone",
                "MPI_Comm_free in freed_handles",
            ],
            &["request names a request that is gone: MPI_Irecv in ", "and MPI_Wait in freed_handles"],
        ],
    );
    is_found(
        "uncommitted",
        FOUND,
        &[&["MPI_Send in uncommitted", "datatype, which MPI_Type_contiguous in ", "is not committed"]],
    );
}

#[test]
fn a_message_received_as_another_type_is_told_with_both_calls() {
    is_found(
        "other-type",
        FOUND,
        &[&[
            "rank 1: MPI_Recv in other_type at ",
            "receives 10 MPI_FLOAT from rank 0 with tag 9, but MPI_Send in other_type at ",
            "sent 10 MPI_INT: element 0 is sent as MPI_INT and received as MPI_FLOAT",
        ]],
    );
    is_found(
        "other-type-in-a-crowd",
        FOUND,
        &[
            &["MPI_Irecv in other_type_in_a_crowd", "receives 10 MPI_UNSIGNED", "sent 10 MPI_INT"],
            &["check: 1 finding"],
        ],
    );
}

#[test]
fn what_only_looks_like_a_mistake_is_none() {
    // A send that was cancelled is not taken for the next one; nothing is received from nobody.
    for (mode, right) in MODES.iter().flat_map(|mode| [(mode, "cancelled-send"), (mode, "null-neighbours")]) {
        let ended = checked(mode, right).expect_success();
        assert_eq!(ended.stderr, "", "{right}, {mode}");
    }
}

#[test]
fn threads_keep_to_the_level_that_was_provided() {
    for (mistake, text) in [
        ("wrong-thread", "MPI_Send in send_to_self at "),
        ("wrong-thread", "called by another thread than the one that called MPI_Init"),
        ("two-threads", "MPI_Comm_size in call_meanwhile at "),
        ("two-threads", "expected one thread at a time (MPI_THREAD_SERIALIZED was provided)"),
    ] {
        checked("process", mistake).expect_code(FOUND).expect_said(&[text]);
    }
}

#[test]
fn threads_may_call_at_once_where_they_were_promised_that_they_may() {
    // Each asks for MPI_THREAD_MULTIPLE, and says so if it gets less.
    for (name, arguments) in [("threads.c", &["multiple"][..]), ("checked_threads.c", &[])] {
        let job = mpirun(["--check", "-n", "3"]).argument(program(name)).arguments(arguments);
        let ended = job.run().expect_success().expect_output("no errors\n");
        assert_eq!(ended.stderr, "", "{name}");
    }
}

#[test]
fn checks_need_no_launcher_and_refuse_what_they_do_not_understand() {
    let alone = |value: &str| {
        let mut command = std::process::Command::new(mistakes());
        command.arg("leaked-objects").env("CORELACE_CHECK", value);
        crate::support::job::Job::of(command).run()
    };
    alone("1").expect_success().expect_said(&["check: rank 0: 3 communicators made by MPI_Comm_dup in /"]);
    assert_eq!(alone("0").expect_success().stderr, "");
    assert!(alone("perhaps").stderr.contains("CORELACE_CHECK is \"perhaps\", expected 1 or 0"));
}

#[test]
fn nothing_is_kept_of_communicators_that_are_gone() {
    /// KiB; what was kept once of so many was a hundred times as much. A number each is, so that none is given twice.
    const GROWTH: i64 = 4096;
    let job = mpirun(["--check", "-n", "2"]).argument(program("dup_and_free.c")).argument("100000");
    let ended = job.limit(Duration::from_secs(300)).run().expect_success();
    assert_eq!(ended.stderr, "");
    let grown = ended.stdout.lines().find_map(|line| line.strip_prefix("grown by ")?.strip_suffix(" KiB"));
    let grown: i64 = grown.expect("told by rank 0").parse().expect("a number");
    assert!(grown < GROWTH, "grown by {grown} KiB");
}

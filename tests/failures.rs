//! Jobs that end badly: what is said, which status, and that nothing is left, in every kind of ranks.

use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::support::job::{Ended, Running, kill};
use crate::support::{MODES, mpirun, on, program};

/// Where the ranks of `moments.c` stay.
const MOMENTS: [&str; 4] = ["before-init", "waiting", "transfer", "after-finalize"];

/// Starts ranks that go to a moment and stay there; returns the process of each that has arrived.
fn at(moment: &str, mode: &str, ranks: usize) -> (Running, Vec<(usize, u32)>) {
    let job = on(mode, ranks, &program("moments.c")).argument(moment).start();
    // A rank that blocks outside of MPI holds up those that share its thread.
    let arrived = if mode == "process" { ranks } else { 1 };
    let numbers = |line: String| {
        let (rank, pid) = line.split_once(' ').expect("rank and process");
        (rank.parse().expect("a rank"), pid.parse().expect("a process"))
    };
    let places = job.lines(arrived).into_iter().map(numbers).collect();
    (job, places)
}

#[test]
fn a_killed_process_rank_is_named_and_ends_the_job_at_every_moment() {
    for moment in MOMENTS {
        for victim in [0, 3, 5] {
            let (job, places) = at(moment, "process", 6);
            let pid = places.iter().find(|(rank, _)| *rank == victim).expect("every rank arrived").1;
            kill(pid, Signal::KILL);
            let ended = job.wait().expect_code(137);
            let expected = format!(
                "corelace: rank {victim} (pid {pid}, moments) was killed by signal 9 (SIGKILL); the other 5 ranks were ended\n"
            );
            assert_eq!(ended.stderr, expected, "{moment}: {ended}");
            job.expect_nothing_left();
        }
    }
}

#[test]
fn a_killed_host_of_threads_or_fibers_ends_the_job_at_every_moment() {
    for moment in MOMENTS {
        for mode in ["thread", "fiber"] {
            let (job, places) = at(moment, mode, 6);
            kill(places[0].1, Signal::KILL);
            let ended = job.wait().expect_code(137);
            assert!(ended.stderr.contains("was killed by signal 9 (SIGKILL)"), "{mode} at {moment}: {ended}");
            job.expect_nothing_left();
        }
    }
}

#[test]
fn a_signal_to_the_launcher_ends_every_rank() {
    for mode in MODES {
        for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
            let (job, _) = at("waiting", mode, 5);
            job.signal(signal);
            job.wait().expect_code(code).expect_said(&["5 ranks were ended"]);
            job.expect_nothing_left();
        }
    }
}

#[test]
fn ranks_do_not_outlive_a_killed_launcher() {
    for mode in MODES {
        let (job, _) = at("waiting", mode, 5);
        job.signal(Signal::KILL);
        job.wait().expect_code(1009);
        job.expect_nothing_left();
    }
}

#[test]
fn a_timeout_ends_ranks_that_wait_with_124() {
    for (mode, moment) in [("process", "waiting"), ("thread", "waiting"), ("fiber", "transfer")] {
        let began = Instant::now();
        let job = mpirun(["--timeout", "1", "--ranks", mode, "-n", "4"]);
        let job = job.argument(program("moments.c")).argument(moment).start();
        job.wait().expect_code(124).expect_said(&["did not end within 1 s", "4 ranks were ended"]);
        job.expect_nothing_left();
        assert!(began.elapsed() < Duration::from_secs(30), "{mode}: ended only after {:?}", began.elapsed());
    }
}

/// `endings.c` on five ranks; the last but one does something unusual.
fn ending(how: &str, mode: &str) -> Ended {
    let job = on(mode, 5, &program("endings.c")).argument(how).start();
    let ended = job.wait();
    job.expect_nothing_left();
    ended
}

#[test]
fn abort_gives_the_job_its_code_whatever_the_ranks_are() {
    for mode in MODES {
        let ended = ending("abort", mode).expect_code(7);
        assert_eq!(
            ended.stderr,
            "corelace: rank 3 ended the job with code 7: MPI_Abort was called on MPI_COMM_WORLD; the other 4 ranks were ended\n",
            "{mode}"
        );
    }
}

#[test]
fn abort_of_a_part_of_the_ranks_ends_the_job_too() {
    for mode in MODES {
        ending("abort-self", mode)
            .expect_code(8)
            .expect_said(&["rank 3 ended the job with code 8: MPI_Abort was called on MPI_COMM_SELF"]);
    }
}

#[test]
fn the_status_of_a_job_is_the_failing_rank_s() {
    for mode in MODES {
        let ended = ending("status", mode).expect_code(5);
        assert_eq!(ended.sorted(), ["done 0", "done 1", "done 2", "done 3", "done 4"], "{mode}: {ended}");
        // Every rank has finalized: the status says enough.
        assert_eq!(ended.stderr, "", "{mode}: {ended}");
    }
}

#[test]
fn a_rank_that_forgets_to_finalize_is_named() {
    for mode in MODES {
        ending("no-finalize", mode).expect_code(1).expect_said(&[
            "rank 3 (",
            "exited without having called MPI_Finalize; the other 4 ranks were ended",
        ]);
    }
}

#[test]
fn a_rank_that_exits_early_with_a_status_is_named() {
    for mode in MODES {
        ending("exit", mode).expect_code(9).expect_said(&[
            "rank 3 (",
            "exited with status 9 before MPI_Finalize; the other 4 ranks were ended",
        ]);
    }
}

#[test]
fn a_crash_is_told_with_its_signal() {
    for mode in MODES {
        ending("crash", mode).expect_code(139).expect_said(&["was killed by signal 11 (SIGSEGV)"]);
    }
}

#[test]
fn output_before_a_failure_is_not_lost() {
    for mode in MODES {
        let ended = ending("last-words", mode).expect_code(6);
        assert!(ended.stdout.contains("last words of rank 3\n"), "{mode}: {ended}");
    }
}

#[test]
fn fibers_that_wait_for_each_other_are_told_of_their_deadlock() {
    let job = on("fiber", 2, &program("deadlock.c")).start();
    job.wait().expect_code(125).expect_said(&["corelace: deadlock: all 2 ranks wait"]);
    job.expect_nothing_left();
    // One that has reached MPI_Finalize does not hide that the others wait for ever.
    let job = on("fiber", 3, &program("deadlock.c")).argument("one-leaves").start();
    job.wait().expect_code(125).expect_said(&["corelace: deadlock: "]);
    job.expect_nothing_left();
}

#[test]
fn a_program_that_does_not_exist_is_named() {
    for mode in MODES {
        on(mode, 3, std::path::Path::new("./no-such-program"))
            .run()
            .expect_code(127)
            .expect_said(&["no-such-program"]);
    }
}

#[test]
fn a_source_file_that_does_not_compile_fails_with_the_compiler_s_words_and_leaves_nothing() {
    let source = crate::support::scratch("broken").join("broken.c");
    std::fs::write(&source, "int main(void) { return missing; }\n").expect("a file of ours");
    let job = on("process", 2, &source).start();
    let ended = job.wait().expect_said(&["broken.c", "missing"]);
    assert_ne!(ended.code(), 0, "{ended}");
    job.expect_nothing_left();
}

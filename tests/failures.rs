//! Jobs that end badly: what is said, which status, and that nothing is left, in every kind of ranks.

use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::support::job::{Ended, Job, Running, kill, wait_for_zombie};
use crate::support::{MODES, mpirun, on, prefix, program};

/// Where the ranks of `moments.c` stay.
const MOMENTS: [&str; 5] = ["before-init", "waiting", "transfer", "collectives", "after-finalize"];

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
                "corelace: rank {victim} (pid {pid}, moments) was killed by signal 9 (SIGKILL); the other 5 ranks were ended"
            );
            let last = format!("corelace:   rank {victim} called MPI_");
            let lines: Vec<&str> = ended.stderr.lines().collect();
            match lines[..] {
                [line] if moment == "before-init" => assert_eq!(line, expected, "{ended}"),
                [line, call] => assert!(line == expected && call.starts_with(&last), "{moment}: {ended}"),
                _ => panic!("{moment}: {ended}"),
            }
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
fn a_rank_ends_the_job_though_all_others_compute_without_a_call() {
    for mode in MODES {
        let job = on(mode, 7, &program("long_turns.c")).argument("abort").start();
        job.wait().expect_code(7).expect_said(&["rank 2 ended the job with code 7"]);
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

/// A job whose rank 0, or all of it, is in the hands of a debugger until that is killed.
struct Held {
    job: Running,
    pid: u32,
    /// How the launcher calls the process.
    name: String,
    debugger: Running,
}

fn held(mode: &str) -> Held {
    let (job, places) = at("waiting", mode, 2);
    let first = places.iter().find(|(rank, _)| *rank == 0 || mode != "process");
    let pid = first.expect("every process arrived").1;
    let name = match mode {
        "process" => format!("rank 0 (pid {pid}, moments)"),
        _ => format!("the process of ranks 0 to 1 (pid {pid})"),
    };
    let mut tracer = Command::new(program("tracer.c"));
    tracer.arg(pid.to_string());
    let debugger = Job::of(tracer).start();
    assert_eq!(debugger.lines(1), ["held"]);
    Held { job, pid, name, debugger }
}

#[test]
fn a_launcher_that_waits_for_a_debugger_sleeps_and_says_whom_it_waits_for() {
    for mode in MODES {
        let Held { job, pid, name, debugger } = held(mode);
        job.signal(Signal::TERM);
        job.stderr_line_with("corelace: SIGTERM");
        // Asked again, it does not wait for ranks to end by themselves.
        job.signal(Signal::TERM);
        wait_for_zombie(pid);

        let (began, before) = (Instant::now(), job.processor_time());
        // Not for something to happen: this is the span over which nothing must.
        thread::sleep(Duration::from_secs(1));
        let (used, span) = (job.processor_time() - before, began.elapsed());
        assert!(used < span / 20, "{mode}: used {used:?} of {span:?}");

        job.stderr_line_with(&format!("corelace: {name}"));
        debugger.signal(Signal::KILL);
        let ended = job.wait().expect_code(143);
        let expected = format!(
            "corelace: SIGTERM: 2 ranks were ended\n\
             corelace: {name} is held by a debugger or tracer, pid {} (tracer); \
             the job cannot end before that lets go of it\n",
            debugger.pid()
        );
        assert_eq!(ended.stderr, expected, "{mode}: {ended}");
        job.expect_nothing_left();
    }
}

#[test]
fn a_dead_rank_that_a_debugger_holds_ends_the_job_when_it_is_let_go() {
    for mode in MODES {
        let Held { job, pid, name, debugger } = held(mode);
        kill(pid, Signal::KILL);
        job.stderr_line_with(&format!("corelace: {name} is held by a debugger or tracer"));
        debugger.signal(Signal::KILL);
        let killed = format!("{name} was killed by signal 9 (SIGKILL)");
        job.wait().expect_code(137).expect_said(&[&killed]);
        job.expect_nothing_left();
    }
}

#[test]
fn a_stopped_rank_is_ended_without_another_word() {
    for mode in MODES {
        let (job, places) = at("waiting", mode, 2);
        kill(places[0].1, Signal::STOP);
        job.signal(Signal::TERM);
        let ended = job.wait().expect_code(143);
        assert_eq!(ended.stderr, "corelace: SIGTERM: 2 ranks were ended\n", "{mode}");
        job.expect_nothing_left();
    }
}

#[test]
fn a_launcher_that_inherits_an_ignored_sigchld_still_sees_how_ranks_end() {
    for mode in MODES {
        let mut command = Command::new("env");
        command.arg("--ignore-signal=CHLD").arg(prefix().join("bin/mpirun"));
        let job = Job::of(command).arguments(&["--ranks", mode, "-n", "5"]);
        let job = job.argument(program("endings.c")).argument("exit").start();
        job.wait().expect_code(9).expect_said(&["exited with status 9 before MPI_Finalize"]);
        job.expect_nothing_left();
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
        let begins =
            "corelace: rank 3 ended the job with code 7: MPI_Abort was called on MPI_COMM_WORLD [main ";
        let whole = ended.stderr.starts_with(begins)
            && ended.stderr.ends_with("]; the other 4 ranks were ended\n")
            && ended.stderr.lines().count() == 1;
        assert!(whole, "{mode}: {ended}");
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
        on(mode, 3, Path::new("./no-such-program")).run().expect_code(127).expect_said(&["no-such-program"]);
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

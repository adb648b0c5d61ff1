//! Jobs that do not go on: what is said of them, in every kind of ranks, and that nothing is said of jobs that do.

use std::io::Write;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::support::job::{Ended, Job, Running};
use crate::support::{MODES, corelace, mpirun, on, program, scratch, side_by_side, started_by, tool};

/// What `hangs.c` does, and what has to be said of it. The reports of fibers come at once and have another first line.
const KINDS: &[(&str, &[&str])] = &[
    (
        "receives",
        &[
            "ranks 0 and 1 wait for each other: each wants to receive before it sends",
            "rank 0 is in MPI_Recv and waits for a message from rank 1 with tag 5 (main",
            "rank 2 is in MPI_Finalize",
        ],
    ),
    (
        "sends",
        &[
            "ranks 0 and 1 wait for each other: each sends before it receives, and their messages are too large to be buffered",
            "rank 1 is in MPI_Send and waits for rank 0 to receive 4194304 bytes with tag 6",
        ],
    ),
    (
        "missing",
        &[
            "ranks 0 and 1 are in MPI_Allreduce on MPI_COMM_WORLD, but not all its members are: rank 2 is in MPI_Recv and waits for a \
           message from rank 0 with tag 7",
        ],
    ),
    (
        "collectives",
        &[
            "ranks 0 and 1 are in MPI_Barrier on MPI_COMM_WORLD, but not all its members are: rank 2 is in MPI_Bcast on MPI_COMM_WORLD",
            "members of a communicator call its collectives in one order",
        ],
    ),
    (
        "tag",
        &[
            "rank 0 waits for a message from rank 1 with tag 7; rank 1 has sent 4 bytes with tag 8, which nobody receives",
        ],
    ),
    (
        "communicator",
        &[
            "rank 0 waits for a message from rank 1 with tag 7 on MPI_COMM_WORLD; rank 1 has sent 4 bytes with tag 7 on twin, which \
           nobody receives there",
        ],
    ),
    (
        "finalize",
        &[
            "rank 0 waits for rank 2 to send something, but rank 2 is in MPI_Finalize",
            "ranks 1 and 2 are in MPI_Finalize",
        ],
    ),
    (
        "probe",
        &[
            "rank 0 is in MPI_Probe and waits for a message from rank 1 with tag 4",
            "ranks 1 and 2 are in MPI_Barrier",
        ],
    ),
    ("matched-probe", &["rank 0 is in MPI_Mprobe and waits for a message from rank 1 with tag 4"]),
    (
        "waitall",
        &[
            "3 ranks wait in a circle: 0 -> 1 -> 2 -> 0",
            "rank 2 is in MPI_Waitall and waits for a message from rank 0 with tag 2",
        ],
    ),
    (
        "many",
        &[
            "ranks 0 and 2 wait for each other: each wants to receive before it sends",
            "rank 0 is in MPI_Waitall and waits for a message from rank 1 with tag 1, a message from rank 1 with tag 2, a message from \
             rank 1 with tag 3, a message from rank 1 with tag 4 and 2 more (main",
        ],
    ),
    (
        "any",
        &[
            "rank 0 is in MPI_Waitany and waits for the first of: a message from rank 1 with tag 1, a message from rank 2 with tag 1 (main",
            "ranks 0 and 1 wait for each other",
        ],
    ),
    ("persistent", &["rank 0 is in MPI_Wait and waits for a message from rank 1 with tag 9"]),
    ("nonblocking", &["ranks 0 and 1 are in MPI_Wait for a non-blocking barrier on MPI_COMM_WORLD"]),
    (
        "barrier",
        &[
            "ranks 0 and 1 are in MPI_Barrier on MPI_COMM_WORLD, but not all its members are: rank 2 is in MPI_Recv and waits for a \
           message from rank 0 with tag 5",
        ],
    ),
    (
        "split",
        &[
            "but not all its members are: rank 2 is in MPI_Recv",
            "ranks 1 and 2 are in MPI_Recv and wait for a message",
        ],
    ),
    (
        "fence",
        &[
            "ranks 0 and 1 are in MPI_Win_fence on ",
            "but not all its members are: rank 2 is in MPI_Recv and waits for a message from rank 0 with tag 5",
        ],
    ),
    ("start", &["rank 0 is in MPI_Win_start and waits for rank 1 to call MPI_Win_post"]),
    ("post", &["rank 0 is in MPI_Win_wait and waits for rank 1 to call MPI_Win_complete"]),
];

fn hanging(mode: &str, kind: &str, flags: &[&str]) -> Job {
    let flags = [&["--ranks", mode, "-n", "3", "--hang-timeout", "1"], flags].concat();
    mpirun(flags).argument(program("hangs.c")).argument(kind)
}

/// All kinds in one mode, side by side: they sleep.
fn every_kind_is_explained(mode: &str, heading: &str, flags: &[&str]) {
    let jobs: Vec<Running> = KINDS.iter().map(|(kind, _)| hanging(mode, kind, flags).start()).collect();
    for (job, (_, said)) in jobs.iter().zip(KINDS) {
        job.wait().expect_code(125).expect_said(&[heading]).expect_said(said);
        job.expect_nothing_left();
    }
}

#[test]
fn a_hang_of_processes_is_explained() {
    let heading = "corelace: hang: all 3 ranks have waited for 1 s without progress";
    every_kind_is_explained("process", heading, &["--on-hang", "abort"]);
}

#[test]
fn a_hang_of_threads_is_explained() {
    let heading = "corelace: hang: all 3 ranks have waited for 1 s without progress";
    every_kind_is_explained("thread", heading, &["--on-hang", "abort"]);
}

#[test]
fn a_hang_of_fibers_is_explained_at_once() {
    every_kind_is_explained("fiber", "corelace: deadlock: all 3 ranks wait", &["--on-hang", "off"]);
}

/// Messages of any length go through; and epochs of groups are messages there, which is what is said of them.
const NOT_ON_A_CHIP: [&str; 3] = ["sends", "start", "post"];

#[test]
fn a_hang_on_a_chip_is_explained_at_once() {
    for (kind, said) in KINDS.iter().filter(|(kind, _)| !NOT_ON_A_CHIP.contains(kind)) {
        let job = mpirun(["--chip", "mesh16", "-n", "3"]).argument(program("hangs.c")).argument(kind).start();
        job.wait().expect_code(125).expect_said(&["corelace: deadlock: all 3 ranks wait"]).expect_said(said);
    }
}

/// That the job is told of once and goes on.
fn told_once(ended: Ended, said: &[&str]) {
    assert_eq!(ended.stderr.matches("corelace: hang: ").count(), 1, "{ended}");
    ended.expect_code(124).expect_said(said).expect_said(&["the job goes on"]);
}

#[test]
fn a_hang_is_told_once_and_the_job_goes_on_unless_it_is_to_end() {
    let unwatched = hanging("process", "tag", &["--timeout", "4", "--on-hang", "off"]).start();
    let jobs = ["process", "thread"].map(|mode| hanging(mode, "tag", &["--timeout", "8"]).start());
    jobs.iter().for_each(|job| told_once(job.wait(), &["which nobody receives"]));
    unwatched.wait().expect_code(124);
}

#[test]
fn on_a_terminal_a_job_that_hangs_is_ended_unless_it_is_to_go_on() {
    let on_a_terminal = |flags: &str| {
        let (mpirun, program) = (tool("mpirun"), program("hangs.c"));
        let line = format!("{} -n 3 {flags} {} tag", mpirun.get_program().display(), program.display());
        let mut script = Command::new("script");
        script.args(["-qec", &line, "/dev/null"]);
        Job::of(script).run()
    };
    let ended = on_a_terminal("--hang-timeout 1").expect_code(125);
    assert!(ended.stdout.contains("the job is ended (--on-hang abort, the default on a terminal"), "{ended}");
    let ended = on_a_terminal("--hang-timeout 1 --on-hang report --timeout 8").expect_code(124);
    assert!(ended.stdout.contains("the job goes on"), "{ended}");
}

#[test]
fn what_checks_send_each_other_is_in_no_report() {
    let kinds = ["tag", "missing", "nonblocking"];
    let jobs = kinds.map(|kind| hanging("process", kind, &["--check", "--on-hang", "abort"]).start());
    for job in jobs {
        let ended =
            job.wait().expect_code(125).expect_said(&["corelace: hang: ", "in MPI_Recv and waits for"]);
        assert!(
            !ended.stderr.contains("on communicator "),
            "a communicator that is not the program's: {ended}"
        );
    }
}

#[test]
fn a_rank_that_polls_in_vain_is_told_of_but_the_job_is_not_ended() {
    side_by_side(&MODES, |mode| {
        let ended = hanging(mode, "polling", &["--on-hang", "abort", "--timeout", "8"]).run();
        told_once(
            ended,
            &[
                "rank 0 asks again and again by MPI_Test for a message from rank 1 with tag 5",
                "so the job may go on by itself",
            ],
        );
    });
}

#[test]
fn nothing_is_said_of_a_job_in_which_a_rank_computes_or_that_is_only_slow() {
    // A rank computes by the clock: that several share a core makes none of them slower.
    let jobs = ["computing", "slow"].map(|kind| MODES.map(|mode| (mode, kind)));
    side_by_side(jobs.as_flattened(), |(mode, kind)| {
        let ended = hanging(mode, kind, &["--on-hang", "abort"]).run().expect_success();
        assert_eq!(ended.stderr, "", "{mode} {kind}");
    });
}

#[test]
fn ranks_that_wait_cost_next_to_nothing() {
    for kind in ["barrier", "fence", "start"] {
        let job = mpirun(["-n", "4", "--hang-timeout", "1"]).argument(program("hangs.c"));
        let ended = job.argument("idle").argument(kind).run().expect_success();
        // Microseconds of processor time of each rank, its start included, in two seconds.
        let used: u64 =
            ended.stdout.lines().filter_map(|line| line.split_once(' ')?.1.parse::<u64>().ok()).sum();
        assert_eq!(ended.stdout.lines().count(), 4, "{ended}");
        assert!(used < 40_000, "4 ranks in {kind} used {used} us of 2 s: more than 2 % of a core");
    }
}

#[test]
fn a_stopped_rank_keeps_its_job_from_being_called_hung() {
    let job = hanging("process", "stopped", &["--on-hang", "abort", "--timeout", "5"]).start();
    job.wait().expect_code(124);
    job.expect_nothing_left();
}

#[test]
fn a_person_is_shown_what_the_ranks_of_a_running_job_do() {
    for mode in ["process", "thread"] {
        let job = on(mode, 3, &program("hangs.c")).argument("show").start();
        assert_eq!(job.lines(1), ["ready"]);
        let pid = job.pid().to_string();
        let said =
            ["rank 0 is in MPI_Recv and waits for a message from rank 1 with tag 7", "rank 2 computes"];
        // Rank 2 is ready before the others wait, perhaps.
        let deadline = Instant::now() + Duration::from_secs(30);
        loop {
            let shown = corelace(["status", &pid]).run().expect_success();
            if said.iter().all(|words| shown.stdout.contains(words)) {
                break;
            }
            assert!(Instant::now() < deadline, "{mode}: {shown}");
        }
        let shown = corelace(["status", &pid, "--format", "json"]).run().expect_success();
        assert!(shown.stdout.contains("\"state\":\"computing\""), "{mode}: {shown}");
        let shown = corelace(["status", &pid, "--format", "dot"]).run().expect_success();
        assert!(shown.stdout.contains("0 -> 1 [label=\"receive\"];"), "{mode}: {shown}");
        // The ranks do not handle this signal: it must not reach them.
        job.signal(Signal::USR1);
        job.stderr_line_with("corelace:   rank 0 is in MPI_Recv");
        job.signal(Signal::TERM);
        job.wait().expect_code(143);
    }
    corelace(["status", "1"]).run().expect_code(127).expect_said(&["1 is no running mpirun of Corelace's"]);
}

#[test]
fn the_status_of_a_job_is_not_believed_of_another_process_and_its_launcher_says_so() {
    let room = scratch("impostor");
    let go = room.join("go");
    assert!(Command::new("mkfifo").arg(&go).status().unwrap().success());
    // The number of the launcher is known before it starts.
    let mut launcher = Command::new("sh");
    launcher.args(["-c", "echo $$; read go < \"$0\"; exec \"$@\""]).arg(&go).arg("env");
    let job =
        started_by(launcher, "mpirun", ["-n", "3"]).argument(program("hangs.c")).argument("show").start();
    let pid = job.lines(1).remove(0);
    let name = SocketAddr::from_abstract_name(format!("corelace-{pid}")).unwrap();
    let impostor = UnixListener::bind_addr(&name).unwrap();
    std::fs::write(&go, "\n").unwrap();
    job.stderr_line_with(&format!("corelace: note: corelace status {pid} will get no answer"));
    let answers = std::thread::spawn(move || {
        let (mut visitor, _) = impostor.accept().unwrap();
        _ = visitor.write_all(b"\x1b[31mstatus of 2 ranks:\n");
    });
    let asked = corelace(["status", &pid]).run().expect_code(127);
    let own = format!("mpirun {pid}: process {} of user ", std::process::id());
    let asked = asked.expect_said(&[&own, "answers in its place, which is not believed"]);
    assert_eq!(asked.stdout, "");
    answers.join().unwrap();
    job.signal(Signal::TERM);
    job.wait().expect_code(143);
}

/// Three ranks of a chip, of which two exchange so many messages while rank 0 waits.
fn exchanging(rounds: &str, flags: &[&str]) -> Running {
    let job = mpirun(["--chip", "mesh16", "-n", "3"]).arguments(flags).argument(program("hangs.c"));
    let job = job.arguments(&["exchange", rounds]).start();
    assert_eq!(job.lines(1), ["ready"]);
    job
}

const WAITS_ON_CHIP: &str = "rank 0 is in MPI_Recv and waits for a message from rank 1 with tag 7 (main";

#[test]
fn a_person_is_shown_what_the_ranks_of_a_running_chip_do() {
    let job = exchanging("2000000000", &[]);
    let pid = job.pid().to_string();
    let shown = corelace(["status", &pid]).run().expect_success();
    assert!(shown.stdout.contains(WAITS_ON_CHIP), "{shown}");
    let shown = corelace(["status", &pid, "--format", "json"]).run().expect_success();
    assert!(shown.stdout.contains("\"call\":\"MPI_Recv\""), "{shown}");
    job.signal(Signal::USR1);
    job.stderr_line_with(&format!("corelace:   {WAITS_ON_CHIP}"));
    job.signal(Signal::TERM);
    job.wait().expect_code(143);
}

#[test]
fn a_run_on_a_chip_is_the_same_whether_or_not_it_is_looked_at() {
    let figures = |ended: Ended| {
        let line = ended.stderr.lines().find(|line| line.starts_with("{\"chip\"")).map(String::from);
        line.unwrap_or_else(|| panic!("no figures\n{ended}"))
    };
    // They take hundreds of times the processor time of three looks.
    let alone = exchanging("1000000", &["--stats=json"]);
    let watched = exchanging("1000000", &["--stats=json"]);
    for _ in 0..3 {
        let shown = corelace(["status", &watched.pid().to_string()]).run().expect_success();
        assert!(shown.stdout.contains(WAITS_ON_CHIP), "{shown}");
    }
    let [alone, watched] = [alone, watched].map(|job| figures(job.wait().expect_success()));
    assert_eq!(alone, watched);
}

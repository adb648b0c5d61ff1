//! Jobs of processes: exit statuses, output, input, and what happens when something ends that should not.

use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::common::{Running, build, ended, mpirun, run, script};
use rustix::process::Signal;

#[test]
fn programs_that_are_not_mpi_run_on_every_rank() {
    let job = script(&["-n", "3"], "echo rank $R of $CORELACE_SIZE");
    assert_eq!(job.sorted(), ["rank 0 of 3", "rank 1 of 3", "rank 2 of 3"]);
    assert_eq!((job.status, job.stderr.as_str()), (Some(0), ""));
}

#[test]
fn the_status_is_the_failing_rank_s() {
    let job = script(&["-n", "4"], "if [ $R = 2 ]; then exit 5; else exec sleep 1000; fi");
    assert_eq!(job.status, Some(5));
    assert!(job.stderr.contains("corelace: rank 2 (pid "), "{}", job.stderr);
    assert!(
        job.stderr.contains(", sh) exited with status 5; the other 3 ranks were ended\n"),
        "{}",
        job.stderr
    );
}

#[test]
fn a_single_program_fails_with_its_status_and_no_word_of_ours() {
    let job = run(&["-n", "1", "sh", "-c", "exit 3"]);
    assert_eq!((job.status, job.stderr.as_str()), (Some(3), ""));
}

#[test]
fn a_rank_killed_by_a_signal_ends_the_others() {
    let mut job = Running::start(&["-n", "8"], "echo $R $$; exec sleep 1000");
    let lines = job.lines(8);
    let victim = lines.iter().find_map(|line| line.strip_prefix("3 ")).unwrap().to_string();
    let pid = rustix::process::Pid::from_raw(victim.parse().unwrap()).unwrap();
    rustix::process::kill_process(pid, Signal::KILL).unwrap();
    let (status, stderr) = job.end();
    assert_eq!(status.code(), Some(137));
    let expected = format!(
        "corelace: rank 3 (pid {victim}, sh) was killed by signal 9 (SIGKILL); the other 7 ranks were ended\n"
    );
    assert_eq!(stderr, expected);
    job.expect_nobody_left();
}

#[test]
fn an_interrupt_of_the_launcher_ends_every_rank_and_what_it_started() {
    for (signal, expected) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)] {
        // The grandchild is what a shell leaves running.
        let mut job = Running::start(&["-n", "3"], "sleep 1000 & echo ready; wait");
        job.lines(3);
        job.expect_at_least(6);
        job.signal(signal);
        let (status, stderr) = job.end();
        assert_eq!(status.code(), Some(expected), "{stderr}");
        assert!(stderr.contains("3 ranks were ended"), "{stderr}");
        job.expect_nobody_left();
    }
}

#[test]
fn ranks_that_ignore_a_polite_signal_are_killed() {
    let mut job = Running::start(&["-n", "2"], "trap '' TERM INT; echo ready; while :; do sleep 1000; done");
    job.lines(2);
    job.signal(Signal::TERM);
    // The announcement says that the first request was taken; a second one ends all patience.
    let announced = job.stderr_line();
    assert_eq!(announced, "corelace: SIGTERM: 2 ranks were ended\n");
    job.signal(Signal::INT);
    assert_eq!(job.end().0.code(), Some(143));
    job.expect_nobody_left();
}

#[test]
fn a_stopped_launcher_stops_its_ranks_and_goes_on_with_them() {
    let mut job = Running::start(&["-n", "2"], "echo ready; exec sleep 1000");
    job.lines(2);
    let expect_all = |job: &Running, states: &[char]| {
        let deadline = Instant::now() + Duration::from_secs(30);
        loop {
            let ranks = job.left();
            if ranks.len() == 2 && ranks.iter().all(|pid| states.contains(&state(*pid))) {
                break;
            }
            assert!(Instant::now() < deadline, "ranks are not in {states:?}");
            std::thread::sleep(Duration::from_millis(5));
        }
    };
    expect_all(&job, &['S']);
    job.signal(Signal::TSTP);
    expect_all(&job, &['T']);
    job.signal(Signal::CONT);
    expect_all(&job, &['S', 'R']);
    job.signal(Signal::TERM);
    assert_eq!(job.end().0.code(), Some(143));
}

/// The state letter of a process.
fn state(pid: u32) -> char {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    text.rsplit(") ").next().unwrap().chars().next().unwrap()
}

#[test]
fn ranks_die_with_a_launcher_that_is_killed() {
    let mut job = Running::start(&["-n", "4"], "sleep 1000 & echo ready; wait");
    job.lines(4);
    job.signal(Signal::KILL);
    assert_eq!(job.process.wait().unwrap().signal(), Some(9));
    job.expect_nobody_left();
}

#[test]
fn a_job_that_ends_well_leaves_no_descendant_behind() {
    let mut job = Running::start(&["-n", "2"], "sleep 1000 & echo ready");
    job.lines(2);
    assert!(job.end().0.success());
    job.expect_nobody_left();
}

#[test]
fn a_timeout_ends_the_job_with_124() {
    let began = Instant::now();
    let job = script(&["-n", "2", "--timeout", "0.2"], "exec sleep 1000");
    assert_eq!(job.status, Some(124));
    assert_eq!(job.stderr, "corelace: the job did not end within 0.2 s (--timeout); 2 ranks were ended\n");
    assert!(began.elapsed() < Duration::from_secs(10));
}

#[test]
fn lines_of_64_ranks_are_never_torn_however_long() {
    let program = build(
        "long.c",
        r#"
        #include <mpi.h>
        #include <string.h>
        #include <unistd.h>
        int main(int argc, char **argv) {
            int rank; static char line[300000];
            MPI_Comm_rank(MPI_COMM_WORLD, &rank);
            for (int i = 0; i < 6; i++) {
                int length = i == 5 ? 299999 : 1 + (rank * 7919 + i * 104729) % 20000;
                memset(line, '0' + rank, length);
                line[length] = '\n';
                /* In odd pieces, so that a line arrives in many reads. The very last line has no newline. */
                for (int at = 0, end = length + !(i == 5 && rank % 2); at < end;) {
                    int piece = 1 + (at * 31 + rank) % 4099;
                    int done = write(1, line + at, piece < end - at ? piece : end - at);
                    if (done < 0) return 1;
                    at += done;
                }
            }
            return 0;
        }"#,
    );
    let job = run(&["-n", "64", program.to_str().unwrap()]);
    assert_eq!((job.status, job.stderr.as_str()), (Some(0), ""));
    let mut count = 0;
    for line in job.stdout.lines() {
        assert!(
            line.bytes().all(|byte| byte == line.as_bytes()[0]),
            "a line of {} bytes is torn",
            line.len()
        );
        count += 1;
    }
    assert_eq!(count, 6 * 64);
    for rank in 0..64 {
        let mut mine = job.stdout.lines().filter(|line| line.as_bytes()[0] == b'0' + rank);
        assert_eq!(mine.next_back().unwrap().len(), 299999, "rank {rank}");
    }
}

#[test]
fn tags_name_the_rank_of_every_line_of_both_streams() {
    let job = script(&["-n", "2", "--tag-output"], "printf 'a\\nb'; echo err >&2");
    assert_eq!(job.sorted(), ["[0] a", "[0] b", "[1] a", "[1] b"]);
    let mut errors: Vec<_> = job.stderr.lines().collect();
    errors.sort();
    assert_eq!(errors, ["[0] err", "[1] err"]);
}

#[test]
fn input_goes_to_rank_0_and_nobody_else() {
    let mut process = mpirun(&["-n", "3", "--tag-output", "cat"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    process.stdin.take().unwrap().write_all(b"one\ntwo\n").unwrap();
    let job = ended(process.wait_with_output().unwrap());
    assert_eq!(job.stdout, "[0] one\n[0] two\n");
}

#[test]
fn a_reader_that_goes_away_ends_the_job() {
    let mut job = Running::start(&["-n", "2"], "while :; do echo line; done");
    job.lines(4);
    job.stdout = None;
    assert_eq!(job.end().0.code(), Some(141));
    job.expect_nobody_left();
}

#[test]
fn several_programs_share_one_world() {
    let show = "echo $0 $CORELACE_RANK/$CORELACE_SIZE app $CORELACE_APPNUM $A";
    let job = run(&[
        "-n", "1", "-x", "A=x", "sh", "-c", show, "first", ":", "-np", "2", "sh", "-c", show, "second",
    ]);
    assert_eq!(job.sorted(), ["first 0/3 app 0 x", "second 1/3 app 1", "second 2/3 app 1"]);
}

#[test]
fn directories_and_variables_reach_the_ranks() {
    let job = ended(
        mpirun(&[
            "-n",
            "1",
            "-wdir",
            "/usr",
            "-x",
            "FOO",
            "-x",
            "BAR=a=b",
            "sh",
            "-c",
            "pwd; echo $FOO $BAR",
        ])
        .env("FOO", "foo")
        .output()
        .unwrap(),
    );
    assert_eq!(job.stdout, "/usr\nfoo a=b\n");
    let missing = run(&["-wdir", "/no/such", "true"]);
    assert_eq!(
        (missing.status, missing.stderr.as_str()),
        (Some(127), "mpirun: -wdir /no/such: no such directory\n")
    );
}

#[test]
fn bound_ranks_stay_on_one_core_each_and_others_on_all() {
    let job = script(&["-n", "2", "--bind", "core"], "grep Cpus_allowed_list /proc/self/status");
    let lists = |text: &str| -> Vec<String> {
        text.lines().map(|line| line.rsplit('\t').next().unwrap().to_owned()).collect()
    };
    let cores = lists(&job.stdout);
    let own = std::fs::read_to_string("/proc/self/status").unwrap();
    let own = own.lines().find(|line| line.starts_with("Cpus_allowed_list")).unwrap();
    if std::thread::available_parallelism().unwrap().get() > 1 {
        assert!(cores.len() == 2 && cores[0] != cores[1], "{cores:?}");
        assert!(cores.iter().all(|list| !lists(own).contains(list)), "{cores:?} of {own}");
    }
    let free = script(&["-n", "2"], "grep Cpus_allowed_list /proc/self/status");
    assert_eq!(lists(&free.stdout), [lists(own), lists(own)].concat());
}

#[test]
fn a_program_that_does_not_exist_is_named_with_the_places_searched() {
    let job = ended(mpirun(&["-n", "2", "no-such-program"]).env("PATH", "/bin:/usr/bin").output().unwrap());
    assert_eq!(job.status, Some(127));
    assert!(
        job.stderr.starts_with("mpirun: program \"no-such-program\" not found: searched /bin, /usr/bin, "),
        "{}",
        job.stderr
    );
}

#[test]
fn mpi_programs_that_finalize_end_well_and_their_statuses_count() {
    let program = build(
        "well.c",
        "#include <mpi.h>\n#include <stdlib.h>\nint main(int c, char **v) { int r; MPI_Init(&c, &v); \
         MPI_Comm_rank(MPI_COMM_WORLD, &r); MPI_Finalize(); return r == atoi(v[1]) ? 6 : 0; }",
    );
    let program = program.to_str().unwrap();
    let job = run(&["-n", "4", program, "-1"]);
    assert_eq!((job.status, job.stderr.as_str()), (Some(0), ""));
    let job = run(&["-n", "4", program, "2"]);
    assert_eq!((job.status, job.stderr.as_str()), (Some(6), ""));
}

#[test]
fn leaving_without_finalize_is_an_error_that_names_the_rank() {
    let program = build(
        "leaves.c",
        "#include <mpi.h>\n#include <stdlib.h>\n#include <unistd.h>\nint main(int c, char **v) { int r; \
         MPI_Init(&c, &v); MPI_Comm_rank(MPI_COMM_WORLD, &r); if (r == 1) exit(atoi(v[1])); for (;;) pause(); }",
    );
    let job = run(&["-n", "3", program.to_str().unwrap(), "0"]);
    assert_eq!(job.status, Some(1));
    assert!(
        job.stderr
            .contains(", leaves) exited without having called MPI_Finalize; the other 2 ranks were ended"),
        "{}",
        job.stderr
    );
    let job = run(&["-n", "3", program.to_str().unwrap(), "4"]);
    assert_eq!(job.status, Some(4));
    assert!(
        job.stderr.contains(", leaves) exited with status 4 before MPI_Finalize; the other 2"),
        "{}",
        job.stderr
    );
}

#[test]
fn abort_ends_the_job_with_its_code() {
    let program = build(
        "aborts.c",
        "#include <mpi.h>\n#include <stdio.h>\n#include <unistd.h>\nint main(int c, char **v) { int r; MPI_Init(&c, &v); \
         MPI_Comm_rank(MPI_COMM_WORLD, &r); if (r == 2) MPI_Abort(MPI_COMM_WORLD, 77); for (;;) pause(); }",
    );
    let job = run(&["-n", "4", program.to_str().unwrap()]);
    assert_eq!(job.status, Some(77));
    assert_eq!(job.stderr, "corelace: rank 2 called MPI_Abort with code 77; the other 3 ranks were ended\n");
}

#[test]
fn what_was_printed_before_a_failure_comes_before_its_explanation() {
    let job =
        script(&["-n", "2"], "if [ $R = 1 ]; then echo last words >&2; kill -SEGV $$; fi; exec sleep 1000");
    assert_eq!(job.status, Some(139));
    let (words, explanation) = job.stderr.split_once('\n').unwrap();
    assert_eq!(words, "last words");
    assert!(explanation.contains("killed by signal 11 (SIGSEGV)"), "{explanation}");
}

#[test]
fn many_ranks_start_fast() {
    let began = Instant::now();
    let job = run(&["-n", "192", "true"]);
    let took = began.elapsed();
    println!("192 processes: {took:?}");
    assert_eq!((job.status, job.stderr.as_str()), (Some(0), ""));
    // A third of a second on two idle cores; the limit only catches a change of order, also on a busy machine.
    assert!(took < Duration::from_secs(30), "{took:?}");
}

#[test]
fn a_low_limit_of_open_files_is_raised_where_the_system_allows_it() {
    let mpirun = crate::common::shared().join("bin/mpirun");
    let text = format!("ulimit -S -n 128; exec {} -n 100 true", mpirun.display());
    let output = std::process::Command::new("sh").arg("-c").arg(text).output().unwrap();
    let job = ended(output);
    assert_eq!((job.status, job.stderr.as_str()), (Some(0), ""));
}

#[test]
fn help_and_mistakes_are_answered() {
    let help = run(&["--help"]);
    assert_eq!(help.status, Some(0));
    assert!(help.stdout.contains("--ranks process|thread|fiber"), "{}", help.stdout);
    let unknown = run(&["--hostfiel", "x", "true"]);
    assert_eq!(unknown.status, Some(127));
    assert_eq!(
        unknown.stderr,
        "mpirun: unknown flag --hostfiel; did you mean --hostfile? (mpirun --help lists all)\n"
    );
}

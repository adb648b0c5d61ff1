//! The launcher against slow readers, ranks that break rules, its own death at any moment, and the habits of other launchers.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::support::job::{Job, kill};
use crate::support::{MODES, corelace, mpirun, on, prefix, program, scratch};

/// A launcher whose output nobody reads until the test does.
fn unread(arguments: &[&str], program: &Path, more: &[&str]) -> Child {
    let mut command = Command::new("env");
    command.arg("--default-signal=HUP,INT,QUIT,TERM,PIPE").arg(prefix().join("bin/mpirun"));
    command.args(arguments).arg(program).args(more);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("env starts")
}

/// Waits for an end that must come soon; the status, or 1000 and the signal.
#[track_caller]
fn ended(child: &mut Child) -> i32 {
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        if let Some(status) = child.try_wait().expect("a child of ours") {
            return status.code().unwrap_or_else(|| 1000 + status.signal().expect("neither exit nor signal"));
        }
        if Instant::now() >= deadline {
            _ = child.kill();
            panic!("the launcher cannot be stopped");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The most memory that a process has had, in KiB.
fn peak(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("a process that runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
    line.trim().trim_end_matches(" kB").parse().expect("KiB")
}

#[test]
fn a_launcher_whose_output_nobody_reads_can_be_stopped() {
    for mode in MODES {
        let chatter = program("chatter.c");
        let mut child = unread(&["-n", "2", "--ranks", mode, "--timeout", "1"], &chatter, &[]);
        assert_eq!(ended(&mut child), 124, "{mode}");
        for (signal, code) in [(Signal::TERM, 143), (Signal::INT, 130)] {
            let mut child = unread(&["-n", "2", "--ranks", mode], &chatter, &[]);
            // The first line is there, and then no other is read.
            let mut line = [0; 64];
            child.stdout.as_mut().expect("piped").read_exact(&mut line).expect("a line");
            kill_process(Pid::from_child(&child), signal).expect("it runs");
            assert_eq!(ended(&mut child), code, "{mode}");
        }
    }
}

#[test]
fn output_that_waited_for_its_reader_is_complete() {
    let mut child = unread(&["-n", "1"], Path::new("/bin/sh"), &["-c", "seq 1 200000; echo end >&2"]);
    let mut err = BufReader::new(child.stderr.take().expect("piped"));
    let mut out = child.stdout.take().expect("piped");
    // Nothing of it is read before the pipe is full.
    while rustix::io::ioctl_fionread(&out).expect("a pipe") < 60_000 {
        std::thread::sleep(Duration::from_millis(5));
    }
    let mut text = String::new();
    out.read_to_string(&mut text).expect("text");
    let expected: String = (1..=200_000).map(|number| format!("{number}\n")).collect();
    assert!(text == expected, "{} bytes of {}", text.len(), expected.len());
    let mut line = String::new();
    err.read_line(&mut line).expect("text");
    assert_eq!((line.as_str(), ended(&mut child)), ("end\n", 0));
}

#[test]
fn a_reader_that_has_seen_enough_ends_the_job_at_once() {
    let text = format!("{} -n 4 yes | head -1", prefix().join("bin/mpirun").display());
    let mut shell = Command::new("sh");
    shell.args(["-c", &text]);
    let job = Job::of(shell).start();
    let ended = job.wait().expect_success();
    assert_eq!((ended.stdout.as_str(), ended.stderr.as_str()), ("y\n", ""));
    job.expect_nothing_left();
}

#[test]
fn bytes_pass_unchanged_and_no_newline_is_added() {
    let room = scratch("bytes");
    let mut bytes: Vec<u8> = (0..3_000_000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    bytes.push(b'x');
    std::fs::write(room.join("in"), &bytes).expect("a file of ours");
    for ranks in ["1", "3"] {
        let mut cat = Command::new("sh");
        cat.args(["-c", "\"$0\" -n $1 cat <in >out"])
            .arg(prefix().join("bin/mpirun"))
            .arg(ranks)
            .current_dir(&room);
        Job::of(cat).run().expect_success();
        assert!(std::fs::read(room.join("out")).expect("written") == bytes, "changed by {ranks} ranks");
    }
}

#[test]
fn a_line_without_end_costs_bounded_memory() {
    let mut child = unread(&["-n", "2", "--tag-output"], &program("chatter.c"), &["line"]);
    let mut out = child.stdout.take().expect("piped");
    let mut room = vec![0; 1 << 20];
    for _ in 0..100 {
        out.read_exact(&mut room).expect("bytes");
    }
    let most = peak(child.id());
    kill_process(Pid::from_child(&child), Signal::TERM).expect("it runs");
    drop(out);
    ended(&mut child);
    assert!(most < 50_000, "{most} KiB after 100 MB");
}

#[test]
fn a_launcher_killed_while_it_starts_leaves_nobody() {
    for attempt in 0..20 {
        let job = mpirun(["-n", "20", "sleep", "1000"]).start();
        // From before the guard is there until all ranks run.
        std::thread::sleep(Duration::from_millis(attempt));
        job.signal(Signal::KILL);
        job.expect_nothing_left();
    }
}

#[test]
fn descendants_that_left_the_session_end_with_the_job() {
    let file = scratch("escape").join("pid");
    let escape = "setsid sh -c 'echo $$ >$0; exec sleep 1000' $0 & while [ ! -s $0 ]; do sleep 0.01; done";
    let job = mpirun(["-n", "1", "sh", "-c", escape, &file.display().to_string()]).start();
    job.wait().expect_success();
    job.expect_nothing_left();
    let job = mpirun(["-n", "2", "sh", "-c", "setsid sh -c 'echo ready; exec sleep 1000' & wait"]).start();
    job.lines(2);
    job.signal(Signal::KILL);
    job.expect_nothing_left();
}

#[test]
fn a_rank_speaks_for_itself_alone_and_is_named_if_it_does_not() {
    for (how, said) in [
        (
            "lie",
            "sent a control message about another rank (0), expected only about itself; the other 2 ranks were ended",
        ),
        ("exit", "sent a control message about the exit of a rank (1), expected only about itself"),
        ("garbage", "control message"),
    ] {
        let job = on("process", 3, &program("control.c")).argument(how).start();
        job.wait().expect_code(1).expect_said(&["corelace: rank 1 (pid ", ", control)", said]);
        job.expect_nothing_left();
    }
}

#[test]
fn a_rank_that_floods_its_launcher_costs_no_memory() {
    let mut child = unread(&["-n", "2"], &program("control.c"), &["flood"]);
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().expect("piped")).read_line(&mut line).expect("text");
    assert_eq!(line, "flooded\n");
    let most = peak(child.id());
    kill_process(Pid::from_child(&child), Signal::TERM).expect("it runs");
    assert_eq!(ended(&mut child), 143);
    assert!(most < 50_000, "{most} KiB");
}

#[test]
fn a_recording_that_a_rank_made_huge_is_left_out_of_the_trace() {
    let file = scratch("trace").join("trace");
    // A file of 2^53 bytes without content.
    let grow = "if [ $CORELACE_RANK = 1 ]; then truncate -s 8P /proc/self/fd/${CORELACE_TRACE##* }; fi";
    let job = mpirun(["--trace", &file.display().to_string(), "-n", "2", "sh", "-c", grow]);
    job.run().expect_success().expect_said(&["the recording of rank 1 is longer than "]);
}

#[test]
fn the_segment_is_sealed() {
    on("process", 3, &program("sealed.c")).run().expect_success().expect_output("no errors\n");
}

#[test]
fn a_small_limit_of_file_sizes_is_raised_or_explained() {
    let text = |limit: &str| {
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("ulimit {limit} -f 8; exec \"$0\" -n 2 \"$1\" 1 50")]);
        shell.arg(prefix().join("bin/mpirun")).arg(program("traffic.c"));
        Job::of(shell).run()
    };
    text("-S").expect_success();
    text("").expect_code(127).expect_said(&["but ulimit -f allows 4096 only"]);
}

#[test]
fn ranks_find_their_numbers_under_the_usual_names() {
    let show = "echo $OMPI_COMM_WORLD_RANK/$OMPI_COMM_WORLD_SIZE $OMPI_COMM_WORLD_LOCAL_RANK/$OMPI_COMM_WORLD_LOCAL_SIZE \
                $OMPI_COMM_WORLD_NODE_RANK $PMI_RANK/$PMI_SIZE $MPI_LOCALRANKID/$MPI_LOCALNRANKS $CORELACE_NODE/$CORELACE_NODES";
    let ended = mpirun(["-n", "2", "sh", "-c", show]).run().expect_success();
    assert_eq!(ended.sorted(), ["0/2 0/2 0 0/2 0/2 0/1", "1/2 1/2 1 1/2 1/2 0/1"]);
}

#[test]
fn flags_of_other_launchers_do_what_they_do_there() {
    let run = |words: &[&str]| mpirun(words).run();
    run(&["--host", "localhost", "-ppn", "3", "echo", "x"]).expect_success().expect_output("x\nx\nx\n");
    run(&["-genv", "A", "b c", "-np1", "sh", "-c", "echo $A"]).expect_output("b c\n");
    run(&["-genvlist", "PATH", "sh", "-c", "echo ${HOME-none}"]).expect_output("none\n");
    run(&["-l", "-n", "1", "echo", "x"]).expect_output("[0] x\n");
    run(&["--mca", "btl", "self", "true"]).expect_success().expect_said(&["note: --mca btl self"]);
    let quiet = run(&["-q", "--mca", "btl", "self", "true"]).expect_success();
    assert_eq!(quiet.stderr, "");
    run(&["--host", "elsewhere", "true"]).expect_code(127).expect_said(&[
        "--host elsewhere: Corelace runs the ranks of a job on one machine, expected localhost",
    ]);
    run(&["-print-all-exitcodes", "-n", "2", "true"]).expect_said(&["rank 0 (pid ", "exited with status 0"]);
    let bound = run(&["--bind-to", "socket", "--report-bindings", "-n", "2", "true"]).expect_success();
    assert_eq!(bound.stderr.matches("is bound to CPUs ").count(), 2, "{bound}");
    let room = scratch("files");
    let directory = room.join("copies").display().to_string();
    run(&["--output-filename", &directory, "-n", "2", "sh", "-c", "echo out; echo err >&2"])
        .expect_output("out\nout\n");
    let pattern = room.join("only.%r").display().to_string();
    run(&["-outfile-pattern", &pattern, "-n", "2", "echo", "x"]).expect_output("");
    let read = |name: &str| std::fs::read_to_string(room.join(name)).expect(name);
    assert_eq!(
        (read("copies/1/rank.1/stdout"), read("copies/1/rank.0/stderr")),
        ("out\n".into(), "err\n".into())
    );
    assert_eq!(read("only.0") + &read("only.1"), "x\nx\n");
}

#[test]
fn standard_input_goes_to_whom_it_is_meant_for() {
    for (who, expected) in [("all", "[0] in|[1] in|[2] in"), ("none", ""), ("2", "[2] in")] {
        for from_file in [false, true] {
            let file = scratch("input").join("in");
            std::fs::write(&file, "in\n").expect("a file of ours");
            let mut command = Command::new(prefix().join("bin/mpirun"));
            command.args(["-n", "3", "-l", "--stdin", who, "cat"]).stdout(Stdio::piped());
            let source = std::fs::File::open(&file).expect("just written");
            command.stdin(if from_file { Stdio::from(source) } else { Stdio::piped() });
            let mut child = command.spawn().expect("it starts");
            if let Some(mut stdin) = child.stdin.take() {
                // Nobody may read it.
                _ = stdin.write_all(b"in\n");
            }
            let output = child.wait_with_output().expect("it ends");
            let text = String::from_utf8(output.stdout).expect("text");
            let mut lines: Vec<_> = text.lines().collect();
            lines.sort_unstable();
            assert_eq!(lines.join("|"), expected, "{who}");
        }
    }
}

#[test]
fn an_allocation_of_several_nodes_is_told_and_so_is_a_foreign_launcher() {
    let job = mpirun(["-n", "2", "true"]).variable("SLURM_JOB_NUM_NODES", "4");
    job.run()
        .expect_success()
        .expect_said(&["SLURM_JOB_NUM_NODES: this allocation has 4 nodes, but all 2 ranks run on this one"]);
    let mut alone = Command::new(program("sealed.c"));
    alone.env("CORELACE_SEGMENT_FD", "0").env("PMIX_RANK", "3").env("PMIX_NAMESPACE", "job-1");
    Job::of(alone).run().expect_said(&["PMIX_RANK=3 says that another launcher started this process"]);
}

#[test]
fn a_signal_that_continues_or_informs_reaches_the_ranks() {
    let script = "trap 'echo winch' WINCH; trap 'echo usr' USR2; echo ready; while :; do sleep 0.05; done";
    let job = mpirun(["-n", "1", "bash", "-c", script]).start();
    job.lines(1);
    job.signal(Signal::WINCH);
    assert_eq!(job.lines(2)[1], "winch");
    job.signal(Signal::USR2);
    assert_eq!(job.lines(3)[2], "usr");
    job.signal(Signal::QUIT);
    job.wait().expect_code(131);
    job.expect_nothing_left();
    kill(job.pid(), Signal::CONT);
}

#[test]
fn control_characters_of_names_are_made_visible() {
    let ended = mpirun(["-n", "1", "./no\x1b[31mprogram\u{9b}"]).run().expect_code(127);
    assert!(!ended.stderr.contains(['\x1b', '\u{9b}']), "{ended}");
    ended.expect_said(&["./no\\x1b[31mprogram\\u009b"]);
    for mode in MODES {
        let room = scratch("visible");
        let named = room.join("en\x1b[31mds");
        std::fs::copy(program("outside.c"), &named).unwrap();
        let trace = room.join("job.trace");
        let job = mpirun(["-n", "1", "--ranks", mode, "-print-all-exitcodes", "--trace"]).argument(&trace);
        let ended = job.argument(&named).argument("late").run();
        assert!(!ended.stderr.contains('\x1b'), "{mode}: {ended}");
        let text = corelace(["report", "--text"]).argument(&trace).run().expect_success();
        assert!(text.stdout.contains("en\\x1b[31mds") && !text.stdout.contains('\x1b'), "{mode}: {text}");
    }
}

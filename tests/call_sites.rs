//! What is said of a call names its file and line, however the program came to be.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::job::Job;
use crate::support::{
    MODES, compile, corelace, mpirun, on, prefix, program, root, scratch, started_by, succeed,
};

/// The number of the one line of a source that ends with this comment.
fn line(source: &Path, comment: &str) -> usize {
    let text = fs::read_to_string(source).unwrap();
    let marked = format!("/* {comment} */");
    let lines: Vec<usize> = (1..)
        .zip(text.lines())
        .filter(|(_, line)| line.ends_with(&marked))
        .map(|(number, _)| number)
        .collect();
    assert_eq!(lines.len(), 1, "one line of {} ends with {marked}", source.display());
    lines[0]
}

/// Two ranks of `call_sites.c`, which is handed over as a source file.
fn from_source(flags: &[&str], how: &str) -> Job {
    let source = root().join("tests/c/call_sites.c");
    mpirun(["-n", "2"]).arguments(flags).argument(source).argument(how)
}

/// The call site of the line with this comment, as reports write it.
fn site(function: &str, comment: &str) -> String {
    let source = root().join("tests/c/call_sites.c");
    format!("{function} at c/call_sites.c:{}", line(&source, comment))
}

#[test]
fn a_program_that_was_compiled_into_memory_has_lines_in_every_report() {
    for mode in MODES {
        let on = ["--ranks", mode, "--hang-timeout", "1", "--on-hang", "abort"];
        from_source(&on, "hang")
            .run()
            .expect_code(125)
            .expect_said(&["rank 0 is in MPI_Recv", &site("main", "the hang")]);
        let error = site("main", "the error");
        from_source(&on, "error").run().expect_said(&["MPI_Send", &format!("[{error}]")]);
        let check = [&on[..], &["--check"]].concat();
        from_source(&check, "leak").run().expect_said(&["check: rank 0", &site("main", "the leak")]);
    }
    let last = format!("rank 1 called MPI_Barrier last [{}]", site("crash", "the last call"));
    from_source(&[], "crash").run().expect_code(139).expect_said(&[&last]);
}

#[test]
fn a_call_before_init_or_after_finalize_is_told_with_its_file_and_line() {
    let source = root().join("tests/c/outside.c");
    let place = format!("[main at c/outside.c:{}]", line(&source, "the call"));
    // The second has no debug information.
    let programs = [(source, place), (program("outside.c"), "[main (outside+0x".into())];
    for mode in MODES {
        for (program, place) in &programs {
            for (how, when) in [("early", "before MPI_Init"), ("late", "after MPI_Finalize")] {
                let ended = on(mode, 2, program).argument(how).run();
                let ended = ended.expect_code(16).expect_said(&["MPI_Comm_rank", when, place]);
                assert_eq!(ended.stderr.matches("MPI_Comm_rank").count(), 1, "{mode}: {ended}");
            }
        }
    }
}

/// Where no launcher listens, the process says itself what is wrong.
#[test]
fn a_call_before_init_is_told_without_a_launcher() {
    let ended = Job::of(Command::new(program("outside.c"))).argument("early").run();
    ended.expect_code(16).expect_said(&["corelace: MPI_Comm_rank", "before MPI_Init"]);
}

#[test]
fn a_trace_of_a_program_that_was_compiled_into_memory_has_its_lines() {
    let room = scratch("memory-trace");
    let (trace, csv) = (room.join("job.trace"), room.join("job.csv"));
    let flags = ["--trace", trace.to_str().unwrap()];
    from_source(&flags, "fine").run().expect_success();
    corelace(["report", "--format", "csv", "-o"]).argument(&csv).argument(&trace).run().expect_success();
    let calls = fs::read_to_string(&csv).unwrap();
    let call = site("main", "nothing wrong");
    assert!(calls.lines().any(|line| line.contains("MPI_Bcast") && line.contains(&call)), "{calls}");
}

#[test]
fn two_programs_of_one_name_are_not_mixed_up() {
    let room = scratch("namesakes");
    let hang = "MPI_Recv(&value, 1, MPI_INT, 1 - rank, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);";
    for (directory, above) in [("a", 1), ("b", 40)] {
        fs::create_dir(room.join(directory)).unwrap();
        let text = format!(
            "#include <mpi.h>\nint main(int argc, char **argv)\n{{\n    int rank, value;\n    MPI_Init(&argc, &argv);\n    \
             MPI_Comm_rank(MPI_COMM_WORLD, &rank);{}    {hang}\n    MPI_Finalize();\n}}\n",
            "\n".repeat(above)
        );
        fs::write(room.join(directory).join("twin.c"), text).unwrap();
    }
    let job = mpirun(["--hang-timeout", "1", "--on-hang", "abort", "-n", "1"])
        .argument(room.join("a/twin.c"))
        .arguments(&[":", "-n", "1"])
        .argument(room.join("b/twin.c"));
    job.run().expect_code(125).expect_said(&["main at a/twin.c:7)", "main at b/twin.c:46)"]);
}

/// A program that is linked with the library's archive, by the compiler alone.
#[test]
fn a_statically_linked_program_has_calls_and_lines() {
    let source = root().join("tests/c/call_sites.c");
    let room = scratch("static");
    for flags in [&["-static"][..], &[]] {
        let product = room.join(if flags.is_empty() { "archive" } else { "static" });
        let mut compiler = Command::new("cc");
        compiler.args(["-g", "-w", "-I"]).arg(prefix().join("include")).args(flags).arg(&source).arg("-o");
        compiler.arg(&product).arg(prefix().join("lib/libmpi_abi.a")).arg("-lm");
        succeed(compiler);
        let job = |how: &str| {
            let flags = ["-n", "2", "--hang-timeout", "1", "--on-hang", "abort"];
            mpirun(flags).argument(&product).argument(how)
        };
        let hang = format!(
            "rank 0 is in MPI_Recv and waits for a message from rank 1 with tag 5 ({})",
            site("main", "the hang")
        );
        job("hang").run().expect_code(125).expect_said(&[&hang]);
        let last = format!("rank 1 called MPI_Barrier last [{}]", site("crash", "the last call"));
        job("crash").run().expect_code(139).expect_said(&[&last]);
        job("error").run().expect_said(&["MPI_Send", &format!("[{}]", site("main", "the error"))]);
    }
}

#[test]
fn a_program_in_rust_has_calls_and_lines_without_debug_information() {
    let source = root().join("tests/rust/waits.rs");
    let program = Path::new(env!("CARGO_BIN_EXE_rust-waits"));
    let at = |what: &str| format!("tests/rust/waits.rs:{}", line(&source, what));
    let said = [
        ("recv", "rank 0 is in recv and waits for a message from rank 1 with tag 5"),
        ("recv_vec", "rank 0 is in probe and waits for a message from rank 1 with tag 5"),
        ("send", "rank 0 is in send and waits for rank 1 to receive 4194304 bytes with tag 6"),
        ("exchange", "rank 0 is in recv and waits for a message from rank 1 with tag 2"),
        ("wait", "rank 0 is in recv and waits for a message from rank 1 with tag 7"),
        ("wait_all", "rank 0 is in recv and waits for a message from rank 1 with tag 0"),
        ("wait_any", "rank 0 is in wait_any and waits for the first of: a message from rank 1 with tag 0"),
        ("collective", "rank 0 is in allreduce on MPI_COMM_WORLD"),
        ("scope", "rank 0 is in recv and waits for a message from rank 1 with tag 9"),
    ];
    let flags = ["-n", "2", "--hang-timeout", "1", "--on-hang", "abort"];
    let jobs: Vec<_> =
        said.iter().map(|(what, _)| mpirun(flags).argument(program).argument(what).start()).collect();
    for (job, (what, said)) in jobs.iter().zip(said) {
        job.wait().expect_code(125).expect_said(&[said, &format!("({})", at(what))]);
    }
    let last = format!("rank 1 waited in barrier last [at {}]", at("crash"));
    mpirun(["-n", "2"]).argument(program).argument("crash").run().expect_code(134).expect_said(&[&last]);
}

#[test]
fn a_crash_of_a_rank_that_shares_its_process_has_a_backtrace() {
    let source = root().join("tests/c/backtrace.c");
    let room = scratch("backtrace");
    let at =
        |function: &str, comment: &str| format!("[{function} at c/backtrace.c:{}]", line(&source, comment));
    let outer = [at("middle", "middle"), at("main", "main")]
        .map(|place| format!("corelace:     called from {place}\n"));
    for level in ["-O0", "-O2"] {
        let program = room.join(level);
        compile(&source, &program, &["-g", level]);
        for flags in [["--ranks", "thread"], ["--ranks", "fiber"], ["--chip", "mesh16"]] {
            let crash =
                |how: &str| mpirun(flags).arguments(&["-n", "3"]).argument(&program).argument(how).run();
            let inside = format!("corelace:   rank 1 was in {}\n", at("inner", "inside"));
            crash("inside").expect_code(139).expect_said(&[&(inside + &outer.concat())]);
            let library = format!("was in a library\ncorelace:     called from {}\n", at("inner", "library"));
            crash("library").expect_code(139).expect_said(&[&(library + &outer.concat())]);
            let abort = format!("corelace:     called from {}\n", at("inner", "abort"));
            crash("abort").expect_code(134).expect_said(&[&(abort + &outer.concat())]);
        }
    }
    let recursion = format!("called from {}, at least ", at("deeper", "recursion"));
    let program = room.join("-O0");
    let job = mpirun(["--ranks", "fiber", "-n", "3"]).argument(&program).argument("recursion");
    job.run().expect_code(139).expect_said(&["overflowed", &recursion, " times"]);
}

#[test]
fn a_crash_of_a_process_has_a_backtrace_if_it_leaves_a_core_file() {
    let source = root().join("tests/c/backtrace.c");
    let room = scratch("cores");
    let archive = prefix().join("lib/libmpi_abi.a");
    let fixed = room.join("fixed");
    let mut compiler = Command::new("cc");
    compiler.args(["-g", "-O1", "-no-pie", "-w", "-I"]).arg(prefix().join("include")).arg(&source);
    succeed({
        compiler.arg("-o").arg(&fixed).arg(archive).arg("-lm");
        compiler
    });
    let relocated = room.join("relocated");
    compile(&source, &relocated, &["-g", "-O2"]);
    let at =
        |function: &str, comment: &str| format!("[{function} at c/backtrace.c:{}]", line(&source, comment));
    let way = [at("middle", "middle"), at("main", "main")].map(|place| format!("called from {place}"));
    let pattern = fs::read_to_string("/proc/sys/kernel/core_pattern").unwrap();
    for program in [&fixed, &relocated, &source] {
        let crash = |limit: &str| {
            let mut shell = Command::new("sh");
            let script = format!("ulimit -c {limit} && cd \"$0\" && exec env \"$@\"");
            shell.args(["-c", &script]).arg(&room);
            let job = started_by(shell, "mpirun", ["-n", "3"]).argument(program).argument("inside");
            job.run().expect_code(139).expect_said(&["rank 1 called MPI_Barrier last"])
        };
        // Where core files go elsewhere, or are not written at all, nothing is said of what nobody knows.
        if pattern.trim() == "core" {
            let was_in = format!("rank 1 was in {}", at("inner", "inside"));
            crash("unlimited").expect_said(&[&was_in, &way[0], &way[1]]);
        }
        for entry in fs::read_dir(&room).unwrap().flatten() {
            if entry.file_name().to_string_lossy().starts_with("core") {
                fs::remove_file(entry.path()).unwrap();
            }
        }
        let ended = crash("0");
        assert!(!ended.stderr.contains("was in"), "{ended}");
    }
}

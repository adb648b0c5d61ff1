//! `mpicc --count`: programs that count what they compute give the same results as others, and take on a chip the time that its description says.
#![cfg(target_arch = "x86_64")]

use std::fs;
use std::path::Path;

use crate::chips::stats;
use crate::support::job::Ended;
use crate::support::{compile, compiled_with, mpirun, on, program, root, scratch, tool};

fn source() -> std::path::PathBuf {
    root().join("tests/c/counted.c")
}

fn counted() -> std::path::PathBuf {
    compiled_with(&source(), &["--count", "-lm"])
}

/// A run of one rank.
fn run(chip: &str, program: &Path, divisions: &str) -> Ended {
    let words = ["--chip", chip, "-n", "1", "--stats=json"];
    mpirun(words).argument(program).argument(divisions).run().expect_success()
}

/// What the program measured, in nanoseconds: cycles of a chip with 1 GHz.
fn measured(ended: &Ended) -> u64 {
    let line = ended.stderr.lines().find_map(|line| line.strip_suffix(" ns"));
    line.unwrap_or_else(|| panic!("no time: {ended}")).parse().expect("a number")
}

#[test]
fn counted_programs_compute_the_same_at_every_level_of_optimisation() {
    let plain = compiled_with(&source(), &["-lm"]);
    let expected = on("process", 1, &plain).run().expect_success().stdout;
    assert!(expected.starts_with("sum "), "{expected}");
    let directory = scratch("counted");
    for (number, level) in
        ["-O0", "-O1", "-O2", "-O3", "-Os", "-O2 -g", "-O2 -fno-plt -pipe"].iter().enumerate()
    {
        let product = directory.join(format!("program{number}"));
        let words: Vec<&str> = level.split(' ').chain(["--count", "-lm"]).collect();
        compile(&source(), &product, &words);
        for mode in ["process", "fiber"] {
            let ended = on(mode, 1, &product).run().expect_success();
            assert_eq!(ended.stdout, expected, "{level} as {mode}: {ended}");
        }
        let ended = run("mesh16", &product, "1000");
        assert_eq!(ended.stdout, expected, "{level} on a chip: {ended}");
        assert!(stats(&ended)["counted_cycles"].as_u64() > Some(10_000), "{level}: {ended}");
    }
}

#[test]
fn counted_work_grows_with_the_loop_and_is_the_same_every_time() {
    let program = counted();
    let times = ["1000", "2000", "4000"].map(|divisions| measured(&run("mesh16", &program, divisions)));
    let each = (times[1] - times[0]) / 1000;
    // A division of 20 cycles, an addition, a conversion, a counter and a jump.
    assert!((24..40).contains(&each), "{times:?}");
    assert_eq!(times[2] - times[1], 2 * (times[1] - times[0]), "{times:?}");
    let hash = || stats(&run("mesh16", &program, "1000"))["trace_hash"].clone();
    assert_eq!(hash(), hash());
}

#[test]
fn a_slower_divider_costs_what_the_divisions_cost_and_nothing_else() {
    let program = counted();
    let text = fs::read_to_string(root().join("chips/mesh16.toml")).expect("a chip");
    let slower = scratch("divider").join("slow.toml");
    let line = "float_divide   = { value = 20,";
    assert!(text.contains(line));
    fs::write(&slower, text.replace(line, "float_divide   = { value = 50,")).expect("a file");
    let fast = measured(&run("mesh16", &program, "1000"));
    let slow = measured(&run(slower.to_str().expect("a path"), &program, "1000"));
    assert_eq!(slow - fast, 30 * 1000);
}

#[test]
fn who_neither_declares_nor_counts_is_told_what_the_time_leaves_out() {
    let words = ["--chip", "mesh16", "-n", "2"];
    let silent = mpirun(words).argument(program("clock.c")).run().expect_success();
    let silent = silent.expect_said(&[
        "the program neither declares nor counts what it computes",
        "mpicc --count",
        "MPIX_Compute",
    ]);
    assert_eq!(silent.stdout, "computed 0, sent 1\n", "{silent}");
    // A file is counted when mpirun compiles it, unless it is asked not to.
    let source = root().join("tests/c/clock.c");
    let by_itself = mpirun(words).argument(&source).run().expect_success();
    by_itself.expect_output("computed 1, sent 1\n");
    let refused = mpirun(words).argument("--no-count").argument(&source).run().expect_success();
    refused.expect_said(&["neither declares nor counts"]);
    let strange = mpirun(["--chip", "earth-simulator", "-n", "1"]).argument(counted()).run().expect_success();
    strange.expect_said(&["does not say what instructions cost ([core])"]);
}

#[test]
fn a_file_that_declares_its_work_is_not_counted_besides() {
    let busy = compiled_with(&root().join("tests/c/busy.c"), &["--count"]);
    let plain = program("busy.c");
    let figures = |program: &Path| {
        stats(
            &mpirun(["--chip", "mesh16", "-n", "4", "--stats=json"]).argument(program).run().expect_success(),
        )
    };
    let (with, without) = (figures(&busy), figures(&plain));
    assert_eq!(with["cycles"], without["cycles"]);
    assert_eq!(with["counted_cycles"].as_u64(), Some(0));
    assert!(with["declared_cycles"].as_u64() > Some(0), "{with}");
}

#[test]
fn what_cannot_be_counted_is_refused() {
    for (words, reason) in [
        (&["-shared", "-fPIC"][..], "the words ask for a shared library, expected a program"),
        (&["-flto"], "-flto leaves the making of code to the linker"),
    ] {
        let mut compiler = tool("mpicc");
        compiler.arg("--count").args(words).arg(source()).arg("-o").arg(scratch("refused").join("it"));
        crate::support::job::Job::of(compiler).run().expect_code(127).expect_said(&[reason]);
    }
}

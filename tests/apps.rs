//! Every application of `apps` compiles without a warning and finds its own result right, on ranks of several kinds.

use std::path::{Path, PathBuf};

use crate::support::job::Job;
use crate::support::{compiled_with, mpirun, on, root};

/// One cluster of 12 ranks, and two.
const SIZES: [usize; 2] = [12, 24];

/// Ranks that share nothing, and ranks that share everything: a thread's rank has nothing that neither of them has.
const KINDS: [&str; 2] = ["process", "fiber"];

/// MPI, and raw mailboxes and portals.
const VARIANTS: [(&str, &[&str]); 2] = [("mpi", &[]), ("ipc", &["--ipc"])];

/// An application, compiled so that a warning fails.
pub fn app(name: &str) -> PathBuf {
    let source = root().join("apps").join(name).with_extension("c");
    compiled_with(&source, &["-std=c11", "-Wpedantic", "-Wshadow", "-Werror", "-lm"])
}

/// The value of a word `key=value` of a line.
#[track_caller]
pub fn word<'a>(line: &'a str, key: &str) -> &'a str {
    let found = line.split(' ').find_map(|word| word.strip_prefix(key)?.strip_prefix('='));
    found.unwrap_or_else(|| panic!("no word {key}= in: {line}"))
}

/// A run that says nothing on stderr, as lines.
#[track_caller]
pub fn lines(kind: &str, ranks: usize, program: &Path, arguments: &[&str]) -> Vec<String> {
    let ended = on(kind, ranks, program).arguments(arguments).run().expect_success();
    assert_eq!(ended.stderr, "", "{ended}");
    ended.stdout.lines().map(str::to_owned).collect()
}

/// The results of runs whose checks have passed, for each kind of rank and each variant.
#[track_caller]
fn everywhere(ranks: usize, program: &Path, arguments: &[&str]) -> Vec<String> {
    let mut results = Vec::new();
    for kind in KINDS {
        for (variant, option) in VARIANTS {
            let line = checked(kind, ranks, program, &[arguments, option].concat());
            assert_eq!(word(&line, "variant"), variant);
            results.push(word(&line, "result").to_owned());
        }
    }
    results
}

/// The only line of a run whose check has passed.
#[track_caller]
pub fn checked(kind: &str, ranks: usize, program: &Path, arguments: &[&str]) -> String {
    let lines = lines(kind, ranks, program, arguments);
    let [line] = &lines[..] else { panic!("expected one line: {lines:?}") };
    assert_eq!(word(line, "check"), "passed", "{line}");
    assert_time(line);
    line.clone()
}

/// `time` and `cycles` are the same duration; printed time is exact to a nanosecond, which is less than half a cycle.
#[track_caller]
pub fn assert_time(line: &str) {
    let seconds = word(line, "time").strip_suffix('s').and_then(|time| time.parse::<f64>().ok());
    let cycles: Option<f64> = word(line, "cycles").parse().ok();
    let (Some(seconds), Some(cycles)) = (seconds, cycles) else { panic!("no duration: {line}") };
    assert!(seconds > 0.0 && (seconds * 400e6 - cycles).abs() <= 1.0, "{line}");
}

#[track_caller]
pub fn refused(job: Job, reason: &str) {
    job.run().expect_code(2).expect_said(&[reason]);
}

#[test]
fn a2a_prints_a_line_for_each_size_and_finds_every_sender() {
    let program = app("a2a");
    for ranks in SIZES {
        for kind in KINDS {
            for (variant, option) in VARIANTS {
                let lines = lines(kind, ranks, &program, &[&["--max", "8192"], option].concat());
                let sizes: Vec<_> = lines.iter().map(|line| word(line, "bytes")).collect();
                assert_eq!(sizes, ["128", "256", "512", "1024", "2048", "4096", "8192"]);
                for line in &lines {
                    assert_eq!([word(line, "variant"), word(line, "result")], [variant, "ok"]);
                    assert_time(line);
                }
            }
        }
    }
}

#[test]
fn fn_counts_the_pairs_that_a_naive_count_finds() {
    let program = app("fn");
    for ranks in SIZES {
        let clusters = ranks / 12;
        let numbers: Vec<u64> = (1..=384 * clusters as u64).collect();
        let sums: Vec<u64> =
            numbers.iter().map(|&n| (1..=n).filter(|divisor| n % divisor == 0).sum()).collect();
        let friends = |&(i, j): &(usize, usize)| sums[i] * numbers[j] == sums[j] * numbers[i];
        let pairs = (0..numbers.len()).flat_map(|j| (0..j).map(move |i| (i, j))).filter(friends).count();
        assert!(pairs > 0);
        for found in everywhere(ranks, &program, &["--first", "1", "--scale", "0.25", "--check", "full"]) {
            assert_eq!(found, pairs.to_string());
        }
        checked("fiber", ranks, &program, &["--scale", "0.1"]);
    }
}

#[test]
fn gf_filters_every_pixel_as_the_definition_says() {
    let program = app("gf");
    for ranks in SIZES {
        let sums = everywhere(ranks, &program, &["--scale", "0.003", "--check", "full"]);
        assert!(sums.iter().all(|sum| *sum == sums[0]), "{sums:?}");
    }
    assert_eq!(word(&checked("fiber", 3, &program, &["--scale", "0.001"]), "clusters"), "1");
}

#[test]
fn km_ends_with_the_centroids_of_a_serial_run_whoever_adds_what() {
    let program = app("km");
    let small = ["--scale", "0.05", "--check", "full"];
    for ranks in SIZES {
        let mut results = everywhere(ranks, &program, &small);
        let fewer = checked("fiber", ranks - 5, &program, &small);
        assert!(word(&fewer, "rounds").parse::<u32>().is_ok_and(|rounds| rounds > 2), "{fewer}");
        results.push(word(&fewer, "result").to_owned());
        assert!(results.iter().all(|result| *result == results[0]), "{results:?}");
    }
    let line = checked("fiber", 12, &program, &["--scale", "0.2", "--rounds", "3"]);
    assert_eq!(word(&line, "rounds"), "3");
}

#[test]
fn hpl_passes_its_residual_check_on_every_grid() {
    let program = app("hpl");
    let runs: [(usize, &str); 9] = [
        (1, ""),
        (4, "--depth 0"),
        (4, "--depth 1 --bcast binomial"),
        (6, "--depth 0 --bcast binomial"),
        (6, "--depth 1 --p 3"),
        (6, "--p 6"),
        (5, "--p 1 --bcast binomial --nb 3"),
        (9, "--seed 7"),
        (16, "--nb 64"),
    ];
    for (ranks, options) in runs {
        let arguments: Vec<_> =
            "--n 150 --nb 16".split(' ').chain(options.split(' ').filter(|word| !word.is_empty())).collect();
        for kind in KINDS {
            let lines = lines(kind, ranks, &program, &arguments);
            let [residual, line] = &lines[..] else { panic!("expected two lines: {lines:?}") };
            assert!(residual.starts_with("||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)="), "{residual}");
            assert!(residual.ends_with("PASSED"), "{residual}");
            assert_eq!(word(line, "result"), "passed");
            let residual: f64 = word(line, "residual").parse().expect("a number");
            assert!(residual > 0.0, "a residual of nothing was not measured: {line}");
            assert_time(line);
        }
    }
}

#[test]
fn pingpong_measures_both_directions_of_every_size() {
    let program = app("pingpong");
    for kind in KINDS {
        for send in ["send", "isend"] {
            let words =
                ["--from", "3", "--to", "1", "--sizes", "0,96,65536", "--repeat", "5", "--send", send];
            let lines = lines(kind, 4, &program, &words);
            let measured: Vec<_> =
                lines.iter().map(|line| ["from", "to", "bytes", "send"].map(|key| word(line, key))).collect();
            let expected: Vec<_> = ["0", "96", "65536"]
                .iter()
                .flat_map(|bytes| [["3", "1", bytes, send], ["1", "3", bytes, send]])
                .collect();
            assert_eq!(measured, expected);
            lines.iter().for_each(|line| assert_time(line));
        }
    }
}

#[test]
fn pairs_measures_each_number_of_pairs_at_once() {
    let program = app("pairs");
    for kind in KINDS {
        let halves = lines(kind, 16, &program, &["--bytes", "4096"]);
        let counts: Vec<_> = halves.iter().map(|line| word(line, "pairs")).collect();
        assert_eq!(counts, ["1", "2", "4", "8"]);
        let named = lines(kind, 4, &program, &["--pairs", "0-3,2-1", "--at-once", "2", "--send", "isend"]);
        assert_eq!(named.len(), 1);
        assert_eq!(word(&named[0], "slowdown"), "1.0000");
    }
}

#[test]
fn rma_barrier_and_bcast_find_their_results_right_on_the_host() {
    for kind in KINDS {
        for operation in ["put", "get", "accumulate"] {
            let arguments = ["--operation", operation, "--sizes", "8,4096", "--repeat", "3"];
            let lines = lines(kind, 3, &app("rma"), &arguments);
            let sizes: Vec<_> = lines.iter().map(|line| word(line, "bytes")).collect();
            assert_eq!(sizes, ["8", "4096"]);
            assert!(lines.iter().all(|line| word(line, "operation") == operation), "{lines:?}");
        }
        let barriers = lines(kind, 5, &app("barrier"), &["--repeat", "3"]);
        let of: Vec<_> = barriers.iter().map(|line| word(line, "of")).collect();
        assert_eq!(of, ["world", "messages"]);
        let broadcasts = lines(kind, 5, &app("bcast"), &["--repeat", "2", "--large", "20000"]);
        let of: Vec<_> = broadcasts.iter().map(|line| [word(line, "bytes"), word(line, "result")]).collect();
        assert_eq!(of, [["8", "ok"], ["20000", "ok"]]);
    }
}

#[test]
fn commonly_and_stencil5_find_their_results_right_on_the_host_in_every_mode() {
    for kind in KINDS {
        for (mode, ranks) in [("dcfa", 2), ("card", 2), ("offload", 4)] {
            let words = ["--mode", mode, "--sizes", "1,5000,100000", "--repeat", "3"];
            let lines = lines(kind, ranks, &app("commonly"), &words);
            assert_eq!(lines.len(), 3);
            for line in &lines {
                assert_eq!([word(line, "mode"), word(line, "check")], [mode, "passed"]);
                assert_time(line);
            }
            let words = ["--mode", mode, "--size", "66", "--steps", "7", "--threads", "4"];
            let line = checked(kind, 3 * ranks / 2, &app("stencil5"), &words);
            assert_eq!(word(&line, "ranks"), "3");
        }
    }
}

/// A run on the simulated chip on which these programs were published, 12 ranks a cluster.
#[track_caller]
fn on_the_chip(ranks: usize, protocol: &str, program: &Path, arguments: &[&str]) -> Vec<String> {
    let job = mpirun(["--chip", "mppa256-andey", "-n", &ranks.to_string(), "--protocol", protocol]);
    let ended = job.argument(program).arguments(arguments).run().expect_success();
    ended.stdout.lines().map(str::to_owned).collect()
}

#[test]
fn a_chip_finds_what_the_host_finds_by_every_protocol_and_takes_the_same_time_again() {
    for (name, arguments) in
        [("fn", ["--scale", "0.05"]), ("gf", ["--scale", "0.002"]), ("km", ["--scale", "0.05"])]
    {
        let program = app(name);
        let host = checked("fiber", 24, &program, &arguments);
        for protocol in ["auto", "lwmpi", "lwmpi-unopt", "pe", "dma", "eager", "lazy"] {
            for (variant, option) in VARIANTS {
                let run = || on_the_chip(24, protocol, &program, &[&arguments, option].concat()).concat();
                let line = run();
                assert_eq!(word(&line, "variant"), variant);
                assert_eq!(word(&line, "check"), "passed", "{line}");
                assert_eq!(word(&line, "result"), word(&host, "result"), "{line}");
                assert_eq!(run(), line, "another time");
            }
        }
    }
}

/// 140 numbers near a million are the largest part of a rank of one cluster, and each takes 47 million cycles by the law.
#[test]
fn declared_work_takes_the_time_of_its_law_on_a_chip() {
    let lines = on_the_chip(12, "lwmpi", &app("fn"), &[]);
    let cycles: f64 = word(&lines[0], "cycles").parse().expect("a number");
    let number = 20.0 * 5e5 + 3.0 * 1e6 * (1e6_f64.ln() + 2.0 * 0.577_216 - 1.0 - 1.5);
    let law = 140.0 * number + 6.0 * 1536.0 * 1535.0 / 2.0;
    assert!((cycles / law - 1.0).abs() < 0.01, "{cycles} cycles, by the law {law}");
}

#[test]
fn pingpong_reaches_the_io_rank_which_is_told_nothing() {
    let program = app("pingpong");
    let words = ["--from", "io", "--to", "15", "--sizes", "1,4096", "--repeat", "2"];
    let job = mpirun(["--chip", "mppa256-andey", "-n", "16", "--map", "scatter", "--io"]).argument(&program);
    let ended = job.argument(&program).arguments(&words).run().expect_success();
    let ways: Vec<_> = ended.stdout.lines().map(|line| [word(line, "from"), word(line, "to")]).collect();
    assert_eq!(ways, [["io", "15"], ["15", "io"], ["io", "15"], ["15", "io"]]);
}

#[test]
fn wrong_options_are_refused_with_their_value_and_what_was_expected() {
    let program = app("km");
    let run = |words: &[&str]| on("fiber", 12, &program).arguments(words);
    refused(run(&["--scale", "none"]), "--scale is 'none', expected a number above zero");
    refused(run(&["--check", "half"]), "--check is 'half', expected sampled|full");
    refused(run(&["--rounds"]), "--rounds is '', expected a whole number, 1 or more");
    refused(run(&["--speed"]), "no option --speed");
    refused(run(&["--scale", "9"]), "120960 points a cluster, expected");
    let pairs = app("pairs");
    refused(on("fiber", 4, &pairs).arguments(&["--pairs", "0-1,1-2"]), "0-1,1-2 among 4 ranks");
    refused(on("fiber", 4, &app("hpl")).arguments(&["--p", "3"]), "3 x 1 is not for 4 ranks");
}

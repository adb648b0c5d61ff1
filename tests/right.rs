//! Right programs are told nothing: the examples, the applications, the suites of `c` and the Python programs run under `--check`, with a
//! hang timeout that is shorter than some of them take, and standard error stays empty.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::job::Ended;
use crate::support::{MODES, compiled, mpirun, program, root};
use crate::{apps, python};

/// Programs of `c` that print "no errors" and do not belong here, each with the reason.
const OTHERS: &[(&str, &str)] = &[
    ("rendezvous.c", "waits for times of a simulated system"),
    ("agent.c", "needs an agent, which checks do without"),
    ("bad_buffers.c", "sends from memory that is not there"),
    ("cancel_alone.c", "needs a pipe, and two ranks"),
    ("chip_windows.c", "needs a chip"),
    ("disagreement.c", "its counts disagree"),
    ("early_bursts.c", "counts pages, of which checks take some"),
    ("files_errors.c", "makes mistakes with files on purpose"),
    ("files_exchange.c", "needs a file, and another library"),
    ("files_faults.c", "needs a file, and a directory for journals"),
    ("files_killed.c", "ends by a signal"),
    ("files_limit.c", "needs a file"),
    ("held_up.c", "needs a pipe, and three ranks"),
    ("hosted.c", "does what ranks that share a process are told of"),
    ("initial_handler.c", "wants another error handler"),
    ("idle.c", "wants to know how ranks wait"),
    ("io_rank.c", "needs a chip with an I/O rank"),
    ("library_user.c", "needs a library of its own"),
    ("mistakes.c", "passes wrong arguments"),
    ("onesided_errors.c", "makes mistakes with windows on purpose"),
    ("onesided_still.c", "needs a pipe, and two ranks"),
    ("openmp.c", "needs another compilation"),
    ("openmp_multiple.c", "needs another compilation"),
    ("past_handles.c", "uses handles of what is gone on purpose"),
    ("portable.c", "wants to know which library it has"),
    ("refused.c", "sends at full speed, and letters about it as well"),
    ("spawn.c", "starts others, which ranks that share a process cannot"),
    ("taken_in.c", "weighs what cancelled sends leave, beside which checks keep packets of their own"),
    ("thousands.c", "prints a line a rank"),
    ("tools.c", "counts messages, of which checks have their own"),
    ("tools_threads.c", "counts messages, of which checks have their own"),
    ("too_much.c", "needs a chip with little memory"),
    ("without.c", "starts other programs"),
];

/// Programs with arguments.
const ARGUMENTS: [(&str, &[&str]); 11] = [
    // Checks are told of every kind, length and root.
    // That members change their way takes two of them, and more calls.
    ("again.c", &["16"]),
    ("all_to_all.c", &["500"]),
    ("many_integers.c", &["1000"]),
    // Every length, and once with gaps.
    ("moving.c", &["4"]),
    ("random_collectives.c", &["1", "40"]),
    ("random_files.c", &["1", "40"]),
    ("random_messages.c", &["1", "40"]),
    ("random_windows.c", &["1", "40"]),
    ("rolling.c", &["60", "12", "3"]),
    ("same_bits.c", &["65"]),
    ("traffic.c", &["1", "50"]),
];

/// Programs that need a process a rank: threads of their own, the segment.
const OF_PROCESSES: [&str; 5] =
    ["any_time.c", "checked_threads.c", "files_threads.c", "onesided_threads.c", "sealed.c"];

/// A run under checks that succeeds and says nothing.
#[track_caller]
fn nothing_said(mode: &str, ranks: usize, program: &Path, arguments: &[&str]) -> Ended {
    let flags = ["--check", "--hang-timeout", "1", "--ranks", mode, "-n", &ranks.to_string()];
    let ended = mpirun(flags).argument(program).arguments(arguments).run().expect_success();
    assert_eq!(ended.stderr, "", "{mode}: {ended}");
    ended
}

/// The sources of a folder, in order.
fn sources(folder: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(root().join(folder)).expect("a folder of the repository");
    let files = entries.map(|entry| entry.expect("readable").path());
    let mut sources: Vec<_> =
        files.filter(|file| file.extension().is_some_and(|name| name == "c" || name == "cc")).collect();
    sources.sort();
    sources
}

#[test]
fn nothing_is_said_of_the_examples() {
    let examples = [sources("examples/c"), sources("examples/cxx")].concat();
    assert!(examples.len() >= 6, "{examples:?}");
    for example in &examples {
        for mode in MODES {
            nothing_said(mode, 5, &compiled(example), &[]);
        }
    }
}

#[test]
fn nothing_is_said_of_the_suites() {
    let of = |source: &Path| source.file_name().expect("a file").to_str().expect("a plain name").to_owned();
    let mut known: Vec<_> = OTHERS.iter().map(|(name, _)| *name).collect();
    known.extend(ARGUMENTS.map(|(name, _)| name));
    known.extend(OF_PROCESSES);
    let sources = sources("tests/c");
    for name in known {
        assert!(sources.iter().any(|source| of(source) == name), "there is no {name} any more");
    }
    let mut run = 0;
    for source in &sources {
        let name = of(source);
        let text = fs::read_to_string(source).expect("text");
        let checks_itself = text.contains("no errors") || text.contains("return conclude()");
        if !checks_itself || OTHERS.iter().any(|(other, _)| *other == name) {
            continue;
        }
        let arguments = ARGUMENTS.iter().find(|(with, _)| *with == name).map_or(&[][..], |(_, words)| words);
        let modes = if OF_PROCESSES.contains(&&name[..]) { &MODES[..1] } else { &MODES };
        for mode in modes {
            nothing_said(mode, 4, &compiled(source), arguments).expect_output("no errors\n");
        }
        run += 1;
    }
    assert!(run >= 35, "only {run} programs");
}

#[test]
fn checks_let_a_job_end_whose_messages_are_not_buffered() {
    for protocol in ["lazy", "pe"] {
        for name in ["completion.c", "communicators.c"] {
            let flags =
                ["--check", "--hang-timeout", "1", "--on-hang", "abort", "--protocol", protocol, "-n", "3"];
            let ended = mpirun(flags).argument(program(name)).run().expect_success();
            assert_eq!(ended.stderr, "", "{name}, {protocol}: {ended}");
        }
    }
}

#[test]
fn nothing_is_said_of_the_applications() {
    let runs: [(&str, usize, &str); 8] = [
        ("a2a", 12, "--max 2048"),
        ("fn", 12, "--first 1 --scale 0.1"),
        ("gf", 12, "--scale 0.001"),
        ("km", 12, "--scale 0.05 --rounds 3"),
        ("hpl", 4, "--n 120 --nb 16"),
        ("hpl", 6, "--n 100 --nb 8 --depth 1 --bcast binomial"),
        ("pingpong", 4, "--from 3 --to 1 --sizes 0,96,65536 --repeat 3 --send isend"),
        ("pairs", 16, "--bytes 4096"),
    ];
    for (name, ranks, words) in runs {
        let words: Vec<_> = words.split(' ').collect();
        for mode in MODES {
            nothing_said(mode, ranks, &apps::app(name), &words);
        }
    }
    for name in ["fn", "km"] {
        nothing_said("fiber", 12, &apps::app(name), &["--scale", "0.05", "--ipc"]);
    }
}

#[test]
fn nothing_is_said_of_python_programs() {
    let interpreter = python::environment().program("python");
    for script in ["examples/python/hello.py", "examples/python/allreduce.py", "tests/python/operations.py"] {
        let script = root().join(script);
        nothing_said("process", 3, &interpreter, &[script.to_str().expect("a plain name")]);
    }
}

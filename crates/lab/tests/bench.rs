//! `corelace bench` from outside, with installations that measure nothing: their compilers copy a script and their launchers run it, so that every figure is known
//! before, and those that fail, hang or lack a function do so at once.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Instant;

use serde_json::Value;

/// What a launcher does that knows its figures: half round trips of `$HALF` microseconds.
const WELL: &str = "echo \"figure latency 8 $HALF us\"\necho 'figure latency 8192 5.0 us'";

/// An installation whose compiler and launcher are these shell scripts. The launcher finds the number of ranks in `$RANKS`.
fn installation(root: &Path, name: &str, compiler: &str, launcher: &str) -> PathBuf {
    let prefix = root.join(name);
    for directory in ["bin", "lib"] {
        std::fs::create_dir_all(prefix.join(directory)).unwrap();
    }
    std::fs::write(prefix.join("lib/libmpi_abi.so.1"), "").unwrap();
    for (tool, text) in [("mpicc", compiler), ("mpiexec", launcher)] {
        let file = prefix.join("bin").join(tool);
        std::fs::write(&file, format!("#!/bin/sh\n{text}\n")).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    prefix
}

/// A compiler whose program names the library, as the one for versions does.
const COMPILES: &str =
    "for word; do out=$word; done\nprintf '#!/bin/sh\\necho Library 1.2\\n' > $out\nchmod +x $out";

struct Contest {
    root: tempfile::TempDir,
    ours: PathBuf,
}

impl Contest {
    fn new() -> Contest {
        let root = tempfile::tempdir().unwrap();
        let ours = installation(root.path(), "ours", COMPILES, &WELL.replace("$HALF", "0.5"));
        Contest { root, ours }
    }

    fn other(&self, name: &str, compiler: &str, launcher: &str) -> String {
        installation(self.root.path(), name, compiler, launcher).display().to_string()
    }

    /// `corelace bench --only latency --rounds 2 ARGUMENTS`.
    fn bench(&self, arguments: &[&str]) -> Output {
        let mut bench = Command::new(env!("CARGO_BIN_EXE_corelace-lab"));
        bench.env("CORELACE_PREFIX", &self.ours).args(["bench", "p2p", "--only", "latency", "--rounds", "2"]);
        bench.args(["--ranks", "process"]).args(arguments).output().unwrap()
    }

    /// An installation that prints these figures, where `$HALF` is `first` in the two rounds of the first run, and `later` in those that follow.
    fn changing(&self, name: &str, figures: &str, [first, later]: [&str; 2]) -> String {
        let count = self.file(&format!("{name}.count"));
        let half = format!("echo >> {count}; test $(wc -l < {count}) -gt 2 && HALF={later} || HALF={first}");
        self.other(name, COMPILES, &format!("{half}\n{figures}"))
    }

    /// `corelace bench --from FILES ARGUMENTS`.
    fn from(&self, files: &str, arguments: &[&str]) -> Output {
        let mut bench = Command::new(env!("CARGO_BIN_EXE_corelace-lab"));
        bench.args(["bench", "--from", files]).args(arguments).output().unwrap()
    }

    fn file(&self, name: &str) -> String {
        self.root.path().join(name).display().to_string()
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn who_fails_hangs_or_lacks_a_function_says_so_in_its_cell_and_holds_nobody_up() {
    let contest = Contest::new();
    let good = contest.other("good", COMPILES, &WELL.replace("$HALF", "1.0"));
    let failing = contest.other("failing", COMPILES, "echo 'no cores' >&2; exit 3");
    let partly = contest.other("partly", COMPILES, "echo 'figure latency 8 0.9 us'; exec sleep 600");
    let lacking =
        contest.other("lacking", "echo \"x.c: undefined reference to \\`MPI_Send'\" >&2; exit 1", "exit 0");
    let all = [good, failing, partly, lacking].join(",");
    let begin = Instant::now();
    let output = contest.bench(&["--limit", "1", "--against", &all]);
    assert!(begin.elapsed().as_secs() < 60, "the one that hangs was waited for");
    let table = text(&output.stdout);
    assert!(output.status.success(), "{table}{}", text(&output.stderr));
    let cells = |size: &str| {
        let row = table.lines().find(|line| line.starts_with("latency") && line.contains(size)).unwrap();
        row.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).map(String::from).collect::<Vec<_>>()
    };
    let well = ["latency", "8 B", "2", "us", "0.500*", "1.000", "failed", "0.900", "lacks it", "1.80"];
    assert_eq!(cells(" 8 B")[..well.len()], well);
    let large = ["latency", "8 KiB", "2", "us", "5.000*", "5.000*", "failed", "> 1 s", "lacks it", "1.00~"];
    assert_eq!(cells("8 KiB")[..large.len()], large);
    assert!(table.contains("not measured: failing, pairs.c on 2 ranks: exit status: 3: no cores"), "{table}");
    assert!(table.contains("not measured: lacking, pairs.c on 2 ranks: has no MPI_Send"), "{table}");
    assert!(table.contains("corelace process: ahead in 2 of 2 lines"), "{table}");
}

#[test]
fn installations_of_the_same_name_are_told_apart() {
    let contest = Contest::new();
    let others =
        ["one/mpi", "two/mpi"].map(|name| contest.other(name, COMPILES, &WELL.replace("$HALF", "1.0")));
    let run: Value =
        serde_json::from_slice(&contest.bench(&["--json", "--against", &others.join(",")]).stdout).unwrap();
    let names: Vec<&str> =
        run["contestants"].as_array().unwrap().iter().filter_map(|entry| entry["name"].as_str()).collect();
    assert_eq!(names[..2], ["corelace process", "mpi"]);
    assert!(names[2].ends_with("-two-mpi"), "{names:?}");
    assert!(
        run["figures"][0]["cells"].as_array().unwrap().iter().all(|cell| cell["samples"]
            .as_array()
            .unwrap()
            .len()
            == 2)
    );
}

#[test]
fn an_interrupted_run_shows_what_it_has_and_writes_no_document() {
    let contest = Contest::new();
    let other = contest.other("other", COMPILES, "kill -INT $PPID; exec sleep 600");
    let document = contest.file("page.md");
    for runs in ["1", "3"] {
        let output = contest.bench(&["--runs", runs, "--against", &other, "--document", &document]);
        assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
        let table = text(&output.stdout);
        assert!(
            table.contains("0.500") && table.contains("one round") && !table.contains(" runs: "),
            "{table}"
        );
        assert!(!table.contains("not measured") && !Path::new(&document).exists(), "{table}");
    }
}

#[test]
fn a_missed_target_is_a_failure_only_if_it_is_asked_for() {
    let contest = Contest::new();
    let other = contest.other("other", COMPILES, &WELL.replace("$HALF", "1.0"));
    let missed = contest.bench(&["--against", &other]);
    assert_eq!(missed.status.code(), Some(0));
    assert!(text(&missed.stdout).contains("MISSED: process 1.3 x best other"));
    assert_eq!(contest.bench(&["--against", &other, "--check"]).status.code(), Some(1));
}

#[test]
fn several_runs_show_the_tables_of_the_first_and_in_how_many_we_are_ahead() {
    let contest = Contest::new();
    let other = contest.changing("other", WELL, ["1.0", "0.4"]);
    let output = contest.bench(&["--runs", "3", "--against", &other]);
    let table = text(&output.stdout);
    assert!(output.status.success(), "{table}{}", text(&output.stderr));
    assert_eq!(table.matches("Messages between two ranks").count(), 1, "{table}");
    let row = table.lines().find(|line| line.starts_with("latency") && line.contains(" 8 B")).unwrap();
    assert!(row.contains("0.500*") && row.contains("1.000"), "{row}");
    assert!(
        table.contains("\n3 runs: ") && table.contains("; the tables are those of the first\n"),
        "{table}"
    );
    let expected = "corelace process: 2 lines\n  ahead in 3 of 3 runs: 1, 1 of 3: 1\n  by the medians in 3 of 3 runs: 1, 1 of 3: 1\n  \
        round by round, by the median of all: ahead in 1 of 2\n  \
        behind: latency 8 B on 2 ranks, ahead in 1 of 3 (2.00, 0.80, 0.80), by the medians in 1 of 3 (2.00, 0.80, 0.80), round by round 0.80, ahead in 2 of 6\n";
    assert!(table.contains(expected), "{table}");
    let target = "  missed: latency 8 KiB on 2 ranks: process 1.3 x best other, met in 0 of 3\n";
    assert!(table.contains(target), "{table}");
}

#[test]
fn several_runs_are_taken_from_one_file_or_from_several() {
    let contest = Contest::new();
    let other = contest.changing("other", WELL, ["1.0", "0.4"]);
    let [both, one, page] = ["both.json", "one.json", "page.md"].map(|name| contest.file(name));
    std::fs::write(&both, contest.bench(&["--runs", "2", "--json", "--against", &other]).stdout).unwrap();
    std::fs::write(&one, contest.bench(&["--json", "--against", &other]).stdout).unwrap();
    let counts = |files: &str| {
        let table = text(&contest.from(files, &[]).stdout);
        let line = table.lines().find(|line| line.starts_with("  behind: latency 8 B")).unwrap_or_default();
        line.split_once(',').map(|(_, rest)| rest.split(" (").next().unwrap().to_owned())
    };
    assert_eq!(counts(&both).as_deref(), Some(" ahead in 1 of 2"));
    assert_eq!(counts(&format!("{both},{one}")).as_deref(), Some(" ahead in 1 of 3"));
    let merged = contest.from(&format!("{one},{both}"), &["--json", "--document", &page]);
    let merged: Value = serde_json::from_slice(&merged.stdout).unwrap();
    assert_eq!(merged["runs"].as_array().unwrap().len(), 3);
    let page = std::fs::read_to_string(&page).unwrap();
    assert!(
        page.contains(", the first of 3 runs.") && page.contains("ahead in 1 of 3 (0.80, 2.00, 0.80)"),
        "{page}"
    );
}

#[test]
fn runs_of_other_contestants_are_not_taken_for_one_comparison() {
    let contest = Contest::new();
    let [one, two] = ["one", "two"].map(|name| {
        let other = contest.other(name, COMPILES, &WELL.replace("$HALF", "1.0"));
        let file = contest.file(&format!("{name}.json"));
        std::fs::write(&file, contest.bench(&["--json", "--against", &other]).stdout).unwrap();
        file
    });
    let output = contest.from(&format!("{one},{two}"), &[]);
    let error = text(&output.stderr);
    assert!(!output.status.success() && output.stdout.is_empty(), "{error}");
    let expected = "two.json\": it has two (Library 1.2) in place of one (Library 1.2) in \"";
    assert!(error.contains(expected) && error.contains("expected runs of one comparison"), "{error}");
}

#[test]
fn a_target_that_a_later_run_misses_is_a_failure_if_it_is_asked_for() {
    let contest = Contest::new();
    let file = contest.file("runs.json");
    // Of 8 KiB, for which ours take 5.0 us and ought to be 1.3 times better.
    let figures = "echo \"figure latency 8192 $HALF us\"";
    let checked = |name: &str, halves: [&str; 2]| {
        let other = contest.changing(name, figures, halves);
        contest.bench(&["--check", "--runs", "2", "--json", "--against", &other])
    };
    let (never, later) = (checked("never", ["9.0", "9.0"]), checked("later", ["9.0", "5.0"]));
    assert_eq!((never.status.code(), later.status.code()), (Some(0), Some(1)));
    std::fs::write(&file, later.stdout).unwrap();
    assert_eq!(contest.from(&file, &["--check"]).status.code(), Some(1));
    assert_eq!(contest.from(&file, &[]).status.code(), Some(0));
}

#[test]
fn a_run_is_compared_with_one_of_before_and_a_regression_is_a_failure() {
    let contest = Contest::new();
    let before = contest.file("before.json");
    let printed = text(&contest.bench(&["--json"]).stdout);
    std::fs::write(&before, &printed).unwrap();
    let run: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(run["contestants"][0]["version"], "Library 1.2");
    assert_eq!(run["figures"][0]["cells"][0]["samples"], serde_json::json!([0.5, 0.5]));
    let same = contest.bench(&["--baseline", &before]);
    assert_eq!(same.status.code(), Some(0));
    assert!(text(&same.stdout).contains("2 of 2 figures are within the noise"), "{}", text(&same.stdout));
    installation(contest.root.path(), "ours", COMPILES, &WELL.replace("$HALF", "0.75"));
    let worse = contest.bench(&["--baseline", &before]);
    assert_eq!(worse.status.code(), Some(1));
    assert!(text(&worse.stdout).contains("WORSE 1.50 x: latency 8 B on 2 ranks"), "{}", text(&worse.stdout));
}

#[test]
fn documents_and_pictures_are_made_of_a_run_of_before() {
    let contest = Contest::new();
    let (run, document, picture) =
        (contest.file("run.json"), contest.file("page.md"), contest.file("page.svg"));
    std::fs::write(&run, contest.bench(&["--json"]).stdout).unwrap();
    let mut bench = Command::new(env!("CARGO_BIN_EXE_corelace-lab"));
    bench.args(["bench", "--from", &run, "--document", &document, "--plot", &picture]);
    assert!(bench.output().unwrap().status.success());
    let page = std::fs::read_to_string(&document).unwrap();
    assert!(page.contains("| latency | 8 B | 2 | us | 0.500 |"), "{page}");
    assert_eq!(std::fs::read_to_string(&picture).unwrap().matches("<polyline").count(), 1);
}

#[test]
fn wrong_arguments_are_answered_with_their_name_their_value_and_what_was_expected() {
    let contest = Contest::new();
    let nowhere = contest.file("nowhere");
    let ours = contest.ours.display().to_string();
    let cases: [(&[&str], &[&str]); 14] = [
        (&["collectives"], &["collectives", "is no suite, expected one of: p2p, coll"]),
        (&["--only", "ltency"], &["--only is \"ltency\", expected a part of one of: ", "latency"]),
        (
            &["--against", &nowhere],
            &["--against is \"", "nowhere\": there is no bin/mpicc, expected the prefix"],
        ),
        (&["--ranks", "fibre"], &["fibre", "--ranks", "process, thread, fiber"]),
        (&["p2p", "--against", &ours], &["--against has \"", "twice, or it is this one"]),
        (&["p2p", "--breakdown"], &["--breakdown", "expected the suite instructions"]),
        (
            &["instructions", "--breakdown", "--ranks", "fiber"],
            &["--breakdown", "expected --ranks with process in it"],
        ),
        (&["--rounds", "0"], &["'0'", "--rounds"]),
        (&["--runs", "0"], &["'0'", "--runs"]),
        (&["--runs", "many"], &["'many'", "--runs"]),
        (&["--runs", "2", "--tune"], &["--runs", "--tune", "cannot be used with"]),
        (&["--from", &nowhere, "--runs", "2"], &["--from", "--runs", "cannot be used with"]),
        (&["--limit", "soon"], &["'soon'", "--limit"]),
        (&["--baseline", &nowhere], &["--baseline is \"", "No such file"]),
    ];
    for (arguments, expected) in cases {
        let mut bench = Command::new(env!("CARGO_BIN_EXE_corelace-lab"));
        let output =
            bench.env("CORELACE_PREFIX", &contest.ours).arg("bench").args(arguments).output().unwrap();
        let error = text(&output.stderr);
        assert!(!output.status.success() && output.stdout.is_empty(), "{arguments:?}");
        for part in expected {
            assert!(error.contains(part), "{arguments:?}: {error}");
        }
    }
}

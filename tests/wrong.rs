//! Wrong programs and what must be said of them. The programs are in `wrong/`, a folder a subject; each says on top how it is run
//! and what a reader must find on standard error (`wrong/wrong.h` describes the form).

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use crate::support::job::Ended;
use crate::support::{MODES, compiled_with, mpirun, root, side_by_side};

/// How a program is run and what is expected of it, as its first lines say.
#[derive(Default)]
struct Case {
    ranks: String,
    modes: Vec<String>,
    flags: Vec<String>,
    arguments: Vec<String>,
    /// `None`: any but zero.
    status: Option<i32>,
    /// The kind of ranks that it is for, or none for all, and the text.
    expected: Vec<(Option<String>, String)>,
    never: Vec<String>,
}

impl Case {
    fn of(source: &Path) -> Case {
        let text = fs::read_to_string(source).unwrap();
        let file = source.file_name().unwrap().to_str().unwrap();
        let mut case = Case { modes: MODES.map(String::from).to_vec(), ..Case::default() };
        for line in text.lines().map_while(|line| line.strip_prefix("// ")) {
            let Some((key, value)) = line.split_once(": ") else { continue };
            let words = || value.split(' ').map(String::from).collect();
            match key {
                "ranks" => case.ranks = value.into(),
                "modes" => case.modes = words(),
                "flags" => case.flags = words(),
                "arguments" => case.arguments = words(),
                "status" => {
                    let signal =
                        value.strip_prefix("signal ").map(|number| 128 + number.parse::<i32>().unwrap());
                    case.status = Some(signal.unwrap_or_else(|| value.parse().unwrap()));
                }
                "expect" => case.expected.push((None, filled(value, file, &text))),
                "never" => case.never.push(value.into()),
                _ => match key.split_once(' ') {
                    Some((mode, "expect")) => {
                        case.expected.push((Some(mode.into()), filled(value, file, &text)));
                    }
                    // A sentence.
                    Some(_) => {}
                    None => panic!("{file}: a line \"{key}\" that wrong.h does not know"),
                },
            }
        }
        assert!(!case.ranks.is_empty(), "{file} does not say on how many ranks it runs");
        assert!(!case.expected.is_empty() || case.status.is_some(), "{file} expects nothing");
        case
    }

    /// What is not as expected of a run, if anything.
    fn complaint(&self, mode: &str, ended: &Ended) -> Option<String> {
        let code = ended.code();
        if self.status.map_or(code == 0, |status| code != status) {
            return Some(format!("status {code}, expected {:?}", self.status));
        }
        let wanted = self.expected.iter().filter(|(of, _)| of.as_deref().is_none_or(|of| of == mode));
        let mut missing =
            wanted.filter(|(_, text)| !ended.stderr.lines().any(|line| line.contains(text.as_str())));
        if let Some((_, text)) = missing.next() {
            return Some(format!("nobody said \"{text}\""));
        }
        let said = self
            .never
            .iter()
            .chain(&NEVER.map(String::from))
            .find(|text| ended.stderr.contains(*text))
            .cloned();
        said.map(|text| format!("somebody said \"{text}\""))
    }
}

/// Words for the compiler of wrong programs.
const COMPILATION: &[&str] = &["-g", "-pthread"];

/// What no user should ever read.
const NEVER: [&str; 4] = ["panicked at", "RUST_BACKTRACE", "already borrowed", "internal error"];

/// Puts the file's name and numbers of its lines into an expectation.
fn filled(value: &str, file: &str, text: &str) -> String {
    let mut value = value.replace("{file}", file);
    while let Some((before, rest)) = value.split_once("{line:") {
        let (wanted, after) = rest.split_once('}').expect("a closed brace");
        let code = (1..).zip(text.lines()).filter(|(_, line)| !line.starts_with("//"));
        let mut lines = code.filter(|(_, line)| line.contains(wanted)).map(|(number, _): (usize, _)| number);
        let line = lines.next().unwrap_or_else(|| panic!("{file} has no line with {wanted}"));
        value = format!("{before}{line}{after}");
    }
    value
}

/// Runs every program of a folder in every kind of ranks that it is for; how many there are.
fn run_all(folder: &str) -> usize {
    let folder = root().join("tests/wrong").join(folder);
    let mut sources: Vec<PathBuf> =
        fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    sources.sort();
    let cases: Vec<Case> = sources.iter().map(|source| Case::of(source)).collect();
    let runs = sources
        .iter()
        .zip(&cases)
        .flat_map(|(source, case)| case.modes.iter().map(move |mode| (source, case, mode)));
    let runs: Vec<_> = runs.collect();
    let complaints = Mutex::new(Vec::new());
    side_by_side(&runs, |(source, case, mode)| {
        let program = compiled_with(source, COMPILATION);
        let job = mpirun(["--ranks", mode, "-n", &case.ranks]);
        let flags: Vec<&str> = case.flags.iter().map(String::as_str).collect();
        let arguments: Vec<&str> = case.arguments.iter().map(String::as_str).collect();
        let job = job.arguments(&flags).argument(&program).arguments(&arguments).start();
        let ended = job.wait();
        if let Some(complaint) = case.complaint(mode, &ended) {
            let complaint = format!("{} as {mode} ranks: {complaint}\n{ended}", source.display());
            complaints.lock().unwrap().push(complaint);
        }
        job.expect_nothing_left();
    });
    let complaints = complaints.into_inner().unwrap();
    assert!(complaints.is_empty(), "{} of {}\n{}", complaints.len(), folder.display(), complaints.join("\n"));
    sources.len()
}

#[test]
fn deadlocks_are_explained() {
    assert!(run_all("deadlocks") >= 12);
}

#[test]
fn wrong_arguments_are_named_with_their_values_and_call_sites() {
    assert!(run_all("arguments") >= 15);
}

#[test]
fn misuse_is_found_by_check() {
    assert!(run_all("checks") >= 12);
}

#[test]
fn misuse_of_windows_is_found_by_check() {
    assert!(run_all("onesided") >= 17);
}

#[test]
fn crashes_name_their_rank_and_its_last_call() {
    assert!(run_all("crashes") >= 6);
}

#[test]
fn ranks_that_leave_are_named() {
    assert!(run_all("endings") >= 6);
}

#[test]
fn threads_that_break_their_promise_are_told_so() {
    assert!(run_all("threads") >= 3);
}

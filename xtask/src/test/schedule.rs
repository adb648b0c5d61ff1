//! Runs test programs side by side, and after them, one by one, the tests that need the machine
//! for themselves: those in modules named `alone`.
//!
//! A program's output is shown when it has ended, and only if something failed. Until then a line
//! says how far the run is.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, IsTerminal, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use super::cargo::cargo;
use super::programs::Program;
use super::{Selection, seconds};
use crate::workspace::{self, Outcome};

/// Programs that run at a time. Each runs as many tests at a time as there are cores; many of them
/// wait for what they have started.
const AT_A_TIME: usize = 2;

/// The package of tests that launch jobs, and mostly wait for them. It is also the longest.
const LAUNCHED: &str = "tests";

/// Tests of that package that run at a time, for each core.
const LAUNCHED_PER_CORE: usize = 2;

/// A program that says nothing for this time is ended.
const SILENCE: Duration = Duration::from_secs(600);

/// How often a run without a terminal says how far it is.
const STILL_HERE: Duration = Duration::from_secs(30);

/// Part of the name of every test that needs the machine for itself.
const ALONE: &str = "alone::";

/// How many tests ended how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub passed: u64,
    pub failed: u64,
}

impl Tally {
    fn add(&mut self, other: Tally) {
        self.passed += other.passed;
        self.failed += other.failed;
    }
}

/// One start of a program.
struct Run {
    name: String,
    command: Command,
    /// The tests that it has been asked for.
    tests: u64,
    /// Its exit status is the only thing that counts.
    is_one_test: bool,
}

/// How a run ended.
struct Ended {
    name: String,
    tally: Tally,
    took: String,
    output: String,
}

/// What a run tells while it goes on.
enum News {
    Test(Tally),
    Ended(Ended),
}

/// Runs the selected tests of the programs.
pub fn run(programs: &[Program], selection: &Selection, prefix: Option<&Path>) -> Outcome<Tally> {
    let (mut together, mut alone) = (Vec::new(), Vec::new());
    for program in programs {
        let plan = Plan::of(program, selection)?;
        together.extend(plan.together(program, prefix));
        alone.extend(plan.alone(program, prefix));
    }
    // The longest first, so that the end is not one long program.
    together.sort_by_key(|run| std::cmp::Reverse(run.tests));
    if !selection.without_documentation {
        together.insert(0, documentation(selection, prefix));
    }
    let total = together.iter().chain(&alone).map(|run| run.tests).sum();
    let mut display = Display::new(total);
    let mut tally = side_by_side(together, AT_A_TIME, &mut display);
    tally.add(side_by_side(alone, 1, &mut display));
    Ok(tally)
}

/// The tests of a program that are to run.
struct Plan {
    together: Vec<String>,
    alone: Vec<String>,
}

impl Plan {
    fn of(program: &Program, selection: &Selection) -> Outcome<Plan> {
        if !program.is_usual {
            let names = vec![program.name()];
            return Ok(Plan { together: selected(names, selection).collect(), alone: vec![] });
        }
        let mut command = start(program);
        let listed = command.args(["--list", "--format", "terse"]).stderr(Stdio::inherit()).output();
        let listed = listed.map_err(|error| format!("{}: {error}", program.executable.display()))?;
        if !listed.status.success() {
            return Err(format!("{} cannot list its tests: {}", program.name(), listed.status));
        }
        let names = String::from_utf8_lossy(&listed.stdout);
        let names = names.lines().filter_map(|line| line.strip_suffix(": test").map(str::to_owned));
        let names: Vec<_> = selected(names.collect(), selection).collect();
        let (alone, together) = names.into_iter().partition(|name| name.contains(ALONE));
        Ok(Plan { together, alone })
    }

    fn together(&self, program: &Program, prefix: Option<&Path>) -> Option<Run> {
        let mut command = prepared(program, prefix);
        if program.package == LAUNCHED {
            let cores = thread::available_parallelism().map_or(1, usize::from);
            command.arg(format!("--test-threads={}", LAUNCHED_PER_CORE * cores));
        }
        self.run(program, command, &self.together, program.name())
    }

    fn alone(&self, program: &Program, prefix: Option<&Path>) -> Option<Run> {
        let mut command = prepared(program, prefix);
        command.arg("--test-threads=1");
        self.run(program, command, &self.alone, format!("{}, alone", program.name()))
    }

    fn run(&self, program: &Program, mut command: Command, tests: &[String], name: String) -> Option<Run> {
        if program.is_usual {
            command.arg("--exact").args(tests);
        }
        let is_one_test = !program.is_usual;
        (!tests.is_empty()).then_some(Run { name, command, tests: tests.len() as u64, is_one_test })
    }
}

fn selected(names: Vec<String>, selection: &Selection) -> impl Iterator<Item = String> + use<'_> {
    let filters = &selection.filters;
    names.into_iter().filter(move |name| filters.is_empty() || filters.iter().any(|it| name.contains(it)))
}

/// The program in the surroundings that `cargo test` gives it.
fn start(program: &Program) -> Command {
    let mut command = Command::new(&program.executable);
    command.current_dir(&program.directory).env("CARGO_MANIFEST_DIR", &program.directory);
    command.stdin(Stdio::null());
    if program.target == "proc-macro" {
        // Tests of macros need the compiler's own libraries.
        let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
        let found = Command::new(rustc).args(["--print", "target-libdir"]).output();
        let found = found.map(|said| String::from_utf8_lossy(&said.stdout).trim().to_owned());
        command.env("LD_LIBRARY_PATH", found.unwrap_or_default());
    }
    command
}

fn prepared(program: &Program, prefix: Option<&Path>) -> Command {
    let mut command = start(program);
    command.envs(prefix.map(|prefix| ("CORELACE_TEST_PREFIX", prefix)));
    command
}

/// The tests in documentation, which cargo compiles and runs.
fn documentation(selection: &Selection, prefix: Option<&Path>) -> Run {
    let mut command = cargo();
    command.current_dir(workspace::root()).args(["test", "--doc", "--quiet"]);
    command.envs(prefix.map(|prefix| ("CORELACE_TEST_PREFIX", prefix)));
    match &selection.packages[..] {
        [] => _ = command.arg("--workspace"),
        packages => _ = command.args(packages.iter().flat_map(|package| ["-p", package])),
    }
    command.arg("--").args(&selection.filters).stdin(Stdio::null());
    Run { name: "documentation".to_owned(), command, tests: 0, is_one_test: false }
}

fn side_by_side(runs: Vec<Run>, at_a_time: usize, display: &mut Display) -> Tally {
    let queue = Mutex::new(VecDeque::from(runs));
    let (sender, news) = mpsc::channel();
    let mut tally = Tally::default();
    thread::scope(|scope| {
        for _ in 0..at_a_time {
            let (sender, queue) = (sender.clone(), &queue);
            scope.spawn(move || {
                loop {
                    // The lock is free again before the program runs.
                    let next = queue.lock().expect("nobody panics with it").pop_front();
                    let Some(run) = next else { return };
                    _ = sender.send(News::Ended(follow(run, &sender)));
                }
            });
        }
        drop(sender);
        loop {
            match news.recv_timeout(display.patience()) {
                Ok(News::Test(of_one)) => display.test(of_one),
                Ok(News::Ended(ended)) => {
                    tally.add(ended.tally);
                    display.ended(&ended);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            display.still_here();
        }
    });
    tally
}

/// Runs a program to its end, or until it has been silent for too long.
fn follow(mut run: Run, news: &Sender<News>) -> Ended {
    let began = Instant::now();
    let mut ended =
        Ended { name: run.name, tally: Tally::default(), took: String::new(), output: String::new() };
    let child = run.command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = match child {
        Ok(child) => child,
        Err(error) => {
            ended.output = format!("cannot start {:?}: {error}", run.command);
            ended.tally.failed = 1;
            return ended;
        }
    };
    let lines = lines(&mut child);
    loop {
        match lines.recv_timeout(SILENCE) {
            Ok(line) => {
                if let Some(result) = result(&line) {
                    ended.tally.add(result);
                } else if let Some(of_one) = verdict(&line) {
                    _ = news.send(News::Test(of_one));
                }
                ended.output.push_str(&line);
            }
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {
                let said = format!("\nended: it has said nothing for {} s\n", SILENCE.as_secs());
                ended.output.push_str(&said);
                // It is there until it has been waited for.
                _ = child.kill();
                break;
            }
        }
    }
    let status = child.wait();
    let is_well = status.as_ref().is_ok_and(|status| status.success());
    match is_well {
        true if run.is_one_test => ended.tally.passed = 1,
        // It crashed, or was ended, before it could say which test failed.
        false if ended.tally.failed == 0 => ended.tally.failed = 1,
        _ => {}
    }
    if !is_well {
        let status = status.map_or_else(|error| error.to_string(), |status| status.to_string());
        ended.output.push_str(&format!("{}: {status}\n", ended.name));
    }
    ended.took = seconds(began);
    ended
}

/// What the program writes, until nobody has its output open any more.
fn lines(child: &mut Child) -> mpsc::Receiver<String> {
    let (sender, lines) = mpsc::channel();
    let (out, err) = (child.stdout.take().expect("piped"), child.stderr.take().expect("piped"));
    let streams: [Box<dyn std::io::Read + Send>; 2] = [Box::new(out), Box::new(err)];
    for stream in streams {
        let sender = sender.clone();
        thread::spawn(move || {
            let mut stream = BufReader::new(stream);
            let mut line = Vec::new();
            while stream.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
                if sender.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
                    return;
                }
                line.clear();
            }
        });
    }
    lines
}

/// The numbers of a line `test result: ok. 3 passed; 0 failed; …`.
fn result(line: &str) -> Option<Tally> {
    let numbers = line.strip_prefix("test result: ")?.split_once(". ")?.1;
    let number =
        |name: &str| numbers.split("; ").find_map(|part| part.trim().strip_suffix(name)?.trim().parse().ok());
    Some(Tally { passed: number("passed")?, failed: number("failed")? })
}

/// What a line `test some::name ... ok` says of one test.
fn verdict(line: &str) -> Option<Tally> {
    let (_, verdict) = line.strip_prefix("test ")?.rsplit_once(" ... ")?;
    match verdict.trim_end() {
        "ok" => Some(Tally { passed: 1, failed: 0 }),
        "FAILED" => Some(Tally { passed: 0, failed: 1 }),
        _ => None,
    }
}

/// What a person sees of a run.
struct Display {
    total: u64,
    seen: Tally,
    began: Instant,
    said: Instant,
    is_terminal: bool,
}

impl Display {
    fn new(total: u64) -> Display {
        let now = Instant::now();
        let is_terminal = std::io::stdout().is_terminal();
        Display { total, seen: Tally::default(), began: now, said: now, is_terminal }
    }

    fn patience(&self) -> Duration {
        if self.is_terminal { Duration::from_millis(500) } else { STILL_HERE }
    }

    fn test(&mut self, of_one: Tally) {
        self.seen.add(of_one);
    }

    fn ended(&mut self, ended: &Ended) {
        if self.is_terminal {
            print!("\r\x1b[K");
        }
        let Tally { passed, failed } = ended.tally;
        if failed > 0 {
            println!("{}\n", ended.output.trim_end());
        }
        let word = if failed > 0 { "FAILED" } else { "ok" };
        println!("{word:>6}  {:<28} {passed:>5} passed {failed:>3} failed  {:>6}", ended.name, ended.took);
    }

    fn still_here(&mut self) {
        if self.said.elapsed() < self.patience() {
            return;
        }
        self.said = Instant::now();
        let Tally { passed, failed } = self.seen;
        let failures = if failed > 0 { format!(", {failed} failed") } else { String::new() };
        let line = format!("{} of {} tests{failures}, {}", passed + failed, self.total, seconds(self.began));
        if self.is_terminal {
            print!("\r\x1b[K{line}");
            _ = std::io::stdout().flush();
        } else {
            println!("        {line}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_results_of_a_test_binary_are_read() {
        let line = "test result: FAILED. 14 passed; 2 failed; 1 ignored; 0 measured; 36 filtered out; finished in 1.34s\n";
        assert_eq!(result(line), Some(Tally { passed: 14, failed: 2 }));
        assert_eq!(result("test result: ok. 0 passed; 0 failed; 0 ignored\n"), Some(Tally::default()));
        assert_eq!(result("test resulting ... ok\n"), None);
        assert_eq!(verdict("test a::b ... ok\n"), Some(Tally { passed: 1, failed: 0 }));
        assert_eq!(verdict("test a::b ... FAILED\n"), Some(Tally { passed: 0, failed: 1 }));
        assert_eq!(verdict("test a::b has been running for over 60 seconds\n"), None);
    }

    fn shell(script: &str, is_one_test: bool) -> Ended {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        follow(Run { name: "it".to_owned(), command, tests: 1, is_one_test }, &mpsc::channel().0)
    }

    #[test]
    fn a_program_that_crashes_counts_as_a_failure_and_its_output_is_kept() {
        let crashed = shell("echo 'test a ... ok'; echo about to crash >&2; kill -SEGV $$", false);
        assert_eq!(crashed.tally, Tally { passed: 0, failed: 1 });
        assert!(crashed.output.contains("about to crash") && crashed.output.contains("signal: 11"));
        let well = shell("echo 'test result: ok. 2 passed; 0 failed; 0 ignored'", false);
        assert_eq!(well.tally, Tally { passed: 2, failed: 0 });
    }

    #[test]
    fn a_program_with_a_harness_of_its_own_is_one_test() {
        assert_eq!(shell("exit 0", true).tally, Tally { passed: 1, failed: 0 });
        assert_eq!(shell("exit 3", true).tally, Tally { passed: 0, failed: 1 });
    }
}

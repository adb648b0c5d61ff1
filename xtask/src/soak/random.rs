//! `cargo xtask soak random`: random operations against models (`tests/c/random_*.c`), with growing
//! seeds, on all kinds of ranks, two jobs at a time.
//!
//! A seed decides the kind and the number of ranks, and what they do. The first job that finds an
//! error, or does not end, ends the command, which then shows the line that repeats it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use crate::chaos::load;
use crate::draw::Draw;
use crate::workspace::Outcome;

/// The programs of `tests/c`.
pub const PROGRAMS: [&str; 4] = ["random_collectives", "random_messages", "random_windows", "random_files"];

/// Jobs at a time.
const WORKERS: usize = 2;
/// Jobs between two lines that say how far it has come.
const REPORT: u64 = 100;
/// Steps of a job.
const STEPS: u64 = 60;
/// Time for a job on a machine that does nothing else: far more than it takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// What a seed decides beside the operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Plan {
    seed: u64,
    mode: &'static str,
    ranks: u64,
    threads: u64,
}

impl Plan {
    fn drawn(seed: u64) -> Plan {
        let mut draw = Draw(seed);
        let mode = draw.one_of(&["process", "process", "thread", "fiber"]);
        let with_threads = mode == "process" && draw.below(2) == 0;
        let most = if with_threads { 4 } else { 8 };
        let threads = if with_threads { 3 } else { 1 };
        Plan { seed, mode, ranks: 2 + draw.below(most - 1), threads }
    }

    /// The job of a program.
    fn command(self, prefix: &Path, program: &Path, limit: Duration) -> Command {
        let mut command = Command::new(prefix.join("bin/mpirun"));
        command.args(["--timeout", &limit.as_secs().to_string()]);
        command.args(["--ranks", self.mode, "-n", &self.ranks.to_string()]).arg(program);
        command.args([self.seed, STEPS, self.threads].map(|number| number.to_string()));
        command
    }
}

/// What the workers share.
#[derive(Default)]
struct Desk {
    begun: u64,
    passed: u64,
    failure: Option<String>,
}

/// Runs every program with this many seeds.
pub fn run(runs: u64, first: u64, prefix: &Path, room: &Path, programs: &[PathBuf]) -> Outcome {
    let began = Instant::now();
    let all = runs * programs.len() as u64;
    println!("soak: random, {runs} runs of {} programs from seed {first}", programs.len());
    let files = room.join("random");
    _ = fs::remove_dir_all(&files);
    fs::create_dir_all(&files).map_err(|error| format!("{}: {error}", files.display()))?;
    let desk = Mutex::new(Desk::default());
    let lock = || desk.lock().unwrap_or_else(|poison| poison.into_inner());
    let next = || {
        let mut desk = lock();
        let number = desk.begun;
        (number < all && desk.failure.is_none()).then(|| {
            desk.begun += 1;
            number
        })
    };
    let work = || {
        while let Some(number) = next() {
            let plan = Plan::drawn(first.wrapping_add(number / programs.len() as u64));
            let program = &programs[(number % programs.len() as u64) as usize];
            let limit = PATIENCE.mul_f64(load());
            let outcome = one(&mut plan.command(prefix, program, limit), &files);
            let mut desk = lock();
            match outcome {
                Ok(()) => desk.passed += 1,
                Err(failure) => _ = desk.failure.get_or_insert(failure),
            }
            if desk.passed % REPORT == 0 && desk.failure.is_none() {
                println!("soak: random, {} of {all} passed", desk.passed);
            }
        }
    };
    thread::scope(|scope| (0..WORKERS).for_each(|_| _ = scope.spawn(work)));
    let Desk { passed, failure, .. } = desk.into_inner().unwrap_or_else(|poison| poison.into_inner());
    println!("soak: random, {passed} of {all} passed in {:.0} s", began.elapsed().as_secs_f64());
    failure.map_or(Ok(()), Err)
}

/// Runs a job; the error is how it is repeated, and what it said.
fn one(command: &mut Command, files: &Path) -> Outcome {
    let ended = command.env("TMPDIR", files).stdin(Stdio::null()).output();
    let ended = ended.map_err(|error| format!("{command:?}: {error}"))?;
    let said = String::from_utf8_lossy(&ended.stdout).into_owned() + &String::from_utf8_lossy(&ended.stderr);
    if ended.status.success() && said == "no errors\n" {
        return Ok(());
    }
    Err(format!("{command:?} ended with {}; it said:\n{said}", ended.status))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_cover_every_kind_of_ranks_and_threads_are_those_of_processes() {
        let plans: Vec<_> = (0..300).map(Plan::drawn).collect();
        for mode in ["process", "thread", "fiber"] {
            for ranks in 2..=8 {
                assert!(plans.iter().any(|plan| plan.mode == mode && plan.ranks == ranks), "{mode}, {ranks}");
            }
        }
        assert!(plans.iter().any(|plan| plan.threads == 3));
        assert!(plans.iter().all(|plan| plan.threads == 1 || plan.mode == "process" && plan.ranks <= 4));
        assert_eq!(Plan::drawn(5), Plan::drawn(5));
    }

    #[test]
    fn a_job_passes_if_it_finds_no_errors_and_says_nothing_else() {
        let said = |text: &str| one(Command::new("sh").args(["-c", text]), Path::new("/tmp"));
        assert_eq!(said("echo no errors"), Ok(()));
        for text in ["echo no errors; exit 1", "echo no errors; echo more >&2", "true"] {
            let failure = said(text).expect_err(text);
            assert!(failure.contains(text), "{failure}");
        }
    }
}

//! Runs one test with our `mpirun` and judges its end as the suite does: by its status and by every line that it said.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::testlist::{Judge, Test};
use crate::workspace::Outcome;

/// How long after its limit the launcher may take to end a job.
const GRACE: Duration = Duration::from_secs(20);

/// How a test ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// As it should.
    Passed,
    /// Otherwise; the one line that says most.
    Failed(String),
    /// It was not compiled; the compiler's first error.
    NotBuilt(String),
    /// It was not tried.
    NotRun(String),
}

/// How tests are run.
pub struct Runner {
    /// The launcher.
    pub mpirun: PathBuf,
    /// Process, thread or fiber.
    pub ranks: String,
    /// Where programs run, and where their output is kept.
    pub room: PathBuf,
    /// The limit of tests that say none, in seconds.
    pub limit: u64,
    /// Memory that one test may take, in GB.
    pub memory: f64,
    /// Held by a test that takes much memory.
    pub heavy: Mutex<()>,
}

impl Runner {
    /// Runs a test; also what it said.
    pub fn run(&self, test: &Test, program: &Path, number: usize) -> (Verdict, String) {
        if test.memory > self.memory {
            let reason = format!("it takes {} GB, and there are {:.0} GB to spare", test.memory, self.memory);
            return (Verdict::NotRun(reason), String::new());
        }
        let _alone =
            (test.memory >= 1.0).then(|| self.heavy.lock().unwrap_or_else(|error| error.into_inner()));
        let limit = Duration::from_secs(test.limit.unwrap_or(self.limit));
        match self.endure(test, program, number, limit) {
            Err(problem) => (Verdict::Failed(problem), String::new()),
            Ok((status, said, took)) => {
                let late = (took >= limit).then_some(limit);
                (judged(test.judge, status.is_some_and(|status| status.success()), late, &said), said)
            }
        }
    }

    fn endure(
        &self,
        test: &Test,
        program: &Path,
        number: usize,
        limit: Duration,
    ) -> Outcome<(Option<ExitStatus>, String, Duration)> {
        let fail = |error: std::io::Error| format!("cannot start: {error}");
        let directory = self.room.join(number.to_string());
        fs::create_dir_all(&directory).map_err(fail)?;
        // Programs that start copies of themselves look for them where they run.
        if let Some(name) = program.file_name() {
            _ = std::os::unix::fs::symlink(program, directory.join(name));
        }
        // Both outputs in one file: in the order in which they were written, and no pipe can fill.
        let path = self.room.join(format!("{number}.out"));
        let said = File::create(&path).map_err(fail)?;
        let mut command = Command::new(&self.mpirun);
        command.args(["-n", &test.ranks.to_string(), "--ranks", &self.ranks]);
        command.args(["--timeout", &limit.as_secs().to_string()]).args(&test.launcher);
        command.arg(program).args(&test.arguments);
        command.envs(test.environment.iter().map(|(name, value)| (name, value)));
        command.current_dir(&directory).stdin(Stdio::null());
        command.stdout(said.try_clone().map_err(fail)?).stderr(said);
        let began = Instant::now();
        let mut job = command.spawn().map_err(fail)?;
        let status = wait(&mut job, began + limit + GRACE);
        let took = began.elapsed();
        let said = String::from_utf8_lossy(&fs::read(&path).unwrap_or_default()).into_owned();
        _ = (fs::remove_file(&path), fs::remove_dir_all(&directory));
        Ok((status, said, took))
    }
}

/// None if it had to be killed.
fn wait(job: &mut Child, deadline: Instant) -> Option<ExitStatus> {
    loop {
        match job.try_wait() {
            Ok(Some(status)) => return Some(status),
            Ok(None) if Instant::now() < deadline => sleep(Duration::from_millis(5)),
            _ => {
                _ = (job.kill(), job.wait());
                return None;
            }
        }
    }
}

fn judged(judge: Judge, succeeded: bool, late: Option<Duration>, said: &str) -> Verdict {
    let is_no_errors = |line: &str| matches!(line.trim(), "No Errors" | "No errors");
    let good = said.lines().filter(|line| is_no_errors(line)).count();
    let other = said.lines().find(|line| !is_no_errors(line) && line.trim() != "Test Passed");
    let passed = match judge {
        Judge::NoErrors => succeeded && good == 1 && other.is_none(),
        Judge::Fails => !succeeded,
        Judge::FailsWithNoErrors => !succeeded && good == 1 && other.is_none(),
    };
    if passed {
        return Verdict::Passed;
    }
    let first = said.lines().find(|line| !is_no_errors(line) && !line.trim().is_empty());
    let reason = match (late, first) {
        (Some(limit), first) => {
            format!("not ended after {} s; {}", limit.as_secs(), first.unwrap_or("it said nothing"))
        }
        (None, Some(first)) => first.trim().to_owned(),
        (None, None) if good > 1 => format!("it said \"No Errors\" {good} times"),
        (None, None) if judge != Judge::NoErrors && succeeded => {
            "ended with status 0, expected another".to_owned()
        }
        (None, None) if !succeeded => "ended with another status than 0".to_owned(),
        (None, None) => "it said nothing".to_owned(),
    };
    Verdict::Failed(reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_passes_if_it_says_no_errors_and_nothing_else() {
        let passed = |said| judged(Judge::NoErrors, true, None, said) == Verdict::Passed;
        assert!(passed(" No Errors\n"));
        assert!(!passed(""));
        assert!(!passed(" No Errors\n No Errors\n"));
        assert!(!passed("wrong\n No Errors\n"));
        assert!(!passed("\n No Errors\n"));
        let reason = Verdict::Failed("wrong".to_owned());
        assert_eq!(judged(Judge::NoErrors, true, None, "\n wrong\n No Errors\n"), reason);
        assert_ne!(judged(Judge::NoErrors, false, None, " No Errors\n"), Verdict::Passed);
    }

    #[test]
    fn a_test_that_must_fail_passes_by_its_status() {
        assert_eq!(judged(Judge::Fails, false, None, "aborted\n"), Verdict::Passed);
        assert_ne!(judged(Judge::Fails, true, None, " No Errors\n"), Verdict::Passed);
        assert_eq!(judged(Judge::FailsWithNoErrors, false, None, " No Errors\n"), Verdict::Passed);
        assert_ne!(judged(Judge::FailsWithNoErrors, true, None, " No Errors\n"), Verdict::Passed);
    }
}

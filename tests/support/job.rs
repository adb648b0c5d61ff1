//! A launched command under a deadline, whose processes can be found again.
//!
//! Every job carries a mark in its environment, which all its descendants inherit, and a temporary directory of its own. A
//! job that outlives its deadline is killed with all of them, and the test fails with what it had said.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::scratch;

/// Time for a job of a test. Nothing here takes more than a few seconds on an idle machine.
const LIMIT: Duration = Duration::from_secs(120);

/// Time for what has no event to wait for: the end of a killed process.
const SETTLED: Duration = Duration::from_secs(20);

/// A command that is to be started.
pub struct Job {
    command: Command,
    limit: Duration,
}

impl Job {
    /// A job of any command.
    pub fn of(command: Command) -> Job {
        Job { command, limit: LIMIT }
    }

    /// Adds a word.
    pub fn argument(mut self, word: impl AsRef<OsStr>) -> Job {
        self.command.arg(word);
        self
    }

    /// Adds words.
    pub fn arguments(mut self, words: &[&str]) -> Job {
        self.command.args(words);
        self
    }

    /// Sets a variable of its environment.
    pub fn variable(mut self, name: &str, value: impl AsRef<OsStr>) -> Job {
        self.command.env(name, value);
        self
    }

    /// Gives it another deadline.
    pub fn limit(mut self, limit: Duration) -> Job {
        self.limit = limit;
        self
    }

    /// Runs it to its end.
    #[track_caller]
    pub fn run(self) -> Ended {
        self.start().wait()
    }

    /// Starts it.
    pub fn start(mut self) -> Running {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let mark = format!("{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let temporary = scratch("tmp");
        let before = Names::now();
        self.command.env(MARK, &mark).env("TMPDIR", &temporary);
        // Nothing is read from, or written to, the cache of who runs the tests.
        if !self.command.get_envs().any(|(name, _)| name == "CORELACE_CACHE") {
            self.command.env("CORELACE_CACHE", "off");
        }
        self.command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        let shown = format!("{:?}", self.command);
        let mut child = self.command.spawn().unwrap_or_else(|error| panic!("cannot start {shown}: {error}"));
        let desk = Arc::new(Desk::default());
        let pid = child.id();
        listen(&desk, child.stdout.take().expect("piped"), |heard| &mut heard.stdout);
        listen(&desk, child.stderr.take().expect("piped"), |heard| &mut heard.stderr);
        let waiter = desk.clone();
        thread::spawn(move || {
            let status = child.wait().expect("a child of ours");
            waiter.change(|heard| heard.status = Some(status));
        });
        Running { pid, shown, mark, temporary, before, desk, deadline: Instant::now() + self.limit }
    }
}

/// A job that was started.
pub struct Running {
    pid: u32,
    shown: String,
    mark: String,
    temporary: PathBuf,
    before: Names,
    desk: Arc<Desk>,
    deadline: Instant,
}

impl Running {
    /// The directory that it has for temporary files.
    pub fn temporary(&self) -> &Path {
        &self.temporary
    }

    /// Waits until it has printed so many lines, and returns what it printed so far.
    #[track_caller]
    pub fn lines(&self, count: usize) -> Vec<String> {
        let full = |heard: &Heard| heard.stdout.iter().filter(|byte| **byte == b'\n').count() >= count;
        let heard = self.hear(|heard| full(heard) || heard.over());
        assert!(full(&heard), "{} ended before it had printed {count} lines\n{}", self.shown, heard.all());
        text(&heard.stdout).lines().map(str::to_owned).collect()
    }

    /// Waits for a line on standard error that begins like this.
    #[track_caller]
    pub fn stderr_line_with(&self, beginning: &str) -> String {
        let find = |heard: &Heard| {
            text(&heard.stderr).lines().find(|line| line.starts_with(beginning)).map(str::to_owned)
        };
        let heard = self.hear(|heard| find(heard).is_some() || heard.over());
        find(&heard).unwrap_or_else(|| panic!("{} never said \"{beginning}\"\n{}", self.shown, heard.all()))
    }

    /// The number of the started process.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Sends a signal to the started process.
    pub fn signal(&self, signal: Signal) {
        kill(self.pid, signal);
    }

    /// The processor time that the started process itself has used, in and outside of the kernel.
    pub fn processor_time(&self) -> Duration {
        let used: u64 =
            stat(self.pid)[11..=12].iter().map(|ticks| ticks.parse::<u64>().expect("ticks")).sum();
        Duration::from_secs(used) / u32::try_from(rustix::param::clock_ticks_per_second()).expect("about 100")
    }

    /// Waits for its end: that of the process and of everything that holds its output.
    #[track_caller]
    pub fn wait(&self) -> Ended {
        let heard = self.hear(Heard::over);
        Ended {
            shown: self.shown.clone(),
            status: heard.status.expect("it is over"),
            stdout: text(&heard.stdout),
            stderr: text(&heard.stderr),
        }
    }

    /// After the end: no process, no temporary file and no shared memory is left.
    #[track_caller]
    pub fn expect_nothing_left(&self) {
        let deadline = Instant::now() + SETTLED;
        loop {
            let left = (self.processes(), entries(&self.temporary), Names::now().new_since(&self.before));
            if left.0.is_empty() && left.1.is_empty() && left.2.is_empty() {
                return;
            }
            assert!(Instant::now() < deadline, "{} left {left:?}", self.shown);
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// The processes that carry the mark. Zombies have lost it: what is not reaped yet has still ended.
    fn processes(&self) -> Vec<u32> {
        let mark = format!("{MARK}={}", self.mark);
        let carries = |pid: &u32| {
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes())
        };
        entries(Path::new("/proc")).iter().filter_map(|name| name.parse().ok()).filter(carries).collect()
    }

    #[track_caller]
    fn hear(&self, enough: impl Fn(&Heard) -> bool) -> MutexGuard<'_, Heard> {
        let mut heard = self.desk.heard.lock().expect("nobody panics with it");
        while !enough(&heard) {
            let Some(left) = self.deadline.checked_duration_since(Instant::now()) else {
                let said = heard.all();
                drop(heard);
                self.processes().into_iter().for_each(|pid| kill(pid, Signal::KILL));
                panic!("{} did not get there before its deadline\n{said}", self.shown);
            };
            heard = self.desk.changed.wait_timeout(heard, left).expect("nobody panics with it").0;
        }
        heard
    }
}

impl Drop for Running {
    /// A test that fails half-way leaves nothing running.
    fn drop(&mut self) {
        if thread::panicking() {
            self.processes().into_iter().for_each(|pid| kill(pid, Signal::KILL));
        }
    }
}

/// What a job said and how it ended.
#[derive(Debug)]
pub struct Ended {
    shown: String,
    /// How the started process ended.
    pub status: ExitStatus,
    /// What it and its descendants wrote to standard output.
    pub stdout: String,
    /// The same for standard error.
    pub stderr: String,
}

impl Ended {
    /// The lines of standard output, sorted: ranks have no order among themselves.
    pub fn sorted(&self) -> Vec<&str> {
        let mut lines: Vec<_> = self.stdout.lines().collect();
        lines.sort();
        lines
    }

    /// The exit status, or 1000 and the number of the signal.
    pub fn code(&self) -> i32 {
        self.status.code().unwrap_or_else(|| 1000 + self.status.signal().expect("neither exit nor signal"))
    }

    /// It exited with 0.
    #[track_caller]
    pub fn expect_success(self) -> Ended {
        self.expect_code(0)
    }

    /// It exited with this status.
    #[track_caller]
    pub fn expect_code(self, code: i32) -> Ended {
        assert!(self.code() == code, "ended with {}, expected {code}: {self}", self.code());
        self
    }

    /// Standard error contains all of these.
    #[track_caller]
    pub fn expect_said(self, parts: &[&str]) -> Ended {
        for part in parts {
            assert!(self.stderr.contains(part), "did not say \"{part}\": {self}");
        }
        self
    }

    /// Standard output is exactly this.
    #[track_caller]
    pub fn expect_output(self, expected: &str) -> Ended {
        assert!(self.stdout == expected, "printed something else than\n{expected}---\n{self}");
        self
    }
}

impl std::fmt::Display for Ended {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(to, "{}\n--- stdout\n{}--- stderr\n{}---", self.shown, self.stdout, self.stderr)
    }
}

/// Sends a signal; a process that has gone meanwhile does not mind.
pub fn kill(pid: u32, signal: Signal) {
    let pid = Pid::from_raw(pid.cast_signed()).expect("not 0");
    match kill_process(pid, signal) {
        Ok(()) | Err(rustix::io::Errno::SRCH) => {}
        Err(error) => panic!("cannot send {signal:?} to {pid:?}: {error}"),
    }
}

/// Waits until a process has died; that it has not been collected is the caller's business.
#[track_caller]
pub fn wait_for_zombie(pid: u32) {
    let deadline = Instant::now() + SETTLED;
    while stat(pid)[0] != "Z" {
        assert!(Instant::now() < deadline, "process {pid} does not die");
        thread::sleep(Duration::from_millis(5));
    }
}

/// What the kernel counts of a process, from its state on.
#[track_caller]
fn stat(pid: u32) -> Vec<String> {
    let stat =
        fs::read_to_string(format!("/proc/{pid}/stat")).expect("a process that has not been collected");
    // A name may contain spaces and parentheses.
    let (_, numbers) = stat.rsplit_once(") ").expect("pid (name) state ...");
    numbers.split_whitespace().map(str::to_owned).collect()
}

const MARK: &str = "CORELACE_TEST_MARK";

/// Where the threads that listen leave what they hear.
#[derive(Default)]
struct Desk {
    heard: Mutex<Heard>,
    changed: Condvar,
}

#[derive(Default)]
struct Heard {
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    closed: u32,
    status: Option<ExitStatus>,
}

impl Heard {
    fn over(&self) -> bool {
        self.closed == 2 && self.status.is_some()
    }

    fn all(&self) -> String {
        format!("--- stdout\n{}--- stderr\n{}---", text(&self.stdout), text(&self.stderr))
    }
}

impl Desk {
    fn change(&self, how: impl FnOnce(&mut Heard)) {
        how(&mut self.heard.lock().expect("nobody panics with it"));
        self.changed.notify_all();
    }
}

fn listen(desk: &Arc<Desk>, mut pipe: impl Read + Send + 'static, where_to: fn(&mut Heard) -> &mut Vec<u8>) {
    let desk = desk.clone();
    thread::spawn(move || {
        let mut room = vec![0; 64 << 10];
        while let Ok(count @ 1..) = pipe.read(&mut room) {
            desk.change(|heard| where_to(heard).extend_from_slice(&room[..count]));
        }
        desk.change(|heard| heard.closed += 1);
    });
}

/// What lies in the places where leaks of other MPIs are found. Other programs use them too: only what stays is a leak.
struct Names(BTreeSet<String>);

impl Names {
    fn now() -> Names {
        let shared = entries(Path::new("/dev/shm"));
        let ours = |name: &String| ["corelace", "mpi"].iter().any(|part| name.contains(part));
        let temporary = entries(Path::new("/tmp")).into_iter().filter(ours);
        Names(shared.into_iter().chain(temporary).collect())
    }

    fn new_since(self, before: &Names) -> Vec<String> {
        self.0.difference(&before.0).cloned().collect()
    }
}

fn entries(directory: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

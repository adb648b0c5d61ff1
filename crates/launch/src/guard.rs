//! The guard: a process that outlives a launcher killed by SIGKILL just long enough to end its ranks.
//!
//! It leads the process group of the job. It is there, deaf to every signal that the group may get, before the first rank starts, and ranks
//! are started into its group: nothing has to be told to it, so there is no moment at which it does not know of a rank. The end of
//! the launcher is the end of the pipe between them without a goodbye; a rank that is just being started holds that pipe
//! too until it is in the group, so the end is not seen too early either. Descendants that have left the group are known by the job's mark in their
//! environment.
//!
//! ```text
//! launcher -> guard    one byte     goodbye: every rank has ended
//! guard -> launcher    one byte     the guard is deaf and leads its group
//! ```

use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use signal_hook::consts::*;

/// The hidden subcommand by which a helper executable becomes a guard; its one argument is the job's mark.
pub const SUBCOMMAND: &str = "__guard";

/// The variable that marks every process of a job.
pub const MARK: &str = "CORELACE_JOB";

/// What may be sent to the group of the job without being meant for the guard.
const DEAF: &[i32] = &[
    SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF, SIGXCPU, SIGXFSZ,
    SIGTTIN, SIGTTOU, SIGTSTP, SIGPIPE, SIGIO, SIGTRAP, SIGABRT,
];
/// How long processes may take to vanish after they were killed.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long a process without an environment is waited for to get one.
const DOUBT: Duration = Duration::from_millis(500);
/// How long a guard may take to be there.
const READY_WITHIN: Timespec = Timespec { tv_sec: 10, tv_nsec: 0 };

/// The guard's own main function.
pub fn main(mark: &str) {
    for signal in DEAF {
        // A handler that only notes the signal: ignoring it would be inherited, and needs code that the compiler cannot check.
        _ = signal_hook::flag::register(*signal, Arc::default());
    }
    _ = io::stdout().write_all(b"!").and_then(|()| io::stdout().flush());
    let mut word = [0];
    loop {
        match io::stdin().read(&mut word) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Ok(1..) => return,
            // A read error is the end of the launcher, too.
            Ok(0) | Err(_) => break,
        }
    }
    end_everybody(mark);
}

/// Kills what is in this process's group or carries the mark, again and again until nothing is left, then the group with this
/// process in it: what was started while we looked.
fn end_everybody(mark: &str) {
    let (me, group) = (rustix::process::getpid(), rustix::process::getpgrp());
    let (until, doubt_until) = (Instant::now() + PATIENCE, Instant::now() + DOUBT);
    let born = start_of(&stat(me)).unwrap_or(u64::MAX);
    loop {
        let (mut left, mut in_doubt) = (false, false);
        for pid in processes().filter(|pid| *pid != me) {
            // Looked at once: one that was in doubt may be known at a second look, and would be missed by both.
            let environment = environment(pid);
            if is_in_group(pid, group) || has_mark(&environment, mark) {
                left = true;
                _ = kill_process(pid, Signal::KILL);
            } else {
                in_doubt |= may_be_starting(pid, &environment, born);
            }
        }
        let now = Instant::now();
        if !(left || in_doubt && now < doubt_until) || now >= until {
            break;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    if group == me {
        _ = kill_process_group(group, Signal::KILL);
    }
}

/// All processes that this one can see.
pub(crate) fn processes() -> impl Iterator<Item = Pid> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?))
}

/// Alive and in the group: the dead wait for a parent that is not us.
fn is_in_group(pid: Pid, group: Pid) -> bool {
    let fields = stat(pid);
    fields.get(2).is_some_and(|field| field.parse() == Ok(group.as_raw_nonzero().get())) && fields[0] != "Z"
}

/// What `/proc/PID/stat` says behind the name, which may hold anything: state, parent, group, …
pub(crate) fn stat(pid: Pid) -> Vec<String> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let fields = text.rsplit_once(") ").map_or("", |(_, fields)| fields);
    fields.split(' ').map(str::to_owned).collect()
}

/// The environment that a process was started with; nothing if it may not be read, or the process is gone. The dead have none.
fn environment(pid: Pid) -> Option<Vec<u8>> {
    std::fs::read(format!("/proc/{pid}/environ")).ok()
}

/// Whether the job's mark is in an environment.
fn has_mark(environment: &Option<Vec<u8>>, mark: &str) -> bool {
    let wanted = format!("{MARK}={mark}");
    let variables = environment.as_deref().unwrap_or_default().split(|byte| *byte == 0);
    variables.into_iter().any(|variable| variable == wanted.as_bytes())
}

/// Whether a process, started after `born`, may be between its old program and its new one, when it has no environment to be known by. One that was
/// started without an environment looks the same.
fn may_be_starting(pid: Pid, environment: &Option<Vec<u8>>, born: u64) -> bool {
    if !environment.as_ref().is_some_and(Vec::is_empty) {
        return false;
    }
    let fields = stat(pid);
    // Threads of the kernel have no memory.
    let has_memory = fields.get(MEMORY).is_some_and(|bytes| bytes != "0");
    has_memory && start_of(&fields).is_some_and(|start| start >= born)
}

/// When a process was started, in ticks of the kernel's.
fn start_of(stat: &[String]) -> Option<u64> {
    stat.get(START)?.parse().ok()
}

/// Where [`stat`] has the start and the size of a process.
const START: usize = 19;
const MEMORY: usize = 20;

/// The launcher's end.
#[derive(Debug)]
pub(crate) struct Guard {
    process: Child,
    words: ChildStdin,
    answer: ChildStdout,
}

impl Guard {
    pub(crate) fn start(helper: &Path, mark: &str) -> io::Result<Guard> {
        let mut process = Command::new(helper)
            .args([SUBCOMMAND, mark])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            // Not in the launcher's group: what kills that group must not kill the guard.
            .process_group(0)
            .spawn()?;
        let words = process.stdin.take().expect("stdin is piped");
        let answer = process.stdout.take().expect("stdout is piped");
        Ok(Guard { process, words, answer })
    }

    /// Waits until the guard is deaf; false if it has failed.
    pub(crate) fn is_ready(&mut self) -> bool {
        let mut answer = [PollFd::new(&self.answer, PollFlags::IN)];
        poll(&mut answer, Some(&READY_WITHIN)).is_ok_and(|ready| ready > 0)
            && self.answer.read(&mut [0]).is_ok_and(|read| read == 1)
    }

    /// The process group of the job.
    pub(crate) fn group(&self) -> Pid {
        Pid::from_child(&self.process)
    }

    /// Says that every rank has ended, and collects the guard.
    pub(crate) fn dismiss(mut self) {
        _ = self.words.write_all(b"0");
        drop(self.words);
        _ = kill_process(Pid::from_child(&self.process), Signal::CONT);
        _ = self.process.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_marked(pid: Pid, mark: &str) -> bool {
        has_mark(&environment(pid), mark)
    }

    fn is_in_doubt(pid: Pid, born: u64) -> bool {
        may_be_starting(pid, &environment(pid), born)
    }

    #[test]
    fn a_young_process_without_an_environment_is_in_doubt_and_no_other() {
        let me = rustix::process::getpid();
        let born = start_of(&stat(me)).unwrap();
        let mut bare = Command::new("sleep").arg("1000").env_clear().spawn().unwrap();
        let mut marked = Command::new("sleep").arg("1000").env(MARK, "me-18").spawn().unwrap();
        let [bare_pid, marked_pid] = [Pid::from_child(&bare), Pid::from_child(&marked)];
        while !is_marked(marked_pid, "me-18") {
            std::thread::yield_now();
        }
        // Until it is a process of its own, it shows the environment of this one.
        while !is_in_doubt(bare_pid, born) {
            std::thread::yield_now();
        }
        let others = is_in_doubt(marked_pid, born) || is_in_doubt(me, born);
        let older = is_in_doubt(bare_pid, u64::MAX);
        for child in [&mut bare, &mut marked] {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        assert!(!others && !older);
    }

    #[test]
    fn processes_are_known_by_group_and_by_the_mark_they_were_started_with() {
        let mut sleeper = Command::new("sleep");
        let mut child = sleeper.arg("1000").env(MARK, "me-17").process_group(0).spawn().unwrap();
        let pid = Pid::from_child(&child);
        // Its environment appears a little after its program has been started.
        while !is_marked(pid, "me-17") {
            std::thread::yield_now();
        }
        let known = is_in_group(pid, pid) && !is_marked(pid, "me-1");
        assert!(
            !is_in_group(rustix::process::getpid(), pid) && !is_marked(rustix::process::getpid(), "me-17")
        );
        let listed = processes().any(|known| known == pid);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(known && listed);
        assert!(!is_marked(pid, "me-17") && !is_in_group(pid, pid));
    }
}

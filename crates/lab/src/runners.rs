//! Launchers that run for a command of ours: none is left, and no other one starts, when somebody interrupts it. What the command has in temporary
//! directories it can then take away as at any other end.

use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, kill_process_group, pidfd_open};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::{Handle, Signals};

/// The status of a command that was interrupted, as shells give it.
pub const INTERRUPTED: u8 = 130;

/// Launchers that run.
pub struct Runners {
    state: Arc<Mutex<State>>,
    listening: Handle,
}

#[derive(Default)]
struct State {
    pids: Vec<Pid>,
    interrupted: bool,
}

impl Runners {
    /// From here on interrupts are for the runs.
    pub fn new() -> Result<Runners, String> {
        let state = Arc::new(Mutex::new(State::default()));
        let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])
            .map_err(|error| format!("listening to signals: {error}"))?;
        let (listening, shared) = (signals.handle(), state.clone());
        std::thread::spawn(move || {
            for _ in &mut signals {
                let mut state = shared.lock().unwrap_or_else(PoisonError::into_inner);
                state.interrupted = true;
                for pid in &state.pids {
                    // It may have ended meanwhile.
                    _ = kill_process(*pid, Signal::TERM);
                }
            }
        });
        Ok(Runners { state, listening })
    }

    /// Whether somebody has interrupted.
    pub fn interrupted(&self) -> bool {
        self.lock().interrupted
    }

    /// The status, if somebody has interrupted, which is told.
    pub fn status_if_interrupted(&self) -> Option<u8> {
        self.interrupted().then(|| {
            eprintln!("corelace: interrupted");
            INTERRUPTED
        })
    }

    /// Runs a launcher to its end, and keeps its errors. Whether its output is kept, too, `command` says.
    pub fn output(&self, command: &mut Command) -> Result<Output, String> {
        let (child, pid) = self.start(command.stdin(Stdio::null()).stderr(Stdio::piped()))?;
        let output = child.wait_with_output();
        self.lock().pids.retain(|running| *running != pid);
        output.map_err(|error| format!("the launcher: {error}"))
    }

    /// Runs a launcher for so long at most; then it is asked to end, and after a while all of its group are made to. `None`: the time was up. Where its
    /// output goes, `command` says.
    pub fn status_within(
        &self,
        command: &mut Command,
        limit: Duration,
    ) -> Result<Option<ExitStatus>, String> {
        let failed = |error: std::io::Error| format!("the launcher: {error}");
        let (mut child, pid) = self.start(command.process_group(0))?;
        let ends = pidfd_open(pid, PidfdFlags::empty()).map_err(|error| failed(error.into()));
        let in_time = ends.as_ref().is_ok_and(|ends| is_readable_within(ends, limit));
        if !in_time {
            // It may end by itself at this moment.
            _ = kill_process(pid, Signal::TERM);
            _ = ends.as_ref().is_ok_and(|ends| is_readable_within(ends, GRACE));
            // What it leaves behind is in its group, whose number is taken as long as nobody has waited for it.
            _ = kill_process_group(pid, Signal::KILL);
        }
        let status = child.wait().map_err(failed);
        self.lock().pids.retain(|running| *running != pid);
        ends?;
        Ok(in_time.then_some(status?))
    }

    fn start(&self, command: &mut Command) -> Result<(Child, Pid), String> {
        let mut state = self.lock();
        if state.interrupted {
            return Err("interrupted".into());
        }
        let child = command.spawn().map_err(|error| format!("the launcher: {error}"))?;
        let pid = Pid::from_child(&child);
        state.pids.push(pid);
        Ok((child, pid))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a launcher has to end its ranks in.
const GRACE: Duration = Duration::from_secs(5);

/// Whether the process that this stands for ends in time.
fn is_readable_within(ends: &OwnedFd, limit: Duration) -> bool {
    let begin = Instant::now();
    loop {
        let left = limit.saturating_sub(begin.elapsed());
        let left = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() };
        match poll(&mut [PollFd::new(ends, PollFlags::IN)], Some(&left)) {
            Err(Errno::INTR) => continue,
            ended => return ended.is_ok_and(|ended| ended > 0),
        }
    }
}

impl Drop for Runners {
    fn drop(&mut self) {
        self.listening.close();
    }
}

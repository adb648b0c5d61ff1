//! Launchers that run for a command of ours: none is left, and no other one starts, when somebody interrupts it. What the command has in temporary
//! directories it can then take away as at any other end.

use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::process::{Pid, Signal, kill_process};
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

impl Drop for Runners {
    fn drop(&mut self) {
        self.listening.close();
    }
}

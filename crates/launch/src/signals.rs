//! Names of signals, which of them the launcher handles, and how it hears of them.

use std::os::unix::net::UnixStream;
use std::sync::Arc;

use rustix::process::Signal;
use signal_hook::consts::{
    SIGALRM, SIGCHLD, SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGUSR1, SIGUSR2, SIGWINCH, SIGXCPU,
};
use signal_hook::iterator::backend::{Handle, SignalDelivery};
use signal_hook::iterator::exfiltrator::SignalOnly;

use crate::{Attempt, Error};

/// What a signal to the launcher asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Request {
    /// To end the job.
    End,
    /// To stop it, and the launcher with it.
    Stop,
    /// To hand the signal on to the ranks.
    Forward,
    /// To show what the ranks do.
    Show,
    /// To see which processes have ended.
    Reap,
}

/// The signals that the launcher handles. SIGQUIT, SIGALRM and SIGXCPU would end the launcher, so they end the job, and ranks get the same
/// signal: the one that they would have got themselves.
const HANDLED: [(i32, Request); 12] = [
    (SIGINT, Request::End),
    (SIGTERM, Request::End),
    (SIGHUP, Request::End),
    (SIGQUIT, Request::End),
    (SIGALRM, Request::End),
    (SIGXCPU, Request::End),
    (SIGTSTP, Request::Stop),
    (SIGCONT, Request::Forward),
    (SIGUSR1, Request::Show),
    (SIGUSR2, Request::Forward),
    (SIGWINCH, Request::Forward),
    (SIGCHLD, Request::Reap),
];

/// What a signal asks for.
pub(crate) fn request(number: i32) -> Request {
    let known = HANDLED.iter().find(|(handled, _)| *handled == number);
    known.map_or(Request::End, |(_, request)| *request)
}

/// Signals to the launcher, readable from a descriptor. Ends listening when dropped.
pub(crate) struct Requests {
    delivery: SignalDelivery<UnixStream, SignalOnly>,
    handle: Handle,
}

impl Requests {
    pub(crate) fn listen() -> Result<Requests, Error> {
        let (read, write) = UnixStream::pair().attempt("a socket for signals")?;
        let handled = HANDLED.map(|(number, _)| number);
        let mut wanted = not_ignored(&handled);
        if !wanted.contains(&SIGCHLD) {
            // Inherited from whoever started us. The kernel would collect our ranks itself and throw their statuses away.
            signal_hook::flag::register(SIGCHLD, Arc::default()).attempt("listening to signals")?;
            wanted.push(SIGCHLD);
        }
        let delivery =
            SignalDelivery::with_pipe(read, write, SignalOnly, wanted).attempt("listening to signals")?;
        let handle = delivery.handle();
        Ok(Requests { delivery, handle })
    }

    pub(crate) fn readable(&self) -> &UnixStream {
        self.delivery.get_read()
    }

    pub(crate) fn pending(&mut self) -> Vec<i32> {
        self.delivery.pending().collect()
    }
}

impl Drop for Requests {
    fn drop(&mut self) {
        self.handle.close();
    }
}

/// The name of a signal, for messages.
pub(crate) fn name(number: i32) -> String {
    match signal_hook::low_level::signal_name(number) {
        Some(name) => name.to_string(),
        None => format!("SIG{number}"),
    }
}

/// The signal of a number that the kernel gave us.
pub(crate) fn from_number(number: i32) -> Option<Signal> {
    Signal::from_named_raw(number)
}

/// Those of `wanted` that this process does not ignore. `nohup mpirun …` ignores SIGHUP, a background job of a script
/// SIGINT; handling them would take that back.
pub fn not_ignored(wanted: &[i32]) -> Vec<i32> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok())
        .unwrap_or(0);
    wanted.iter().copied().filter(|number| mask & (1 << (number - 1)) == 0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_sent_to_the_launcher_is_either_forwarded_or_ends_the_job() {
        assert_eq!(request(SIGCONT), Request::Forward);
        assert_eq!(request(SIGWINCH), Request::Forward);
        assert_eq!(request(SIGQUIT), Request::End);
        assert!(HANDLED.iter().all(|(number, _)| from_number(*number).is_some()));
    }

    #[test]
    fn signals_have_their_usual_names() {
        assert_eq!(
            (name(9).as_str(), name(11).as_str(), name(15).as_str()),
            ("SIGKILL", "SIGSEGV", "SIGTERM")
        );
        assert_eq!(name(99), "SIG99");
    }
}

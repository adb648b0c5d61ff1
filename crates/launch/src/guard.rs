//! The guard: a process that outlives a launcher killed by SIGKILL just long enough to end its ranks.
//!
//! The launcher tells the guard each process group over a pipe, and says goodbye when all have ended. A pipe that closes
//! without a goodbye means that the launcher died. One guard a job covers every program, MPI or not, and their
//! descendants, where `PR_SET_PDEATHSIG` would need code in each rank between `fork` and `exec`.
//!
//! ```text
//! launcher -> guard    <pid> newline     a process group of the job
//!                      0 newline         goodbye
//! ```

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process_group};

/// The hidden subcommand by which a helper executable becomes a guard.
pub const SUBCOMMAND: &str = "__guard";

/// The guard's own main function: reads the launcher's words from `input` and acts on its end.
pub fn main(input: impl Read) {
    let groups = listen(input);
    for group in groups {
        _ = kill_process_group(group, Signal::KILL);
    }
}

/// The groups to end: none after a goodbye.
fn listen(input: impl Read) -> Vec<Pid> {
    let mut groups = Vec::new();
    // A read error is the end of the launcher, too.
    for line in BufReader::new(input).lines().map_while(Result::ok) {
        match line.trim().parse::<i32>() {
            Ok(0) => return Vec::new(),
            // 1 would be every process there is.
            Ok(pid) if pid > 1 => groups.extend(Pid::from_raw(pid)),
            _ => {}
        }
    }
    groups
}

/// The launcher's end.
#[derive(Debug)]
pub(crate) struct Guard {
    process: Child,
    words: ChildStdin,
}

impl Guard {
    pub(crate) fn start(helper: &Path) -> io::Result<Guard> {
        let mut process = Command::new(helper)
            .arg(SUBCOMMAND)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // Not in the launcher's group: what kills that group must not kill the guard.
            .process_group(0)
            .spawn()?;
        let words = process.stdin.take().expect("stdin is piped");
        Ok(Guard { process, words })
    }

    /// Tells the guard of a group. An error means that the guard is gone, which a job survives.
    pub(crate) fn watch(&mut self, group: u32) {
        _ = writeln!(self.words, "{group}");
    }

    /// Says that every rank has ended.
    pub(crate) fn dismiss(mut self) {
        _ = writeln!(self.words, "0");
        drop(self.words);
        _ = self.process.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_goodbye_leaves_everybody_alone_and_a_cut_pipe_names_the_groups() {
        assert_eq!(listen(&b"1234\n1235\n0\n"[..]), []);
        let cut = listen(&b"1234\n1235\n"[..]);
        assert_eq!(cut.iter().map(|pid| pid.as_raw_nonzero().get()).collect::<Vec<_>>(), [1234, 1235]);
    }

    #[test]
    fn dangerous_or_garbled_groups_are_never_signalled() {
        assert_eq!(listen(&b"1\n-5\nx\n\n99999999999\n"[..]), []);
    }
}

//! Jobs whose processes are found again: by a mark in their environment, which whatever they start has too.

use std::fs;
use std::path::Path;
use std::process::Command;

use rustix::process::{Pid, Signal, kill_process};

/// The variable that carries the mark.
const VARIABLE: &str = "CORELACE_CHAOS";

/// A mark that no other job has.
pub struct Mark(String);

impl Mark {
    /// The mark of a seed's job.
    pub fn of(seed: u64) -> Mark {
        Mark(format!("{}-{seed}", std::process::id()))
    }

    /// For names of files.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// A job is to carry it.
    pub fn put_on(&self, command: &mut Command) {
        command.env(VARIABLE, &self.0);
    }

    /// The processes that carry the mark; the dead do not.
    pub fn processes(&self) -> Vec<Pid> {
        let mark = format!("{VARIABLE}={}", self.0);
        let carries = |pid: &Pid| has(*pid, "environ", &mark);
        let all = entries(Path::new("/proc")).into_iter();
        all.filter_map(|name| Pid::from_raw(name.parse().ok()?)).filter(carries).collect()
    }

    /// The same with what they run, for reports.
    pub fn shown(&self) -> Vec<String> {
        let command = |pid: &Pid| fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        self.processes().iter().map(|pid| format!("{pid} {}", command(pid).replace('\0', " "))).collect()
    }

    /// The process of a rank, if it is there: its own, or that of all ranks.
    pub fn process_of(&self, rank: u64, mode: &str) -> Option<Pid> {
        let own = format!("CORELACE_RANK={rank}");
        self.processes().into_iter().find(|pid| match mode {
            "process" => has(*pid, "environ", &own),
            _ => has(*pid, "cmdline", "__host"),
        })
    }

    /// Ends whatever is left.
    pub fn kill_all(&self) {
        for pid in self.processes() {
            _ = kill_process(pid, Signal::KILL);
        }
    }
}

/// Whether one of the words of a file of /proc is this one.
fn has(pid: Pid, file: &str, word: &str) -> bool {
    let text = fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
    text.split(|byte| *byte == 0).any(|part| part == word.as_bytes())
}

/// The names in a directory; none if there is no such directory.
pub fn entries(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

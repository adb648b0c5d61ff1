//! Why a process that should be gone is still there: what `/proc` says of it.
//!
//! A process that a debugger traces is not ours to collect, not even dead: the kernel tells its tracer first and its parent only when
//! the tracer has collected it or let go. Until then nobody but the tracer can end the wait, so the user has to know which process
//! that is.

use std::fs;
use std::path::Path;

/// What is left of a process that has not been collected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Remains {
    /// Its state as the kernel words it: `Z (zombie)`.
    state: String,
    /// The process that traces it, or one of its threads: number and name.
    tracer: Option<(u32, String)>,
}

impl Remains {
    /// Those of a process; `None` if there is no such process.
    pub(crate) fn of(process: u32) -> Option<Remains> {
        let directory = format!("/proc/{process}");
        let state = field(&fs::read_to_string(format!("{directory}/status")).ok()?, "State")?.to_owned();
        // The last thread to be let go is not always the first one, whose status is that of the process.
        let threads = fs::read_dir(format!("{directory}/task")).into_iter().flatten().flatten();
        let tracer = threads.filter_map(|thread| tracer_of(&thread.path())).next();
        Some(Remains { state, tracer })
    }

    /// True if it has died.
    pub(crate) fn dead(&self) -> bool {
        self.state.starts_with(['Z', 'X'])
    }

    /// Why `who` is still there, for the user.
    pub(crate) fn explain(&self, who: &str) -> String {
        match &self.tracer {
            Some((tracer, name)) => format!(
                "{who} is held by a debugger or tracer, pid {tracer} ({name}); the job cannot end before that lets go of it"
            ),
            None => format!("{who} was killed but has not ended; its state is {}", self.state),
        }
    }
}

/// True if a process has given its memory back, as one that dies does some time before anybody is told of its end, or is gone.
pub(crate) fn is_dying(process: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{process}/status"));
    status.map_or(true, |status| field(&status, "VmSize").is_none())
}

fn tracer_of(thread: &Path) -> Option<(u32, String)> {
    let status = fs::read_to_string(thread.join("status")).ok()?;
    let tracer = field(&status, "TracerPid")?.parse().ok().filter(|tracer| *tracer != 0)?;
    let name = fs::read_to_string(format!("/proc/{tracer}/comm")).unwrap_or_default();
    Some((tracer, name.trim_end().to_owned()))
}

/// The value of a line `name: value`.
fn field<'a>(status: &'a str, name: &str) -> Option<&'a str> {
    status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn fields_are_found_by_their_whole_name() {
        let status = "Name:\tState\nState:\tt (tracing stop)\nPPid:\t1\nTracerPid:\t77\n";
        assert_eq!(field(status, "State"), Some("t (tracing stop)"));
        assert_eq!(field(status, "TracerPid"), Some("77"));
        assert_eq!(field(status, "Pid"), None);
    }

    #[test]
    fn a_dead_process_remains_until_it_is_collected() {
        let mut child = Command::new("true").spawn().unwrap();
        let options = rustix::process::WaitIdOptions::EXITED | rustix::process::WaitIdOptions::NOWAIT;
        let id = rustix::process::WaitId::Pid(rustix::process::Pid::from_child(&child));
        rustix::process::waitid(id, options).unwrap();
        assert!(Remains::of(child.id()).unwrap().dead() && is_dying(child.id()));
        child.wait().unwrap();
        assert_eq!(Remains::of(child.id()), None);
        assert!(is_dying(child.id()) && !is_dying(std::process::id()));
        assert!(!Remains::of(std::process::id()).unwrap().dead());
    }

    #[test]
    fn the_tracer_is_named_and_without_one_the_state() {
        let traced = Remains { state: "Z (zombie)".into(), tracer: Some((77, "gdb".into())) };
        assert_eq!(
            traced.explain("rank 1 (pid 5, ring)"),
            "rank 1 (pid 5, ring) is held by a debugger or tracer, pid 77 (gdb); the job cannot end before that lets go of it"
        );
        let asleep = Remains { state: "D (disk sleep)".into(), tracer: None };
        assert_eq!(
            asleep.explain("rank 1 (pid 5, ring)"),
            "rank 1 (pid 5, ring) was killed but has not ended; its state is D (disk sleep)"
        );
    }
}

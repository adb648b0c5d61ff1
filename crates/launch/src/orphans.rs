//! Descendants of the ranks whose own parents have ended: the launcher becomes their parent and leaves none behind.
//!
//! The launcher is a *subreaper* while a job runs: a process whose parent ends becomes the launcher's child, also one that has
//! called `setsid` to be found by nobody. Every descendant that is alive is therefore below a child of the launcher, and killing
//! children until there are none ends all of them. As process 1 of a container the launcher has that duty anyway.
//!
//! That ends with the launcher. The guard, which outlives it, is beside the ranks and not above them, so it can inherit nobody: a process
//! that has left the group, has lost its parent and carries no mark looks like any other child of init by then, and is left alone.
//!
//! Invariant: children that were there before the job (of a shell that became the launcher by `exec`) are left alone.

use std::collections::HashSet;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, kill_process};

use crate::guard::{processes, stat};

/// How long a killed process may take to vanish.
const PATIENCE: Duration = Duration::from_secs(2);

/// The children that are not the job's.
#[derive(Debug)]
pub(crate) struct Orphans {
    others: HashSet<Pid>,
}

impl Orphans {
    /// Before the first process of the job.
    pub(crate) fn expect() -> Orphans {
        // A kernel that refuses leaves orphans to init, as ever.
        _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
        Orphans { others: children().into_iter().collect() }
    }

    /// Collects those that have ended, except `members`, which others collect.
    pub(crate) fn reap(&self, members: &HashSet<Pid>) {
        for child in self.adopted(members) {
            let gone = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
            _ = rustix::process::waitid(WaitId::Pid(child), gone);
        }
    }

    /// Ends all of them, whatever they have done to hide; `members` have ended before.
    pub(crate) fn end(&self, members: &HashSet<Pid>) {
        let until = Instant::now() + PATIENCE;
        loop {
            let left = self.adopted(members);
            if left.is_empty() {
                break;
            }
            for child in &left {
                _ = kill_process(*child, Signal::KILL);
            }
            for child in left {
                // A process that a debugger holds, or the kernel, cannot be waited for.
                let patience = until.saturating_duration_since(Instant::now());
                if wait_briefly(child, patience) {
                    _ = rustix::process::waitid(
                        WaitId::Pid(child),
                        WaitIdOptions::EXITED | WaitIdOptions::NOHANG,
                    );
                }
            }
            if Instant::now() >= until {
                break;
            }
        }
        _ = rustix::process::set_child_subreaper(None);
    }

    fn adopted(&self, members: &HashSet<Pid>) -> Vec<Pid> {
        children().into_iter().filter(|pid| !members.contains(pid) && !self.others.contains(pid)).collect()
    }
}

/// Waits for the end of a process; false if it takes too long.
fn wait_briefly(child: Pid, patience: Duration) -> bool {
    let Ok(pidfd) = rustix::process::pidfd_open(child, PidfdFlags::empty()) else { return true };
    let patience =
        Timespec { tv_sec: patience.as_secs() as i64, tv_nsec: i64::from(patience.subsec_nanos()) };
    poll(&mut [PollFd::new(&pidfd.as_fd(), PollFlags::IN)], Some(&patience)).is_ok_and(|ready| ready > 0)
}

/// The children of this process, dead ones included.
fn children() -> Vec<Pid> {
    let me = rustix::process::getpid();
    match children_by_task() {
        Some(list) => list,
        None => {
            let parent = me.as_raw_nonzero().to_string();
            processes().filter(|pid| stat(*pid).get(1) == Some(&parent)).collect()
        }
    }
}

/// As a kernel with CONFIG_PROC_CHILDREN lists them.
fn children_by_task() -> Option<Vec<Pid>> {
    let mut list = Vec::new();
    for task in std::fs::read_dir("/proc/self/task").ok()?.flatten() {
        let text = match std::fs::read_to_string(task.path().join("children")) {
            Ok(text) => text,
            // A thread that has ended meanwhile has no children.
            Err(_) if !task.path().exists() => continue,
            Err(_) => return None,
        };
        list.extend(text.split_whitespace().filter_map(|word| Pid::from_raw(word.parse().ok()?)));
    }
    Some(list)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn children_are_found_both_ways_also_dead_ones() {
        let mut child = Command::new("true").spawn().unwrap();
        let pid = Pid::from_child(&child);
        rustix::process::waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT).unwrap();
        assert!(children().contains(&pid));
        let parent = std::process::id().to_string();
        assert_eq!(stat(pid).get(1), Some(&parent));
        child.wait().unwrap();
        assert!(!children().contains(&pid));
    }
}

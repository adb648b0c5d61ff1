//! How long threads of the job were ready to run and had no core. A job on an overloaded machine may
//! stand still only because its ranks wait for their turn.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

/// Remembers, for each thread of the job, how long the kernel has kept it waiting for a core.
#[derive(Debug, Default)]
pub(crate) struct Starved {
    known: HashMap<(u32, String), Duration>,
}

impl Starved {
    /// The longest wait for a core of any thread of these processes since the last call. Zero where the
    /// kernel does not count, and for threads that are new.
    pub(crate) fn since_last(&mut self, pids: impl Iterator<Item = u32>) -> Duration {
        let mut now = HashMap::new();
        let mut longest = Duration::ZERO;
        for pid in pids {
            for (thread, waited) in waits(pid) {
                let key = (pid, thread);
                if let Some(before) = self.known.get(&key) {
                    longest = longest.max(waited.saturating_sub(*before));
                }
                now.insert(key, waited);
            }
        }
        self.known = now;
        longest
    }
}

/// How long each thread of a process has waited for a core in its life.
fn waits(pid: u32) -> impl Iterator<Item = (String, Duration)> {
    let tasks = fs::read_dir(Path::new("/proc").join(pid.to_string()).join("task"));
    tasks.into_iter().flatten().flatten().filter_map(|task| {
        let text = fs::read_to_string(task.path().join("schedstat")).ok()?;
        // Nanoseconds on a core, nanoseconds ready without one, and how often it had one.
        let waited = text.split_ascii_whitespace().nth(1)?.parse().ok()?;
        Some((task.file_name().to_string_lossy().into_owned(), Duration::from_nanos(waited)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_for_a_core_counts_from_the_last_look_on() {
        let own = || std::iter::once(std::process::id());
        let mut starved = Starved::default();
        assert_eq!(starved.since_last(own()), Duration::ZERO, "nothing was known before");
        assert!(!starved.known.is_empty(), "threads of this process have a /proc/PID/task/TID/schedstat");
        starved.known.values_mut().for_each(|waited| *waited = Duration::ZERO);
        let whole_life = starved.since_last(own());
        let longest = starved.known.values().max().copied();
        assert_eq!(Some(whole_life), longest);
        // A process that has ended waits for nothing.
        assert_eq!(starved.since_last(std::iter::once(u32::MAX)), Duration::ZERO);
        assert!(starved.known.is_empty());
    }
}

//! How many cores this process may use: those of its mask, or fewer if its control group (version 2) may not use them all the time.
//!
//! The standard library knows that, too, and groups of version 1 besides; that is five kilobytes of every copy of this library.

use std::fs::read_to_string;
use std::sync::OnceLock;

/// Cores that this process may use, at least one. The mask may change at any time, as when a rank
/// is bound to a core; the limit of the control group is the one of the first call.
pub fn cores() -> usize {
    static QUOTA: OnceLock<Option<usize>> = OnceLock::new();
    in_mask().min(QUOTA.get_or_init(quota_here).unwrap_or(usize::MAX)).max(1)
}

/// The limit of the control group that this process is in. Reads two files or more.
fn quota_here() -> Option<usize> {
    let group = read_to_string("/proc/self/cgroup").unwrap_or_default();
    group.lines().find_map(|line| line.strip_prefix("0::")).and_then(quota)
}

fn in_mask() -> usize {
    // SAFETY: an all-zero set is valid; the kernel writes it during the call only.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        match libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set) {
            0 => libc::CPU_COUNT(&set) as usize,
            // More processors than the set has room for.
            _ => libc::sysconf(libc::_SC_NPROCESSORS_ONLN).max(1) as usize,
        }
    }
}

/// The least that a group or one above it leaves: whole cores, at least one.
fn quota(group: &str) -> Option<usize> {
    let mut directory = format!("/sys/fs/cgroup{}", group.trim_end_matches('/'));
    let mut least = None;
    while directory.starts_with("/sys/fs/cgroup") {
        let here = read_to_string(format!("{directory}/cpu.max")).ok().and_then(|text| whole_cores(&text));
        least = least.into_iter().chain(here).min();
        directory.truncate(directory.rfind('/').unwrap_or(0));
    }
    least
}

/// `200000 100000`: two cores; `max 100000`: no limit.
fn whole_cores(text: &str) -> Option<usize> {
    let mut words = text.split_ascii_whitespace().map(str::parse);
    match (words.next()?, words.next()?) {
        (Ok::<usize, _>(time), Ok(period)) if period > 0 => Some((time / period).max(1)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cores_are_those_that_the_standard_library_finds() {
        assert_eq!(cores(), std::thread::available_parallelism().unwrap().get());
    }

    #[test]
    fn files_of_the_system_are_read_for_the_first_question_only() {
        let reads = || -> u64 {
            let counts = read_to_string("/proc/thread-self/io").expect("a count of this thread's reads");
            let reads =
                counts.lines().find_map(|line| line.strip_prefix("syscr: ")).expect("a line for them");
            reads.parse().expect("a number")
        };
        cores();
        let before = reads();
        assert!((0..100).all(|_| cores() > 0));
        let during = reads() - before;
        assert!(during < 100, "{during} reads for 100 questions");
    }

    #[test]
    fn limits_are_whole_cores_and_never_none() {
        for (text, cores) in [
            ("max 100000\n", None),
            ("200000 100000\n", Some(2)),
            ("150000 100000\n", Some(1)),
            ("5000 100000\n", Some(1)),
            ("", None),
            ("1 0", None),
        ] {
            assert_eq!(whole_cores(text), cores, "{text:?}");
        }
    }
}

//! Limits of processes and control groups, and how many ranks they allow.

use std::fs;

use rustix::process::{Resource, getrlimit};

use super::{Finding, Grade, finding};

/// The stack of a thread or fiber where the limit of stacks says nothing.
const STACK: u64 = 8 << 20;
/// Address space of a program and its libraries, before any rank.
const BEFORE_RANKS: u64 = 64 << 20;

pub fn findings() -> Vec<Finding> {
    vec![open_files(), processes(), stack(), address_space(), file_size(), core_files()]
}

fn open_files() -> Finding {
    let limit = getrlimit(Resource::Nofile);
    let most = limit.maximum.unwrap_or(1 << 20);
    // Two pipes, a control socket and a process descriptor a rank in the launcher, and their other ends while starting.
    let ranks = most.saturating_sub(24) / 6;
    let grade = match ranks {
        0 => Grade::Bad,
        1..256 => Grade::Fair,
        _ => Grade::Good,
    };
    let current = limit.current.map_or("unlimited".into(), |current| current.to_string());
    finding(
        grade,
        "open files",
        format!("{current}, at most {most}"),
        format!("enough for about {ranks} ranks a launcher (ulimit -n)"),
    )
}

fn processes() -> Finding {
    let pids =
        fs::read_to_string("/sys/fs/cgroup/pids.max").ok().and_then(|text| text.trim().parse::<u64>().ok());
    let most = getrlimit(Resource::Nproc).current.into_iter().chain(pids).min();
    match most {
        Some(most) if most < 512 => finding(
            Grade::Fair,
            "processes",
            format!("at most {most}"),
            "more ranks than that only with --ranks fiber (ulimit -u, and pids.max of the control group)",
        ),
        Some(most) => finding(Grade::Good, "processes", format!("at most {most}"), "enough"),
        None => finding(Grade::Good, "processes", "no limit", "enough"),
    }
}

fn stack() -> Finding {
    match getrlimit(Resource::Stack).current {
        None => finding(
            Grade::Good,
            "stack",
            "no limit",
            "ranks that are processes may recurse as deep as memory allows",
        ),
        Some(bytes) if bytes < 1 << 20 => finding(
            Grade::Fair,
            "stack",
            size(bytes),
            "little: programs with large local arrays crash (ulimit -s)",
        ),
        Some(bytes) => finding(
            Grade::Good,
            "stack",
            size(bytes),
            "usual; more for ranks with large local arrays: ulimit -s",
        ),
    }
}

fn address_space() -> Finding {
    let Some(bytes) = getrlimit(Resource::As).current else {
        return finding(Grade::Good, "address space", "no limit", "enough");
    };
    let stack = getrlimit(Resource::Stack).current.unwrap_or(STACK);
    let ranks = bytes.saturating_sub(BEFORE_RANKS) / (stack + (1 << 20));
    let grade = if ranks < 2 { Grade::Bad } else { Grade::Fair };
    let meaning = format!("about {ranks} ranks that are threads or fibers fit into one process (ulimit -v)");
    finding(grade, "address space", size(bytes), meaning)
}

fn file_size() -> Finding {
    let Some(bytes) = getrlimit(Resource::Fsize).current else {
        return finding(Grade::Good, "file size", "no limit", "enough");
    };
    let ranks = bytes / runtime::surroundings::shared_bytes_of_a_rank();
    let grade = match ranks {
        0..2 => Grade::Bad,
        2..256 => Grade::Fair,
        _ => Grade::Good,
    };
    let meaning = format!(
        "it counts for shared memory, too: enough for about {ranks} ranks that are processes (ulimit -f)"
    );
    finding(grade, "file size", size(bytes), meaning)
}

fn core_files() -> Finding {
    match getrlimit(Resource::Core).current {
        Some(0) => finding(
            Grade::Good,
            "core files",
            "none",
            "a crashed rank leaves no file (ulimit -c unlimited, to look at one)",
        ),
        Some(bytes) => finding(
            Grade::Good,
            "core files",
            format!("up to {}", size(bytes)),
            "a crashed rank may leave one",
        ),
        None => finding(
            Grade::Good,
            "core files",
            "no limit",
            "a crashed rank may leave one, as large as its memory",
        ),
    }
}

fn size(bytes: u64) -> String {
    if bytes < 10 << 20 { format!("{} KiB", bytes >> 10) } else { format!("{} MiB", bytes >> 20) }
}

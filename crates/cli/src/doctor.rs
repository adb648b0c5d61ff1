//! `corelace doctor`: what this machine offers to MPI programs, found by trying, and what each finding means.
//!
//! Invariant: nothing is changed and nothing is left behind; every probe either measures or says that it could not.

use std::fmt::Write as _;
use std::fs;
use std::io::{Read, Seek, SeekFrom};
use std::process::{Command, Stdio};

use rustix::process::Resource;

use crate::prefix;

/// How good a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Grade {
    Good,
    /// Works, but slower or with a limit.
    Fair,
    /// Something will not work.
    Bad,
}

struct Finding {
    grade: Grade,
    what: &'static str,
    value: String,
    meaning: String,
}

/// Prints the findings; the status is 1 if something will not work.
pub fn main() -> Result<u8, String> {
    let findings = [
        cores(),
        quota(),
        memory_files(),
        foreign_reads(),
        huge_pages(),
        shared_memory(),
        open_files(),
        processes(),
        membarrier(),
    ]
    .into_iter()
    .chain(compilers())
    .chain([installation()]);
    let mut bad = false;
    let mut text = String::new();
    for Finding { grade, what, value, meaning } in findings {
        let mark = match grade {
            Grade::Good => "ok  ",
            Grade::Fair => "note",
            Grade::Bad => "BAD ",
        };
        bad |= grade == Grade::Bad;
        _ = writeln!(text, "{mark}  {what:<18} {value}\n{:25}{meaning}", "");
    }
    crate::say(&text)?;
    Ok(u8::from(bad))
}

fn finding(
    grade: Grade,
    what: &'static str,
    value: impl Into<String>,
    meaning: impl Into<String>,
) -> Finding {
    Finding { grade, what, value: value.into(), meaning: meaning.into() }
}

fn cores() -> Finding {
    let usable = rustix::thread::sched_getaffinity(None).map_or(1, |set| set.count());
    let online = fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
    finding(
        Grade::Good,
        "cores",
        format!("{usable} in this cpuset (online: {})", online.trim()),
        format!("up to {usable} ranks spin while they wait; with more, waiting ranks give their core away"),
    )
}

fn quota() -> Finding {
    let usable = rustix::thread::sched_getaffinity(None).map_or(1, |set| set.count());
    let allowed = launch::usable_cores();
    if allowed < usable {
        finding(
            Grade::Fair,
            "CPU quota",
            format!("{allowed} cores' worth of time"),
            "the control group stops ranks that use more: run no more ranks than that if time matters",
        )
    } else {
        finding(Grade::Good, "CPU quota", "none below the cpuset", "ranks may use their cores all the time")
    }
}

fn memory_files() -> Finding {
    match rustix::fs::memfd_create(c"corelace-doctor", rustix::fs::MemfdFlags::CLOEXEC) {
        Ok(_) => finding(
            Grade::Good,
            "memfd",
            "works",
            "ranks share memory without names: nothing to clean up, no limit by /dev/shm",
        ),
        Err(error) => finding(
            Grade::Bad,
            "memfd",
            format!("refused: {error}"),
            "ranks that are processes cannot share memory here; threads and fibers need it too, to load programs",
        ),
    }
}

/// Reads the memory of a child process, as a rank does with its peers' for large messages.
fn foreign_reads() -> Finding {
    let what = "reading a peer";
    let result = read_child().map_err(|error| error.to_string());
    match result {
        Ok(()) => finding(Grade::Good, what, "allowed", "large messages between processes are copied once"),
        Err(error) => finding(
            Grade::Fair,
            what,
            format!("refused: {error}"),
            "large messages between processes are copied twice, through shared memory (in a container: --cap-add SYS_PTRACE)",
        ),
    }
}

/// The kernel asks the same question (may this process attach to that one?) for `/proc/PID/mem` as for
/// `process_vm_readv`; the ranks themselves probe the latter for each peer.
fn read_child() -> std::io::Result<()> {
    // It waits for its input, which ends when this function does.
    let mut child = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn()?;
    let probe = || -> std::io::Result<()> {
        let maps = fs::read_to_string(format!("/proc/{}/maps", child.id()))?;
        let readable = maps.lines().find(|line| line.contains(" r")).ok_or(std::io::ErrorKind::NotFound)?;
        let start = readable.split('-').next().and_then(|hex| u64::from_str_radix(hex, 16).ok());
        let mut memory = fs::File::open(format!("/proc/{}/mem", child.id()))?;
        memory.seek(SeekFrom::Start(start.ok_or(std::io::ErrorKind::InvalidData)?))?;
        memory.read_exact(&mut [0; 16])
    };
    let result = probe();
    drop(child.stdin.take());
    child.wait()?;
    result
}

fn huge_pages() -> Finding {
    let mode = |name: &str| {
        let text =
            fs::read_to_string(format!("/sys/kernel/mm/transparent_hugepage/{name}")).unwrap_or_default();
        text.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map(|(word, _)| word.to_string())
    };
    match mode("shmem_enabled") {
        Some(word) if word != "never" && word != "deny" => finding(
            Grade::Good,
            "huge pages",
            format!("shared memory: {word}"),
            "the ranks' shared memory may use 2 MiB pages: fewer TLB misses",
        ),
        _ => finding(
            Grade::Fair,
            "huge pages",
            format!("private: {}, shared memory: never", mode("enabled").unwrap_or_else(|| "unknown".into())),
            "large shared buffers use 4 KiB pages (echo advise > /sys/kernel/mm/transparent_hugepage/shmem_enabled)",
        ),
    }
}

fn shared_memory() -> Finding {
    match rustix::fs::statvfs("/dev/shm") {
        Ok(stat) => finding(
            Grade::Good,
            "/dev/shm",
            format!("{} MiB", stat.f_blocks * stat.f_frsize / (1 << 20)),
            "not used: its size does not matter",
        ),
        Err(error) => finding(Grade::Good, "/dev/shm", format!("{error}"), "not used: it need not exist"),
    }
}

fn open_files() -> Finding {
    let limit = rustix::process::getrlimit(Resource::Nofile);
    let most = limit.maximum.unwrap_or(1 << 20);
    // Two pipes, a control socket and a process descriptor a rank in the launcher, and their other ends while starting.
    let ranks = most.saturating_sub(64) / 6;
    let grade = if ranks >= 256 { Grade::Good } else { Grade::Fair };
    let current = limit.current.map_or("unlimited".into(), |current| current.to_string());
    finding(
        grade,
        "open files",
        format!("{current}, at most {most}"),
        format!("enough for about {ranks} ranks a launcher (ulimit -n)"),
    )
}

fn processes() -> Finding {
    let limit = rustix::process::getrlimit(Resource::Nproc);
    let pids =
        fs::read_to_string("/sys/fs/cgroup/pids.max").ok().and_then(|text| text.trim().parse::<u64>().ok());
    let most = limit.current.into_iter().chain(pids).min();
    match most {
        Some(most) if most < 512 => finding(
            Grade::Fair,
            "processes",
            format!("at most {most}"),
            "more ranks than that only with --ranks fiber",
        ),
        Some(most) => finding(Grade::Good, "processes", format!("at most {most}"), "enough"),
        None => finding(Grade::Good, "processes", "no limit", "enough"),
    }
}

fn membarrier() -> Finding {
    let supported = rustix::thread::membarrier_query();
    if supported.contains_command(rustix::thread::MembarrierCommand::PrivateExpedited) {
        finding(Grade::Good, "membarrier", "works", "threads can be woken without a fence in the fast path")
    } else {
        finding(
            Grade::Fair,
            "membarrier",
            "refused",
            "a fence is used instead: some nanoseconds a message between threads",
        )
    }
}

fn compilers() -> Vec<Finding> {
    let mut findings = Vec::new();
    for (what, variable, default, needed) in [
        ("C compiler", "CC", "cc", "mpicc and `mpirun prog.c`"),
        ("C++ compiler", "CXX", "c++", "mpicxx and `mpirun prog.cc`"),
    ] {
        let value = std::env::var(variable)
            .ok()
            .filter(|value| !value.trim().is_empty())
            .unwrap_or_else(|| default.into());
        let mut words = value.split_whitespace();
        let output = words.next().map(|program| Command::new(program).args(words).arg("--version").output());
        findings.push(match output {
            Some(Ok(output)) if output.status.success() => {
                let text = String::from_utf8_lossy(&output.stdout).into_owned();
                let version = text.lines().next().unwrap_or_default().to_string();
                finding(Grade::Good, what, format!("{value}: {version}"), format!("{needed} work"))
            }
            _ => finding(
                Grade::Fair,
                what,
                format!("{value}: not found"),
                format!("{needed} do not work; programs that are built already do (set {variable})"),
            ),
        });
    }
    findings
}

fn installation() -> Finding {
    match prefix::locate() {
        Ok(prefix) => finding(
            Grade::Good,
            "installation",
            prefix.library().display().to_string(),
            "programs built by mpicc find the MPI library here",
        ),
        Err(error) => {
            finding(Grade::Bad, "installation", "incomplete", error.lines().next().unwrap_or_default())
        }
    }
}

//! What the kernel lets ranks and launcher do, found by doing it.

use std::fs;
use std::io::{Read, Seek, SeekFrom};
use std::process::{Command, Stdio};

use rustix::process::PidfdFlags;
use rustix::thread::{MembarrierCommand, membarrier_query};

use super::{Finding, Grade, finding};
use cli::surroundings;

/// The launcher waits for processes by descriptors that came with this version.
const OLDEST: (u32, u32) = (5, 4);

pub fn findings() -> Vec<Finding> {
    vec![
        version(),
        process_descriptors(),
        memory_files(),
        executable_memory(),
        proc_mounted(),
        foreign_reads(),
        yama(),
        membarrier("membarrier, processes", MembarrierCommand::GlobalExpedited, "processes"),
        membarrier("membarrier, threads", MembarrierCommand::PrivateExpedited, "threads"),
    ]
}

fn version() -> Finding {
    let name = rustix::system::uname();
    let release = name.release().to_string_lossy().into_owned();
    let (major, minor) = OLDEST;
    match parsed(&release) {
        Some(found) if found < OLDEST => finding(
            Grade::Bad,
            "kernel",
            release,
            format!("too old: the launcher needs Linux {major}.{minor} or newer"),
        ),
        _ => finding(Grade::Good, "kernel", release, format!("Linux {major}.{minor} or newer is needed")),
    }
}

/// Major and minor number of a kernel's release.
fn parsed(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

fn process_descriptors() -> Finding {
    match rustix::process::pidfd_open(rustix::process::getpid(), PidfdFlags::empty()) {
        Ok(_) => finding(Grade::Good, "pidfd", "works", "the launcher sees at once how a rank ends"),
        Err(error) => finding(
            Grade::Bad,
            "pidfd",
            format!("refused: {error}"),
            "the launcher cannot start jobs: it needs Linux 5.4, and a container's filter must let pidfd_open pass",
        ),
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

fn executable_memory() -> Finding {
    let level = fs::read_to_string("/proc/sys/vm/memfd_noexec").unwrap_or_default();
    match level.trim() {
        level @ ("1" | "2") => finding(
            Grade::Fair,
            "memfd_noexec",
            level,
            "files in memory are not executable by default: `mpirun prog.c` may need a temporary directory that is not mounted noexec",
        ),
        _ => finding(Grade::Good, "memfd_noexec", "off", "programs may be executed from memory"),
    }
}

fn proc_mounted() -> Finding {
    match surroundings::for_hosts() {
        Ok(()) => finding(Grade::Good, "/proc", "mounted", "programs can be loaded as threads and fibers"),
        Err(meaning) => finding(Grade::Fair, "/proc", "not there", meaning),
    }
}

/// Reads the memory of a child process, as a rank does with its peers' for large messages.
fn foreign_reads() -> Finding {
    let what = "reading a peer";
    let copied_twice = "large messages between processes are copied twice, through shared memory";
    if !runtime::surroundings::attach_allowed() {
        let meaning = format!(
            "{copied_twice} (a container's filter must let process_vm_readv and process_vm_writev pass)"
        );
        return finding(Grade::Fair, what, "refused: process_vm_readv, process_vm_writev", meaning);
    }
    match read_child() {
        Ok(()) => finding(Grade::Good, what, "allowed", "large messages between processes are copied once"),
        Err(error) => finding(
            Grade::Fair,
            what,
            format!("refused: {error}"),
            format!("{copied_twice} (in a container: --cap-add SYS_PTRACE)"),
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

fn yama() -> Finding {
    let scope = fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").unwrap_or_default();
    match scope.trim() {
        "2" | "3" => finding(
            Grade::Fair,
            "ptrace scope",
            scope.trim(),
            "ranks cannot allow each other to copy: large messages between processes are copied twice (sysctl kernel.yama.ptrace_scope=1)",
        ),
        "1" => finding(Grade::Good, "ptrace scope", "1", "ranks allow each other to copy"),
        _ => finding(
            Grade::Good,
            "ptrace scope",
            "unrestricted",
            "processes of one user may copy between each other",
        ),
    }
}

/// The command that ranks of this kind use to go to sleep without a fence in the others' fast path.
fn membarrier(what: &'static str, command: MembarrierCommand, ranks: &str) -> Finding {
    if membarrier_query().contains_command(command) {
        finding(Grade::Good, what, "works", format!("ranks that are {ranks} send without a fence"))
    } else {
        let meaning = format!("a fence is used instead: some nanoseconds a message between {ranks}");
        finding(Grade::Fair, what, "refused", meaning)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_of_distributions_have_a_major_and_a_minor_number() {
        assert_eq!(parsed("6.18.1-arch1"), Some((6, 18)));
        assert_eq!(parsed("5.4.0-150-generic"), Some((5, 4)));
        assert_eq!(parsed("4.19+"), Some((4, 19)));
        assert_eq!(parsed("unknown"), None);
    }
}

//! Poor surroundings: limits, missing file systems, filters of containers. A job runs, or one sentence says what is missing;
//! there is no panic, no unexplained signal and no hang.
//!
//! What needs privileges (mounts, the sysctl of a process namespace) is done as root or in a user namespace, and fails saying
//! so where neither is allowed; nothing outside of the namespace changes.

use std::path::PathBuf;
use std::process::Command;
use std::sync::LazyLock;

use crate::support::job::{Ended, Job};
use crate::support::{MODES, PATIENCE, compiled, mpirun, root, scratch, started_by};

/// The program that `corelace doctor` runs: a ring of short messages, a large message each way, a reduction, a barrier.
fn rounds() -> PathBuf {
    compiled(&root().join("crates/lab/src/doctor/rounds.c"))
}

/// The same, started by a command that makes its surroundings and ends in `env`.
fn within(surroundings: Command, mode: &str) -> Job {
    started_by(surroundings, "mpirun", ["--ranks", mode, "-n", "4"]).argument(rounds())
}

/// A shell that does something first.
pub fn shell(first: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("{first}; exec \"$@\""), "sh", "env"]);
    command
}

/// Namespaces in which this test may mount; `more` are further words for unshare.
pub fn unshared(more: &[&str], first: &str) -> Command {
    let mut command = Command::new("unshare");
    if !rustix::process::geteuid().is_root() {
        command.args(["--user", "--map-root-user"]);
    }
    let guarded = format!(
        "{{ {first}; }} || {{ echo cannot make the surroundings: needs root or a user namespace >&2; exit 99; }}; exec \"$@\""
    );
    command.args(["--mount", "--kill-child", "--fork"]).args(more).args(["sh", "-c", &guarded, "sh", "env"]);
    command
}

/// A command whose system calls of these names fail.
pub fn without(calls: &[&str]) -> Command {
    static PROGRAM: LazyLock<PathBuf> = LazyLock::new(|| {
        let product = scratch("program").join("without");
        let mut compiler = Command::new("cc");
        compiler
            .args(["-O1", "-Wall", "-Wextra"])
            .arg(root().join("tests/c/without.c"))
            .arg("-o")
            .arg(&product);
        Job::of(compiler).limit(PATIENCE).run().expect_success();
        product
    });
    let mut command = Command::new(&*PROGRAM);
    command.args(calls).args(["--", "env"]);
    command
}

/// The job has run, and had nothing to say but its result.
#[track_caller]
fn expect_run(ended: Ended) {
    let ended = ended.expect_success().expect_output("no errors\n");
    assert_eq!(ended.stderr, "", "{ended}");
}

/// The job has not started, and one line says why.
#[track_caller]
fn expect_sentence(ended: Ended, parts: &[&str]) {
    assert_ne!(ended.code(), 0, "{ended}");
    assert_ne!(ended.code(), 99, "{ended}");
    assert!(ended.stderr.starts_with("mpirun: ") || ended.stderr.starts_with("corelace: "), "{ended}");
    assert_eq!(ended.stderr.lines().count(), 1, "one sentence: {ended}");
    for word in ["panicked", "backtrace", "signal"] {
        assert!(!ended.stderr.contains(word), "{word}: {ended}");
    }
    ended.expect_said(parts);
}

/// Either of the two.
#[track_caller]
fn expect_run_or_sentence(ended: Ended, parts: &[&str]) {
    if ended.code() == 0 { expect_run(ended) } else { expect_sentence(ended, parts) }
}

#[test]
fn a_limit_of_file_sizes_is_met_or_named() {
    for mode in MODES {
        for blocks in ["0", "8", "512", "100000"] {
            expect_run_or_sentence(within(shell(&format!("ulimit -f {blocks}")), mode).run(), &["ulimit -f"]);
        }
        expect_run(within(shell("ulimit -f 1000000"), mode).run());
    }
}

#[test]
fn a_limit_of_address_space_is_met_or_named() {
    for mode in MODES {
        for kibibytes in ["20000", "40000", "60000", "90000", "200000"] {
            let ended = within(shell(&format!("ulimit -v {kibibytes}")), mode).run();
            // The ranks may just fit, and their program's buffers not: it says so itself.
            if !ended.stderr.contains("no memory for two buffers") {
                expect_run_or_sentence(ended, &["ulimit -v"]);
            }
        }
        expect_run(within(shell("ulimit -v 2000000"), mode).run());
    }
}

#[test]
fn a_limit_of_open_files_is_met_or_named() {
    for mode in MODES {
        for files in ["8", "16"] {
            let job = within(shell(&format!("ulimit -n {files}")), mode);
            expect_sentence(job.run(), &["Too many open files", &format!("may have {files}"), "ulimit -n"]);
        }
        expect_run(within(shell("ulimit -n 64"), mode).run());
    }
}

#[test]
fn a_limit_of_processes_and_threads_is_met_or_named() {
    // The limit counts what the user has already, and does not count for root: so root takes on a user that has nothing.
    let is_root = rustix::process::geteuid().is_root();
    let limited = |most: u32| {
        let mut command = Command::new(if is_root { "setpriv" } else { "env" });
        if is_root {
            command.args(["--reuid", "61347", "--regid", "61347", "--clear-groups"]);
        }
        command.args(["prlimit", &format!("--nproc={most}"), "env"]);
        command
    };
    let named = ["Resource temporarily unavailable", "ulimit -u", "pids.max"];
    for mode in MODES {
        expect_sentence(within(limited(1), mode).run(), &named);
        if is_root {
            for most in 2..8 {
                expect_run_or_sentence(within(limited(most), mode).run(), &named);
            }
            expect_run(within(limited(64), mode).run());
        }
    }
}

#[test]
fn a_soft_limit_of_open_files_is_raised() {
    for mode in MODES {
        expect_run(within(shell("ulimit -S -n 16"), mode).run());
    }
}

#[test]
fn small_and_unlimited_stacks_will_do() {
    for mode in MODES {
        for kibibytes in ["128", "1024", "unlimited"] {
            expect_run(within(shell(&format!("ulimit -s {kibibytes}")), mode).run());
        }
    }
}

#[test]
fn without_proc_processes_run_and_hosts_say_that_they_need_it() {
    let hidden = || unshared(&[], "mount -t tmpfs none /proc");
    expect_run(within(hidden(), "process").run());
    for mode in ["thread", "fiber"] {
        expect_sentence(within(hidden(), mode).run(), &["need /proc", "--ranks process"]);
    }
}

#[test]
fn memory_files_that_may_not_be_executed_are_no_obstacle() {
    // The value belongs to the process namespace: what the machine has must be untouched.
    let machine = || std::fs::read_to_string("/proc/sys/vm/memfd_noexec").expect("Linux 6.3 or newer");
    let before = machine();
    for mode in MODES {
        for level in ["1", "2"] {
            let first = format!("echo {level} > /proc/sys/vm/memfd_noexec");
            let namespace = || unshared(&["--pid", "--mount-proc"], &first);
            expect_run(within(namespace(), mode).run());
            let source = root().join("crates/lab/src/doctor/rounds.c");
            let job = started_by(namespace(), "mpirun", ["--ranks", mode, "-n", "2"]).argument(source);
            expect_run(job.run());
        }
    }
    assert_eq!(machine(), before);
}

#[test]
fn filters_of_what_is_only_faster_are_no_obstacle() {
    let filters: [&[&str]; 6] = [
        &["process_vm_readv", "process_vm_writev"],
        &["process_vm_readv=ENOSYS", "process_vm_writev=ENOSYS"],
        &["process_vm_readv"],
        &["process_vm_writev"],
        &["membarrier"],
        &["sched_setaffinity", "sched_getaffinity"],
    ];
    for mode in MODES {
        for filter in filters {
            expect_run(within(without(filter), mode).run());
        }
    }
}

#[test]
fn filters_of_what_is_needed_are_named() {
    for mode in MODES {
        for (filter, call) in [("pidfd_open=ENOSYS", "pidfd_open"), ("memfd_create=ENOSYS", "memfd")] {
            expect_sentence(within(without(&[filter]), mode).run(), &[call, "Linux 5.4", "filter"]);
        }
        expect_sentence(within(without(&["memfd_create"]), mode).run(), &["memfd", "filter"]);
    }
}

#[test]
fn temporary_and_shared_memory_file_systems_are_not_needed() {
    for mode in MODES {
        let read_only = "mount -t tmpfs -o ro none \"$TMPDIR\" && mount -t tmpfs -o ro none /dev/shm";
        expect_run(within(unshared(&[], read_only), mode).run());
        expect_run(within(shell("TMPDIR=/nonexistent"), mode).run());
    }
}

#[test]
fn an_empty_environment_is_enough() {
    for mode in MODES {
        let mut empty = Command::new("env");
        empty.arg("-i");
        expect_run(within(empty, mode).run());
        expect_run(within(shell("unset HOME"), mode).run());
    }
}

#[test]
fn one_processor_is_enough() {
    for mode in MODES {
        let mut one = Command::new("taskset");
        one.args(["-c", "0", "env"]);
        expect_run(within(one, mode).run());
    }
}

#[test]
fn closed_standard_streams_are_no_obstacle() {
    for mode in MODES {
        expect_run(within(shell("exec <&-"), mode).run());
        expect_run(within(shell("exec 2>&-"), mode).run());
        for closed in ["exec >&-", "exec >&- 2>&-", "exec <&- >&- 2>&-"] {
            let ended = within(shell(closed), mode).run().expect_success();
            assert_eq!((ended.stdout.as_str(), ended.stderr.as_str()), ("", ""), "{mode}, {closed}");
        }
    }
}

#[test]
fn a_working_directory_that_is_gone_is_no_obstacle() {
    for mode in MODES {
        let gone = scratch("gone");
        let first = format!("cd '{0}' && rmdir '{0}'", gone.display());
        expect_run(within(shell(&first), mode).run());
        assert!(!gone.exists());
    }
}

#[test]
fn a_trace_that_cannot_be_written_is_told_before_the_job_starts() {
    for mode in MODES {
        let job = mpirun(["--trace", "/nonexistent/of.trace", "--ranks", mode, "-n", "2"]).argument(rounds());
        let ended = job.run();
        assert_eq!(ended.stdout, "", "nothing ran: {ended}");
        expect_sentence(ended, &["/nonexistent/of.trace"]);
    }
}

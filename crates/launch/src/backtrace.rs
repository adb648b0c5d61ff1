//! Where a rank crashed, and who called whom there: from the copy of its stack that a rank which shares its process sent in its last moment, or
//! from the core file that the system has written of a process.

use std::path::Path;

use pmi::{Crash, StackCopy, copies};
use symbols::{Core, Moment};

use crate::job::Context;

/// Lines about a crash, innermost place first. Places are written as the launcher explains them, `[at PROGRAM+0xOFFSET]`.
pub(crate) fn lines(program: &Path, crash: &Crash, stack: Option<&StackCopy>) -> Vec<String> {
    let mut copy = program.as_os_str().to_owned();
    copy.push(copies::OF_A_COPY);
    let program = Path::new(&copy);
    let callers = stack.map_or_else(Vec::new, |copy| callers(program, copy));
    in_words(program, crash.rank, crash.instruction, &callers)
}

/// The same of a process, if it has left a plain core file in its working directory.
pub(crate) fn of_core(context: &Context, rank: u32, pid: u32) -> Vec<String> {
    let find = || {
        let program = std::path::absolute(&context.program).ok()?;
        let room = context.directory.clone().or_else(|| std::env::current_dir().ok())?;
        let names = core_names(&std::fs::read_to_string("/proc/sys/kernel/core_pattern").ok()?, pid);
        // As the system calls what it maps: without links, and what is only in memory by its name there.
        let mapped = std::fs::canonicalize(&program).or_else(|_| std::fs::read_link(&program)).ok()?;
        let mut cores = names.iter().filter_map(|name| Core::read(&room.join(name), pid, &mapped));
        let core = cores.next()?;
        let callers = symbols::callers(&program, &core.moment());
        Some(in_words(&program, rank, core.instruction().unwrap_or(0), &callers))
    };
    find().unwrap_or_default()
}

/// What a core file of a process may be called by this pattern of the system's; none if it goes elsewhere.
fn core_names(pattern: &str, pid: u32) -> Vec<String> {
    let pattern = pattern.trim();
    let plain = pattern.replace("%p", "");
    if pattern.is_empty() || plain.contains(['|', '/', '%']) {
        return Vec::new();
    }
    let name = pattern.replace("%p", &pid.to_string());
    // The system may add the number by itself (kernel.core_uses_pid).
    vec![format!("{name}.{pid}"), name]
}

fn in_words(program: &Path, rank: u32, instruction: u64, callers: &[u64]) -> Vec<String> {
    let place = |returns_to: u64| format!("[at {}+{returns_to:#x}]", program.display());
    let mut lines = match (instruction, callers.first()) {
        (0, None) => return Vec::new(),
        (0, Some(_)) => vec![format!("  rank {rank} was in a library")],
        // Places are return addresses, which lie behind the instruction that they are about.
        (instruction, _) => vec![format!("  rank {rank} was in {}", place(instruction + 1))],
    };
    let mut left = callers.len();
    for same in callers.chunk_by(|one, other| one == other) {
        left -= same.len();
        let times = match same.len() {
            1 => String::new(),
            // The copy may end before the recursion does.
            many if left == 0 => format!(", at least {many} times"),
            many => format!(", {many} times"),
        };
        lines.push(format!("    called from {}{times}", place(same[0])));
    }
    lines
}

fn callers(program: &Path, copy: &StackCopy) -> Vec<u64> {
    let StackCopy { instruction, stack, frame, code, begin, ref bytes, .. } = *copy;
    symbols::callers(program, &Moment { instruction, stack, frame, bias: code, begin, bytes })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn core_files_are_looked_for_only_where_they_are_plain_files() {
        assert_eq!(core_names("core\n", 7), ["core.7", "core"]);
        assert_eq!(core_names("core.%p\n", 7), ["core.7.7", "core.7"]);
        for elsewhere in ["|/usr/bin/collect %p", "/var/cores/%e", "core.%e.%p", ""] {
            assert_eq!(core_names(elsewhere, 7), [""; 0], "{elsewhere}");
        }
    }

    #[test]
    fn without_a_stack_the_place_of_the_crash_is_all_that_is_told() {
        let crash = |instruction| Crash { rank: 2, signal: 11, overflowed: 0, address: 8, instruction };
        let program = Path::new("/no/such/heat");
        assert_eq!(lines(program, &crash(0x1f), None), ["  rank 2 was in [at /no/such/heat#copy+0x20]"]);
        assert_eq!(lines(program, &crash(0), None), [""; 0]);
        let copy =
            StackCopy { rank: 2, instruction: 1, stack: 8, frame: 8, code: 0, begin: 8, bytes: vec![1; 99] };
        assert_eq!(lines(program, &crash(0), Some(&copy)), [""; 0]);
    }
}

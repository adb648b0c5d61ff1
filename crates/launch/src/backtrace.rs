//! Where a rank that shares its process crashed, and who called whom there: from the copy of its stack that it sent in its last moment.

use std::path::Path;

use pmi::{Crash, StackCopy};
use symbols::Moment;

/// Lines about a crash, innermost place first. Places are written as the launcher explains them, `[at PROGRAM+0xOFFSET]`.
pub(crate) fn lines(program: &Path, crash: &Crash, stack: Option<&StackCopy>) -> Vec<String> {
    let rank = crash.rank;
    let place = |returns_to: u64| format!("[at {}+{returns_to:#x}]", program.display());
    let callers = stack.map_or_else(Vec::new, |copy| callers(program, copy));
    let mut lines = match (crash.instruction, callers.first()) {
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
    fn without_a_stack_the_place_of_the_crash_is_all_that_is_told() {
        let crash = |instruction| Crash { rank: 2, signal: 11, overflowed: 0, address: 8, instruction };
        let program = Path::new("/no/such/heat");
        assert_eq!(lines(program, &crash(0x1f), None), ["  rank 2 was in [at /no/such/heat+0x20]"]);
        assert_eq!(lines(program, &crash(0), None), [""; 0]);
        let copy =
            StackCopy { rank: 2, instruction: 1, stack: 8, frame: 8, code: 0, begin: 8, bytes: vec![1; 99] };
        assert_eq!(lines(program, &crash(0), Some(&copy)), [""; 0]);
    }
}

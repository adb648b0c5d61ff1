//! The last moment of a process, from the file that the system wrote of it (x86-64).
//!
//! Invariant: any file may be asked about. Only its tables and the innermost part of the stack are read, however long it is.

use std::path::Path;

use crate::Moment;
use crate::elf::{Elf, FIXED, LOADED, NOTES, notes, number};

/// Kinds of notes in core files: a thread, its process, the files that it has mapped.
const THREAD: u64 = 1;
const OF_PROCESS: u64 = 3;
const MAPPED: u64 = 0x4649_4c45;
/// Bytes of the stack that are read.
const STACK_BYTES: u64 = 64 << 10;
/// Where these lie in the system's descriptions of a process and of its registers.
const PROCESS: usize = 24;
const REGISTERS: usize = 112;
const FRAME: usize = 4;
const INSTRUCTION: usize = 16;
const STACK: usize = 19;

/// What a core file says of the thread that crashed.
#[derive(Debug, Default)]
pub struct Core {
    process: u32,
    instruction: u64,
    stack: u64,
    frame: u64,
    /// Where the program lies, and where it ends.
    program: (u64, u64),
    /// What was added to its addresses.
    bias: u64,
    bytes: Vec<u8>,
}

impl Core {
    /// Reads the core file of the process `process`, which ran `program`; `None` if it is not that.
    pub fn read(path: &Path, process: u32, program: &Path) -> Option<Core> {
        let mut core = Core::parse(&Elf::open(path)?, program)?;
        let fixed = Elf::open(&crate::readable(program))?.kind == FIXED;
        core.bias = if fixed { 0 } else { core.program.0 };
        (core.process == process).then_some(core)
    }

    fn parse(elf: &Elf, program: &Path) -> Option<Core> {
        let mut core = Core::default();
        for segment in elf.segments.iter().filter(|segment| segment.kind == NOTES) {
            let Some(bytes) = elf.read(segment.begin, segment.length) else { continue };
            for (kind, description) in notes(&bytes) {
                match kind {
                    // The thread that crashed comes first.
                    THREAD if core.stack == 0 => {
                        let register = |number: usize| word(description, REGISTERS + 8 * number);
                        core.instruction = register(INSTRUCTION)?;
                        (core.stack, core.frame) = (register(STACK)?, register(FRAME)?);
                    }
                    OF_PROCESS => core.process = word(description, PROCESS)? as u32,
                    MAPPED => core.program = extent(description, program)?,
                    _ => {}
                }
            }
        }
        for segment in elf.segments.iter().filter(|segment| segment.kind == LOADED) {
            let inside = core.stack.checked_sub(segment.address);
            let Some(inside) = inside.filter(|inside| *inside < segment.length) else { continue };
            let at = segment.begin.checked_add(inside)?;
            core.bytes = elf.read(at, STACK_BYTES.min(segment.length - inside))?;
        }
        Some(core)
    }

    /// The moment of the crash.
    pub fn moment(&self) -> Moment<'_> {
        let Core { instruction, stack, frame, .. } = *self;
        Moment { instruction, stack, frame, bias: self.bias, begin: stack, bytes: &self.bytes }
    }

    /// Where the crash was, as the file of the program counts; `None` if that was in a library.
    pub fn instruction(&self) -> Option<u64> {
        let (start, end) = self.program;
        (start..end).contains(&self.instruction).then(|| self.instruction - self.bias)
    }
}

/// Where a file lies, by the list of all that are mapped.
fn extent(list: &[u8], file: &Path) -> Option<(u64, u64)> {
    let count = usize::try_from(word(list, 0)?).ok()?;
    let names = list.get(count.checked_mul(24)?.checked_add(16)?..)?.split(|byte| *byte == 0);
    let mut found = None;
    for (index, name) in names.take(count).enumerate() {
        if name == file.as_os_str().as_encoded_bytes() {
            let (start, end) = (word(list, 16 + 24 * index)?, word(list, 24 + 24 * index)?);
            found = Some((found.map_or(start, |(first, _)| first), end));
        }
    }
    found
}

fn word(bytes: &[u8], at: usize) -> Option<u64> {
    number(bytes, at, 8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_core_file_is_refused() {
        for path in ["/no/such/core", "/etc/hostname", "/proc/self/exe", "/dev/null"] {
            assert!(Core::read(Path::new(path), 1, Path::new("/bin/true")).is_none(), "{path}");
        }
        assert_eq!(extent(&[0xff; 64], Path::new("/bin/true")), None);
    }
}

//! The last moment of a process, from the file that the system wrote of it (x86-64).
//!
//! Invariant: any file may be asked about. Only its tables and the innermost part of the stack are read, however long it is.

use std::fs::File;
use std::path::Path;

use object::elf::{ET_EXEC, FileHeader64, NT_FILE, NT_PRPSINFO, NT_PRSTATUS, PT_LOAD};
use object::read::ReadCache;
use object::read::elf::{FileHeader, ProgramHeader};
use object::{LittleEndian, ReadRef};

use crate::Moment;

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
        let cache = ReadCache::new(File::open(path).ok()?);
        let mut core = Core::parse(&cache, program)?;
        core.bias = if is_fixed(program)? { 0 } else { core.program.0 };
        (core.process == process).then_some(core)
    }

    fn parse<'d, R: ReadRef<'d>>(data: R, program: &Path) -> Option<Core> {
        let header = FileHeader64::<LittleEndian>::parse(data).ok()?;
        let endian = header.endian().ok()?;
        let segments = header.program_headers(endian, data).ok()?;
        let mut core = Core::default();
        for segment in segments {
            let Some(mut notes) = segment.notes(endian, data).ok().flatten() else { continue };
            while let Ok(Some(note)) = notes.next() {
                let description = note.desc();
                match note.n_type(endian) {
                    // The thread that crashed comes first.
                    NT_PRSTATUS if core.stack == 0 => {
                        let register = |number: usize| word(description, REGISTERS + 8 * number);
                        core.instruction = register(INSTRUCTION)?;
                        (core.stack, core.frame) = (register(STACK)?, register(FRAME)?);
                    }
                    NT_PRPSINFO => core.process = word(description, PROCESS)? as u32,
                    NT_FILE => core.program = extent(description, program)?,
                    _ => {}
                }
            }
        }
        for segment in segments.iter().filter(|segment| segment.p_type(endian) == PT_LOAD) {
            let (start, bytes) = (segment.p_vaddr(endian), segment.p_filesz(endian));
            let Some(inside) = core.stack.checked_sub(start).filter(|inside| *inside < bytes) else {
                continue;
            };
            let at = segment.p_offset(endian).checked_add(inside)?;
            core.bytes = data.read_bytes_at(at, STACK_BYTES.min(bytes - inside)).ok()?.to_vec();
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

/// Whether a program runs at the addresses that its file names.
fn is_fixed(program: &Path) -> Option<bool> {
    let cache = ReadCache::new(File::open(crate::readable(program)).ok()?);
    let header = FileHeader64::<LittleEndian>::parse(&cache).ok()?;
    Some(header.e_type(LittleEndian) == ET_EXEC)
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
    Some(u64::from_le_bytes(bytes.get(at..at.checked_add(8)?)?.try_into().ok()?))
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

//! Who called whom when a rank crashed: its stack, as its process copied it in its last moment, read with the tables of its program (`.eh_frame`,
//! which programs have without `-g`).
//!
//! Only frames of the program are followed; what libraries did above them is not known here. Invariant: any bytes may be a stack, and any file a
//! program; what makes no sense ends the list.

use std::ops::Range;
use std::path::Path;

use gimli::{
    BaseAddresses, CfaRule, EhFrame, EhFrameHdr, LittleEndian, Register, RegisterRule, UnwindContext,
    UnwindSection,
};

use crate::elf::{Elf, X86_64, number};

/// The most callers that are named.
const CALLERS: usize = 16;
/// How many words of a library's own frames are looked through for the call that led there.
const LIBRARY_WORDS: u64 = 256;
/// The numbers of two registers of x86-64, as tables count them.
const FRAME_POINTER: Register = Register(6);
const STACK_POINTER: Register = Register(7);

/// The last moment of a rank. Addresses are those of its process.
#[derive(Clone, Copy, Debug)]
pub struct Moment<'a> {
    /// Where it was.
    pub instruction: u64,
    /// Its stack pointer.
    pub stack: u64,
    /// The register that some functions keep their frame in.
    pub frame: u64,
    /// What its loader added to the addresses of its program.
    pub bias: u64,
    /// Where `bytes` begin.
    pub begin: u64,
    /// What was on the stack.
    pub bytes: &'a [u8],
}

/// What is read of a program: its code, what it says of its frames, and where `main` is.
struct Program {
    texts: Vec<(u64, Vec<u8>)>,
    frames: Vec<u8>,
    frames_at: u64,
    /// For searching the frames; empty if there is none.
    index: Vec<u8>,
    bases: BaseAddresses,
    main: Range<u64>,
}

/// The return addresses into the program, as its file counts them, innermost first.
pub fn callers(program: &Path, moment: &Moment<'_>) -> Vec<u64> {
    let Some(program) = super::file_of(program).as_ref().and_then(Program::read) else { return Vec::new() };
    let start = moment.instruction.wrapping_sub(moment.bias);
    if program.is_code(start) {
        return walk(&program, moment, (moment.stack, start));
    }
    // A library may have left any words on the stack, return addresses of calls long over among them: of the ways back that they begin,
    // the longest is the one that was taken.
    let mut longest = Vec::new();
    for (at, caller) in calls(&program, moment) {
        let mut way = vec![caller];
        if !program.is_main(caller) {
            way.extend(walk(&program, moment, (at + 8, caller - 1)));
        }
        if way.len() > longest.len() {
            longest = way;
        }
    }
    longest
}

/// The callers of the function that was at `probe` with this stack pointer, up to `main` or where the way back is lost.
fn walk(program: &Program, moment: &Moment<'_>, from: (u64, u64)) -> Vec<u64> {
    let mut callers = Vec::new();
    _ = walk_on(program, moment, from, &mut callers);
    callers
}

/// The same; `None` where the way back is lost.
fn walk_on(
    program: &Program,
    moment: &Moment<'_>,
    (mut stack, mut probe): (u64, u64),
    callers: &mut Vec<u64>,
) -> Option<()> {
    let frames = EhFrame::new(&program.frames, LittleEndian);
    let bases = &program.bases;
    let index = EhFrameHdr::new(&program.index, LittleEndian).parse(bases, 8).ok();
    let mut context = UnwindContext::new();
    let mut frame = moment.frame;
    while callers.len() < CALLERS {
        let cie = EhFrame::cie_from_offset;
        // By the table that is made for searching, where there is one: programs may have a million functions.
        let row = match index.as_ref().and_then(|index| index.table()) {
            Some(table) => {
                let place = table.lookup(probe, bases).ok()?.direct().ok()?.checked_sub(program.frames_at)?;
                let frame = frames.fde_from_offset(bases, usize::try_from(place).ok()?.into(), cie).ok()?;
                frame.unwind_info_for_address(&frames, bases, &mut context, probe).ok()?
            }
            None => frames.unwind_info_for_address(bases, &mut context, probe, cie).ok()?,
        };
        let end = match row.cfa() {
            CfaRule::RegisterAndOffset { register, offset } if *register == STACK_POINTER => {
                stack.wrapping_add_signed(*offset)
            }
            CfaRule::RegisterAndOffset { register, offset } if *register == FRAME_POINTER => {
                let end = frame.wrapping_add_signed(*offset);
                if returns(program, moment, end) { end } else { next_record(program, moment, stack)? }
            }
            _ => return None,
        };
        // Frames lie one above the other.
        if end <= stack {
            return None;
        }
        if let Some(RegisterRule::Offset(offset)) = row.register(FRAME_POINTER) {
            frame = moment.word(end.wrapping_add_signed(offset))?;
        }
        let caller = moment.word(end.wrapping_sub(8))?.wrapping_sub(moment.bias);
        if !program.is_code(caller) {
            return None;
        }
        callers.push(caller);
        if program.is_main(caller) {
            break;
        }
        (stack, probe) = (end, caller.checked_sub(1)?);
    }
    Some(())
}

/// Words of the stack that are return addresses of the program's, with where they are.
fn calls(program: &Program, moment: &Moment<'_>) -> Vec<(u64, u64)> {
    let words = (0..LIBRARY_WORDS).map(|index| moment.stack.wrapping_add(8 * index));
    let words = words.map_while(|at| Some((at, moment.word(at)?.wrapping_sub(moment.bias))));
    words.filter(|(_, address)| program.follows_call(*address)).collect()
}

/// Whether a frame that ends here returns to the program.
fn returns(program: &Program, moment: &Moment<'_>, end: u64) -> bool {
    let word = moment.word(end.wrapping_sub(8));
    word.is_some_and(|word| program.follows_call(word.wrapping_sub(moment.bias)))
}

/// Where the frame ends that has this stack pointer, of a function that keeps its frame in a register which a library has used for something
/// else since: such a frame ends with where the one above it ends, and the return address.
fn next_record(program: &Program, moment: &Moment<'_>, stack: u64) -> Option<u64> {
    let mut ends = (2..LIBRARY_WORDS).map(|words| stack.wrapping_add(8 * words));
    ends.find(|end| {
        moment.word(end.wrapping_sub(16)).is_some_and(|above| above >= *end) && returns(program, moment, *end)
    })
}

impl Program {
    /// `None` if it is for other processors than those whose stacks are understood, or has no code.
    fn read(elf: &Elf) -> Option<Program> {
        if elf.machine != X86_64 {
            return None;
        }
        let texts = elf.sections.iter().filter(|section| section.is_code());
        let texts = texts.filter_map(|section| Some((section.address, elf.contents(section)?))).collect();
        let frames = elf.section(".eh_frame")?;
        let index = elf.section(".eh_frame_hdr");
        let bases = BaseAddresses::default()
            .set_eh_frame(frames.address)
            .set_eh_frame_hdr(index.map_or(0, |index| index.address))
            .set_text(elf.section(".text")?.address);
        let (frames, frames_at) = (elf.contents(frames)?, frames.address);
        let index = index.and_then(|index| elf.contents(index)).unwrap_or_default();
        let symbols = elf.symbols();
        let main = symbols.iter().flat_map(|table| table.iter()).find(|symbol| symbol.name == "main");
        let main = main.map_or(0..0, |main| main.address..main.address.saturating_add(main.size));
        Some(Program { texts, frames, frames_at, index, bases, main })
    }

    /// Whether a return address is in `main`, above which nothing is the program's.
    fn is_main(&self, address: u64) -> bool {
        address.checked_sub(1).is_some_and(|call| self.main.contains(&call))
    }

    /// Whether the address is in its code.
    fn is_code(&self, address: u64) -> bool {
        self.code(address, 1).is_some()
    }

    /// Whether there is an instruction before the address that calls.
    fn follows_call(&self, address: u64) -> bool {
        let Some(code) = address.checked_sub(6).and_then(|start| self.code(start, 6)) else { return false };
        // Direct; by a word of memory that is given by its distance; by a register.
        code[1] == 0xe8 || code[..2] == [0xff, 0x15] || (code[4] == 0xff && code[5] & 0xf8 == 0xd0)
    }

    fn code(&self, address: u64, length: usize) -> Option<&[u8]> {
        self.texts.iter().find_map(|(begin, bytes)| {
            let at = usize::try_from(address.checked_sub(*begin)?).ok()?;
            bytes.get(at..at.checked_add(length)?)
        })
    }
}

impl Moment<'_> {
    /// The word at an address of the stack, if it was copied.
    fn word(&self, address: u64) -> Option<u64> {
        let at = usize::try_from(address.checked_sub(self.begin)?).ok()?;
        number(self.bytes, at, 8)
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn nonsense_has_no_callers() {
        let moment =
            Moment { instruction: u64::MAX, stack: 8, frame: 0, bias: 3, begin: 8, bytes: &[0xff; 64] };
        let itself = std::env::current_exe().unwrap();
        assert_eq!(callers(&itself, &moment), [0; 0]);
        assert_eq!(callers(Path::new("/etc/hostname"), &moment), [0; 0]);
        assert_eq!(callers(Path::new("/no/such/file"), &Moment { begin: u64::MAX, ..moment }), [0; 0]);
    }

    /// A program that writes where it is, its registers and its stack, three functions deep.
    const WALKED: &str = r#"
#include <stdint.h>
#include <unistd.h>
extern const char __executable_start;
__attribute__((noinline)) int tell(int depth) {
    uint64_t moment[4];
    asm volatile("lea (%%rip), %0\n mov %%rsp, %1\n mov %%rbp, %2"
        : "=&r"(moment[0]), "=&r"(moment[1]), "=&r"(moment[2]));
    moment[3] = FIXED ? 0 : (uint64_t)&__executable_start;
    write(1, moment, sizeof moment);
    return write(1, (char *)moment[1], 2048) + depth;
}
__attribute__((noinline)) int middle(int depth) { return tell(depth + 1) + 1; }
__attribute__((noinline)) int outer(int depth) { return middle(depth + 1) + 1; }
int main(void) { char room[4096]; room[0] = 1; return outer(*(volatile char *)room) == 7; }
"#;

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn callers_of_a_running_program_are_found_up_to_main() {
        let room = tempfile::tempdir().unwrap();
        let [source, module] = ["walked.c", "walked"].map(|name| room.path().join(name));
        std::fs::write(&source, WALKED).unwrap();
        for flags in [
            ["-DFIXED=0", "-pie", "-O1", "-fomit-frame-pointer"],
            ["-DFIXED=1", "-no-pie", "-O1", "-fno-omit-frame-pointer"],
            ["-DFIXED=0", "-pie", "-O0", "-Wl,--no-eh-frame-hdr"],
        ] {
            let build = Command::new("cc").args(flags).args([&source]).arg("-o").arg(&module).status();
            assert!(build.unwrap().success());
            let told = Command::new(&module).output().unwrap().stdout;
            let [instruction, stack, frame, bias] = [0, 8, 16, 24].map(|at| number(&told, at, 8).unwrap());
            let moment = Moment { instruction, stack, frame, bias, begin: stack, bytes: &told[32..] };
            let mut symbols = crate::Symbols::new();
            let mut name = |offset| {
                let spot = crate::Spot { module: module.clone(), offset };
                symbols.site(&spot).function.clone().unwrap()
            };
            let found: Vec<String> = callers(&module, &moment).into_iter().map(&mut name).collect();
            assert_eq!(found, ["middle", "outer", "main"], "{flags:?}");
            // In a library, the stack is searched.
            let lost = Moment { instruction: 8, frame: 0, ..moment };
            let found: Vec<String> = callers(&module, &lost).into_iter().map(&mut name).collect();
            assert_eq!(found, ["middle", "outer", "main"], "{flags:?}");
        }
    }
}

//! Who called whom when a rank crashed: its stack, as its process copied it in its last moment, read with the tables of its program (`.eh_frame`,
//! which programs have without `-g`).
//!
//! Only frames of the program are followed; what libraries did above them is not known here. Invariant: any bytes may be a stack, and any file a
//! program; what makes no sense ends the list.

use std::path::Path;

use gimli::{
    BaseAddresses, CfaRule, EhFrame, EhFrameHdr, LittleEndian, Register, RegisterRule, UnwindContext,
    UnwindSection,
};
use object::{Object, ObjectSection, ObjectSymbol, SectionKind};

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

/// The return addresses into the program, as its file counts them, innermost first.
pub fn callers(program: &Path, moment: &Moment<'_>) -> Vec<u64> {
    let Some(bytes) = super::file_of(program) else { return Vec::new() };
    let Ok(file) = object::File::parse(&*bytes) else { return Vec::new() };
    if file.architecture() != object::Architecture::X86_64 {
        return Vec::new();
    }
    let start = moment.instruction.wrapping_sub(moment.bias);
    if is_code(&file, start) {
        return walk(&file, moment, (moment.stack, start));
    }
    // A library may have left any words on the stack, return addresses of calls long over among them: of the ways back that they begin,
    // the longest is the one that was taken.
    let mut longest = Vec::new();
    for (at, caller) in calls(&file, moment) {
        let mut way = vec![caller];
        if !is_main(&file, caller) {
            way.extend(walk(&file, moment, (at + 8, caller - 1)));
        }
        if way.len() > longest.len() {
            longest = way;
        }
    }
    longest
}

/// The callers of the function that was at `probe` with this stack pointer, up to `main` or where the way back is lost.
fn walk(file: &object::File<'_>, moment: &Moment<'_>, from: (u64, u64)) -> Vec<u64> {
    let mut callers = Vec::new();
    _ = walk_on(file, moment, from, &mut callers);
    callers
}

/// The same; `None` where the way back is lost.
fn walk_on(
    file: &object::File<'_>,
    moment: &Moment<'_>,
    (mut stack, mut probe): (u64, u64),
    callers: &mut Vec<u64>,
) -> Option<()> {
    let table = file.section_by_name(".eh_frame")?;
    let text = file.section_by_name(".text")?;
    let frames = EhFrame::new(table.data().ok()?, LittleEndian);
    let bases = BaseAddresses::default().set_eh_frame(table.address()).set_text(text.address());
    let index = file.section_by_name(".eh_frame_hdr");
    let bases = bases.set_eh_frame_hdr(index.as_ref().map_or(0, |index| index.address()));
    let index = index.and_then(|index| index.data().ok());
    let index = index.and_then(|index| EhFrameHdr::new(index, LittleEndian).parse(&bases, 8).ok());
    let mut context = UnwindContext::new();
    let mut frame = moment.frame;
    while callers.len() < CALLERS {
        let cie = EhFrame::cie_from_offset;
        // By the table that is made for searching, where there is one: programs may have a million functions.
        let row = match index.as_ref().and_then(|index| index.table()) {
            Some(table) => table.unwind_info_for_address(&frames, &bases, &mut context, probe, cie).ok()?,
            None => frames.unwind_info_for_address(&bases, &mut context, probe, cie).ok()?,
        };
        let end = match row.cfa() {
            CfaRule::RegisterAndOffset { register, offset } if *register == STACK_POINTER => {
                stack.wrapping_add_signed(*offset)
            }
            CfaRule::RegisterAndOffset { register, offset } if *register == FRAME_POINTER => {
                let end = frame.wrapping_add_signed(*offset);
                if returns(file, moment, end) { end } else { next_record(file, moment, stack)? }
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
        if !is_code(file, caller) {
            return None;
        }
        callers.push(caller);
        if is_main(file, caller) {
            break;
        }
        (stack, probe) = (end, caller - 1);
    }
    Some(())
}

/// Whether a return address is in `main`, above which nothing is the program's.
fn is_main(file: &object::File<'_>, address: u64) -> bool {
    let holds = |symbol: object::Symbol<'_, '_>| {
        (symbol.address()..symbol.address() + symbol.size()).contains(&(address - 1))
    };
    file.symbol_by_name("main").is_some_and(holds)
}

/// Words of the stack that are return addresses of the program's, with where they are.
fn calls(file: &object::File<'_>, moment: &Moment<'_>) -> Vec<(u64, u64)> {
    let words = (0..LIBRARY_WORDS).map(|index| moment.stack.wrapping_add(8 * index));
    let words = words.map_while(|at| Some((at, moment.word(at)?.wrapping_sub(moment.bias))));
    words.filter(|(_, address)| follows_call(file, *address)).collect()
}

/// Whether a frame that ends here returns to the program.
fn returns(file: &object::File<'_>, moment: &Moment<'_>, end: u64) -> bool {
    let word = moment.word(end.wrapping_sub(8));
    word.is_some_and(|word| follows_call(file, word.wrapping_sub(moment.bias)))
}

/// Where the frame ends that has this stack pointer, of a function that keeps its frame in a register which a library has used for something
/// else since: such a frame ends with where the one above it ends, and the return address.
fn next_record(file: &object::File<'_>, moment: &Moment<'_>, stack: u64) -> Option<u64> {
    let mut ends = (2..LIBRARY_WORDS).map(|words| stack.wrapping_add(8 * words));
    ends.find(|end| {
        moment.word(end.wrapping_sub(16)).is_some_and(|above| above >= *end) && returns(file, moment, *end)
    })
}

/// Whether the address is in the program's code.
fn is_code(file: &object::File<'_>, address: u64) -> bool {
    code(file, address, 1).is_some()
}

/// Whether there is an instruction before the address that calls.
fn follows_call(file: &object::File<'_>, address: u64) -> bool {
    let Some(code) = address.checked_sub(6).and_then(|start| code(file, start, 6)) else { return false };
    // Direct; by a word of memory that is given by its distance; by a register.
    code[1] == 0xe8 || code[..2] == [0xff, 0x15] || (code[4] == 0xff && code[5] & 0xf8 == 0xd0)
}

fn code<'d>(file: &object::File<'d>, address: u64, bytes: u64) -> Option<&'d [u8]> {
    let texts = file.sections().filter(|section| section.kind() == SectionKind::Text);
    texts.filter_map(|section| section.data_range(address, bytes).ok().flatten()).next()
}

impl Moment<'_> {
    /// The word at an address of the stack, if it was copied.
    fn word(&self, address: u64) -> Option<u64> {
        let at = usize::try_from(address.checked_sub(self.begin)?).ok()?;
        let bytes = self.bytes.get(at..at.checked_add(8)?)?;
        Some(u64::from_le_bytes(bytes.try_into().ok()?))
    }
}

#[cfg(test)]
mod tests {
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
}

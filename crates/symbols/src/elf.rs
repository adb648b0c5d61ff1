//! What is read of ELF files of 64 bits, least byte first: sections, symbols, segments and notes.
//!
//! Only the tables of a file are read when it is opened, the rest when it is asked for: core files may be
//! longer than the memory is. Invariant: any file may be opened. Nothing that it says of itself is trusted,
//! and what makes no sense is not there (`None`).

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// A file that runs at the addresses that it names.
pub const FIXED: u64 = 2;
/// The number of the processors whose stacks are understood.
pub const X86_64: u64 = 62;
/// Kinds of segments.
pub const LOADED: u64 = 1;
pub const NOTES: u64 = 4;
/// Kinds of sections.
const PROGRAM_BITS: u64 = 1;
const SYMBOLS: u64 = 2;
const NO_BITS: u64 = 8;
const DYNAMIC_SYMBOLS: u64 = 11;
/// What sections may be: in memory, code, compressed.
const ALLOCATED: u64 = 2;
const EXECUTABLE: u64 = 4;
const COMPRESSED: u64 = 1 << 11;
/// The only compression that is understood.
const ZLIB: u64 = 1;
/// Kinds of symbols.
const NO_TYPE: u64 = 0;
const FUNCTION: u64 = 2;
const CHOSEN_FUNCTION: u64 = 10;
/// Bytes of a file's header, and of an entry of each table.
const HEADER: u64 = 64;
const SECTION: u64 = 64;
const SEGMENT: u64 = 56;
const SYMBOL: usize = 24;
/// The most bytes of one read. No section of a real program is longer; a hole in a file may be.
const MOST: u64 = 4 << 30;

/// An open file, or a part of one that is a file of its own.
#[derive(Debug)]
pub struct Elf {
    file: File,
    begin: u64,
    length: u64,
    /// What it is for, and for which processor.
    pub kind: u64,
    pub machine: u64,
    pub sections: Vec<Section>,
    pub segments: Vec<Segment>,
}

/// A part that linkers and debuggers know.
#[derive(Clone, Debug)]
pub struct Section {
    name: Vec<u8>,
    kind: u64,
    flags: u64,
    pub address: u64,
    begin: u64,
    length: u64,
    link: u64,
}

/// A part that loaders know.
#[derive(Clone, Copy, Debug)]
pub struct Segment {
    pub kind: u64,
    pub address: u64,
    pub begin: u64,
    pub length: u64,
}

/// The names of a file's code and the extents of what they name.
#[derive(Debug, Default)]
pub struct SymbolTable {
    entries: Vec<u8>,
    names: Vec<u8>,
}

/// A function, or a label in code that says nothing of what it is.
#[derive(Clone, Copy, Debug)]
pub struct Symbol<'a> {
    pub name: &'a str,
    pub address: u64,
    pub size: u64,
    /// Whether it says that it is a function, and whether files share its name.
    pub certain: bool,
    pub global: bool,
}

impl Elf {
    /// Opens a file; `None` if it is of another kind.
    pub fn open(path: &Path) -> Option<Elf> {
        // Opening a pipe would wait for its other end.
        let length = std::fs::metadata(path).ok().filter(|found| found.is_file())?.len();
        Elf::of(File::open(path).ok()?, 0, length)
    }

    /// The file that is the content of a section.
    pub fn within(self, section: &Section) -> Option<Elf> {
        let end = section.begin.checked_add(section.length)?;
        if end > self.length {
            return None;
        }
        Elf::of(self.file, self.begin + section.begin, section.length)
    }

    fn of(file: File, begin: u64, length: u64) -> Option<Elf> {
        let (sections, segments) = (Vec::new(), Vec::new());
        let mut elf = Elf { file, begin, length, kind: 0, machine: 0, sections, segments };
        let header = elf.read(0, HEADER)?;
        if !header.starts_with(b"\x7fELF\x02\x01") {
            return None;
        }
        (elf.kind, elf.machine) = (number(&header, 16, 2)?, number(&header, 18, 2)?);
        elf.sections = elf.section_table(&header).unwrap_or_default();
        elf.segments = elf.segment_table(&header).unwrap_or_default();
        Some(elf)
    }

    fn section_table(&self, header: &[u8]) -> Option<Vec<Section>> {
        let (at, size) = (number(header, 40, 8)?, number(header, 58, 2)?);
        if at == 0 || size != SECTION {
            return None;
        }
        // What has no room in the header is in the first entry, which is of no section.
        let first = self.read(at, SECTION)?;
        let count = number(header, 60, 2).filter(|count| *count > 0).or_else(|| number(&first, 32, 8))?;
        let names =
            number(header, 62, 2).filter(|names| *names < 0xffff).or_else(|| number(&first, 40, 4))?;
        let table = self.read(at, count.checked_mul(SECTION)?)?;
        let entries = table.chunks_exact(SECTION as usize);
        let mut sections = entries.map(Section::parse).collect::<Option<Vec<_>>>()?;
        let names = self.contents(sections.get(usize::try_from(names).ok()?)?)?;
        for (section, entry) in sections.iter_mut().zip(table.chunks_exact(SECTION as usize)) {
            section.name = text(&names, number(entry, 0, 4)?).unwrap_or_default().to_vec();
        }
        Some(sections)
    }

    fn segment_table(&self, header: &[u8]) -> Option<Vec<Segment>> {
        let (at, size) = (number(header, 32, 8)?, number(header, 54, 2)?);
        if at == 0 || size != SEGMENT {
            return None;
        }
        let mut count = number(header, 56, 2)?;
        if count == 0xffff {
            count = number(&self.read(number(header, 40, 8)?, SECTION)?, 44, 4)?;
        }
        let table = self.read(at, count.checked_mul(SEGMENT)?)?;
        table.chunks_exact(SEGMENT as usize).map(Segment::parse).collect()
    }

    /// The section of that name.
    pub fn section(&self, name: &str) -> Option<&Section> {
        self.sections.iter().find(|section| section.name == name.as_bytes())
    }

    /// The bytes of a section as its compiler wrote them.
    pub fn contents(&self, section: &Section) -> Option<Vec<u8>> {
        if section.kind == NO_BITS {
            return Some(Vec::new());
        }
        let bytes = self.read(section.begin, section.length)?;
        if section.flags & COMPRESSED != 0 {
            if number(&bytes, 0, 4)? != ZLIB {
                return None;
            }
            return inflate(bytes.get(24..)?, number(&bytes, 8, 8)?);
        }
        // Older linkers tell of the compression by the name, and the length the other way around.
        if section.name.starts_with(b".zdebug_") && bytes.starts_with(b"ZLIB") {
            return inflate(bytes.get(12..)?, number(&bytes, 4, 8)?.swap_bytes());
        }
        Some(bytes)
    }

    /// Bytes of the file; `None` if it has fewer.
    pub fn read(&self, at: u64, length: u64) -> Option<Vec<u8>> {
        if at.checked_add(length)? > self.length || length > MOST {
            return None;
        }
        let mut bytes = vec![0; length as usize];
        self.file.read_exact_at(&mut bytes, self.begin + at).ok()?;
        Some(bytes)
    }

    /// The names of its code; of a file that was stripped, those that loaders need.
    pub fn symbols(&self) -> Option<SymbolTable> {
        let of_kind = |kind| self.sections.iter().find(|section| section.kind == kind);
        let table = of_kind(SYMBOLS).or_else(|| of_kind(DYNAMIC_SYMBOLS))?;
        let names = self.sections.get(usize::try_from(table.link).ok()?)?;
        Some(SymbolTable { entries: self.contents(table)?, names: self.contents(names)? })
    }
}

impl Section {
    fn parse(entry: &[u8]) -> Option<Section> {
        Some(Section {
            name: Vec::new(),
            kind: number(entry, 4, 4)?,
            flags: number(entry, 8, 8)?,
            address: number(entry, 16, 8)?,
            begin: number(entry, 24, 8)?,
            length: number(entry, 32, 8)?,
            link: number(entry, 40, 4)?,
        })
    }

    /// Whether it is a program's code.
    pub fn is_code(&self) -> bool {
        self.kind == PROGRAM_BITS && self.flags & (ALLOCATED | EXECUTABLE) == ALLOCATED | EXECUTABLE
    }

    /// Where it ends in memory.
    pub fn end(&self) -> u64 {
        self.address.saturating_add(self.length)
    }
}

impl Segment {
    fn parse(entry: &[u8]) -> Option<Segment> {
        let word = |at, bytes| number(entry, at, bytes);
        let (begin, address, length) = (word(8, 8)?, word(16, 8)?, word(32, 8)?);
        Some(Segment { kind: word(0, 4)?, address, begin, length })
    }
}

impl SymbolTable {
    /// What is defined in the file itself.
    pub fn iter(&self) -> impl Iterator<Item = Symbol<'_>> {
        self.entries.chunks_exact(SYMBOL).filter_map(|entry| self.symbol(entry))
    }

    fn symbol(&self, entry: &[u8]) -> Option<Symbol<'_>> {
        let (info, section) = (number(entry, 4, 1)?, number(entry, 6, 2)?);
        let (kind, global) = (info & 0xf, info >> 4 != 0);
        // Numbers from 0xff00 on mean no section. One of them says that the number has no room.
        let defined = section != 0 && (section < 0xff00 || section == 0xffff);
        if !defined || ![NO_TYPE, FUNCTION, CHOSEN_FUNCTION].contains(&kind) {
            return None;
        }
        let name = std::str::from_utf8(text(&self.names, number(entry, 0, 4)?)?).ok()?;
        // Assemblers mark with a dollar where code ends and data begins.
        if name.is_empty() || (kind == NO_TYPE && name.starts_with('$')) {
            return None;
        }
        let (address, size) = (number(entry, 8, 8)?, number(entry, 16, 8)?);
        Some(Symbol { name, address, size, certain: kind != NO_TYPE, global })
    }
}

/// The number of that many bytes.
pub fn number(bytes: &[u8], at: usize, length: usize) -> Option<u64> {
    let bytes = bytes.get(at..at.checked_add(length)?)?;
    Some(bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

/// What a segment of notes says: the kind of each, and its bytes.
pub fn notes(mut bytes: &[u8]) -> impl Iterator<Item = (u64, &[u8])> {
    std::iter::from_fn(move || {
        let word = |at| number(bytes, at, 4).map(|word| word as usize);
        let begin = 12 + word(0)?.next_multiple_of(4);
        let end = begin + word(4)?;
        let note = (number(bytes, 8, 4)?, bytes.get(begin..end)?);
        bytes = bytes.get(end.next_multiple_of(4)..).unwrap_or_default();
        Some(note)
    })
}

/// A text in a table of texts, each of which ends with a zero.
fn text(table: &[u8], at: u64) -> Option<&[u8]> {
    let text = table.get(usize::try_from(at).ok()?..)?;
    text.split(|byte| *byte == 0).next()
}

/// What was compressed to these bytes. However long it says that it is, the bytes themselves bound it.
fn inflate(bytes: &[u8], length: u64) -> Option<Vec<u8>> {
    let length = usize::try_from(length.min(MOST)).ok()?;
    miniz_oxide::inflate::decompress_to_vec_zlib_with_limit(bytes, length).ok()
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::tests::program;
    use crate::{Moment, Spot, Symbols, callers};

    /// Where its header tells of a file's sections.
    const SECTIONS_AT: u64 = 40;
    const SECTIONS: u64 = 60;

    fn overwrite(path: &Path, at: u64, bytes: &[u8]) {
        let file = File::options().write(true).open(path).unwrap();
        file.write_all_at(bytes, at).unwrap();
    }

    /// Asks all that can be asked about a file.
    fn ask(spot: &Spot) -> String {
        let moment =
            Moment { instruction: spot.offset, stack: 8, frame: 8, bias: 0, begin: 8, bytes: &[1; 64] };
        _ = callers(&spot.module, &moment);
        assert!(crate::Core::read(&spot.module, 1, &spot.module).is_none());
        Symbols::new().explain(&spot.to_string())
    }

    fn by_offset(spot: &Spot) -> String {
        format!("crash+{:#x}", spot.offset)
    }

    #[test]
    fn a_table_that_points_out_of_the_file_leaves_the_offset() {
        for (at, bytes) in [
            (SECTIONS_AT, &u64::MAX.to_le_bytes()[..]),
            (SECTIONS_AT, &(u64::MAX / 2).to_le_bytes()),
            (SECTIONS, &[0xfe, 0xff]),
            // So many that their number is in the first entry, which says none.
            (SECTIONS, &[0, 0]),
            // The number of the section with the names.
            (SECTIONS + 2, &[0xfe, 0xfe]),
        ] {
            let (_room, spot) = program(&["-g", "-O0"]);
            overwrite(&spot.module, at, bytes);
            assert_eq!(ask(&spot), by_offset(&spot), "{bytes:?} at {at}");
        }
    }

    #[test]
    fn files_of_other_widths_and_byte_orders_are_named_by_offset() {
        for (at, byte) in [(4, 1), (5, 2)] {
            let (_room, spot) = program(&["-g", "-O0"]);
            overwrite(&spot.module, at, &[byte]);
            assert_eq!(ask(&spot), by_offset(&spot));
        }
    }

    #[test]
    fn a_file_may_end_anywhere() {
        let (_room, spot) =
            program(&["-g", "-O0", "-nostdlib", "-shared", "-fPIC", "-Wl,-z,noseparate-code"]);
        let whole = ask(&spot);
        assert!(whole.starts_with("inner at "), "{whole}");
        let file = File::options().write(true).open(&spot.module).unwrap();
        for length in (0..file.metadata().unwrap().len()).rev() {
            file.set_len(length).unwrap();
            let less = ask(&spot);
            assert!([&by_offset(&spot), &whole].contains(&&less), "{length} bytes: {less}");
        }
    }

    #[test]
    fn any_byte_of_a_file_may_be_another() {
        let (_room, spot) =
            program(&["-g", "-O0", "-nostdlib", "-shared", "-fPIC", "-Wl,-z,noseparate-code"]);
        let whole = std::fs::read(&spot.module).unwrap();
        for (at, byte) in (0..).zip(&whole) {
            overwrite(&spot.module, at, &[!byte]);
            _ = ask(&spot);
            overwrite(&spot.module, at, &[*byte]);
        }
    }

    #[test]
    fn a_pipe_is_not_waited_for() {
        let room = tempfile::tempdir().unwrap();
        let pipe = room.path().join("crash");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let spot = Spot { module: pipe, offset: 7 };
        assert_eq!(ask(&spot), by_offset(&spot));
    }

    #[test]
    fn notes_that_are_longer_than_their_segment_end_it() {
        let note = |name: u32, length: u32| {
            let words = [name, length, 7].map(u32::to_le_bytes);
            [words.as_flattened(), b"CORE\0\0\0\0", &[1, 2, 3, 4]].concat()
        };
        let bytes = [note(5, 3), note(5, 4), note(5, 5)].concat();
        assert_eq!(notes(&bytes).collect::<Vec<_>>(), [(7, &[1, 2, 3][..]), (7, &[1, 2, 3, 4])]);
        assert_eq!(notes(&note(u32::MAX, u32::MAX)).count(), 0);
        assert_eq!(notes(&[1; 11]).count(), 0);
    }

    #[test]
    fn what_is_compressed_may_say_any_length() {
        let bytes = miniz_oxide::deflate::compress_to_vec_zlib(&[7; 1000], 6);
        assert_eq!(inflate(&bytes, 1000).unwrap(), [7; 1000]);
        assert_eq!(inflate(&bytes, u64::MAX).unwrap(), [7; 1000]);
        assert_eq!(inflate(&bytes, 999), None);
        assert_eq!(inflate(&bytes[..9], 1000), None);
    }

    #[test]
    fn code_without_a_length_ends_with_its_section() {
        let room = tempfile::tempdir().unwrap();
        let [source, module] = ["crash.s", "crash"].map(|name| room.path().join(name));
        let text = ".globl _start\n_start: nop\nnop\n.section .other,\"ax\"\n.skip 64\n";
        std::fs::write(&source, text).unwrap();
        let flags = ["-nostdlib", "-static", "-o"].map(PathBuf::from);
        let status = std::process::Command::new("cc").args(flags).args([&module, &source]).status();
        assert!(status.unwrap().success());
        let elf = Elf::open(&module).unwrap();
        let start = elf.section(".text").unwrap().address;
        let other = elf.section(".other").unwrap().address;
        let ask = |offset| ask(&Spot { module: module.clone(), offset });
        assert_eq!(ask(start + 2), format!("_start (crash+{:#x})", start + 2));
        assert_eq!(ask(other + 9), format!("crash+{:#x}", other + 9));
    }
}

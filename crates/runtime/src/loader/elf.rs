//! The few facts of an ELF file that the loader needs, read from its bytes.
//!
//! Invariant: no input makes this module panic or read out of bounds; a file is either understood or refused.

use std::ops::Range;

/// A segment of the file that is mapped into memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Segment {
    pub offset: u64,
    pub address: u64,
    pub file_bytes: u64,
    /// What it takes in memory: the file's bytes, and zeros behind them.
    pub memory_bytes: u64,
    pub writable: bool,
    pub executable: bool,
}

/// What the loader needs to know of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    pub segments: Vec<Segment>,
    /// How much of the file is mapped at all; what follows is debug information.
    pub mapped_bytes: u64,
    /// The dynamic linker writes into read-only segments (`DT_TEXTREL`), so copies cannot share them.
    pub text_relocations: bool,
    /// Marked as an executable that must not be loaded (`DF_1_PIE`).
    pub pie: bool,
    /// A fixed address: it can exist only once.
    pub fixed: bool,
    /// The shared libraries it needs, by name (`DT_NEEDED`).
    pub needed: Vec<String>,
    /// Where in the file the text is that says where libraries are searched for (`DT_RUNPATH`, `DT_RPATH`); empty if there is none.
    pub search_path: Range<usize>,
    /// It has variables that each thread has for itself (`PT_TLS`).
    pub thread_locals: bool,
    /// The largest alignment of a segment.
    pub alignment: u64,
    /// Where the table of what the dynamic linker is told lies in the file, and in memory; empty if there is none.
    pub dynamic: Range<u64>,
    pub dynamic_address: u64,
    /// The constructor of old (`DT_INIT`), and the table of the others (`DT_INIT_ARRAY`): addresses.
    pub constructor: Option<u64>,
    pub constructors: Range<u64>,
    /// The dynamic linker's own words in the table of functions (`DT_PLTGOT`).
    pub linkers_words: Range<u64>,
}

/// Reads the layout, or says what the bytes are instead of a program of this machine.
pub(super) fn layout(bytes: &[u8]) -> Result<Layout, String> {
    if bytes.starts_with(b"#!") {
        return Err("a script".into());
    }
    if !bytes.starts_with(b"\x7fELF") {
        return Err("no ELF file".into());
    }
    let cut = || "a truncated ELF file".to_string();
    let (class, order) = (bytes.get(4).ok_or_else(cut)?, bytes.get(5).ok_or_else(cut)?);
    let native_order = if cfg!(target_endian = "little") { 1 } else { 2 };
    if *class != 2 || *order != native_order {
        return Err("an ELF file of another word size or byte order".into());
    }
    let kind = u16_at(bytes, 16).ok_or_else(cut)?;
    let machine = u16_at(bytes, 18).ok_or_else(cut)?;
    if machine != MACHINE {
        return Err(format!("an ELF file for machine {machine}"));
    }
    if !matches!(kind, ET_EXEC | ET_DYN) {
        return Err(format!("an ELF file of type {kind}"));
    }
    let table = u64_at(bytes, 32).ok_or_else(cut)?;
    let entry_bytes = u64::from(u16_at(bytes, 54).ok_or_else(cut)?);
    let entries = u64::from(u16_at(bytes, 56).ok_or_else(cut)?);

    let mut layout = Layout {
        segments: Vec::new(),
        mapped_bytes: table.saturating_add(entry_bytes * entries),
        text_relocations: false,
        pie: false,
        fixed: kind == ET_EXEC,
        needed: Vec::new(),
        search_path: 0..0,
        thread_locals: false,
        alignment: 1,
        dynamic: 0..0,
        dynamic_address: 0,
        constructor: None,
        constructors: 0..0,
        linkers_words: 0..0,
    };
    let (mut names, mut strings, mut search_path) = (Vec::new(), None, None);
    for index in 0..entries {
        let at = table.checked_add(index * entry_bytes).ok_or_else(cut)?;
        let field = |offset| u64_at(bytes, at.checked_add(offset)?);
        let kind = u32_at(bytes, at).ok_or_else(cut)?;
        let flags = u32_at(bytes, at + 4).ok_or_else(cut)?;
        let offset = field(8).ok_or_else(cut)?;
        let address = field(16).ok_or_else(cut)?;
        let file_bytes = field(32).ok_or_else(cut)?;
        let end = offset.checked_add(file_bytes).filter(|end| *end <= bytes.len() as u64).ok_or_else(cut)?;
        match kind {
            PT_TLS => layout.thread_locals = true,
            PT_LOAD => {
                layout.mapped_bytes = layout.mapped_bytes.max(end);
                layout.alignment = layout.alignment.max(field(48).ok_or_else(cut)?);
                let (writable, executable) = (flags & PF_W != 0, flags & PF_X != 0);
                let memory_bytes = field(40).ok_or_else(cut)?;
                layout.segments.push(Segment {
                    offset,
                    address,
                    file_bytes,
                    memory_bytes,
                    writable,
                    executable,
                });
            }
            PT_DYNAMIC => {
                (layout.dynamic, layout.dynamic_address) = (offset..end, address);
                let (mut table, mut length) = (0, 0_u64);
                for entry in bytes[offset as usize..end as usize].chunks_exact(16) {
                    let (tag, value) = (u64_at(entry, 0), u64_at(entry, 8));
                    match (tag, value) {
                        (Some(DT_TEXTREL), _) => layout.text_relocations = true,
                        (Some(DT_FLAGS), Some(flags)) if flags & DF_TEXTREL != 0 => {
                            layout.text_relocations = true
                        }
                        (Some(DT_NEEDED), Some(name)) => names.push(name),
                        (Some(DT_STRTAB), Some(address)) => strings = Some(address),
                        (Some(DT_RPATH | DT_RUNPATH), at) => search_path = at,
                        (Some(DT_FLAGS_1), Some(flags)) if flags & DF_1_PIE != 0 => layout.pie = true,
                        (Some(DT_INIT), address) => layout.constructor = address,
                        (Some(DT_INIT_ARRAY), Some(address)) => table = address,
                        (Some(DT_INIT_ARRAYSZ), Some(bytes)) => length = bytes,
                        (Some(DT_PLTGOT), Some(address)) => {
                            // The first of its words is the program's own: where its dynamic table is.
                            layout.linkers_words = address.saturating_add(8)..address.saturating_add(24);
                        }
                        _ => {}
                    }
                }
                layout.constructors = table..table.saturating_add(length);
            }
            _ => {}
        }
    }
    if let Some(table) = strings.and_then(|address| layout.offset_of(address)) {
        let name = |at: &u64| text_at(bytes, table.checked_add(*at)?);
        layout.needed = names.iter().filter_map(name).collect();
        let text = search_path.and_then(|at| text_range(bytes, table.checked_add(at)?));
        layout.search_path = text.unwrap_or(0..0);
    }
    Ok(layout)
}

impl Layout {
    /// Where in the file the byte at an address is.
    fn offset_of(&self, address: u64) -> Option<u64> {
        self.segments.iter().find_map(|segment| {
            let inside = address.checked_sub(segment.address)?;
            (inside < segment.file_bytes).then(|| segment.offset.checked_add(inside))?
        })
    }
}

/// Addresses of what only the dynamic linker and unwinders read: symbols, relocations, descriptions of frames. Nothing where the file does not tell.
pub(super) fn unread_by_programs(bytes: &[u8]) -> Vec<Range<u64>> {
    /// Sections are aligned: what lies between two of them is nobody's.
    const GAP: u64 = 64;
    let mut ranges: Vec<Range<u64>> = Vec::new();
    for section in sections(bytes).unwrap_or_default().into_iter().filter(|section| section.address > 0) {
        let of_frames = section.name_in(bytes).is_some_and(|name| name.starts_with(".eh_frame"));
        let of_linker = section.name_in(bytes).is_some_and(|name| name == ".dynstr");
        if of_frames || of_linker || FOR_THE_LINKER.contains(&section.kind) {
            let place = ranges.partition_point(|before| before.start <= section.address);
            ranges.insert(place, section.address..section.address.saturating_add(section.bytes));
        }
    }
    ranges.dedup_by(|next, before| {
        let follows = next.start.saturating_sub(before.end) < GAP;
        if follows {
            before.end = before.end.max(next.end);
        }
        follows
    });
    ranges
}

/// Where the bytes of the section of this name are, if the file has them.
pub(super) fn section(bytes: &[u8], name: &str) -> Option<Range<usize>> {
    if !bytes.starts_with(b"\x7fELF") {
        return None;
    }
    let found = sections(bytes)?.into_iter().find(|of| of.is_named(bytes, name))?;
    let (start, end) = (found.offset, found.offset.checked_add(found.bytes)?);
    (end <= bytes.len() as u64).then_some(start as usize..end as usize)
}

/// The sections of a file. `None` if it has no table of them.
fn sections(bytes: &[u8]) -> Option<Vec<Section>> {
    let (table, entry_bytes) = (u64_at(bytes, 40)?, u64::from(u16_at(bytes, 58)?));
    let (count, names) = (u64::from(u16_at(bytes, 60)?), u64::from(u16_at(bytes, 62)?));
    let header = |index: u64| table.checked_add(index.checked_mul(entry_bytes)?);
    let names = u64_at(bytes, header(names)?.checked_add(24)?)?;
    let section = |index: u64| {
        let at = header(index)?;
        let field = |offset: u64| u64_at(bytes, at.checked_add(offset)?);
        Some(Section {
            name: names.checked_add(u64::from(u32_at(bytes, at)?))?,
            kind: u32_at(bytes, at.checked_add(4)?)?,
            writable: field(8)? & (SHF_WRITE | SHF_TLS) == SHF_WRITE,
            address: field(16)?,
            offset: field(24)?,
            bytes: field(32)?,
            link: u64::from(u32_at(bytes, at.checked_add(40)?)?),
        })
    };
    Some((0..count).map_while(section).collect())
}

/// Has libraries of a program searched for where another file says, if the text of that fits.
pub(super) fn search_as(bytes: &mut [u8], layout: &Layout, other: &[u8]) {
    let theirs = self::layout(other).ok().and_then(|layout| other.get(layout.search_path));
    let (Some(ours), Some(theirs)) = (bytes.get_mut(layout.search_path.clone()), theirs) else { return };
    if theirs.len() < ours.len() {
        // What follows the first zero byte is not looked at.
        ours[theirs.len()] = 0;
    } else if theirs.len() > ours.len() {
        return;
    }
    ours[..theirs.len()].copy_from_slice(theirs);
}

/// Hides the constructors and destructors of a program from the dynamic linker, in the bytes of its file.
pub(super) fn silence(bytes: &mut [u8], layout: &Layout) {
    /// A tag that means nothing to anybody.
    const NOTHING: u64 = 0x6000_0001;
    let table = bytes.get_mut(layout.dynamic.start as usize..layout.dynamic.end as usize);
    for entry in table.unwrap_or_default().chunks_exact_mut(16) {
        if let Some(DT_INIT | DT_FINI | DT_INIT_ARRAY | DT_FINI_ARRAY) = u64_at(entry, 0) {
            entry[..8].copy_from_slice(&NOTHING.to_ne_bytes());
        }
    }
}

/// The variables of a shared library that its code may write, by name; `None` if it has none. Those that every library has, and
/// constants that the dynamic linker makes read-only, do not count. Names are missing if they were stripped.
pub(super) fn variables(bytes: &[u8]) -> Option<Vec<String>> {
    let holds_variables = |of: &Section| {
        of.writable
            && of.name_in(bytes).is_some_and(|name| {
                (name.starts_with(".data") && !name.starts_with(".data.rel.ro")) || name.starts_with(".bss")
            })
    };
    let sections = sections(bytes)?;
    // Eight bytes each: the library's handle of itself, and whether its destructors have run.
    let more_than_its_own = sections.iter().any(|of| of.bytes > 8 && holds_variables(of));
    let Some(symbols) = sections.iter().find(|of| of.kind == SHT_SYMTAB) else {
        return more_than_its_own.then(Vec::new);
    };
    let strings = sections.get(symbols.link as usize)?.offset;
    let mut variables = Vec::new();
    for index in 0..symbols.bytes / SYMBOL_BYTES {
        let at = symbols.offset.checked_add(index * SYMBOL_BYTES)?;
        let Some(symbol) = array::<{ SYMBOL_BYTES as usize }>(bytes, at) else { break };
        let (name, size) = (u32_at(&symbol, 0)?, u64_at(&symbol, 16)?);
        let holder = sections.get(usize::from(u16_at(&symbol, 6)?));
        if symbol[4] & 0xf == STT_OBJECT && size > 0 && holder.is_some_and(holds_variables) {
            let name = text_at(bytes, strings.checked_add(u64::from(name))?).unwrap_or_default();
            if !name.starts_with("completed.") && !["__dso_handle", "_ZStL8__ioinit"].contains(&name.as_str())
            {
                variables.push(name);
            }
        }
    }
    (!variables.is_empty()).then_some(variables)
}

/// What matters of a section header.
struct Section {
    /// Where its name is in the file.
    name: u64,
    kind: u32,
    writable: bool,
    /// 0 if it is not in memory.
    address: u64,
    offset: u64,
    bytes: u64,
    link: u64,
}

impl Section {
    fn name_in(&self, bytes: &[u8]) -> Option<String> {
        text_at(bytes, self.name)
    }

    fn is_named(&self, bytes: &[u8], name: &str) -> bool {
        let rest = usize::try_from(self.name).ok().and_then(|at| bytes.get(at..));
        rest.and_then(|rest| rest.strip_prefix(name.as_bytes())).is_some_and(|rest| rest.first() == Some(&0))
    }
}

const ET_EXEC: u16 = 2;
const ET_DYN: u16 = 3;
const PT_LOAD: u32 = 1;
const PT_DYNAMIC: u32 = 2;
const PT_TLS: u32 = 7;
const PF_X: u32 = 1;
const PF_W: u32 = 2;
const DT_NEEDED: u64 = 1;
const DT_PLTGOT: u64 = 3;
const DT_STRTAB: u64 = 5;
const DT_INIT: u64 = 12;
const DT_FINI: u64 = 13;
const DT_RPATH: u64 = 15;
const DT_TEXTREL: u64 = 22;
const DT_INIT_ARRAY: u64 = 25;
const DT_FINI_ARRAY: u64 = 26;
const DT_INIT_ARRAYSZ: u64 = 27;
const DT_RUNPATH: u64 = 29;
const DT_FLAGS: u64 = 30;
const DT_FLAGS_1: u64 = 0x6fff_fffb;
const DF_TEXTREL: u64 = 4;
const DF_1_PIE: u64 = 0x0800_0000;

const SHT_SYMTAB: u32 = 2;
/// Relocations in three forms, hash tables in two, symbols, and their versions.
const FOR_THE_LINKER: [u32; 8] = [4, 5, 9, 11, 19, 0x6fff_fff6, 0x6fff_fffe, 0x6fff_ffff];
const SHF_WRITE: u64 = 1;
const SHF_TLS: u64 = 0x400;
const STT_OBJECT: u8 = 1;
const SYMBOL_BYTES: u64 = 24;

#[cfg(target_arch = "x86_64")]
const MACHINE: u16 = 62;
#[cfg(target_arch = "aarch64")]
const MACHINE: u16 = 183;
#[cfg(target_arch = "riscv64")]
const MACHINE: u16 = 243;
#[cfg(target_arch = "powerpc64")]
const MACHINE: u16 = 21;

fn array<const N: usize>(bytes: &[u8], at: u64) -> Option<[u8; N]> {
    bytes.get(usize::try_from(at).ok()?..)?.first_chunk().copied()
}

/// The text up to the next zero byte.
fn text_at(bytes: &[u8], at: u64) -> Option<String> {
    text_range(bytes, at).map(|range| String::from_utf8_lossy(&bytes[range]).into_owned())
}

/// Where that is.
fn text_range(bytes: &[u8], at: u64) -> Option<Range<usize>> {
    let start = usize::try_from(at).ok()?;
    let length = bytes.get(start..)?.iter().position(|byte| *byte == 0)?;
    Some(start..start + length)
}

fn u16_at(bytes: &[u8], at: u64) -> Option<u16> {
    array(bytes, at).map(u16::from_ne_bytes)
}

fn u32_at(bytes: &[u8], at: u64) -> Option<u32> {
    array(bytes, at).map(u32::from_ne_bytes)
}

fn u64_at(bytes: &[u8], at: u64) -> Option<u64> {
    array(bytes, at).map(u64::from_ne_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_running_test_is_understood_and_every_prefix_of_it_is_refused_or_understood_without_a_panic() {
        let bytes = std::fs::read("/proc/self/exe").unwrap();
        let whole = layout(&bytes).unwrap();
        assert!(whole.segments.iter().any(|segment| segment.executable && !segment.writable));
        assert!(whole.segments.iter().any(|segment| segment.writable && !segment.executable));
        for cut in (0..4096).chain([bytes.len() / 2]) {
            _ = layout(&bytes[..cut]);
        }
    }

    #[test]
    fn a_header_with_wild_numbers_is_refused() {
        let bytes = std::fs::read("/proc/self/exe").unwrap();
        assert!(layout(&bytes).is_ok());
        let wild = |at: usize, length: usize| {
            let mut wild = bytes.clone();
            wild[at..at + length].fill(0xff);
            wild
        };
        // Word size and byte order, type, machine, where the program headers are, how long each is: none can be anything else.
        for (at, length) in [(0, 4), (4, 1), (5, 1), (16, 2), (18, 2), (32, 8), (54, 2)] {
            let refused = layout(&wild(at, length));
            assert!(refused.is_err(), "{length} bytes at {at}: {refused:?}");
        }
        let headers = u64_at(&bytes, 32).unwrap() as usize;
        let loaded = (0..).find(|n| u32_at(&bytes, (headers + n * 56) as u64) == Some(PT_LOAD)).unwrap();
        // Offset and length of a segment that lies outside of the file.
        for field in [8, 32] {
            let refused = layout(&wild(headers + loaded * 56 + field, 8));
            assert_eq!(refused, Err("a truncated ELF file".into()), "field at {field}");
        }
    }

    #[test]
    fn no_byte_of_a_library_makes_the_search_for_variables_panic() {
        let bytes = std::fs::read("/proc/self/exe").unwrap();
        assert!(variables(&bytes).is_some_and(|names| !names.is_empty()), "a test has statics");
        for at in 0..64 {
            let mut wild = bytes[..bytes.len().min(1 << 16)].to_vec();
            wild[at] = 0xff;
            _ = variables(&wild);
            _ = section(&wild, ".text");
        }
        assert!(section(&bytes, ".text").is_some_and(|range| !range.is_empty()));
        assert_eq!(section(&bytes, ".tex"), None);
        assert_eq!(section(&bytes[..4096], ".text"), None);
        assert_eq!(section(b"hello", ".text"), None);
        let unread = unread_by_programs(&bytes);
        assert!(unread.iter().any(|range| range.end - range.start > 4096), "{unread:x?}");
        assert!(unread.windows(2).all(|two| two[0].end < two[1].start));
        assert!(unread_by_programs(&bytes[..4096]).is_empty());
        let needed = layout(&bytes).unwrap().needed;
        assert!(needed.iter().any(|name| name.starts_with("libc.so")), "{needed:?}");
    }

    #[test]
    fn scripts_and_other_files_are_named() {
        assert_eq!(layout(b"#!/bin/sh\n"), Err("a script".into()));
        assert_eq!(layout(b"hello"), Err("no ELF file".into()));
    }
}

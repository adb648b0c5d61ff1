//! The few facts of an ELF file that the loader needs, read from its bytes.
//!
//! Invariant: no input makes this module panic or read out of bounds; a file is either understood or refused.

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
    };
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
            PT_LOAD => {
                layout.mapped_bytes = layout.mapped_bytes.max(end);
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
                for entry in bytes[offset as usize..end as usize].chunks_exact(16) {
                    let (tag, value) = (u64_at(entry, 0), u64_at(entry, 8));
                    match (tag, value) {
                        (Some(DT_TEXTREL), _) => layout.text_relocations = true,
                        (Some(DT_FLAGS), Some(flags)) if flags & DF_TEXTREL != 0 => {
                            layout.text_relocations = true
                        }
                        (Some(DT_FLAGS_1), Some(flags)) if flags & DF_1_PIE != 0 => layout.pie = true,
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    Ok(layout)
}

const ET_EXEC: u16 = 2;
const ET_DYN: u16 = 3;
const PT_LOAD: u32 = 1;
const PT_DYNAMIC: u32 = 2;
const PF_X: u32 = 1;
const PF_W: u32 = 2;
const DT_TEXTREL: u64 = 22;
const DT_FLAGS: u64 = 30;
const DT_FLAGS_1: u64 = 0x6fff_fffb;
const DF_TEXTREL: u64 = 4;
const DF_1_PIE: u64 = 0x0800_0000;

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
        let mut bytes = std::fs::read("/proc/self/exe").unwrap();
        bytes.truncate(4096);
        for at in (0..4096).step_by(8) {
            let mut wild = bytes.clone();
            wild[at..at + 8].fill(0xff);
            _ = layout(&wild);
        }
    }

    #[test]
    fn scripts_and_other_files_are_named() {
        assert_eq!(layout(b"#!/bin/sh\n"), Err("a script".into()));
        assert_eq!(layout(b"hello"), Err("no ELF file".into()));
    }
}

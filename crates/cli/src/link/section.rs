//! Adds a section to an ELF file that is linked: bytes behind all others, and a table of sections with one more entry.
//!
//! Nothing that was in the file moves, so that no linker's habits have to be known. The new section is not part of the program's memory.
//!
//! Invariant: the header, which names the table, is written last. A file whose new part could not be written whole is what it was before.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;

const HEADER_BYTES: usize = 64;
/// Offsets in the header: where the table is, bytes of an entry, how many there are, and which holds the names.
const TABLE: usize = 40;
const ENTRY_BYTES: usize = 58;
const ENTRIES: usize = 60;
const NAMES: usize = 62;
/// An entry, and offsets in one: the name, the kind, where it is in the file, how long it is, how it is aligned.
const SECTION_BYTES: usize = 64;
const NAME: usize = 0;
const KIND: usize = 4;
const OFFSET: usize = 24;
const LENGTH: usize = 32;
const ALIGNMENT: usize = 48;
/// The kind of a section whose bytes mean something to programs only.
const PROGBITS: u32 = 1;
/// From this number on, the header says how many sections there are in another way.
const MANY: usize = 0xff00;
/// Where the new parts begin, at multiples of this.
const GRAIN: u64 = 16;

/// Adds the section `name` with what can be read from `content` to `file`, which must be of this machine's word size and byte order.
pub fn add(file: &mut File, name: &str, content: &mut impl Read) -> io::Result<()> {
    let refused = |why: &str| io::Error::new(io::ErrorKind::InvalidData, why.to_owned());
    let mut header = [0; HEADER_BYTES];
    file.read_exact_at(&mut header, 0)?;
    let order = if cfg!(target_endian = "little") { 1 } else { 2 };
    if !header.starts_with(b"\x7fELF") || header[4] != 2 || header[5] != order {
        return Err(refused("it is no ELF file of this machine's word size and byte order"));
    }
    let (entries, names) = (usize::from(u16_at(&header, ENTRIES)), usize::from(u16_at(&header, NAMES)));
    if names >= entries || entries + 1 >= MANY || usize::from(u16_at(&header, ENTRY_BYTES)) != SECTION_BYTES {
        return Err(refused("its table of sections is of an unknown form"));
    }
    let before = file.metadata()?.len();
    let inside = |offset: u64, bytes: u64| offset.checked_add(bytes).is_some_and(|end| end <= before);
    let mut table = vec![0; entries * SECTION_BYTES];
    if !inside(u64_at(&header, TABLE), table.len() as u64) {
        return Err(refused("its table of sections is cut"));
    }
    file.read_exact_at(&mut table, u64_at(&header, TABLE))?;
    let of_names = names * SECTION_BYTES;
    let (offset, length) = (u64_at(&table, of_names + OFFSET), u64_at(&table, of_names + LENGTH));
    if !inside(offset, length) {
        return Err(refused("the names of its sections are cut"));
    }
    let mut texts = vec![0; length as usize];
    file.read_exact_at(&mut texts, offset)?;

    let mut entry = [0; SECTION_BYTES];
    put(&mut entry, NAME, &(texts.len() as u32).to_ne_bytes());
    put(&mut entry, KIND, &PROGBITS.to_ne_bytes());
    put(&mut entry, ALIGNMENT, &GRAIN.to_ne_bytes());
    texts.extend_from_slice(name.as_bytes());
    texts.push(0);
    let mut write = || {
        let at = file.seek(SeekFrom::Start(before.next_multiple_of(GRAIN)))?;
        let bytes = io::copy(content, file)?;
        put(&mut entry, OFFSET, &at.to_ne_bytes());
        put(&mut entry, LENGTH, &bytes.to_ne_bytes());
        let names_at = at + bytes;
        put(&mut table, of_names + OFFSET, &names_at.to_ne_bytes());
        put(&mut table, of_names + LENGTH, &(texts.len() as u64).to_ne_bytes());
        file.write_all(&texts)?;
        let table_at = file.seek(SeekFrom::Start((names_at + texts.len() as u64).next_multiple_of(GRAIN)))?;
        file.write_all(&table)?;
        file.write_all(&entry)?;
        put(&mut header, TABLE, &table_at.to_ne_bytes());
        put(&mut header, ENTRIES, &(entries as u16 + 1).to_ne_bytes());
        file.write_all_at(&header, 0)
    };
    write().inspect_err(|_| _ = file.set_len(before))
}

fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    bytes[at..at + value.len()].copy_from_slice(value);
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_ne_bytes([bytes[at], bytes[at + 1]])
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_ne_bytes(std::array::from_fn(|byte| bytes[at + byte]))
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::process::Command;

    use super::*;

    const OURS: &str = ".of.a.test";

    fn succeed(command: &mut Command) -> String {
        let output = command.output().expect("the tests need binutils (on Debian: apt-get install binutils)");
        assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// What others read in the section.
    fn section_of(program: &Path) -> Vec<u8> {
        let out = program.with_extension("section");
        let dump = format!("--dump-section={OURS}={}", out.display());
        succeed(Command::new("objcopy").arg(dump).arg(program).arg("/dev/null"));
        std::fs::read(out).unwrap()
    }

    #[test]
    fn a_section_is_there_for_others_and_outlives_strip() {
        let room = tempfile::tempdir().unwrap();
        let program = room.path().join("true");
        // The test itself has symbols and debug information to be stripped of.
        std::fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
        let content: Vec<u8> = (0..100_003_u32).map(|at| (at % 251) as u8).collect();
        let mut file = File::options().read(true).write(true).open(&program).unwrap();
        add(&mut file, OURS, &mut &content[..]).unwrap();
        drop(file);
        assert_eq!(section_of(&program), content);
        let before = program.metadata().unwrap().len();
        succeed(Command::new("strip").arg(&program));
        assert!(program.metadata().unwrap().len() < before);
        assert_eq!(section_of(&program), content);
        let list = succeed(Command::new(&program).args(["--list", "a_section_is_there"]));
        assert!(list.contains("a_section_is_there_for_others"), "it still runs: {list}");
        let warned = succeed(Command::new("readelf").args(["-SW"]).arg(&program));
        assert!(warned.contains(OURS) && !warned.contains("arning"), "{warned}");
    }

    #[test]
    fn other_files_are_refused_and_stay_as_they_are() {
        let room = tempfile::tempdir().unwrap();
        let itself = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let wild = |at: usize| {
            let mut wild = itself.clone();
            wild[at..at + 2].fill(0xff);
            wild
        };
        // A text, a file whose table is cut off, and headers with wild numbers.
        let text = vec![b'x'; 100];
        for bytes in [
            text,
            itself[..4096].to_vec(),
            wild(4),
            wild(TABLE + 6),
            wild(ENTRY_BYTES),
            wild(ENTRIES),
            wild(NAMES),
        ] {
            let path = room.path().join("file");
            std::fs::write(&path, &bytes).unwrap();
            let mut file = File::options().read(true).write(true).open(&path).unwrap();
            assert!(add(&mut file, OURS, &mut &b"content"[..]).is_err());
            assert_eq!(std::fs::read(&path).unwrap(), bytes);
        }
    }

    #[test]
    fn a_file_without_room_stays_as_it_was() {
        struct Cut;
        impl Read for Cut {
            fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
                into.fill(7);
                Err(io::ErrorKind::StorageFull.into())
            }
        }
        let room = tempfile::tempdir().unwrap();
        let path = room.path().join("program");
        std::fs::copy(std::env::current_exe().unwrap(), &path).unwrap();
        let before = std::fs::read(&path).unwrap();
        let mut file = File::options().read(true).write(true).open(&path).unwrap();
        let cut = add(&mut file, OURS, &mut (&b"some"[..]).chain(Cut)).unwrap_err();
        assert_eq!(cut.kind(), io::ErrorKind::StorageFull);
        assert!(std::fs::read(&path).unwrap() == before);
    }
}

//! What debug information says of an address: the function, the file and the line.
//!
//! Compilers may leave most of it beside the program, in a file for each object (`-gsplit-dwarf`) or in a
//! package of these; it is read when an address needs it. Invariant: where a part of it cannot be read,
//! nothing is said.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use addr2line::{Context, LookupContinuation, LookupResult, SplitDwarfLoad};
use gimli::{
    AbbreviationsCacheStrategy, Dwarf, DwarfPackage, EndianArcSlice, Error, LittleEndian, Reader, SectionId,
};

use crate::elf::Elf;

type Bytes = EndianArcSlice<LittleEndian>;

/// The debug information of a program.
pub struct Debug {
    context: Context<Bytes>,
    package: Option<DwarfPackage<Bytes>>,
}

impl Debug {
    /// Reads it from a program, or from what lies beside its path.
    pub fn read(elf: &Elf, path: &Path) -> Option<Debug> {
        let mut dwarf = Dwarf::load(|id| section(elf, id, Some(id.name()))).ok()?;
        dwarf.populate_abbreviations_cache(AbbreviationsCacheStrategy::Duplicates);
        let context = Context::from_dwarf(dwarf).ok()?;
        Some(Debug { context, package: package(path) })
    }

    /// The innermost function that the address is in, inlined ones included, as linkers call it.
    pub fn function(&self, address: u64) -> Option<String> {
        let mut found = self.context.find_frames(address);
        let mut frames = loop {
            match found {
                LookupResult::Output(frames) => break frames.ok()?,
                LookupResult::Load { load, continuation } => {
                    found = continuation.resume(self.beside(&load).map(Arc::new));
                }
            }
        };
        let function = frames.next().ok()??.function?;
        Some(function.raw_name().ok()?.into_owned())
    }

    /// The source file and the line of the address.
    pub fn line(&self, address: u64) -> Option<(PathBuf, u32)> {
        let location = self.context.find_location(address).ok()??;
        Some((location.file?.into(), location.line.filter(|line| *line > 0)?))
    }

    /// What an object's compiler left beside the program.
    fn beside(&self, load: &SplitDwarfLoad<Bytes>) -> Option<Dwarf<Bytes>> {
        let packed = |package: &DwarfPackage<Bytes>| package.find_cu(load.dwo_id, &load.parent).ok()?;
        if let Some(found) = self.package.as_ref().and_then(packed) {
            return Some(found);
        }
        let directory = load.comp_dir.as_ref().map_or(Some(PathBuf::new()), path_of)?;
        let elf = Elf::open(&directory.join(path_of(load.path.as_ref()?)?))?;
        let mut dwarf = Dwarf::load(|id| section(&elf, id, id.dwo_name())).ok()?;
        let header = dwarf.units().next().ok()??;
        // The file may be of another build by now.
        if dwarf.unit(header).ok()?.dwo_id != Some(load.dwo_id) {
            return None;
        }
        dwarf.make_dwo(&load.parent);
        Some(dwarf)
    }
}

/// The package beside a program: `heat.dwp`.
fn package(program: &Path) -> Option<DwarfPackage<Bytes>> {
    let mut path = program.as_os_str().to_owned();
    path.push(".dwp");
    let elf = Elf::open(Path::new(&path))?;
    let empty = Bytes::new(Arc::new([]), LittleEndian);
    DwarfPackage::load(|id| section(&elf, id, id.dwo_name()), empty).ok()
}

/// A section with what is asked for here; empty if there is none, an error if it cannot be read.
fn section(elf: &Elf, id: SectionId, name: Option<&str>) -> Result<Bytes, Error> {
    use SectionId::{DebugLoc, DebugLocLists, DebugMacinfo, DebugMacro, DebugNames};
    // Where variables are and what macros mean is a large part, and nobody asks for it.
    let needless = [DebugLoc, DebugLocLists, DebugMacinfo, DebugMacro, DebugNames].contains(&id);
    let find = |name: &str| {
        let compressed = || elf.section(&name.replacen(".debug", ".zdebug", 1));
        elf.section(name).or_else(compressed)
    };
    let bytes = match name.filter(|_| !needless).and_then(find) {
        Some(section) => elf.contents(section).ok_or(Error::Io)?,
        None => Vec::new(),
    };
    Ok(Bytes::new(bytes.into(), LittleEndian))
}

fn path_of(bytes: &Bytes) -> Option<PathBuf> {
    Some(OsStr::from_bytes(&bytes.to_slice().ok()?).into())
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::unix::fs::FileExt;
    use std::process::Command;

    use crate::Symbols;
    use crate::tests::program;

    #[test]
    fn what_zlib_compressed_is_read_and_what_another_did_is_not() {
        for flag in ["-gz=zlib", "-gz=zlib-gnu"] {
            let (_room, spot) = program(&["-g", "-O0", flag]);
            let found = Symbols::new().explain(&spot.to_string());
            assert!(found.starts_with("inner at "), "{flag}: {found}");
        }
        let (_room, spot) = program(&["-g", "-O0", "-gz=zlib"]);
        let bytes = std::fs::read(&spot.module).unwrap();
        let file = File::options().write(true).open(&spot.module).unwrap();
        // Headers of compressed sections begin with the kind, and the length and the alignment follow.
        let kinds = (0..bytes.len() - 24).filter(|at| {
            bytes[*at..].starts_with(&[1, 0, 0, 0, 0, 0, 0, 0])
                && bytes[at + 16..].starts_with(&[1, 0, 0, 0, 0, 0, 0, 0, 0x78])
        });
        let mut changed = 0;
        for at in kinds {
            file.write_all_at(&[2], at as u64).unwrap();
            changed += 1;
        }
        assert!(changed > 0);
        let expected = format!("inner (crash+{:#x})", spot.offset);
        assert_eq!(Symbols::new().explain(&spot.to_string()), expected);
    }

    #[test]
    fn what_compilers_leave_beside_the_program_is_found() {
        let (room, spot) = program(&["-g", "-O0", "-gsplit-dwarf", "-gz=none"]);
        let explained = || Symbols::new().explain(&spot.to_string());
        let found = explained();
        assert!(found.starts_with("inner at "), "{found}");
        // Without it, the name is the symbol's.
        let beside = std::fs::read_dir(room.path()).unwrap().map(|entry| entry.unwrap().path());
        let beside = beside.filter(|path| path.extension().is_some_and(|end| end == "dwo"));
        let beside: Vec<_> = beside.collect();
        assert_eq!(beside.len(), 1);
        let package = room.path().join("crash.dwp");
        let packed = Command::new("dwp").arg(&beside[0]).arg("-o").arg(&package).status();
        std::fs::remove_file(&beside[0]).unwrap();
        if packed.is_ok_and(|status| status.success()) {
            assert_eq!(explained(), found);
        }
        std::fs::write(&package, "no package").unwrap();
        assert!(explained().starts_with("inner"), "{}", explained());
    }
}

//! Call sites for people: what file and line a return address of a program is in.
//!
//! Ranks know addresses only; they name them as `MODULE+0xOFFSET`, the file that the code came from and the address as that file
//! counts it. Launcher and viewers turn that into `solve at heat.c:42` here, after the fact, so that no rank ever reads debug
//! information. Code of a rank that shares its process is that of a copy, which a program may hold in a form of its own
//! ([`pmi::copies`]): its addresses are looked up there. Where there is none, the function's name stands in, and where there is no symbol either, file and offset.
//!
//! Invariant: any text and any file may be asked about. What cannot be read is answered with what is known, never with a failure.
#![forbid(unsafe_code)]

mod callers;
mod core_file;
mod debug;
mod elf;

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use pmi::copies;

use debug::Debug;
use elf::Elf;

pub use callers::{Moment, callers};
pub use core_file::Core;

/// A spot in a program's code, as ranks name it: `/home/me/heat+0x1f3a`, or in a copy of it, `/home/me/heat#copy+0x1f3a`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Spot {
    /// The program or library.
    pub module: PathBuf,
    /// The address behind a call instruction, as the file counts addresses.
    pub offset: u64,
}

/// What is known of a spot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Site {
    /// The function, as its author wrote it.
    pub function: Option<String>,
    /// The source file and the line.
    pub line: Option<(String, u32)>,
    /// The name of the program or library.
    pub module: String,
    /// The address within it.
    pub offset: u64,
}

/// Looks spots up. Each module is read once, each spot looked up once.
#[derive(Default)]
pub struct Symbols {
    modules: HashMap<PathBuf, Option<Module>>,
    sites: HashMap<Spot, Site>,
    /// Files below it are named from here.
    directory: Option<PathBuf>,
}

/// Before a spot in a text for people.
const SPOT_OPENS: &str = "[at ";

impl Spot {
    /// Reads the form that ranks write; `None` if the text is another.
    pub fn parse(text: &str) -> Option<Spot> {
        let (module, digits) = text.rsplit_once("+0x")?;
        let offset = u64::from_str_radix(digits, 16).ok()?;
        module.starts_with('/').then(|| Spot { module: module.into(), offset })
    }
}

impl fmt::Display for Spot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}+{:#x}", self.module.display(), self.offset)
    }
}

impl Symbols {
    /// Names source files from the current directory.
    pub fn new() -> Symbols {
        Symbols { directory: std::env::current_dir().ok(), ..Symbols::default() }
    }

    /// The text with its spot explained: `solve at heat.c:42`. A text that is no spot stays as it is.
    pub fn explain(&mut self, text: &str) -> String {
        Spot::parse(text).map_or_else(|| text.to_owned(), |spot| self.site(&spot).to_string())
    }

    /// A text for people with the spots in it explained, each of which stands in brackets: `[at /home/me/heat+0x1f3a]` becomes
    /// `[solve at heat.c:42]`.
    pub fn explain_within(&mut self, text: &str) -> String {
        let (mut explained, mut rest) = (String::with_capacity(text.len()), text);
        while let Some((before, after)) = rest.split_once(SPOT_OPENS) {
            explained.push_str(before);
            // A file's name may hold brackets: the spot ends where one follows a number.
            let ends = after.match_indices(']').map(|(end, _)| end);
            let found = ends.filter_map(|end| Some((end, Spot::parse(&after[..end])?))).next();
            match found {
                Some((end, spot)) => {
                    explained.push_str(&format!("[{}]", self.site(&spot)));
                    rest = &after[end + 1..];
                }
                None => {
                    explained.push_str(SPOT_OPENS);
                    rest = after;
                }
            }
        }
        explained + rest
    }

    /// What is known of a spot.
    pub fn site(&mut self, spot: &Spot) -> &Site {
        if !self.sites.contains_key(spot) {
            let site = self.look_up(spot);
            self.sites.insert(spot.clone(), site);
        }
        &self.sites[spot]
    }

    fn look_up(&mut self, spot: &Spot) -> Site {
        let module = self.modules.entry(spot.module.clone()).or_insert_with(|| Module::load(&spot.module));
        let mut site = Site { module: name(&spot.module), offset: spot.offset, ..Site::default() };
        // A return address is behind its call, and may be in the next line already.
        let (Some(module), Some(probe)) = (module, spot.offset.checked_sub(1)) else { return site };
        site.function = module.function(probe);
        let line = module.debug.as_ref().and_then(|debug| debug.line(probe));
        site.line = line.map(|(file, line)| (shortened(&file, self.directory.as_deref()), line));
        site
    }
}

/// What the kernel writes behind the name of a file that has none any more, or never had one.
const NAMELESS: &str = " (deleted)";

/// What a file says of its code.
struct Module {
    debug: Option<Debug>,
    /// Sorted by address. Of those with the same address, the last has the best name.
    functions: Vec<Function>,
}

struct Function {
    address: u64,
    end: u64,
    name: String,
}

impl Module {
    fn load(module: &Path) -> Option<Module> {
        let elf = file_of(module)?;
        Some(Module { debug: Debug::read(&elf, &readable(module)), functions: functions(&elf) })
    }

    /// The function that the address is in; without debug information, by the symbols.
    fn function(&self, probe: u64) -> Option<String> {
        let named = || {
            let behind = self.functions.partition_point(|function| function.address <= probe);
            let function = self.functions[..behind].last().filter(|function| probe < function.end)?;
            Some(function.name.clone())
        };
        let name = self.debug.as_ref().and_then(|debug| debug.function(probe)).or_else(named)?;
        Some(readable_name(&name))
    }
}

/// What a file names of its code.
fn functions(elf: &Elf) -> Vec<Function> {
    let Some(table) = elf.symbols() else { return Vec::new() };
    let mut symbols: Vec<_> = table.iter().collect();
    // Of many names of a function, the one that says most of itself.
    symbols.sort_by_key(|symbol| (symbol.address, symbol.certain, symbol.size > 0, symbol.global));
    let functions = symbols.iter().map(|symbol| {
        let (address, name) = (symbol.address, symbol.name.to_owned());
        // Code that was written in assembly may say nothing of its length.
        let section =
            || elf.sections.iter().find(|of| of.is_code() && (of.address..of.end()).contains(&address));
        let end = match symbol.size {
            0 => section().map_or(address, |section| section.end()),
            size => address.saturating_add(size),
        };
        Function { address, end, name }
    });
    functions.collect()
}

/// The file whose addresses a module's are: what a program has for copies, if the module is one of them, or its own.
fn file_of(module: &Path) -> Option<Elf> {
    let elf = Elf::open(&readable(module))?;
    let form = program_of_copy(module).and_then(|_| elf.section(copies::SECTION).cloned());
    match form {
        Some(form) => elf.within(&form),
        None => Some(elf),
    }
}

/// The program whose copy a module is; `None` if it is no copy.
fn program_of_copy(module: &Path) -> Option<PathBuf> {
    let path = module.as_os_str().as_bytes().strip_suffix(copies::OF_A_COPY.as_bytes())?;
    Some(OsStr::from_bytes(path).into())
}

/// Where the module can be read. A program that was compiled into memory has no path, but whoever started it still holds it open; one that
/// was replaced by another since has the path of the other, and must not be taken for it.
fn readable(module: &Path) -> PathBuf {
    let program = program_of_copy(module);
    let module = program.as_deref().unwrap_or(module);
    let held = || {
        let descriptors = std::fs::read_dir("/proc/self/fd").ok()?.flatten().map(|entry| entry.path());
        let mut held =
            descriptors.filter(|path| std::fs::read_link(path).is_ok_and(|target| target == module));
        held.next()
    };
    let nameless = module.to_str().is_some_and(|path| path.ends_with(NAMELESS));
    if nameless { held() } else { None }.unwrap_or_else(|| module.to_path_buf())
}

/// What people call the module.
fn name(module: &Path) -> String {
    let program = program_of_copy(module);
    let module = program.as_deref().unwrap_or(module);
    let name = module.file_name().unwrap_or_default().to_string_lossy();
    let name = name.strip_suffix(NAMELESS).unwrap_or(&name);
    name.strip_prefix("memfd:").unwrap_or(name).to_owned()
}

/// The name as its author wrote it. A short name of C's is also the code of a type in C++: `f` would become `float`.
fn readable_name(name: &str) -> String {
    let mangled = ["_Z", "_R", "__Z", "___Z"].iter().any(|start| name.starts_with(start));
    let of_rust = || rustc_demangle::try_demangle(name).ok().map(|name| format!("{name:#}"));
    let of_cpp = || cpp_demangle::Symbol::new(name).ok()?.demangle().ok();
    let found = if mangled { of_rust().or_else(of_cpp) } else { None };
    found.unwrap_or_else(|| name.to_owned())
}

/// A source file as its author thinks of it: from the current directory, or by its last two names.
fn shortened(file: &Path, directory: Option<&Path>) -> String {
    let file = &straightened(file);
    let below = directory.and_then(|directory| file.strip_prefix(directory).ok());
    let short = below.map(Path::to_path_buf).unwrap_or_else(|| {
        let names: Vec<_> = file.iter().collect();
        names[names.len().saturating_sub(2)..].iter().collect()
    });
    short.display().to_string()
}

/// The path without detours: a header that was included by `../` is where it is.
fn straightened(file: &Path) -> PathBuf {
    let mut straight = PathBuf::new();
    for part in file.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if straight.file_name().is_some() => _ = straight.pop(),
            part => straight.push(part),
        }
    }
    straight
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.function, &self.line) {
            (Some(function), Some((file, line))) => write!(f, "{function} at {file}:{line}"),
            (None, Some((file, line))) => write!(f, "{file}:{line}"),
            (Some(function), None) => write!(f, "{function} ({}+{:#x})", self.module, self.offset),
            (None, None) => write!(f, "{}+{:#x}", self.module, self.offset),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_spot_survives_its_text_and_other_texts_are_left_alone() {
        let spot = Spot { module: "/tmp/a+0x1/b c".into(), offset: 0x1f3a };
        assert_eq!(Spot::parse(&spot.to_string()), Some(spot));
        for text in ["", "solve.c:42", "heat+0x12", "/heat+0x", "/heat+0xfg", "/heat+0x11112222333344445"] {
            assert_eq!(Spot::parse(text), None, "{text}");
            assert_eq!(Symbols::new().explain(text), text);
        }
    }

    #[test]
    fn spots_in_brackets_are_explained_within_a_text_and_everything_else_stays() {
        let mut symbols = Symbols::new();
        let text = "MPI_Send [at /no/such/heat [2]+0x1f]: count is -3 [at 5] [at /x+0x2][at ";
        let expected = "MPI_Send [heat [2]+0x1f]: count is -3 [at 5] [x+0x2][at ";
        assert_eq!(symbols.explain_within(text), expected);
        assert_eq!(symbols.explain_within("no spot"), "no spot");
    }

    #[test]
    fn what_cannot_be_read_is_named_by_module_and_offset() {
        let mut symbols = Symbols::new();
        assert_eq!(symbols.explain("/no/such/heat+0x1f"), "heat+0x1f");
        assert_eq!(symbols.explain("/proc/self/status+0x0"), "status+0x0");
        assert_eq!(symbols.explain("/etc/hostname+0xffffffffffffffff"), "hostname+0xffffffffffffffff");
    }

    #[test]
    fn files_below_the_current_directory_are_named_from_there_and_others_by_their_last_names() {
        let here = Some(Path::new("/home/me/heat"));
        assert_eq!(shortened(Path::new("/home/me/heat/src/solve.c"), here), "src/solve.c");
        assert_eq!(shortened(Path::new("/usr/src/mesh/cells.c"), here), "mesh/cells.c");
        assert_eq!(shortened(Path::new("solve.c"), None), "solve.c");
        assert_eq!(shortened(Path::new("/home/me/heat/src/./../cells.h"), here), "cells.h");
        assert_eq!(shortened(Path::new("../src/cells.h"), None), "src/cells.h");
    }

    /// A program with a function `inner` whose call of `abort` is on line 3, built with these flags; the offset behind the call.
    pub(crate) fn program(flags: &[&str]) -> (tempfile::TempDir, Spot) {
        let room = tempfile::tempdir().unwrap();
        let source = room.path().join("crash.c");
        let text = "extern void abort(void);\n__attribute__((noinline)) void inner(void) {\n    abort();\n}\nint main(void) { inner(); return 0; }\n";
        std::fs::write(&source, text).unwrap();
        let module = room.path().join("crash");
        let status = Command::new("cc").args(flags).arg(&source).arg("-o").arg(&module).status();
        assert!(status.expect("the tests need a C compiler (on Debian: apt-get install gcc)").success());
        let listing = Command::new("nm").arg(&module).output();
        let listing = listing.expect("the tests need nm (on Debian: apt-get install binutils)");
        let listing = String::from_utf8(listing.stdout).unwrap();
        let line = listing.lines().find(|line| line.ends_with(" inner")).expect("it has a function inner");
        let address = u64::from_str_radix(line.split(' ').next().unwrap(), 16).unwrap();
        // Wherever the call is, it is within the first bytes of so short a function.
        (room, Spot { module, offset: address + 6 })
    }

    #[test]
    fn debug_information_gives_function_file_and_line() {
        for position in ["-pie", "-no-pie"] {
            let (room, spot) = program(&["-g", "-O0", position]);
            let mut symbols = Symbols { directory: Some(room.path().to_path_buf()), ..Symbols::default() };
            let site = symbols.site(&spot).clone();
            assert_eq!(site.function.as_deref(), Some("inner"), "{position}");
            let (file, line) = site.line.clone().expect("a line");
            assert_eq!(file, "crash.c", "{position}");
            assert!((2..=3).contains(&line), "{position}: line {line}");
            assert_eq!(site.to_string(), format!("inner at crash.c:{line}"));
        }
    }

    #[test]
    fn a_program_without_a_path_is_read_from_whoever_holds_it_open() {
        let (room, spot) = program(&["-g", "-O0"]);
        let held = std::fs::File::open(&spot.module).unwrap();
        std::fs::remove_file(&spot.module).unwrap();
        let nameless = format!("{}{NAMELESS}", spot.module.display());
        // Another of that name is another program.
        std::fs::write(&spot.module, "another").unwrap();
        let spot = Spot { module: nameless.into(), offset: spot.offset };
        let explained = |room: &Path| {
            let mut symbols = Symbols { directory: Some(room.to_path_buf()), ..Symbols::default() };
            symbols.explain(&spot.to_string())
        };
        let found = explained(room.path());
        assert!(found.starts_with("inner at crash.c:"), "{found}");
        drop(held);
        assert_eq!(explained(room.path()), format!("crash+{:#x}", spot.offset));
        assert_eq!(Symbols::new().explain("/memfd:heat.c (deleted)+0x1f"), "heat.c+0x1f");
    }

    #[test]
    fn addresses_of_a_copy_are_looked_up_in_the_form_for_copies() {
        let (room, spot) = program(&["-g", "-O0", "-shared", "-fPIC"]);
        let other = room.path().join("other.c");
        std::fs::write(&other, "int main(void) { return 0; }").unwrap();
        let executable = room.path().join("executable");
        let status = Command::new("cc").arg(&other).arg("-o").arg(&executable).status();
        assert!(status.unwrap().success());
        let mut symbols = Symbols { directory: Some(room.path().to_path_buf()), ..Symbols::default() };
        // A program in a single form is its own form for copies.
        let single = symbols.explain(&format!("{}#copy+{:#x}", spot.module.display(), spot.offset));
        assert!(single.starts_with("inner at crash.c:"), "{single}");
        let section = format!("{}={}", copies::SECTION, spot.module.display());
        let status = Command::new("objcopy").arg("--add-section").arg(section).arg(&executable).status();
        assert!(status.expect("the tests need objcopy (on Debian: apt-get install binutils)").success());
        let of_copy = symbols.explain(&format!("{}#copy+{:#x}", executable.display(), spot.offset));
        assert_eq!(of_copy, single);
        let of_program = symbols.explain(&format!("{}+{:#x}", executable.display(), spot.offset));
        assert!(!of_program.contains("inner"), "{of_program}");
        assert_eq!(symbols.explain("/no/such/heat#copy+0x1f"), "heat+0x1f");
    }

    #[test]
    fn short_names_are_not_taken_for_mangled_ones() {
        assert_eq!(
            ["f", "i", "main", "_Z", "_Z5solvei"].map(readable_name),
            ["f", "i", "main", "_Z", "solve(int)"]
        );
    }

    #[test]
    fn without_debug_information_the_function_is_named() {
        let (_room, spot) = program(&["-O0"]);
        let expected = format!("inner (crash+{:#x})", spot.offset);
        assert_eq!(Symbols::new().site(&spot).to_string(), expected);
    }
}

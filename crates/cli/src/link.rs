//! The linker that `mpicc` has compilers call: it links every program twice, from one command.
//!
//! A program that `mpicc` makes is an ordinary position-independent executable, which pays nothing for what it does not use: its thread-local variables
//! lie at fixed distances, and its functions are libc's. Ranks as threads and fibers run copies of another form of it, a shared object with the
//! archives of `shim/`, which the executable carries in a section ([`pmi::copies`]). Both are made of the same objects: no source is compiled twice.
//!
//! The compiler is told to look for its linker in a directory of the installation first, where it finds this executable (so it is with the
//! assembler of [`count`](crate::count)). It asks for an executable, with the archives among its inputs to show where they belong; from its words those of the
//! two links follow ([`Forms`]).
//!
//! Invariants: the words of the executable are the compiler's own without ours, and what its linker says and how it ends is what the compiler is told. The link of the
//! executable is the last one: other files that a linker may write (maps, dependencies) are those of the executable. Where the other form cannot be
//! made there is an ordinary program, and a note. Temporary files are gone at the end, after an interrupt too.

mod section;

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::wrapper::{self, expand, flags};

/// The names by which compilers call linkers.
pub const NAMES: [&str; 5] = ["ld", "ld.bfd", "ld.gold", "ld.lld", "ld.mold"];

/// Where that one is found, below the libraries of an installation.
pub const DIRECTORY: &str = "corelace/link";

/// Names the compiler's own linker.
pub const LINKER: &str = "CORELACE_LINKER";

/// Names who speaks in a note.
pub const SPEAKER: &str = "CORELACE_WRAPPER";

/// The archives that are part of the copies' form, and the lines of `shim/flags.txt` that say how.
const ARCHIVES: [(&str, &str); 2] =
    [("libcorelace_program.a", "link"), ("libcorelace_program_cxx.a", "link-cxx")];

/// An object that only the copies' form has.
const OVERRIDE: &str = "corelace/fortran/gfortran_async.o";

/// The linker: `ld WORDS…`, called by the name `name`.
pub fn main(name: &OsStr, words: Vec<OsString>) -> Result<u8, String> {
    let linker = Linker(std::env::var_os(LINKER).unwrap_or_else(|| name.into()));
    let Some(forms) = Forms::of(&expand(&words)) else {
        return Err(linker.refused(linker.command(&words).exec()));
    };
    // From here until the temporary files are gone an interrupt ends the linkers (they get it too), not this process.
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in launch::not_ignored(&[SIGINT, SIGTERM, SIGHUP]) {
        _ = signal_hook::flag::register(signal, interrupted.clone());
    }
    // What came in a file may be too long for any other way.
    let in_file = words.iter().any(|word| word.as_bytes().starts_with(b"@"));
    let room =
        temporary(&forms.output).map_err(|error| format!("no temporary directory to link in: {error}"))?;
    let copies = linker.link_copies(&forms, room.path(), in_file);
    if interrupted.load(Relaxed) {
        return Ok(INTERRUPTED);
    }
    let words = passed(forms.program.clone(), in_file, room.path())?;
    let status = linker.command(&words).status().map_err(|error| linker.refused(error))?;
    if status.success()
        && let Err(why) = copies.and_then(|copies| carry(&forms.output, &copies))
    {
        let speaker = std::env::var(SPEAKER).unwrap_or_else(|_| "mpicc".into());
        eprintln!("{speaker}: {}", wrapper::for_processes_only(&why));
    }
    Ok(wrapper::status(status))
}

/// A directory that is gone with the value: in the place for such, or beside the product.
fn temporary(product: &Path) -> io::Result<tempfile::TempDir> {
    let beside = product.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    let builder = builder.prefix("corelace-");
    builder.tempdir().or_else(|_| builder.tempdir_in(beside))
}

/// The status of a command that an interrupt has ended.
const INTERRUPTED: u8 = 128 + SIGINT as u8;

/// The compiler's own linker.
struct Linker(OsString);

impl Linker {
    fn command(&self, words: &[OsString]) -> Command {
        let mut command = Command::new(&self.0);
        command.args(words).env_remove(LINKER).env_remove(SPEAKER);
        command
    }

    /// The form for copies, made in `room`. What the linker says of it is held back; the error is a line of that.
    fn link_copies(&self, forms: &Forms, room: &Path, in_file: bool) -> Result<PathBuf, String> {
        let product = room.join("copies");
        let words = passed(forms.copies(&product), in_file, room)?;
        let output = self.command(&words).stdin(Stdio::null()).output();
        let output = output.map_err(|error| self.refused(error))?;
        if output.status.success() {
            Ok(product)
        } else {
            Err(wrapper::linker_says(&String::from_utf8_lossy(&output.stderr)))
        }
    }

    fn refused(&self, error: io::Error) -> String {
        format!("cannot run the linker \"{}\": {error}", self.0.display())
    }
}

/// The words of the two links.
#[derive(Debug, PartialEq, Eq)]
struct Forms {
    /// What the executable is made with.
    program: Vec<OsString>,
    /// What the form for copies is made with, but for the name of the product.
    copies: Vec<OsString>,
    /// The executable.
    output: PathBuf,
}

impl Forms {
    /// From the words of a compiler that asks for an executable; `None` if it asks for something else, or not by `mpicc`.
    fn of(words: &[OsString]) -> Option<Forms> {
        let mut forms = Forms { program: Vec::new(), copies: Vec::new(), output: "a.out".into() };
        let (mut executable, mut with_archive) = (false, false);
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let bytes = word.as_bytes();
            let path = Path::new(word);
            let archive = ARCHIVES.iter().find(|(name, _)| path.file_name() == Some(OsStr::new(name)));
            if let Some((_, line)) = archive {
                with_archive = true;
                forms.copies.extend(of_linker(line, path.parent().unwrap_or(Path::new("."))));
                continue;
            }
            if path.ends_with(OVERRIDE) {
                forms.copies.push(word.clone());
                continue;
            }
            forms.program.push(word.clone());
            let mut value = || words.next().inspect(|value| forms.program.push((*value).clone()));
            match bytes {
                b"-pie" | b"--pie" | b"-pic-executable" | b"--pic-executable" => {
                    executable = true;
                    forms.copies.push("-shared".into());
                }
                b"-dynamic-linker" | b"--dynamic-linker" => _ = value()?,
                b"-o" | b"--output" => forms.output = value()?.into(),
                _ if bytes.starts_with(b"-dynamic-linker=") || bytes.starts_with(b"--dynamic-linker=") => {}
                _ if bytes.starts_with(b"--output=") => {
                    forms.output = OsStr::from_bytes(&bytes[b"--output=".len()..]).into();
                }
                _ if bytes.starts_with(b"-o") => forms.output = OsStr::from_bytes(&bytes[2..]).into(),
                _ => forms.copies.push(word.clone()),
            }
        }
        (executable && with_archive).then_some(forms)
    }

    /// The words that make `product`.
    fn copies(&self, product: &Path) -> Vec<OsString> {
        [&self.copies[..], &["-o".into(), product.into()]].concat()
    }
}

/// A line of `shim/flags.txt`, written for compilers, in the linker's own words. It has got the start file and is asked for a shared object anyway.
fn of_linker(line: &str, lib: &Path) -> Vec<OsString> {
    let words = flags(line).filter(|word| !["-shared", "{start}"].contains(word));
    let split = words.flat_map(|word| match word.strip_prefix("-Wl,") {
        Some(words) => words.split(',').collect(),
        None => vec![word],
    });
    let fill = |word: &str| match word.strip_prefix("{lib}/") {
        Some(name) => lib.join(name).into_os_string(),
        None => word.into(),
    };
    split.map(fill).collect()
}

/// The words as they are, or written to a file in `room` and a word that names it.
fn passed(words: Vec<OsString>, in_file: bool, room: &Path) -> Result<Vec<OsString>, String> {
    if !in_file {
        return Ok(words);
    }
    let file = room.join("words");
    fs::write(&file, quoted(&words)).map_err(|error| format!("{}: {error}", file.display()))?;
    let mut word = OsString::from("@");
    word.push(file);
    Ok(vec![word])
}

/// Words as a file has them: a line each, every byte that could mean something behind a backslash.
fn quoted(words: &[OsString]) -> Vec<u8> {
    let mut text = Vec::new();
    for word in words {
        if word.is_empty() {
            text.extend_from_slice(b"\"\"");
        }
        for byte in word.as_bytes() {
            if byte.is_ascii_whitespace() || b"\"'\\".contains(byte) {
                text.push(b'\\');
            }
            text.push(*byte);
        }
        text.push(b'\n');
    }
    text
}

/// Lets the program carry the form for copies. A product that is no file of its own, as `-o /dev/null`, carries nothing.
fn carry(program: &Path, copies: &Path) -> Result<(), String> {
    let carry = || {
        if !fs::metadata(program)?.is_file() {
            return Ok(());
        }
        let mut program = File::options().read(true).write(true).open(program)?;
        section::add(&mut program, pmi::copies::SECTION, &mut File::open(copies)?)
    };
    carry().map_err(|error: io::Error| format!("it cannot be written into {}: {error}", program.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split_whitespace().map(OsString::from).collect()
    }

    #[test]
    fn the_executable_has_the_compiler_s_words_and_the_copies_form_ours() {
        let line = "-m elf_x86_64 -dynamic-linker /lib/ld.so -pie -o out Scrt1.o /p/lib/corelace/fortran/gfortran_async.o a.o -lm \
                    /p/lib/libcorelace_program.a /p/lib/libcorelace_program_cxx.a -lc crtn.o";
        let forms = Forms::of(&words(line)).unwrap();
        let program = "-m elf_x86_64 -dynamic-linker /lib/ld.so -pie -o out Scrt1.o a.o -lm -lc crtn.o";
        assert_eq!(forms.program, words(program));
        assert_eq!(forms.output, Path::new("out"));
        let copies = "-m elf_x86_64 -shared Scrt1.o /p/lib/corelace/fortran/gfortran_async.o a.o -lm -e _start -Bsymbolic -z defs \
                      --whole-archive /p/lib/libcorelace_program.a --no-whole-archive \
                      --whole-archive /p/lib/libcorelace_program_cxx.a --no-whole-archive -lc crtn.o -o /t/out";
        assert_eq!(forms.copies(Path::new("/t/out")), words(copies));
    }

    #[test]
    fn the_product_is_found_in_every_spelling() {
        for (spelling, expected) in [
            ("-o x", "x"),
            ("-ox", "x"),
            ("--output x", "x"),
            ("--output=x", "x"),
            ("", "a.out"),
            ("-o x -o y", "y"),
        ] {
            let forms = Forms::of(&words(&format!("-pie {spelling} a.o /l/libcorelace_program.a"))).unwrap();
            assert_eq!(forms.output, Path::new(expected), "{spelling}");
            assert!(!forms.copies.iter().any(|word| word == "x"), "{spelling}: {:?}", forms.copies);
        }
    }

    #[test]
    fn what_is_no_program_of_mpicc_is_left_to_the_linker() {
        for line in [
            "--version",
            "-pie a.o",
            "-shared a.o /l/libcorelace_program.a",
            "-r a.o /l/libcorelace_program.a",
        ] {
            assert_eq!(Forms::of(&words(line)), None, "{line}");
        }
    }

    #[test]
    fn words_survive_a_file() {
        let room = tempfile::tempdir().unwrap();
        let hard: Vec<OsString> =
            ["a b", "", "it's \"so\"", "back\\slash", "line\nbreak", "plain"].map(OsString::from).into();
        let passed = passed(hard.clone(), true, room.path()).unwrap();
        assert_eq!(passed.len(), 1);
        assert_eq!(expand(&passed), hard);
    }
}

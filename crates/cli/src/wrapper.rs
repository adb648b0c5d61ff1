//! `mpicc`, `mpicxx` and `mpifort`: the user's compiler with what an MPI program needs added.
//!
//! Invariants: words of the user reach the compiler unchanged and in order, but for the few that are for the wrapper; ours follow, but for
//! those that the compiler or the linker must have seen before the user's; without an input file the compiler
//! is called as it is. Only a command that links a *program* makes one that ranks as threads and fibers can run copies of (`shim/flags.txt`). Of three kinds the first that is possible:
//!
//! - an executable that carries a second form of itself, made by a linker of ours which the compiler calls ([`link`](crate::link)); no source is compiled twice;
//! - where a compiler would not call it, a *dual-use* program, one shared object for every purpose;
//! - where the linker cannot make what is copied, an ordinary program, and a note.

mod fortran;
mod words;

use std::cell::OnceCell;
use std::ffi::{OsStr, OsString};
use std::io::{IsTerminal, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::prefix::{self, Prefix};
use crate::{count, link, terminal};
pub(crate) use words::expand;
use words::{Query, Stage, analyse};

/// The flags of programs that can be copied, shared with the installer and the loader's tests.
const FLAGS: &str = include_str!("../../../shim/flags.txt");

/// Which compiler to call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// `CC`, else `cc`.
    C,
    /// `CXX`, else `c++`.
    Cxx,
    /// `FC`, else `gfortran`.
    Fortran,
}

impl Language {
    /// Of the wrapper and of the language.
    pub(crate) fn names(self) -> (&'static str, &'static str) {
        match self {
            Language::C => ("mpicc", "C"),
            Language::Cxx => ("mpicxx", "C++"),
            Language::Fortran => ("mpifort", "Fortran"),
        }
    }
}

/// Words of the wrappers' own, and what they mean.
pub(crate) const WORDS: [(&str, &str); 7] = [
    ("-cc=NAME, -cxx=NAME, -fc=NAME", "call this compiler"),
    (
        "--count",
        "count what the program computes, for runs on a chip (x86-64; needs no vectors, so hosts run it slower)",
    ),
    (
        "-mpi-strict",
        "only the names of the standard ABI: no MPI_Fint and f2c, nothing of MPI-1 (or CORELACE_STRICT=1)",
    ),
    ("-show, -showme", "print the command instead of running it"),
    ("-showme:WHAT", "print a part: compile, link, incdirs, libdirs, libs, command, version, help"),
    ("-compile-info, -link-info", "print the command that compiles, or that links"),
    ("-help", "this; --help is the compiler's"),
];

fn help(name: &str, width: usize) -> String {
    let about = "Calls the compiler with what an MPI program needs. The compiler is that of CC (CXX for C++, FC for \
                 Fortran), else cc (c++, gfortran). Words of its own:";
    let rows = WORDS.map(|(words, meaning)| terminal::row(words, 26, meaning, width));
    let about = terminal::lines(about, width).join("\n");
    format!("usage: {name} [what the compiler takes]\n\n{about}\n\n{}", rows.concat())
}

/// `mpicc WORDS…`. Does not return if the compiler can simply take this process's place.
pub fn main(language: Language, words: Vec<OsString>) -> Result<u8, String> {
    let (toolchain, words) = Toolchain::asked_for(language, words)?;
    let analysis = analyse(&words);
    if let Some(query) = analysis.query {
        return answer(query, toolchain, words);
    }
    if analysis.stage == Stage::Nothing {
        return Err(refused(&toolchain.program, toolchain.command(&words).exec()));
    }
    let prefix = prefix::locate()?;
    toolchain.prepared(&prefix)?.build(words, &prefix)
}

/// Compiles, and links if the words ask for it; the compiler's exit status.
pub fn build(language: Language, words: Vec<OsString>, prefix: &Prefix) -> Result<u8, String> {
    let (toolchain, words) = Toolchain::asked_for(language, words)?;
    toolchain.prepared(prefix)?.build(words, prefix)
}

/// Which compiler would be called, and which version of it that is; `None` if it does not say.
pub(crate) fn identity(language: Language) -> Option<String> {
    let (toolchain, _) = Toolchain::asked_for(language, Vec::new()).ok()?;
    let version = toolchain.answer(&["--version"])?;
    Some(format!("{:?} {:?} {version}", toolchain.program, toolchain.first))
}

/// A compiler and what is known of it.
struct Toolchain {
    language: Language,
    program: OsString,
    /// Words that belong to the compiler, as in `CC="ccache gcc"`.
    first: Vec<OsString>,
    /// Only the names of the standard ABI, without those for old programs and for Fortran's handles.
    strict: bool,
    /// What the program computes is counted: the compiler's own assembler, before which ours comes.
    count: Option<OsString>,
    /// What a Fortran compiler needs, once it is known that there is something to compile.
    modules: Option<fortran::Modules>,
    is_gcc: OnceCell<bool>,
}

/// How a program is to be linked.
struct Linking {
    /// All words of the command.
    words: Vec<OsString>,
    /// The linker that ours calls; none where the compiler calls its own, for a dual-use program.
    linker: Option<OsString>,
}

impl Toolchain {
    /// The compiler, and the words without those that are for the wrapper: `-cc=NAME` or `-cxx=NAME`, as MPICH has it, `--count` and
    /// `-mpi-strict`.
    fn asked_for(language: Language, words: Vec<OsString>) -> Result<(Toolchain, Vec<OsString>), String> {
        let mut count = false;
        let mut strict = std::env::var_os("CORELACE_STRICT").is_some_and(|value| value == "1");
        let mut name = None;
        let mut rest = Vec::with_capacity(words.len());
        for word in words {
            let text = word.to_str().unwrap_or_default();
            let named = ["-cc=", "-cxx=", "-CC=", "-fc="].iter().find_map(|start| text.strip_prefix(start));
            match named {
                Some(given) => name = Some(given.to_owned()),
                None if text == "-mpi-strict" => strict = true,
                None if text == count::WORD => count = true,
                None => rest.push(word),
            }
        }
        if language == Language::Fortran {
            fortran::check(&rest)?;
        }
        let (program, first) = compiler(language, name);
        let mut toolchain = Toolchain {
            language,
            program,
            first,
            strict,
            count: None,
            modules: None,
            is_gcc: OnceCell::new(),
        };
        if count {
            count::check(&rest, analyse(&rest).stage == Stage::Library)?;
            toolchain.count = Some(toolchain.answer(&["-print-prog-name=as"]).unwrap_or("as".into()).into());
        }
        Ok((toolchain, rest))
    }

    /// With the modules that a Fortran compiler reads, made if this compiler has none yet.
    fn prepared(mut self, prefix: &Prefix) -> Result<Self, String> {
        if self.language == Language::Fortran {
            self.modules = Some(fortran::modules(&self, prefix)?);
        }
        Ok(self)
    }

    fn build(&self, words: Vec<OsString>, prefix: &Prefix) -> Result<u8, String> {
        let analysis = analyse(&words);
        match self.linking(&words, prefix) {
            Some(Linking { words, linker: Some(linker) }) => {
                let mut command = self.command(&words);
                command.env(link::LINKER, linker).env(link::SPEAKER, self.language.names().0);
                run(command)
            }
            Some(Linking { words: dual, linker: None }) => {
                self.link_dual_use(dual, self.ordinary(&words, prefix, Stage::Program))
            }
            None => run(self.command(&self.ordinary(&words, prefix, analysis.stage))),
        }
    }

    fn command(&self, words: &[OsString]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.first).args(words);
        if let Some(assembler) = &self.count {
            command.env(count::ASSEMBLER, assembler);
        }
        command
    }

    /// The words of a command that makes anything but a dual-use program.
    fn ordinary(&self, words: &[OsString], prefix: &Prefix, stage: Stage) -> Vec<OsString> {
        let mut all = words.to_vec();
        all.extend(self.header_words(prefix));
        // A shared library is the user's own affair; an object may become part of a program.
        if stage != Stage::Library {
            all.extend(self.code_words(prefix));
        }
        if matches!(stage, Stage::Program | Stage::Library) {
            all.extend(self.library_words(prefix));
        }
        if words.iter().any(|word| word == "-static" || word == "-static-pie") {
            // What the shared library brings along by itself.
            all.extend(["-lpthread", "-ldl", "-lm"].map(OsString::from));
            if self.modules.as_ref().is_some_and(fortran::Modules::is_of_gnu) {
                all.extend(flags("static-gfortran").map(OsString::from));
            }
        }
        all
    }

    /// How to make a program of which there can be copies; `None` if the words ask for something else, or the parts for one are missing.
    fn linking(&self, words: &[OsString], prefix: &Prefix) -> Option<Linking> {
        let analysis = analyse(words);
        if analysis.stage != Stage::Program || analysis.ordinary {
            return None;
        }
        let lib = prefix.lib();
        if !lib.join("libcorelace_program.a").exists() {
            return None;
        }
        // The run-time library of another Fortran compiler would share its units among ranks.
        if self.modules.as_ref().is_some_and(|modules| !modules.is_of_gnu()) {
            return None;
        }
        self.two_forms(words, prefix).or_else(|| self.dual_use(words, prefix))
    }

    /// An executable that carries the form for copies; `None` if the compiler does not call the linker that makes it so.
    fn two_forms(&self, words: &[OsString], prefix: &Prefix) -> Option<Linking> {
        let directory = prefix.lib().join(link::DIRECTORY);
        let mut all = self.with_archives(words, prefix, "program", |flag| flag.into());
        let mut place = OsString::from("-B");
        place.push(&directory);
        // Before those of the user: what they name is the linker that ours calls.
        all.insert(0, place.clone());
        let linker = if self.is_gcc() {
            let name = words::linker(words)?;
            let asked = self.program_name(&[&[place], words].concat(), &name)?;
            if Path::new(&asked) != directory.join(&name) {
                return None;
            }
            self.program_name(words, &name)?
        } else {
            let name = self.linker_in(&directory, &all)?;
            self.program_name(words, name)?
        };
        exists(Path::new(&linker)).then_some(Linking { words: all, linker: Some(linker.into()) })
    }

    /// Where a compiler with these words finds a program of this name; the name itself for one that is searched for as commands are.
    fn program_name(&self, words: &[OsString], name: &str) -> Option<String> {
        self.reply(&[words, &[format!("-print-prog-name={name}").into()]].concat())
    }

    /// Under which of its names a compiler that tells its commands (Clang and its kin) would call our linker.
    fn linker_in(&self, directory: &Path, words: &[OsString]) -> Option<&'static str> {
        let told = self.command(&[words, &["-###".into()]].concat()).stdin(Stdio::null()).output().ok()?;
        let told = String::from_utf8_lossy(&told.stderr).into_owned();
        let called = |name: &&&str| told.contains(&format!("\"{}\"", directory.join(name).display()));
        link::NAMES.iter().find(called).copied()
    }

    /// One shared object that starts like a program; `None` if the compiler has no start file for it.
    fn dual_use(&self, words: &[OsString], prefix: &Prefix) -> Option<Linking> {
        let start = self.answer(&["-print-file-name=Scrt1.o"])?;
        if !Path::new(&start).is_absolute() {
            return None;
        }
        let mut all = self.with_archives(words, prefix, "link", |flag| flag.replace("{start}", &start));
        // The start file comes after the user's archives: a `main` in one of them must be asked for before.
        all.insert(0, "-Wl,-u,main".into());
        Some(Linking { words: all, linker: None })
    }

    /// The words of an ordinary program, and those of the line `line` and its kin of `shim/flags.txt`.
    fn with_archives(
        &self,
        words: &[OsString],
        prefix: &Prefix,
        line: &str,
        fill: impl Fn(&str) -> String,
    ) -> Vec<OsString> {
        let lib = prefix.lib();
        let fill = |flag: &str| OsString::from(fill(flag).replace("{lib}", &lib.to_string_lossy()));
        let mut all = self.ordinary(words, prefix, Stage::Program);
        all.extend(flags(line).map(fill));
        // The archive's streams are those of libstdc++.
        let other_library = words.iter().any(|word| word == "-stdlib=libc++");
        if self.language == Language::Cxx && !other_library && lib.join("libcorelace_program_cxx.a").exists()
        {
            all.extend(flags(&format!("{line}-cxx")).map(fill));
        }
        if self.language == Language::Fortran {
            // Before the compiler's library, which may be named anywhere.
            all.splice(0..0, flags("link-gfortran").map(fill));
        }
        all
    }

    /// Tries the dual-use program first. Its messages are held back: if only the linker objects, an ordinary program may
    /// still be possible (objects that were compiled without -fPIC, say).
    fn link_dual_use(&self, dual: Vec<OsString>, ordinary: Vec<OsString>) -> Result<u8, String> {
        let mut command = self.command(&dual);
        let coloured = dual.iter().any(|word| word.to_string_lossy().starts_with("-fdiagnostics-color"));
        if std::io::stderr().is_terminal() && !coloured {
            command.arg("-fdiagnostics-color=always");
        }
        let output = command.stdin(Stdio::inherit()).stdout(Stdio::inherit()).stderr(Stdio::piped()).output();
        let output = output.map_err(|error| refused(&self.program, error))?;
        let text = String::from_utf8_lossy(&output.stderr);
        let linker =
            ["collect2:", "ld returned", "linker command failed"].iter().any(|sign| text.contains(sign));
        if output.status.success() || !linker {
            _ = std::io::stderr().write_all(&output.stderr);
            return Ok(status(output.status));
        }
        let result = run(self.command(&ordinary))?;
        if result == 0 {
            eprintln!("{}: {}", self.language.names().0, for_processes_only(&linker_says(&text)));
        }
        Ok(result)
    }

    /// What code needs to be part of a dual-use program.
    fn code_words(&self, prefix: &Prefix) -> Vec<OsString> {
        let mut words: Vec<_> = flags("compile").map(OsString::from).collect();
        // Other compilers have no such thing as a unique symbol, and refuse the flag.
        if self.is_gcc() {
            words.extend(flags("compile-gcc").map(OsString::from));
        }
        if let Some(modules) = &self.modules {
            words.extend(modules.code_words());
        }
        if self.count.is_some() {
            words.extend(count::words(prefix, self.is_gcc()));
        }
        words
    }

    /// The words with which `mpi.h` is found, with its names for old programs.
    fn header_words(&self, prefix: &Prefix) -> Vec<OsString> {
        let mut include = OsString::from("-I");
        include.push(prefix.include());
        let mut words = vec![include];
        if let Some(modules) = &self.modules {
            words.extend(modules.header_words());
        } else if !self.strict {
            words.push("-DCORELACE_COMPATIBLE".into());
        }
        words
    }

    /// The words that link the MPI library: an absolute path to find it at run time, which `LD_LIBRARY_PATH` can override.
    fn library_words(&self, prefix: &Prefix) -> Vec<OsString> {
        let lib = prefix.lib();
        let with = |before: &str| {
            let mut word = OsString::from(before);
            word.push(&lib);
            word
        };
        let mut words = self.modules.as_ref().map_or_else(Vec::new, fortran::Modules::library_words);
        words.extend([with("-L"), with("-Wl,-rpath,"), "-lmpi_abi".into()]);
        words
    }

    fn answer(&self, question: &[&str]) -> Option<String> {
        self.reply(&question.iter().map(OsString::from).collect::<Vec<_>>())
    }

    /// What the compiler prints when it is called with these words.
    fn reply(&self, words: &[OsString]) -> Option<String> {
        let output = self.command(words).stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_string())
    }

    fn is_gcc(&self) -> bool {
        let ask =
            || self.answer(&["--version"]).is_some_and(|text| text.contains("Free Software Foundation"));
        *self.is_gcc.get_or_init(ask)
    }
}

/// Answers questions about the wrapper itself. Build systems put these words into commands of their own, so only the
/// flags of ordinary programs are named, unless the question comes with input files.
fn answer(query: Query, toolchain: Toolchain, words: Vec<OsString>) -> Result<u8, String> {
    let prefix = prefix::locate()?;
    let toolchain = toolchain.prepared(&prefix)?;
    let words: Vec<_> = words.into_iter().filter(|word| words::query(word).is_none()).collect();
    let analysis = analyse(&words);
    let include = toolchain.header_words(&prefix);
    let mut call = vec![toolchain.program.clone()];
    call.extend(toolchain.first.iter().cloned());
    let line = match query {
        Query::Show if analysis.stage == Stage::Nothing => {
            [call, words, include, toolchain.library_words(&prefix)].concat()
        }
        Query::Show => {
            let linking = toolchain.linking(&words, &prefix).map(|linking| linking.words);
            let all = linking.unwrap_or_else(|| toolchain.ordinary(&words, &prefix, analysis.stage));
            [call, all].concat()
        }
        Query::CompileCommand => [call, words, include].concat(),
        Query::LinkCommand => [call, words, toolchain.library_words(&prefix)].concat(),
        Query::CompileFlags => include,
        Query::LinkFlags => toolchain.library_words(&prefix),
        Query::IncludeDirectories => vec![prefix.include().into_os_string()],
        Query::LibraryDirectories => vec![prefix.lib().into_os_string()],
        Query::Libraries if toolchain.language == Language::Fortran => {
            vec!["corelace_fortran".into(), "mpi_abi".into()]
        }
        Query::Libraries => vec!["mpi_abi".into()],
        Query::Command => call,
        Query::Version => {
            let (name, language) = toolchain.language.names();
            println!("{name}: Corelace {} (Language: {language})", env!("CARGO_PKG_VERSION"));
            return Ok(0);
        }
        Query::Help => {
            print!("{}", help(toolchain.language.names().0, terminal::width()));
            return Ok(0);
        }
    };
    println!("{}", line.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "));
    Ok(0)
}

/// A word as a shell would need it.
fn quoted(word: &OsStr) -> String {
    let text = word.to_string_lossy();
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./,=+:@%".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.into_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

/// The note on a program of which there can be no copies.
pub(crate) fn for_processes_only(why: &str) -> String {
    format!("note: made a program for --ranks process only, because {why}")
}

/// Why a linker has failed: of all that it says, the line that says most.
pub(crate) fn linker_says(text: &str) -> String {
    let telling = |line: &&str| line.contains("ld:") || line.contains("error");
    format!("the linker says: {}", text.lines().find(telling).or(text.lines().next()).unwrap_or("").trim())
}

/// Whether a command can be found, by its place or where commands are.
fn exists(program: &Path) -> bool {
    if program.components().count() > 1 {
        return program.exists();
    }
    let places = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&places).any(|place| place.join(program).exists())
}

/// The words of a line of `shim/flags.txt`.
pub(crate) fn flags(key: &str) -> impl Iterator<Item = &'static str> {
    let line = FLAGS.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'));
    line.unwrap_or_else(|| panic!("shim/flags.txt has no line \"{key}:\"")).split_whitespace()
}

/// What this wrapper is called by.
pub(crate) const NAMES: [&str; 7] = ["mpicc", "mpicxx", "mpic++", "mpiCC", "mpifort", "mpif77", "mpif90"];

/// The compiler that was named, else that of the environment, else the system's.
fn compiler(language: Language, named: Option<String>) -> (OsString, Vec<OsString>) {
    let (variable, default) = match language {
        Language::C => ("CC", "cc"),
        Language::Cxx => ("CXX", "c++"),
        Language::Fortran => ("FC", "gfortran"),
    };
    let value = named.or_else(|| std::env::var(variable).ok()).unwrap_or_default();
    let mut words = value.split_whitespace().map(OsString::from);
    let program = words.next().unwrap_or_else(|| default.into());
    // A build system may well export CC=mpicc for our own benefit.
    let name = Path::new(&program).file_name().unwrap_or_default();
    let own = NAMES.iter().any(|own| crate::tool(name.as_bytes()) == own.as_bytes());
    if own { (default.into(), Vec::new()) } else { (program, words.collect()) }
}

fn run(mut command: Command) -> Result<u8, String> {
    let result = command.status().map_err(|error| refused(command.get_program(), error))?;
    Ok(status(result))
}

pub(crate) fn status(result: std::process::ExitStatus) -> u8 {
    match (result.code(), result.signal()) {
        (Some(code), _) => code as u8,
        (None, signal) => (128 + signal.unwrap_or(0)) as u8,
    }
}

fn refused(program: &OsStr, error: std::io::Error) -> String {
    format!(
        "cannot run the compiler \"{}\": {error}; set CC, CXX or FC to one that exists",
        program.display()
    )
}

//! `mpirun prog.c`: compiles a source file into memory, or finds it compiled in the user's cache.
//!
//! Invariant: no file is left behind outside the cache. The linker needs a path to write to, so the program is made in a fresh directory of
//! the temporary one, copied into memory (or only opened, where memory may not be executed), and the directory is removed before the first rank starts; an interrupt from the
//! keyboard during compilation removes it too.

use std::ffi::OsString;
use std::fs::{DirBuilder, File};
use std::io::{IsTerminal, Write};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::SystemTime;

use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::Errno;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::cache::{self, Cache};
use crate::count;
use crate::prefix::{self, Prefix};
use crate::wrapper::{self, Language};

/// A program in memory; it can be started while this value lives.
#[derive(Debug)]
pub struct Compiled {
    file: File,
}

impl Compiled {
    /// A path for `exec` and for reading, valid in this process and its children while this value lives.
    pub fn path(&self) -> PathBuf {
        // By this process's number: children need not inherit the descriptor.
        PathBuf::from(format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd()))
    }
}

/// The endings of source files.
pub const ENDINGS: [&str; 18] = [
    "c", "cc", "cpp", "cxx", "C", "c++", "f", "for", "f77", "f90", "f95", "f03", "f08", "F", "F90", "F95",
    "F03", "F08",
];

/// The language of a source file by its name; `None` for anything that is not one.
pub fn language(path: &Path) -> Option<Language> {
    match path.extension()?.to_str()? {
        "c" => Some(Language::C),
        "cc" | "cpp" | "cxx" | "C" | "c++" => Some(Language::Cxx),
        "f" | "for" | "f77" | "f90" | "f95" | "f03" | "f08" | "F" | "F90" | "F95" | "F03" | "F08" => {
            Some(Language::Fortran)
        }
        _ => None,
    }
}

/// How a source file is compiled.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// What the program computes is counted (`mpicc --count`).
    pub counted: bool,
    /// Nothing is said of the compilation.
    pub quiet: bool,
    /// Where the program may be found and is kept.
    pub cache: Option<Cache>,
}

/// Compiles and links one source file as `mpicc -O2 -g` does, unless the cache has the program. The compiler's messages go to standard error as they are.
pub fn compile(
    language: Language,
    source: &Path,
    prefix: &Prefix,
    settings: &Settings,
) -> Result<Compiled, String> {
    let kept = settings
        .cache
        .as_ref()
        .and_then(|cache| Some((cache, recipe(language, source, prefix, settings.counted)?)));
    if let Some(program) = kept.as_ref().and_then(|(cache, recipe)| cache.find(recipe)) {
        // Where files in memory may not be executed, the linker's own file is needed.
        if let Ok(file) = in_memory(&memory_name(source), &program) {
            return Ok(Compiled { file });
        }
    }
    if !settings.quiet && std::io::stderr().is_terminal() {
        crate::warn(&format!("mpirun: compiling {}", source.display()));
    }
    let directory = scratch().map_err(|error| format!("no temporary directory to compile in: {error}"))?;
    // From here until the directory is gone an interrupt ends the compiler (it gets it too), not this process.
    let interrupted = Arc::new(AtomicBool::new(false));
    let handlers: Vec<_> = launch::not_ignored(&[SIGINT, SIGTERM, SIGHUP])
        .into_iter()
        .filter_map(|signal| signal_hook::flag::register(signal, interrupted.clone()).ok())
        .collect();
    let result = compile_in(&directory, language, source, prefix, settings.counted, kept);
    _ = std::fs::remove_dir_all(&directory);
    for handler in handlers {
        signal_hook::low_level::unregister(handler);
    }
    result
}

fn compile_in(
    directory: &Path,
    language: Language,
    source: &Path,
    prefix: &Prefix,
    counted: bool,
    kept: Option<(&Cache, String)>,
) -> Result<Compiled, String> {
    let began = SystemTime::now();
    let status = wrapper::build(language, words(directory, language, source, counted), prefix)?;
    if status != 0 {
        return Err(format!(
            "compiling {} failed: the compiler ended with status {status}",
            source.display()
        ));
    }
    let failed = |error: std::io::Error| format!("no memory for the compiled program: {error}");
    let linked = product(directory, source);
    let program = std::fs::read(&linked).map_err(failed)?;
    if let Some((cache, recipe)) = kept {
        let headers = match language {
            Language::Fortran => Some(Vec::new()),
            _ => std::fs::read(directory.join(RULE)).ok().map(|rule| cache::prerequisites(&rule)),
        };
        // What changed meanwhile has another recipe.
        let unchanged = || self::recipe(language, source, prefix, counted).as_ref() == Some(&recipe);
        if let Some(headers) = headers.filter(|_| unchanged()) {
            cache.keep(&recipe, began, &headers, &program);
        }
    }
    let file = match in_memory(&memory_name(source), &program) {
        // Where files in memory may not be executed, the linker's own file is: it needs no directory once it is open.
        Err(Errno::ACCESS | Errno::PERM) => File::open(&linked),
        made => made.map_err(std::io::Error::from),
    };
    Ok(Compiled { file: file.map_err(failed)? })
}

/// Where a compiler writes what it has read.
const RULE: &str = "rule.d";

fn product(directory: &Path, source: &Path) -> PathBuf {
    directory.join(source.file_stem().unwrap_or_default())
}

/// The words for the compiler.
fn words(directory: &Path, language: Language, source: &Path, counted: bool) -> Vec<OsString> {
    let product = product(directory, source);
    let mut words = vec!["-O2".into(), "-g".into(), source.into(), "-o".into(), product.into(), "-lm".into()];
    match language {
        // Modules of the program go where the program is made.
        Language::Fortran => words.extend(["-J".into(), directory.into()]),
        _ => words.extend(["-MD".into(), "-MF".into(), directory.join(RULE).into()]),
    }
    if counted {
        words.push(count::WORD.into());
    }
    words
}

/// What compilers look at besides their words.
const VARIABLES: [&str; 11] = [
    "CC",
    "CXX",
    "FC",
    "CPATH",
    "C_INCLUDE_PATH",
    "CPLUS_INCLUDE_PATH",
    "LIBRARY_PATH",
    "COMPILER_PATH",
    "GCC_EXEC_PREFIX",
    "SOURCE_DATE_EPOCH",
    "CORELACE_STRICT",
];

/// What a program is made of, as far as it is known before the compilation; `None` if what it is made of cannot be known.
fn recipe(language: Language, source: &Path, prefix: &Prefix, counted: bool) -> Option<String> {
    let text = std::fs::read(source).ok().filter(|text| cache::is_knowable(text))?;
    let here = std::env::current_dir().ok()?;
    let mut parts: Vec<Vec<u8>> = Vec::new();
    let mut add = |part: &[u8]| parts.push(part.to_vec());
    add(crate::commands::version("").as_bytes());
    add(wrapper::identity(language)?.as_bytes());
    for word in words(Path::new(""), language, source, counted) {
        add(word.as_bytes());
    }
    for variable in VARIABLES {
        add(std::env::var_os(variable).unwrap_or_default().as_bytes());
    }
    // Debug information names the directory, and the program the place of the library.
    add(here.as_os_str().as_bytes());
    add(prefix.root().as_os_str().as_bytes());
    let tools = ["libcorelace_program.a", "libcorelace_program_cxx.a", "libcorelace_fortran.a"];
    for tool in tools.map(|name| prefix.lib().join(name)).iter().chain([&prefix::executable().ok()?]) {
        add(state(tool).as_bytes());
    }
    if language == Language::Fortran {
        let directory = source.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(&here);
        for module in modules(&text, &[&here, directory])? {
            add(module.as_os_str().as_bytes());
            add(&std::fs::read(module).ok()?);
        }
    }
    add(&text);
    Some(cache::digest(parts.iter().map(Vec::as_slice)))
}

/// A file's size and time of change.
fn state(file: &Path) -> String {
    std::fs::metadata(file).map_or_else(
        |_| String::new(),
        |found| format!("{} {}.{}", found.len(), found.mtime(), found.mtime_nsec()),
    )
}

/// The compiled modules that a Fortran compiler may find in these directories; `None` for a source that includes files of its own,
/// of which such compilers tell nothing.
fn modules(text: &[u8], directories: &[&Path]) -> Option<Vec<PathBuf>> {
    let text = String::from_utf8_lossy(text).to_lowercase();
    let ours = |line: &str| {
        line.contains("mpif.h") && !directories.iter().any(|directory| directory.join("mpif.h").exists())
    };
    let includes =
        |line: &&str| line.trim_start().trim_start_matches('#').trim_start().starts_with("include");
    if !text.lines().filter(includes).all(ours) {
        return None;
    }
    let entries = directories.iter().filter_map(|directory| std::fs::read_dir(directory).ok()).flatten();
    let is_module =
        |path: &PathBuf| path.extension().is_some_and(|ending| ending == "mod" || ending == "smod");
    let mut found: Vec<_> = entries.flatten().map(|entry| entry.path()).filter(is_module).collect();
    found.sort();
    found.dedup();
    Some(found)
}

/// What a program in memory is called: by its source, so that no two of a job that differ have one name, by which their call sites are told
/// apart. The end of a path that is too long.
fn memory_name(source: &Path) -> String {
    /// The system's limit.
    const LONGEST: usize = 249;
    let path = source.to_string_lossy().replace('\0', "");
    let cut = (path.len().saturating_sub(LONGEST)..).find(|at| path.is_char_boundary(*at));
    path[cut.unwrap_or(0)..].to_owned()
}

/// A copy of a program in memory, open for reading: what is open for writing cannot be executed.
fn in_memory(name: &str, program: &[u8]) -> Result<File, Errno> {
    let refused = |error: std::io::Error| Errno::from_io_error(&error).unwrap_or(Errno::IO);
    let file = match memfd_create(name, MemfdFlags::CLOEXEC | MemfdFlags::EXEC) {
        // A kernel that has never heard of files in memory that may not be executed.
        Err(Errno::INVAL) => memfd_create(name, MemfdFlags::CLOEXEC)?,
        made => made?,
    };
    let mut file = File::from(file);
    file.write_all(program).map_err(refused)?;
    File::open(format!("/proc/self/fd/{}", file.as_raw_fd())).map_err(refused)
}

fn scratch() -> std::io::Result<PathBuf> {
    for attempt in 0.. {
        let path = std::env::temp_dir().join(format!("corelace-{}-{attempt}", std::process::id()));
        match DirBuilder::new().mode(0o700).create(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists && attempt < 1000 => {}
            made => return made.map(|()| path),
        }
    }
    unreachable!("the loop ends by returning")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_ending_has_a_language() {
        for ending in ENDINGS {
            assert!(language(Path::new(&format!("a.{ending}"))).is_some(), "{ending}");
        }
    }

    #[test]
    fn a_fortran_source_depends_on_modules_beside_it_and_is_unknown_if_it_includes_files() {
        let room = tempfile::tempdir().unwrap();
        let found = |text: &str| modules(text.as_bytes(), &[room.path()]);
        assert_eq!(found("use mpi\n      INCLUDE 'mpif.h'\nincluded = 1"), None);
        assert_eq!(found("use mpi\n      INCLUDE 'mpif.h'\nx = 1"), Some(Vec::new()));
        assert_eq!(found("#include \"mine.h\""), None);
        let module = room.path().join("mine.mod");
        std::fs::write(&module, "").unwrap();
        assert_eq!(found("use mine"), Some(vec![module]));
        std::fs::write(room.path().join("mpif.h"), "").unwrap();
        assert_eq!(found("      include 'mpif.h'"), None);
    }
}

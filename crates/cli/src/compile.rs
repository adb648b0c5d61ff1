//! `mpirun prog.c`: compiles a source file into memory.
//!
//! Invariant: no file is left behind. The linker needs a path to write to, so the program is made in a fresh directory of
//! the temporary one, copied into memory (or only opened, where memory may not be executed), and the directory is removed before the first rank starts; an interrupt from the
//! keyboard during compilation removes it too.

use std::fs::{DirBuilder, File};
use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::Errno;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::count;
use crate::prefix::Prefix;
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

/// Compiles and links one source file as `mpicc -O2 -g` does, with `--count` if that is wanted. The compiler's messages go to standard error as they are.
pub fn compile(
    language: Language,
    source: &Path,
    prefix: &Prefix,
    counted: bool,
) -> Result<Compiled, String> {
    let directory = scratch().map_err(|error| format!("no temporary directory to compile in: {error}"))?;
    // From here until the directory is gone an interrupt ends the compiler (it gets it too), not this process.
    let interrupted = Arc::new(AtomicBool::new(false));
    let handlers: Vec<_> = launch::not_ignored(&[SIGINT, SIGTERM, SIGHUP])
        .into_iter()
        .filter_map(|signal| signal_hook::flag::register(signal, interrupted.clone()).ok())
        .collect();
    let result = compile_in(&directory, language, source, prefix, counted);
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
) -> Result<Compiled, String> {
    let program = directory.join(source.file_stem().unwrap_or_default());
    let mut words =
        vec!["-O2".into(), "-g".into(), source.into(), "-o".into(), program.clone().into(), "-lm".into()];
    if language == Language::Fortran {
        // Modules of the program go where the program is made.
        words.extend(["-J".into(), directory.into()]);
    }
    if counted {
        words.push(count::WORD.into());
    }
    let status = wrapper::build(language, words, prefix)?;
    if status != 0 {
        return Err(format!(
            "compiling {} failed: the compiler ended with status {status}",
            source.display()
        ));
    }
    let file = match in_memory(&memory_name(source), &program) {
        // Where files in memory may not be executed, the linker's own file is: it needs no directory once it is open.
        Err(Errno::ACCESS | Errno::PERM) => File::open(&program),
        made => made.map_err(std::io::Error::from),
    };
    Ok(Compiled { file: file.map_err(|error| format!("no memory for the compiled program: {error}"))? })
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
fn in_memory(name: &str, program: &Path) -> Result<File, Errno> {
    let refused = |error: std::io::Error| Errno::from_io_error(&error).unwrap_or(Errno::IO);
    let file = match memfd_create(name, MemfdFlags::CLOEXEC | MemfdFlags::EXEC) {
        // A kernel that has never heard of files in memory that may not be executed.
        Err(Errno::INVAL) => memfd_create(name, MemfdFlags::CLOEXEC)?,
        made => made?,
    };
    let mut file = File::from(file);
    file.write_all(&std::fs::read(program).map_err(refused)?).map_err(refused)?;
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

//! Why a program could not be loaded. Each message names the file and what to do about it.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why a program (or the MPI library of a host) could not be loaded.
#[derive(Debug)]
pub enum LoadError {
    /// The file cannot be read.
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file is a script, or for another machine.
    NotElf {
        /// The file.
        path: PathBuf,
        /// What was found instead.
        found: String,
    },
    /// The file is a program, but not one that can be loaded more than once.
    NotDualUse {
        /// The file.
        path: PathBuf,
        /// How that was noticed.
        reason: &'static str,
    },
    /// The program and this library come from different installations.
    Version {
        /// The file.
        path: PathBuf,
    },
    /// A memfd for a copy could not be made or filled.
    Copy {
        /// The file.
        path: PathBuf,
        /// Its size in memory, in bytes.
        bytes: u64,
        /// What the system said.
        source: io::Error,
    },
    /// There is no address space for copies, or no more mappings.
    Room {
        /// The file.
        path: PathBuf,
        /// How many copies.
        copies: usize,
        /// Bytes that each takes in memory.
        bytes: usize,
        /// What the system said.
        source: io::Error,
    },
    /// The dynamic linker refused the copy, typically because a library is missing.
    Link {
        /// The file.
        path: PathBuf,
        /// The dynamic linker's words.
        message: String,
    },
    /// The MPI library lacks the host's entry point.
    Symbol {
        /// The library.
        path: PathBuf,
        /// The missing symbol.
        symbol: &'static str,
    },
}

/// Whether a program runs scripts, so that building it anew is not what its user has in mind.
fn is_interpreter(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    ["python", "perl", "ruby", "julia", "R", "bash", "sh", "node"].iter().any(|known| {
        name.strip_prefix(known).is_some_and(|rest| rest.chars().all(|c| c.is_ascii_digit() || c == '.'))
    })
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LoadError::Read { path, source } => {
                write!(f, "cannot read the program {}: {source}", path.display())
            }
            LoadError::NotElf { path, found } => write!(
                f,
                "{} is {found}, expected a program built by mpicc for this machine: ranks that are threads or fibers \
                 are loaded into one process; use --ranks process for other programs",
                path.display()
            ),
            LoadError::NotDualUse { path, .. } if is_interpreter(path) => write!(
                f,
                "{} cannot be loaded once per rank: interpreters keep one state for a whole process; use --ranks \
                 process for scripts",
                path.display()
            ),
            LoadError::NotDualUse { path, reason } => write!(
                f,
                "{} cannot be loaded once per rank ({reason}): mpicc did not link it; build it with CC=mpicc (CMake: \
                 -DCMAKE_C_COMPILER=mpicc; C++: mpicxx, Fortran: mpifort with gfortran) or use --ranks process",
                path.display()
            ),
            LoadError::Version { path } => write!(
                f,
                "{} was built by another version of mpicc than this library's: rebuild it or use --ranks process",
                path.display()
            ),
            LoadError::Copy { path, bytes, source } => {
                write!(f, "no memory for a copy of {} ({bytes} bytes): {source}", path.display())
            }
            LoadError::Room { path, copies, bytes, source } => write!(
                f,
                "no room for {copies} copies of {}, {bytes} bytes each: {source}; start fewer ranks, or raise the limit of address space \
                 (ulimit -v) or of mappings (sysctl vm.max_map_count)",
                path.display()
            ),
            LoadError::Link { path, message } => write!(f, "cannot load {}: {message}", path.display()),
            LoadError::Symbol { path, symbol } => {
                write!(f, "{} has no symbol {symbol}: it is of another version than corelace", path.display())
            }
        }
    }
}

impl std::error::Error for LoadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            LoadError::Read { source, .. }
            | LoadError::Copy { source, .. }
            | LoadError::Room { source, .. } => Some(source),
            _ => None,
        }
    }
}

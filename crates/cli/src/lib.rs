//! What starts and builds MPI programs: `corelace run`, the compiler wrappers and `corelace status`.
//!
//! One executable has several names (links), which keeps an installation relocatable: whatever it
//! needs is found relative to `/proc/self/exe`. The name decides what it does: `corelace`,
//! `mpirun`, `mpiexec`, `mpicc`, `mpicxx`, `mpifort`; the linker that these let compilers call;
//! the assembler of `mpicc --count`.
//!
//! Commands that no job needs (`bench`, `report`, `chips` and others) are in a second executable,
//! the laboratory, which `corelace` becomes when it is asked for one of them.
#![forbid(unsafe_code)]

mod advice;
pub mod cache;
mod commands;
pub mod compile;
pub mod count;
mod example;
pub mod flags;
mod link;
mod manual;
mod nodes;
pub mod prefix;
pub mod profile;
mod run;
pub mod surroundings;
pub mod terminal;
mod tracing;
pub mod wrapper;

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::ExitCode;

pub use commands::{OF_THE_LABORATORY, is_of_the_laboratory};
pub use manual::DESCRIBE;
pub use tracing::bytes;

/// The status of a launcher that could not start a job, as of a shell that cannot start a command.
pub const CANNOT_START: u8 = 127;

/// How this was built: `cargo xtask install` sets the variable when it optimises across crates.
pub const BUILD: &str = match option_env!("CORELACE_BUILD") {
    Some(_) => "release build",
    None => "quick build",
};

/// Prints what a command was asked for, with control characters of foreign text made visible. A
/// reader that has seen enough (`| head`) is no mistake.
pub fn say(text: &str) -> Result<(), String> {
    match std::io::Write::write_all(&mut std::io::stdout().lock(), pmi::visible(text).as_bytes()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(format!("standard output: {error}"))
        }
        _ => Ok(()),
    }
}

/// Tells the user something beside what was asked for, as [`say`] does.
pub fn warn(text: &str) {
    eprintln!("{}", pmi::visible(text));
}

/// The tool that is called by a name, which may have a suffix: several MPIs beside each other are
/// told apart by `mpirun.corelace` and `mpirun.openmpi`.
pub(crate) fn tool(name: &[u8]) -> &[u8] {
    let end = name.iter().position(|byte| *byte == b'.').filter(|_| name.starts_with(b"mpi"));
    &name[..end.unwrap_or(name.len())]
}

/// Does what the name and the words of this process ask for.
pub fn main() -> ExitCode {
    let mut words = std::env::args_os();
    let name = words.next().unwrap_or_default();
    let name = Path::new(&name).file_name().unwrap_or_default();
    let words: Vec<OsString> = words.collect();
    let result = match tool(name.as_bytes()) {
        b"mpirun" | b"mpiexec" => run::main("mpirun", words),
        b"mpicc" => wrapper::main(wrapper::Language::C, words),
        b"mpicxx" | b"mpic++" | b"mpiCC" => wrapper::main(wrapper::Language::Cxx, words),
        b"mpifort" | b"mpif77" | b"mpif90" => wrapper::main(wrapper::Language::Fortran, words),
        count::NAME => count::main(words),
        _ if link::NAMES.iter().any(|linker| name == *linker) => link::main(name, words),
        _ => commands::main(words),
    };
    match result {
        Ok(status) => ExitCode::from(status),
        Err(message) => {
            warn(&format!("{}: {message}", name.display()));
            ExitCode::from(CANNOT_START)
        }
    }
}

//! `cargo run --release -- run …`: Corelace out of its source tree, without installing anything.
//!
//! Cargo builds launcher and library for this executable in one call. What it has built is put
//! together beside it, in `prefix`, and the command becomes the `corelace` there. This executable
//! is also that `corelace`, so that cargo need not build two.
//!
//! Fortran programs and the laboratory need more than that; for them `cargo xtask install --quick`
//! makes a second installation, `prefix-whole`.
#![forbid(unsafe_code)]

use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use assemble::Parts;
use assemble::files::Outcome;
use cli::compile;
use cli::wrapper::Language;

fn main() -> ExitCode {
    let executable = match cli::prefix::executable() {
        Ok(executable) => executable,
        Err(error) => return failed(&error),
    };
    let Some(directory) = executable.parent().filter(|it| is_built_here(it)) else { return cli::main() };
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    let made = if needs_everything(&words) { whole(directory) } else { small(directory, &executable) };
    match made {
        Ok(prefix) => {
            let corelace = prefix.join("bin/corelace");
            let error = Command::new(&corelace).args(words).exec();
            failed(&format!("cannot start {}: {error}", corelace.display()))
        }
        Err(error) => failed(&error),
    }
}

fn failed(error: &str) -> ExitCode {
    eprintln!("corelace: {error}");
    ExitCode::from(cli::CANNOT_START)
}

/// Cargo marks its build directories. The copy in an installation is the launcher alone.
fn is_built_here(directory: &Path) -> bool {
    directory.join(".cargo-lock").exists() || directory.join("deps").is_dir()
}

/// Whether the words ask for Fortran or for the laboratory.
fn needs_everything(words: &[OsString]) -> bool {
    let is_fortran = |word: &OsString| compile::language(Path::new(word)) == Some(Language::Fortran);
    match words.first() {
        Some(command) if command == "fort" || cli::is_of_the_laboratory(command) => true,
        Some(command) if command == "run" => words.iter().any(is_fortran),
        _ => false,
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a package of the workspace").to_path_buf()
}

fn cargo() -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(root()).stdin(Stdio::null());
    cargo
}

/// Launcher, library and C, from what cargo has just built.
fn small(directory: &Path, executable: &Path) -> Outcome<PathBuf> {
    let prefix = directory.join("prefix");
    let archive = library(directory)?;
    let scratch = directory.join("install-small");
    assemble::make(&Parts { root: &root(), archive: &archive, executable, scratch: &scratch }, &prefix)?;
    Ok(prefix)
}

/// The static library, where cargo says that it is: its name has a number for the compiler and its
/// flags. Nothing is left to build.
fn library(directory: &Path) -> Outcome<PathBuf> {
    let mut cargo = cargo();
    cargo.args(["build", "--quiet", "--message-format", "json", "-p", "corelace-dev"]);
    match directory.file_name().and_then(OsStr::to_str) {
        Some("debug") | None => {}
        Some(profile) => _ = cargo.args(["--profile", profile]),
    }
    let said = cargo.output().map_err(|error| format!("cannot start {cargo:?}: {error}"))?;
    let messages = String::from_utf8_lossy(&said.stdout);
    let mut files = messages.split('"').filter(|word| word.ends_with(".a"));
    let found = files.find(|file| file.contains("libcorelace_capi"));
    found.map(PathBuf::from).filter(|_| said.status.success()).ok_or_else(|| {
        format!("{cargo:?} names no libcorelace_capi.a:\n{}", String::from_utf8_lossy(&said.stderr))
    })
}

/// An installation with everything. What takes long shows how far it is.
fn whole(directory: &Path) -> Outcome<PathBuf> {
    let prefix = directory.join("prefix-whole");
    let mut cargo = cargo();
    assemble::files::run(cargo.args(["xtask", "install", "--quick", "--prefix"]).arg(&prefix))?;
    Ok(prefix)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_fortran_and_the_laboratory_need_everything() {
        let needs = |text: &str| needs_everything(&text.split(' ').map(Into::into).collect::<Vec<_>>());
        assert!(needs("bench p2p") && needs("run -n 4 a/ring.f90") && needs("fort -c x.F90"));
        assert!(!needs("run -n 4 ring.c") && !needs("cc x.f90") && !needs("status 4") && !needs("--help"));
    }
}

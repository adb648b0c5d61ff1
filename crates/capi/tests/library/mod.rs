//! The library in both forms and its launcher, from one installation.
//!
//! C programs are compiled against it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The library under test.
#[derive(Clone)]
pub struct Library {
    pub archive: PathBuf,
    pub shared: PathBuf,
}

impl Library {
    /// The library of the installation under test.
    pub fn build() -> Library {
        let lib = installation().join("lib");
        Library { archive: lib.join("libmpi_abi.a"), shared: lib.join("libmpi_abi.so.1") }
    }

    /// A compiler run that makes `product` from sources of `tests/programs`; the library is still to be added.
    pub fn compiler(&self, sources: &[&str], product: &Path) -> Command {
        let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
        let mut compiler = Command::new("cc");
        compiler.args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-O1", "-I"]).arg(include());
        compiler.args(sources.iter().map(|source| programs.join(source))).arg("-o").arg(product);
        compiler
    }

    /// The same with the shared form.
    pub fn with_shared(&self, mut compiler: Command) -> Command {
        compiler.arg(&self.shared);
        compiler.arg(format!("-Wl,-rpath,{}", self.shared.parent().unwrap().display()));
        compiler
    }

    /// Compiles one program with the shared form.
    pub fn program(&self, source: &str) -> PathBuf {
        let product = scratch(source.trim_end_matches(".c")).join("program");
        succeed(&mut self.with_shared(self.compiler(&[source], &product)));
        product
    }
}

/// The directory of `mpi.h`.
pub fn include() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("include")
}

/// A directory for one test.
pub fn scratch(name: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(&directory).unwrap();
    directory
}

/// Runs a command that must succeed and returns what it printed.
#[track_caller]
pub fn succeed(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{}: {command:?}\n{out}{err}", output.status);
    out.into_owned()
}

/// The launcher of the installation under test.
pub fn mpirun() -> PathBuf {
    installation().join("bin/mpirun")
}

/// The installation that `CORELACE_TEST_PREFIX` names, or one that is made now, once.
fn installation() -> &'static Path {
    static MADE: OnceLock<PathBuf> = OnceLock::new();
    MADE.get_or_init(|| {
        if let Some(prefix) = std::env::var_os("CORELACE_TEST_PREFIX") {
            return PathBuf::from(prefix);
        }
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
        let prefix = target.join("test-prefix");
        let mut install = Command::new(env!("CARGO"));
        install.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
        install.args(["xtask", "install", "--quick", "--prefix"]).arg(&prefix);
        succeed(&mut install);
        prefix
    })
}

//! Builds the library in both forms once, and compiles C programs against it.
#![allow(dead_code, reason = "each test file uses a part")]

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
    /// The library of the installation that `CORELACE_TEST_PREFIX` names, or one that is built now. Cargo makes no static
    /// library for tests by itself.
    pub fn build() -> Library {
        static BUILT: OnceLock<Library> = OnceLock::new();
        BUILT
            .get_or_init(|| {
                if let Some(prefix) = std::env::var_os("CORELACE_TEST_PREFIX") {
                    let lib = Path::new(&prefix).join("lib");
                    return Library {
                        archive: lib.join("libmpi_abi.a"),
                        shared: lib.join("libmpi_abi.so.1"),
                    };
                }
                succeed(Command::new(env!("CARGO")).args(["build", "--quiet", "-p", "corelace-capi"]));
                let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
                let directory = scratch(concat!("library-", env!("CARGO_CRATE_NAME")));
                let archive = target.join("debug/libcorelace_capi.a");
                let script = directory.join("map");
                fs::write(&script, "{ global: MPI_*; PMPI_*; MPIX_*; corelace_*; local: *; };\n").unwrap();
                let shared = directory.join("libmpi_abi.so.1");
                let mut linker = Command::new("cc");
                linker.args([
                    "-shared",
                    "-Wl,--gc-sections",
                    "-Wl,-soname,libmpi_abi.so.1",
                    "-Wl,--whole-archive",
                ]);
                linker.arg(&archive).arg("-Wl,--no-whole-archive").arg("-o").arg(&shared);
                succeed(linker.arg(format!("-Wl,--version-script={}", script.display())));
                Library { archive, shared }
            })
            .clone()
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

/// A launcher with the library under test beside it.
pub struct Prefix(PathBuf);

impl Prefix {
    pub fn build() -> &'static Prefix {
        static BUILT: OnceLock<Prefix> = OnceLock::new();
        BUILT.get_or_init(|| {
            let library = Library::build();
            let root = library.shared.parent().unwrap().join("prefix");
            succeed(Command::new(env!("CARGO")).args(["build", "--quiet", "-p", "corelace-cli"]));
            let built = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().join("debug/corelace");
            let prefix = Prefix(root);
            for (original, place) in [(&library.shared, prefix.library()), (&built, prefix.mpirun())] {
                fs::create_dir_all(place.parent().unwrap()).unwrap();
                let _ = fs::remove_file(&place);
                fs::hard_link(original, &place).unwrap();
            }
            prefix
        })
    }

    pub fn mpirun(&self) -> PathBuf {
        self.0.join("bin/mpirun")
    }

    fn library(&self) -> PathBuf {
        self.0.join("lib/libmpi_abi.so.1")
    }
}

//! `cargo xtask install --prefix DIR [--quick]`: builds everything and puts it below DIR.
//!
//! The library and the executable are optimised as a whole, which takes minutes. With `--quick`
//! they are compiled crate by crate: the build is quicker, and messages are a little slower. Both
//! say which they are (`mpirun --version`, `MPI_Get_library_version`).

mod fortran;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

use assemble::Parts;
use assemble::files::{copy, link};

use crate::test;
use crate::workspace::{self, Outcome};

const USAGE: &str = "usage: cargo xtask install --prefix DIR [--quick | --release]";

/// The names of the executable that need the Fortran bindings.
const NAMES: [&str; 3] = ["mpifort", "mpif77", "mpif90"];

/// How the library and the executables are built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Build {
    /// Crate by crate, on all cores.
    Quick,
    /// Optimised as a whole, which one core does for minutes.
    Release,
}

impl Build {
    /// The profile of the workspace, and the directory that cargo makes for it.
    fn profile(self) -> &'static str {
        match self {
            Build::Quick => "release",
            Build::Release => "dist",
        }
    }
}

/// Runs the command.
pub fn command(arguments: &[&str]) -> Outcome {
    let (mut prefix, mut build) = (None, Build::Release);
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match (*word, word.strip_prefix("--prefix=")) {
            ("--quick", _) => build = Build::Quick,
            ("--release", _) => build = Build::Release,
            ("--prefix", _) => prefix = words.next().copied(),
            (_, Some(directory)) => prefix = Some(directory),
            _ => return Err(format!("\"{word}\" is not known\n{USAGE}")),
        }
    }
    let prefix = prefix.filter(|prefix| !prefix.is_empty()).ok_or(USAGE)?;
    install(Path::new(prefix), build)
}

/// Builds everything and puts it below `prefix`.
pub fn install(prefix: &Path, build: Build) -> Outcome {
    let root = workspace::root();
    let target = target_directory(&root);
    compile(build)?;
    let built = target.join(build.profile());
    let scratch = built.join("install");
    std::fs::create_dir_all(&scratch).map_err(|error| format!("{}: {error}", scratch.display()))?;
    // Two installations at a time would write the same intermediate files.
    let lock = File::create(scratch.join("lock")).and_then(|file| file.lock().map(|()| file));
    let _lock = lock.map_err(|error| format!("cannot lock {}: {error}", scratch.display()))?;
    let (archive, executable) = (built.join("libcorelace_capi.a"), built.join("corelace"));
    let parts = Parts { root: &root, archive: &archive, executable: &executable, scratch: &scratch };
    let (made, bindings) = std::thread::scope(|scope| {
        let made = scope.spawn(|| assemble::make(&parts, prefix));
        let bindings = fortran::make(&root, &scratch);
        (made.join().expect("the linking thread does not panic"), bindings)
    });
    made?;
    let bindings = bindings?;

    let (bin, lib) = (prefix.join("bin"), prefix.join("lib"));
    copy(&built.join("corelace-lab"), &lib.join("corelace/corelace-lab"), 0o755)?;
    for name in NAMES {
        link("corelace", &bin.join(name))?;
    }
    copy(&bindings.header, &prefix.join("include/mpif.h"), 0o644)?;
    for part in bindings.parts.iter().chain([&bindings.archive]) {
        let name = part.file_name().expect("made with a name");
        let directory = if *part == bindings.archive { lib.clone() } else { lib.join("corelace/fortran") };
        copy(part, &directory.join(name), 0o644)?;
    }
    // Completions and pages of the manual come from the tools themselves.
    let mut share = Command::new(bin.join("corelace"));
    workspace::run(share.env_remove("CORELACE_PREFIX").arg("__share").arg(prefix.join("share")))?;
    fortran::modules(&bin.join("mpifort"))
}

/// Where a command finds what it tries: in the prefix that it was given, or in the one for tests,
/// which is brought up to date.
pub fn for_tests(given: Option<&Path>) -> Outcome<PathBuf> {
    match given {
        Some(prefix) => absolute(prefix),
        None => {
            let prefix = target_directory(&workspace::root()).join("test-prefix");
            install(&prefix, Build::Quick)?;
            absolute(&prefix)
        }
    }
}

/// The same for what is claimed of the library as users get it.
pub fn as_released(given: Option<&Path>) -> Outcome<PathBuf> {
    match given {
        Some(prefix) => absolute(prefix),
        None => {
            let prefix = target_directory(&workspace::root()).join("release-prefix");
            install(&prefix, Build::Release)?;
            absolute(&prefix)
        }
    }
}

fn absolute(prefix: &Path) -> Outcome<PathBuf> {
    std::path::absolute(prefix).map_err(|error| format!("{}: {error}", prefix.display()))
}

/// Where cargo puts what it builds.
pub fn target_directory(root: &Path) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), |directory| root.join(directory))
}

/// Cargo shows how far it is.
fn compile(build: Build) -> Outcome {
    let mut cargo = test::cargo();
    cargo.current_dir(workspace::root());
    match build {
        Build::Quick => {
            cargo.args(["build", "--release", "-p", "corelace-capi", "-p", "corelace-cli"]);
            workspace::run(cargo.args(["-p", "corelace-lab"]))
        }
        Build::Release => {
            cargo.env("CORELACE_BUILD", "release");
            cargo.args(["build", "--profile", "dist", "-p", "corelace-cli", "-p", "corelace-lab"]);
            workspace::run(&mut cargo)?;
            // A library that is also for Rust cannot be optimised as a whole.
            let mut cargo = test::cargo();
            cargo.current_dir(workspace::root()).env("CORELACE_BUILD", "release");
            cargo.args(["rustc", "--profile", "dist", "-p", "corelace-capi", "--lib"]);
            workspace::run(cargo.args(["--crate-type", "staticlib"]))
        }
    }
}

//! `cargo xtask install --prefix DIR [--quick]`: builds everything and puts it below DIR.
//!
//! With `--quick` the build is that of the dev profile: for trying a change out in seconds, not for measuring.
//!
//! The result does not know where it is and works after `mv`. Every file is replaced by a rename, so that a job that runs
//! meanwhile keeps the old one; files that would not change are left alone, so that a second run is quick.

mod fortran;
pub mod library;
mod shim;

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::workspace::{self, Outcome};

/// The other names of the one executable, which looks at what it is called by.
const NAMES: [&str; 9] =
    ["mpicc", "mpicxx", "mpic++", "mpiCC", "mpifort", "mpif77", "mpif90", "mpirun", "mpiexec"];

/// The names by which compilers call linkers.
const LINKERS: [&str; 5] = ["ld", "ld.bfd", "ld.gold", "ld.lld", "ld.mold"];

/// The names under which build systems look for an MPI, ours and those of others: the flags are the same.
const PACKAGES: [&str; 6] = ["mpi", "mpi-c", "mpi-cxx", "ompi-c", "ompi-cxx", "mpich"];

const PKG_CONFIG: &str = "\
prefix=${pcfiledir}/../..
includedir=${prefix}/include
libdir=${prefix}/lib

Name: Corelace
Description: MPI 5.0 with the standard ABI
Version: @VERSION@
Cflags: -I${includedir} -DCORELACE_COMPATIBLE
Libs: -L${libdir} -Wl,-rpath,${libdir} -lmpi_abi
Libs.private: -lpthread -ldl -lm
";

/// Runs the command.
pub fn command(arguments: &[&str]) -> Outcome {
    let quick = arguments.contains(&"--quick");
    let rest: Vec<&str> = arguments.iter().copied().filter(|word| *word != "--quick").collect();
    let prefix = match rest[..] {
        ["--prefix", directory] => PathBuf::from(directory),
        [word] if word.starts_with("--prefix=") => PathBuf::from(&word["--prefix=".len()..]),
        _ => return Err("usage: cargo xtask install --prefix DIR [--quick]".to_owned()),
    };
    let root = workspace::root();
    let target = target_directory(&root);
    build(&root, quick)?;
    let built = target.join(if quick { "debug" } else { "release" });
    let scratch = target.join(if quick { "install-quick" } else { "install" });
    let library = library::link(&built.join("libcorelace_capi.a"), &scratch)?;
    let archives = shim::compile(&root.join("shim"), &scratch)?;
    let bindings = fortran::make(&root, &scratch)?;

    let (bin, lib) = (prefix.join("bin"), prefix.join("lib"));
    copy(&built.join("corelace"), &bin.join("corelace"), 0o755)?;
    for name in NAMES {
        link("corelace", &bin.join(name))?;
    }
    // What `mpicc` lets compilers take for their linker, and `mpicc --count` for their assembler.
    for (directory, names) in [("corelace/link", &LINKERS[..]), ("corelace/count", &["as"])] {
        let directory = lib.join(directory);
        fs::create_dir_all(&directory)
            .map_err(|error| format!("cannot make {}: {error}", directory.display()))?;
        for name in names {
            link("../../../bin/corelace", &directory.join(name))?;
        }
    }
    for header in ["mpi.h", "mpi_fortran.h", "mpi_legacy.h", "corelace.h"] {
        copy(&root.join("crates/capi/include").join(header), &prefix.join("include").join(header), 0o644)?;
    }
    copy(&library.shared, &lib.join(library::SONAME), 0o755)?;
    link(library::SONAME, &lib.join("libmpi_abi.so"))?;
    copy(&library.archive, &lib.join("libmpi_abi.a"), 0o644)?;
    for archive in &archives {
        let name = archive.file_name().expect("made with a name");
        copy(archive, &lib.join(name), 0o644)?;
    }
    copy(&bindings.header, &prefix.join("include/mpif.h"), 0o644)?;
    for part in bindings.parts.iter().chain([&bindings.archive]) {
        let name = part.file_name().expect("made with a name");
        let directory = if *part == bindings.archive { lib.clone() } else { lib.join("corelace/fortran") };
        copy(part, &directory.join(name), 0o644)?;
    }
    let description = PKG_CONFIG.replace("@VERSION@", env!("CARGO_PKG_VERSION"));
    for package in PACKAGES {
        workspace::replace(&lib.join(format!("pkgconfig/{package}.pc")), description.as_bytes())?;
    }
    fortran::modules(&bin.join("mpifort"))
}

/// Where a command finds what it tries: in the prefix that it was given, or in the one for tests, which is brought up to date.
pub fn for_tests(given: Option<&Path>) -> Outcome<PathBuf> {
    let prefix = match given {
        Some(prefix) => prefix.to_owned(),
        None => {
            let prefix = target_directory(&workspace::root()).join("test-prefix");
            command(&["--prefix", &prefix.display().to_string()])?;
            prefix
        }
    };
    std::path::absolute(&prefix).map_err(|error| format!("{}: {error}", prefix.display()))
}

/// Where cargo puts what it builds.
pub fn target_directory(root: &Path) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), |directory| root.join(directory))
}

fn build(root: &Path, quick: bool) -> Outcome {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.current_dir(root).args(["build", "--quiet", "-p", "corelace-capi", "-p", "corelace-cli"]);
    if !quick {
        command.arg("--release");
    }
    workspace::run(&mut command)
}

/// Whether `product` is there and not older than any of its sources.
fn is_fresh<'a>(product: &Path, sources: impl IntoIterator<Item = &'a Path>) -> bool {
    let time = |path: &Path| fs::metadata(path).and_then(|data| data.modified()).ok();
    let Some(made) = time(product) else { return false };
    sources.into_iter().all(|source| time(source).is_some_and(|changed| changed <= made))
}

fn copy(from: &Path, to: &Path, mode: u32) -> Outcome {
    let content = fs::read(from).map_err(|error| format!("cannot read {}: {error}", from.display()))?;
    if fs::read(to).is_ok_and(|present| present == content) {
        return Ok(());
    }
    let fail = |error: std::io::Error| format!("cannot write {}: {error}", to.display());
    fs::create_dir_all(to.parent().unwrap_or(Path::new("/"))).map_err(fail)?;
    let temporary = workspace::beside(to);
    fs::write(&temporary, content).map_err(fail)?;
    fs::set_permissions(&temporary, fs::Permissions::from_mode(mode)).map_err(fail)?;
    fs::rename(&temporary, to).map_err(fail)
}

fn link(target: &str, at: &Path) -> Outcome {
    if fs::read_link(at).is_ok_and(|present| present == Path::new(target)) {
        return Ok(());
    }
    let fail = |error: std::io::Error| format!("cannot make the link {}: {error}", at.display());
    let temporary = workspace::beside(at);
    match fs::remove_file(&temporary) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(fail(error)),
        _ => symlink(target, &temporary).map_err(fail)?,
    }
    fs::rename(&temporary, at).map_err(fail)
}

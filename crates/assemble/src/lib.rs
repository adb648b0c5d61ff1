//! Puts an installation together from what cargo has built: the library in its two forms, the
//! executable under its names, headers, and what `mpicc` links into programs.
//!
//! The result does not know where it is and works after `mv`. Every file is replaced by a rename,
//! so that a job that runs meanwhile keeps the old one. A file that would not change is left
//! alone, so that a second run is quick.
#![forbid(unsafe_code)]

pub mod files;
pub mod library;
mod share;
pub mod shim;

use std::fs;
use std::path::Path;

use files::{Outcome, copy, link};

/// The other names of the executable, which looks at what it is called by.
const NAMES: [&str; 6] = ["mpicc", "mpicxx", "mpic++", "mpiCC", "mpirun", "mpiexec"];

/// The names by which compilers call linkers.
const LINKERS: [&str; 5] = ["ld", "ld.bfd", "ld.gold", "ld.lld", "ld.mold"];

/// The names under which build systems look for an MPI, ours and those of others: the flags are
/// the same.
const PACKAGES: [&str; 6] = ["mpi", "mpi-c", "mpi-cxx", "ompi-c", "ompi-cxx", "mpich"];

const HEADERS: [&str; 4] = ["mpi.h", "mpi_fortran.h", "mpi_legacy.h", "corelace.h"];

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

/// What an installation is made of.
pub struct Parts<'a> {
    /// The source tree.
    pub root: &'a Path,
    /// The static library that cargo has made of the C interface.
    pub archive: &'a Path,
    /// The executable `corelace`.
    pub executable: &'a Path,
    /// Where intermediate files are kept for the next time.
    pub scratch: &'a Path,
}

/// Makes or renews the installation in `prefix`: everything but Fortran and the laboratory.
pub fn make(parts: &Parts<'_>, prefix: &Path) -> Outcome {
    fs::create_dir_all(parts.scratch)
        .map_err(|error| format!("cannot make {}: {error}", parts.scratch.display()))?;
    let (library, archives) = std::thread::scope(|scope| {
        let library = scope.spawn(|| library::link(parts.archive, parts.scratch));
        let archives = shim::compile(&parts.root.join("shim"), parts.scratch);
        (library.join().expect("the linking thread does not panic"), archives)
    });
    let (library, archives) = (library?, archives?);

    let (bin, lib) = (prefix.join("bin"), prefix.join("lib"));
    copy(parts.executable, &bin.join("corelace"), 0o755)?;
    for name in NAMES {
        link("corelace", &bin.join(name))?;
    }
    // What `mpicc` lets compilers take for their linker, and `mpicc --count` for their assembler.
    for (directory, names) in [("corelace/link", &LINKERS[..]), ("corelace/count", &["as"])] {
        for name in names {
            link("../../../bin/corelace", &lib.join(directory).join(name))?;
        }
    }
    for header in HEADERS {
        let from = parts.root.join("crates/capi/include").join(header);
        copy(&from, &prefix.join("include").join(header), 0o644)?;
    }
    copy(&library.shared, &lib.join(library::SONAME), 0o755)?;
    link(library::SONAME, &lib.join("libmpi_abi.so"))?;
    copy(&library.archive, &lib.join("libmpi_abi.a"), 0o644)?;
    for archive in &archives {
        copy(archive, &lib.join(archive.file_name().expect("made with a name")), 0o644)?;
    }
    share::install(parts.root, prefix)?;
    let description = PKG_CONFIG.replace("@VERSION@", env!("CARGO_PKG_VERSION"));
    for package in PACKAGES {
        files::replace(&lib.join(format!("pkgconfig/{package}.pc")), description.as_bytes())?;
    }
    Ok(())
}

//! The MPI library in its two forms, from the static library that cargo builds.
//!
//! The shared form is linked here and not by rustc, which hides symbols that it did not make itself, and so the weak `MPI_`
//! aliases.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::is_fresh;
use crate::workspace::{self, Outcome, run};

/// The name that programs look for at run time.
pub const SONAME: &str = "libmpi_abi.so.1";

/// Nothing else of the library, and nothing of Rust's, is visible to a program.
const VERSION_SCRIPT: &str = "{\n  global: MPI_*; PMPI_*; MPIX_*; PMPIX_*; corelace_*;\n  local: *;\n};\n";

/// The files to install.
pub struct Library {
    pub shared: PathBuf,
    pub archive: PathBuf,
}

/// Makes both forms in `scratch`, unless they are there and newer.
pub fn link(built: &Path, scratch: &Path) -> Outcome<Library> {
    let library = Library { shared: scratch.join(SONAME), archive: scratch.join("libmpi_abi.a") };
    let script = scratch.join("libmpi_abi.map");
    workspace::replace(&script, VERSION_SCRIPT.as_bytes())?;
    let sources = [built, &script];
    if !is_fresh(&library.shared, sources) {
        let temporary = workspace::beside(&library.shared);
        let linker = || {
            let mut linker = linker(built, &script, &temporary);
            linker.args(["-Wl,--strip-all", "-Wl,-z,defs"]);
            linker
        };
        let packed = linker().arg("-Wl,-z,pack-relative-relocs").output();
        let is_understood = |file: &Path| fs::read(file).is_ok_and(|bytes| mentions(&bytes, PACKED_MARK));
        if !(packed.is_ok_and(|linked| linked.status.success()) && is_understood(&temporary)) {
            run(&mut linker())?;
        }
        settle(&temporary, &library.shared)?;
    }
    if !is_fresh(&library.archive, [built]) {
        let temporary = workspace::beside(&library.archive);
        let mut objcopy = Command::new("objcopy");
        // The bitcode that rustc leaves in an archive confuses other compilers' tools, and nobody reads it.
        objcopy.args(["--strip-debug", "-R", ".llvmbc", "-R", ".llvmcmd"]).arg(built).arg(&temporary);
        run(&mut objcopy)?;
        settle(&temporary, &library.archive)?;
    }
    Ok(library)
}

/// Makes the shared form in `scratch` from what was built for a sanitizer: with names, and what it needs of the sanitizer is in the program.
pub fn link_instrumented(built: &Path, scratch: &Path) -> Outcome<PathBuf> {
    let (shared, script) = (scratch.join(SONAME), scratch.join("libmpi_abi.map"));
    workspace::replace(&script, VERSION_SCRIPT.as_bytes())?;
    run(&mut linker(built, &script, &shared))?;
    Ok(shared)
}

/// What a C library whose loader understands packed relocations makes the linker note. They are a bitmap instead of 24 bytes for each of two
/// thousand pointers, which every start of a program has to read.
const PACKED_MARK: &[u8] = b"GLIBC_ABI_DT_RELR";

fn mentions(bytes: &[u8], mark: &[u8]) -> bool {
    bytes.windows(mark.len()).any(|window| window == mark)
}

/// Links the shared form, with what is common to all ways of doing so.
fn linker(built: &Path, script: &Path, product: &Path) -> Command {
    let mut linker = Command::new("cc");
    linker.arg("-shared").arg("-o").arg(product);
    linker.arg("-Wl,--whole-archive").arg(built).arg("-Wl,--no-whole-archive");
    linker.args([&format!("-Wl,-soname,{SONAME}"), "-Wl,--gc-sections"]);
    linker.arg(format!("-Wl,--version-script={}", script.display()));
    linker.args(["-Wl,--as-needed", "-lgcc_s", "-lpthread", "-ldl", "-lm", "-lc"]);
    linker
}

fn settle(temporary: &Path, product: &Path) -> Outcome {
    fs::rename(temporary, product).map_err(|error| format!("cannot make {}: {error}", product.display()))
}

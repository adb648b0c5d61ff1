//! The MPI library in its two forms, from the static library that cargo builds.
//!
//! The shared form is linked here and not by rustc, which hides symbols that it did not make itself, and so the weak `MPI_`
//! aliases.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::files::{self, Outcome, is_fresh, run};

/// The name that programs look for at run time.
pub const SONAME: &str = "libmpi_abi.so.1";

/// Nothing else of the library, and nothing of Rust's, is visible to a program.
const VERSION_SCRIPT: &str = "{\n  global: MPI_*; PMPI_*; MPIX_*; PMPIX_*; corelace_*;\n  local: *;\n};\n";

/// The files to install.
pub struct Library {
    /// What programs load.
    pub shared: PathBuf,
    /// What programs may be linked with.
    pub archive: PathBuf,
}

/// Makes both forms in `scratch`, unless they are there and newer.
pub fn link(built: &Path, scratch: &Path) -> Outcome<Library> {
    let library = Library { shared: scratch.join(SONAME), archive: scratch.join("libmpi_abi.a") };
    let script = scratch.join("libmpi_abi.map");
    files::replace(&script, VERSION_SCRIPT.as_bytes())?;
    // Another build than last time may be older than what was made of that.
    let origin = scratch.join("libmpi_abi.from");
    files::replace(&origin, built.as_os_str().as_encoded_bytes())?;
    let sources = [built, &script, &origin];
    if !is_fresh(&library.shared, sources) {
        let temporary = files::beside(&library.shared);
        let trimmed = without_backtraces(built, scratch)?;
        let linker = || {
            let mut linker = linker(trimmed.as_deref().unwrap_or(built), &script, &temporary);
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
    if !is_fresh(&library.archive, [built, &origin]) {
        let temporary = files::beside(&library.archive);
        let mut objcopy = Command::new("objcopy");
        // The bitcode that rustc leaves in an archive confuses other compilers' tools, and nobody reads it.
        objcopy.args(["--strip-debug", "-R", ".llvmbc", "-R", ".llvmcmd"]).arg(built).arg(&temporary);
        run(&mut objcopy)?;
        settle(&temporary, &library.archive)?;
    }
    Ok(library)
}

/// The archive without what prints a panic's backtrace, which is a tenth of the library and finds no names in one that is installed without them: the function that
/// does so returns at once, and the linker leaves out all that only it has used. A panic still says what and where. `None` where it is not found: in a build that
/// is not optimised as a whole, on another processor, or if the standard library calls it otherwise.
fn without_backtraces(built: &Path, scratch: &Path) -> Outcome<Option<PathBuf>> {
    let Some(give_up) = returning() else { return Ok(None) };
    let members = output(Command::new("ar").arg("t").arg(built))?;
    let Some(member) = members.lines().find(|member| member.starts_with("corelace_capi-")) else {
        return Ok(None);
    };
    let (object, trimmed) = (scratch.join("libmpi_abi.o"), scratch.join("libmpi_abi.trimmed.a"));
    let extracted = Command::new("ar").arg("p").arg(built).arg(member).output();
    let extracted = extracted.map_err(|error| format!("ar p {}: {error}", built.display()))?;
    files::replace(&object, &extracted.stdout)?;
    let sections = output(Command::new("readelf").arg("-SW").arg(&object))?;
    let Some((section, bytes)) = printer(&sections) else { return Ok(None) };
    // As long as before, because the tables for exceptions say so.
    let mut code = give_up.to_vec();
    code.resize(bytes, 0);
    let stub = scratch.join("libmpi_abi.stub");
    files::replace(&stub, &code)?;
    let mut objcopy = Command::new("objcopy");
    objcopy.arg(format!("--remove-section=.rela{section}"));
    objcopy.arg(format!("--update-section={section}={}", stub.display())).arg(&object);
    run(&mut objcopy)?;
    fs::copy(built, &trimmed).map_err(|error| format!("cannot copy {}: {error}", built.display()))?;
    output(Command::new("ar").arg("d").arg(&trimmed).arg(member))?;
    output(Command::new("ar").arg("q").arg(&trimmed).arg(&object))?;
    Ok(Some(trimmed))
}

fn output(command: &mut Command) -> Outcome<String> {
    let ended = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    if !ended.status.success() {
        return Err(format!("{command:?}: {}", String::from_utf8_lossy(&ended.stderr)));
    }
    Ok(String::from_utf8_lossy(&ended.stdout).into_owned())
}

/// The instructions of a function that returns `Ok(())`, which is 0.
fn returning() -> Option<&'static [u8]> {
    match std::env::consts::ARCH {
        "x86_64" => Some(&[0x31, 0xc0, 0xc3]),
        "aarch64" => Some(&[0x00, 0x00, 0x80, 0x52, 0xc0, 0x03, 0x5f, 0xd6]),
        _ => None,
    }
}

/// The section of the function by which the standard library prints a backtrace, in a list of sections by readelf, and its bytes.
fn printer(sections: &str) -> Option<(&str, usize)> {
    sections.lines().find_map(|line| {
        let mut words = line.split_whitespace().skip_while(|word| !word.starts_with(".text."));
        let name = words.next()?;
        let is_it =
            ["BacktraceLock", "print", "DisplayBacktrace", "fmt"].iter().all(|part| name.contains(part));
        let bytes = words.nth(3).filter(|_| is_it)?;
        Some((name, usize::from_str_radix(bytes, 16).ok()?))
    })
}

/// Makes the shared form in `scratch` from what was built for a sanitizer: with names, and what it needs of the sanitizer is in the program.
pub fn link_instrumented(built: &Path, scratch: &Path) -> Outcome<PathBuf> {
    let (shared, script) = (scratch.join(SONAME), scratch.join("libmpi_abi.map"));
    files::replace(&script, VERSION_SCRIPT.as_bytes())?;
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
    // Constants beside the code, without a page of padding before and behind it.
    linker.args([&format!("-Wl,-soname,{SONAME}"), "-Wl,--gc-sections", "-Wl,-z,noseparate-code"]);
    linker.arg(format!("-Wl,--version-script={}", script.display()));
    linker.args(["-Wl,--as-needed", "-lgcc_s", "-lpthread", "-ldl", "-lm", "-lc"]);
    linker
}

fn settle(temporary: &Path, product: &Path) -> Outcome {
    fs::rename(temporary, product).map_err(|error| format!("cannot make {}: {error}", product.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PANICS: &str = r#"
        #[unsafe(no_mangle)]
        pub extern "C" fn fails() -> bool {
            std::panic::catch_unwind(|| panic!("as wanted")).is_err()
        }
    "#;
    const CALLS: &str = "_Bool fails(void); int main(void) { return fails() ? 0 : 1; }";

    /// A program with a library that panics, linked as ours is, from the archive that is given: its size, and what it says.
    fn build_and_run(scratch: &Path, archive: &Path) -> (u64, String) {
        let program = scratch.join("program");
        let mut linker = Command::new("cc");
        linker.arg("-o").arg(&program).arg(scratch.join("calls.c")).arg(archive);
        linker.args(["-Wl,--gc-sections", "-Wl,--strip-all", "-lgcc_s", "-lpthread", "-ldl", "-lm", "-lc"]);
        run(&mut linker).unwrap();
        let ended = Command::new(&program).env("RUST_BACKTRACE", "1").output().unwrap();
        assert!(ended.status.success(), "{ended:?}");
        (fs::metadata(&program).unwrap().len(), String::from_utf8_lossy(&ended.stderr).into_owned())
    }

    #[test]
    fn a_library_without_backtraces_is_smaller_and_still_tells_of_a_panic() {
        let scratch = std::env::temp_dir().join(format!("corelace-backtraces-{}", std::process::id()));
        fs::create_dir_all(&scratch).unwrap();
        fs::write(scratch.join("panics.rs"), PANICS).unwrap();
        fs::write(scratch.join("calls.c"), CALLS).unwrap();
        let archive = scratch.join("libcorelace_capi-1.a");
        let mut rustc = Command::new(std::env::var("RUSTC").unwrap_or("rustc".into()));
        rustc.args(["--crate-type", "staticlib", "--crate-name", "corelace_capi", "--edition", "2024"]);
        rustc.args(["-Copt-level=3", "-Clto=fat", "-Ccodegen-units=1", "-Cextra-filename=-1"]);
        run(rustc.arg("--out-dir").arg(&scratch).arg(scratch.join("panics.rs"))).unwrap();
        let trimmed = without_backtraces(&archive, &scratch).unwrap().expect("what prints them is found");
        let (whole, said) = build_and_run(&scratch, &archive);
        assert!(said.contains("as wanted") && said.contains("stack backtrace"), "{said}");
        let (rest, said) = build_and_run(&scratch, &trimmed);
        assert!(said.contains("panics.rs") && said.contains("as wanted"), "{said}");
        assert!(!said.contains("stack backtrace"), "{said}");
        assert!(whole - rest > 150_000, "{whole} bytes with it, {rest} without");
        fs::remove_dir_all(&scratch).unwrap();
    }

    #[test]
    fn what_prints_a_backtrace_is_found_among_sections_by_its_name_alone() {
        let sections = "  [ 1] .text._R3std9backtrace13BacktraceLock5print PROGBITS 0000 10 000099 00 AX 0 0 1\n  \
                        [ 2] .text._R3std9backtrace13BacktraceLock5print16DisplayBacktrace7Display3fmt PROGBITS 0000 20 0001b3 00 AX 0 0 1\n  \
                        [ 3] .rela.text._R3std9backtrace13BacktraceLock5print16DisplayBacktrace7Display3fmt RELA 0000 30 001998 18 I 1 2 8";
        let name = ".text._R3std9backtrace13BacktraceLock5print16DisplayBacktrace7Display3fmt";
        assert_eq!(printer(sections), Some((name, 0x1b3)));
        assert_eq!(printer("  [ 1] .text.main PROGBITS 0000 10 000099 00 AX 0 0 1"), None);
    }
}

//! `cargo xtask size [--prefix DIR]`: what Corelace takes, piece by piece, each against its budget.
//!
//! - **The library**: the file `libmpi_abi.so.1`, which every program carries.
//! - **The core for a chip**: code, constants and data of engine and fabric as they are linked into a program without an operating system (`size/core.rs`), made as small as the compiler
//!   can, for this machine's processor. The chip's own part of a fabric, its heap and its way to stop are not in it.
//! - **An idle process**: the memory that rank 0 of two has for itself when both have met.
//! - **An idle fiber**: the same of a process with many ranks and with few, by the ranks that it has more. What a fiber has used of its stack is in it.
//!
//! One that is over its budget fails the command, after all are shown.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::workspace::{self, Outcome};
use crate::{install, test};

/// Fibers in the two jobs that are compared: enough that what belongs to the process itself does not count.
const FEW: u64 = 64;
const MANY: u64 = 576;

/// Sections of a linked file that a chip's memory holds. The others are for loaders and unwinders.
const SECTIONS: [&str; 7] = [".text", ".rodata", ".data.rel.ro", ".got", ".got.plt", ".data", ".bss"];

/// Something with a size.
struct Piece {
    what: &'static str,
    bytes: u64,
    budget: u64,
}

/// Runs the command.
pub fn command(arguments: &[&str]) -> Outcome {
    let given = match arguments {
        [] => None,
        ["--prefix", prefix] => Some(Path::new(*prefix)),
        _ => return Err("usage: cargo xtask size [--prefix DIR]".to_owned()),
    };
    let prefix = install::as_released(given)?;
    let directory = install::target_directory(&workspace::root()).join("size");
    fs::create_dir_all(&directory).map_err(|error| format!("{}: {error}", directory.display()))?;
    let program = directory.join("footprint");
    workspace::run(
        Command::new(prefix.join("bin/mpicc"))
            .args(["-O2", "-o"])
            .arg(&program)
            .arg(sources().join("footprint.c")),
    )?;
    let private = |mode: &str, ranks: u64| private_bytes(&prefix, &program, mode, ranks);
    let pieces = [
        Piece { what: "library, libmpi_abi.so.1", bytes: library(&prefix)?, budget: (26 << 20) / 10 },
        Piece {
            what: "core for a chip, linked: code, constants, data",
            bytes: core(&directory)?,
            budget: 256 << 10,
        },
        Piece { what: "idle process, private memory", bytes: private("process", 2)?, budget: 1 << 20 },
        Piece {
            what: "idle fiber, private memory with its used stack",
            bytes: private("fiber", MANY)?.saturating_sub(private("fiber", FEW)?) / (MANY - FEW),
            budget: 64 << 10,
        },
    ];
    for Piece { what, bytes, budget } in &pieces {
        println!("{bytes:>10} of {budget:>8} bytes  {what}");
    }
    match pieces.iter().find(|piece| piece.bytes > piece.budget) {
        None => Ok(()),
        Some(Piece { what, bytes, budget }) => {
            Err(format!("{what}: {bytes} bytes, expected at most {budget}"))
        }
    }
}

fn sources() -> PathBuf {
    workspace::root().join("xtask/src/size")
}

fn library(prefix: &Path) -> Outcome<u64> {
    let file = prefix.join("lib/libmpi_abi.so.1");
    Ok(fs::metadata(&file).map_err(|error| format!("{}: {error}", file.display()))?.len())
}

/// Builds engine and fabric as for a chip, and links what its programs use.
fn core(directory: &Path) -> Outcome<u64> {
    let mut cargo = test::cargo_in("size");
    cargo.current_dir(workspace::root()).env("CARGO_PROFILE_DIST_OPT_LEVEL", "z");
    cargo.env("CARGO_PROFILE_DIST_PANIC", "abort");
    cargo.args(["rustc", "--profile", "dist", "-p", "corelace-engine", "--lib", "--message-format", "json"]);
    let built = output(cargo.args(["--", "-C", "embed-bitcode=yes"]))?;
    let (engine, fabric) = (library_in(&built, "corelace_engine")?, library_in(&built, "corelace_fabric")?);
    let linked = directory.join("core.so");
    let beside = |library: &str| Path::new(library).parent().map(Path::to_path_buf).unwrap_or_default();
    let mut rustc = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    rustc.args(["--edition", "2024", "--crate-type", "cdylib", "--crate-name", "core_of_a_chip"]);
    rustc.args(["-C", "opt-level=z", "-C", "panic=abort", "-C", "lto=fat"]);
    rustc.args(["--extern", &format!("engine={engine}"), "--extern", &format!("fabric={fabric}")]);
    rustc.arg("-L").arg(format!("dependency={}", beside(&fabric).display()));
    workspace::run(rustc.arg(sources().join("core.rs")).arg("-o").arg(&linked))?;
    let sections = output(Command::new("size").arg("-A").arg(&linked))?;
    sections_of(&sections)
        .ok_or_else(|| format!("`size -A {}` says nothing of .text:\n{sections}", linked.display()))
}

/// The bytes of [`SECTIONS`], as `size -A` lists them.
fn sections_of(listing: &str) -> Option<u64> {
    let mut found = false;
    let mut sum = 0_u64;
    for line in listing.lines() {
        let mut words = line.split_whitespace();
        if let (Some(name), Some(bytes)) = (words.next(), words.next())
            && SECTIONS.contains(&name)
        {
            found |= name == ".text";
            sum += bytes.parse::<u64>().ok()?;
        }
    }
    found.then_some(sum)
}

/// The file of a crate, among cargo's messages of what it has made.
fn library_in(messages: &str, name: &str) -> Outcome<String> {
    let file = messages
        .split('"')
        .filter(|word| word.ends_with(".rlib"))
        .find(|word| word.contains(&format!("lib{name}-")) || word.ends_with(&format!("lib{name}.rlib")));
    file.map(str::to_owned).ok_or_else(|| format!("cargo has made no library of {name}"))
}

fn private_bytes(prefix: &Path, program: &Path, mode: &str, ranks: u64) -> Outcome<u64> {
    let mut mpirun = Command::new(prefix.join("bin/mpirun"));
    let said = output(mpirun.args(["--ranks", mode, "-n", &ranks.to_string()]).arg(program))?;
    let kibibytes = said.trim().parse::<u64>();
    kibibytes
        .map(|kibibytes| kibibytes << 10)
        .map_err(|_| format!("{mode}: the program said \"{}\"", said.trim()))
}

/// What a tool prints.
fn output(command: &mut Command) -> Outcome<String> {
    let shown = format!("{command:?}");
    let output = command.stderr(std::process::Stdio::inherit()).output();
    let output = output.map_err(|error| format!("cannot start {shown}: {error}"))?;
    if !output.status.success() {
        return Err(format!("{}: {shown}", output.status));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_that_a_chip_holds_are_summed() {
        let listing = "x.so  :\nsection size addr\n.text 1000 64\n.eh_frame 500 2000\n.rodata 20 9\n.bss 3 4\nTotal 1523\n";
        assert_eq!(sections_of(listing), Some(1023));
        assert_eq!(sections_of("section size addr\n.rodata 20 9\n"), None);
    }

    #[test]
    fn libraries_are_found_among_the_messages_of_cargo() {
        let said = r#"{"filenames":["/t/libcorelace_fabric-1.rlib","/t/libcorelace_fabric-1.rmeta"]}
{"filenames":["/t/libcorelace_engine.rlib","/t/deps/libcorelace_engine-2.rmeta"]}"#;
        assert_eq!(library_in(said, "corelace_fabric").unwrap(), "/t/libcorelace_fabric-1.rlib");
        assert_eq!(library_in(said, "corelace_engine").unwrap(), "/t/libcorelace_engine.rlib");
        assert!(library_in(said, "corelace_ring").is_err());
    }
}

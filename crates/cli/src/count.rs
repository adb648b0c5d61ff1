//! `mpicc --count`: programs that count what they compute, so that it takes time on a simulated chip without anybody declaring it.
//!
//! The compiler is told to look for its assembler in a directory of the installation first, where it finds this executable. It
//! reads the compiler's text, puts counters into it (`blocks`) and hands it to the assembler that the compiler has of its own. So every way of
//! calling a compiler works, and nothing has to be known of its words.
//!
//! A source file that calls `MPIX_Compute` says itself what it computes, and is left as it is.

mod blocks;
mod instruction;

use std::ffi::{OsStr, OsString};
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use sim::Chip;

use crate::prefix::Prefix;

/// The word that asks for it.
pub const WORD: &str = "--count";

/// The name by which a compiler calls its assembler.
pub const NAME: &[u8] = b"as";

/// Where that one is found, below the libraries of an installation.
const DIRECTORY: &str = "corelace/count";

/// Names the compiler's own assembler.
pub const ASSEMBLER: &str = "CORELACE_ASSEMBLER";

/// Whether source files are counted for this chip unless the user says otherwise: it must say what instructions cost.
pub fn is_usual(chip: &Chip) -> bool {
    cfg!(target_arch = "x86_64") && chip.core.is_some()
}

/// Refuses what cannot be counted.
pub fn check(words: &[OsString], library: bool) -> Result<(), String> {
    if !cfg!(target_arch = "x86_64") {
        return Err(format!(
            "{WORD}: this machine is an {}, expected x86-64, whose instructions are known; declare work by MPIX_Compute",
            std::env::consts::ARCH
        ));
    }
    if library {
        return Err(format!(
            "{WORD}: the words ask for a shared library, expected a program or objects of one: only those are counted"
        ));
    }
    let of_linker = |word: &&OsString| word.to_str().is_some_and(|word| word.starts_with("-flto"));
    match words.iter().find(of_linker) {
        Some(word) => Err(format!(
            "{WORD}: {} leaves the making of code to the linker, expected a compiler that writes assembly: leave it out",
            word.display()
        )),
        None => Ok(()),
    }
}

/// What the compiler is told.
pub fn words(prefix: &Prefix, is_gcc: bool) -> Vec<OsString> {
    let mut directory = OsString::from("-B");
    directory.push(prefix.lib().join(DIRECTORY));
    // A core of a chip is a plain one, so a loop counts as what it does for each element; the stack below its pointer is for the counters.
    let mut words = vec![directory, "-mno-red-zone".into(), "-fno-tree-vectorize".into(), "-fident".into()];
    if !is_gcc {
        words.push("-fno-integrated-as".into());
    }
    words
}

/// The assembler: `as WORDS…`.
pub fn main(words: Vec<OsString>) -> Result<u8, String> {
    let assembler = std::env::var_os(ASSEMBLER).unwrap_or_else(|| "as".into());
    let input = input(&words);
    let text = match input {
        Some(at) => std::fs::read(&words[at]).map_err(|error| format!("{}: {error}", words[at].display()))?,
        None => {
            let mut text = Vec::new();
            std::io::stdin().read_to_end(&mut text).map_err(|error| format!("standard input: {error}"))?;
            text
        }
    };
    let text = match String::from_utf8(text) {
        Ok(text) if blocks::is_compiled(&text) && !blocks::declares_work(&text) => {
            blocks::counted(&text).into_bytes()
        }
        Ok(text) => text.into_bytes(),
        Err(bytes) => bytes.into_bytes(),
    };
    let others = words.iter().enumerate().filter(|(at, _)| Some(*at) != input).map(|(_, word)| word);
    let refused =
        |error: std::io::Error| format!("cannot run the assembler \"{}\": {error}", assembler.display());
    let mut child =
        Command::new(&assembler).args(others).arg("--").stdin(Stdio::piped()).spawn().map_err(refused)?;
    // An assembler that has read enough to complain says so by its status.
    _ = child.stdin.take().map(|mut pipe| pipe.write_all(&text));
    let status = child.wait().map_err(refused)?;
    Ok(status.code().map_or(1, |code| code as u8))
}

/// Which word names the file to assemble; none if it comes from standard input.
fn input(words: &[OsString]) -> Option<usize> {
    let is_option = |word: &OsStr| word.as_encoded_bytes().starts_with(b"-");
    let has_value = |word: &OsStr| {
        [OsStr::new("-o"), OsStr::new("-I"), OsStr::new("--MD"), OsStr::new("--defsym")].contains(&word)
    };
    (0..words.len()).rev().find(|at| {
        let value = *at > 0 && has_value(&words[at - 1]);
        !value && !is_option(&words[*at]) && Path::new(&words[*at]).exists()
    })
}

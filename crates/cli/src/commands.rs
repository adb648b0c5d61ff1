//! The commands of `corelace`: those that are here, and the laboratory for all others.

use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use crate::flags::nearest;
use crate::wrapper::{self, Language};
use crate::{BUILD, example, manual, prefix, run};

/// A command, and what `corelace --help` says of it.
pub type Listed = (&'static str, &'static str);

/// What this executable does itself.
const OWN: [Listed; 7] = [
    ("run", "Run a program, or a C, C++ or Fortran file, on several ranks (the same as mpirun)"),
    ("cc", "Compile C as mpicc does"),
    ("cxx", "Compile C++ as mpicxx does"),
    ("fort", "Compile Fortran as mpifort does"),
    ("example", "List the programs that come with the installation, print where one is, or copy it"),
    ("completions", "Print what makes a shell complete commands and flags: bash, zsh or fish"),
    ("status", "Show what the ranks of a running job do: who computes, who waits, for whom and where"),
];

/// What the laboratory does.
pub const OF_THE_LABORATORY: [Listed; 9] = [
    ("doctor", "Show what this machine offers to MPI programs and what that means"),
    ("bench", "Measure this MPI, and others built from the same source, in one interleaved run"),
    ("report", "Show what a trace of `mpirun --trace` says: a page, a text, or a file for other viewers"),
    ("vars", "List what can be set and seen of the library: control and performance variables, events"),
    ("chips", "List the chips that can be simulated, or show one with all its numbers"),
    ("fit", "Fit the law t = K N + h to messages between two places of a chip"),
    ("sweep", "Run a program on copies of a chip with other numbers, and compare"),
    ("replay", "Run what a trace has recorded on another machine"),
    ("reproduce", "Measure the published figures of the systems that Corelace unites"),
];

const STATUS: &str = "\
Asks a running mpirun what its ranks do. Ranks that wait answer; ranks that do not are called
computing.

Usage: corelace status [--format text|json|dot] PID

  PID                 the process number of mpirun
  --format FORMAT     for people (text, the default), for programs (json) or for Graphviz (dot)
";

/// `corelace` with these words.
pub fn main(mut words: Vec<OsString>) -> Result<u8, String> {
    if words.is_empty() {
        eprint!("{}", help());
        return Ok(2);
    }
    let command = words.remove(0);
    let name = command.to_string_lossy();
    match &*name {
        "run" => run::main("corelace run", words),
        "cc" => wrapper::main(Language::C, words),
        "cxx" => wrapper::main(Language::Cxx, words),
        "fort" => wrapper::main(Language::Fortran, words),
        "example" => example::main(&words),
        "completions" => manual::completions(&words),
        manual::SHARE => match words.as_slice() {
            [directory] => manual::share(Path::new(directory)),
            _ => Err(unusable(&name, &words)),
        },
        "status" => status(&words),
        "help" if !words.is_empty() => main(vec![words.remove(0), "--help".into()]),
        "help" | "--help" | "-h" => crate::say(&help()).map(|()| 0),
        "version" | "--version" | "-V" => crate::say(&version("corelace")).map(|()| 0),
        launch::guard::SUBCOMMAND => {
            let [mark] = words.as_slice() else { return Err(unusable(&name, &words)) };
            launch::guard::main(&mark.to_string_lossy());
            Ok(0)
        }
        launch::HOST_SUBCOMMAND => {
            let [library, plan] = words.as_slice() else { return Err(unusable(&name, &words)) };
            let number = plan.to_str().and_then(|plan| plan.parse().ok());
            run::host(Path::new(library), number.ok_or_else(|| unusable(&name, &words))?)
        }
        name if is_of_the_laboratory(OsStr::new(name)) => {
            let laboratory = prefix::laboratory()?;
            let error = Command::new(&laboratory).arg(name).args(words).exec();
            Err(format!("cannot start {}: {error}", laboratory.display()))
        }
        name => {
            let known = all().map(|(name, _)| name);
            let meant = nearest(name, known).map(|it| format!("; did you mean \"{it}\"?"));
            let meant = meant.unwrap_or_else(|| " (`corelace --help` lists them)".to_owned());
            crate::warn(&format!("corelace: there is no command \"{name}\"{meant}"));
            Ok(2)
        }
    }
}

/// All commands.
pub(crate) fn all() -> impl Iterator<Item = Listed> {
    OWN.into_iter().chain(OF_THE_LABORATORY)
}

/// Whether a command of this name is in the laboratory.
pub fn is_of_the_laboratory(name: &OsStr) -> bool {
    OF_THE_LABORATORY.iter().any(|(known, _)| name == *known)
}

/// What `--version` says of the program that is called `name`.
pub fn version(name: &str) -> String {
    format!("{name} (Corelace) {} ({BUILD})\n", env!("CARGO_PKG_VERSION"))
}

fn help() -> String {
    let mut text = "A Message Passing Interface born for manycore processors.\n\n\
                    Usage: corelace COMMAND [WORD...]\n"
        .to_owned();
    let groups = [("Programs", &OWN[..]), ("Machines, measurements and chips", &OF_THE_LABORATORY[..])];
    for (title, commands) in groups {
        text.push_str(&format!("\n{title}:\n"));
        for (name, what) in commands {
            text.push_str(&format!("  {name:<12} {what}\n"));
        }
    }
    text + "\n`corelace COMMAND --help` says more.\n"
}

fn status(words: &[OsString]) -> Result<u8, String> {
    let (mut format, mut process) = ("text", None);
    let mut words = words.iter().map(|word| word.to_string_lossy());
    while let Some(word) = words.next() {
        let given = match word.split_once('=') {
            Some(("--format", given)) => Some(given.to_owned()),
            _ if word == "--format" => Some(words.next().unwrap_or_default().into_owned()),
            _ => None,
        };
        match (given, &*word) {
            (Some(given), _) => {
                let known = ["text", "json", "dot"].into_iter().find(|known| *known == given);
                format = known
                    .ok_or_else(|| format!("--format is \"{given}\", expected one of: text, json, dot"))?;
            }
            (None, "--help" | "-h") => return crate::say(STATUS).map(|()| 0),
            (None, word) if process.is_none() && word.bytes().all(|byte| byte.is_ascii_digit()) => {
                process = word.parse().ok();
            }
            (None, word) => {
                return Err(format!("status: \"{word}\", expected the process number of mpirun\n\n{STATUS}"));
            }
        }
    }
    let process = process.ok_or_else(|| format!("status: no process number was given\n\n{STATUS}"))?;
    crate::say(&launch::status(process, format)?)?;
    Ok(0)
}

fn unusable(command: &str, words: &[OsString]) -> String {
    format!("{command} {words:?}: this command is for the launcher's own use")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_listed_once() {
        let mut names: Vec<_> = OWN.iter().chain(&OF_THE_LABORATORY).map(|(name, _)| *name).collect();
        let help = help();
        assert!(names.iter().all(|name| help.contains(&format!("\n  {name} "))), "{help}");
        names.sort();
        names.dedup();
        assert_eq!(names.len(), OWN.len() + OF_THE_LABORATORY.len());
    }

    #[test]
    fn status_names_what_it_cannot_use() {
        let words = |text: &str| text.split(' ').map(OsString::from).collect::<Vec<_>>();
        assert!(status(&words("--format svg 1")).unwrap_err().contains("\"svg\""));
        assert!(status(&words("12 13")).unwrap_err().contains("\"13\""));
        assert!(status(&words("--format json")).unwrap_err().contains("no process number"));
    }
}

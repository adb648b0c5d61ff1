//! The tools as data, of which shell completions and pages of the manual are made. The flags are
//! those of `--help`: [`flags`](crate::flags), [`wrapper`](crate::wrapper), and what the laboratory
//! says of its commands.

mod page;
mod shells;

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::flags;
use crate::wrapper::Language;
use crate::{commands, prefix, wrapper};

/// The word with which the laboratory describes its commands, in lines of `C name what`,
/// `W names value help`, `P placeholder help` and `S subcommand help`, with tabs between them.
pub const DESCRIBE: &str = "__describe";

/// `corelace __share DIR`: writes what an installation has below `share/`.
pub const SHARE: &str = "__share";

const HELP: &str = "\
Prints what makes a shell complete the words of mpirun, mpicc and corelace.

Usage: corelace completions bash|zsh|fish

  bash    source <(corelace completions bash)
  zsh     corelace completions zsh > DIR/_corelace, with DIR in fpath
  fish    corelace completions fish | source

An installation has them in share/, where shells look if its prefix is /usr or /usr/local.
";

/// A command line.
#[derive(Debug, Default)]
struct Tool {
    /// `mpirun`, or a command of `corelace`.
    name: String,
    about: String,
    groups: Vec<(String, Vec<Word>)>,
    /// Words that are no flags: subcommands, names of shells.
    words: Vec<String>,
    /// What else stands on the line.
    operands: Vec<(String, String)>,
}

/// A flag.
#[derive(Debug, Default)]
struct Word {
    names: Vec<String>,
    /// Nothing, ` VALUE` or `[=VALUE]`.
    value: String,
    help: String,
}

impl Word {
    /// Whether the next word is its value.
    fn takes_a_word(&self) -> bool {
        self.value.starts_with(' ')
    }

    /// The values, if they are few and known: `process|thread|fiber`.
    fn choices(&self) -> Vec<&str> {
        let all: Vec<_> = self.value.trim().split('|').collect();
        let is_plain =
            |word: &&str| word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
        if self.takes_a_word() && all.len() > 1 && all.iter().all(is_plain) { all } else { Vec::new() }
    }
}

impl Tool {
    fn flags(&self) -> impl Iterator<Item = &Word> {
        self.groups.iter().flat_map(|(_, words)| words)
    }
}

/// `corelace completions SHELL`.
pub fn completions(words: &[OsString]) -> Result<u8, String> {
    let [shell] = words else { return Err(format!("completions: expected a shell\n\n{HELP}")) };
    let text = match &*shell.to_string_lossy() {
        "bash" => shells::bash(&mpirun(), &wrappers(), &of_corelace()),
        "zsh" => shells::zsh(&mpirun(), &wrappers(), &of_corelace()),
        "fish" => shells::fish(&mpirun(), &wrappers(), &of_corelace()),
        "--help" | "-h" => HELP.to_owned(),
        other => return Err(format!("completions: \"{other}\", expected one of: bash, zsh, fish")),
    };
    crate::say(&text).map(|()| 0)
}

/// Writes completions and pages below a directory, as systems have them below `share/`.
pub fn share(directory: &Path) -> Result<u8, String> {
    let (mpirun, wrappers, all) = (mpirun(), wrappers(), of_corelace());
    let write = |name: &str, text: &str| {
        let file = directory.join(name);
        let fail = |error| format!("{}: {error}", file.display());
        fs::create_dir_all(file.parent().unwrap_or(directory)).map_err(fail)?;
        fs::write(&file, text).map_err(fail)
    };
    let bash = shells::bash(&mpirun, &wrappers, &all);
    let fish = shells::fish(&mpirun, &wrappers, &all);
    for name in ["corelace", "mpirun", "mpiexec"].into_iter().chain(wrapper::NAMES) {
        // Shells look for a file by the name of the command.
        write(&format!("bash-completion/completions/{name}"), &bash)?;
        write(&format!("fish/vendor_completions.d/{name}.fish"), &fish)?;
    }
    write("zsh/site-functions/_corelace", &shells::zsh(&mpirun, &wrappers, &all))?;
    write("man/man1/mpirun.1", &page::of_mpirun(&mpirun))?;
    write("man/man1/mpiexec.1", ".so man1/mpirun.1\n")?;
    write("man/man1/corelace.1", &page::of_corelace(&all))?;
    for name in wrapper::NAMES {
        let text = match wrappers.iter().find(|tool| tool.name == name) {
            Some(tool) => page::of_wrapper(tool),
            None => format!(".so man1/{}.1\n", if name.contains("mpif") { "mpifort" } else { "mpicxx" }),
        };
        write(&format!("man/man1/{name}.1"), &text)?;
    }
    Ok(0)
}

fn mpirun() -> Tool {
    let word = |flag: flags::Described| Word { names: flag.names, value: flag.value, help: flag.help.into() };
    let groups = flags::groups();
    Tool {
        name: "mpirun".into(),
        about: "run a program on several ranks".into(),
        groups: groups
            .into_iter()
            .map(|(title, flags)| (title.to_owned(), flags.into_iter().map(word).collect()))
            .collect(),
        ..Tool::default()
    }
}

fn wrappers() -> Vec<Tool> {
    [Language::C, Language::Cxx, Language::Fortran]
        .map(|language| {
            let (name, language) = language.names();
            let word = |(names, help): &(&str, &str)| Word {
                names: names.split(", ").map(str::to_owned).collect(),
                help: (*help).to_owned(),
                ..Word::default()
            };
            Tool {
                name: name.into(),
                about: format!("compile {language} programs that use MPI"),
                groups: vec![("Options".into(), wrapper::WORDS.iter().map(word).collect())],
                ..Tool::default()
            }
        })
        .into()
}

/// The commands of `corelace`; of those of the laboratory what it says of them, if it is there.
fn of_corelace() -> Vec<Tool> {
    let mut tools: Vec<Tool> = commands::all()
        .map(|(name, about)| Tool { name: name.into(), about: about.into(), ..Tool::default() })
        .collect();
    let mut run = mpirun();
    let flag = |names: &[&str], value: &str, help: &str| Word {
        names: names.iter().map(|name| (*name).to_owned()).collect(),
        value: value.into(),
        help: help.into(),
    };
    for tool in &mut tools {
        let own = match &*tool.name {
            "run" => {
                tool.groups = std::mem::take(&mut run.groups);
                continue;
            }
            "example" => vec![flag(&["-o", "--output"], " DIR", "copy the program into DIR")],
            "status" => vec![flag(&["--format"], " text|json|dot", "for people, programs or Graphviz")],
            "completions" => {
                tool.words = ["bash", "zsh", "fish"].map(str::to_owned).into();
                continue;
            }
            _ => continue,
        };
        tool.groups = vec![("Options".into(), own)];
    }
    describe(&mut tools, &of_the_laboratory());
    tools
}

fn of_the_laboratory() -> String {
    let Ok(laboratory) = prefix::laboratory() else { return String::new() };
    let said = Command::new(laboratory).arg(DESCRIBE).stdin(Stdio::null()).stderr(Stdio::null()).output();
    said.map(|said| String::from_utf8_lossy(&said.stdout).into_owned()).unwrap_or_default()
}

/// Adds what the laboratory says of its commands.
fn describe(tools: &mut [Tool], text: &str) {
    let mut current = None;
    for line in text.lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        match (fields.as_slice(), &current) {
            (["C", name, ..], _) => current = tools.iter().position(|tool| tool.name == *name),
            (["W", names, value, help], Some(at)) => {
                let tool: &mut Tool = &mut tools[*at];
                if tool.groups.is_empty() {
                    tool.groups.push(("Options".into(), Vec::new()));
                }
                let names = names.split(' ').map(str::to_owned).collect();
                let word = Word { names, value: (*value).into(), help: (*help).into() };
                tool.groups[0].1.push(word);
            }
            (["P", name, help], Some(at)) => tools[*at].operands.push(((*name).into(), (*help).into())),
            (["S", name, help], Some(at)) => {
                tools[*at].words.push((*name).into());
                tools[*at].operands.push(((*name).into(), (*help).into()));
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_known_where_all_are_listed() {
        let word = |value: &str| Word { value: value.into(), ..Word::default() };
        assert_eq!(word(" process|thread|fiber").choices(), ["process", "thread", "fiber"]);
        for value in ["", " N", " NAME|FILE.toml", "[=json]", " VAR[=VALUE]"] {
            assert!(word(value).choices().is_empty(), "{value}");
        }
    }

    #[test]
    fn what_the_laboratory_says_is_read() {
        let mut tools = vec![Tool { name: "bench".into(), ..Tool::default() }];
        describe(
            &mut tools,
            "C\tbench\tMeasure\nW\t-o --output\t FILE\tWhere to\nP\tSUITE\tWhich\nS\tshow\tOne\n",
        );
        let word = tools[0].flags().next().unwrap();
        assert_eq!((word.names.join(" "), word.value.as_str()), ("-o --output".into(), " FILE"));
        assert_eq!(tools[0].words, ["show"]);
        assert_eq!(tools[0].operands.len(), 2);
    }

    #[test]
    fn every_flag_of_every_tool_is_in_every_shell_and_in_the_manual() {
        let (mpirun, wrappers, all) = (mpirun(), wrappers(), of_corelace());
        let texts = [
            shells::bash(&mpirun, &wrappers, &all),
            shells::zsh(&mpirun, &wrappers, &all),
            page::of_mpirun(&mpirun).replace("\\-", "-"),
        ];
        for name in mpirun.flags().flat_map(|word| &word.names) {
            for (number, text) in texts.iter().enumerate() {
                assert!(text.contains(name.as_str()), "{name} is not in text {number}");
            }
        }
        let fish = shells::fish(&mpirun, &wrappers, &all);
        for name in mpirun.flags().flat_map(|word| &word.names) {
            let bare = name.trim_start_matches('-');
            let found = ["-l", "-o", "-s"].iter().any(|kind| fish.contains(&format!(" {kind} {bare}")));
            assert!(found, "{name} is not in fish's");
        }
    }
}

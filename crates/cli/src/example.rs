//! `corelace example`: the programs that an installation brings along, to read, run and copy.
//!
//! `share/corelace/examples` has a folder for each language and `apps`; `share/corelace/exercises`
//! has programs with a mistake. What a program is about is said by its first comment.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use crate::flags::alike;
use crate::prefix::{self, Prefix};
use crate::{compile, terminal};

const HELP: &str = "\
Lists the programs that come with this installation, prints where one is, or copies it.

Usage: corelace example [NAME] [-o DIR]

  NAME                print the path of this program: ring, ring.f90, c/ring.c
  -o, --output DIR    copy the program, and the headers of its own that it includes, into DIR

Examples:
  corelace example
  mpirun -n 4 $(corelace example ring)
  corelace example stencil -o . && mpirun -n 4 stencil.c
";

/// Folders below `share/corelace`, in the order in which names are looked up, and their titles.
const FOLDERS: [(&str, &str); 6] = [
    ("examples/c", "C"),
    ("examples/cxx", "C++"),
    ("examples/fortran", "Fortran"),
    ("examples/python", "Python (with mpi4py)"),
    ("examples/apps", "Applications"),
    ("exercises", "Exercises: what is wrong here? (run them with mpirun --check)"),
];

/// A program that was installed.
#[derive(Debug)]
struct Example {
    /// Its path below its root: `c/ring.c`, `apps/km.c`, `deadlocks/wrong_tag.c`.
    name: String,
    path: PathBuf,
    title: &'static str,
}

/// The command with these words.
pub fn main(words: &[OsString]) -> Result<u8, String> {
    let (mut name, mut output) = (None, None);
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match &*word.to_string_lossy() {
            "--help" | "-h" => return crate::say(HELP).map(|()| 0),
            "-o" | "--output" => {
                let directory = words.next().ok_or("example: -o needs a value: DIR")?;
                output = Some(PathBuf::from(directory));
            }
            text if text.starts_with("--output=") => output = Some(text["--output=".len()..].into()),
            text if name.is_none() && !text.starts_with('-') => name = Some(text.to_owned()),
            text => return Err(format!("example: \"{text}\", expected one NAME or -o DIR\n\n{HELP}")),
        }
    }
    let prefix = prefix::locate()?;
    let all = all(&prefix)?;
    let Some(name) = name else {
        return match output {
            Some(_) => Err("example: -o without a NAME: it copies one program".into()),
            None => crate::say(&list(&all)).map(|()| 0),
        };
    };
    let example = find(&all, &name).ok_or_else(|| unknown(&all, &name))?;
    match output {
        None => println!("{}", example.path.display()),
        Some(directory) => {
            copy(&example.path, &directory)?.iter().for_each(|file| println!("{}", file.display()))
        }
    }
    Ok(0)
}

/// What `corelace example` calls the installed program that a path outside of the installation seems to mean.
pub fn meant(prefix: &Prefix, path: &str) -> Option<String> {
    let all = all(prefix).ok()?;
    let file = Path::new(path).file_name()?.to_str()?;
    find(&all, path).or_else(|| find(&all, file)).map(|found| found.name.clone())
}

fn all(prefix: &Prefix) -> Result<Vec<Example>, String> {
    let share = prefix.share();
    let mut all = Vec::new();
    for (folder, title) in FOLDERS {
        let root = if folder == "exercises" { share.join(folder) } else { share.join("examples") };
        let mut files = Vec::new();
        let place = share.join(folder);
        if place.exists() {
            collect(&place, &mut files).map_err(|error| format!("example: {}: {error}", place.display()))?;
        }
        files.sort();
        all.extend(files.into_iter().filter(|path| is_program(path)).map(|path| {
            let name = path.strip_prefix(&root).unwrap_or(&path).to_string_lossy().into_owned();
            Example { name, path, title }
        }));
    }
    match all.is_empty() {
        true => Err(format!("example: this installation has none, expected some in {}", share.display())),
        false => Ok(all),
    }
}

fn is_program(path: &Path) -> bool {
    compile::language(path).is_some() || path.extension().is_some_and(|ending| ending == "py")
}

fn collect(directory: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}

/// The first program of this name, which may have its folder or lack its ending.
fn find<'a>(all: &'a [Example], name: &str) -> Option<&'a Example> {
    let mut name = name.trim_start_matches("./");
    for root in ["tests/wrong/", "exercises/", "examples/"] {
        name = name.strip_prefix(root).unwrap_or(name);
    }
    let is_it =
        |known: &str| known == name || known.strip_suffix(name).is_some_and(|folder| folder.ends_with('/'));
    let stem = |known: &str| Path::new(known).with_extension("").to_string_lossy().into_owned();
    let exact = all.iter().find(|example| is_it(&example.name));
    exact.or_else(|| all.iter().find(|example| is_it(&stem(&example.name))))
}

fn unknown(all: &[Example], name: &str) -> String {
    let stems: BTreeSet<String> = all
        .iter()
        .filter_map(|example| Some(example.path.file_stem()?.to_string_lossy().into_owned()))
        .collect();
    let meant = match alike(name, stems.iter().map(String::as_str), 3).as_slice() {
        [] => String::new(),
        some => format!("; did you mean {}?", some.join(", ")),
    };
    format!("there is no example \"{name}\"{meant} (`corelace example` lists all)")
}

fn list(all: &[Example]) -> String {
    let width = terminal::width();
    let mut text = "`corelace example NAME` prints where a program is, `corelace example NAME -o DIR` \
                    copies it.\n"
        .to_owned();
    let mut title = "";
    for example in all {
        if example.title != title {
            title = example.title;
            text.push_str(&format!("\n{title}:\n"));
        }
        let said = fs::read_to_string(&example.path).unwrap_or_default();
        let column = 26;
        let mut what = summary(&said);
        let room = width.saturating_sub(column.max(example.name.len() + 4));
        if what.chars().count() > room {
            what = what.chars().take(room.saturating_sub(3)).collect::<String>() + "...";
        }
        text.push_str(&format!(
            "  {:<24}{}{what}\n",
            example.name,
            if example.name.len() < 24 { "" } else { "  " }
        ));
    }
    text
}

/// The first sentence of the first comment.
fn summary(text: &str) -> String {
    let mut words: Vec<&str> = Vec::new();
    for line in text.lines().take(20) {
        let line = line.trim().trim_start_matches(['/', '*', '!', '"', '#']).trim();
        let ends = line.ends_with("*/") || line.is_empty();
        if ends && line.is_empty() && words.is_empty() {
            continue;
        }
        words.extend(line.trim_end_matches(['/', '*', '"']).split_whitespace());
        if ends {
            break;
        }
    }
    let text = words.join(" ");
    let text = text.split("usage:").next().unwrap_or_default().trim();
    match text.find(". ") {
        Some(end) => text[..=end].to_owned(),
        None => text.to_owned(),
    }
}

/// Copies a program with what it includes by a path of its own, so that these paths stay right.
fn copy(program: &Path, directory: &Path) -> Result<Vec<PathBuf>, String> {
    let named = |path: &Path| {
        let path = path.display().to_string();
        move |error: std::io::Error| format!("example: {path}: {error}")
    };
    let mut needed = BTreeSet::new();
    let mut open = vec![program.to_path_buf()];
    while let Some(path) = open.pop() {
        let path = path.canonicalize().map_err(named(&path))?;
        if needed.insert(path.clone()) {
            let text = fs::read_to_string(&path).map_err(named(&path))?;
            let beside = path.parent().unwrap_or(Path::new("/"));
            let includes =
                text.lines().filter_map(|line| line.trim().strip_prefix("#include \"")?.split('"').next());
            open.extend(includes.map(|header| beside.join(header)).filter(|header| header.exists()));
        }
    }
    let mut root = program.canonicalize().map_err(named(program))?;
    while !needed.iter().all(|path| path.parent().is_some_and(|parent| parent.starts_with(&root))) {
        root.pop();
    }
    let mut made = Vec::new();
    for path in &needed {
        let to = directory.join(path.strip_prefix(&root).expect("the root is above all"));
        let content = fs::read(path).map_err(named(path))?;
        match fs::read(&to) {
            Ok(present) if present != content => {
                return Err(format!(
                    "example: {} is there and is another file: it is left as it is",
                    to.display()
                ));
            }
            _ => {}
        }
        fs::create_dir_all(to.parent().unwrap_or(directory)).map_err(named(&to))?;
        fs::write(&to, content).map_err(named(&to))?;
        made.push(to);
    }
    Ok(made)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_program_is_about_is_its_first_sentence() {
        for (text, expected) in [
            ("/* Pi by the rule.   usage: pi [N] */\n#include <math.h>", "Pi by the rule."),
            (
                "/*\n * Every rank takes part; and\n * all check. More.\n */",
                "Every rank takes part; and all check.",
            ),
            ("// Both wait.\n// ranks: 2", "Both wait."),
            ("! A token goes round.\n!\nprogram ring", "A token goes round."),
            ("\"\"\"Every rank says who it is.\"\"\"\nfrom x import y", "Every rank says who it is."),
        ] {
            assert_eq!(summary(text), expected);
        }
    }

    #[test]
    fn a_program_is_found_by_its_name_with_or_without_folder_and_ending() {
        let all: Vec<Example> = ["c/ring.c", "fortran/ring.f90", "apps/km.c", "deadlocks/wrong_tag.c"]
            .map(|name| Example { name: name.into(), path: name.into(), title: "" })
            .into();
        for (name, expected) in [
            ("ring", "c/ring.c"),
            ("ring.f90", "fortran/ring.f90"),
            ("fortran/ring", "fortran/ring.f90"),
            ("examples/c/ring.c", "c/ring.c"),
            ("apps/km.c", "apps/km.c"),
            ("tests/wrong/deadlocks/wrong_tag.c", "deadlocks/wrong_tag.c"),
        ] {
            assert_eq!(find(&all, name).unwrap().name, expected, "{name}");
        }
        assert!(find(&all, "ing").is_none());
        let refused = unknown(&all, "rink");
        assert!(refused.contains("did you mean ring"), "{refused}");
    }

    #[test]
    fn a_copy_has_the_headers_at_the_same_distance_and_overwrites_nothing_of_the_user() {
        let room = tempfile::tempdir().unwrap();
        let share = room.path().join("share");
        fs::create_dir_all(share.join("deadlocks")).unwrap();
        fs::write(share.join("wrong.h"), "#include <mpi.h>\n").unwrap();
        fs::write(share.join("deadlocks/a.c"), "#include \"../wrong.h\"\n").unwrap();
        let here = room.path().join("here");
        let made = copy(&share.join("deadlocks/a.c"), &here).unwrap();
        assert_eq!(made, [here.join("deadlocks/a.c"), here.join("wrong.h")]);
        assert!(copy(&share.join("deadlocks/a.c"), &here).is_ok(), "an equal file may be there");
        fs::write(here.join("wrong.h"), "mine").unwrap();
        let refused = copy(&share.join("deadlocks/a.c"), &here).unwrap_err();
        assert!(refused.contains("wrong.h is there"), "{refused}");
        assert_eq!(fs::read_to_string(here.join("wrong.h")).unwrap(), "mine");
    }
}

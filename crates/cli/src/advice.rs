//! What a user may have meant who named a program that cannot be started.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use launch::NotFound;

use crate::flags::{Part, alike, distance};
use crate::prefix::Prefix;
use crate::{compile, example};

/// Why there is no such program, and what to type instead, if that is known.
pub fn on(refused: &NotFound, directory: Option<&Path>, prefix: Option<&Prefix>) -> String {
    match refused {
        NotFound::NotExecutable { name, path, .. } if !path.is_dir() => {
            format!("program \"{name}\": {} is there, but {}", path.display(), not_executable(path))
        }
        NotFound::NotExecutable { .. } => refused.to_string(),
        NotFound::Nowhere { name, .. } => {
            let example = || prefix.and_then(|prefix| example::meant(prefix, name));
            let meant = match like(name, directory) {
                Some(near) => format!("; did you mean {near}?"),
                None => match example().filter(|_| is_source(name)) {
                    Some(example) => format!("; `corelace example {example}` prints where the example is"),
                    None => String::new(),
                },
            };
            match (is_source(name), Path::new(name).parent()) {
                // Sources are not searched for.
                (true, Some(folder)) => {
                    let here = std::env::current_dir().unwrap_or_default();
                    format!("program \"{name}\" not found in {}{meant}", here.join(folder).display())
                }
                _ => format!("{refused}{meant}"),
            }
        }
    }
}

/// A note on a number of ranks that stands where it is a word of the program, if nobody has said another one.
pub fn on_order(part: &Part) -> Option<String> {
    let [program, flag, number, ..] = part.command.as_slice() else { return None };
    let (flag, number) = (flag.to_str()?, number.to_str()?);
    let is_it = ["-n", "-np", "--np"].contains(&flag) && number.parse::<u32>().is_ok();
    (is_it && part.ranks.is_none()).then(|| {
        let program = program.display();
        format!(
            "one rank is started; \"{flag} {number}\" stands behind the program and is given to it \
             (`mpirun {flag} {number} {program}` starts {number} ranks)"
        )
    })
}

/// Whether a name ends as sources do.
fn is_source(name: &str) -> bool {
    compile::language(Path::new(name)).is_some() || name.ends_with(".py")
}

/// What is wrong with a file that cannot be executed.
fn not_executable(path: &Path) -> String {
    let ending = path.extension().and_then(OsStr::to_str).unwrap_or_default();
    let name = path.file_name().unwrap_or_default().display();
    let begins = fs::read(path).unwrap_or_default();
    if ending == "py" {
        format!("is run by Python: give mpirun the words `python3 {name}`")
    } else if begins.starts_with(b"\x7fELF") || begins.starts_with(b"#!") {
        format!("is not executable: `chmod +x {name}` makes it so")
    } else if let Some(known) = alike(ending, compile::ENDINGS.into_iter(), 1).first() {
        format!("is not executable, and .{ending} is no ending of a source file; did you mean .{known}?")
    } else {
        "is neither executable nor a C, C++ or Fortran file".to_owned()
    }
}

/// The program or source that is most like a name, where that name would be.
fn like(name: &str, directory: Option<&Path>) -> Option<String> {
    let (folder, file) = match name.rsplit_once('/') {
        Some((folder, file)) => (Some(folder), file),
        None => (None, name),
    };
    let here = directory.map_or_else(|| PathBuf::from("."), Path::to_path_buf);
    let place = folder.map_or_else(|| here.clone(), |folder| here.join(folder));
    let there: Vec<String> = fs::read_dir(place)
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| entry.metadata().is_ok_and(|found| found.is_file()))
        .filter(|entry| {
            let executable = entry.metadata().is_ok_and(|found| found.permissions().mode() & 0o111 != 0);
            executable || is_source(&entry.file_name().to_string_lossy())
        })
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    let stem = |name: &str| Path::new(name).with_extension("").to_string_lossy().into_owned();
    // The same name with another ending comes before names that are alike.
    let same = there.iter().find(|known| stem(known) == stem(file)).map(String::as_str);
    let near = same.or_else(|| alike(file, there.iter().map(String::as_str), 1).first().copied());
    if let Some(near) = near {
        let near = format!("{}/{near}", folder.unwrap_or("."));
        return Some(match near.strip_suffix(".py") {
            Some(_) => format!("python3 {near}"),
            None => near,
        });
    }
    folder.is_none().then(|| command(file)).flatten()
}

/// The command of the path that is most like a name, among those that differ in two letters at most.
fn command(name: &str) -> Option<String> {
    let path = std::env::var_os("PATH")?;
    let names: Vec<String> = std::env::split_paths(&path)
        .filter_map(|place| fs::read_dir(place).ok())
        .flatten()
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|known| known.len().abs_diff(name.len()) <= 1 && known.bytes().next() == name.bytes().next())
        .collect();
    let near = alike(name, names.iter().map(String::as_str), 1).first().copied()?;
    (name.len() > 3 && distance(name, near) <= 2).then(|| near.to_owned())
}

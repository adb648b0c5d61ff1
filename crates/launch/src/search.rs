//! Finds a program the way a shell does, and says where it looked if there is none.

use std::ffi::OsStr;
use std::fmt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A program that is not there, or cannot be executed.
#[derive(Debug, PartialEq, Eq)]
pub enum NotFound {
    /// No such file.
    Nowhere {
        /// What was asked for.
        name: String,
        /// Where it was looked for.
        searched: String,
    },
    /// A file, but not an executable one.
    NotExecutable {
        /// What was asked for.
        name: String,
        /// What was found.
        path: PathBuf,
        /// What is wrong with it.
        why: &'static str,
    },
}

impl fmt::Display for NotFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotFound::Nowhere { name, searched } => {
                write!(f, "program \"{name}\" not found: searched {searched}")
            }
            NotFound::NotExecutable { name, path, why } => {
                write!(f, "program \"{name}\": {} exists but is {why}", path.display())
            }
        }
    }
}

impl std::error::Error for NotFound {}

/// Finds `name`: a path with a slash in `directory` (the current one if `None`), any other name in `path` (the value of
/// `PATH`) and then in `directory`, because `mpirun prog` for `./prog` is what people type. The result is absolute.
pub fn find_program(
    name: &OsStr,
    path: Option<&OsStr>,
    directory: Option<&Path>,
) -> Result<PathBuf, NotFound> {
    let here = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
    let mut places = Vec::new();
    if !name.as_encoded_bytes().contains(&b'/') {
        places.extend(path.map(std::env::split_paths).into_iter().flatten().map(|place| here.join(place)));
    }
    places.push(here.clone());
    places.extend(directory.map(|directory| here.join(directory)));
    places.dedup();

    let mut refused = None;
    for place in &places {
        let candidate = place.join(name);
        match std::fs::metadata(&candidate) {
            Ok(found) if found.is_file() && found.permissions().mode() & 0o111 != 0 => return Ok(candidate),
            Ok(found) => {
                let why = if found.is_dir() { "a directory" } else { "not executable (chmod +x)" };
                refused.get_or_insert((candidate, why));
            }
            Err(_) => {}
        }
    }
    let name = name.to_string_lossy().into_owned();
    match refused {
        Some((path, why)) => Err(NotFound::NotExecutable { name, path, why }),
        None => {
            let list: Vec<_> = places.iter().map(|place| place.display().to_string()).collect();
            Err(NotFound::Nowhere { name, searched: list.join(", ") })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_name_is_searched_in_the_path() {
        let found = find_program(OsStr::new("sh"), Some(OsStr::new("/nowhere:/bin")), None);
        assert_eq!(found, Ok("/bin/sh".into()));
    }

    #[test]
    fn a_missing_program_is_answered_with_every_place_that_was_searched() {
        let error =
            find_program(OsStr::new("no-such"), Some(OsStr::new("/bin:/usr/bin")), Some(Path::new("/tmp")));
        let text = error.unwrap_err().to_string();
        let here = std::env::current_dir().unwrap();
        assert_eq!(
            text,
            format!("program \"no-such\" not found: searched /bin, /usr/bin, {}, /tmp", here.display())
        );
    }

    #[test]
    fn a_file_that_cannot_be_executed_is_named() {
        let text = find_program(OsStr::new("/etc/passwd"), None, None).unwrap_err().to_string();
        assert_eq!(text, "program \"/etc/passwd\": /etc/passwd exists but is not executable (chmod +x)");
        assert!(
            find_program(OsStr::new("/etc"), None, None).unwrap_err().to_string().contains("a directory")
        );
    }
}

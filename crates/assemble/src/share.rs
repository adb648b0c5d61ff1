//! What an installation has to read: the examples, the applications, and programs with mistakes as
//! exercises, which `corelace example` shows.

use std::fs;
use std::path::Path;

use crate::files::{Outcome, copy};

/// Folders of the source tree, and where they go below `share/corelace`.
const FOLDERS: [(&str, &str); 6] = [
    ("examples/c", "examples/c"),
    ("examples/cxx", "examples/cxx"),
    ("examples/fortran", "examples/fortran"),
    ("examples/python", "examples/python"),
    ("apps", "examples/apps"),
    ("tests/wrong", "exercises"),
];

/// Endings of what is installed: programs, and what they include.
const ENDINGS: [&str; 5] = ["c", "h", "cc", "f90", "py"];

/// Copies the programs from the source tree into a prefix.
pub fn install(root: &Path, prefix: &Path) -> Outcome {
    let share = prefix.join("share/corelace");
    FOLDERS.iter().try_for_each(|(from, to)| folder(&root.join(from), &share.join(to)))
}

fn folder(from: &Path, to: &Path) -> Outcome {
    let fail = |error: std::io::Error| format!("cannot read {}: {error}", from.display());
    for entry in fs::read_dir(from).map_err(fail)? {
        let path = entry.map_err(fail)?.path();
        let to = to.join(path.file_name().unwrap_or_default());
        if path.is_dir() {
            folder(&path, &to)?;
        } else if path.extension().is_some_and(|found| ENDINGS.iter().any(|ending| found == *ending)) {
            copy(&path, &to, 0o644)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_folder_of_programs_is_installed_with_its_headers() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let prefix = std::env::temp_dir().join(format!("corelace-share-{}", std::process::id()));
        install(&root, &prefix).unwrap();
        let share = prefix.join("share/corelace");
        for file in [
            "examples/c/ring.c",
            "examples/cxx/statics.cc",
            "examples/fortran/ring.f90",
            "examples/python/hello.py",
            "examples/apps/hpl.c",
            "examples/apps/hpl/grid.h",
            "exercises/wrong.h",
            "exercises/deadlocks/wrong_tag.c",
        ] {
            assert!(share.join(file).exists(), "{file}");
        }
        fs::remove_dir_all(&prefix).unwrap();
    }
}

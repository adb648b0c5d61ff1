//! Where things are in the working tree, and how a file is written without tearing it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What a command reports when it cannot go on.
pub type Outcome<T = ()> = Result<T, String>;

/// The root of the workspace: the directory above this package.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace").to_path_buf()
}

/// Reads a text file; the message names it.
pub fn read(path: &Path) -> Outcome<String> {
    fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()))
}

/// Writes a file through a temporary neighbour and a rename, so that a reader sees the old or the new one, never half.
/// Leaves an equal file alone: its time stamp, and with it every build that depends on it, stays.
pub fn replace(path: &Path, content: &[u8]) -> Outcome<bool> {
    if fs::read(path).is_ok_and(|present| present == content) {
        return Ok(false);
    }
    let fail = |error: std::io::Error| format!("cannot write {}: {error}", path.display());
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory).map_err(fail)?;
    }
    let temporary = beside(path);
    fs::write(&temporary, content).map_err(fail)?;
    fs::rename(&temporary, path).map_err(fail)?;
    Ok(true)
}

/// A name in the same directory, for the file that will be renamed to `path`.
pub fn beside(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{}", std::process::id()))
}

/// Runs a tool; the message of a failure shows the whole command.
pub fn run(command: &mut Command) -> Outcome {
    let shown = format!("{command:?}");
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{status}: {shown}")),
        Err(error) => Err(format!("cannot start {shown}: {error}")),
    }
}

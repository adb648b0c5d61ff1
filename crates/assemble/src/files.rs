//! Tools that are run, and files that are written without tearing them.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What a command reports when it cannot go on.
pub type Outcome<T = ()> = Result<T, String>;

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

/// Whether `product` is there and not older than any of its sources.
pub fn is_fresh<'a>(product: &Path, sources: impl IntoIterator<Item = &'a Path>) -> bool {
    let time = |path: &Path| fs::metadata(path).and_then(|data| data.modified()).ok();
    let Some(made) = time(product) else { return false };
    sources.into_iter().all(|source| time(source).is_some_and(|changed| changed <= made))
}

/// Copies a file, by a rename, with these permissions; an equal one is left alone.
pub fn copy(from: &Path, to: &Path, mode: u32) -> Outcome {
    let content = fs::read(from).map_err(|error| format!("cannot read {}: {error}", from.display()))?;
    if fs::read(to).is_ok_and(|present| present == content) {
        return Ok(());
    }
    let fail = |error: std::io::Error| format!("cannot write {}: {error}", to.display());
    fs::create_dir_all(to.parent().unwrap_or(Path::new("/"))).map_err(fail)?;
    let temporary = beside(to);
    fs::write(&temporary, content).map_err(fail)?;
    fs::set_permissions(&temporary, fs::Permissions::from_mode(mode)).map_err(fail)?;
    fs::rename(&temporary, to).map_err(fail)
}

/// Makes a symbolic link, by a rename.
pub fn link(target: &str, at: &Path) -> Outcome {
    if fs::read_link(at).is_ok_and(|present| present == Path::new(target)) {
        return Ok(());
    }
    let fail = |error: std::io::Error| format!("cannot make the link {}: {error}", at.display());
    let temporary = beside(at);
    fs::create_dir_all(at.parent().unwrap_or(Path::new("/"))).map_err(fail)?;
    match fs::remove_file(&temporary) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(fail(error)),
        _ => symlink(target, &temporary).map_err(fail)?,
    }
    fs::rename(&temporary, at).map_err(fail)
}

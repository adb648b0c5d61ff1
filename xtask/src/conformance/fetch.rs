//! Fetches the suite: MPICH's source package, from whichever mirrors this machine's apt is configured for.
//!
//! Apt's own directories are left alone: lists, cache and the entries for sources, which are made from the machine's entries for
//! binaries, lie below the target directory. Only `test/mpi` is unpacked. A second run finds it there and asks nobody.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::workspace::{self, Outcome};

const PACKAGE: &str = "mpich";

/// The datatypes for which the suite's generator lists its tests of random layouts: those that the suite's configuration names.
const POOL_TYPES: &str = "--with-dtpools-datatypes=MPI_INT,MPI_INT:4+MPI_DOUBLE:8";

/// The directory that holds the suite's folders.
pub fn suite(room: &Path) -> Outcome<PathBuf> {
    let (suite, whole) = (room.join("suite/test/mpi"), room.join("suite/complete"));
    let corrections = workspace::read(&workspace::root().join("xtask/conformance/corrections.json"))?;
    if fs::read_to_string(&whole)
        .is_ok_and(|text| text.split_once('\n').is_some_and(|(_, of)| of == corrections))
    {
        return Ok(suite);
    }
    for (program, package) in [("apt-get", "apt"), ("tar", "tar"), ("xz", "xz-utils"), ("bash", "bash")] {
        need(program, package)?;
    }
    let archive = match archive(room)? {
        Some(archive) => archive,
        None => {
            println!("conformance: fetching the source package {PACKAGE}");
            download(room)?;
            archive(room)?.ok_or_else(|| format!("apt-get source {PACKAGE} left no .orig.tar"))?
        }
    };
    let unpacked = room.join("suite");
    _ = fs::remove_dir_all(&unpacked);
    fs::create_dir_all(&unpacked).map_err(|error| format!("{}: {error}", unpacked.display()))?;
    run(Command::new("tar").arg("-xf").arg(&archive).arg("-C").arg(&unpacked).args([
        "--no-same-owner",
        "--strip-components=1",
        "--wildcards",
        "*/test/mpi",
    ]))?;
    run(Command::new("bash").arg("maint/gentests_dtp.sh").arg(POOL_TYPES).current_dir(&suite))?;
    correct(&suite, &corrections)?;
    workspace::replace(&whole, format!("{}\n{corrections}", archive.display()).as_bytes())?;
    Ok(suite)
}

/// Mends tests that are wrong by the standard and would hide what they test. A release that does not have the fault is left as it is.
fn correct(suite: &Path, corrections: &str) -> Outcome {
    #[derive(serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Correction {
        file: String,
        from: String,
        to: String,
        #[serde(rename = "reason")]
        _reason: String,
    }
    let corrections: Vec<Correction> =
        serde_json::from_str(corrections).map_err(|error| format!("corrections.json: {error}"))?;
    for Correction { file, from, to, .. } in corrections {
        let path = suite.join(file);
        let Ok(text) = fs::read_to_string(&path) else { continue };
        workspace::replace(&path, text.replace(&from, &to).as_bytes())?;
    }
    Ok(())
}

/// Which release of the suite lies there, for the results.
pub fn version(room: &Path) -> String {
    let complete = workspace::read(&room.join("suite/complete")).unwrap_or_default();
    let archive = complete.lines().next().unwrap_or_default();
    let name = archive.rsplit('/').next().unwrap_or_default();
    name.split(".orig").next().unwrap_or_default().replace('_', " ")
}

fn archive(room: &Path) -> Outcome<Option<PathBuf>> {
    fs::create_dir_all(room).map_err(|error| format!("{}: {error}", room.display()))?;
    let entries = fs::read_dir(room).map_err(|error| format!("{}: {error}", room.display()))?;
    Ok(entries.flatten().map(|entry| entry.path()).find(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with(&format!("{PACKAGE}_")) && name.contains(".orig.tar.") && !name.ends_with(".asc")
    }))
}

fn download(room: &Path) -> Outcome {
    let apt = room.join("apt");
    _ = fs::remove_dir_all(&apt);
    for directory in ["sources", "lists/partial", "cache/archives/partial"] {
        fs::create_dir_all(apt.join(directory)).map_err(|error| format!("{}: {error}", apt.display()))?;
    }
    let mut found = false;
    for path in configured() {
        let text = workspace::read(&path)?;
        let name = path.file_name().unwrap_or_default();
        let is_deb822 = path.extension().is_some_and(|extension| extension == "sources");
        let sources = if is_deb822 { sources_of_stanzas(&text) } else { sources_of_lines(&text) };
        found |= !sources.trim().is_empty();
        workspace::replace(&apt.join("sources").join(name), sources.as_bytes())?;
    }
    if !found {
        return Err("apt is configured for no mirror from which to fetch the suite: see /etc/apt".to_owned());
    }
    let get = || {
        let mut command = Command::new("apt-get");
        let option = |name: &str, path: PathBuf| format!("{name}={}", path.display());
        command.current_dir(room).arg("-qq").args(["-o", "Dir::Etc::sourcelist=/dev/null"]);
        command.args(["-o", &option("Dir::Etc::sourceparts", apt.join("sources"))]);
        command.args(["-o", &option("Dir::State::lists", apt.join("lists"))]);
        command.args(["-o", &option("Dir::Cache", apt.join("cache"))]);
        command
    };
    run(get().arg("update"))?;
    run(get().args(["source", "--download-only", PACKAGE]))
}

/// The files that say where this machine's packages come from.
fn configured() -> Vec<PathBuf> {
    let parts = fs::read_dir("/etc/apt/sources.list.d").into_iter().flatten().flatten();
    let parts = parts.map(|entry| entry.path()).filter(|path| {
        path.extension().is_some_and(|extension| extension == "list" || extension == "sources")
    });
    let single = PathBuf::from("/etc/apt/sources.list");
    parts.chain(single.exists().then_some(single)).collect()
}

/// Entries of one line, `deb …`, as entries for sources.
fn sources_of_lines(text: &str) -> String {
    let entries = text.lines().filter_map(|line| line.trim().strip_prefix("deb "));
    entries.map(|rest| format!("deb-src {rest}\n")).collect()
}

/// Entries of several lines, `Types: deb` and so on, as entries for sources.
fn sources_of_stanzas(text: &str) -> String {
    let lines = text.lines().map(|line| match line.split_once(':') {
        Some(("Types", _)) => "Types: deb-src\n".to_owned(),
        _ => format!("{line}\n"),
    });
    lines.collect()
}

/// Fails naming the package if a program is missing.
pub fn need(program: &str, package: &str) -> Outcome {
    let found = Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    match found {
        Ok(_) => Ok(()),
        Err(error) => Err(format!("`{program}` is needed: {error} (on Debian: apt-get install {package})")),
    }
}

/// Runs a tool; shows what it said only if it failed.
fn run(command: &mut Command) -> Outcome {
    let output = command.output().map_err(|error| format!("cannot start {command:?}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    Err(format!("{}: {command:?}\n{}", output.status, said.trim_end()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_for_binaries_become_entries_for_sources() {
        let lines = "# deb old\ndeb [signed-by=/k] http://mirror/debian stable main\ndeb-src http://mirror/debian stable main\n";
        assert_eq!(sources_of_lines(lines), "deb-src [signed-by=/k] http://mirror/debian stable main\n");
        let stanza = "Types: deb\nURIs: http://mirror/debian\nSuites: stable\n\nTypes: deb deb-src\n";
        let expected = "Types: deb-src\nURIs: http://mirror/debian\nSuites: stable\n\nTypes: deb-src\n";
        assert_eq!(sources_of_stanzas(stanza), expected);
    }
}

//! Which MPI this is, which one the commands of the user's path belong to, and for which one Python
//! is set up. Nothing is believed from names alone: a command is ours if it is this installation's
//! executable.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use cli::prefix;

use super::{Finding, Grade, finding};

/// The commands that have to be of one MPI.
const COMMANDS: [&str; 2] = ["mpirun", "mpicc"];

/// What lists the extension modules of mpi4py, without loading any.
const SCRIPT: &str = "import mpi4py, glob, os\n\
                      print(mpi4py.__version__)\n\
                      print('\\n'.join(glob.glob(os.path.join(mpi4py.__path__[0], 'MPI*.so'))))";

/// Names of libraries, and whose they are.
const LIBRARIES: [(&str, &str); 4] = [
    ("libmpi_abi.so", "the standard ABI"),
    ("libmpi.so.40", "Open MPI"),
    ("libmpi.so.12", "MPICH"),
    ("libmpich.so.12", "MPICH"),
];

pub(super) fn findings() -> Vec<Finding> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let own = own();
    let mut findings = vec![finding(
        Grade::Good,
        "version",
        format!("Corelace {} ({})", env!("CARGO_PKG_VERSION"), cli::BUILD),
        own.as_ref().map_or("not installed".into(), |own| format!("installed in {}", home(own).display())),
    )];
    findings.extend(COMMANDS.map(|name| first(name, &path, own.as_deref())));
    findings.push(others(&path, own.as_deref()));
    findings.push(python());
    findings
}

/// This installation's executable.
fn own() -> Option<PathBuf> {
    prefix::locate().ok()?.root().join("bin/corelace").canonicalize().ok()
}

fn home(executable: &Path) -> &Path {
    executable.ancestors().nth(2).unwrap_or(executable)
}

/// All places of a command in a path, the first one first.
fn places(name: &str, path: &OsStr) -> Vec<PathBuf> {
    std::env::split_paths(path).map(|place| place.join(name)).filter(|place| place.is_file()).collect()
}

fn is_own(place: &Path, own: Option<&Path>) -> bool {
    place.canonicalize().is_ok_and(|found| own == Some(found.as_path()))
}

/// Whose command the user gets.
fn first(name: &'static str, path: &OsStr, own: Option<&Path>) -> Finding {
    let what = if name == "mpirun" { "mpirun in PATH" } else { "mpicc in PATH" };
    let bin = own.and_then(Path::parent).map_or("DIR/bin".into(), |bin| bin.display().to_string());
    match places(name, path).first() {
        Some(place) if is_own(place, own) => {
            finding(Grade::Good, what, place.display().to_string(), "of this installation")
        }
        Some(place) => finding(
            Grade::Fair,
            what,
            format!("{}: {}", place.display(), version(place)),
            format!("another MPI comes first: export PATH={bin}:$PATH"),
        ),
        None => finding(Grade::Fair, what, "none", format!("export PATH={bin}:$PATH")),
    }
}

/// The other MPIs of the path.
fn others(path: &OsStr, own: Option<&Path>) -> Finding {
    let mut seen = BTreeSet::new();
    let mut list = Vec::new();
    for place in COMMANDS.iter().flat_map(|name| places(name, path)) {
        let bin = place.parent().map(Path::to_path_buf);
        if !is_own(&place, own) && seen.insert(bin) {
            list.push(format!("{} ({})", place.display(), version(&place)));
        }
    }
    match list.is_empty() {
        true => finding(Grade::Good, "other MPIs", "none in PATH", "nothing can be mixed up"),
        false => finding(
            Grade::Good,
            "other MPIs",
            list.join(", "),
            "programs are built and started by commands of one MPI",
        ),
    }
}

/// The first line of what a command calls its version.
fn version(command: &Path) -> String {
    let output = Command::new(command).arg("--version").stdin(Stdio::null()).output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let line = text.lines().map(str::trim).find(|line| !line.is_empty());
    line.unwrap_or("says no version").to_owned()
}

fn python() -> Finding {
    let ask = |words: &[&str]| {
        let output = Command::new("python3").args(words).stdin(Stdio::null()).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let Some(version) = ask(&["--version"]) else {
        return finding(Grade::Good, "Python", "python3: not found", "only Python programs need it");
    };
    let Some(modules) = ask(&["-c", SCRIPT]) else {
        let value = format!("{version}, without mpi4py");
        return finding(Grade::Good, "Python", value, format!("Python programs with MPI need it: {INSTALL}"));
    };
    let mut lines = modules.lines();
    let mpi4py = format!("{version}, mpi4py {}", lines.next().unwrap_or_default());
    let built_for: BTreeSet<&str> = lines.filter_map(|file| fs::read(file).ok()).flat_map(needs).collect();
    let list = built_for.iter().copied().collect::<Vec<_>>().join(" and ");
    let value = format!("{mpi4py}, built for {}", if list.is_empty() { "an unknown MPI" } else { &list });
    match built_for.contains(LIBRARIES[0].1) {
        true => finding(Grade::Good, "Python", value, "`mpirun -n 4 python3 prog.py` works"),
        false => finding(Grade::Fair, "Python", value, format!("build it for this MPI: {INSTALL}")),
    }
}

const INSTALL: &str = "MPICC=mpicc pip install --no-binary mpi4py mpi4py";

/// The MPIs whose libraries a file names.
fn needs(content: Vec<u8>) -> BTreeSet<&'static str> {
    let named = |name: &str| content.windows(name.len()).any(|part| part == name.as_bytes());
    LIBRARIES.iter().filter(|(name, _)| named(name)).map(|(_, whose)| *whose).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn the_first_command_of_the_path_is_ours_or_named_with_its_version() {
        let room = tempfile::tempdir().unwrap();
        let (ours, theirs) = (room.path().join("ours"), room.path().join("theirs"));
        for place in [&ours, &theirs] {
            fs::create_dir(place).unwrap();
        }
        let own = ours.join("corelace");
        fs::write(&own, "").unwrap();
        symlink("corelace", ours.join("mpirun")).unwrap();
        fs::write(theirs.join("mpirun"), "#!/bin/sh\necho; echo Other MPI 9.9\n").unwrap();
        fs::set_permissions(theirs.join("mpirun"), fs::Permissions::from_mode(0o755)).unwrap();
        let own = own.canonicalize().unwrap();
        let path = |places: [&PathBuf; 2]| std::env::join_paths(places).unwrap();
        let mine = path([&ours, &theirs]);
        assert_eq!(first("mpirun", &mine, Some(&own)).grade, Grade::Good);
        let other = first("mpirun", &path([&theirs, &ours]), Some(&own));
        assert_eq!(other.grade, Grade::Fair);
        assert!(other.value.ends_with("theirs/mpirun: Other MPI 9.9"), "{}", other.value);
        let none = first("mpicc", &mine, Some(&own));
        assert_eq!((none.grade, none.value.as_str()), (Grade::Fair, "none"));
        let others = others(&mine, Some(&own));
        assert!(others.value.ends_with("theirs/mpirun (Other MPI 9.9)"), "{}", others.value);
    }

    #[test]
    fn what_a_module_is_built_for_is_read_from_the_names_of_its_libraries() {
        let whose = |text: &str| needs(text.into()).into_iter().collect::<Vec<_>>();
        assert_eq!(whose("\0libmpi.so.40\0"), ["Open MPI"]);
        assert_eq!(whose("\0libmpich.so.12\0libc.so.6\0"), ["MPICH"]);
        assert_eq!(whose("\0libmpi_abi.so.1\0"), ["the standard ABI"]);
        assert!(whose("\0libc.so.6\0").is_empty());
    }
}

//! What `mpifort` needs besides: the modules `mpi` and `mpi_f08` as the user's compiler reads them.
//!
//! A module file belongs to one version of one compiler, so the installation brings the sources along, and the first use of a compiler makes the modules: in the installation,
//! where that can be written, else in the user's cache. Invariant: a directory with modules is whole, since it is made under another name.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::Toolchain;
use crate::prefix::Prefix;

/// Modules in the order in which they need each other; of the last three none is of use without the others.
const MODULES: [&str; 4] = ["mpi.F90", "mpi_f08_types.F90", "mpi_f08_callbacks.F90", "mpi_f08.F90"];
const OF_F08: usize = 3;
const DESCRIPTOR: &str = "descriptor.c";
const HEADER: &str = "corelace_fortran.h";
/// The entry points, as the installation has them; beside the modules lies a copy that holds what the modules themselves need, too.
const ARCHIVE: &str = "libcorelace_fortran.a";

/// Words that make an INTEGER wider than C's int, which handles and counts are.
const WIDER: [&str; 5] =
    ["-fdefault-integer-8", "-finteger-4-integer-8", "-i8", "-integer-size=64", "-qintsize=8"];

/// The modules of a compiler.
pub(super) struct Modules {
    directory: PathBuf,
    /// Of GNU Fortran.
    version: Option<u32>,
}

/// An error if the words ask for something that cannot go well.
pub(super) fn check(words: &[OsString]) -> Result<(), String> {
    match words.iter().find(|word| WIDER.iter().any(|wider| *word == *wider)) {
        Some(word) => Err(format!(
            "{} makes INTEGER 8 bytes wide, but MPI's handles, counts and statuses are INTEGERs of 4 bytes here; \
             leave it out, and declare the variables that need it integer(kind=8)",
            word.display()
        )),
        None => Ok(()),
    }
}

/// Finds the modules of a compiler, or makes them.
pub(super) fn modules(toolchain: &Toolchain, prefix: &Prefix) -> Result<Modules, String> {
    let Some(about) = toolchain.answer(&["--version"]) else {
        let name = toolchain.program.display();
        return Err(format!(
            "no Fortran compiler: \"{name}\" cannot be run; install one (Debian: apt-get install gfortran), or set FC"
        ));
    };
    let sources = prefix.lib().join("corelace/fortran");
    let version = gnu_version(&about);
    let compiler = mark(&[about.as_bytes()]);
    let mut texts = Vec::new();
    let names = MODULES.iter().chain(&[DESCRIPTOR, HEADER]);
    for path in names.map(|name| sources.join(name)).chain([prefix.lib().join(ARCHIVE)]) {
        texts.push(fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?);
    }
    let parts: Vec<&[u8]> = texts.iter().map(Vec::as_slice).collect();
    let name = format!("modules-{compiler:016x}-{:016x}", mark(&parts));
    let mut rooms = vec![sources.clone()];
    rooms.extend(cache());
    let found = rooms.iter().map(|room| room.join(&name)).find(|directory| directory.join(ARCHIVE).exists());
    if let Some(directory) = found {
        return Ok(Modules { directory, version });
    }
    let mut problem = String::new();
    for room in rooms {
        match make(toolchain, prefix, &sources, &room, &name) {
            Ok(directory) => {
                forget_older(&room, &format!("modules-{compiler:016x}-"), &name);
                return Ok(Modules { directory, version });
            }
            Err(NotMade::NoRoom(error)) => problem = format!("{}: {error}", room.display()),
            Err(NotMade::Refused(error)) => return Err(error),
        }
    }
    Err(format!("no place for the modules mpi and mpi_f08: {problem}"))
}

enum NotMade {
    /// The directory cannot be written to.
    NoRoom(std::io::Error),
    /// The compiler does not want to.
    Refused(String),
}

fn make(
    toolchain: &Toolchain,
    prefix: &Prefix,
    sources: &Path,
    room: &Path,
    name: &str,
) -> Result<PathBuf, NotMade> {
    fs::create_dir_all(room).map_err(NotMade::NoRoom)?;
    let workshop = room.join(format!(".{name}.{}", std::process::id()));
    fs::create_dir(&workshop).map_err(NotMade::NoRoom)?;
    let made = compile(toolchain, prefix, sources, &workshop);
    let directory = room.join(name);
    // Another one may have been quicker; its modules are the same.
    if let Err(refused) = made.and_then(|()| match fs::rename(&workshop, &directory) {
        Err(error) if !directory.join(ARCHIVE).exists() => Err(NotMade::NoRoom(error)),
        _ => Ok(()),
    }) {
        _ = fs::remove_dir_all(&workshop);
        return Err(refused);
    }
    _ = fs::remove_dir_all(&workshop);
    Ok(directory)
}

fn compile(toolchain: &Toolchain, prefix: &Prefix, sources: &Path, workshop: &Path) -> Result<(), NotMade> {
    let run = |mut command: Command| {
        command.current_dir(workshop).stdin(Stdio::null());
        let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        if output.status.success() { Ok(()) } else { Err(text) }
    };
    let module = |name: &str| {
        let words =
            ["-O2".into(), "-fPIC".into(), "-w".into(), "-c".into(), sources.join(name).into_os_string()];
        run(toolchain.command(&words))
    };
    let refused = |what: &str, text: String| {
        NotMade::Refused(format!("{} cannot compile {what}:\n{text}", toolchain.program.display()))
    };
    module(MODULES[0]).map_err(|text| refused("the module mpi", text))?;
    let mut objects = vec![MODULES[0].replace("F90", "o")];
    let of_f08 = || -> Result<(), String> {
        MODULES[MODULES.len() - OF_F08..].iter().try_for_each(|name| module(name))?;
        // The descriptors of C are in a header that comes with the Fortran compiler.
        let include = toolchain.answer(&["-print-file-name=include"]).unwrap_or_default();
        let mut command = Command::new("cc");
        command.args(["-O2", "-fPIC", "-I", &include]).arg("-I").arg(prefix.include());
        command.arg("-c").arg(sources.join(DESCRIPTOR));
        run(command)
    };
    match of_f08() {
        Ok(()) => {
            objects.extend(MODULES[MODULES.len() - OF_F08..].iter().map(|name| name.replace("F90", "o")));
            objects.push(DESCRIPTOR.replace(".c", ".o"));
        }
        Err(text) => {
            let first = text.lines().find(|line| line.contains("rror")).unwrap_or("it gave no reason").trim();
            crate::warn(&format!(
                "mpifort: note: mpif.h and the module mpi can be used with {}, mpi_f08 cannot: {first}",
                toolchain.program.display()
            ));
            _ = fs::remove_file(workshop.join("mpi_f08.mod"));
        }
    }
    fs::copy(prefix.lib().join(ARCHIVE), workshop.join(ARCHIVE)).map_err(NotMade::NoRoom)?;
    let mut archiver = Command::new("ar");
    archiver.arg("rs").arg(ARCHIVE).args(&objects);
    run(archiver).map_err(|text| refused("an archive of its modules", text))?;
    objects.iter().for_each(|object| _ = fs::remove_file(workshop.join(object)));
    Ok(())
}

/// Modules of the same compiler from sources that are no longer installed here.
fn forget_older(room: &Path, of_compiler: &str, current: &str) {
    for entry in fs::read_dir(room).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with(of_compiler) && name != current {
            _ = fs::remove_dir_all(entry.path());
        }
    }
}

impl Modules {
    /// Whether the compiler is GNU's, whose run-time library can be a rank's own.
    pub(super) fn is_of_gnu(&self) -> bool {
        self.version.is_some()
    }

    /// Where modules are found.
    pub(super) fn header_words(&self) -> Vec<OsString> {
        let mut word = OsString::from("-I");
        word.push(&self.directory);
        vec![word]
    }

    /// Programs with mpif.h pass buffers of several types to one procedure, which GNU Fortran refuses since version 10.
    pub(super) fn code_words(&self) -> Vec<OsString> {
        let refuses = self.version.is_some_and(|version| version >= 10);
        refuses.then(|| "-fallow-argument-mismatch".into()).into_iter().collect()
    }

    /// The entry points, and what the modules themselves need.
    pub(super) fn library_words(&self) -> Vec<OsString> {
        let mut place = OsString::from("-L");
        place.push(&self.directory);
        vec![place, "-lcorelace_fortran".into()]
    }
}

/// The major version that GNU Fortran tells of itself.
fn gnu_version(about: &str) -> Option<u32> {
    let line = about.lines().next().filter(|line| line.starts_with("GNU Fortran"))?;
    line.split_whitespace().last()?.split('.').next()?.parse().ok()
}

/// The user's cache, if there is a home for one.
fn cache() -> Option<PathBuf> {
    let given = |name: &str| std::env::var_os(name).filter(|value| Path::new(value).is_absolute());
    let home = || given("HOME").map(|home| Path::new(&home).join(OsStr::new(".cache")));
    given("XDG_CACHE_HOME").map(PathBuf::from).or_else(home).map(|cache| cache.join("corelace"))
}

/// A number that tells texts apart (FNV-1a).
fn mark(texts: &[&[u8]]) -> u64 {
    let step = |mark: u64, byte: &u8| (mark ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
    texts.iter().flat_map(|text| text.iter().chain(&[0])).fold(0xcbf2_9ce4_8422_2325, step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_of_eight_bytes_are_refused_by_name() {
        let words = ["-O2", "-fdefault-integer-8", "a.f90"].map(OsString::from);
        assert!(check(&words).unwrap_err().starts_with("-fdefault-integer-8 makes INTEGER 8 bytes wide"));
        assert_eq!(check(&["-O2", "a.f90"].map(OsString::from)), Ok(()));
    }

    #[test]
    fn the_version_of_gnu_fortran_is_read_and_others_have_none() {
        let about = "GNU Fortran (Debian 12.2.0-14+deb12u1) 12.2.0\nCopyright";
        assert_eq!(gnu_version(about), Some(12));
        assert_eq!(gnu_version("flang version 19.1.0"), None);
    }

    #[test]
    fn texts_are_told_apart_by_where_they_end_too() {
        assert_ne!(mark(&[b"ab", b"c"]), mark(&[b"a", b"bc"]));
    }
}

//! The suite's Fortran folders: which binding they are about, and what their programs are compiled with.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::fetch;
use crate::workspace::{self, Outcome};

/// The binding that a folder is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// mpif.h, in fixed form.
    F77,
    /// The module mpi.
    F90,
    /// The module mpi_f08.
    F08,
}

impl Dialect {
    /// That of a folder, if it is one of Fortran.
    pub fn of(folder: &str) -> Option<Dialect> {
        match folder.split('/').next()? {
            "f77" => Some(Dialect::F77),
            "f90" => Some(Dialect::F90),
            "f08" => Some(Dialect::F08),
            _ => None,
        }
    }

    /// How the names of its sources end.
    pub fn ending(self) -> &'static str {
        if self == Dialect::F77 { "f" } else { "f90" }
    }

    /// What its programs are linked with.
    pub fn helper(self) -> &'static str {
        match self {
            Dialect::F77 => "util/mtest_f77.f",
            Dialect::F90 => "util/mtest_f90.f90",
            Dialect::F08 => "util/mtest_f08.f90",
        }
    }

    /// `mpifort`, with a directory of its own for the modules of a program.
    pub fn compile(self, mpicc: &Path, built: &Path, program: &Path) -> Outcome<Command> {
        let modules = program.with_extension("modules");
        fs::create_dir_all(&modules).map_err(|error| format!("{}: {error}", modules.display()))?;
        let mut command = Command::new(mpicc.with_file_name("mpifort"));
        // One program uses pointers of a kind that compilers have to be asked for.
        command.args(["-O1", "-w", "-fcray-pointer", "-J"]).arg(modules);
        command.arg("-I").arg(built.join("include"));
        Ok(command)
    }
}

/// Writes what the suite's configuration would make of the headers for mpif.h: declarations of wide integers.
pub fn configure(suite: &Path, include: &Path) -> Outcome {
    for folder in subfolders(&suite.join("f77")) {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let Some(header) = name.strip_suffix(".in").filter(|name| name.ends_with(".h")) else { continue };
            let text = workspace::read(&entry.path())?;
            let text =
                text.replace("@F77_MPI_ADDRESS@", "integer*8").replace("@F77_MPI_OFFSET@", "integer*8");
            workspace::replace(&include.join(header), text.as_bytes())?;
        }
    }
    harness(suite)?;
    // Halves in C that its makefiles copy from one folder to another, and one that is right in one folder only.
    let copies = [
        ("f90/ext/c2f902c.c", "f08/ext/c2f902c.c"),
        ("f77/ext/ctypesfromc.c", "f08/ext/ctypesfromc.c"),
        ("f90/io/c2f902cio.c", "f08/io/c2f902cio.c"),
    ];
    for (from, to) in copies {
        if let Ok(text) = fs::read(suite.join(from)) {
            workspace::replace(&suite.join(to), &text)?;
        }
    }
    Ok(())
}

/// The programs about files are made from one text by a script of the suite's; those for the module mpi from a copy of it that is changed first.
fn harness(suite: &Path) -> Outcome {
    let script = suite.join("maint/testmerge");
    let perl = workspace::read(&suite.join("maint/testmerge.in"))?.replace("@PERL@", "/usr/bin/perl");
    let is_new = workspace::replace(&script, perl.as_bytes())?;
    if !is_new && suite.join("f90/io/writef90.f90").exists() {
        return Ok(());
    }
    fetch::need("perl", "perl")?;
    for (name, change) in
        [("ioharness.defn", definitions_of_f90 as fn(&str) -> String), ("ioharness.tlt", template_of_f90)]
    {
        let text = change(&workspace::read(&suite.join("f77/io").join(name))?);
        workspace::replace(&suite.join("f90/io").join(name), text.as_bytes())?;
    }
    for folder in ["f77/io", "f90/io", "f08/io"] {
        let definitions = format!("-defn={}", suite.join("maint/common.defn").display());
        let mut command = Command::new("perl");
        command.arg(&script).args([&definitions, "ioharness.defn", "ioharness.tlt"]);
        workspace::run(command.current_dir(suite.join(folder)).stdout(Stdio::null()))?;
    }
    Ok(())
}

fn definitions_of_f90(text: &str) -> String {
    let of_line = |line: &str| match line.find("include") {
        Some(at) if line.contains("iooffset") => {
            format!("{}integer (kind=MPI_OFFSET_KIND)offset\n", &line[..at])
        }
        _ => format!("{}\n", line.replace("f.f\"", "f90.f90\"")),
    };
    text.lines().map(of_line).collect()
}

fn template_of_f90(text: &str) -> String {
    let of_line = |line: &str| {
        let line = line.replace("fheader", "f90header");
        match (line.find("include"), line.strip_prefix('C')) {
            (Some(at), _) if line.contains("mpif") => format!("{}use mpi\n", &line[..at]),
            (_, Some(comment)) => format!("!{comment}\n"),
            _ => format!("{line}\n"),
        }
    };
    text.lines().filter(|line| !line.contains("implicit none")).map(of_line).collect()
}

fn subfolders(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_for_mpif_h_becomes_one_for_the_module() {
        assert_eq!(
            template_of_f90("C a\n      implicit none\n      include 'mpif.h'\n"),
            "! a\n      use mpi\n"
        );
        let definitions = "<F filename=\"writef.f\">\n      include 'iooffset.h'\n";
        let expected = "<F filename=\"writef90.f90\">\n      integer (kind=MPI_OFFSET_KIND)offset\n";
        assert_eq!(definitions_of_f90(definitions), expected);
    }

    #[test]
    fn folders_of_fortran_are_told_from_those_of_c() {
        assert_eq!(Dialect::of("f77/attr"), Some(Dialect::F77));
        assert_eq!(Dialect::of("f08"), Some(Dialect::F08));
        assert_eq!(Dialect::of("pt2pt"), None);
    }
}

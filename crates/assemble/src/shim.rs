//! The archives that `mpicc` and `mpicxx` link into every program. Which flags they need is data beside the sources, in
//! `shim/flags.txt`, since `mpicc` reads the same file.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::files::{self, Outcome, is_fresh, run};

/// Ending of the sources, compiler, line of the flags, and archive.
const ARCHIVES: [(&str, &str, &str, &str); 2] = [
    ("c", "cc", "archive-c", "libcorelace_program.a"),
    ("cc", "c++", "archive-cxx", "libcorelace_program_cxx.a"),
];

/// Compiles the archives into `scratch`, unless they are there and newer.
pub fn compile(sources: &Path, scratch: &Path) -> Outcome<Vec<PathBuf>> {
    let settings = sources.join("flags.txt");
    let text = files::read(&settings)?;
    let all = self::sources(sources)?;
    let mut archives = Vec::new();
    for (ending, compiler, line, name) in ARCHIVES {
        let archive = scratch.join(name);
        if !is_fresh(&archive, all.iter().map(PathBuf::as_path)) {
            let flags =
                flags(&text, line).ok_or_else(|| format!("{} has no line {line}", settings.display()))?;
            let units = all.iter().filter(|file| file.extension().is_some_and(|found| found == ending));
            build(units, compiler, &flags, &archive)?;
        }
        archives.push(archive);
    }
    Ok(archives)
}

fn build<'a>(
    units: impl Iterator<Item = &'a PathBuf>,
    compiler: &str,
    flags: &[&str],
    archive: &Path,
) -> Outcome {
    let mut objects = Vec::new();
    for unit in units {
        let name = unit.file_name().unwrap_or_default().to_string_lossy();
        let object = archive.with_file_name(format!("{name}.o"));
        run(Command::new(compiler).args(flags).arg("-c").arg(unit).arg("-o").arg(&object))?;
        objects.push(object);
    }
    let temporary = files::beside(archive);
    run(Command::new("ar").arg("crs").arg(&temporary).args(&objects))?;
    fs::rename(&temporary, archive).map_err(|error| format!("cannot make {}: {error}", archive.display()))
}

/// Every file of the directory: a changed header makes everything again.
pub fn sources(directory: &Path) -> Outcome<Vec<PathBuf>> {
    let entries = fs::read_dir(directory).map_err(|error| {
        format!("the sources of what programs are linked with are missing: {}: {error}", directory.display())
    })?;
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| entry.ok().map(|entry| entry.path())).collect();
    files.sort();
    Ok(files)
}

/// The words of the line `name: words`.
fn flags<'a>(text: &'a str, name: &str) -> Option<Vec<&'a str>> {
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    Some(line.split_whitespace().collect())
}

#[cfg(test)]
mod tests {
    use super::flags;

    #[test]
    fn a_line_is_found_by_its_whole_name() {
        let text = "# compile: no\ncompile-gcc: -a\ncompile: -fPIC  -O2\n";
        assert_eq!(flags(text, "compile"), Some(vec!["-fPIC", "-O2"]));
        assert_eq!(flags(text, "link"), None);
    }
}

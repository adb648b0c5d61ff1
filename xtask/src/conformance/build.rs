//! Makes the suite's programs with our `mpicc`, those in Fortran with `mpifort` ([`fortran`]).
//!
//! The suite's own configuration asks an hour of questions whose answers are known here: so a header with the answers is written,
//! the helpers are compiled once, and of each `Makefile.am` only what differs between programs is read: sources and macros.
//! A program that is newer than what it is made of is kept.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, OnceLock};
use std::time::SystemTime;

use super::fortran::{self, Dialect};
use crate::workspace::{self, Outcome};

/// What the suite's configuration finds on every Linux of today.
const CONFIGURATION: &str = "\
#define F77_NAME_LOWER_USCORE 1
#define HAVE_DLFCN_H 1
#define HAVE_DOUBLE__COMPLEX 1
#define HAVE_FLOAT__COMPLEX 1
#define HAVE_GETRUSAGE 1
#define HAVE_INTTYPES_H 1
#define HAVE_LONG_DOUBLE 1
#define HAVE_LONG_DOUBLE__COMPLEX 1
#define HAVE_LONG_LONG 1
#define HAVE_LONG_LONG_INT 1
#define HAVE_MEMORY_H 1
#define HAVE_MEMSET 1
#define HAVE_MPI_INTEGER16 1
#define HAVE_MPI_SPAWN 1
#define HAVE_MPI_WIN_CREATE 1
#define HAVE_PTHREAD_BARRIER_INIT 1
#define HAVE_PTHREAD_H 1
#define HAVE_STDARG_H 1
#define HAVE_STDINT_H 1
#define HAVE_STDLIB_H 1
#define HAVE_STRDUP 1
#define HAVE_STRINGS_H 1
#define HAVE_STRING_H 1
#define HAVE_SYS_RESOURCE_H 1
#define HAVE_SYS_STAT_H 1
#define HAVE_SYS_TIME_H 1
#define HAVE_SYS_TYPES_H 1
#define HAVE_UNISTD_H 1
#define HAVE_USLEEP 1
#define HAVE__BOOL 1
#define POINTERINT_t long
#define SIZEOF_INT 4
#define SIZEOF_LONG 8
#define SIZEOF_LONG_LONG 8
#define SIZEOF_MPI_OFFSET 8
#define SIZEOF_SHORT 2
#define SIZEOF_VOID_P 8
#define STDC_HEADERS 1
#define THREAD_PACKAGE_NAME THREAD_PACKAGE_POSIX
#define USE_LONG_DOUBLE_COMPLEX 1
";

/// Extensions of the suite's own library that the standard has under other names since.
const RENAMED: [&str; 3] = [
    "-DMPIX_Delete_error_class=MPI_Remove_error_class",
    "-DMPIX_Delete_error_code=MPI_Remove_error_code",
    "-DMPIX_Delete_error_string=MPI_Remove_error_string",
];

/// What every program is linked with.
const HELPERS: [&str; 9] = [
    "util/mtest.c",
    "util/mtest_common.c",
    "util/dtypes.c",
    "dtpools/src/dtpools.c",
    "dtpools/src/dtpools_attr.c",
    "dtpools/src/dtpools_custom.c",
    "dtpools/src/dtpools_desc.c",
    "dtpools/src/dtpools_init_verify.c",
    "dtpools/src/dtpools_misc.c",
];

/// The workshop: a suite, a prefix and the directory where programs are put.
pub struct Workshop {
    suite: PathBuf,
    built: PathBuf,
    compiler: PathBuf,
    /// When the newest of the things was made that are in every program.
    tools: SystemTime,
    helpers: Vec<PathBuf>,
    recipes: Mutex<HashMap<String, Recipes>>,
    programs: Mutex<HashMap<PathBuf, &'static OnceLock<Outcome>>>,
}

impl Workshop {
    /// Writes the configuration and compiles the helpers.
    pub fn open(suite: &Path, room: &Path, prefix: &Path) -> Outcome<Workshop> {
        let built = room.join("built");
        // Programs know their library by its path.
        let owner = built.join("prefix");
        if fs::read_to_string(&owner).is_ok_and(|text| text != prefix.display().to_string()) {
            fs::remove_dir_all(&built).map_err(|error| format!("{}: {error}", built.display()))?;
        }
        workspace::replace(&owner, prefix.display().to_string().as_bytes())?;
        for name in ["include/mpitestconf.h", "dtpoolsconf.h"] {
            workspace::replace(&built.join(name), CONFIGURATION.as_bytes())?;
        }
        fortran::configure(suite, &built.join("include"))?;
        // The pools include theirs by a path that leads out of their own folder.
        workspace::replace(&suite.join("dtpools/dtpoolsconf.h"), CONFIGURATION.as_bytes())?;
        // And the C halves of programs in Fortran.
        workspace::replace(&suite.join("include/mpitestconf.h"), CONFIGURATION.as_bytes())?;
        let headers = [prefix.join("include/mpi.h"), built.join("include/mpitestconf.h")];
        let mut tools =
            headers.iter().filter_map(|path| changed(path)).fold(SystemTime::UNIX_EPOCH, SystemTime::max);
        for entry in fs::read_dir(prefix.join("lib")).into_iter().flatten().flatten() {
            // Our start code is in every program; the library is not.
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.ends_with(".a") && !name.starts_with("libmpi_abi") {
                tools = tools.max(changed(&entry.path()).unwrap_or(tools));
            }
        }
        let mut workshop = Workshop {
            suite: suite.to_path_buf(),
            built,
            compiler: prefix.join("bin/mpicc"),
            tools,
            helpers: Vec::new(),
            recipes: Mutex::default(),
            programs: Mutex::default(),
        };
        for kind in ["single", "thread"] {
            workshop.helper(&format!("util/mtest_{kind}.c"))?;
        }
        workshop.helpers = HELPERS.iter().map(|helper| workshop.helper(helper)).collect::<Outcome<_>>()?;
        let helpers = workshop.helpers.iter().filter_map(|object| changed(object));
        workshop.tools = helpers.fold(workshop.tools, SystemTime::max);
        Ok(workshop)
    }

    /// The program of this name, made if it is not there or older than what it is made of; the error is the compiler's.
    pub fn program(&self, folder: &str, name: &str) -> Outcome<PathBuf> {
        let program = self.built.join(folder).join(name);
        // Lists name a program many times; whoever comes first makes it.
        let cell = *self
            .programs
            .lock()
            .unwrap_or_else(|error| error.into_inner())
            .entry(program.clone())
            .or_insert_with(|| Box::leak(Box::default()));
        cell.get_or_init(|| self.make(folder, name, &program)).clone().map(|()| program)
    }

    fn make(&self, folder: &str, name: &str, program: &Path) -> Outcome {
        let (recipe, is_threaded) = self.recipe(folder, name)?;
        let sources: Vec<_> =
            recipe.sources.iter().map(|source| self.suite.join(folder).join(source)).collect();
        let beside = fs::read_dir(self.suite.join(folder)).into_iter().flatten().flatten();
        let headers =
            beside.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|it| it == "h"));
        let parts = sources.iter().cloned().chain(headers).filter_map(|path| changed(&path));
        let newest = parts.fold(self.tools, SystemTime::max);
        if changed(program).is_some_and(|made| made >= newest) {
            return Ok(());
        }
        if let Some(dialect) = Dialect::of(folder) {
            return self.make_in_fortran(dialect, &sources, program);
        }
        let mut command = self.compile();
        if is_threaded {
            command.arg("-DMTEST_USE_THREAD");
        }
        let kind = if is_threaded { "thread" } else { "single" };
        command.args(&recipe.macros).args(&sources).args(&self.helpers);
        command.arg(self.built.join(format!("util/mtest_{kind}.o")));
        command.args(["-lm", "-lpthread", "-o"]).arg(program);
        run(command, program)
    }

    /// Sources in C are compiled by themselves, since the Fortran compiler is not asked for names that C programs use.
    fn make_in_fortran(&self, dialect: Dialect, sources: &[PathBuf], program: &Path) -> Outcome {
        let is_c = |source: &&PathBuf| source.extension().is_some_and(|it| it == "c");
        let mut parts: Vec<PathBuf> = sources.iter().filter(|source| !is_c(source)).cloned().collect();
        let is_of_c_alone = parts.is_empty();
        for source in sources.iter().filter(is_c) {
            let name = source.file_stem().unwrap_or_default().to_string_lossy();
            let object = program.with_file_name(format!("{name}.o"));
            let mut command = self.compile();
            command.arg("-c").arg(source).arg("-o").arg(&object);
            run(command, &object)?;
            parts.push(object);
        }
        let mut command = dialect.compile(&self.compiler, &self.built, program)?;
        if is_of_c_alone {
            command.args(&self.helpers).arg(self.built.join("util/mtest_single.o"));
        } else {
            command.arg(self.suite.join(dialect.helper()));
        }
        command.args(&parts).arg("-lm").arg("-o").arg(program);
        run(command, program)
    }

    fn helper(&self, source: &str) -> Outcome<PathBuf> {
        let (source, object) = (self.suite.join(source), self.built.join(source).with_extension("o"));
        let newest = changed(&source).unwrap_or(self.tools).max(self.tools);
        if changed(&object).is_none_or(|made| made < newest) {
            let mut command = self.compile();
            command.arg("-DDTP_MPI_DATATYPE=MPI_INT").arg("-c").arg(&source).arg("-o").arg(&object);
            run(command, &object)
                .map_err(|problem| format!("cannot compile the suite's helpers: {problem}"))?;
        }
        Ok(object)
    }

    /// The suite's code is not ours to mend, so its warnings stay unsaid.
    fn compile(&self) -> Command {
        let mut command = Command::new(&self.compiler);
        command.args(["-O1", "-w"]).args(RENAMED);
        for include in
            [self.built.join("include"), self.suite.join("include"), self.suite.join("dtpools/include")]
        {
            command.arg("-I").arg(include);
        }
        command
    }

    fn recipe(&self, folder: &str, name: &str) -> Outcome<(Recipe, bool)> {
        let mut all = self.recipes.lock().unwrap_or_else(|error| error.into_inner());
        if !all.contains_key(folder) {
            let text = workspace::read(&self.suite.join(folder).join("Makefile.am"))?;
            all.insert(folder.to_owned(), Recipes::read(&text));
        }
        let recipes = &all[folder];
        let ending = Dialect::of(folder).map_or("c", Dialect::ending);
        let plain = || Recipe { sources: vec![format!("{name}.{ending}")], macros: Vec::new() };
        let mut recipe = recipes.programs.get(name).cloned().unwrap_or_else(plain);
        if recipe.sources.is_empty() {
            recipe.sources = plain().sources;
        }
        Ok((recipe, recipes.are_threaded))
    }
}

/// What a program is made of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Recipe {
    sources: Vec<String>,
    macros: Vec<String>,
}

/// What a `Makefile.am` says.
#[derive(Debug, Default, PartialEq, Eq)]
struct Recipes {
    programs: HashMap<String, Recipe>,
    are_threaded: bool,
}

impl Recipes {
    fn read(text: &str) -> Recipes {
        let text = text.replace("\\\n", " ");
        let mut recipes =
            Recipes { are_threaded: text.contains("Makefile_threads.mtest"), ..Recipes::default() };
        for line in text.lines() {
            let Some((variable, value)) = line.split_once('=') else { continue };
            let words = value.split_whitespace().map(str::to_owned);
            let variable = variable.trim();
            if let Some(program) = variable.strip_suffix("_SOURCES") {
                recipes.programs.entry(program.to_owned()).or_default().sources = words.collect();
            } else if let Some(program) = variable.strip_suffix("_CPPFLAGS") {
                let macros = words.filter(|word| word.starts_with("-D")).collect();
                recipes.programs.entry(program.to_owned()).or_default().macros = macros;
            }
        }
        recipes
    }
}

fn changed(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).and_then(|data| data.modified()).ok()
}

fn run(mut command: Command, product: &Path) -> Outcome {
    if let Some(directory) = product.parent() {
        fs::create_dir_all(directory).map_err(|error| format!("{}: {error}", directory.display()))?;
    }
    let output = command.output().map_err(|error| format!("cannot start {command:?}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(String::from_utf8_lossy(&output.stderr).trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_and_macros_of_a_program_are_read() {
        let text = "include $(top_srcdir)/Makefile_threads.mtest\nnoinst_PROGRAMS = a \\\n   b\n\
                    b_SOURCES = common.c \\\n  impl.c\nb_CPPFLAGS = -DHUGE -DSEND $(AM_CPPFLAGS)\n";
        let recipes = Recipes::read(text);
        assert!(recipes.are_threaded);
        let expected = Recipe {
            sources: vec!["common.c".to_owned(), "impl.c".to_owned()],
            macros: vec!["-DHUGE".to_owned(), "-DSEND".to_owned()],
        };
        assert_eq!(recipes.programs.get("b"), Some(&expected));
        assert_eq!(recipes.programs.get("a"), None);
    }
}

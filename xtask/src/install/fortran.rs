//! The Fortran bindings of an installation: `mpif.h`, the archive of entry points, and the sources of the modules, which belong to a Fortran compiler and are
//! compiled by `mpifort`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::{fs, thread};

use assemble::files::is_fresh;
use assemble::shim::sources;

use crate::r#gen::fortran::{self, Source};
use crate::spec::Spec;
use crate::workspace::{self, Outcome, run};

/// What is installed.
pub struct Bindings {
    pub header: PathBuf,
    pub archive: PathBuf,
    /// What `mpifort` makes the modules of, and an object that it links by name.
    pub parts: Vec<PathBuf>,
}

/// The name of the archive.
const ARCHIVE: &str = "libcorelace_fortran.a";

/// Sources by hand that only code with a Fortran compiler's own header can be made of.
const OF_COMPILER: [&str; 2] = ["corelace_fortran.h", "descriptor.c"];

/// What stands for a part of a compiler's library.
const BY_NAME: &str = "gfortran_async.c";

/// Makes everything in `scratch`, unless it is there and newer.
pub fn make(root: &Path, scratch: &Path) -> Outcome<Bindings> {
    let spec = Spec::load(root)?;
    let (by_hand, include) = (root.join("fortran"), root.join("crates/capi/include"));
    let made = scratch.join("fortran");
    let header = made.join("mpif.h");
    workspace::replace(&header, fortran::header(&spec).as_bytes())?;
    let mut parts = write(&made.join("modules"), &fortran::modules(&spec))?;
    parts.extend(OF_COMPILER.map(|name| by_hand.join(name)));

    let generated = write(&made.join("entries"), &fortran::entry_points(&spec))?;
    let own = sources(&by_hand)?;
    let is_compiled = |path: &&PathBuf| {
        path.extension().is_some_and(|it| it == "c") && !OF_COMPILER.iter().any(|name| path.ends_with(name))
    };
    let units: Vec<&PathBuf> = own.iter().filter(is_compiled).chain(&generated).collect();
    let archive = made.join(ARCHIVE);
    let headers = [include.join("mpi.h"), include.join("corelace.h")];
    let made_of = own.iter().chain(&generated).chain(&headers).map(PathBuf::as_path);
    let by_name = made.join(BY_NAME).with_extension("o");
    if !(by_name.exists() && is_fresh(&archive, made_of)) {
        compile(&units, &[&by_hand, &include], &made, &archive)?;
    }
    parts.push(by_name);
    Ok(Bindings { header, archive, parts })
}

/// Lets `mpifort` make the modules of the system's compiler, so that users who may not write to the installation need none of their own. Without a compiler the
/// first use of one does.
pub fn modules(mpifort: &Path) -> Outcome {
    let compiler = std::env::var("FC").unwrap_or_else(|_| "gfortran".to_owned());
    let quietly = |command: &mut Command| command.output().is_ok_and(|output| output.status.success());
    if quietly(Command::new(compiler).arg("--version")) {
        run(Command::new(mpifort).arg("-showme:compile").stdout(Stdio::null()))?;
    }
    Ok(())
}

fn write(directory: &Path, sources: &[Source]) -> Outcome<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for source in sources {
        let path = directory.join(&source.name);
        workspace::replace(&path, source.text.as_bytes())?;
        paths.push(path);
    }
    Ok(paths)
}

/// Entry points are compiled twice: see `fortran/corelace_fortran.h`.
fn compile(units: &[&PathBuf], includes: &[&Path], objects: &Path, archive: &Path) -> Outcome {
    let mut jobs = Vec::new();
    for unit in units {
        let name = unit.file_stem().unwrap_or_default().to_string_lossy();
        jobs.push((*unit, objects.join(format!("{name}.o")), false));
        if name.starts_with("entries_") {
            jobs.push((*unit, objects.join(format!("p_{name}.o")), true));
        }
    }
    let is_member = |unit: &Path| !unit.ends_with(BY_NAME);
    let members = jobs.iter().filter(|(unit, ..)| is_member(unit));
    let members: Vec<PathBuf> = members.map(|(_, object, _)| object.clone()).collect();
    let queue = Mutex::new(jobs);
    let work = || -> Outcome {
        loop {
            let next = queue.lock().map_err(|error| error.to_string())?.pop();
            let Some((unit, object, is_profiling)) = next else { return Ok(()) };
            let mut command = Command::new("cc");
            command.args(["-std=gnu11", "-Os", "-fPIC", "-fno-semantic-interposition", "-w"]);
            command.args(is_profiling.then_some("-DPROFILING"));
            command.args(includes.iter().map(|path| format!("-I{}", path.display())));
            run(command.arg("-c").arg(unit).arg("-o").arg(&object))?;
        }
    };
    let workers = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        let handles: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        handles.into_iter().try_for_each(|handle| handle.join().expect("a worker does not panic"))
    })?;
    let temporary = workspace::beside(archive);
    run(Command::new("ar").arg("crs").arg(&temporary).args(&members))?;
    fs::rename(&temporary, archive).map_err(|error| format!("cannot make {}: {error}", archive.display()))
}

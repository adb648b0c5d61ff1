//! The installed prefix, programs compiled with it, and a place for what a test makes.
//!
//! Invariant: nothing is written outside the build directory, and every process of a test ends before a deadline.

pub mod job;
pub mod python;

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex, OnceLock};
use std::thread;
use std::time::Duration;

use job::Job;

/// The kinds of ranks, as `--ranks` names them.
pub const MODES: [&str; 3] = ["process", "thread", "fiber"];

/// Time for a compiler or a package: far more than it takes, so that only a hang reaches it.
pub const PATIENCE: Duration = Duration::from_secs(600);

/// The root of the repository.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests lie in the workspace")
}

/// A program of `tests/c`.
pub fn program(name: &str) -> PathBuf {
    compiled(&root().join("tests/c").join(name))
}

/// Where cargo builds, and where packages for the tests go.
pub fn target() -> &'static Path {
    Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("below the build directory")
}

/// The installation under test: that of `CORELACE_TEST_PREFIX`, or one that is made now, once.
pub fn prefix() -> &'static Path {
    static PREFIX: OnceLock<PathBuf> = OnceLock::new();
    PREFIX.get_or_init(|| {
        if let Some(given) = std::env::var_os("CORELACE_TEST_PREFIX") {
            let given = PathBuf::from(given);
            assert!(
                given.join("bin/mpicc").exists(),
                "CORELACE_TEST_PREFIX is {}, expected an installation",
                given.display()
            );
            return given;
        }
        let prefix = target().join("test-prefix");
        let mut install = Command::new(env!("CARGO"));
        install.current_dir(root()).args(["xtask", "install", "--quick", "--prefix"]).arg(&prefix);
        Job::of(install).limit(PATIENCE).run().expect_success();
        prefix
    })
}

/// A tool of the prefix, in an environment that decides nothing for it.
pub fn tool(name: &str) -> Command {
    let mut command = Command::new(prefix().join("bin").join(name));
    for variable in ["CORELACE_PREFIX", "CC", "CXX", "LD_LIBRARY_PATH", "LD_PRELOAD"] {
        command.env_remove(variable);
    }
    command
}

/// `mpirun` with these words. The signals that tests send are set back first: mpirun leaves ignored ones ignored, as it should,
/// and a test run in the background of a shell, or under nohup, inherits some.
pub fn mpirun<S: AsRef<std::ffi::OsStr>>(arguments: impl IntoIterator<Item = S>) -> Job {
    started("mpirun", arguments)
}

/// `corelace` with these arguments.
pub fn corelace<S: AsRef<std::ffi::OsStr>>(arguments: impl IntoIterator<Item = S>) -> Job {
    started("corelace", arguments)
}

fn started<S: AsRef<std::ffi::OsStr>>(name: &str, arguments: impl IntoIterator<Item = S>) -> Job {
    started_by(Command::new("env"), name, arguments)
}

/// A tool of the prefix, started by a command (that ends like `… env`) which makes its surroundings.
pub fn started_by<S: AsRef<std::ffi::OsStr>>(
    mut command: Command,
    name: &str,
    arguments: impl IntoIterator<Item = S>,
) -> Job {
    let launcher = tool(name);
    command.arg("--default-signal=HUP,INT,QUIT,TERM");
    for (variable, _) in launcher.get_envs() {
        command.arg("-u").arg(variable);
    }
    command.arg(launcher.get_program()).args(arguments);
    Job::of(command)
}

/// `mpirun` of a program on some ranks of one kind.
pub fn on(mode: &str, ranks: usize, program: &Path) -> Job {
    mpirun(["--ranks", mode, "-n", &ranks.to_string()]).argument(program)
}

/// A new directory, gone with the next run of the tests.
pub fn scratch(name: &str) -> PathBuf {
    static ROOM: LazyLock<PathBuf> = LazyLock::new(|| {
        let rooms = Path::new(env!("CARGO_TARGET_TMPDIR"));
        for entry in fs::read_dir(rooms).expect("cargo made it").flatten() {
            let name = entry.file_name().into_string().unwrap_or_default();
            if name.strip_prefix("run-").is_some_and(|pid| !Path::new("/proc").join(pid).exists()) {
                _ = fs::remove_dir_all(entry.path());
            }
        }
        rooms.join(format!("run-{}", std::process::id()))
    });
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let directory = ROOM.join(format!("{name}-{}", NUMBER.fetch_add(1, Ordering::Relaxed)));
    fs::create_dir_all(&directory).expect("a directory below the build directory");
    directory
}

/// The executable of a source file, compiled once by the wrapper of its language.
pub fn compiled(source: &Path) -> PathBuf {
    compiled_with(source, &[])
}

/// The same with further words for the compiler.
pub fn compiled_with(source: &Path, more: &'static [&str]) -> PathBuf {
    type Slot = Arc<OnceLock<PathBuf>>;
    type Slots = HashMap<(PathBuf, &'static [&'static str]), Slot>;
    static PROGRAMS: LazyLock<Mutex<Slots>> = LazyLock::new(Mutex::default);
    let slot = PROGRAMS
        .lock()
        .unwrap_or_else(|poison| poison.into_inner())
        .entry((source.to_owned(), more))
        .or_default()
        .clone();
    slot.get_or_init(|| {
        let product = scratch("program").join(source.file_stem().expect("a file"));
        compile(source, &product, more);
        product
    })
    .clone()
}

/// Compiles and links.
pub fn compile(source: &Path, product: &Path, more: &[&str]) {
    let wrapper = if source.extension().is_some_and(|name| name == "c") { "mpicc" } else { "mpicxx" };
    let mut compiler = tool(wrapper);
    compiler.args(["-O1", "-Wall", "-Wextra"]).arg(source).arg("-o").arg(product).args(more);
    Job::of(compiler).limit(PATIENCE).run().expect_success();
}

/// A program of Debian's package of the same name, which is installed if it is not there.
pub fn debian(program: &'static str) -> &'static str {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(|poison| poison.into_inner());
    let there = || Command::new(program).arg("--version").output().is_ok();
    if there() {
        return program;
    }
    let mut shell = Command::new("sh");
    // Several tests, and other people's installations, may want the package manager at a time.
    let install = format!(
        "exec 9>/tmp/corelace-packages.lock && flock 9 && apt-get update -q && \
         apt-get install -o DPkg::Lock::Timeout=300 -y -q --no-install-recommends {program}"
    );
    shell.args(["-c", &install]).env("DEBIAN_FRONTEND", "noninteractive");
    let said = Job::of(shell).limit(PATIENCE).run();
    assert!(there(), "this test needs {program} (on Debian: apt-get install {program}): {said}");
    program
}

/// Does the same for each of these, some at a time: for jobs that wait rather than compute.
pub fn side_by_side<T: Sync>(items: &[T], work: impl Fn(&T) + Sync) {
    const AT_ONCE: usize = 6;
    let next = AtomicUsize::new(0);
    let go_on = || {
        while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
            work(item);
        }
    };
    thread::scope(|scope| {
        for _ in 0..AT_ONCE.min(items.len()) {
            scope.spawn(go_on);
        }
    });
}

/// Runs a command that must succeed, and returns what it printed.
#[track_caller]
pub fn succeed(command: Command) -> String {
    Job::of(command).limit(PATIENCE).run().expect_success().stdout
}

//! An installation in a temporary directory, with a stand-in for libmpi_abi that speaks the bootstrap protocol and nothing
//! else, so that the launcher and the compiler wrappers are tested without an MPI engine.
#![allow(dead_code, reason = "each test program uses a part of it")]

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

const FLAGS: &str = include_str!("../../../../shim/flags.txt");

/// The prefix that most tests share. It lives below the build directory and is made anew by each test process.
pub fn shared() -> &'static Path {
    static ROOT: OnceLock<PathBuf> = OnceLock::new();
    ROOT.get_or_init(|| {
        let rooms = Path::new(env!("CARGO_TARGET_TMPDIR"));
        for entry in std::fs::read_dir(rooms).unwrap().flatten() {
            let name = entry.file_name().into_string().unwrap_or_default();
            if name.strip_prefix("prefix-").is_some_and(|pid| !Path::new("/proc").join(pid).exists()) {
                _ = std::fs::remove_dir_all(entry.path());
            }
        }
        let root = rooms.join(format!("prefix-{}", std::process::id()));
        install(&root);
        root
    })
}

/// Installs as `cargo xtask install` does, with the stand-in for the library.
pub fn install(root: &Path) {
    for directory in ["bin", "lib", "include"] {
        std::fs::create_dir_all(root.join(directory)).unwrap();
    }
    let corelace = root.join("bin/corelace");
    std::fs::copy(env!("CARGO_BIN_EXE_corelace"), &corelace).unwrap();
    for name in ["mpirun", "mpiexec", "mpicc", "mpicxx"] {
        std::os::unix::fs::symlink("corelace", root.join("bin").join(name)).unwrap();
    }
    let lib = root.join("lib");
    std::fs::create_dir_all(lib.join("corelace/link")).unwrap();
    for name in ["ld", "ld.bfd", "ld.gold", "ld.lld", "ld.mold"] {
        std::os::unix::fs::symlink("../../../bin/corelace", lib.join("corelace/link").join(name)).unwrap();
    }
    std::fs::copy(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/common/mpi.h"),
        root.join("include/mpi.h"),
    )
    .unwrap();
    let shim = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shim");
    for (extension, compiler, key, archive) in [
        ("c", "cc", "archive-c", "libcorelace_program.a"),
        ("cc", "c++", "archive-cxx", "libcorelace_program_cxx.a"),
    ] {
        let mut objects = Vec::new();
        for source in std::fs::read_dir(&shim).unwrap().map(|entry| entry.unwrap().path()) {
            if source.extension().is_some_and(|found| found == extension) {
                let object = lib.join(source.with_extension("o").file_name().unwrap());
                let flags = FLAGS.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':')).unwrap();
                succeed(
                    Command::new(compiler)
                        .args(flags.split_whitespace())
                        .arg("-c")
                        .arg(&source)
                        .arg("-o")
                        .arg(&object),
                );
                objects.push(object);
            }
        }
        succeed(Command::new("ar").arg("rcs").arg(lib.join(archive)).args(&objects));
        objects.iter().for_each(|object| std::fs::remove_file(object).unwrap());
    }
    let stand_in = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/common/stand_in.c");
    succeed(
        Command::new("cc")
            .args(["-shared", "-fPIC", "-O2", "-pthread", "-Wall", "-Werror", "-Wl,-soname,libmpi_abi.so.1"])
            .arg("-I")
            .arg(root.join("include"))
            .arg(&stand_in)
            .arg("-o")
            .arg(lib.join("libmpi_abi.so.1")),
    );
    std::os::unix::fs::symlink("libmpi_abi.so.1", lib.join("libmpi_abi.so")).unwrap();
}

pub fn succeed(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(
        output.status.success(),
        "{command:?}: {}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

/// A tool of the shared prefix.
pub fn tool(name: &str) -> Command {
    let mut command = Command::new(shared().join("bin").join(name));
    command.env_remove("CORELACE_PREFIX").env_remove("CC").env_remove("CXX").stdin(Stdio::null());
    command.env("CORELACE_CACHE", "off");
    command
}

/// `mpirun` with these words. The signals that tests send are set back first: mpirun leaves ignored ones ignored, as it should,
/// and a test run in the background of a shell, or under nohup, inherits some.
pub fn mpirun(arguments: &[&str]) -> Command {
    let launcher = tool("mpirun");
    let mut command = Command::new("env");
    command.arg("--default-signal=HUP,INT,TERM,TSTP").args([
        "-u",
        "CORELACE_PREFIX",
        "-u",
        "CC",
        "-u",
        "CXX",
    ]);
    command.arg(launcher.get_program()).args(arguments).stdin(Stdio::null());
    command.env("CORELACE_CACHE", "off");
    command
}

/// What a job said and how it ended.
#[derive(Debug)]
pub struct Ended {
    pub status: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Ended {
    /// The lines of standard output, sorted: ranks have no order among themselves.
    pub fn sorted(&self) -> Vec<&str> {
        let mut lines: Vec<_> = self.stdout.lines().collect();
        lines.sort();
        lines
    }
}

pub fn run(arguments: &[&str]) -> Ended {
    ended(mpirun(arguments).output().unwrap())
}

pub fn ended(output: Output) -> Ended {
    Ended {
        status: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// Runs a shell script on some ranks; `$R` is the rank.
pub fn script(flags: &[&str], text: &str) -> Ended {
    let text = format!("R=$CORELACE_RANK; {text}");
    run(&[flags, &["sh", "-c", &text]].concat())
}

/// Compiles a program with mpicc or mpicxx of the shared prefix.
pub fn build(name: &str, source: &str) -> PathBuf {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let room = shared().join(format!("program-{}", NUMBER.fetch_add(1, Ordering::Relaxed)));
    std::fs::create_dir(&room).unwrap();
    let file = room.join(name);
    std::fs::write(&file, source).unwrap();
    let program = file.with_extension("");
    let compiler = if name.ends_with(".c") { "mpicc" } else { "mpicxx" };
    succeed(tool(compiler).arg("-O1").arg(&file).arg("-o").arg(&program));
    program
}

/// A running job whose ranks can be found by a mark in their environment.
pub struct Running {
    pub process: Child,
    pub stdout: Option<BufReader<std::process::ChildStdout>>,
    stderr: BufReader<std::process::ChildStderr>,
    mark: String,
}

impl Running {
    pub fn start(flags: &[&str], script: &str) -> Running {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let mark =
            format!("CORELACE_TEST_MARK={}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let script = format!("R=$CORELACE_RANK; {script}");
        let arguments = [flags, &["-x", &mark, "sh", "-c", &script]].concat();
        let mut process = mpirun(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let stdout = Some(BufReader::new(process.stdout.take().unwrap()));
        let stderr = BufReader::new(process.stderr.take().unwrap());
        Running { process, stdout, stderr, mark }
    }

    /// Waits until this many lines have been printed.
    pub fn lines(&mut self, count: usize) -> Vec<String> {
        (0..count)
            .map(|_| {
                let mut line = String::new();
                self.stdout.as_mut().unwrap().read_line(&mut line).unwrap();
                assert!(!line.is_empty(), "the job ended early");
                line.trim_end().to_string()
            })
            .collect()
    }

    /// The next line that the job writes to standard error.
    pub fn stderr_line(&mut self) -> String {
        let mut line = String::new();
        self.stderr.read_line(&mut line).unwrap();
        line
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.process), signal).unwrap();
    }

    /// Waits for the launcher; returns its status and what it wrote to standard error.
    pub fn end(&mut self) -> (std::process::ExitStatus, String) {
        let mut text = String::new();
        self.stderr.read_to_string(&mut text).unwrap();
        (self.process.wait().unwrap(), text)
    }

    /// The processes of the job that exist, zombies excluded (their environment is gone).
    pub fn left(&self) -> Vec<u32> {
        let mut pids = Vec::new();
        for entry in std::fs::read_dir("/proc").unwrap().flatten() {
            let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
            let environment = std::fs::read(entry.path().join("environ")).unwrap_or_default();
            if environment.split(|byte| *byte == 0).any(|variable| variable == self.mark.as_bytes()) {
                pids.push(pid);
            }
        }
        pids
    }

    /// Waits until the job has as many processes: one that is between its fork and its program has no environment to be known by.
    pub fn expect_at_least(&self, processes: usize) {
        let deadline = Instant::now() + Duration::from_secs(30);
        while self.left().len() < processes {
            assert!(Instant::now() < deadline, "{:?} are fewer than {processes} processes", self.left());
            // A look at every process there is takes time from those that are waited for.
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits until no process of the job is left.
    pub fn expect_nobody_left(&self) {
        let deadline = Instant::now() + Duration::from_secs(30);
        while !self.left().is_empty() {
            assert!(Instant::now() < deadline, "processes {:?} are left", self.left());
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

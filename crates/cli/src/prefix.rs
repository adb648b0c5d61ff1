//! Where the installation is: the directory above `bin/` that holds `lib/libmpi_abi.so.1`.
//!
//! Everything is found relative to this executable, so an installation works after it was moved. An executable inside the
//! build directory of the source tree installs itself next to where it is, so that `cargo run -- run …` needs no other step.

use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// Names the installation to use instead of the one that would be found.
pub const VARIABLE: &str = "CORELACE_PREFIX";

/// The MPI library, below a prefix.
pub const LIBRARY: &str = "lib/libmpi_abi.so.1";

/// After this time of silence a person is told what the wait is for.
const PATIENCE: Duration = Duration::from_millis(700);

/// An installation.
#[derive(Clone, Debug)]
pub struct Prefix {
    root: PathBuf,
}

impl Prefix {
    /// The installation's own directory.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The directory of headers.
    pub fn include(&self) -> PathBuf {
        self.root.join("include")
    }

    /// The directory of libraries.
    pub fn lib(&self) -> PathBuf {
        self.root.join("lib")
    }

    /// The MPI library.
    pub fn library(&self) -> PathBuf {
        self.root.join(LIBRARY)
    }
}

/// Finds the installation that this executable belongs to, building it first in a development tree.
pub fn locate() -> Result<Prefix, String> {
    if let Some(root) = std::env::var_os(VARIABLE) {
        let root = PathBuf::from(root);
        let root =
            root.canonicalize().map_err(|error| format!("{VARIABLE} is \"{}\": {error}", root.display()))?;
        if !root.join(LIBRARY).exists() {
            return Err(format!("{VARIABLE} is \"{}\", expected a directory with {LIBRARY}", root.display()));
        }
        return Ok(Prefix { root });
    }
    let executable = executable()?;
    let directory = executable.parent().unwrap_or(Path::new("/"));
    if let Some(root) = directory.parent().filter(|root| root.join(LIBRARY).exists()) {
        return Ok(Prefix { root: root.to_path_buf() });
    }
    match workspace().filter(|_| in_build_directory(directory)) {
        Some(workspace) => install(&workspace, &directory.join("prefix")),
        None => Err(format!(
            "no {LIBRARY} next to {}: install with `cargo xtask install --prefix DIR` and use DIR/bin, or set {VARIABLE}=DIR",
            directory.display()
        )),
    }
}

/// This executable, links resolved. Where there is no /proc, the name by which it was started has to do.
pub fn executable() -> Result<PathBuf, String> {
    let started = || PathBuf::from(OsStr::from_bytes(rustix::param::linux_execfn().to_bytes()));
    std::env::current_exe().or_else(|_| Ok(started())).and_then(|path| path.canonicalize()).map_err(
        |error: std::io::Error| {
            format!("cannot find this executable, started as {}: {error}", started().display())
        },
    )
}

/// The source tree this executable was built from, if it is still there.
fn workspace() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().ok()?;
    (root.join("Cargo.toml").exists() && root.join("xtask").is_dir()).then_some(root)
}

/// Cargo marks its build directories.
fn in_build_directory(directory: &Path) -> bool {
    directory.join(".cargo-lock").exists()
        || directory.join("build").is_dir() && directory.join("deps").is_dir()
}

fn install(workspace: &Path, root: &Path) -> Result<Prefix, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut child = Command::new(&cargo)
        .args(["xtask", "install", "--prefix"])
        .arg(root)
        .current_dir(workspace)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("cannot run {} to build libmpi_abi: {error}", cargo.display()))?;
    let mut stderr = child.stderr.take().expect("stderr is piped");
    let (done, wait) = mpsc::channel();
    std::thread::spawn(move || {
        let mut text = Vec::new();
        _ = stderr.read_to_end(&mut text);
        _ = done.send(text);
    });
    let text = match wait.recv_timeout(PATIENCE) {
        Ok(text) => text,
        Err(_) => {
            eprintln!("building libmpi_abi …");
            wait.recv().unwrap_or_default()
        }
    };
    let status = child.wait().map_err(|error| format!("cargo xtask install: {error}"))?;
    if !status.success() || !root.join(LIBRARY).exists() {
        return Err(format!(
            "`cargo xtask install --prefix {}` in {} failed ({status}):\n{}",
            root.display(),
            workspace.display(),
            String::from_utf8_lossy(&text)
        ));
    }
    Ok(Prefix { root: root.to_path_buf() })
}

//! Where the installation is: the directory above `bin/` that holds `lib/libmpi_abi.so.1`.
//!
//! Everything is found relative to this executable, so an installation works after it was moved.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Names the installation to use instead of the one that would be found.
pub const VARIABLE: &str = "CORELACE_PREFIX";

/// The MPI library, below a prefix.
pub const LIBRARY: &str = "lib/libmpi_abi.so.1";

/// The second executable, below a prefix: what no job needs.
pub const LABORATORY: &str = "lib/corelace/corelace-lab";

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

    /// The directory of what is there to read: examples and exercises.
    pub fn share(&self) -> PathBuf {
        self.root.join("share/corelace")
    }

    /// The directory of libraries.
    pub fn lib(&self) -> PathBuf {
        self.root.join("lib")
    }

    /// The MPI library.
    pub fn library(&self) -> PathBuf {
        self.root.join(LIBRARY)
    }

    /// The executable that starts jobs.
    pub fn launcher(&self) -> PathBuf {
        self.root.join("bin/corelace")
    }
}

/// Finds the installation that this executable belongs to.
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
    let below = |root: &&Path| root.join(LIBRARY).exists();
    match roots(&executable).find(below) {
        Some(root) => Ok(Prefix { root: root.to_path_buf() }),
        None => Err(format!(
            "no {LIBRARY} belongs to {}: install with `cargo xtask install --prefix DIR` and use DIR/bin, or set {VARIABLE}=DIR",
            executable.display()
        )),
    }
}

/// The laboratory of this installation, or the one that was built beside this executable.
pub fn laboratory() -> Result<PathBuf, String> {
    let executable = executable()?;
    let beside = executable.with_file_name("corelace-lab");
    let mut places = roots(&executable).map(|root| root.join(LABORATORY)).chain([beside]);
    places.find(|place| place.exists()).ok_or_else(|| {
        format!(
            "{LABORATORY} is not beside {}: install with `cargo xtask install --prefix DIR` and use DIR/bin",
            executable.display()
        )
    })
}

/// What may be the root of an installation that has this executable: it lies in `bin/` or in `lib/corelace/`.
fn roots(executable: &Path) -> impl Iterator<Item = &Path> {
    let directory = executable.parent();
    let in_lib = directory.filter(|it| it.ends_with("lib/corelace")).and_then(|it| it.ancestors().nth(2));
    directory.and_then(Path::parent).into_iter().chain(in_lib)
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

//! What the shared libraries that a program needs mean for ranks in one process: only the program itself is copied, so the
//! variables of its libraries exist once for all ranks.

use std::collections::HashSet;
use std::ffi::{CStr, CString, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::elf;

/// Libraries of the system whose state the shim keeps apart, or that are made for threads.
const SYSTEM: [&str; 17] = [
    "ld-linux",
    "libc.so",
    "libm.so",
    "libmvec.so",
    "libpthread.so",
    "libdl.so",
    "librt.so",
    "libutil.so",
    "libgcc_s.so",
    "libstdc++.so",
    "libatomic.so",
    "libmpi_abi.so",
    "libmpi.so",
    "libgomp.so",
    "libomp.so",
    "libiomp5.so",
    "libquadmath.so",
];

/// Run-time libraries of OpenMP. Their regions belong to threads.
const OPENMP: [&str; 3] = ["libgomp.so", "libomp.so", "libiomp5.so"];

/// The library of OpenMP among those that a program needs.
pub(super) fn openmp(needed: &[String]) -> Option<&str> {
    needed.iter().map(String::as_str).find(|name| starts_with_one_of(name, &OPENMP))
}

/// A library whose variables all ranks of this process share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedLibrary {
    /// Its file.
    pub path: PathBuf,
    /// The variables that are known by name; empty if the file does not tell.
    pub variables: Vec<String>,
}

/// The libraries with variables, behind those named in `needed`, after they were loaded.
pub(super) fn with_variables(needed: &[String]) -> Vec<SharedLibrary> {
    let mut found = Vec::new();
    let mut seen = HashSet::new();
    let mut open: Vec<String> = needed.to_vec();
    while let Some(name) = open.pop() {
        if starts_with_one_of(&name, &SYSTEM) || !seen.insert(name.clone()) {
            continue;
        }
        let Some((path, bytes)) =
            path_of(&name).and_then(|path| std::fs::read(&path).ok().map(|bytes| (path, bytes)))
        else {
            continue;
        };
        if let Some(variables) = elf::variables(&bytes) {
            found.push(SharedLibrary { path, variables });
        }
        open.extend(elf::layout(&bytes).map(|layout| layout.needed).unwrap_or_default());
    }
    found
}

fn starts_with_one_of(name: &str, beginnings: &[&str]) -> bool {
    let name = Path::new(name).file_name().unwrap_or_default().as_bytes();
    beginnings.iter().any(|beginning| name.starts_with(beginning.as_bytes()))
}

/// Where the dynamic linker found a library that is loaded.
fn path_of(name: &str) -> Option<PathBuf> {
    /// The part of `struct link_map` (`link.h`) that is the same everywhere.
    #[repr(C)]
    struct LinkMap {
        address: usize,
        name: *const libc::c_char,
    }
    let name = CString::new(name).ok()?;
    let mut map: *const LinkMap = std::ptr::null();
    // SAFETY: with RTLD_NOLOAD nothing is loaded and no code of the library runs. The handle is given back, which leaves the
    // library loaded, because the program still needs it; so the name stays valid while it is copied.
    unsafe {
        let handle = libc::dlopen(name.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD);
        if handle.is_null() {
            return None;
        }
        let failed = libc::dlinfo(handle, libc::RTLD_DI_LINKMAP, (&raw mut map).cast::<c_void>()) != 0;
        libc::dlclose(handle);
        if failed || map.is_null() || (*map).name.is_null() {
            return None;
        }
        Some(Path::new(std::ffi::OsStr::from_bytes(CStr::from_ptr((*map).name).to_bytes())).to_path_buf())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_s_own_libraries_are_known_with_and_without_a_path() {
        assert!(starts_with_one_of("libc.so.6", &SYSTEM) && starts_with_one_of("/lib64/libm.so.6", &SYSTEM));
        assert!(!starts_with_one_of("libcrypto.so.3", &SYSTEM) && !starts_with_one_of("libmine.so", &SYSTEM));
        let needed = ["libmine.so".to_string(), "libgomp.so.1".to_string()];
        assert_eq!(openmp(&needed), Some("libgomp.so.1"));
        assert_eq!(openmp(&needed[..1]), None);
    }
}

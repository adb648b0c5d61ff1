//! Calls the MPI library's host entry point: how `corelace __host` turns into a process full of ranks.

use std::ffi::{CStr, CString, c_char, c_int};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::error::LoadError;
use super::program::linker_error;

/// Loads `library` (libmpi_abi of the installation) for every program to find, and calls
/// `int corelace_host_run(const char *plan)` in it. The plan is the text form of `pmi::HostPlan`.
pub fn call_host(library: &Path, plan: &CStr) -> Result<i32, LoadError> {
    let path = library.to_path_buf();
    let name = CString::new(library.as_os_str().as_bytes())
        .map_err(|_| LoadError::Link { path: path.clone(), message: "the path holds a zero byte".into() })?;
    // Global: the copies of the program, loaded privately, must all find the one MPI library.
    // SAFETY: loading runs the library's constructors; it is part of this installation.
    let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL) };
    if handle.is_null() {
        return Err(LoadError::Link { path, message: linker_error() });
    }
    // SAFETY: `handle` was returned by dlopen; the name is a C string.
    let run = unsafe { libc::dlsym(handle, c"corelace_host_run".as_ptr()) };
    if run.is_null() {
        return Err(LoadError::Symbol { path, symbol: "corelace_host_run" });
    }
    // SAFETY: the symbol is a function of this type in every version of the library that has it.
    let run = unsafe {
        std::mem::transmute::<*mut libc::c_void, unsafe extern "C" fn(*const c_char) -> c_int>(run)
    };
    // SAFETY: the plan is a C string that outlives the call.
    Ok(unsafe { run(plan.as_ptr()) })
}

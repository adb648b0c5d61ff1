//! Which file a piece of running code came from: what ranks say of call sites, for launcher and viewers to explain.
//!
//! Cold code: it asks the dynamic linker, whose lock it takes. Not for signal handlers.

use std::ffi::{CStr, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The copies of programs that ranks of this process run, which have no file names of their own: where each begins in memory,
/// and the file that it is a copy of.
static COPIES: Mutex<Vec<(usize, PathBuf)>> = Mutex::new(Vec::new());

/// Notes that a copy of the program `path` was loaded at `base`.
pub(crate) fn note_copy(base: usize, path: &Path) {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    COPIES.lock().unwrap_or_else(PoisonError::into_inner).push((base, path));
}

/// The address as `/path/of/module+0xOFFSET`, the offset being the address as that file counts it; `None` if it is in no file.
pub fn spot(address: u64) -> Option<String> {
    let mut search = Search { address: address as usize, found: None };
    // SAFETY: the function is called during this call only, with the search that outlives it.
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut search).cast()) };
    let Found { bias, base, name } = search.found?;
    Some(format!("{}+{:#x}", file(base, name)?.display(), search.address.wrapping_sub(bias)))
}

fn file(base: usize, name: PathBuf) -> Option<PathBuf> {
    if name.as_os_str().is_empty() {
        return std::fs::read_link("/proc/self/exe").ok();
    }
    if name.starts_with("/proc/self/fd") {
        let copies = COPIES.lock().unwrap_or_else(PoisonError::into_inner);
        return copies.iter().find(|copy| copy.0 == base).map(|copy| copy.1.clone());
    }
    std::path::absolute(&name).ok()
}

struct Search {
    address: usize,
    found: Option<Found>,
}

struct Found {
    /// What the loader added to the file's own addresses.
    bias: usize,
    /// Where its first segment begins.
    base: usize,
    name: PathBuf,
}

/// Looks at one loaded file; 1 ends the search.
unsafe extern "C" fn look(info: *mut libc::dl_phdr_info, _: usize, data: *mut c_void) -> c_int {
    // SAFETY: the search of `spot`, which nobody else uses meanwhile.
    let search = unsafe { &mut *data.cast::<Search>() };
    // SAFETY: the dynamic linker's own description, valid during this call.
    let info = unsafe { &*info };
    if info.dlpi_phnum == 0 {
        return 0;
    }
    // SAFETY: the loader keeps this table of so many entries as long as the file is loaded, which it is during this call.
    let segments = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
    let bias = info.dlpi_addr as usize;
    let mut loaded = segments.iter().filter(|segment| segment.p_type == libc::PT_LOAD).peekable();
    let Some(first) = loaded.peek().map(|segment| bias.wrapping_add(segment.p_vaddr as usize)) else {
        return 0;
    };
    let inside = loaded.any(|segment| {
        let start = bias.wrapping_add(segment.p_vaddr as usize);
        search.address.wrapping_sub(start) < segment.p_memsz as usize
    });
    if inside {
        let name = if info.dlpi_name.is_null() {
            PathBuf::new()
        } else {
            // SAFETY: a C string of the dynamic linker's, valid during this call.
            let name = unsafe { CStr::from_ptr(info.dlpi_name) };
            PathBuf::from(std::ffi::OsStr::from_bytes(name.to_bytes()))
        };
        search.found = Some(Found { bias, base: first & !0xfff, name });
    }
    c_int::from(inside)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_of_this_program_is_named_by_its_file() {
        let here = spot(code_of_this_program_is_named_by_its_file as *const () as u64).expect("in a file");
        let own = std::env::current_exe().unwrap();
        assert!(here.starts_with(&format!("{}+0x", own.display())), "{here}");
    }

    #[test]
    fn code_of_a_library_is_named_by_the_library() {
        let there = spot(libc::strlen as *const () as u64).expect("in a file");
        assert!(there.starts_with('/') && there.contains("libc") && there.contains("+0x"), "{there}");
    }

    #[test]
    fn an_address_in_no_file_has_no_name() {
        assert_eq!(spot(8), None);
        assert_eq!(spot(u64::MAX), None);
    }
}

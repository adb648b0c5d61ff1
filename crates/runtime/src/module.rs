//! Which file a piece of running code came from: what ranks say of call sites, for launcher and viewers to explain.
//!
//! Cold code: it asks the dynamic linker, whose lock it takes. Not for signal handlers.

use std::ffi::{CStr, c_int, c_void};
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// The copies of programs that ranks of this process run, in the order in which they lie in memory, and the file that each is a copy of.
/// They have no file names of their own, and not all of them are known to the dynamic linker.
static COPIES: Mutex<Vec<(Range<usize>, Arc<Path>)>> = Mutex::new(Vec::new());

/// Notes that a copy of the program `path` lies at `span`.
pub(crate) fn note_copy(span: Range<usize>, path: &Arc<Path>) {
    let mut copies = COPIES.lock().unwrap_or_else(PoisonError::into_inner);
    let at = copies.partition_point(|(known, _)| known.start < span.start);
    // A place that was given up may be used again.
    if copies.get(at).is_some_and(|(known, _)| known.start == span.start) {
        copies[at] = (span, path.clone());
    } else {
        copies.insert(at, (span, path.clone()));
    }
}

/// The address as `/path/of/module+0xOFFSET`, the offset being the address as that file counts it (`/path/of/module#copy+0xOFFSET` in a copy);
/// `None` if it is in no file.
pub fn spot(address: u64) -> Option<String> {
    if let Some((path, offset)) = in_a_copy(address as usize) {
        return Some(format!("{}{}+{offset:#x}", path.display(), pmi::copies::OF_A_COPY));
    }
    let mut search = Search { address: address as usize, found: None };
    // SAFETY: the function is called during this call only, with the search that outlives it.
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut search).cast()) };
    let Found { bias, name } = search.found?;
    Some(format!("{}+{:#x}", file(name)?.display(), search.address.wrapping_sub(bias)))
}

/// The file that is copied at an address, and how far into the copy that is: copies begin with the file's address 0.
fn in_a_copy(address: usize) -> Option<(Arc<Path>, usize)> {
    let copies = COPIES.lock().unwrap_or_else(PoisonError::into_inner);
    let after = copies.partition_point(|(span, _)| span.start <= address);
    let (span, path) = &copies[after.checked_sub(1)?];
    span.contains(&address).then(|| (path.clone(), address - span.start))
}

/// Where the program of this process lies in memory: what the loader added to its addresses, and how many bytes it reaches from there.
pub(crate) fn program() -> Option<(usize, usize)> {
    let mut extent = None;
    // SAFETY: as in `spot`; the dynamic linker begins with the program.
    unsafe { libc::dl_iterate_phdr(Some(measure), (&raw mut extent).cast()) };
    extent
}

/// Measures the first loaded file.
unsafe extern "C" fn measure(info: *mut libc::dl_phdr_info, _: usize, data: *mut c_void) -> c_int {
    // SAFETY: the dynamic linker's own description, valid during this call.
    let info = unsafe { &*info };
    let ends = loaded(info).map(|segment| segment.p_vaddr as usize + segment.p_memsz as usize);
    // SAFETY: the extent of `program`, which nobody else uses meanwhile.
    unsafe { *data.cast() = ends.max().map(|end| (info.dlpi_addr as usize, end)) };
    1
}

/// The segments of a file that are in memory.
fn loaded(info: &libc::dl_phdr_info) -> impl Iterator<Item = &libc::Elf64_Phdr> {
    let segments = if info.dlpi_phnum == 0 {
        &[]
    } else {
        // SAFETY: the loader keeps this table of so many entries as long as the file is loaded, which it is while it describes it.
        unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) }
    };
    segments.iter().filter(|segment| segment.p_type == libc::PT_LOAD)
}

fn file(name: PathBuf) -> Option<PathBuf> {
    if name.as_os_str().is_empty() {
        return std::fs::read_link("/proc/self/exe").ok();
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
    name: PathBuf,
}

/// Looks at one loaded file; 1 ends the search.
unsafe extern "C" fn look(info: *mut libc::dl_phdr_info, _: usize, data: *mut c_void) -> c_int {
    // SAFETY: the search of `spot`, which nobody else uses meanwhile.
    let search = unsafe { &mut *data.cast::<Search>() };
    // SAFETY: the dynamic linker's own description, valid during this call.
    let info = unsafe { &*info };
    let bias = info.dlpi_addr as usize;
    let inside = loaded(info).any(|segment| {
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
        search.found = Some(Found { bias, name });
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
    fn the_program_lies_around_its_own_code() {
        let (bias, bytes) = program().expect("a program");
        let here = the_program_lies_around_its_own_code as *const () as usize;
        assert!(here - bias < bytes, "{here:#x} in {bias:#x} and {bytes:#x} bytes");
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

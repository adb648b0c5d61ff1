//! Call sites for people: the function and the file that an address is in.

use std::ffi::CStr;
use std::path::Path;

/// Where a call returns to, as "solve+0x1f (heat)", or the address itself where nobody knows better.
pub(super) fn describe(address: u64) -> String {
    // SAFETY: all zero is a valid value of this structure of pointers.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: any address may be asked for; the answer goes into a structure of ours.
    let known = unsafe { libc::dladdr(address as usize as *const libc::c_void, &mut info) } != 0;
    let text = |pointer: *const libc::c_char| {
        // SAFETY: null, or a string of the dynamic linker's that lives as long as the loaded file.
        (!pointer.is_null()).then(|| unsafe { CStr::from_ptr(pointer) }.to_string_lossy())
    };
    let Some(file) = text(info.dli_fname).filter(|_| known) else { return format!("{address:#x}") };
    let file = Path::new(&*file);
    // A rank that shares its process has a copy of its program without a name.
    let nameless = file.parent() == Some(Path::new("/proc/self/fd"));
    let name =
        if nameless { "program".into() } else { file.file_name().unwrap_or_default().to_string_lossy() };
    match text(info.dli_sname) {
        Some(function) => format!("{function}+{:#x} ({name})", address - info.dli_saddr as u64),
        None => format!("{name}+{:#x}", address.wrapping_sub(info.dli_fbase as u64)),
    }
}

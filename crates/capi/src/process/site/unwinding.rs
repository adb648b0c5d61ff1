//! The frames between the library and the program's code: found by the unwinder, told apart by the file that each belongs to.

use core::ffi::{CStr, c_int, c_void};
use core::ptr;

use runtime::{Origin, Site};

use super::{UNKNOWN, is_of_bindings};

/// How far above the stack pointer a return address is looked for: more than the frame of any entry point.
const FRAME_MAX: usize = 16 << 10;
/// Frames of this library that a call may be under.
const DEPTH_MAX: u32 = 32;

unsafe extern "C" {
    /// Of the C++ ABI, which Rust's own panics use.
    fn _Unwind_Backtrace(step: extern "C" fn(*mut c_void, *mut c_void) -> c_int, data: *mut c_void) -> c_int;
    fn _Unwind_GetIP(context: *mut c_void) -> usize;
    fn _Unwind_GetCFA(context: *mut c_void) -> usize;
}

struct Search {
    /// Where the file of this library begins.
    library: usize,
    /// If that is the program, too: the stack pointer whose function's caller is looked for, and how many functions it is under.
    one_file: Option<(usize, u32)>,
    /// Whether the program's own code is meant, and not that of bindings in between.
    beyond_bindings: bool,
    depth: u32,
    /// The last address in this library.
    entry: usize,
    found: usize,
    /// Where the stack of the found caller ends: the address that it is returned to lies just below.
    end: usize,
}

impl Search {
    fn run(&mut self) {
        // SAFETY: the data lives during the call, and the step keeps to it.
        unsafe { _Unwind_Backtrace(step, ptr::from_mut(self).cast()) };
    }
}

/// The call of this library that is under way on this stack, and where it comes from.
#[cold]
pub(super) fn call() -> Option<Site> {
    let library = file_of(call as *const () as usize);
    let mut search =
        Search { library, one_file: None, beyond_bindings: true, depth: 0, entry: 0, found: 0, end: 0 };
    search.run();
    if search.found == 0 {
        return None;
    }
    // An entry point has two names at one address, of which the program uses one.
    let name = about(search.entry).map(|info| text(info.dli_sname)).unwrap_or_default();
    let name = name.strip_prefix('P').unwrap_or(&name);
    Some(Site {
        call: if name.starts_with("MPI") { name.to_string() } else { String::new() },
        origin: Origin::ReturnsTo(search.found as u64),
    })
}

/// Whether this library is a part of the program's file, linked statically.
#[cold]
pub(super) fn is_one_file() -> bool {
    // SAFETY: asks the kernel's list of facts about this process.
    let program = unsafe { libc::getauxval(libc::AT_ENTRY) } as usize;
    file_of(call as *const () as usize) == file_of(program)
}

/// From the stack pointer to the first return address that is not in this library.
#[cold]
pub(super) fn distance(stack_pointer: usize, under: u32) -> usize {
    let library = file_of(distance as *const () as usize);
    let one_file = is_one_file().then_some((stack_pointer, under));
    let mut search =
        Search { library, one_file, beyond_bindings: false, depth: 0, entry: 0, found: 0, end: 0 };
    if stack_pointer == 0 {
        return UNKNOWN;
    }
    search.run();
    let slot = search.end.wrapping_sub(size_of::<usize>());
    let distance = slot.wrapping_sub(stack_pointer);
    if search.found == 0 || distance >= FRAME_MAX {
        return UNKNOWN;
    }
    // SAFETY: within the frames between this one and the caller's, all of which are in use.
    let word = unsafe { ptr::with_exposed_provenance::<usize>(slot).read() };
    if word == search.found { distance } else { UNKNOWN }
}

extern "C" fn step(context: *mut c_void, data: *mut c_void) -> c_int {
    const GO_ON: c_int = 0;
    const STOP: c_int = 4;
    // SAFETY: the data of `distance`, which nobody else uses meanwhile.
    let search = unsafe { &mut *data.cast::<Search>() };
    // SAFETY: the context that the unwinder gave.
    let address = unsafe { _Unwind_GetIP(context) };
    search.depth += 1;
    // SAFETY: the context that the unwinder gave.
    let end = unsafe { _Unwind_GetCFA(context) };
    let outside = match &mut search.one_file {
        None => file_of(address) != search.library,
        Some((stack_pointer, _)) if end <= *stack_pointer => false,
        Some((_, 0)) => true,
        Some((_, under)) => {
            *under -= 1;
            false
        }
    };
    if outside && search.beyond_bindings && is_of_bindings(address) {
        return if search.depth < DEPTH_MAX { GO_ON } else { STOP };
    }
    if outside {
        (search.found, search.end) = (address, end);
        return STOP;
    }
    search.entry = address;
    if search.depth < DEPTH_MAX { GO_ON } else { STOP }
}

/// Tells the loaded files apart: the address that the file of a piece of code begins at.
fn file_of(address: usize) -> usize {
    about(address).map_or(0, |info| info.dli_fbase.addr())
}

/// What the dynamic linker knows of a piece of code.
fn about(address: usize) -> Option<libc::Dl_info> {
    // SAFETY: all zero is a valid value of this structure of pointers.
    let mut info: libc::Dl_info = unsafe { core::mem::zeroed() };
    // SAFETY: any address may be asked for; the answer goes into a structure of ours.
    let known = unsafe { libc::dladdr(ptr::without_provenance(address), &mut info) };
    (known != 0).then_some(info)
}

/// A text of the dynamic linker's, or an empty one.
fn text(pointer: *const libc::c_char) -> String {
    if pointer.is_null() {
        return String::new();
    }
    // SAFETY: a string that lives as long as the loaded file.
    unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned()
}

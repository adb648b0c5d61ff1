//! What a thread keeps for the code that it runs and that belongs to the rank: kept over a switch from one fiber to another.
//!
//! | state | kept |
//! | --- | --- |
//! | registers, floating-point control and SSE's floating-point status | by the [switch](crate::switch) |
//! | `errno` | here |
//! | C++ exceptions being handled, and how many are on their way | here, if a C++ runtime is loaded: one library serves all ranks of the process |
//! | locale of `uselocale`, signal mask, affinity, x87's status | no: reading them costs a call a switch; programs are warned |
//!
//! The addresses are asked for once a worker, so that a switch pays a few loads and stores and no call.

use std::ffi::CStr;
use std::sync::OnceLock;

/// The two words behind `__cxa_get_globals` (Itanium C++ ABI, section 2.2.2): the exceptions that are being handled, and how many
/// have been thrown and not been caught.
#[derive(Clone, Copy)]
#[repr(C)]
struct Exceptions([usize; 2]);

const NONE: Exceptions = Exceptions([0, 0]);

/// Where the calling thread keeps what belongs to the rank that it runs.
#[derive(Clone, Copy)]
pub struct ThreadState {
    errno: *mut libc::c_int,
    exceptions: *mut Exceptions,
}

/// What belongs to a rank that does not run.
#[derive(Clone, Copy)]
pub struct Suspended {
    errno: libc::c_int,
    exceptions: Exceptions,
}

/// Stands in for the words of a C++ runtime where there is none.
#[derive(Default)]
pub struct Spare(std::cell::UnsafeCell<[usize; 2]>);

impl ThreadState {
    /// The state of the calling thread. `spare` is used where no C++ runtime is loaded.
    ///
    /// # Safety
    /// The result may be used on this thread only, and while `spare` lives, which nobody else uses.
    pub unsafe fn of_this_thread(spare: &Spare) -> ThreadState {
        // SAFETY: no arguments; the result is this thread's, and valid as long as it.
        let errno = unsafe { libc::__errno_location() };
        let exceptions = match cxa_get_globals() {
            // SAFETY: the C++ runtime's own function, which has no preconditions and returns this thread's words.
            Some(get) => unsafe { get() },
            None => spare.0.get().cast(),
        };
        ThreadState { errno, exceptions }
    }

    /// Takes what belongs to the rank that runs, and leaves the thread as a rank finds it that has yet to begin.
    ///
    /// # Safety
    /// As promised to [`of_this_thread`](ThreadState::of_this_thread).
    #[inline(always)]
    pub unsafe fn suspend(&self) -> Suspended {
        // SAFETY: both places are this thread's, by the caller's promise.
        unsafe { Suspended { errno: *self.errno, exceptions: self.exceptions.replace(NONE) } }
    }

    /// Gives the thread back to the rank that this was taken from.
    ///
    /// # Safety
    /// As promised to [`of_this_thread`](ThreadState::of_this_thread).
    #[inline(always)]
    pub unsafe fn resume(&self, suspended: Suspended) {
        // SAFETY: as above.
        unsafe {
            *self.errno = suspended.errno;
            *self.exceptions = suspended.exceptions;
        }
    }
}

type GetGlobals = unsafe extern "C" fn() -> *mut Exceptions;

/// The C++ runtime's function, if one is loaded. Programs that are loaded for ranks keep their libraries to themselves, so the
/// runtime is asked for by its name, too; a program that has linked it statically has words of its own a copy, which nobody shares.
fn cxa_get_globals() -> Option<GetGlobals> {
    static FOUND: OnceLock<GetGlobals> = OnceLock::new();
    if let Some(found) = FOUND.get() {
        return Some(*found);
    }
    const NAME: &CStr = c"__cxa_get_globals";
    // SAFETY: the names are C strings. RTLD_NOLOAD loads nothing, so no constructor runs; the handle is kept, so that the library stays.
    let symbol = unsafe {
        let everywhere = libc::dlsym(libc::RTLD_DEFAULT, NAME.as_ptr());
        [c"libstdc++.so.6", c"libc++abi.so.1"].iter().fold(everywhere, |found, library| {
            if !found.is_null() {
                return found;
            }
            let handle = libc::dlopen(library.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD);
            if handle.is_null() { found } else { libc::dlsym(handle, NAME.as_ptr()) }
        })
    };
    if symbol.is_null() {
        return None;
    }
    // SAFETY: a function of this type, by the C++ ABI.
    let get = unsafe { std::mem::transmute::<*mut libc::c_void, GetGlobals>(symbol) };
    Some(*FOUND.get_or_init(|| get))
}

//! Where in the program a call comes from: the address that an entry point returns to, for observers.
//!
//! An entry point tells of its call from one spot ([`crate::call`]), and its frame always has the same layout, so the return address lies
//! at the same distance from the stack pointer there in every call of that function. The distance is found once a function by
//! unwinding, which is slow; from then on the address is one load. So entry points need no code for it, and calls that nobody
//! observes no time.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The distances that are known: a small table by the address of the function's name, whose lower half is above a distance in one word,
/// since several threads may be here.
pub(crate) struct Distances(Box<[AtomicU64; Distances::SLOTS]>);

/// Of a function whose caller cannot be found.
const UNKNOWN: usize = usize::MAX;
/// The same in the table.
const FAR: u32 = u32::MAX;

impl Distances {
    const SLOTS: usize = 128;
    /// A function is in one of so many: to learn it anew in every call would be slow.
    const NEAR: usize = 8;

    pub(crate) fn new() -> Self {
        Self(Box::new([const { AtomicU64::new(0) }; Self::SLOTS]))
    }

    /// The address that the calling entry point, `function`, returns to; 0 if unknown. To be called from the one spot, as
    /// `stack_pointer!()` is to be asked for there. `under` as in [`distance`].
    #[inline]
    pub(crate) fn caller(&self, function: &'static str, stack_pointer: usize, under: u32) -> u64 {
        let key = function.as_ptr().addr();
        let first = (key >> 3 ^ key >> 9) % Self::SLOTS;
        let near = (first..first + Self::NEAR).map(|slot| &self.0[slot % Self::SLOTS]);
        let known = |word: u64| (word >> 32 == key as u64 & 0xffff_ffff).then_some(word as u32);
        let found = near.clone().find_map(|slot| known(slot.load(Relaxed)));
        let distance = found.unwrap_or_else(|| {
            let distance = u32::try_from(unwinding::distance(stack_pointer, under)).unwrap_or(FAR);
            let slot = near.clone().find(|slot| slot.load(Relaxed) == 0).unwrap_or(&self.0[first]);
            slot.store((key as u64) << 32 | u64::from(distance), Relaxed);
            distance
        });
        match distance {
            FAR => 0,
            // SAFETY: the distance was measured in this very function, whose frame, above the stack pointer, has one layout.
            distance => unsafe {
                core::ptr::with_exposed_provenance::<u64>(stack_pointer + distance as usize).read()
            },
        }
    }
}

/// How far above the stack pointer the calling function's return address to the program lies; `None` if it cannot be found. The function
/// whose stack pointer that is lies `under` so many others of this library: the one in which program and library are one file is looked at
/// by that.
pub(crate) fn distance(stack_pointer: usize, under: u32) -> Option<usize> {
    Some(unwinding::distance(stack_pointer, under)).filter(|distance| *distance != UNKNOWN)
}

/// The stack pointer of the function that this is written in; 0 where it is not known how to ask.
macro_rules! stack_pointer {
    () => {{
        #[cfg(target_arch = "x86_64")]
        {
            let pointer: usize;
            // SAFETY: copies a register.
            unsafe { core::arch::asm!("mov {}, rsp", out(reg) pointer, options(nomem, nostack, preserves_flags)) };
            pointer
        }
        #[cfg(not(target_arch = "x86_64"))]
        0
    }};
}
pub(crate) use stack_pointer;

/// The call of the program's that waits on this stack, and where it comes from.
pub(crate) fn waiting_call() -> Option<runtime::Site> {
    if unwinding::is_one_file() {
        // Frames of the library and of the program cannot be told apart, but the entry point has noted its call.
        let (call, returns_to) = crate::current::active()?.sheet().last_call()?;
        return Some(runtime::Site { call, origin: runtime::Origin::ReturnsTo(returns_to) });
    }
    unwinding::call()
}

/// Where the call on this stack comes from, in the form that the launcher explains: `[at /home/me/heat+0x1f3a]`.
pub(crate) fn in_words() -> Option<String> {
    Some(format!("[at {}]", waiting_call()?.origin.spot()?))
}

mod unwinding {
    use core::ffi::{CStr, c_int, c_void};
    use core::ptr;

    use runtime::{Origin, Site};

    use super::UNKNOWN;

    /// How far above the stack pointer a return address is looked for: more than the frame of any entry point.
    const FRAME_MAX: usize = 16 << 10;
    /// Frames of this library that a call may be under.
    const DEPTH_MAX: u32 = 32;

    unsafe extern "C" {
        /// Of the C++ ABI, which Rust's own panics use.
        fn _Unwind_Backtrace(
            step: extern "C" fn(*mut c_void, *mut c_void) -> c_int,
            data: *mut c_void,
        ) -> c_int;
        fn _Unwind_GetIP(context: *mut c_void) -> usize;
        fn _Unwind_GetCFA(context: *mut c_void) -> usize;
    }

    struct Search {
        /// Where the file of this library begins.
        library: usize,
        /// If that is the program, too: the stack pointer whose function's caller is looked for, and how many functions it is under.
        one_file: Option<(usize, u32)>,
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
        let mut search = Search { library, one_file: None, depth: 0, entry: 0, found: 0, end: 0 };
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
        let mut search = Search { library, one_file, depth: 0, entry: 0, found: 0, end: 0 };
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
        let word = unsafe { core::ptr::with_exposed_provenance::<usize>(slot).read() };
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
}

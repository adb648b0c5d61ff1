//! Where in the program a call comes from: the address that an entry point returns to, for observers.
//!
//! An entry point tells of its call from one spot (`call/run`), and its frame always has the same layout, so the return address lies
//! at the same distance from the stack pointer there in every call of that function. The distance is found once a function by
//! unwinding, which is slow; from then on the address is one load. So entry points need no code for it, and calls that nobody
//! observes no time.

mod unwinding;

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, OnceLock};

/// The distances that are known: a small table by the address of the function's name, whose lower half is above a distance in one word,
/// since several threads may be here.
pub(crate) struct Distances(OnceLock<Box<[AtomicU64; Distances::SLOTS]>>);

/// Of a function whose caller cannot be found.
const UNKNOWN: usize = usize::MAX;
/// The same in the table.
const FAR: u32 = u32::MAX;

impl Distances {
    const SLOTS: usize = 128;
    /// A function is in one of so many: to learn it anew in every call would be slow.
    const NEAR: usize = 8;

    pub(crate) fn new() -> Self {
        // Made when somebody watches: thousands of ranks have no use for it.
        Self(OnceLock::new())
    }

    /// The address that the calling entry point, `function`, returns to; 0 if unknown. To be called from the one spot, as
    /// `stack_pointer!()` is to be asked for there. `under` as in [`distance`].
    #[inline]
    pub(crate) fn caller(&self, function: &'static str, stack_pointer: usize, under: u32) -> u64 {
        let key = function.as_ptr().addr();
        let first = (key >> 3 ^ key >> 9) % Self::SLOTS;
        let table = self.0.get_or_init(|| Box::new([const { AtomicU64::new(0) }; Self::SLOTS]));
        let near = (first..first + Self::NEAR).map(|slot| &table[slot % Self::SLOTS]);
        let known = |word: u64| (word >> 32 == key as u64 & 0xffff_ffff).then_some(word as u32);
        let found = near.clone().find_map(|slot| known(slot.load(Relaxed)));
        let distance = found.unwrap_or_else(|| {
            let distance = u32::try_from(unwinding::distance(stack_pointer, under)).unwrap_or(FAR);
            let slot = near.clone().find(|slot| slot.load(Relaxed) == 0).unwrap_or(&table[first]);
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

/// The address that the calling entry point returns to, found by unwinding; the rest as in
/// [`distance`].
pub(crate) fn caller(stack_pointer: usize, under: u32) -> Option<usize> {
    let place = stack_pointer + distance(stack_pointer, under)?;
    // SAFETY: within the frames between the caller's and the program's, all of which are in use.
    Some(unsafe { core::ptr::with_exposed_provenance::<usize>(place).read() })
}

/// Code in programs that is not theirs: the entry points of Fortran, one range a rank.
static BINDINGS: Mutex<Vec<Range<usize>>> = Mutex::new(Vec::new());

/// Bindings of another language say where in the program their code lies, so that errors and waits are told of the program's own.
#[unsafe(no_mangle)]
pub extern "C" fn corelace_bindings(from: usize, to: usize) {
    let mut bindings = BINDINGS.lock().unwrap_or_else(|poison| poison.into_inner());
    if !bindings.contains(&(from..to)) {
        bindings.push(from..to);
    }
}

fn is_of_bindings(address: usize) -> bool {
    let bindings = BINDINGS.lock().unwrap_or_else(|poison| poison.into_inner());
    bindings.iter().any(|range| range.contains(&address))
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

/// The call of the program's that waits on this stack, and where it comes from. `noted` is the call that the rank has noted last.
pub(crate) fn waiting_call(noted: &dyn Fn() -> Option<(String, u64)>) -> Option<runtime::Site> {
    if unwinding::is_one_file() {
        // Frames of the library and of the program cannot be told apart, but the entry point has noted its call.
        let (call, returns_to) = noted()?;
        return Some(runtime::Site { call, origin: runtime::Origin::ReturnsTo(returns_to) });
    }
    unwinding::call()
}

/// Where the call on this stack comes from, in the form that the launcher explains: `[at /home/me/heat+0x1f3a]`.
pub(crate) fn in_words(noted: &dyn Fn() -> Option<(String, u64)>) -> Option<String> {
    Some(format!("[at {}]", waiting_call(noted)?.origin.spot()?))
}

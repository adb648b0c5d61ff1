//! The rank that runs on this thread, in a process that hosts ranks: one thread-local word.
//!
//! Fibers change it at every switch and every MPI call reads it. A `thread_local!` of a shared library costs a call into the
//! dynamic linker for each access; on x86-64 the word is therefore declared in assembly with the *initial-exec* model, where an
//! access is two instructions. Eight bytes of static TLS are always to be had, also when the library is loaded late.

use crate::process::State;

#[cfg(target_arch = "x86_64")]
mod word {
    use core::arch::{asm, global_asm};

    use super::State;

    global_asm!(
        ".pushsection .tbss.corelace_resumed, \"awT\", @nobits",
        ".p2align 3",
        ".hidden corelace_resumed",
        ".globl corelace_resumed",
        ".type corelace_resumed, @object",
        ".size corelace_resumed, 8",
        "corelace_resumed:",
        ".zero 8",
        ".popsection",
    );

    #[inline(always)]
    pub(super) fn get() -> *const State {
        let value;
        // SAFETY: reads this thread's copy of the word above, which is there as long as the thread.
        unsafe {
            asm!(
                "mov {value}, qword ptr [rip + corelace_resumed@GOTTPOFF]",
                "mov {value}, qword ptr fs:[{value}]",
                value = out(reg) value,
                options(nostack, preserves_flags, readonly),
            );
        }
        value
    }

    #[inline(always)]
    pub(super) fn set(state: *const State) {
        // SAFETY: writes this thread's copy of the word above, which nothing else refers to.
        unsafe {
            asm!(
                "mov {place}, qword ptr [rip + corelace_resumed@GOTTPOFF]",
                "mov qword ptr fs:[{place}], {state}",
                place = out(reg) _,
                state = in(reg) state,
                options(nostack, preserves_flags),
            );
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod word {
    use core::cell::Cell;

    use super::State;

    thread_local! {
        static RESUMED: Cell<*const State> = const { Cell::new(core::ptr::null()) };
    }

    pub(super) fn get() -> *const State {
        RESUMED.get()
    }

    pub(super) fn set(state: *const State) {
        RESUMED.set(state);
    }
}

/// The rank that runs on this thread; null if none does.
#[inline(always)]
pub(super) fn get() -> *const State {
    word::get()
}

/// Changes it.
#[inline(always)]
pub(super) fn set(state: *const State) {
    word::set(state);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_thread_has_a_word_of_its_own() {
        let here = core::ptr::without_provenance(8);
        assert!(get().is_null());
        set(here);
        std::thread::spawn(|| {
            assert!(get().is_null());
            set(core::ptr::without_provenance(16));
        })
        .join()
        .unwrap();
        assert_eq!(get(), here);
        set(core::ptr::null());
    }
}

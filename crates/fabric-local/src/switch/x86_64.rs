//! The switch on x86-64.
//!
//! A suspended context is a stack pointer, with this on the stack:
//!
//! ```text
//!   sp ->  where to go on
//!          rbx
//!          rbp
//! ```
//!
//! All other registers are the compiler's to save (it saves what lives across the switch). The jump is a `jmp`, not a `ret`:
//! the processor predicts returns from a stack of its own, on which the calls of the fiber before still lie. Fibers that wait
//! in the same function find the same return addresses there, so that not even their returns are mispredicted.

use core::arch::{asm, naked_asm};
use std::cell::Cell;

use corosensei::stack::{DefaultStack, Stack};

use super::Entry;

pub(crate) struct Context {
    sp: Cell<*mut usize>,
}

/// The stack of a context, with what lies on it.
pub(crate) struct Kept(#[expect(dead_code, reason = "held for its memory")] DefaultStack);

impl Context {
    /// A context that runs, or will be prepared.
    pub(crate) const fn running() -> Context {
        Context { sp: Cell::new(std::ptr::null_mut()) }
    }

    /// Makes the first switch to this context call `entry` on `stack`.
    ///
    /// # Safety
    /// What is returned must be kept until the context has been switched away from for the last time.
    pub(crate) unsafe fn prepare(&self, stack: DefaultStack, entry: Entry, argument: *mut ()) -> Kept {
        // From the top of the stack down: the zero that a backtrace ends at, and what `begin` pops.
        let frame = [begin as *const () as usize, argument as usize, entry as usize, 0];
        let sp = (stack.base().get() - size_of_val(&frame)) as *mut usize;
        // SAFETY: the words below a stack's base are unused memory of it.
        unsafe { sp.cast::<[usize; 4]>().write(frame) };
        self.sp.set(sp);
        Kept(stack)
    }

    /// Suspends the caller as `self` and goes on as `to`; returns when somebody switches to `self`.
    ///
    /// # Safety
    /// `to` must be suspended or prepared, by or for this thread.
    #[inline(always)]
    pub(crate) unsafe fn switch(&self, to: &Context) {
        // SAFETY: by the caller's promise `to` holds what this code, or `prepare`, has put there. Every register is declared
        // as changed, but for those that are saved here.
        unsafe {
            asm!(
                "push rbp",
                "push rbx",
                "lea rax, [rip + 2f]",
                "push rax",
                "mov [rdi], rsp",
                "mov rsp, [rsi]",
                "pop rax",
                "jmp rax",
                "2:",
                "pop rbx",
                "pop rbp",
                inout("rdi") self.sp.as_ptr() => _,
                inout("rsi") to.sp.as_ptr() => _,
                out("r12") _, out("r13") _, out("r14") _, out("r15") _,
                clobber_abi("sysv64"),
            );
        }
    }
}

/// Where a prepared context begins: calls the entry with its argument. The base of a stack is a multiple of 16, so that
/// what is left on it, one zero, is the return address that the calling convention expects there.
#[unsafe(naked)]
unsafe extern "C" fn begin() {
    naked_asm!("pop rdi", "pop rax", "xor ebp, ebp", "jmp rax");
}

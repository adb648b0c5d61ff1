//! The switch on x86-64.
//!
//! A suspended context is a stack pointer, with this on the stack:
//!
//! ```text
//!   sp ->  where to go on
//!          MXCSR (4 bytes), x87 control word (2 bytes)
//!          rbx
//!          rbp
//! ```
//!
//! All other registers are the compiler's to save (it saves what lives across the switch). The jump is a `jmp`, not a `ret`:
//! the processor predicts returns from a stack of its own, on which the calls of the fiber before still lie. Fibers that wait
//! in the same function find the same return addresses there, so that not even their returns are mispredicted.
//!
//! The floating-point control (rounding, traps, flushing to zero) belongs to a fiber, and with MXCSR come SSE's exception flags. Loading
//! them is dear, so they are compared with those of the fiber before and loaded only if they differ.

use core::arch::{asm, naked_asm};
use std::cell::Cell;

use super::Entry;
use crate::stack::Stack;

/// Where a suspended thread of control goes on.
pub struct Context {
    sp: Cell<*mut usize>,
}

/// What a context needs besides its stack: nothing, on this processor.
pub struct Kept(());

impl Context {
    /// A context that runs, or will be prepared.
    pub const fn running() -> Context {
        Context { sp: Cell::new(std::ptr::null_mut()) }
    }

    /// Makes the first switch to this context call `entry` on `stack`, with the caller's floating-point control.
    ///
    /// # Safety
    /// What is returned, and the stack, must be kept until the context has been switched away from for the last time.
    pub unsafe fn prepare(&self, stack: Stack, entry: Entry, argument: *mut ()) -> Kept {
        // From the top of the stack down: the zero that a backtrace ends at, and what `begin` pops.
        let frame = [begin as *const () as usize, float_control(), argument as usize, entry as usize, 0];
        let sp = (stack.base - size_of_val(&frame)) as *mut usize;
        // SAFETY: the words below a stack's base are unused memory of it.
        unsafe { sp.cast::<[usize; 5]>().write(frame) };
        self.sp.set(sp);
        Kept(())
    }

    /// Suspends the caller as `self` and goes on as `to`; returns when somebody switches to `self`.
    ///
    /// # Safety
    /// `to` must be suspended or prepared, by or for this thread.
    #[inline(always)]
    pub unsafe fn switch(&self, to: &Context) {
        // SAFETY: by the caller's promise `to` holds what this code, or `prepare`, has put there. Every register is declared
        // as changed, but for those that are saved here.
        unsafe {
            asm!(
                "push rbp",
                "push rbx",
                "sub rsp, 8",
                "stmxcsr [rsp]",
                "fnstcw [rsp + 4]",
                "lea rax, [rip + 2f]",
                // Each by a load of its own width: a wider one would have to wait for both stores.
                "mov ecx, [rsp]",
                "movzx edx, word ptr [rsp + 4]",
                "push rax",
                "mov [rdi], rsp",
                "mov rsp, [rsi]",
                "pop rax",
                "cmp ecx, [rsp]",
                "jne 3f",
                "cmp dx, [rsp + 4]",
                "jne 4f",
                "jmp rax",
                "3:",
                "ldmxcsr [rsp]",
                "4:",
                "fldcw [rsp + 4]",
                "jmp rax",
                "2:",
                "add rsp, 8",
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

/// The caller's floating-point control as it lies on a stack.
fn float_control() -> usize {
    let mut words = [0u32; 2];
    // SAFETY: stores four bytes, and two behind them.
    unsafe {
        asm!("stmxcsr [{0}]", "fnstcw [{0} + 4]", in(reg) words.as_mut_ptr(), options(nostack, preserves_flags));
    }
    words[0] as usize | (words[1] as usize) << 32
}

/// Where a prepared context begins: calls the entry with its argument. The base of a stack is a multiple of 16, so that
/// what is left on it, one zero, is the return address that the calling convention expects there.
#[unsafe(naked)]
unsafe extern "C" fn begin() {
    naked_asm!("pop rax", "pop rdi", "pop rax", "xor ebp, ebp", "jmp rax");
}

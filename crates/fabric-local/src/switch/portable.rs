//! The switch for processors without an implementation of their own, by coroutines.
//!
//! A coroutine can only be resumed by its worker and only suspend itself back to it. So a fiber that hands over to another
//! suspends itself with the other's address, and the worker, who waits in its own `switch`, resumes that one.
//!
//! Coroutines leave the floating-point control alone, so each context puts its own back when it goes on.

use std::cell::{Cell, RefCell};
use std::num::NonZeroUsize;
use std::ptr;

use corosensei::stack::StackPointer;
use corosensei::{Coroutine, CoroutineResult, Yielder};

use super::Entry;
use crate::stack::Stack;

// SAFETY: a stack is memory that may be read and written between its limit and its base, which is a multiple of 16.
unsafe impl corosensei::stack::Stack for Stack {
    fn base(&self) -> StackPointer {
        NonZeroUsize::new(self.base).expect("no stack ends at address zero")
    }

    fn limit(&self) -> StackPointer {
        NonZeroUsize::new(self.limit).expect("no stack begins at address zero")
    }
}

type Fiber = Coroutine<(), *const Context, (), Stack>;

/// Where a suspended thread of control goes on.
pub struct Context {
    /// The coroutine of a fiber; null for a worker, which runs on its thread's stack.
    fiber: Cell<*const RefCell<Fiber>>,
    /// How the fiber suspends itself, once it has started.
    yielder: Cell<*const Yielder<(), *const Context>>,
}

/// What a context needs besides its stack.
pub struct Kept(Box<RefCell<Fiber>>);

impl Drop for Kept {
    fn drop(&mut self) {
        // SAFETY: the fiber never runs again, and has dropped what it owned; there is nothing to unwind.
        unsafe { self.0.get_mut().force_reset() };
    }
}

impl Context {
    /// A context that runs, or will be prepared.
    pub const fn running() -> Context {
        Context { fiber: Cell::new(ptr::null()), yielder: Cell::new(ptr::null()) }
    }

    /// Makes the first switch to this context call `entry` on `stack`, with the caller's floating-point control.
    ///
    /// # Safety
    /// What is returned, and the stack, must be kept, and the context stay where it is, until it has been switched away from for
    /// the last time.
    pub unsafe fn prepare(&self, stack: Stack, entry: Entry, argument: *mut ()) -> Kept {
        let me = ptr::from_ref(self);
        let control = FloatControl::of_this_thread();
        // SAFETY: the closure borrows nothing; what its raw pointers name lives as long as the fiber, by the caller's promise.
        let fiber = unsafe {
            Coroutine::with_stack_unchecked(stack, move |yielder, ()| {
                (*me).yielder.set(yielder);
                control.restore();
                entry(argument)
            })
        };
        let kept = Kept(Box::new(RefCell::new(fiber)));
        self.fiber.set(&raw const *kept.0);
        kept
    }

    /// Suspends the caller as `self` and goes on as `to`; returns when somebody switches to `self`.
    ///
    /// # Safety
    /// `to` must be suspended or prepared, by or for this thread.
    pub unsafe fn switch(&self, to: &Context) {
        let control = FloatControl::of_this_thread();
        let yielder = self.yielder.get();
        if yielder.is_null() {
            // SAFETY: the caller's promise.
            unsafe { self.run_others(to) };
        } else {
            // SAFETY: this is the fiber that the yielder belongs to, for it is the one that runs.
            unsafe { (*yielder).suspend(ptr::from_ref(to)) };
        }
        control.restore();
    }

    /// The worker's part: runs `to` and whoever that hands over to, until one hands over to the worker.
    ///
    /// # Safety
    /// As for `switch`.
    unsafe fn run_others(&self, to: &Context) {
        let mut next = ptr::from_ref(to);
        while !ptr::eq(next, self) {
            // SAFETY: whoever handed over named a context that is suspended or prepared.
            let mut fiber = unsafe { (*(*next).fiber.get()).borrow_mut() };
            match fiber.resume(()) {
                CoroutineResult::Yield(target) => next = target,
                CoroutineResult::Return(()) => unreachable!("an entry never returns"),
            }
        }
    }
}

/// How the processor computes with floating-point numbers: rounding, traps, flushing to zero.
#[derive(Clone, Copy, PartialEq, Eq)]
struct FloatControl(u64);

#[cfg(target_arch = "x86_64")]
impl FloatControl {
    fn of_this_thread() -> FloatControl {
        let mut words = [0u32; 2];
        // SAFETY: stores four bytes, and two behind them.
        unsafe { std::arch::asm!("stmxcsr [{0}]", "fnstcw [{0} + 4]", in(reg) words.as_mut_ptr()) };
        FloatControl(u64::from(words[0]) | u64::from(words[1]) << 32)
    }

    fn restore(self) {
        if self != FloatControl::of_this_thread() {
            let words = [self.0 as u32, (self.0 >> 32) as u32];
            // SAFETY: loads what `of_this_thread` has read.
            unsafe { std::arch::asm!("ldmxcsr [{0}]", "fldcw [{0} + 4]", in(reg) words.as_ptr()) };
        }
    }
}

#[cfg(target_arch = "aarch64")]
impl FloatControl {
    fn of_this_thread() -> FloatControl {
        let control: u64;
        // SAFETY: reads a register.
        unsafe { std::arch::asm!("mrs {0}, fpcr", out(reg) control) };
        FloatControl(control)
    }

    fn restore(self) {
        if self != FloatControl::of_this_thread() {
            // SAFETY: writes what `of_this_thread` has read.
            unsafe { std::arch::asm!("msr fpcr, {0}", in(reg) self.0) };
        }
    }
}

/// Others: their fibers share the control of their thread.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
impl FloatControl {
    fn of_this_thread() -> FloatControl {
        FloatControl(0)
    }

    fn restore(self) {}
}

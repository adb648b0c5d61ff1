//! The switch for processors without an implementation of their own, by coroutines.
//!
//! A coroutine can only be resumed by its worker and only suspend itself back to it. So a fiber that hands over to another
//! suspends itself with the other's address, and the worker, who waits in its own `switch`, resumes that one.

use std::cell::{Cell, RefCell};
use std::ptr;

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};

use super::Entry;

type Fiber = Coroutine<(), *const Context, (), DefaultStack>;

pub(crate) struct Context {
    /// The coroutine of a fiber; null for a worker, which runs on its thread's stack.
    fiber: Cell<*const RefCell<Fiber>>,
    /// How the fiber suspends itself, once it has started.
    yielder: Cell<*const Yielder<(), *const Context>>,
}

/// The stack of a context, with what lies on it.
pub(crate) struct Kept(Box<RefCell<Fiber>>);

impl Drop for Kept {
    fn drop(&mut self) {
        // SAFETY: the fiber never runs again, and has dropped what it owned; there is nothing to unwind.
        unsafe { self.0.get_mut().force_reset() };
    }
}

impl Context {
    /// A context that runs, or will be prepared.
    pub(crate) const fn running() -> Context {
        Context { fiber: Cell::new(ptr::null()), yielder: Cell::new(ptr::null()) }
    }

    /// Makes the first switch to this context call `entry` on `stack`.
    ///
    /// # Safety
    /// What is returned must be kept, and the context stay where it is, until it has been switched away from for the last time.
    pub(crate) unsafe fn prepare(&self, stack: DefaultStack, entry: Entry, argument: *mut ()) -> Kept {
        let me = ptr::from_ref(self);
        // SAFETY: the closure borrows nothing; what its raw pointers name lives as long as the fiber, by the caller's promise.
        let fiber = unsafe {
            Coroutine::with_stack_unchecked(stack, move |yielder, ()| {
                (*me).yielder.set(yielder);
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
    pub(crate) unsafe fn switch(&self, to: &Context) {
        let yielder = self.yielder.get();
        if !yielder.is_null() {
            // SAFETY: this is the fiber that the yielder belongs to, for it is the one that runs.
            return unsafe { (*yielder).suspend(ptr::from_ref(to)) };
        }
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

//! Switching from one stack to another.
//!
//! A [`Context`] is a place where a suspended thread of control goes on. [`Context::switch`] is symmetric: a fiber hands the
//! processor to any other, or to its worker, in one jump. Two implementations with one interface: `x86_64` is a dozen
//! instructions; `portable` makes the same out of coroutines that only their worker can resume, at two jumps a switch.
//!
//! Registers, rounding and traps of floating-point numbers belong to a context; what else belongs to a rank is kept by
//! [`ThreadState`](crate::ThreadState).
//!
//! **Invariant:** a context is either the one that runs, or holds where it goes on: it is switched to at most once for each
//! time that it was prepared or switched away from.

#[cfg_attr(all(target_arch = "x86_64", not(feature = "portable-switch")), path = "x86_64.rs")]
#[cfg_attr(not(all(target_arch = "x86_64", not(feature = "portable-switch"))), path = "portable.rs")]
mod implementation;

pub use implementation::{Context, Kept};

/// What a new context runs: a function that never returns, because there is nothing below it on its stack.
pub type Entry = unsafe extern "C" fn(argument: *mut ()) -> !;

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};

    use super::Context;
    use crate::stack::Stacks;

    /// Two fibers and the thread that started them.
    struct Trio {
        thread: Context,
        fibers: [Context; 2],
        steps: RefCell<Vec<&'static str>>,
        sum: Cell<f64>,
    }

    unsafe extern "C" fn first(trio: *mut ()) -> ! {
        // SAFETY: the tests pass a trio that outlives its fibers.
        let trio = unsafe { &*trio.cast::<Trio>() };
        for step in 0..1000 {
            // Lives across the switch in whatever registers the compiler likes.
            let product = f64::from(step) * 0.5;
            // SAFETY: the second fiber is suspended.
            unsafe { trio.fibers[0].switch(&trio.fibers[1]) };
            trio.sum.set(trio.sum.get() + product);
        }
        trio.steps.borrow_mut().push("first ends");
        // SAFETY: the thread waits in the test.
        unsafe { trio.fibers[0].switch(&trio.thread) };
        unreachable!("an ended fiber was resumed")
    }

    unsafe extern "C" fn second(trio: *mut ()) -> ! {
        // SAFETY: as above.
        let trio = unsafe { &*trio.cast::<Trio>() };
        trio.steps.borrow_mut().push("second starts");
        loop {
            let caught = std::panic::catch_unwind(|| std::panic::resume_unwind(Box::new(7)));
            assert_eq!(caught.unwrap_err().downcast_ref::<i32>(), Some(&7));
            // SAFETY: the first fiber is suspended.
            unsafe { trio.fibers[1].switch(&trio.fibers[0]) };
        }
    }

    #[test]
    fn fibers_hand_over_to_each_other_and_unwind_on_their_own_stacks() {
        let stacks = Stacks::new(2, 1 << 16).unwrap();
        let trio = Trio {
            thread: Context::running(),
            fibers: [Context::running(), Context::running()],
            steps: RefCell::default(),
            sum: Cell::new(0.0),
        };
        let argument = std::ptr::from_ref(&trio).cast_mut().cast();
        // SAFETY: stacks, entries and trio live until the end of the test, and nobody switches to a fiber after that.
        let _kept = unsafe {
            let kept = [
                trio.fibers[0].prepare(stacks.of(0), first, argument),
                trio.fibers[1].prepare(stacks.of(1), second, argument),
            ];
            trio.thread.switch(&trio.fibers[0]);
            kept
        };
        assert_eq!(*trio.steps.borrow(), ["second starts", "first ends"]);
        assert_eq!(trio.sum.get(), 0.5 * 999.0 * 1000.0 / 2.0);
    }
}

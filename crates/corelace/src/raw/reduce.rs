//! Closures of safe code as reductions.
//!
//! Invariant: no panic of the program's code crosses the engine, whether it comes from a closure or
//! from the destructor of what a closure owns. The first waits in the process's [`PanicSlot`] until
//! the engine is left; the panic hook has told of all.

use std::cell::{Cell, RefCell};
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use engine::memory::UserFunction;

use super::process::PanicSlot;
use super::{Datatype, Process};

/// A closure that combines two elements: lower ranks' first.
pub type Combine<T> = dyn Fn(T, T) -> T;

/// The engine's form of a closure.
pub fn user_op<T: Datatype>(combine: Rc<Combine<T>>, commutative: bool, process: &Process) -> engine::Op {
    let panic = process.panic.clone();
    let function =
        Rc::new(Elementwise { combine: RefCell::new(Some(combine)), failed: Cell::new(false), panic });
    process.lease(&function);
    engine::Op::user(function, commutative)
}

/// Something of the program's that the engine may hold longer than it is used.
pub trait Lease {
    /// Lets go of it: it will not be used any more. Does not unwind.
    fn end(&self);
}

impl<T> Lease for Elementwise<T> {
    fn end(&self) {
        let combine = self.combine.take();
        let _ = guarded(&self.panic, || drop(combine));
    }
}

struct Elementwise<T> {
    /// Gone when the lease has ended.
    combine: RefCell<Option<Rc<Combine<T>>>>,
    /// The closure has panicked.
    failed: Cell<bool>,
    panic: Rc<PanicSlot>,
}

impl<T> Drop for Elementwise<T> {
    /// The engine drops this in the midst of its own work.
    fn drop(&mut self) {
        self.end();
    }
}

/// Runs code of the program's that must not unwind into the caller; false if it panics. That goes
/// on later, if it is the first.
fn guarded(panic: &PanicSlot, run: impl FnOnce()) -> bool {
    let Err(payload) = catch_unwind(AssertUnwindSafe(run)) else { return true };
    let mut first = panic.borrow_mut();
    if first.is_none() {
        *first = Some(payload);
    } else {
        // The destructor of a payload is code of the program's, too.
        mem::forget(payload);
    }
    false
}

impl<T: Datatype> UserFunction for Elementwise<T> {
    unsafe fn apply(&self, input: *const u8, inout: *mut u8, count: u64, _: &engine::Datatype) {
        // A panic must not cross the engine, which is in the middle of a collective that others take part in. It goes on
        // when the collective is over; until then results do not matter.
        if self.failed.get() {
            return;
        }
        let Some(combine) = self.combine.borrow().clone() else { return };
        let (input, inout) = (input.cast::<T>(), inout.cast::<T>());
        // This share of the closure may be the last when the closure returns.
        let combined = guarded(&self.panic, move || {
            for index in 0..count as usize {
                // SAFETY: the engine's promise: `count` elements each, readable and writable, not overlapping. Any data
                // is a value, whatever is in the gaps; the engine promises no more than an alignment of 16.
                unsafe {
                    let (low, high) = (input.add(index).read_unaligned(), inout.add(index));
                    high.write_unaligned(combine(low, high.read_unaligned()));
                }
            }
        });
        self.failed.set(!combined);
    }
}

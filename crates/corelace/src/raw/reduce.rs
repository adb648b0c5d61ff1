//! Closures of safe code as reductions.

use std::cell::RefCell;
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
    let function = Rc::new(Elementwise { combine: RefCell::new(Some(combine)), panic });
    process.lease(&function);
    engine::Op::user(function, commutative)
}

/// Something of the program's that the engine may hold longer than it is used.
pub trait Lease {
    /// Lets go of it: it will not be used any more.
    fn end(&self);
}

impl<T> Lease for Elementwise<T> {
    fn end(&self) {
        drop(self.combine.take());
    }
}

struct Elementwise<T> {
    /// Gone when the lease has ended.
    combine: RefCell<Option<Rc<Combine<T>>>>,
    panic: Rc<PanicSlot>,
}

impl<T: Datatype> UserFunction for Elementwise<T> {
    unsafe fn apply(&self, input: *const u8, inout: *mut u8, count: u64, _: &engine::Datatype) {
        // A panic must not cross the engine, which is in the middle of a collective that others take part in. It goes on
        // when the collective is over; until then results do not matter.
        if self.panic.borrow().is_some() {
            return;
        }
        let Some(combine) = self.combine.borrow().clone() else { return };
        let (input, inout) = (input.cast::<T>(), inout.cast::<T>());
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            for index in 0..count as usize {
                // SAFETY: the engine's promise: `count` elements each, readable and writable, not overlapping. Any data
                // is a value, whatever is in the gaps; the engine promises no more than an alignment of 16.
                unsafe {
                    let (low, high) = (input.add(index).read_unaligned(), inout.add(index));
                    high.write_unaligned(combine(low, high.read_unaligned()));
                }
            }
        }));
        if let Err(payload) = outcome {
            self.panic.borrow_mut().get_or_insert(payload);
        }
    }
}

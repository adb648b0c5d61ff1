//! Closures of safe code as reductions.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use engine::memory::UserFunction;

use super::Datatype;
use super::process::PanicSlot;

/// A closure that combines two elements: lower ranks' first.
pub type Combine<T> = dyn Fn(T, T) -> T;

/// The engine's form of a closure.
pub fn user_op<T: Datatype>(combine: Rc<Combine<T>>, commutative: bool, panic: Rc<PanicSlot>) -> engine::Op {
    engine::Op::user(Rc::new(Elementwise { combine, panic }), commutative)
}

struct Elementwise<T> {
    combine: Rc<Combine<T>>,
    panic: Rc<PanicSlot>,
}

impl<T: Datatype> UserFunction for Elementwise<T> {
    unsafe fn apply(&self, input: *const u8, inout: *mut u8, count: u64, _: &engine::Datatype) {
        // A panic must not cross the engine, which is in the middle of a collective that others take part in. It goes on
        // when the collective is over; until then results do not matter.
        if self.panic.borrow().is_some() {
            return;
        }
        let (input, inout) = (input.cast::<T>(), inout.cast::<T>());
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            for index in 0..count as usize {
                // SAFETY: the engine's promise: `count` elements each, readable and writable, not overlapping. Any data
                // is a value, whatever is in the gaps; the engine promises no more than an alignment of 16.
                unsafe {
                    let (low, high) = (input.add(index).read_unaligned(), inout.add(index));
                    high.write_unaligned((self.combine)(low, high.read_unaligned()));
                }
            }
        }));
        if let Err(payload) = outcome {
            self.panic.borrow_mut().get_or_insert(payload);
        }
    }
}

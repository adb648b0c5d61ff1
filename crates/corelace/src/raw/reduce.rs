//! Closures of safe code as reductions.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use engine::datatype::{Datatype, Layout};
use engine::memory::UserFunction;

use super::plain::Plain;
use super::process::PanicSlot;

/// A closure that combines two elements: lower ranks' first.
pub type Combine<T> = dyn Fn(T, T) -> T;

/// The engine's form of a closure.
pub fn user_op<T: Plain>(combine: Rc<Combine<T>>, commutative: bool, panic: Rc<PanicSlot>) -> engine::Op {
    engine::Op::user(Rc::new(Elementwise { combine, panic }), commutative)
}

/// The engine's type for elements that only a closure can combine.
pub fn opaque<T: Plain>() -> Datatype {
    Datatype::derived(Layout::bytes(size_of::<T>() as u64), None)
}

struct Elementwise<T> {
    combine: Rc<Combine<T>>,
    panic: Rc<PanicSlot>,
}

impl<T: Plain> UserFunction for Elementwise<T> {
    unsafe fn apply(&self, input: *const u8, inout: *mut u8, count: u64, _: &Datatype) {
        // A panic must not cross the engine, which is in the middle of a collective that others take part in. It goes on
        // when the collective is over; until then results do not matter.
        if self.panic.borrow().is_some() {
            return;
        }
        let (input, inout) = (input.cast::<T>(), inout.cast::<T>());
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            for index in 0..count as usize {
                // SAFETY: the engine's promise: `count` elements each, readable and writable, not overlapping. They are
                // plain, so any bytes are a value; the engine promises no more than an alignment of 16.
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

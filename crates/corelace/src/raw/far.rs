//! The part of a rank whose memory this one does not address, or not without losing virtual time: on chips. What is done there goes through the engine.
//!
//! No code of Rust's touches the memory meanwhile but that of its owner, in a phase or under a lock that excludes this: the fabric moves the data, and ranks on a simulated chip are
//! fibers of one thread. So the engine's copies are no races here, as they could be between threads ([`cells`](super::cells)).

use std::ptr;

use engine::datatype::Basic;
use engine::{Aim, Builtin, Rank, RecvBuffer, SendBuffer};

use super::Datatype;
use super::datatype::zeroed;
use super::elements::{engine_count, recv_buffer, send_buffer};
use super::window::Window;
use crate::error::Result;

/// A member's part of a window, reached through the engine.
pub(super) struct Far<'e, T: Datatype> {
    pub window: &'e Window<'e, T>,
    pub member: u32,
}

impl<T: Datatype> Far<'_, T> {
    pub fn store(&self, at: usize, from: &[T]) -> Result<()> {
        let process = self.window.process;
        // SAFETY: borrowed until the call returns, and the put is complete then.
        let buffer = unsafe { send_buffer(process, from) };
        let aim = self.aim(at, engine_count::<T>(from.len()), process.bytes());
        process.call(|rank| rank.put(&self.window.inner, &buffer, &aim))
    }

    pub fn load(&self, at: usize, into: &mut [T]) -> Result<()> {
        let process = self.window.process;
        let count = engine_count::<T>(into.len());
        // SAFETY: as above; any bytes are a value.
        let buffer = unsafe { recv_buffer(process, into) };
        let aim = self.aim(at, count, process.bytes());
        process.call(|rank| rank.get(&self.window.inner, &buffer, &aim))
    }

    pub fn swap(&self, at: usize, desired: T) -> Result<T> {
        self.fetch(at, desired, Builtin::Replace)
    }

    pub fn add(&self, at: usize, amount: T) -> Result<T> {
        self.fetch(at, amount, Builtin::Sum)
    }

    pub fn compare_and_swap(&self, at: usize, expected: T, desired: T) -> Result<T> {
        self.change(at, desired, |rank, desired, found, aim| {
            // SAFETY: as for `desired`, in `change`.
            let expected = unsafe { SendBuffer::new(ptr::from_ref(&expected).cast(), 1, aim.datatype) };
            rank.compare_and_swap(&self.window.inner, desired, &expected, found, aim)
        })
    }

    fn fetch(&self, at: usize, operand: T, op: Builtin) -> Result<T> {
        self.change(at, operand, |rank, operand, found, aim| {
            rank.fetch_and_op(&self.window.inner, Some(operand), found, aim, op)
        })
    }

    /// Changes an element that is one word, as an unsigned number: so all changes of an element are of one type, which is what the engine keeps apart from each other.
    fn change(
        &self,
        at: usize,
        operand: T,
        act: impl FnOnce(&Rank, &SendBuffer, &RecvBuffer, &Aim<'_>) -> engine::Result<()>,
    ) -> Result<T> {
        let datatype = engine::Datatype::basic(match size_of::<T>() {
            8 => Basic::U64,
            4 => Basic::U32,
            2 => Basic::U16,
            _ => Basic::U8,
        });
        let mut found = zeroed::<T>();
        // SAFETY: both live until the call returns, and the operation is complete then. An element of this many bytes, all of which are data.
        let (send, recv) = unsafe {
            (
                SendBuffer::new(ptr::from_ref(&operand).cast(), 1, &datatype),
                RecvBuffer::new(ptr::from_mut(&mut found).cast(), 1, &datatype),
            )
        };
        let aim = self.aim(at, 1, &datatype);
        self.window.process.call(|rank| act(rank, &send, &recv, &aim))?;
        Ok(found)
    }

    fn aim<'a>(&self, at: usize, count: u64, datatype: &'a engine::Datatype) -> Aim<'a> {
        // Inside of a part, which is memory: it is a number.
        Aim { target: self.member, displacement: at as i64, count, datatype }
    }
}

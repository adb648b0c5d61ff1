//! Buffers for the time of a call, which count no reference: what goes on after the call clones them, and counts then.

use core::marker::PhantomData;
use core::mem::ManuallyDrop;
use core::ops::Deref;
use core::ptr;

use crate::values::datatype::Datatype;
use crate::values::memory::{RecvBuffer, SendBuffer, bytes_of};

/// A buffer whose datatype belongs to somebody else, who keeps it for as long.
pub struct Lent<'a, B> {
    /// Invariant: never dropped, since the reference in it is not counted.
    buffer: ManuallyDrop<B>,
    datatype: PhantomData<&'a Datatype>,
}

impl<B> Deref for Lent<'_, B> {
    type Target = B;

    #[inline(always)]
    fn deref(&self) -> &B {
        &self.buffer
    }
}

impl<'a> Lent<'a, SendBuffer> {
    /// As [`SendBuffer::new`].
    ///
    /// # Safety
    /// As there.
    #[inline(always)]
    pub unsafe fn to_send(base: *const u8, count: u64, datatype: &'a Datatype) -> Self {
        let bytes = bytes_of(count, datatype);
        // SAFETY: a second owner that never acts as one: it is not dropped, and is gone before the first one is.
        let datatype = unsafe { ptr::read(datatype) };
        let buffer = SendBuffer { base, count, bytes, datatype, _owner: None };
        Lent { buffer: ManuallyDrop::new(buffer), datatype: PhantomData }
    }
}

impl<'a> Lent<'a, RecvBuffer> {
    /// As [`RecvBuffer::new`].
    ///
    /// # Safety
    /// As there.
    #[inline(always)]
    pub unsafe fn to_receive(base: *mut u8, count: u64, datatype: &'a Datatype) -> Self {
        let bytes = bytes_of(count, datatype);
        // SAFETY: as in `to_send`.
        let datatype = unsafe { ptr::read(datatype) };
        let buffer = RecvBuffer { base, count, bytes, datatype };
        Lent { buffer: ManuallyDrop::new(buffer), datatype: PhantomData }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::datatype::Basic;

    #[test]
    fn what_is_cloned_from_a_lent_buffer_outlives_the_datatype_that_it_was_lent() {
        let numbers = [1u16, 2, 3, 4];
        let datatype = Datatype::strided(2, 1, 4, &Datatype::basic(Basic::U16)).expect("a small vector");
        let kept = {
            // SAFETY: elements of the array.
            let lent = unsafe { Lent::to_send(numbers.as_ptr().cast(), 1, &datatype) };
            SendBuffer::clone(&lent)
        };
        drop(datatype);
        let mut packed = [0; 4];
        kept.pack(0, &mut packed);
        assert_eq!(packed, [1, 0, 3, 0]);
    }
}

//! Elements as the engine takes them: where they lie, how many there are, and of which type.
//!
//! Types without gaps are bytes to the engine, of one type that every process has at hand: describing them is a few moves. Types with
//! gaps are known to a process from their first use on.

use std::marker::PhantomData;
use std::ptr;

use engine::{RecvBuffer, SendBuffer};

use super::{Datatype, Process};

/// What can be sent from: a value, a slice, or a [view](crate::View).
pub trait Buffer: private::Outgoing {}

/// What can be received into: a value, a slice, or a [mutable view](crate::ViewMut).
pub trait BufferMut: Buffer + private::Incoming {}

impl<B: private::Outgoing + ?Sized> Buffer for B {}
impl<B: private::Incoming + private::Outgoing + ?Sized> BufferMut for B {}

pub(super) mod private {
    use super::{Process, RecvBuffer, SendBuffer};

    pub trait Outgoing {
        /// Describes the elements. By a pointer, because of a persistent operation the engine keeps the description, while references come and
        /// go.
        ///
        /// # Safety
        /// They are valid, and stay borrowed until the operation that the buffer is given to is complete.
        unsafe fn outgoing(this: *const Self, process: &Process) -> SendBuffer;
    }

    pub trait Incoming {
        /// Describes the elements.
        ///
        /// # Safety
        /// They are valid, and stay borrowed, and unused, until the operation that the buffer is given to is complete.
        unsafe fn incoming(this: *mut Self, process: &Process) -> RecvBuffer;
    }
}

impl<T: Datatype> private::Outgoing for T {
    #[inline]
    unsafe fn outgoing(this: *const T, process: &Process) -> SendBuffer {
        // SAFETY: the caller's promise.
        unsafe { send_buffer(process, ptr::slice_from_raw_parts(this, 1)) }
    }
}

impl<T: Datatype> private::Outgoing for [T] {
    #[inline]
    unsafe fn outgoing(this: *const [T], process: &Process) -> SendBuffer {
        // SAFETY: the caller's promise.
        unsafe { send_buffer(process, this) }
    }
}

impl<T: Datatype> private::Incoming for T {
    #[inline]
    unsafe fn incoming(this: *mut T, process: &Process) -> RecvBuffer {
        // SAFETY: the caller's promise.
        unsafe { recv_buffer(process, ptr::slice_from_raw_parts_mut(this, 1)) }
    }
}

impl<T: Datatype> private::Incoming for [T] {
    #[inline]
    unsafe fn incoming(this: *mut [T], process: &Process) -> RecvBuffer {
        // SAFETY: the caller's promise.
        unsafe { recv_buffer(process, this) }
    }
}

/// Something borrowed, as a pointer: safe code can make it of a reference, and do nothing with it.
pub struct Shared<'b, B: ?Sized>(pub(super) *const B, PhantomData<&'b B>);

/// Something borrowed exclusively, as a pointer: while the engine writes there, no reference may claim the memory.
pub struct Exclusive<'b, B: ?Sized>(pub(super) *mut B, PhantomData<&'b mut B>);

impl<'b, B: ?Sized> From<&'b B> for Shared<'b, B> {
    fn from(borrow: &'b B) -> Self {
        Shared(borrow, PhantomData)
    }
}

impl<'b, B: ?Sized> From<&'b mut B> for Exclusive<'b, B> {
    fn from(borrow: &'b mut B) -> Self {
        Exclusive(borrow, PhantomData)
    }
}

impl<B: ?Sized> Shared<'_, B> {
    /// # Safety
    /// As a shared reference for the lifetime.
    pub(super) unsafe fn of(pointer: *const B) -> Self {
        Shared(pointer, PhantomData)
    }
}

impl<B: ?Sized> Exclusive<'_, B> {
    /// # Safety
    /// As an exclusive reference for the lifetime, as far as the engine uses it.
    pub(super) unsafe fn of(pointer: *mut B) -> Self {
        Exclusive(pointer, PhantomData)
    }
}

impl<T> Shared<'_, [T]> {
    /// Elements.
    pub fn len(&self) -> usize {
        self.0.len()
    }
}

impl<T> Exclusive<'_, [T]> {
    /// Elements.
    pub fn len(&self) -> usize {
        self.0.len()
    }
}

/// How many of the engine's elements `items` elements are.
#[inline]
pub fn engine_count<T: Datatype>(items: usize) -> u64 {
    // Of a slice: the product is at most `isize::MAX`.
    if const { T::SHAPE.is_dense() } { (items * size_of::<T>()) as u64 } else { items as u64 }
}

/// Runs something with the engine's type of the elements that [`engine_count`] counts.
#[inline]
pub fn with_type<T: Datatype, R>(process: &Process, run: impl FnOnce(&engine::Datatype) -> R) -> R {
    if const { T::SHAPE.is_dense() } { run(process.bytes()) } else { run(&process.gapped::<T>()) }
}

/// Describes borrowed elements to send.
///
/// # Safety
/// The elements are valid, and stay borrowed until the operation that the buffer is given to is complete.
#[inline]
pub unsafe fn send_buffer<T: Datatype>(process: &Process, items: *const [T]) -> SendBuffer {
    // SAFETY: a shared borrow keeps the elements readable and unchanged, for as long as the caller promises. By the contract of `Datatype`
    // the type names bytes of theirs that are initialised.
    with_type::<T, _>(process, |datatype| unsafe {
        SendBuffer::new(items.cast(), engine_count::<T>(items.len()), datatype)
    })
}

/// Describes borrowed elements to receive into.
///
/// # Safety
/// The elements are valid, and stay borrowed, and unused, until the operation that the buffer is given to is complete.
#[inline]
pub unsafe fn recv_buffer<T: Datatype>(process: &Process, items: *mut [T]) -> RecvBuffer {
    // SAFETY: an exclusive borrow keeps the elements writable and out of other hands, for as long as the caller promises. By the
    // contract of `Datatype` any bytes may be written where the type names some.
    with_type::<T, _>(process, |datatype| unsafe {
        RecvBuffer::new(items.cast(), engine_count::<T>(items.len()), datatype)
    })
}

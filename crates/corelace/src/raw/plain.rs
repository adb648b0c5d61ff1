//! Which types travel: plain data, and views of it as bytes.

use std::mem;

use crate::error::{Error, Result};

/// Types whose values are their bytes: they can be sent as they lie in memory, and any bytes that arrive are a value.
///
/// Implemented for the integers, the floating-point numbers and arrays; derive it for structs of them:
///
/// ```
/// use corelace::Plain;
///
/// #[repr(C)]
/// #[derive(Clone, Copy, Debug, PartialEq, Plain)]
/// struct Particle {
///     position: [f64; 3],
///     charge: f64,
///     id: u64,
/// }
///
/// corelace::run(2, |world| {
///     let particle = Particle { position: [1.0, 2.0, 3.0], charge: -1.0, id: 42 };
///     if world.rank() == 0 {
///         world.send(&particle, 1, 0).unwrap();
///     } else {
///         let (received, _) = world.recv::<Particle>(0, 0).unwrap();
///         assert_eq!(received, particle);
///     }
/// })?;
/// # Ok::<(), corelace::RunError>(())
/// ```
///
/// The derive checks at compile time what the trait needs. Padding is refused, because its bytes hold nothing that could
/// be sent:
///
/// ```compile_fail
/// # use corelace::Plain;
/// #[repr(C)]
/// #[derive(Clone, Copy, Plain)]
/// struct Padded {
///     flag: u8,
///     value: u64,
/// }
/// ```
///
/// So are fields that are not plain, a layout that is not fixed, and enums. `bool` and `char` are not plain because most
/// bytes that might arrive are none of their values, and pointers because they mean nothing elsewhere; send a `u8`, a `u32`
/// or an index, and convert.
///
/// ```compile_fail
/// # use corelace::Plain;
/// #[repr(C)]
/// #[derive(Clone, Copy, Plain)]
/// struct WithBool {
///     yes: bool,
/// }
/// ```
///
/// ```compile_fail
/// # use corelace::Plain;
/// #[derive(Clone, Copy, Plain)]
/// struct LayoutNotFixed {
///     a: u32,
///     b: u32,
/// }
/// ```
///
/// # Safety
///
/// A value has no padding and no interior mutability, every pattern of its bytes is a value, and its meaning does not depend
/// on where it lies. Deriving the trait proves this; an implementation by hand has to.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not plain data",
    label = "cannot travel in a message",
    note = "a vector is sent as a slice: `&vector[..]`",
    note = "derive `corelace::Plain` for `#[repr(C)]` structs of numbers; send a `bool` as `u8`, a `char` as `u32`"
)]
pub unsafe trait Plain: Copy + 'static {}

macro_rules! plain {
    ($($type:ty),*) => {
        $(
            // SAFETY: a number: no padding, and every pattern of bits is a value.
            unsafe impl Plain for $type {}
        )*
    };
}

plain!(i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, u128, usize, f32, f64);

// SAFETY: the elements lie one after the other, and arrays add no padding.
unsafe impl<T: Plain, const N: usize> Plain for [T; N] {}

/// What can be sent or received into: one value of a [`Plain`] type, or a slice of them.
pub trait Data: private::Sealed {
    /// The type of the elements.
    type Item: Plain;
    /// The same, owned: a value for a value, a vector for a slice.
    type Owned;

    /// The elements.
    fn items(&self) -> &[Self::Item];
    /// The elements, to be changed.
    fn items_mut(&mut self) -> &mut [Self::Item];
    /// A value of the same shape with all bytes zero.
    fn zeroed(&self) -> Self::Owned;
    /// The elements of an owned value.
    fn owned_items(owned: &mut Self::Owned) -> &mut [Self::Item];
}

mod private {
    pub trait Sealed {}
    impl<T: super::Plain> Sealed for T {}
    impl<T: super::Plain> Sealed for [T] {}
}

impl<T: Plain> Data for T {
    type Item = T;
    type Owned = T;

    fn items(&self) -> &[T] {
        std::slice::from_ref(self)
    }

    fn items_mut(&mut self) -> &mut [T] {
        std::slice::from_mut(self)
    }

    fn zeroed(&self) -> T {
        zeroed()
    }

    fn owned_items(owned: &mut T) -> &mut [T] {
        std::slice::from_mut(owned)
    }
}

impl<T: Plain> Data for [T] {
    type Item = T;
    type Owned = Vec<T>;

    fn items(&self) -> &[T] {
        self
    }

    fn items_mut(&mut self) -> &mut [T] {
        self
    }

    fn zeroed(&self) -> Vec<T> {
        zeroed_vec(self.len())
    }

    fn owned_items(owned: &mut Vec<T>) -> &mut [T] {
        owned
    }
}

/// A value of zeros.
pub fn zeroed<T: Plain>() -> T {
    // SAFETY: every pattern of bytes is a value of a plain type.
    unsafe { mem::zeroed() }
}

/// A vector of zeros.
pub fn zeroed_vec<T: Plain>(len: usize) -> Vec<T> {
    vec![zeroed(); len]
}

/// A vector of zeros whose length another rank has told; an error if there is no memory for it.
pub fn zeroed_vec_of<T: Plain>(len: usize) -> Result<Vec<T>> {
    // Zeroed memory of the system costs nothing until it is used, but to ask for it fails by ending the program: so it is asked for in
    // vain first, where it might.
    if len.saturating_mul(size_of::<T>()) > SURELY_THERE && Vec::<T>::new().try_reserve_exact(len).is_err() {
        let size = size_of::<T>();
        return Err(Error::length(format!(
            "another rank tells of {len} elements of {size} bytes, for which there is no memory"
        )));
    }
    Ok(zeroed_vec(len))
}

/// Bytes that are asked for without asking whether they are there.
const SURELY_THERE: usize = 1 << 20;

/// The bytes of plain data.
pub fn bytes<T: Plain>(items: &[T]) -> &[u8] {
    // SAFETY: plain data has no padding, so all of its bytes are initialised; the lifetime and the length are the slice's.
    unsafe { std::slice::from_raw_parts(items.as_ptr().cast(), mem::size_of_val(items)) }
}

/// The bytes of plain data, to be overwritten.
pub fn bytes_mut<T: Plain>(items: &mut [T]) -> &mut [u8] {
    // SAFETY: as in `bytes`; whatever is written, every pattern of bytes is a value.
    unsafe { std::slice::from_raw_parts_mut(items.as_mut_ptr().cast(), mem::size_of_val(items)) }
}

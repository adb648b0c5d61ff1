//! Which types travel: data whose bytes are known, field by field.

use std::marker::PhantomData;
use std::mem;
use std::num::Wrapping;
use std::ptr;

use engine::datatype::{Layout, Member};

use super::elements::BufferMut;
use crate::error::{Error, Result};

/// Types that travel in messages: every byte of their fields is data, and any data that arrives is a value.
///
/// Implemented for the integers, the floating-point numbers and arrays; derive it for `#[repr(C)]` structs of them, which may be nested,
/// generic, and have padding:
///
/// ```
/// use corelace::Datatype;
///
/// #[repr(C)]
/// #[derive(Clone, Copy, Debug, PartialEq, Datatype)]
/// struct Particle<T> {
///     kind: u8,
///     // Seven bytes of padding are here. They are neither read nor sent.
///     position: [f64; 3],
///     extra: T,
/// }
///
/// corelace::run(2, |world| {
///     let particle = Particle { kind: 7, position: [1.0, 2.0, 3.0], extra: 42u16 };
///     if world.rank() == 0 {
///         world.send(&particle, 1, 0).unwrap();
///     } else {
///         let (received, status) = world.recv::<Particle<u16>>(0, 0).unwrap();
///         assert_eq!(received, particle);
///         assert_eq!(status.bytes(), 1 + 24 + 2);
///     }
/// })?;
/// # Ok::<(), corelace::RunError>(())
/// ```
///
/// The derive makes what MPI calls a structure type (MPI_Type_create_struct, section 5.1.2): the fields travel, the gaps between
/// them do not, and the gaps of the receiver stay as they are. A struct without gaps travels as its bytes, at no cost.
///
/// Fields whose types have fewer values than their bytes have patterns are refused, because other ranks may send any bytes. `bool` and
/// `char` are such types, enums, and references; pointers mean nothing elsewhere. Send a `u8`, a `u32` or an index, and convert.
///
/// ```compile_fail,E0277
/// # use corelace::Datatype;
/// #[repr(C)]
/// #[derive(Clone, Copy, Datatype)]
/// struct WithBool {
///     yes: bool,
/// }
/// ```
///
/// ```compile_fail,E0277
/// # use corelace::Datatype;
/// #[repr(C)]
/// #[derive(Clone, Copy, Datatype)]
/// struct WithChar([char; 4]);
/// ```
///
/// ```compile_fail,E0277
/// # use corelace::Datatype;
/// #[repr(C)]
/// #[derive(Clone, Copy, Datatype)]
/// struct WithReference {
///     there: &'static u64,
/// }
/// ```
///
/// ```compile_fail,E0277
/// # use corelace::Datatype;
/// #[repr(C)]
/// #[derive(Clone, Copy, Datatype)]
/// struct Generic<T>(T);
/// corelace::run(1, |world| world.send(&Generic(true), 0, 0));
/// ```
///
/// So are enums, unions, and layouts that the compiler may choose:
///
/// ```compile_fail
/// # use corelace::Datatype;
/// #[repr(u8)]
/// #[derive(Clone, Copy, Datatype)]
/// enum Color {
///     Red,
///     Blue,
/// }
/// ```
///
/// ```compile_fail
/// # use corelace::Datatype;
/// #[repr(C)]
/// #[derive(Clone, Copy, Datatype)]
/// union Either {
///     a: u32,
///     b: u8,
/// }
/// ```
///
/// ```compile_fail
/// # use corelace::Datatype;
/// #[derive(Clone, Copy, Datatype)]
/// struct LayoutNotFixed {
///     a: u32,
///     b: u32,
/// }
/// ```
///
/// # Safety
///
/// [`SHAPE`](Datatype::SHAPE) names bytes inside of a value, in the order of memory and none twice. They are initialised in every value; whatever
/// they are replaced by, the value stays one; and its meaning does not depend on where it lies. Deriving the trait proves this; an
/// implementation by hand has to.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot travel in a message",
    label = "not every pattern of its bytes is known to be a value",
    note = "a vector is sent as a slice: `&vector[..]`",
    note = "derive `corelace::Datatype` for `#[repr(C)]` structs of numbers; send a `bool` as `u8`, a `char` as `u32`"
)]
pub unsafe trait Datatype: Copy + 'static {
    /// Which of its bytes are data.
    const SHAPE: &'static Shape;
}

/// Which bytes of a type are data; made by `#[derive(Datatype)]`.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    kind: Kind,
    /// From one element to the next.
    size: usize,
    /// Bytes of data.
    data: usize,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Whole,
    Array(&'static Shape, usize),
    Fields(&'static [(usize, &'static Shape)]),
}

impl Shape {
    /// All of these many bytes.
    const fn whole(size: usize) -> Shape {
        Shape { kind: Kind::Whole, size, data: size }
    }

    /// Elements one after the other.
    const fn array(element: &'static Shape, count: usize) -> Shape {
        Shape { kind: Kind::Array(element, count), size: element.size * count, data: element.data * count }
    }

    /// Fields at these offsets in a struct of this size.
    #[doc(hidden)]
    pub const fn fields(fields: &'static [(usize, &'static Shape)], size: usize) -> Shape {
        let (mut data, mut index) = (0, 0);
        while index < fields.len() {
            data += fields[index].1.data;
            index += 1;
        }
        Shape { kind: Kind::Fields(fields), size, data }
    }

    /// Bytes that travel of one element (MPI_Type_size).
    pub const fn bytes(&self) -> usize {
        self.data
    }

    /// True if there are no gaps.
    pub const fn is_dense(&self) -> bool {
        self.data == self.size
    }

    /// As the engine knows it.
    pub(super) fn lower(&self) -> engine::Datatype {
        let lowered = match self.kind {
            _ if self.is_dense() => Some(dense(self.size)),
            Kind::Whole => Some(dense(self.size)),
            Kind::Array(element, count) => engine::Datatype::contiguous(count as u64, &element.lower()),
            Kind::Fields(fields) => {
                let types: Vec<engine::Datatype> = fields.iter().map(|(_, shape)| shape.lower()).collect();
                let members = fields.iter().zip(&types).filter(|((_, shape), _)| shape.data > 0);
                let members = members.map(|((at, _), of)| Member { at: *at as i64, copies: 1, of });
                engine::Datatype::structure(&members.collect::<Vec<_>>())
            }
        };
        // Of a value, which fits into memory: no number can be too large.
        let lowered = lowered.and_then(|lowered| lowered.resized(0, self.size as i64));
        lowered.expect("the layout of a type has numbers that fit")
    }
}

/// Bytes without a gap.
fn dense(bytes: usize) -> engine::Datatype {
    engine::Datatype::derived(Layout::bytes(bytes as u64), None)
}

macro_rules! numbers {
    ($($type:ty),*) => {
        $(
            // SAFETY: a number: no padding, and every pattern of bits is a value.
            unsafe impl Datatype for $type {
                const SHAPE: &'static Shape = &Shape::whole(size_of::<$type>());
            }
        )*
    };
}

numbers!(i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, u128, usize, f32, f64);

// SAFETY: the elements lie one after the other, and arrays add no padding.
unsafe impl<T: Datatype, const N: usize> Datatype for [T; N] {
    const SHAPE: &'static Shape = &Shape::array(T::SHAPE, N);
}

// SAFETY: `repr(transparent)` around its one field, and any number can be wrapped.
unsafe impl<T: Datatype> Datatype for Wrapping<T> {
    const SHAPE: &'static Shape = T::SHAPE;
}

// SAFETY: it has no bytes, and anybody can make one.
unsafe impl<T: 'static> Datatype for PhantomData<T> {
    const SHAPE: &'static Shape = &Shape::whole(0);
}

/// What can be sent or received into: one value of a [`Datatype`], or a slice of them.
pub trait Data: BufferMut + private::Sealed {
    /// The type of the elements.
    type Item: Datatype;
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
    /// Where the elements are.
    #[doc(hidden)]
    fn place(this: *mut Self) -> *mut [Self::Item];
}

mod private {
    pub trait Sealed {}
    impl<T: super::Datatype> Sealed for T {}
    impl<T: super::Datatype> Sealed for [T] {}
}

impl<T: Datatype> Data for T {
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

    fn place(this: *mut T) -> *mut [T] {
        ptr::slice_from_raw_parts_mut(this, 1)
    }
}

impl<T: Datatype> Data for [T] {
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

    fn place(this: *mut [T]) -> *mut [T] {
        this
    }
}

/// A value of zeros.
pub fn zeroed<T: Datatype>() -> T {
    // SAFETY: any bytes are a value, where they are data; the others are nothing.
    unsafe { mem::zeroed() }
}

/// A vector of zeros.
pub fn zeroed_vec<T: Datatype>(len: usize) -> Vec<T> {
    vec![zeroed(); len]
}

/// A vector of zeros whose length another rank has told; an error if there is no memory for it.
pub fn zeroed_vec_of<T: Datatype>(len: usize) -> Result<Vec<T>> {
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

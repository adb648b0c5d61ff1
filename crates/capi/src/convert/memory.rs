//! Memory of the caller: outputs, arrays and strings.
//!
//! Everything is made by an `unsafe fn` of [`Call`] under the contract in the module above; the values can then be used
//! safely, during the call.

use core::ffi::{CStr, c_char, c_int};
use std::cell::Cell;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::{ptr, slice};

use crate::abi::constants::*;
use crate::call::Call;
use crate::errors::{Fault, Outcome};

/// Where a result goes. Written, never read: it may be uninitialised.
#[derive(Clone, Copy)]
pub(crate) struct Out<'a, T>(&'a Cell<MaybeUninit<T>>);

impl<T> Out<'_, T> {
    #[inline]
    pub(crate) fn set(&self, value: T) {
        self.0.set(MaybeUninit::new(value));
    }
}

/// Where an array of results goes.
#[derive(Clone, Copy)]
pub(crate) struct Outs<'a, T>(&'a [Cell<MaybeUninit<T>>]);

impl<T> Outs<'_, T> {
    /// Stores one of the results; those beyond the array are dropped, as MPI asks for arrays that are too short.
    pub(crate) fn set(&self, index: usize, value: T) {
        if let Some(cell) = self.0.get(index) {
            cell.set(MaybeUninit::new(value));
        }
    }
}

/// Where a number goes whose width depends on the form of the function.
#[derive(Clone, Copy)]
pub(crate) enum OutNumber<'a> {
    Small(Out<'a, c_int>),
    Large(Out<'a, i64>),
}

impl OutNumber<'_> {
    /// A value that an `int` cannot hold becomes MPI_UNDEFINED.
    #[inline]
    pub(crate) fn set(&self, value: i64) {
        match self {
            Self::Small(out) => out.set(c_int::try_from(value).unwrap_or(MPI_UNDEFINED)),
            Self::Large(out) => out.set(value),
        }
    }
}

/// A number that is read and changed.
#[derive(Clone, Copy)]
pub(crate) enum NumberCell<'a> {
    Small(&'a Cell<c_int>),
    Large(&'a Cell<i64>),
}

impl NumberCell<'_> {
    pub(crate) fn get(&self) -> i64 {
        match self {
            Self::Small(cell) => i64::from(cell.get()),
            Self::Large(cell) => cell.get(),
        }
    }

    /// Fails if an `int` cannot hold the value.
    pub(crate) fn set(&self, name: &str, value: i64) -> Outcome {
        match self {
            Self::Small(cell) => match c_int::try_from(value) {
                Ok(value) => cell.set(value),
                Err(_) => {
                    let text =
                        format_args!("{name} becomes {value}, which an int cannot hold; use the _c form");
                    return Err(Fault::new(MPI_ERR_VALUE_TOO_LARGE, text));
                }
            },
            Self::Large(cell) => cell.set(value),
        }
        Ok(())
    }
}

/// An array of counts or displacements, in the width of the function's form.
#[derive(Clone, Copy)]
pub(crate) enum Numbers<'a> {
    Small(&'a [c_int]),
    Large(&'a [i64]),
}

impl Default for Numbers<'_> {
    fn default() -> Self {
        Self::Small(&[])
    }
}

impl<'a> Numbers<'a> {
    /// Addresses, which have the width of large counts.
    pub(crate) fn of_addresses(addresses: &'a [isize]) -> Numbers<'a> {
        const { assert!(size_of::<isize>() == size_of::<i64>()) };
        // SAFETY: integers of one size, of which every value is valid.
        Self::Large(unsafe { slice::from_raw_parts(addresses.as_ptr().cast(), addresses.len()) })
    }

    #[inline]
    pub(crate) fn get(&self, index: usize) -> i64 {
        match self {
            Self::Small(values) => i64::from(values[index]),
            Self::Large(values) => values[index],
        }
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Small(values) => values.len(),
            Self::Large(values) => values.len(),
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = i64> + '_ {
        (0..self.len()).map(|index| self.get(index))
    }
}

/// Where a string goes: room for `capacity` bytes, the final zero included.
#[derive(Clone, Copy)]
pub(crate) struct OutString<'a> {
    address: *mut c_char,
    capacity: usize,
    call: PhantomData<&'a Cell<c_char>>,
}

impl OutString<'_> {
    /// Stores as much as fits, ends it with a zero, and returns the length without it.
    pub(crate) fn set(&self, text: &str) -> c_int {
        let mut length = text.len().min(self.capacity - 1);
        while !text.is_char_boundary(length) {
            length -= 1;
        }
        // SAFETY: the contract of the module above: `capacity` bytes are writable, and `length` is less than that.
        unsafe {
            ptr::copy_nonoverlapping(text.as_ptr(), self.address.cast(), length);
            self.address.add(length).write(0);
        }
        length as c_int
    }
}

/// Where a string of the tools interface goes, and its length (MPI section 15.3.3): either may be missing.
#[derive(Clone, Copy)]
pub(crate) struct OutText<'a> {
    address: *mut c_char,
    length: Option<&'a Cell<c_int>>,
}

impl OutText<'_> {
    /// Stores as much as there is room for, and the length of that with its final zero; where there is no room, the length of it all.
    pub(crate) fn set(&self, text: &str) {
        let Some(length) = self.length else { return };
        let room = usize::try_from(length.get()).unwrap_or(0);
        let stored = if self.address.is_null() || room == 0 {
            text.len() as c_int
        } else {
            OutString { address: self.address, capacity: room, call: PhantomData }.set(text)
        };
        length.set(stored + 1);
    }
}

/// An integer type of C that counts come in.
pub(crate) trait Number: Copy {
    /// Whether it is an `int`; the others have 64 bits.
    const SMALL: bool;
}

impl Number for c_int {
    const SMALL: bool = true;
}

impl Number for i64 {
    const SMALL: bool = false;
}

impl Number for isize {
    const SMALL: bool = false;
}

/// All of these rest on the contract of the module above.
impl Call {
    /// # Safety
    /// See the module.
    #[inline]
    pub(crate) unsafe fn out<'a, T>(&self, name: &'static str, address: *mut T) -> Outcome<Out<'a, T>> {
        // SAFETY: the contract; `Cell<MaybeUninit<T>>` has the layout of `T` and no validity of its own.
        unsafe { address.cast::<Cell<MaybeUninit<T>>>().as_ref() }.map(Out).ok_or_else(|| Fault::null(name))
    }

    /// # Safety
    /// See the module.
    #[inline]
    pub(crate) unsafe fn cell<'a, T>(&self, name: &'static str, address: *mut T) -> Outcome<&'a Cell<T>> {
        // SAFETY: the contract; `Cell<T>` has the layout of `T`.
        unsafe { address.cast::<Cell<T>>().as_ref() }.ok_or_else(|| Fault::null(name))
    }

    /// What need not be there.
    ///
    /// # Safety
    /// See the module.
    #[inline]
    pub(crate) unsafe fn out_or_null<'a, T>(&self, address: *mut T) -> Option<Out<'a, T>> {
        // SAFETY: the contract; `Cell<MaybeUninit<T>>` has the layout of `T` and no validity of its own.
        unsafe { address.cast::<Cell<MaybeUninit<T>>>().as_ref() }.map(Out)
    }

    /// # Safety
    /// See the module.
    #[inline]
    pub(crate) unsafe fn cell_or_null<'a, T>(&self, address: *mut T) -> Option<&'a Cell<T>> {
        // SAFETY: the contract; `Cell<T>` has the layout of `T`.
        unsafe { address.cast::<Cell<T>>().as_ref() }
    }

    /// # Safety
    /// See the module.
    #[inline]
    pub(crate) unsafe fn out_text<'a>(&self, address: *mut c_char, length: *mut c_int) -> OutText<'a> {
        // SAFETY: the contract: where both are there, so many bytes are writable.
        OutText { address, length: unsafe { self.cell_or_null(length) } }
    }

    /// # Safety
    /// See the module.
    #[inline]
    pub(crate) unsafe fn input<'a, T>(&self, name: &'static str, address: *const T) -> Outcome<&'a T> {
        // SAFETY: the contract.
        unsafe { address.as_ref() }.ok_or_else(|| Fault::null(name))
    }

    /// # Safety
    /// See the module.
    #[inline]
    pub(crate) unsafe fn slice<'a, T>(
        &self,
        name: &'static str,
        address: *const T,
        length: usize,
    ) -> Outcome<&'a [T]> {
        match (address.is_null(), length) {
            (_, 0) => Ok(&[]),
            (true, _) => Err(Fault::null(name)),
            // SAFETY: the contract.
            (false, _) => Ok(unsafe { slice::from_raw_parts(address, length) }),
        }
    }

    /// # Safety
    /// See the module.
    #[inline]
    pub(crate) unsafe fn cells<'a, T>(
        &self,
        name: &'static str,
        address: *mut T,
        length: usize,
    ) -> Outcome<&'a [Cell<T>]> {
        // SAFETY: the contract; `Cell<T>` has the layout of `T`.
        unsafe { self.slice(name, address.cast::<Cell<T>>(), length) }
    }

    /// # Safety
    /// See the module.
    #[inline]
    pub(crate) unsafe fn outs<'a, T>(
        &self,
        name: &'static str,
        address: *mut T,
        length: usize,
    ) -> Outcome<Outs<'a, T>> {
        // SAFETY: the contract; `Cell<MaybeUninit<T>>` has the layout of `T` and no validity of its own.
        unsafe { self.slice(name, address.cast::<Cell<MaybeUninit<T>>>(), length) }.map(Outs)
    }

    /// # Safety
    /// See the module.
    #[inline]
    pub(crate) unsafe fn out_number<'a, T: Number>(
        &self,
        name: &'static str,
        address: *mut T,
    ) -> Outcome<OutNumber<'a>> {
        // SAFETY: the contract, and `T` has the width that the cast says.
        unsafe {
            if T::SMALL {
                self.out(name, address.cast()).map(OutNumber::Small)
            } else {
                self.out(name, address.cast()).map(OutNumber::Large)
            }
        }
    }

    /// # Safety
    /// See the module.
    #[inline]
    pub(crate) unsafe fn number_cell<'a, T: Number>(
        &self,
        name: &'static str,
        address: *mut T,
    ) -> Outcome<NumberCell<'a>> {
        // SAFETY: the contract, and `T` has the width that the cast says.
        unsafe {
            if T::SMALL {
                self.cell(name, address.cast()).map(NumberCell::Small)
            } else {
                self.cell(name, address.cast()).map(NumberCell::Large)
            }
        }
    }

    /// An array of numbers of any sign.
    ///
    /// # Safety
    /// See the module.
    #[inline]
    pub(crate) unsafe fn numbers<'a, T: Number>(
        &self,
        name: &'static str,
        address: *const T,
        length: usize,
    ) -> Outcome<Numbers<'a>> {
        // SAFETY: the contract, and `T` has the width that the cast says.
        unsafe {
            if T::SMALL {
                self.slice(name, address.cast(), length).map(Numbers::Small)
            } else {
                self.slice(name, address.cast(), length).map(Numbers::Large)
            }
        }
    }

    /// An array of counts, none negative.
    ///
    /// # Safety
    /// See the module.
    #[inline(never)]
    pub(crate) unsafe fn counts<'a, T: Number>(
        &self,
        name: &'static str,
        address: *const T,
        length: usize,
    ) -> Outcome<Numbers<'a>> {
        // SAFETY: the contract.
        let counts = unsafe { self.numbers(name, address, length) }?;
        match counts.iter().enumerate().find(|(_, count)| *count < 0) {
            None => Ok(counts),
            Some((index, count)) => {
                let text = format_args!("{name}[{index}] is {count}, expected zero or more");
                Err(Fault::new(MPI_ERR_COUNT, text))
            }
        }
    }

    /// A string that ends with a zero.
    ///
    /// # Safety
    /// See the module.
    #[inline(never)]
    pub(crate) unsafe fn string<'a>(&self, name: &'static str, address: *const c_char) -> Outcome<&'a CStr> {
        if address.is_null() {
            return Err(Fault::null(name));
        }
        // SAFETY: the contract: zero-terminated.
        Ok(unsafe { CStr::from_ptr(address) })
    }

    /// # Safety
    /// See the module.
    #[inline(never)]
    pub(crate) unsafe fn out_string<'a>(
        &self,
        name: &'static str,
        address: *mut c_char,
        capacity: usize,
    ) -> Outcome<OutString<'a>> {
        if address.is_null() {
            return Err(Fault::null(name));
        }
        Ok(OutString { address, capacity, call: PhantomData })
    }
}

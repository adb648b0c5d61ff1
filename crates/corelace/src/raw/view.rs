//! Views: selections laid over a slice, to be sent from and received into.
//!
//! A view holds a pointer and no reference to its slice, because several of one slice may be in use at once, as long as they have no element in
//! common.

use std::marker::PhantomData;

use engine::{RecvBuffer, SendBuffer};

use super::elements::private::{Incoming, Outgoing};
use super::{Datatype, Process};
use crate::error::{Error, Result};
use crate::selection::Selection;

/// Some elements of a slice, to be sent: see [`Selection`].
pub struct View<'a, T> {
    items: &'a [T],
    selection: Selection,
    datatype: engine::Datatype,
}

/// Some elements of a slice, to be received into or sent: see [`Selection`]. Nobody else has these elements meanwhile.
pub struct ViewMut<'a, T> {
    /// The first element of the slice, which all of the selection lies in.
    base: *mut T,
    selection: Selection,
    datatype: engine::Datatype,
    _borrow: PhantomData<&'a mut [T]>,
}

impl Selection {
    /// These elements of a slice.
    pub fn of<'a, T: Datatype>(&self, items: &'a [T]) -> Result<View<'a, T>> {
        self.check(items.len())?;
        let datatype = self.lower(&T::SHAPE.lower())?;
        Ok(View { items, selection: self.clone(), datatype })
    }

    /// These elements of a slice, to be changed. Each must be selected once.
    pub fn of_mut<'a, T: Datatype>(&self, items: &'a mut [T]) -> Result<ViewMut<'a, T>> {
        self.check(items.len())?;
        self.check_distinct()?;
        let datatype = self.lower(&T::SHAPE.lower())?;
        Ok(ViewMut { base: items.as_mut_ptr(), selection: self.clone(), datatype, _borrow: PhantomData })
    }
}

impl<T: Datatype> View<'_, T> {
    /// How many elements there are.
    pub fn len(&self) -> usize {
        self.selection.len()
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.selection.is_empty()
    }

    /// The elements, side by side.
    pub fn to_vec(&self) -> Vec<T> {
        let mut all = Vec::with_capacity(self.len());
        self.selection.each_piece(|start, length| all.extend_from_slice(&self.items[start..start + length]));
        all
    }
}

impl<T: Datatype> ViewMut<'_, T> {
    /// How many elements there are.
    pub fn len(&self) -> usize {
        self.selection.len()
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.selection.is_empty()
    }

    /// The elements, side by side.
    pub fn to_vec(&self) -> Vec<T> {
        let mut all = Vec::with_capacity(self.len());
        self.selection.each_piece(|start, length| {
            // SAFETY: the piece lies in the slice, by the check at the beginning, and is this view's alone.
            all.extend_from_slice(unsafe { std::slice::from_raw_parts(self.base.add(start), length) });
        });
        all
    }

    /// Replaces the elements by as many others.
    pub fn copy_from_slice(&mut self, from: &[T]) -> Result<()> {
        if from.len() != self.len() {
            let (given, room) = (from.len(), self.len());
            return Err(Error::length(format!("{given} elements are given for a view of {room}")));
        }
        let mut left = from;
        self.selection.each_piece(|start, length| {
            let (next, rest) = left.split_at(length);
            // SAFETY: as in `to_vec`.
            unsafe { std::slice::from_raw_parts_mut(self.base.add(start), length) }.copy_from_slice(next);
            left = rest;
        });
        Ok(())
    }
}

impl<T: Datatype> Outgoing for View<'_, T> {
    unsafe fn outgoing(this: *const Self, _: &Process) -> SendBuffer {
        // SAFETY: the type names elements of the slice, by the check at the beginning; the slice is borrowed as the caller promises.
        unsafe { SendBuffer::new((*this).items.as_ptr().cast(), 1, &(*this).datatype) }
    }
}

impl<T: Datatype> Outgoing for ViewMut<'_, T> {
    unsafe fn outgoing(this: *const Self, _: &Process) -> SendBuffer {
        // SAFETY: as for `View`; these elements are this view's alone.
        unsafe { SendBuffer::new((*this).base.cast_const().cast(), 1, &(*this).datatype) }
    }
}

impl<T: Datatype> Incoming for ViewMut<'_, T> {
    unsafe fn incoming(this: *mut Self, _: &Process) -> RecvBuffer {
        // SAFETY: as for sending; no element is named twice.
        unsafe { RecvBuffer::new((*this).base.cast(), 1, &(*this).datatype) }
    }
}

/// A slice that is given out in parts which have no element in common: for operations that use several parts of a grid at once, as the edges that
/// are sent and the rim that is received into.
///
/// ```
/// use corelace::{Parts, Selection};
///
/// corelace::run(2, |world| {
///     let other = 1 - world.rank();
///     // Two rows of three: the first column is sent, the last one received into.
///     let mut grid = [world.rank() as u8; 6];
///     let mut parts = Parts::of(&mut grid[..]);
///     let first = parts.take(&Selection::strided(0, 2, 1, 3))?;
///     let mut last = parts.take(&Selection::strided(2, 2, 1, 3))?;
///     assert!(parts.take(&Selection::strided(0, 6, 1, 1)).is_err(), "somebody has some of these");
///     world.send_recv(&first, other, 0, &mut last, other, 0)?;
///     let (mine, theirs) = (world.rank() as u8, other as u8);
///     assert_eq!(grid, [mine, mine, theirs, mine, mine, theirs]);
///     Ok::<(), corelace::Error>(())
/// })?;
/// # Ok::<(), corelace::RunError>(())
/// ```
pub struct Parts<'a, T> {
    base: *mut T,
    taken: Vec<bool>,
    _borrow: PhantomData<&'a mut [T]>,
}

impl<'a, T: Datatype> Parts<'a, T> {
    /// Nothing is given out yet.
    pub fn of(items: &'a mut [T]) -> Parts<'a, T> {
        Parts { base: items.as_mut_ptr(), taken: vec![false; items.len()], _borrow: PhantomData }
    }

    /// Gives out some elements; an error if somebody has one of them. Looks at each element.
    pub fn take(&mut self, selection: &Selection) -> Result<ViewMut<'a, T>> {
        selection.check(self.taken.len())?;
        selection.check_distinct()?;
        let mut clash = None;
        selection.each_piece(|start, length| {
            if let Some(at) = self.taken[start..start + length].iter().position(|taken| *taken) {
                clash.get_or_insert(start + at);
            }
        });
        if let Some(at) = clash {
            return Err(Error::length(format!(
                "element {at} is selected, which was given out before, expected elements that nobody has"
            )));
        }
        selection.each_piece(|start, length| self.taken[start..start + length].fill(true));
        let datatype = selection.lower(&T::SHAPE.lower())?;
        // The borrow of the slice is shared by views that have no element in common.
        Ok(ViewMut { base: self.base, selection: selection.clone(), datatype, _borrow: PhantomData })
    }
}

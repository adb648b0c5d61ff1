//! The part of one rank of a window, as others reach into it: what is done to cells (MPI section 12.3).

use std::slice;

use super::cells::{Cells, is_same};
use super::datatype::{zeroed, zeroed_vec};
use super::far::Far;
use super::reduction::checked;
use super::window::Window;
use super::{Data, Datatype};
use crate::activity::Activity;
use crate::error::{Error, Result};
use crate::op::Op;

/// The part of one rank, while this one may reach into it: from [`SharedLock`](crate::SharedLock), [`LockAll::at`](crate::LockAll::at) or [`Epoch::at`](crate::Epoch::at).
///
/// Places are counted in elements. An operation is done when its method returns, and needs nothing of the rank whose part it is. What several ranks do at once to the same
/// elements is no race: each word of them (up to eight bytes) has what one of the ranks has written.
pub struct Remote<'e, T: Datatype> {
    pub(super) window: &'e Window<'e, T>,
    pub(super) member: u32,
    /// None if it is reached through the engine.
    base: Option<*mut T>,
    len: usize,
}

/// How a part is reached, of which so much is known to be there.
enum Reach<'e, T: Datatype> {
    Near(Cells<'e, T>),
    Far(Far<'e, T>),
}

impl<T: Datatype> Reach<'_, T> {
    #[inline]
    fn store(&self, at: usize, from: &[T]) -> Result<()> {
        match self {
            Reach::Near(cells) => cells.store(at, from),
            Reach::Far(far) => return far.store(at, from),
        }
        Ok(())
    }

    #[inline]
    fn load(&self, at: usize, into: &mut [T]) -> Result<()> {
        match self {
            Reach::Near(cells) => cells.load(at, into),
            Reach::Far(far) => return far.load(at, into),
        }
        Ok(())
    }

    #[inline]
    fn swap(&self, at: usize, desired: T) -> Result<T> {
        match self {
            Reach::Near(cells) => Ok(cells.swap(at, desired)),
            Reach::Far(far) => far.swap(at, desired),
        }
    }

    #[inline]
    fn add(&self, at: usize, amount: T) -> Result<T> {
        match self {
            Reach::Near(cells) => Ok(cells.add(at, amount)),
            Reach::Far(far) => far.add(at, amount),
        }
    }

    #[inline]
    fn compare_and_swap(&self, at: usize, expected: T, desired: T) -> Result<T> {
        match self {
            Reach::Near(cells) => Ok(cells.compare_and_swap(at, expected, desired)),
            Reach::Far(far) => far.compare_and_swap(at, expected, desired),
        }
    }
}

impl<'e, T: Datatype> Remote<'e, T> {
    /// The part of a member that may be reached for `'e`.
    pub(super) fn new(window: &'e Window<'e, T>, member: u32) -> Remote<'e, T> {
        let base = if window.is_far() { None } else { Some(window.part(member).0) };
        Remote { window, member, base, len: window.len_at(member) }
    }

    /// How many elements there are.
    #[allow(clippy::len_without_is_empty, reason = "a part that is empty is of no interest")]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Writes a value or a slice to `at` (MPI_Put).
    #[inline]
    pub fn put<B: Data<Item = T> + ?Sized>(&self, at: usize, data: &B) -> Result<()> {
        let items = data.items();
        self.reach(at, items.len())?.store(at, items)
    }

    /// Reads the element at `at` (MPI_Get).
    #[inline]
    pub fn get(&self, at: usize) -> Result<T> {
        let mut element = zeroed();
        self.get_into(at, &mut element)?;
        Ok(element)
    }

    /// Reads as many elements as a value or a slice has, from `at` on (MPI_Get).
    #[inline]
    pub fn get_into<B: Data<Item = T> + ?Sized>(&self, at: usize, into: &mut B) -> Result<()> {
        let items = into.items_mut();
        self.reach(at, items.len())?.load(at, items)
    }

    /// Reads `len` elements from `at` on (MPI_Get).
    pub fn get_vec(&self, at: usize, len: usize) -> Result<Vec<T>> {
        let reach = self.reach(at, len)?;
        let mut into = zeroed_vec(len);
        reach.load(at, &mut into)?;
        Ok(into)
    }

    /// Replaces an element of 1, 2, 4 or 8 bytes in one step; returns what it was (MPI_Fetch_and_op with MPI_REPLACE).
    #[inline]
    pub fn swap(&self, at: usize, desired: T) -> Result<T> {
        self.reach(at, 1)?.swap(at, desired)
    }

    /// Replaces an element of 1, 2, 4 or 8 bytes in one step, if its bytes are those of `expected`; returns what it was, which are these bytes if it was replaced
    /// (MPI_Compare_and_swap). Any type of these sizes will do, a pair of numbers, say:
    ///
    /// ```
    /// use corelace::Datatype;
    ///
    /// #[repr(C)]
    /// #[derive(Clone, Copy, PartialEq, Debug, Datatype)]
    /// struct Entry {
    ///     key: u32,
    ///     value: u32,
    /// }
    ///
    /// corelace::Job::new(2).try_run(|world| {
    ///     let mut window = world.allocate_window::<Entry>(1)?;
    ///     let (free, mine) = (Entry { key: 0, value: 0 }, Entry { key: 7, value: world.rank() as u32 });
    ///     let there = window.lock_shared(0)?;
    ///     let found = there.compare_and_swap(0, free, mine)?;
    ///     // One of the two was the first.
    ///     assert!(found == free || found.key == 7 && found.value != mine.value);
    ///     drop(there);
    ///     Ok(window.free()?)
    /// })?;
    /// # Ok::<(), corelace::RunError>(())
    /// ```
    ///
    /// A longer one cannot be changed in one step, which the compiler says:
    ///
    /// ```compile_fail,E0080
    /// corelace::run(1, |world| {
    ///     let window = world.allocate_window::<[u64; 2]>(1).unwrap();
    ///     window.lock_shared(0).unwrap().compare_and_swap(0, [0, 0], [1, 1]).unwrap();
    /// }).unwrap();
    /// ```
    #[inline]
    pub fn compare_and_swap(&self, at: usize, expected: T, desired: T) -> Result<T> {
        self.reach(at, 1)?.compare_and_swap(at, expected, desired)
    }

    /// Combines a value or a slice with the elements from `at` on, each of which is changed in one step (MPI_Accumulate). Elements have 1, 2, 4 or 8 bytes. The operation may be a
    /// closure, too, which gets the element that is given first and then the one that is there; it may be called more often than there are elements.
    ///
    /// ```
    /// use corelace::op;
    ///
    /// corelace::Job::new(4).try_run(|world| {
    ///     let mut window = world.allocate_window::<f64>(3)?;
    ///     window.lock_all()?.at(0)?.accumulate(0, &[1.0, 0.5, world.rank() as f64][..], op::sum())?;
    ///     window.fence()?;
    ///     assert_eq!(window.lock_all()?.at(0)?.get_vec(0, 3)?, [4.0, 2.0, 6.0]);
    ///     Ok(window.free()?)
    /// })?;
    /// # Ok::<(), corelace::RunError>(())
    /// ```
    pub fn accumulate<B: Data<Item = T> + ?Sized>(&self, at: usize, data: &B, op: Op<T>) -> Result<()> {
        let items = data.items();
        let reach = self.reach(at, items.len())?;
        for (index, chunk) in items.chunks(CHUNK).enumerate() {
            self.combine(&reach, at + index * CHUNK, chunk, &op)?;
        }
        Ok(())
    }

    /// Combines a value with the element at `at` in one step; returns what that was (MPI_Fetch_and_op). As [`accumulate`](Remote::accumulate).
    #[inline]
    pub fn fetch_and_op(&self, at: usize, value: T, op: Op<T>) -> Result<T> {
        let reach = self.reach(at, 1)?;
        if op.is_sum_of_integers() { reach.add(at, value) } else { self.combine(&reach, at, &[value], &op) }
    }

    /// Waits until the element at `at` is as `is_met` wants it; returns it. Other ranks, also those that share a core with this one, go on meanwhile, which they would not in a loop
    /// of [`get`](Remote::get).
    #[track_caller]
    pub fn wait_until(&self, at: usize, mut is_met: impl FnMut(T) -> bool) -> Result<T> {
        let reach = self.reach(at, 1)?;
        let process = self.window.process;
        process.noted(Activity::Change { of: self.member }, || {
            loop {
                let mut element = zeroed();
                reach.load(at, slice::from_mut(&mut element))?;
                if is_met(element) {
                    return Ok(element);
                }
                process.call(|rank| rank.poke())?;
            }
        })
    }

    /// Combines a few elements with those at `at`; what the last of them was.
    fn combine(&self, reach: &Reach<'_, T>, at: usize, items: &[T], op: &Op<T>) -> Result<T> {
        let process = self.window.process;
        let how = checked::<T>(op.lower(process));
        let apply = |input: &[T], inout: &mut [T]| {
            // SAFETY: both are borrowed until the call returns, and as long as each other; the type is that of the elements.
            let (send, recv) = unsafe {
                let count = input.len() as u64;
                (
                    engine::SendBuffer::new(input.as_ptr().cast(), count, &how.datatype),
                    engine::RecvBuffer::new(inout.as_mut_ptr().cast(), count, &how.datatype),
                )
            };
            let combined = process.call(|rank| rank.reduce_local(&send, &recv, &how.op));
            process.resume_panic();
            combined
        };
        let mut before = [zeroed::<T>(); CHUNK];
        let before = &mut before[..items.len()];
        reach.load(at, before)?;
        let mut after = [zeroed::<T>(); CHUNK];
        let after = &mut after[..items.len()];
        after.copy_from_slice(before);
        apply(items, after)?;
        for index in 0..items.len() {
            loop {
                let found = reach.compare_and_swap(at + index, before[index], after[index])?;
                if is_same(found, before[index]) {
                    break;
                }
                // Somebody else was there.
                (before[index], after[index]) = (found, found);
                apply(&items[index..=index], &mut after[index..=index])?;
            }
        }
        Ok(before[items.len() - 1])
    }

    /// The elements, among which there are so many at `at`.
    #[inline]
    fn reach(&self, at: usize, len: usize) -> Result<Reach<'_, T>> {
        if at > self.len || len > self.len - at {
            return Err(self.outside(at, len));
        }
        let Some(base) = self.base else {
            return Ok(Reach::Far(Far { window: self.window, member: self.member }));
        };
        // SAFETY: memory of the window, in whose pages elements of this size, the same at all members, lie one after the other. While this value exists the window is neither in a
        // phase with slices nor locked exclusively, by this rank or another: it comes from a shared lock or from a phase that excludes both.
        Ok(Reach::Near(unsafe { Cells::new(base, self.len) }))
    }

    #[cold]
    fn outside(&self, at: usize, len: usize) -> Error {
        let bytes = |elements: usize| (elements as u64).saturating_mul(size_of::<T>() as u64);
        let (first, end) = (bytes(at), bytes(at.saturating_add(len.max(1))));
        let clipped = |at: u64| i64::try_from(at).unwrap_or(i64::MAX);
        let (first, end, size) = (clipped(first), clipped(end), Some(bytes(self.len)));
        engine::Error::WindowRange { target: self.member, first, end, size }.into()
    }
}

/// Elements that are combined at a time.
const CHUNK: usize = 64;

//! Memory of a window that several ranks may use at once: words of one size, which nobody touches but by atomic operations.
//!
//! Two ranks that put to the same place, or one that puts where another gets, break a rule of MPI (section 12.7) that no type of one rank can keep. If they are threads
//! of one program, plain copies would then be a data race, which safe code must not be able to make. So elements are moved word by word, each by an atomic
//! operation: what two write at once is the one or the other, word by word, and any bytes are a value.
//!
//! **Invariant:** the word of a window follows from the size of its elements, which is the same at all members (checked when the window is made). So accesses to a place
//! have one size, and no two of them are a race.

use std::marker::PhantomData;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

use super::Datatype;
use super::datatype::zeroed;

/// Elements that are reached by atomic operations alone for `'e`.
pub(super) struct Cells<'e, T> {
    base: *mut T,
    len: usize,
    _life: PhantomData<&'e T>,
}

impl<T> Clone for Cells<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Cells<'_, T> {}

impl<'e, T: Datatype> Cells<'e, T> {
    /// # Safety
    /// For `'e` the elements are valid, and whoever uses them does so by cells of as large elements. `base` is aligned to the largest power of two, up to 8, that
    /// divides the size of an element.
    pub unsafe fn new(base: *mut T, len: usize) -> Cells<'e, T> {
        Cells { base, len, _life: PhantomData }
    }

    /// Writes elements to `at`, where there is room for them.
    #[inline]
    pub fn store(&self, at: usize, from: &[T]) {
        let to = self.place(at, from.len());
        // SAFETY: as many elements on both sides, of which every byte is data; the invariant of this file for the words.
        unsafe {
            match word::<T>() {
                8 => copy_in::<u64>(from.as_ptr().cast(), to, size_of_val(from)),
                4 => copy_in::<u32>(from.as_ptr().cast(), to, size_of_val(from)),
                2 => copy_in::<u16>(from.as_ptr().cast(), to, size_of_val(from)),
                _ => copy_in::<u8>(from.as_ptr().cast(), to, size_of_val(from)),
            }
        }
    }

    /// Reads elements from `at` on.
    #[inline]
    pub fn load(&self, at: usize, into: &mut [T]) {
        let (from, bytes) = (self.place(at, into.len()), size_of_val(into));
        let into = into.as_mut_ptr().cast();
        // SAFETY: as above; whatever is read, it is a value.
        unsafe {
            match word::<T>() {
                8 => copy_out::<u64>(from, into, bytes),
                4 => copy_out::<u32>(from, into, bytes),
                2 => copy_out::<u16>(from, into, bytes),
                _ => copy_out::<u8>(from, into, bytes),
            }
        }
    }

    /// Replaces an element that is one word by the given one; returns what it was.
    #[inline]
    pub fn swap(&self, at: usize, desired: T) -> T {
        self.change(at, Change::Swap(bits(desired)))
    }

    /// Adds to an integer that is one word, which wraps around.
    #[inline]
    pub fn add(&self, at: usize, amount: T) -> T {
        self.change(at, Change::Add(bits(amount)))
    }

    /// Replaces an element that is one word, if its bytes are the expected ones; returns what it was.
    #[inline]
    pub fn compare_and_swap(&self, at: usize, expected: T, desired: T) -> T {
        self.change(at, Change::SwapIf(bits(expected), bits(desired)))
    }

    #[inline]
    fn change(&self, at: usize, change: Change) -> T {
        const {
            assert!(
                is_word::<T>(),
                "elements of a window are changed in one step if they have 1, 2, 4 or 8 bytes"
            )
        };
        let place = self.place(at, 1);
        // SAFETY: the element is one word.
        let before = unsafe {
            match size_of::<T>() {
                8 => u64::change(place, change),
                4 => u32::change(place, change),
                2 => u16::change(place, change),
                _ => u8::change(place, change),
            }
        };
        of_bits(before)
    }

    /// Where so many elements lie.
    #[inline]
    fn place(&self, at: usize, len: usize) -> *mut u8 {
        assert!(at <= self.len && len <= self.len - at, "the caller has looked");
        self.base.wrapping_add(at).cast()
    }
}

/// True if two elements have the same bytes.
#[inline]
pub(super) fn is_same<T: Datatype>(a: T, b: T) -> bool {
    bits(a) == bits(b)
}

/// True if an element is one word, which can be changed in one step.
const fn is_word<T>() -> bool {
    matches!(size_of::<T>(), 1 | 2 | 4 | 8)
}

/// Bytes of the words that elements are moved by.
pub(super) const fn word<T>() -> usize {
    let size = size_of::<T>();
    if size.is_multiple_of(8) {
        8
    } else if size.is_multiple_of(4) {
        4
    } else if size.is_multiple_of(2) {
        2
    } else {
        1
    }
}

/// The bytes of an element that is one word, from the lowest of a number on.
#[inline]
fn bits<T: Datatype>(element: T) -> u64 {
    const { assert!(is_word::<T>() && T::SHAPE.is_dense()) };
    let element: *const T = &element;
    // SAFETY: as many bytes, all of them data.
    unsafe {
        match size_of::<T>() {
            8 => element.cast::<u64>().read_unaligned(),
            4 => element.cast::<u32>().read_unaligned().into(),
            2 => element.cast::<u16>().read_unaligned().into(),
            _ => element.cast::<u8>().read().into(),
        }
    }
}

#[inline]
fn of_bits<T: Datatype>(bits: u64) -> T {
    let mut element = zeroed::<T>();
    let place: *mut T = &mut element;
    // SAFETY: as many bytes, and any are a value.
    unsafe {
        match size_of::<T>() {
            8 => place.cast::<u64>().write_unaligned(bits),
            4 => place.cast::<u32>().write_unaligned(bits as u32),
            2 => place.cast::<u16>().write_unaligned(bits as u16),
            _ => place.cast::<u8>().write(bits as u8),
        }
    }
    element
}

/// What becomes of a word, with words as their bits.
#[derive(Clone, Copy)]
enum Change {
    Swap(u64),
    Add(u64),
    /// If it is the first, then the second.
    SwapIf(u64, u64),
}

/// Numbers that have an atomic form.
trait Word: Copy {
    /// # Safety
    /// There is a word in a window, aligned.
    unsafe fn store(to: *mut u8, word: Self);
    /// # Safety
    /// As above.
    unsafe fn load(from: *mut u8) -> Self;
    /// # Safety
    /// As above.
    unsafe fn change(place: *mut u8, change: Change) -> u64;
}

macro_rules! words {
    ($($word:ty, $atomic:ty;)*) => {
        $(
            impl Word for $word {
                #[inline(always)]
                unsafe fn store(to: *mut u8, word: $word) {
                    // SAFETY: the caller's promise.
                    unsafe { <$atomic>::from_ptr(to.cast()) }.store(word, Ordering::Release);
                }

                #[inline(always)]
                unsafe fn load(from: *mut u8) -> $word {
                    // SAFETY: the caller's promise.
                    unsafe { <$atomic>::from_ptr(from.cast()) }.load(Ordering::Acquire)
                }

                #[inline(always)]
                unsafe fn change(place: *mut u8, change: Change) -> u64 {
                    // SAFETY: the caller's promise.
                    let word = unsafe { <$atomic>::from_ptr(place.cast()) };
                    let before = match change {
                        Change::Swap(desired) => word.swap(desired as $word, Ordering::SeqCst),
                        Change::Add(amount) => word.fetch_add(amount as $word, Ordering::SeqCst),
                        Change::SwapIf(expected, desired) => {
                            let (expected, desired) = (expected as $word, desired as $word);
                            match word.compare_exchange(expected, desired, Ordering::SeqCst, Ordering::SeqCst) {
                                Ok(before) | Err(before) => before,
                            }
                        }
                    };
                    before.into()
                }
            }
        )*
    };
}

words! {
    u8, AtomicU8;
    u16, AtomicU16;
    u32, AtomicU32;
    u64, AtomicU64;
}

/// # Safety
/// `from` has so many bytes, a multiple of the word's, and `to` as many in a window, aligned to the word.
#[inline]
unsafe fn copy_in<W: Word>(from: *const u8, to: *mut u8, bytes: usize) {
    for at in (0..bytes).step_by(size_of::<W>()) {
        // SAFETY: the caller's promise.
        unsafe { W::store(to.add(at), from.add(at).cast::<W>().read_unaligned()) };
    }
}

/// # Safety
/// As above, the other way round.
#[inline]
unsafe fn copy_out<W: Word>(from: *mut u8, into: *mut u8, bytes: usize) {
    for at in (0..bytes).step_by(size_of::<W>()) {
        // SAFETY: the caller's promise.
        unsafe { into.add(at).cast::<W>().write_unaligned(W::load(from.add(at))) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs something with cells over elements.
    fn with_cells<T: Datatype, R>(elements: &mut [T], run: impl FnOnce(Cells<'_, T>) -> R) -> R {
        // SAFETY: borrowed exclusively, and the tests' elements are aligned to their words.
        run(unsafe { Cells::new(elements.as_mut_ptr(), elements.len()) })
    }

    fn loaded<T: Datatype>(cells: Cells<'_, T>, at: usize, len: usize) -> Vec<T> {
        let mut into = vec![zeroed(); len];
        cells.load(at, &mut into);
        into
    }

    fn moves_there_and_back<T: Datatype + PartialEq + std::fmt::Debug>(values: [T; 3]) {
        let mut memory = [zeroed::<T>(); 5];
        with_cells(&mut memory, |cells| {
            cells.store(1, &values);
            assert_eq!(loaded(cells, 1, 3), values);
        });
        assert_eq!(memory, [zeroed(), values[0], values[1], values[2], zeroed()]);
    }

    #[test]
    fn elements_of_every_size_are_moved_and_nothing_beside_them() {
        moves_there_and_back([1u8, 2, 255]);
        moves_there_and_back([-1i16, 2, i16::MIN]);
        moves_there_and_back([1.5f32, -0.0, f32::MAX]);
        moves_there_and_back([1.5f64, -0.25, 1e300]);
        moves_there_and_back([u128::MAX, 1, 1 << 70]);
        moves_there_and_back([[1u8, 2, 3], [4, 5, 6], [7, 8, 9]]);
        moves_there_and_back([[1u32, 2, 3], [4, 5, 6], [7, 8, 9]]);
        moves_there_and_back([[0.5f64, 2.0, 3.0], [4.0; 3], [7.0; 3]]);
    }

    #[test]
    fn words_of_every_size_are_changed_in_one_step() {
        fn check<T: Datatype + PartialEq + std::fmt::Debug>([zero, one, max, wrapped]: [T; 4]) {
            let mut memory = [zero; 3];
            with_cells(&mut memory, |cells| {
                assert_eq!(cells.swap(1, max), zero);
                assert_eq!(cells.add(1, one), max);
                assert_eq!(cells.compare_and_swap(1, max, one), wrapped, "not what it expects");
                assert_eq!(cells.compare_and_swap(1, wrapped, one), wrapped);
                assert_eq!(loaded(cells, 0, 3), [zero, one, zero]);
            });
        }
        check([0u8, 1, u8::MAX, 0]);
        check([0i16, 1, i16::MAX, i16::MIN]);
        check([0u32, 1, u32::MAX, 0]);
        check([0i64, 1, i64::MAX, i64::MIN]);
    }
}

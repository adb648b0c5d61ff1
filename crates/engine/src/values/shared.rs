//! Values that threads in different lanes of a process share: counted without a price for processes that have one thread, and locked.

use core::cell::UnsafeCell;
use core::fmt;
use core::hint::spin_loop;
use core::ops::{Deref, DerefMut};
use core::ptr::NonNull;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence};

use alloc::boxed::Box;

/// Several threads of this process use the engine at once.
static SEVERAL: AtomicBool = AtomicBool::new(false);

/// From now on several threads of this process may be in lanes of a rank at once. To be called before the second of them is.
pub fn expect_several_threads() {
    SEVERAL.store(true, Ordering::SeqCst);
}

/// A value that lives as long as a reference does, as behind an `Rc` or `Arc`: the count is changed by plain stores while the process has one thread that
/// could, and not at all of what is [kept](Counted::keep).
pub struct Counted<T>(NonNull<Inner<T>>);

struct Inner<T> {
    count: AtomicUsize,
    value: T,
}

/// The count of what is never freed is about this: so far from zero and from here to `usize::MAX` nobody counts.
const FAR: usize = usize::MAX / 4 * 3;

/// Counts from here on are of what is never freed.
const KEPT: usize = usize::MAX / 2;

impl<T> Counted<T> {
    /// The first reference to a value.
    pub fn new(value: T) -> Counted<T> {
        let inner = Box::new(Inner { count: AtomicUsize::new(1), value });
        Counted(NonNull::from(Box::leak(inner)))
    }

    /// The value is never freed, and its count never written again: threads that use it all the time do not meet there.
    pub fn keep(&self) {
        self.inner().count.store(FAR, Ordering::Relaxed);
    }

    /// True if both are references to the same value.
    pub fn is(&self, other: &Counted<T>) -> bool {
        self.0 == other.0
    }

    #[inline(always)]
    fn inner(&self) -> &Inner<T> {
        // SAFETY: made from a box, which is freed with the last reference.
        unsafe { self.0.as_ref() }
    }

    #[cold]
    fn free(&mut self) {
        // SAFETY: the last reference is going, and the box was leaked in `new`.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

impl<T> Clone for Counted<T> {
    #[inline]
    fn clone(&self) -> Counted<T> {
        let count = &self.inner().count;
        if SEVERAL.load(Ordering::Relaxed) {
            add_shared(count);
        } else {
            count.store(count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        }
        Counted(self.0)
    }
}

impl<T> Drop for Counted<T> {
    // Apart: it is in the way of every unwinding, too.
    #[inline(never)]
    fn drop(&mut self) {
        let count = &self.inner().count;
        let is_last = if SEVERAL.load(Ordering::Relaxed) {
            take_shared(count)
        } else {
            // What is kept counts from too high up to get here.
            let left = count.load(Ordering::Relaxed) - 1;
            count.store(left, Ordering::Relaxed);
            left == 0
        };
        if is_last {
            self.free();
        }
    }
}

/// One reference more, where threads count at once. Apart, because everything that holds a datatype counts.
#[inline(never)]
fn add_shared(count: &AtomicUsize) {
    if count.load(Ordering::Relaxed) < KEPT {
        count.fetch_add(1, Ordering::Relaxed);
    }
}

/// One reference less; true if it was the last.
#[inline(never)]
fn take_shared(count: &AtomicUsize) -> bool {
    if count.load(Ordering::Relaxed) >= KEPT || count.fetch_sub(1, Ordering::Release) > 1 {
        return false;
    }
    fence(Ordering::Acquire);
    true
}

impl<T> Deref for Counted<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.inner().value
    }
}

impl<T: fmt::Debug> fmt::Debug for Counted<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// A value that one thread at a time looks at, for a moment: whoever comes meanwhile spins. Not for what calls back.
#[derive(Default)]
pub(crate) struct Locked<T> {
    taken: AtomicBool,
    value: UnsafeCell<T>,
}

// SAFETY: the value is reached through `lock` only, by one thread at a time. What of it belongs to a lane (references to a communicator) is
// left alone but by threads in that lane.
unsafe impl<T> Send for Locked<T> {}
// SAFETY: as said.
unsafe impl<T> Sync for Locked<T> {}

impl<T> Locked<T> {
    pub const fn new(value: T) -> Locked<T> {
        Locked { taken: AtomicBool::new(false), value: UnsafeCell::new(value) }
    }

    pub fn lock(&self) -> Guard<'_, T> {
        while self.taken.swap(true, Ordering::Acquire) {
            spin_loop();
        }
        Guard(self)
    }
}

impl<T> fmt::Debug for Locked<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Locked")
    }
}

/// The way to a locked value.
pub(crate) struct Guard<'a, T>(&'a Locked<T>);

impl<T> Deref for Guard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: this thread has the lock.
        unsafe { &*self.0.value.get() }
    }
}

impl<T> DerefMut for Guard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: this thread has the lock, and the guard is borrowed exclusively.
        unsafe { &mut *self.0.value.get() }
    }
}

impl<T> Drop for Guard<'_, T> {
    fn drop(&mut self) {
        self.0.taken.store(false, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::cell::Cell;
    use std::rc::Rc;

    struct Told(Rc<Cell<u32>>);

    impl Drop for Told {
        fn drop(&mut self) {
            self.0.set(self.0.get() + 1);
        }
    }

    #[test]
    fn a_counted_value_goes_with_its_last_reference_and_a_kept_one_never() {
        let dropped = Rc::new(Cell::new(0));
        let first = Counted::new(Told(dropped.clone()));
        let second = first.clone();
        assert!(first.is(&second));
        drop(first);
        assert_eq!(dropped.get(), 0);
        drop(second);
        assert_eq!(dropped.get(), 1);
        let kept = Counted::new(Told(dropped.clone()));
        kept.keep();
        drop(kept.clone());
        drop(kept);
        assert_eq!(dropped.get(), 1);
    }

    #[test]
    fn one_thread_at_a_time_has_the_lock() {
        let counter = Locked::new(0u64);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..20_000).for_each(|_| *counter.lock() += 1));
            }
        });
        assert_eq!(*counter.lock(), 80_000);
    }
}

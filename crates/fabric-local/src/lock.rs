//! A lock whose handing over the thread sanitizer sees.
//!
//! Std's is not built with the sanitizer: who had to wait for it takes it inside of std, and everything behind it then looks like a
//! race. Here the one who leaves says so in a word that the next one reads, in code of ours. A suppression would hide races too.

use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A std lock that does not care whether a holder of it panicked.
#[derive(Default)]
pub(crate) struct Lock<T> {
    value: Mutex<T>,
    was_held: AtomicBool,
}

pub(crate) struct Held<'a, T> {
    value: MutexGuard<'a, T>,
    was_held: &'a AtomicBool,
}

impl<T> Lock<T> {
    pub(crate) fn lock(&self) -> Held<'_, T> {
        let value = self.value.lock().unwrap_or_else(PoisonError::into_inner);
        self.was_held.load(Ordering::Acquire);
        Held { value, was_held: &self.was_held }
    }
}

impl<T> Deref for Held<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for Held<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

impl<T> Drop for Held<'_, T> {
    /// Before the std lock is given back, which happens when its guard is dropped after this.
    fn drop(&mut self) {
        self.was_held.store(true, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::Lock;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    /// Run with the thread sanitizer too, which then sees who followed whom.
    #[test]
    fn threads_that_contend_lose_nothing() {
        let lock = Lock::<Vec<u32>>::default();
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let lock = &lock;
                scope.spawn(move || (0..500).for_each(|_| lock.lock().push(thread)));
            }
        });
        let held = lock.lock();
        assert!((0..4).all(|thread| held.iter().filter(|of| **of == thread).count() == 500));
    }

    #[test]
    fn a_panic_inside_leaves_it_usable() {
        let lock = Lock::<u32>::default();
        let _ = catch_unwind(AssertUnwindSafe(|| {
            *lock.lock() = 7;
            panic!("inside");
        }));
        assert_eq!(*lock.lock(), 7);
    }
}

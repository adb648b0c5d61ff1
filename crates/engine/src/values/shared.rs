//! Values that threads in different lanes of a process share: counted without a price for processes that have one thread, and locked.

use core::cell::UnsafeCell;
use core::fmt;
use core::hint::spin_loop;
use core::mem::ManuallyDrop;
use core::ops::{Deref, DerefMut};
use core::ptr::NonNull;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering, fence};

use alloc::boxed::Box;

/// Several threads of this process use the engine at once.
static SEVERAL: AtomicBool = AtomicBool::new(false);

/// From now on several threads of this process may be in lanes of a rank at once. To be called before the second of them is.
pub fn expect_several_threads() {
    SEVERAL.store(true, Ordering::SeqCst);
}

/// A value that lives as long as a reference does, as behind an `Rc` or `Arc`: the count is changed by plain stores while the process has one thread that
/// could, and not at all of what is [kept](Counted::kept).
///
/// Invariant: the pointer is that of a box, plus [`KEPT`] if the value is never freed.
pub struct Counted<T>(NonNull<Inner<T>>);

struct Inner<T> {
    count: AtomicUsize,
    value: T,
}

/// In a pointer: the value is never freed, and nobody counts.
const KEPT: usize = 1;

impl<T> Counted<T> {
    /// The first reference to a value.
    pub fn new(value: T) -> Counted<T> {
        let inner = Box::new(Inner { count: AtomicUsize::new(1), value });
        Counted(NonNull::from(Box::leak(inner)))
    }

    /// A reference whose value is never freed, and whose count is never read or written again, nor that of its clones: what is used all the time
    /// costs less so, and threads do not meet there.
    pub fn kept(self) -> Counted<T> {
        let kept = Counted(self.0.map_addr(|address| address | KEPT));
        core::mem::forget(self);
        kept
    }

    /// True if both are references to the same value.
    pub fn is(&self, other: &Counted<T>) -> bool {
        core::ptr::eq(self.inner(), other.inner())
    }

    /// True if the value is never freed.
    #[inline(always)]
    pub fn is_kept(&self) -> bool {
        self.0.addr().get() & KEPT != 0
    }

    #[inline(always)]
    fn inner(&self) -> &Inner<T> {
        // SAFETY: made from a box, which is freed with the last reference, or never.
        unsafe { &*self.0.as_ptr().map_addr(|address| address & !KEPT) }
    }

    // Apart, as the other one: everything that holds a datatype counts, and unwinding does, too.
    #[inline(never)]
    fn count_more(&self) {
        let count = &self.inner().count;
        if SEVERAL.load(Ordering::Relaxed) {
            count.fetch_add(1, Ordering::Relaxed);
        } else {
            count.store(count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        }
    }

    // Of another language's convention, so that a value that panics when it is dropped ends the process: nobody who holds a reference needs code for the case that it does.
    #[inline(never)]
    extern "C" fn count_less(&mut self) {
        let count = &self.inner().count;
        let before = if SEVERAL.load(Ordering::Relaxed) {
            count.fetch_sub(1, Ordering::Release)
        } else {
            let before = count.load(Ordering::Relaxed);
            count.store(before - 1, Ordering::Relaxed);
            before
        };
        if before == 1 {
            fence(Ordering::Acquire);
            // SAFETY: the last reference is going, it is not kept, and the box was leaked in `new`.
            drop(unsafe { Box::from_raw(self.0.as_ptr()) });
        }
    }
}

/// A value of the library's own that ends the process if it panics when it is dropped, as what is [counted](Counted) does. Nothing that calls a function of the
/// program when it goes belongs in here: that may throw.
#[derive(Default)]
pub struct Quiet<T>(ManuallyDrop<T>);

impl<T> Quiet<T> {
    /// Of a value.
    pub const fn new(value: T) -> Quiet<T> {
        Quiet(ManuallyDrop::new(value))
    }

    extern "C" fn release(&mut self) {
        // SAFETY: by `drop` alone, once, after which nobody can use it.
        unsafe { ManuallyDrop::drop(&mut self.0) };
    }
}

impl<T> Drop for Quiet<T> {
    fn drop(&mut self) {
        self.release();
    }
}

impl<T> Deref for Quiet<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: fmt::Debug> fmt::Debug for Quiet<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// Acts on something with a value, and ends the process if that panics: who calls it needs no code for that case. The code that acts is there once.
#[inline(always)]
pub(crate) fn quietly<T, U, F: FnOnce(&mut T, U)>(on: &mut T, value: U, act: F) {
    #[inline(never)]
    extern "C" fn apart<T, U, F: FnOnce(&mut T, U)>(on: &mut T, given: &mut ManuallyDrop<(U, F)>) {
        // SAFETY: made below, for this alone.
        let (value, act) = unsafe { ManuallyDrop::take(given) };
        act(on, value);
    }
    apart(on, &mut ManuallyDrop::new((value, act)));
}

/// Room for one [kept](Counted::kept) value, which is made when it is asked for first. A word.
pub struct KeptCell<T>(AtomicPtr<Inner<T>>);

impl<T> KeptCell<T> {
    /// Without a value.
    pub const fn new() -> KeptCell<T> {
        KeptCell(AtomicPtr::new(core::ptr::null_mut()))
    }

    /// The value, if it was made.
    #[inline(always)]
    pub fn get(&self) -> Option<Counted<T>> {
        NonNull::new(self.0.load(Ordering::Acquire)).map(Counted)
    }

    /// The same, to look at.
    #[inline(always)]
    pub fn look(&self) -> Option<&T> {
        let kept = NonNull::new(self.0.load(Ordering::Acquire))?;
        // SAFETY: made from a box by `get_or_set`, and never freed.
        Some(unsafe { &(*kept.as_ptr().map_addr(|address| address & !KEPT)).value })
    }

    /// The value, which becomes this one unless another thread was first.
    pub fn get_or_set(&self, value: T) -> Counted<T> {
        let mine = Counted::new(value);
        let kept = mine.0.as_ptr().map_addr(|address| address | KEPT);
        let set = self.0.compare_exchange(core::ptr::null_mut(), kept, Ordering::AcqRel, Ordering::Acquire);
        match set {
            Ok(_) => mine.kept(),
            Err(first) => Counted(NonNull::new(first).expect("another one is there")),
        }
    }
}

impl<T> Default for KeptCell<T> {
    fn default() -> KeptCell<T> {
        KeptCell::new()
    }
}

impl<T> Clone for Counted<T> {
    #[inline(always)]
    fn clone(&self) -> Counted<T> {
        if !self.is_kept() {
            self.count_more();
        }
        Counted(self.0)
    }
}

impl<T> Drop for Counted<T> {
    #[inline(always)]
    fn drop(&mut self) {
        if !self.is_kept() {
            self.count_less();
        }
    }
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

// SAFETY: the value is reached through `lock` only, by one thread at a time.
unsafe impl<T: Send> Send for Locked<T> {}
// SAFETY: as said.
unsafe impl<T: Send> Sync for Locked<T> {}

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

/// A value for threads in one lane, of which there is one at a time. It may lie where threads in
/// other lanes come by.
pub(crate) struct LaneBound<T> {
    value: T,
    lane: u32,
}

// SAFETY: by the promise that was given to `new`, only threads in the lane do anything with the
// value.
unsafe impl<T> Send for LaneBound<T> {}

impl<T> LaneBound<T> {
    /// Binds a value of a lane to it.
    ///
    /// # Safety
    /// Whoever looks at the value, takes it or drops it must be in that lane, or alone in the rank.
    pub unsafe fn new(value: T, lane: u32) -> LaneBound<T> {
        LaneBound { value, lane }
    }

    /// The value, for a thread in this lane.
    pub fn in_lane(&self, lane: u32) -> &T {
        debug_assert_eq!(self.lane, lane, "a value of another lane");
        &self.value
    }

    /// As [`in_lane`](LaneBound::in_lane), to be dropped there.
    pub fn take_in_lane(self, lane: u32) -> T {
        debug_assert_eq!(self.lane, lane, "a value of another lane");
        self.value
    }
}

impl<T> fmt::Debug for LaneBound<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LaneBound({})", self.lane)
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
        // What is never freed is no leak as long as somebody knows where it is.
        static KNOWN: AtomicUsize = AtomicUsize::new(0);
        let kept = Counted::new(Told(dropped.clone())).kept();
        core::hint::black_box(&KNOWN).store((&raw const *kept).addr(), Ordering::Relaxed);
        let again = kept.clone();
        assert!(kept.is(&again));
        drop((kept, again));
        assert_eq!(dropped.get(), 1);
    }

    #[test]
    fn what_is_quiet_is_dropped_once_and_what_is_done_quietly_is_done_once() {
        let dropped = Rc::new(Cell::new(0));
        let quiet = Quiet::new(Told(dropped.clone()));
        assert_eq!(quiet.0.0.get(), 0);
        drop(quiet);
        assert_eq!(dropped.get(), 1);
        let mut list = std::vec::Vec::new();
        quietly(&mut list, Told(dropped.clone()), |list, told| list.push(told));
        assert_eq!((list.len(), dropped.get()), (1, 1));
        drop(list);
        assert_eq!(dropped.get(), 2);
    }

    #[test]
    #[cfg_attr(miri, ignore = "starts a process")]
    fn what_panics_quietly_ends_the_process() {
        const CHILD: &str = "CORELACE_TEST_OF_QUIET";
        struct Fails;
        impl Drop for Fails {
            fn drop(&mut self) {
                panic!("as wanted");
            }
        }
        if std::env::var_os(CHILD).is_some() {
            let caught = std::panic::catch_unwind(|| drop(Quiet::new(Fails)));
            std::process::exit(i32::from(caught.is_err()));
        }
        let mut again = std::process::Command::new(std::env::current_exe().unwrap());
        again.args(["--exact", "values::shared::tests::what_panics_quietly_ends_the_process"]);
        let ended = again.env(CHILD, "1").output().unwrap();
        assert_eq!(ended.status.code(), None, "it should have ended by a signal: {ended:?}");
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

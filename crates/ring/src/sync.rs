//! The atomics and cells that shared memory is made of: `core`'s, or loom's under `cfg(loom)`.
//!
//! **Invariant:** outside loom every type here has the layout of the plain word it wraps and is valid when zeroed, because
//! the backends overlay it on mapped memory.

#[cfg(not(loom))]
pub use core::sync::atomic::{
    AtomicBool, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering, compiler_fence, fence,
};

#[cfg(loom)]
pub use loom::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};

#[cfg(loom)]
std::thread_local! {
    static HEAVY_BARRIERS: core::cell::Cell<bool> = const { core::cell::Cell::new(false) };
}

/// Says whether sleepers of the models that this thread checks from now on run heavy barriers.
#[cfg(loom)]
pub fn model_heavy_barriers(run: bool) {
    HEAVY_BARRIERS.set(run);
}

/// This crate uses compiler fences only where another thread runs a heavy barrier (`membarrier`). The two together order as two full
/// fences do, which is how loom, that knows no such barrier, sees them; a compiler fence alone orders nothing.
#[cfg(loom)]
pub fn compiler_fence(order: Ordering) {
    // Loom's threads all run on the thread that checks the model.
    if HEAVY_BARRIERS.get() {
        fence(order);
    }
}

#[cfg(loom)]
pub use loom::cell::UnsafeCell;

/// [`core::cell::UnsafeCell`] with loom's interface: accesses name whether they write.
#[cfg(not(loom))]
#[repr(transparent)]
#[derive(Debug)]
pub struct UnsafeCell<T>(core::cell::UnsafeCell<T>);

#[cfg(not(loom))]
impl<T> UnsafeCell<T> {
    /// A cell that holds `value`.
    pub const fn new(value: T) -> UnsafeCell<T> {
        UnsafeCell(core::cell::UnsafeCell::new(value))
    }

    /// Calls `read` with a pointer that it may only read through.
    #[inline(always)]
    pub fn with<R>(&self, read: impl FnOnce(*const T) -> R) -> R {
        read(self.0.get())
    }

    /// Calls `write` with a pointer that it may write through.
    #[inline(always)]
    pub fn with_mut<R>(&self, write: impl FnOnce(*mut T) -> R) -> R {
        write(self.0.get())
    }
}

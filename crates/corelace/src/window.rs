//! One-sided communication (MPI chapter 12): windows, and what is easily said with their operations.

use crate::communicator::Communicator;
use crate::error::Result;
use crate::kind::OneGroup;
use crate::op::{self, Number};
use crate::raw::Datatype;
use crate::raw::remote::Remote;
use crate::raw::window::Window;

/// Memory that ranks reach without each other's help.
impl<'job, K: OneGroup> Communicator<'job, K> {
    /// Memory of `len` elements at this rank, zero at first, that all ranks reach (MPI_Win_allocate, section 12.2.2). All ranks call it, with the same type; each says how many elements
    /// it has.
    ///
    /// ```
    /// corelace::Job::new(4).try_run(|world| {
    ///     let mut window = world.allocate_window::<u64>(1)?;
    ///     // A counter at rank 0, which need not do anything for it.
    ///     let ticket = window.lock_all()?.at(0)?.fetch_add(0, 1)?;
    ///     assert!(ticket < 4);
    ///     window.fence()?;
    ///     assert_eq!(window.lock_all()?.at(0)?.get(0)?, 4);
    ///     Ok(window.free()?)
    /// })?;
    /// # Ok::<(), corelace::RunError>(())
    /// ```
    ///
    /// There are four ways to use it, of which no two can get into each other's way:
    ///
    /// | with | a rank gets | all ranks call it |
    /// | --- | --- | --- |
    /// | [`lock_all`](Window::lock_all), [`lock_shared`](Window::lock_shared) | [`Remote`] parts: put, get, accumulate, compare and swap | no |
    /// | [`lock_exclusive`](Window::lock_exclusive) | a part as a slice, whose ever it is | no |
    /// | [`local`](Window::local), [`read`](Window::read) | its own part as a slice, or those of all to be read | yes |
    /// | [`fenced`](Window::fenced) | remote parts without locks | yes |
    ///
    /// Elements are data without padding: other ranks may write any bytes, and every byte is theirs to write.
    ///
    /// ```compile_fail,E0277
    /// corelace::run(2, |world| world.allocate_window::<bool>(1).map(drop)).unwrap();
    /// ```
    ///
    /// ```compile_fail,E0080
    /// #[repr(C)]
    /// #[derive(Clone, Copy, corelace::Datatype)]
    /// struct Gapped {
    ///     kind: u8,
    ///     value: f64,
    /// }
    /// corelace::run(2, |world| world.allocate_window::<Gapped>(1).map(drop)).unwrap();
    /// ```
    ///
    /// A window belongs to its rank, as a communicator does: to its thread,
    ///
    /// ```compile_fail,E0277
    /// corelace::run(2, |world| {
    ///     let window = world.allocate_window::<u64>(1).unwrap();
    ///     std::thread::scope(|threads| {
    ///         threads.spawn(|| window.lock_all().map(drop));
    ///     });
    /// })
    /// .unwrap();
    /// ```
    ///
    /// and to its job:
    ///
    /// ```compile_fail,E0597
    /// let kept;
    /// {
    ///     let universe = corelace::init().unwrap();
    ///     kept = universe.world().allocate_window::<u64>(1).unwrap();
    /// }
    /// kept.free().unwrap();
    /// ```
    ///
    /// What a lock lets a rank reach ends with it:
    ///
    /// ```compile_fail,E0505
    /// corelace::run(2, |world| {
    ///     let window = world.allocate_window::<u64>(1).unwrap();
    ///     let all = window.lock_all().unwrap();
    ///     let there = all.at(0).unwrap();
    ///     drop(all);
    ///     there.put(0, &1).unwrap();
    /// })
    /// .unwrap();
    /// ```
    #[track_caller]
    pub fn allocate_window<T: Datatype>(&self, len: usize) -> Result<Window<'job, T>> {
        Window::allocate(self.process, &self.comm, len, false)
    }

    /// As [`allocate_window`](Communicator::allocate_window), with parts that follow each other without gaps (MPI_Win_allocate_shared, section 12.2.3): [`Window::read`] sees them as one slice.
    #[track_caller]
    pub fn allocate_shared_window<T: Datatype>(&self, len: usize) -> Result<Window<'job, T>> {
        Window::allocate(self.process, &self.comm, len, true)
    }
}

impl<T: Number> Remote<'_, T> {
    /// Adds to the element at `at` in one step; returns what it was (MPI_Fetch_and_op with MPI_SUM). Integers wrap around.
    #[inline]
    pub fn fetch_add(&self, at: usize, amount: T) -> Result<T> {
        self.fetch_and_op(at, amount, op::sum())
    }
}

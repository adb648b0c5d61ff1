//! Windows: who may use their memory how, and when (MPI chapter 12).
//!
//! The memory is allocated by the library and addressed by all members, but for chips ([`far`](super::far)). It is used in one of two ways at a time: as *cells* ([`cells`](super::cells)), by any member at
//! once, or as plain *slices*, about which Rust's rules have to be kept between ranks. There are three sources of slices:
//!
//! | source | what a rank gets | why nobody else is in the way |
//! | --- | --- | --- |
//! | [`Window::local`] | its own part, to be changed | a phase that all members are in: nobody has more than its own part |
//! | [`Window::read`] | all parts, to be read | a phase that all members are in: nobody has anything to write through |
//! | [`Window::lock_exclusive`] | one part, to be changed | the engine's lock: outside of phases, nobody reaches a part without a lock of it |
//!
//! A phase begins and ends in a collective in which the members tell each other what they want, so that all of them are in the same one or none. Who has come out of
//! it knows that all have come in, without a slice or a lock: both borrow the window, and a phase needs it for itself alone. A phase that a
//! panic or an error has left has not ended: the window is *lost* for this rank, and every later call an error, of which the other members are told.
//!
//! **Invariant:** memory is given back by [`Window::free`] alone, which all members agree on as on a phase. A window that is dropped, or a lock that is forgotten, leaves
//! it in place until the job ends.

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::slice;
use std::sync::atomic::{Ordering, fence};

use engine::{Backing, Comm};

use super::cells::word;
use super::remote::Remote;
use super::{Datatype, Process, collective, reduction};
use crate::activity::{Activity, Collective};
use crate::address::number;
use crate::error::{Error, Result};
use crate::op;

/// Memory of the ranks of a communicator that they reach without each other's help; see [`Communicator::allocate_window`](crate::Communicator::allocate_window).
pub struct Window<'job, T: Datatype> {
    pub(super) process: &'job Process,
    pub(super) inner: engine::Window,
    /// How many elements each member has, if their memory is reached through the engine.
    far: Option<Box<[usize]>>,
    /// The parts follow each other without gaps.
    is_whole: bool,
    /// A phase was not ended as it should be.
    is_lost: bool,
    _elements: PhantomData<*mut T>,
}

/// What the members of a window agree on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Fence = 1,
    Local,
    Read,
    Fenced,
    Free,
    /// The phase that was agreed on ends.
    End,
    /// A member that cannot take part in what the others want, and tells them.
    Refused,
}

impl<'job, T: Datatype> Window<'job, T> {
    /// Makes a window of a communicator, with so many elements at this rank.
    #[track_caller]
    pub(crate) fn allocate(
        process: &'job Process,
        comm: &Comm,
        len: usize,
        contiguous: bool,
    ) -> Result<Self> {
        const {
            assert!(size_of::<T>() > 0, "elements of a window have bytes");
            assert!(
                T::SHAPE.is_dense(),
                "elements of a window have no padding: every byte of theirs is data"
            );
        }
        // What is no number of bytes is refused by all members together.
        let bytes = len.saturating_mul(size_of::<T>());
        let backing = Backing::Allocated { bytes, contiguous };
        let inner = collective::blocking(process, Collective::AllocateWindow, |rank| {
            let own = rank.dup(comm)?;
            rank.create_window(own, backing, size_of::<T>() as u64, None)
        })?;
        // Where time is virtual, memory of others is reached in its order alone; ranks are fibers of one thread there.
        let is_far = process.rank().fabric().virtual_time().is_some();
        let far = if is_far { Some(lengths::<T>(process, &inner, len)?) } else { None };
        let mut window =
            Window { process, inner, far, is_whole: true, is_lost: false, _elements: PhantomData };
        let mut end = None;
        for member in 0..comm.size() {
            let Some((base, bytes, unit)) = window.inner.memory_of(member) else {
                if is_far {
                    window.is_whole = false;
                    continue;
                }
                let reason = "this rank cannot address it, as slices and atomic operations need it";
                return Err(engine::Error::WindowReach { target: member, reason }.into());
            };
            if unit != size_of::<T>() as u64 {
                return Err(unlike::<T>(member, unit));
            }
            // Parts begin at pages, or where elements of the same size have ended: enough for all but the roundest addresses.
            if !base.addr().is_multiple_of(align_of::<T>().max(word::<T>())) {
                let reason = "it does not begin at an address that the elements' alignment allows";
                return Err(engine::Error::WindowReach { target: member, reason }.into());
            }
            window.is_whole &= end.replace(base.wrapping_add(bytes as usize)).is_none_or(|end| end == base);
        }
        Ok(window)
    }

    /// This rank's number in the window.
    pub fn rank(&self) -> usize {
        self.inner.comm().rank() as usize
    }

    /// How many ranks have a part in the window.
    pub fn size(&self) -> usize {
        self.inner.comm().size() as usize
    }

    /// How many elements a rank has.
    pub fn len_of(&self, rank: usize) -> Result<usize> {
        Ok(self.len_at(self.member(rank)?))
    }

    /// Waits for all ranks (MPI_Win_fence): what each of them has done before, all of them see after it. All ranks call it.
    #[track_caller]
    pub fn fence(&mut self) -> Result<()> {
        self.agree(Phase::Fence)
    }

    /// Lets each rank use its own part as a plain slice, while nobody reaches into it (two calls of MPI_Win_fence and what is between them). All ranks call it, and wait for each other
    /// before and after.
    ///
    /// ```
    /// corelace::Job::new(3).try_run(|world| {
    ///     let mut window = world.allocate_window::<u64>(4)?;
    ///     window.local(|mine| mine.fill(world.rank() as u64))?;
    ///     let next = (world.rank() + 1) % 3;
    ///     assert_eq!(window.lock_all()?.at(next)?.get(2)?, next as u64);
    ///     Ok(window.free()?)
    /// })?;
    /// # Ok::<(), corelace::RunError>(())
    /// ```
    ///
    /// The slice is gone when the closure ends:
    ///
    /// ```compile_fail
    /// # corelace::run(3, |world| {
    /// # let mut window = world.allocate_window::<u64>(4).unwrap();
    /// let kept = window.local(|mine| mine).unwrap();
    /// # }).unwrap();
    /// ```
    ///
    /// and a lock cannot be kept meanwhile:
    ///
    /// ```compile_fail,E0502
    /// # corelace::run(3, |world| {
    /// # let mut window = world.allocate_window::<u64>(4).unwrap();
    /// let all = window.lock_all().unwrap();
    /// window.local(|mine| mine[0] = all.at(0).unwrap().get(0).unwrap()).unwrap();
    /// # }).unwrap();
    /// ```
    #[track_caller]
    pub fn local<R>(&mut self, body: impl FnOnce(&mut [T]) -> R) -> Result<R> {
        let (base, len) = self.addressed(self.inner.comm().rank())?;
        self.phase(Phase::Local, |_| {
            // SAFETY: memory of this rank's part, in a phase in which every rank has its own alone.
            body(unsafe { slice::from_raw_parts_mut(base, len) })
        })
    }

    /// Lets all ranks read all parts as plain slices, while nobody changes any. All ranks call it, and wait for each other before and after.
    ///
    /// ```
    /// corelace::Job::new(3).try_run(|world| {
    ///     let mut window = world.allocate_shared_window::<u64>(2)?;
    ///     window.local(|mine| mine.fill(10 + world.rank() as u64))?;
    ///     window.read(|all| {
    ///         assert_eq!(all.of(1), Some(&[11, 11][..]));
    ///         // The parts of a shared window follow each other.
    ///         assert_eq!(all.whole(), Some(&[10, 10, 11, 11, 12, 12][..]));
    ///     })?;
    ///     Ok(window.free()?)
    /// })?;
    /// # Ok::<(), corelace::RunError>(())
    /// ```
    #[track_caller]
    pub fn read<R>(&mut self, body: impl FnOnce(&Segments<'_, T>) -> R) -> Result<R> {
        self.phase(Phase::Read, |window| body(&Segments { window }))
    }

    /// Lets all ranks reach into all parts without locks (two calls of MPI_Win_fence and what is between them). All ranks call it, and wait for each other before and after, also if the
    /// closure returns an error.
    ///
    /// ```
    /// corelace::Job::new(4).try_run(|world| {
    ///     let mut window = world.allocate_window::<u32>(4)?;
    ///     window.fenced(|epoch| {
    ///         // One row of a matrix that is transposed.
    ///         (0..4).try_for_each(|there| epoch.at(there)?.put(world.rank(), &(10 * world.rank() as u32 + there as u32)))
    ///     })?;
    ///     window.local(|mine| assert_eq!(*mine, [0, 10, 20, 30].map(|ten| ten + world.rank() as u32)))?;
    ///     Ok(window.free()?)
    /// })?;
    /// # Ok::<(), corelace::RunError>(())
    /// ```
    #[track_caller]
    pub fn fenced<R>(&mut self, body: impl FnOnce(&Epoch<'_, T>) -> Result<R>) -> Result<R> {
        self.phase(Phase::Fenced, |window| {
            if !window.is_far() {
                return body(&Epoch { window });
            }
            // The engine has to know of the epoch, too.
            window.fence_of_engine(false)?;
            let result = body(&Epoch { window });
            window.fence_of_engine(true)?;
            result
        })?
    }

    /// Locks a rank's part, shared with others who do that (MPI_Win_lock with MPI_LOCK_SHARED). Given back when it is dropped.
    #[track_caller]
    pub fn lock_shared(&self, rank: usize) -> Result<SharedLock<'_, T>> {
        let member = self.lock(rank, false)?;
        Ok(SharedLock { remote: Remote::new(self, member) })
    }

    /// Locks a rank's part for this rank alone (MPI_Win_lock with MPI_LOCK_EXCLUSIVE): it is a plain slice until the lock is dropped, whose ever it is.
    /// On a chip, ranks of other clusters are refused: their memory is not addressed.
    ///
    /// ```
    /// corelace::Job::new(4).try_run(|world| {
    ///     let mut window = world.allocate_window::<u64>(2)?;
    ///     for _ in 0..100 {
    ///         let mut pair = window.lock_exclusive(0)?;
    ///         // Two numbers that nobody sees half changed.
    ///         pair[0] += 1;
    ///         pair[1] = 2 * pair[0];
    ///     }
    ///     window.fence()?;
    ///     assert_eq!(*window.lock_exclusive(0)?, [400, 800]);
    ///     Ok(window.free()?)
    /// })?;
    /// # Ok::<(), corelace::RunError>(())
    /// ```
    ///
    /// Who uses the slice keeps the lock:
    ///
    /// ```compile_fail,E0505
    /// # corelace::run(1, |world| {
    /// # let window = world.allocate_window::<u64>(2).unwrap();
    /// let mut lock = window.lock_exclusive(0).unwrap();
    /// let slice: &mut [u64] = &mut lock;
    /// drop(lock);
    /// slice[0] = 1;
    /// # }).unwrap();
    /// ```
    #[track_caller]
    pub fn lock_exclusive(&self, rank: usize) -> Result<ExclusiveLock<'_, T>> {
        let (base, len) = self.addressed(self.member(rank)?)?;
        let member = self.lock(rank, true)?;
        Ok(ExclusiveLock { window: self, member, base, len, _slices: PhantomData })
    }

    /// Locks all parts, shared with others who do that (MPI_Win_lock_all). Given back when it is dropped.
    #[track_caller]
    pub fn lock_all(&self) -> Result<LockAll<'_, T>> {
        self.is_usable()?;
        let lock = || self.process.call(|rank| rank.lock_all(&self.inner, false));
        self.process.noted(Activity::Lock { of: None }, lock)?;
        Ok(LockAll { window: self })
    }

    /// Gives the memory back (MPI_Win_free). All ranks call it, and wait for each other. A window that is dropped instead keeps its memory until the job ends.
    #[track_caller]
    pub fn free(mut self) -> Result<()> {
        self.process.call(|rank| {
            rank.close_window(&self.inner);
            Ok(())
        })?;
        self.agree(Phase::Free)?;
        self.process.call(|rank| {
            rank.free_window(&self.inner, None);
            Ok(())
        })
    }

    /// Runs something that all members do at the same time.
    #[track_caller]
    fn phase<R>(&mut self, phase: Phase, body: impl FnOnce(&Window<'_, T>) -> R) -> Result<R> {
        self.agree(phase)?;
        // Until all have come to its end: a panic leaves it so.
        self.is_lost = true;
        let result = body(self);
        self.tell(Phase::End)?;
        self.is_lost = false;
        Ok(result)
    }

    /// Waits for all members, who want the same if this succeeds, and have neither slices nor locks.
    #[track_caller]
    fn agree(&mut self, phase: Phase) -> Result<()> {
        let usable = self.is_usable().and_then(|()| {
            // The lock that a program has forgotten is still there.
            self.process.call(|rank| rank.may_free_window(&self.inner))
        });
        if usable.is_err() {
            let _ = self.tell(Phase::Refused);
            return usable;
        }
        self.tell(phase)
    }

    /// Tells all members what this one does next; an error if they do not all say the same.
    #[track_caller]
    fn tell(&mut self, phase: Phase) -> Result<()> {
        let mine = [phase as i32, -(phase as i32)];
        let mut highest = [0; 2];
        let was_lost = std::mem::replace(&mut self.is_lost, true);
        let mut lent = reduction::allreduce(
            self.process,
            Some(mine[..].into()),
            highest[..].as_mut().into(),
            &op::max(),
            self.inner.comm(),
        )?;
        lent.which = Collective::Fence;
        lent.run(self.process)?;
        // All members have come here, and know the same. Only at a phase's end it can be that they cannot go on.
        self.is_lost = was_lost;
        match highest {
            highest if highest == mine => Ok(()),
            [highest, _] if highest == Phase::Refused as i32 => Err(epoch(
                "another rank cannot take part, because it holds a lock that it has forgotten or has left a phase by a panic or an error",
            )),
            _ => {
                Err(epoch("the ranks call different methods of the window, expected the same at all of them"))
            }
        }
    }

    #[track_caller]
    fn lock(&self, rank: usize, exclusive: bool) -> Result<u32> {
        self.is_usable()?;
        let member = self.member(rank)?;
        let lock = || self.process.call(|rank| rank.lock_window(&self.inner, Some(member), exclusive, false));
        self.process.noted(Activity::Lock { of: Some(member) }, lock)?;
        Ok(member)
    }

    /// Gives a lock back, without a word: a rank whose job has stalled has none any more.
    fn unlock(&self, member: Option<u32>) {
        let _ = self.process.attempt(|rank| match member {
            Some(_) => rank.unlock_window(&self.inner, member),
            None => rank.unlock_all(&self.inner),
        });
    }

    fn is_usable(&self) -> Result<()> {
        if self.is_lost {
            return Err(epoch(
                "a phase of the window was left by a panic or an error, expected no further use of it",
            ));
        }
        Ok(())
    }

    /// Where a member's elements are, and how many; `None` if this rank does not address them.
    fn find(&self, member: u32) -> Option<(*mut T, usize)> {
        let (base, bytes, _) = self.inner.memory_of(member)?;
        Some((base.cast(), bytes as usize / size_of::<T>()))
    }

    /// The same for a window whose parts are addressed by all members.
    #[inline]
    pub(super) fn part(&self, member: u32) -> (*mut T, usize) {
        self.find(member).expect("it was there when the window was made")
    }

    fn addressed(&self, member: u32) -> Result<(*mut T, usize)> {
        let reason = "this rank cannot address it, as a slice has to be";
        Ok(self.find(member).ok_or(engine::Error::WindowReach { target: member, reason })?)
    }

    /// True if members are reached through the engine.
    #[inline]
    pub(super) fn is_far(&self) -> bool {
        self.far.is_some()
    }

    /// How many elements a member has.
    pub(super) fn len_at(&self, member: u32) -> usize {
        self.far.as_ref().map_or_else(|| self.part(member).1, |lengths| lengths[member as usize])
    }

    #[track_caller]
    fn fence_of_engine(&self, nothing_follows: bool) -> Result<()> {
        collective::blocking(self.process, Collective::Fence, |rank| rank.fence(&self.inner, nothing_follows))
    }

    fn member(&self, rank: usize) -> Result<u32> {
        let size = self.inner.comm().size();
        let member = u32::try_from(rank).ok().filter(|member| *member < size);
        Ok(member.ok_or(engine::Error::Rank { role: "target", given: number(rank), size })?)
    }

    /// What was done is done: only its order is left to be kept, which the engine knows nothing of.
    fn flush(&self, member: Option<u32>) -> Result<()> {
        fence(Ordering::SeqCst);
        self.process.call(|rank| rank.flush_window(&self.inner, member))
    }
}

/// How many elements each member has, who tell each other.
fn lengths<T: Datatype>(process: &Process, inner: &engine::Window, len: usize) -> Result<Box<[usize]>> {
    let mine = [len as u64, size_of::<T>() as u64];
    let mut all = vec![0; 2 * inner.comm().size() as usize];
    collective::allgather(process, mine[..].into(), all[..].as_mut().into(), inner.comm())?.run(process)?;
    let lengths = all.chunks(2).enumerate().map(|(member, told)| match told {
        [len, unit] if *unit == mine[1] => Ok(*len as usize),
        _ => Err(unlike::<T>(member as u32, told[1])),
    });
    lengths.collect()
}

fn unlike<T>(member: u32, unit: u64) -> Error {
    let own = size_of::<T>();
    Error::length(format!(
        "rank {member} of the window has elements of {unit} bytes and this one of {own}, expected the same type at all ranks"
    ))
}

fn epoch(reason: &'static str) -> Error {
    engine::Error::Epoch { reason }.into()
}

impl<T: Datatype> std::fmt::Debug for Window<'_, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Window(rank {} of {})", self.rank(), self.size())
    }
}

/// All parts of a window, for the time of [`Window::read`].
pub struct Segments<'p, T: Datatype> {
    window: &'p Window<'p, T>,
}

impl<'p, T: Datatype> Segments<'p, T> {
    /// The part of a rank; `None` if there is no such rank, or, on a chip, if it has its memory elsewhere.
    pub fn of(&self, rank: usize) -> Option<&'p [T]> {
        let (base, len) = self.window.find(self.window.member(rank).ok()?)?;
        // SAFETY: memory of the window, in a phase in which nobody changes it.
        Some(unsafe { slice::from_raw_parts(base, len) })
    }

    /// All parts as one slice, in the order of ranks; `None` if there are gaps between them, which a [shared](crate::Communicator::allocate_shared_window) window does not have.
    pub fn whole(&self) -> Option<&'p [T]> {
        let (base, _) = self.window.find(0).filter(|_| self.window.is_whole)?;
        let len = (0..self.window.inner.comm().size()).map(|member| self.window.len_at(member)).sum();
        // SAFETY: as above; the parts lie in one piece of memory, which the pointer to the first was made for, without gaps.
        Some(unsafe { slice::from_raw_parts(base, len) })
    }
}

/// A time in which this rank reaches into all parts, for the time of [`Window::fenced`].
pub struct Epoch<'p, T: Datatype> {
    window: &'p Window<'p, T>,
}

impl<T: Datatype> Epoch<'_, T> {
    /// The part of a rank.
    pub fn at(&self, rank: usize) -> Result<Remote<'_, T>> {
        Ok(Remote::new(self.window, self.window.member(rank)?))
    }
}

/// A shared lock of all parts of a window; see [`Window::lock_all`].
#[must_use = "the lock is given back when it is dropped"]
pub struct LockAll<'w, T: Datatype> {
    window: &'w Window<'w, T>,
}

impl<T: Datatype> LockAll<'_, T> {
    /// The part of a rank.
    pub fn at(&self, rank: usize) -> Result<Remote<'_, T>> {
        Ok(Remote::new(self.window, self.window.member(rank)?))
    }

    /// What this rank has done at all parts is done there (MPI_Win_flush_all), before what it does from now on.
    pub fn flush(&self) -> Result<()> {
        self.window.flush(None)
    }
}

impl<T: Datatype> Drop for LockAll<'_, T> {
    fn drop(&mut self) {
        self.window.unlock(None);
    }
}

/// A shared lock of a part of a window, which is used as [`Remote`]; see [`Window::lock_shared`].
#[must_use = "the lock is given back when it is dropped"]
pub struct SharedLock<'w, T: Datatype> {
    remote: Remote<'w, T>,
}

impl<T: Datatype> SharedLock<'_, T> {
    /// What this rank has done at the part is done there (MPI_Win_flush), before what it does from now on.
    pub fn flush(&self) -> Result<()> {
        self.remote.window.flush(Some(self.remote.member))
    }
}

impl<'w, T: Datatype> Deref for SharedLock<'w, T> {
    type Target = Remote<'w, T>;

    fn deref(&self) -> &Remote<'w, T> {
        &self.remote
    }
}

impl<T: Datatype> Drop for SharedLock<'_, T> {
    fn drop(&mut self) {
        self.remote.window.unlock(Some(self.remote.member));
    }
}

/// A lock of a part of a window that nobody else has: a slice; see [`Window::lock_exclusive`].
#[must_use = "the lock is given back when it is dropped"]
pub struct ExclusiveLock<'w, T: Datatype> {
    window: &'w Window<'w, T>,
    member: u32,
    base: *mut T,
    len: usize,
    _slices: PhantomData<&'w mut [T]>,
}

impl<T: Datatype> Deref for ExclusiveLock<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: the part is reached by those alone who have a lock of it, which this one excludes, and here as Rust's rules for the lock itself say.
        unsafe { slice::from_raw_parts(self.base, self.len) }
    }
}

impl<T: Datatype> DerefMut for ExclusiveLock<'_, T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above.
        unsafe { slice::from_raw_parts_mut(self.base, self.len) }
    }
}

impl<T: Datatype> Drop for ExclusiveLock<'_, T> {
    fn drop(&mut self) {
        self.window.unlock(Some(self.member));
    }
}

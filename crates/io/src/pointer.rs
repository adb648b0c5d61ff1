//! The pointer that all ranks of a file share (MPI section 14.4.4): a number in memory that they share, changed by atomic operations. Nobody holds a lock for
//! it, so none is left behind by a rank that ends.

use std::cell::Cell;
use std::sync::atomic::{AtomicI64, Ordering};

use engine::datatype::Basic;
use engine::{Aim, Backing, Builtin, Comm, Crossing, Datatype, Rank, RecvBuffer, SendBuffer, Window};

use crate::error::Result;

/// The shared pointer of a file.
pub(crate) struct SharedPointer {
    place: Place,
    rank: &'static Rank,
}

enum Place {
    /// There is nobody to share with.
    Own(Cell<i64>),
    /// In memory that this rank reaches.
    Near(Window, *const AtomicI64),
    /// In memory of the first member.
    Far(Window),
}

impl SharedPointer {
    /// Collective. `home` leads to the lane that has the memory which ranks share.
    pub fn new(rank: &'static Rank, comm: &Comm, home: Option<&Crossing<'_>>) -> Result<SharedPointer> {
        if comm.size() == 1 {
            return Ok(SharedPointer { place: Place::Own(Cell::new(0)), rank });
        }
        let bytes = if comm.rank() == 0 { size_of::<i64>() } else { 0 };
        let backing = Backing::Allocated { bytes, contiguous: false };
        let window = rank.create_window(comm.clone(), backing, 1, home)?;
        let place = match window.memory_of(0) {
            Some((base, ..)) => Place::Near(window, base.cast::<AtomicI64>().cast_const()),
            None => {
                rank.lock_all(&window, true)?;
                Place::Far(window)
            }
        };
        Ok(SharedPointer { place, rank })
    }

    /// Adds to it; what it was.
    pub fn add(&self, by: i64) -> Result<i64> {
        match &self.place {
            Place::Own(value) => Ok(value.replace(value.get() + by)),
            Place::Near(_, word) => Ok(number(*word).fetch_add(by, Ordering::AcqRel)),
            Place::Far(window) => self.far(window, by, Builtin::Sum),
        }
    }

    pub fn value(&self) -> Result<i64> {
        self.add(0)
    }

    pub fn set(&self, value: i64) -> Result {
        match &self.place {
            Place::Own(own) => own.set(value),
            Place::Near(_, word) => number(*word).store(value, Ordering::Release),
            Place::Far(window) => {
                self.far(window, value, Builtin::Replace)?;
            }
        }
        Ok(())
    }

    fn far(&self, window: &Window, operand: i64, op: Builtin) -> Result<i64> {
        let datatype = Datatype::basic(Basic::I64);
        let mut before = 0_i64;
        // SAFETY: numbers of this function, which waits until the operation is complete.
        let (from, fetched) = unsafe {
            (
                SendBuffer::new((&raw const operand).cast(), 1, &datatype),
                RecvBuffer::new((&raw mut before).cast(), 1, &datatype),
            )
        };
        let aim = Aim { target: 0, displacement: 0, count: 1, datatype: &datatype };
        self.rank.fetch_and_op(window, Some(&from), &fetched, &aim, op)?;
        self.rank.flush_window(window, Some(0))?;
        // SAFETY: a number of this function, written by the operation.
        Ok(unsafe { (&raw const before).read_volatile() })
    }

    /// Gives its memory up. Collective: nobody uses it any more.
    pub fn free(&self, home: Option<&Crossing<'_>>) -> Result {
        match &self.place {
            Place::Own(_) => {}
            Place::Near(window, _) => self.rank.free_window(window, home),
            Place::Far(window) => {
                self.rank.unlock_all(window)?;
                self.rank.free_window(window, home);
            }
        }
        Ok(())
    }
}

fn number<'a>(word: *const AtomicI64) -> &'a AtomicI64 {
    // SAFETY: in the window's memory, which lives until all members free it and begins at a multiple of a page; all use it as this number only.
    unsafe { &*word }
}

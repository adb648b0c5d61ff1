//! Partitioned messages: the sender says part by part that its data may be read, the receiver asks part by part (MPI chapter 4).
//!
//! The message travels as a whole when all of its parts are ready. So a part can be written until it is said to be ready, and nothing is read before
//! all are; and what has arrived is not written any more.

use std::cell::Cell;
use std::marker::PhantomData;
use std::ops::Range;
use std::ptr;
use std::rc::Rc;

use engine::Comm;

use super::Datatype;
use super::elements::{recv_buffer, send_buffer};
use super::persistent::Kept;
use super::scope::{Life, Pending};
use crate::address::{Inward, Outward};
use crate::error::{Error, Result};
use crate::status::Status;

/// A partitioned send; see [`Scope::partitioned_send`](crate::Scope::partitioned_send).
pub struct PartitionedSend<'scope, T> {
    kept: Kept<'scope>,
    items: *mut [T],
    /// Which parts are ready.
    marked: Vec<bool>,
    /// All are.
    ready: Rc<Cell<bool>>,
    _borrow: PhantomData<&'scope mut [T]>,
}

/// A partitioned receive; see [`Scope::partitioned_recv`](crate::Scope::partitioned_recv).
pub struct PartitionedRecv<'scope, T> {
    kept: Kept<'scope>,
    items: *mut [T],
    partitions: usize,
    _borrow: PhantomData<&'scope mut [T]>,
}

/// A partitioned send under way: its partitions are filled and marked as ready. Dropping it marks all that are left.
#[must_use = "the message leaves when all partitions are ready"]
pub struct SendRound<'r, 'scope, T> {
    send: &'r mut PartitionedSend<'scope, T>,
}

/// A partitioned receive under way. Dropping it does no harm: the slice is out of reach until the message has come.
#[must_use = "the slice can be reached once this was waited for"]
pub struct RecvRound<'r, 'scope, T> {
    receive: &'r mut PartitionedRecv<'scope, T>,
}

impl<'scope, T: Datatype> PartitionedSend<'scope, T> {
    /// Starts it (MPI_Start): no partition is ready. Waits for a round that was lost.
    #[track_caller]
    pub fn start<'r>(&'r mut self) -> Result<SendRound<'r, 'scope, T>> {
        self.kept.rest()?;
        self.marked.fill(false);
        self.ready.set(false);
        self.kept.start()?;
        Ok(SendRound { send: self })
    }

    /// The elements, between rounds. Waits for a round that was lost.
    #[track_caller]
    pub fn items(&mut self) -> Result<&mut [T]> {
        self.kept.rest()?;
        // SAFETY: made from an exclusive borrow for longer than this, and nothing is under way; nothing can be started while this is used.
        Ok(unsafe { &mut *self.items })
    }
}

impl<T: Datatype> SendRound<'_, '_, T> {
    /// A partition that is not ready, to be filled.
    pub fn partition(&mut self, index: usize) -> Result<&mut [T]> {
        if self.is_ready(index)? {
            return Err(Error::length(format!(
                "partition {index} was marked as ready before, expected one that may still be changed"
            )));
        }
        // SAFETY: a part of what was borrowed exclusively for longer than this. The engine reads nothing before all partitions are ready, which this
        // one cannot become while it is lent out.
        Ok(unsafe { &mut *part(self.send.items, self.send.marked.len(), index) })
    }

    /// All partitions that are not ready, with their numbers: to be filled by several threads.
    pub fn unready(&mut self) -> Vec<(usize, &mut [T])> {
        let partitions = self.send.marked.len();
        let open = (0..partitions).filter(|index| !self.send.marked[*index]);
        // SAFETY: as in `partition`; each is lent out once, and partitions have no element in common.
        open.map(|index| (index, unsafe { &mut *part(self.send.items, partitions, index) })).collect()
    }

    /// True if a partition was marked as ready.
    pub fn is_ready(&self, index: usize) -> Result<bool> {
        self.send.marked.get(index).copied().ok_or_else(|| out_of_range(index, self.send.marked.len()))
    }

    /// Marks a partition as ready (MPI_Pready). It cannot be changed any more in this round; the last one lets the message go.
    pub fn ready(&mut self, index: usize) -> Result<()> {
        self.ready_range(index..index.saturating_add(1))
    }

    /// As [`ready`](SendRound::ready), for several partitions (MPI_Pready_range). None is marked if one of them cannot be.
    pub fn ready_range(&mut self, range: Range<usize>) -> Result<()> {
        for index in range.clone() {
            if self.is_ready(index)? {
                return Err(Error::length(format!(
                    "partition {index} was marked as ready before, expected each once in a round"
                )));
            }
        }
        self.send.marked[range].fill(true);
        if self.send.marked.iter().all(|marked| *marked) {
            self.send.ready.set(true);
            // It leaves now, and not when the program waits for it.
            let id = self.send.kept.0.id();
            self.send.kept.0.process().call(|rank| rank.peek(id))?;
        }
        Ok(())
    }

    /// Waits until the message is sent and all partitions may be changed. Partitions that are not ready become so.
    #[track_caller]
    pub fn wait(self) -> Result<()> {
        self.send.kept.rest()
    }
}

impl<T> Drop for SendRound<'_, '_, T> {
    fn drop(&mut self) {
        self.send.ready.set(true);
    }
}

impl<'scope, T: Datatype> PartitionedRecv<'scope, T> {
    /// Starts it (MPI_Start). Waits for a round that was lost.
    #[track_caller]
    pub fn start<'r>(&'r mut self) -> Result<RecvRound<'r, 'scope, T>> {
        self.kept.rest()?;
        self.kept.start()?;
        Ok(RecvRound { receive: self })
    }

    /// The elements, between rounds. Waits for a round that was lost.
    #[track_caller]
    pub fn items(&mut self) -> Result<&mut [T]> {
        self.kept.rest()?;
        // SAFETY: as of the send.
        Ok(unsafe { &mut *self.items })
    }
}

impl<T: Datatype> RecvRound<'_, '_, T> {
    /// True once a partition has arrived; makes progress if it has not (MPI_Parrived).
    pub fn arrived(&mut self, index: usize) -> Result<bool> {
        if index >= self.receive.partitions {
            return Err(out_of_range(index, self.receive.partitions));
        }
        self.receive.kept.0.test()
    }

    /// A partition, if it has arrived.
    pub fn partition(&mut self, index: usize) -> Result<Option<&[T]>> {
        if !self.arrived(index)? {
            return Ok(None);
        }
        // SAFETY: a part of what was borrowed exclusively for longer than this; the engine has let go of it, and nothing can be started while this
        // is used.
        Ok(Some(unsafe { &*part(self.receive.items, self.receive.partitions, index) }))
    }

    /// Waits for the whole message.
    #[track_caller]
    pub fn wait(self) -> Result<Status> {
        self.receive.kept.0.settle().map(Status)
    }
}

impl<'p> Pending<'p> {
    /// Describes a partitioned send.
    pub fn partitioned_send<'scope, T: Datatype>(
        &'scope self,
        items: &'scope mut [T],
        partitions: usize,
        to: Outward,
        comm: &Comm,
    ) -> Result<PartitionedSend<'scope, T>> {
        check_partitions(items.len(), partitions)?;
        let (items, ready): (*mut [T], Rc<Cell<bool>>) = (items, Rc::default());
        // SAFETY: borrowed for `'scope`, before whose end it is complete; it is lent out only where the engine does not read it.
        let buffer = unsafe { send_buffer(self.process(), items) };
        let id = self.process().call(|rank| rank.partitioned_send(&buffer, &ready, to.dest, to.tag, comm))?;
        let kept = Kept(self.add(id, to.activity(), Life::Held(ready.clone())));
        Ok(PartitionedSend { kept, items, marked: vec![false; partitions], ready, _borrow: PhantomData })
    }

    /// Describes a partitioned receive.
    pub fn partitioned_receive<'scope, T: Datatype>(
        &'scope self,
        items: &'scope mut [T],
        partitions: usize,
        from: Inward,
        comm: &Comm,
    ) -> Result<PartitionedRecv<'scope, T>> {
        check_partitions(items.len(), partitions)?;
        let (engine::TagMatch::Is(tag), engine::Source::Rank(_) | engine::Source::Null) =
            (from.tag, from.source)
        else {
            return Err(Error::length(String::from(
                "a partitioned receive is given any source or any tag, expected one of each: it has no wildcards",
            )));
        };
        let items: *mut [T] = items;
        // SAFETY: as of the send.
        let buffer = unsafe { recv_buffer(self.process(), items) };
        let id = self.process().call(|rank| rank.partitioned_receive(&buffer, from.source, tag, comm))?;
        let kept = Kept(self.add(id, from.activity(), Life::Kept));
        Ok(PartitionedRecv { kept, items, partitions, _borrow: PhantomData })
    }
}

fn check_partitions(items: usize, partitions: usize) -> Result<()> {
    if partitions == 0 || !items.is_multiple_of(partitions) {
        return Err(Error::length(format!(
            "{items} elements cannot be split into {partitions} equal partitions, expected a number of partitions that divides them"
        )));
    }
    Ok(())
}

/// Where a partition lies; it exists.
fn part<T>(items: *mut [T], partitions: usize, index: usize) -> *mut [T] {
    let each = items.len() / partitions;
    ptr::slice_from_raw_parts_mut(items.cast::<T>().wrapping_add(index * each), each)
}

fn out_of_range(index: usize, partitions: usize) -> Error {
    Error::length(format!("partition is {index}, expected 0 to {}", partitions - 1))
}

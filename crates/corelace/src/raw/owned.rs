//! Operations on owned memory: the request holds the vector, and hands it to the process if it is dropped too early.

use std::mem::{self, ManuallyDrop};

use engine::{Comm, Mode, RequestId};

use super::elements::{recv_buffer, send_buffer};
use super::flight::{cancel, complete};
use super::scope::test;
use super::{Datatype, Process};
use crate::activity::Activity;
use crate::address::{Inward, Outward};
use crate::error::Result;

/// A started operation on a vector of its own.
pub(crate) struct Owned<'p, T: Datatype> {
    process: &'p Process,
    id: RequestId,
    activity: Activity,
    /// Freed only after the operation: forgetting this value leaks the vector, dropping it hands the vector on.
    items: ManuallyDrop<Vec<T>>,
}

impl<'p, T: Datatype> Owned<'p, T> {
    /// Starts a send.
    pub fn send(process: &'p Process, mode: Mode, items: Vec<T>, to: Outward, comm: &Comm) -> Result<Self> {
        let items = ManuallyDrop::new(items);
        // SAFETY: the vector's memory neither moves nor changes nor is freed before the operation is complete: it is out of
        // reach in here, and `wait` and `drop` see to its end.
        let buffer = unsafe { send_buffer(process, &items[..]) };
        Owned::start(process, items, to.activity(), |rank| rank.isend(mode, &buffer, to.dest, to.tag, comm))
    }

    /// Starts a receive.
    pub fn receive(process: &'p Process, items: Vec<T>, from: Inward, comm: &Comm) -> Result<Self> {
        let mut items = ManuallyDrop::new(items);
        // SAFETY: as in `send`; nobody reads it either.
        let buffer = unsafe { recv_buffer(process, &mut items[..]) };
        Owned::start(process, items, from.activity(), |rank| rank.irecv(&buffer, from.source, from.tag, comm))
    }

    fn start(
        process: &'p Process,
        mut items: ManuallyDrop<Vec<T>>,
        activity: Activity,
        start: impl FnOnce(&engine::Rank) -> engine::Result<RequestId>,
    ) -> Result<Self> {
        match process.attempt(start) {
            Ok(id) => Ok(Owned { process, id, activity, items }),
            Err(error) => {
                // SAFETY: nothing was started; the vector is not used again.
                unsafe { ManuallyDrop::drop(&mut items) };
                process.unwind_if_stalled();
                Err(error)
            }
        }
    }

    /// The engine's name of the request.
    pub fn id(&self) -> RequestId {
        self.id
    }

    /// The process.
    pub fn process(&self) -> &'p Process {
        self.process
    }

    /// True once the operation is complete; makes progress if it is not.
    pub fn test(&self) -> Result<bool> {
        test(self.process, self.id)
    }

    /// Waits for the operation and gives the vector back.
    #[track_caller]
    pub fn wait(mut self) -> Result<(Vec<T>, engine::Status)> {
        let outcome = complete(self.process, self.id, self.activity);
        // SAFETY: the operation is complete, or its job has stalled and no rank of it uses memory of another any more. The value is
        // forgotten: nobody takes the vector twice.
        let items = unsafe { ManuallyDrop::take(&mut self.items) };
        mem::forget(self);
        outcome.map(|status| (items, status))
    }
}

impl<T: Datatype> Drop for Owned<'_, T> {
    fn drop(&mut self) {
        if matches!(self.activity, Activity::Receive { .. }) {
            cancel(self.process, self.id);
        }
        // SAFETY: the value ends here, so nobody takes the vector twice; the process frees it once the operation is complete.
        let items = unsafe { ManuallyDrop::take(&mut self.items) };
        self.process.adopt(self.id, Box::new(items));
    }
}

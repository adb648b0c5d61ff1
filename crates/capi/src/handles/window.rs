//! Windows (MPI chapter 12): what the C interface has of them, a handle above all. What members reach is [`Memory`].

use std::ops::Deref;
use std::rc::Rc;

use crate::abi::types::MPI_Win;
use crate::handles::{Comm, Kind, Memory, Table};

/// A window of the program: a duplicate of the communicator that it was made from, which the program does not see, with memory. The members speak
/// to each other by it, and its name, error handler, attributes and hints are the window's.
pub(crate) struct Window(Rc<Comm>);

impl Deref for Window {
    type Target = Comm;

    fn deref(&self) -> &Comm {
        &self.0
    }
}

impl Window {
    #[inline]
    pub(crate) fn memory(&self) -> &Memory {
        self.0.memory.as_deref().expect("every window has some")
    }

    /// The engine's window.
    #[inline]
    pub(crate) fn inner(&self) -> &engine::Window {
        &self.memory().window
    }
}

/// The windows of a process.
pub(crate) struct Windows(Table<Rc<Comm>>);

impl Windows {
    pub(crate) const fn new() -> Self {
        Self(Table::new(Kind::Win))
    }

    pub(crate) fn get(&self, handle: MPI_Win) -> Option<Window> {
        self.0.get(handle.0).map(Window)
    }

    /// The engine's window of a live handle, while the program frees nothing: for the time of a call that runs no code of its.
    #[inline(always)]
    pub(crate) fn look(&self, handle: MPI_Win) -> Option<&engine::Window> {
        Some(&self.0.look(handle.0)?.memory.as_deref()?.window)
    }

    pub(crate) fn insert(&self, mut own: Comm, memory: Memory) -> MPI_Win {
        own.memory = Some(Box::new(memory));
        MPI_Win(own.store(&self.0))
    }

    pub(crate) fn remove(&self, handle: MPI_Win) -> Option<Window> {
        self.0.remove(handle.0).map(Window)
    }

    /// The window whose messages have this context: its communicator.
    pub(crate) fn of_context(&self, context: u32) -> Option<Rc<Comm>> {
        Comm::of_context(&self.0, context)
    }

    /// The communicators that windows are.
    pub(crate) fn table(&self) -> &Table<Rc<Comm>> {
        &self.0
    }
}

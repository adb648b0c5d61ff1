//! Communicators: the engine's, with what only the C interface has: a handle, a name, an error handler, attributes, hints.

use core::ffi::c_int;
use std::cell::{Cell, OnceCell, RefCell};
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::ptr;
use std::rc::Rc;
use std::sync::Arc;

use engine::topology::Topology;

use crate::abi::constants::*;
use crate::abi::types::MPI_Comm;
use crate::handles::{Attributes, Errhandler, Info, Kind, Memory, Table};

/// A communicator of the program.
pub(crate) struct Comm {
    pub(crate) comm: engine::Comm,
    handle: Cell<MPI_Comm>,
    pub(crate) errhandler: RefCell<Arc<Errhandler>>,
    pub(crate) attributes: Attributes,
    pub(crate) name: RefCell<String>,
    /// The function that has made it, and where that was called; 0 if unknown.
    pub(crate) made: Cell<Option<(&'static str, u64)>>,
    pub(crate) info: Info,
    /// That of a window, if it is one's.
    pub(crate) memory: Option<Box<Memory>>,
}

impl Comm {
    pub(crate) fn new(comm: engine::Comm, errhandler: Arc<Errhandler>) -> Self {
        Self {
            comm,
            handle: Cell::new(MPI_COMM_NULL),
            errhandler: RefCell::new(errhandler),
            attributes: Attributes::default(),
            name: RefCell::default(),
            made: Cell::default(),
            info: Info::default(),
            memory: None,
        }
    }

    /// The handle under which it is stored.
    pub(crate) fn handle(&self) -> MPI_Comm {
        self.handle.get()
    }

    /// Puts it into a table; returns its handle there, which tells its lane.
    pub(super) fn store(self, table: &Table<Rc<Comm>>) -> usize {
        let lane = self.comm.lane();
        let comm = Rc::new(self);
        let handle = table.insert_in(lane, Rc::clone(&comm));
        comm.handle.set(MPI_Comm(handle));
        handle
    }

    /// The one in a table whose messages have this context.
    #[inline(never)]
    pub(super) fn of_context(table: &Table<Rc<Comm>>, context: u32) -> Option<Rc<Comm>> {
        table.find(|comm| comm.comm.context().to_bits() == context)
    }

    /// Processes that can be sent to: those of the remote group on an intercommunicator.
    #[inline]
    pub(crate) fn peer_size(&self) -> usize {
        self.comm.peers().size() as usize
    }

    /// Processes of this side.
    #[inline]
    pub(crate) fn local_size(&self) -> usize {
        self.comm.size() as usize
    }

    /// Neighbours that this process receives from, and that it sends to: none without a topology.
    pub(crate) fn indegree(&self) -> usize {
        self.comm.neighbors().map_or(0, |around| around.sources.len())
    }

    pub(crate) fn outdegree(&self) -> usize {
        self.comm.neighbors().map_or(0, |around| around.destinations.len())
    }

    /// The elements of a block for each neighbour that is sent to: none where there is none.
    pub(crate) fn blocks_out(&self, count: i64) -> i64 {
        if self.outdegree() == 0 { 0 } else { count }
    }

    /// The elements of a block of each neighbour that is received from: none where there is none.
    pub(crate) fn blocks_in(&self, count: i64) -> i64 {
        if self.indegree() == 0 { 0 } else { count }
    }

    /// Dimensions of its grid: none if it has another topology, or none.
    pub(crate) fn ndims(&self) -> usize {
        match self.comm.topology() {
            Some(Topology::Cart(cart)) => cart.dimensions(),
            _ => 0,
        }
    }

    /// Whether this process is the root of a collective. A root out of range is found out later.
    #[inline]
    pub(crate) fn is_root(&self, root: c_int) -> bool {
        if self.comm.is_inter() { root == MPI_ROOT } else { root as u32 == self.comm.rank() }
    }
}

/// A communicator for the time of a call.
pub(crate) struct CommRef {
    comm: ManuallyDrop<Rc<Comm>>,
    /// It has its part of the count.
    counted: bool,
}

impl CommRef {
    /// # Safety
    /// The communicator lives at least as long.
    #[inline(always)]
    unsafe fn uncounted(comm: &Rc<Comm>) -> CommRef {
        // SAFETY: a copy that is never dropped, and the caller's promise.
        let comm = unsafe { ptr::read(comm) };
        CommRef { comm: ManuallyDrop::new(comm), counted: false }
    }
}

impl Deref for CommRef {
    type Target = Rc<Comm>;

    #[inline(always)]
    fn deref(&self) -> &Rc<Comm> {
        &self.comm
    }
}

impl Drop for CommRef {
    #[inline(always)]
    fn drop(&mut self) {
        if self.counted {
            // SAFETY: once, and not used any more.
            unsafe { ManuallyDrop::drop(&mut self.comm) };
        }
    }
}

/// The communicators of a process.
pub(crate) struct Comms {
    world: OnceCell<Rc<Comm>>,
    own: OnceCell<Rc<Comm>>,
    local: OnceCell<Rc<Comm>>,
    derived: Table<Rc<Comm>>,
}

impl Comms {
    pub(crate) const fn new() -> Self {
        Self {
            world: OnceCell::new(),
            own: OnceCell::new(),
            local: OnceCell::new(),
            derived: Table::new(Kind::Comm),
        }
    }

    /// Brings the predefined communicators to life.
    pub(crate) fn begin(&self, world: Comm, own: Comm, local: Comm) {
        for (cell, comm, handle, name) in [
            (&self.world, world, MPI_COMM_WORLD, "MPI_COMM_WORLD"),
            (&self.own, own, MPI_COMM_SELF, "MPI_COMM_SELF"),
            (&self.local, local, MPIX_COMM_LOCAL, "MPIX_COMM_LOCAL"),
        ] {
            comm.handle.set(handle);
            *comm.name.borrow_mut() = name.to_owned();
            let _ = cell.set(Rc::new(comm));
        }
    }

    #[inline]
    pub(crate) fn get(&self, handle: MPI_Comm) -> Option<Rc<Comm>> {
        self.predefined(handle).cloned().or_else(|| self.derived.get(handle.0))
    }

    #[inline(always)]
    fn predefined(&self, handle: MPI_Comm) -> Option<&Rc<Comm>> {
        match handle {
            MPI_COMM_WORLD => self.world.get(),
            MPI_COMM_SELF => self.own.get(),
            MPIX_COMM_LOCAL => self.local.get(),
            _ => None,
        }
    }

    /// The same for the time of a call that runs no code of the program's.
    #[inline(always)]
    pub(crate) fn look(&self, handle: MPI_Comm) -> Option<&Comm> {
        if handle == MPI_COMM_WORLD {
            return self.world.get().map(|world| &**world);
        }
        self.look_further(handle)
    }

    #[inline(never)]
    fn look_further(&self, handle: MPI_Comm) -> Option<&Comm> {
        let found = match self.predefined(handle) {
            Some(comm) => Some(comm),
            None => self.derived.look(handle.0),
        };
        found.map(|comm| &**comm)
    }

    /// The same for a call in this lane.
    #[inline(always)]
    pub(crate) fn of_call(&self, handle: MPI_Comm, lane: u32) -> Option<CommRef> {
        match self.predefined(handle) {
            // SAFETY: it lives as long as the process, and so longer than the call.
            Some(comm) => Some(unsafe { CommRef::uncounted(comm) }),
            None => self.derived_of_call(handle, lane),
        }
    }

    #[inline(never)]
    fn derived_of_call(&self, handle: MPI_Comm, lane: u32) -> Option<CommRef> {
        self.derived.with(handle.0, |comm| {
            if comm.comm.lane() == lane {
                CommRef { comm: ManuallyDrop::new(Rc::clone(comm)), counted: true }
            } else {
                // Its count is for threads in its own lane.
                // SAFETY: the program promises that the communicator is not freed during the call.
                unsafe { CommRef::uncounted(comm) }
            }
        })
    }

    /// The communicator whose messages have this context.
    pub(crate) fn of_context(&self, context: u32) -> Option<Rc<Comm>> {
        let of = |comm: &&Rc<Comm>| comm.comm.context().to_bits() == context;
        let mut predefined = [&self.world, &self.own, &self.local].into_iter().filter_map(OnceCell::get);
        predefined.find(of).cloned().or_else(|| Comm::of_context(&self.derived, context))
    }

    pub(crate) fn insert(&self, comm: Comm) -> MPI_Comm {
        MPI_Comm(comm.store(&self.derived))
    }

    /// The predefined ones stay.
    pub(crate) fn remove(&self, handle: MPI_Comm) -> Option<Rc<Comm>> {
        self.derived.remove(handle.0)
    }

    /// All that have not been freed.
    pub(crate) fn alive(&self) -> Vec<Rc<Comm>> {
        let predefined = [&self.world, &self.own, &self.local].into_iter().filter_map(OnceCell::get);
        predefined.cloned().chain(self.derived.all(|_| true)).collect()
    }

    pub(crate) fn table(&self) -> &Table<Rc<Comm>> {
        &self.derived
    }
}

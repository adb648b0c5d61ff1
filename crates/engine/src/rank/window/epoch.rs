//! Which epoch is open at this rank, as origin and as target (MPI section 12.5): a state word, looked at by every operation.

use alloc::vec::Vec;
use core::cell::{Cell, RefCell};

use crate::values::error::{Error, Result};
use crate::values::request::RequestId;

/// The epochs of a window at this rank.
pub(super) struct Epochs {
    pub access: Cell<Access>,
    /// All members may be accessed.
    all: Cell<bool>,
    /// Something was accessed since the last fence.
    used: Cell<bool>,
    /// Members that are locked.
    pub locks: Cell<u32>,
    /// Members that the epoch was started with.
    pub started: RefCell<Vec<u32>>,
    /// While memory of this rank is exposed: what ends that.
    pub exposure: RefCell<Option<Exposure>>,
    /// Fences that this rank has come to.
    pub fences: Cell<u32>,
}

/// What ends the exposure of memory.
#[derive(Debug)]
pub(super) enum Exposure {
    /// Notices of these members.
    Notices(Vec<u32>),
    /// These messages, where members share no memory.
    Messages(Vec<RequestId>),
}

/// What this rank may access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Access {
    Nothing,
    /// All, since a fence.
    Fenced,
    /// Those that it has started with.
    Started,
    /// Those that it has locked.
    Locked,
    /// All, which it has locked.
    LockedAll {
        unchecked: bool,
    },
}

/// How one member may be accessed, if not all are.
pub(super) struct Open(Cell<Way>);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Way {
    Closed,
    Started,
    Shared,
    Exclusive,
    /// Locked without a lock: the program says that there is nobody else.
    Unchecked,
}

impl Open {
    pub fn closed() -> Open {
        Open(Cell::new(Way::Closed))
    }

    pub fn way(&self) -> Way {
        self.0.get()
    }

    pub fn set(&self, way: Way) {
        self.0.set(way);
    }
}

impl Epochs {
    pub fn new() -> Epochs {
        Epochs {
            access: Cell::new(Access::Nothing),
            all: Cell::new(false),
            used: Cell::new(false),
            locks: Cell::new(0),
            started: RefCell::default(),
            exposure: RefCell::default(),
            fences: Cell::new(0),
        }
    }

    /// Whether a member may be accessed, which then was.
    #[inline]
    pub fn allows(&self, member: &Open) -> bool {
        self.used.set(true);
        self.all.get() || member.way() != Way::Closed
    }

    /// A new state, in which nothing was accessed yet.
    pub fn enter(&self, access: Access) {
        self.access.set(access);
        self.all.set(matches!(access, Access::Fenced | Access::LockedAll { .. }));
        self.used.set(false);
    }

    /// An error unless a new epoch can begin: there is none, or one that a fence has begun and that nothing was done in.
    pub fn may_begin(&self) -> Result<()> {
        match self.access.get() {
            Access::Nothing => Ok(()),
            Access::Fenced if !self.used.get() => Ok(()),
            Access::Fenced => Err(Error::Epoch {
                reason: "the window was accessed since MPI_Win_fence, expected another fence before another kind of epoch",
            }),
            Access::Started => Err(Error::Epoch {
                reason: "an epoch of MPI_Win_start is open, expected MPI_Win_complete first",
            }),
            Access::Locked | Access::LockedAll { .. } => Err(Error::Epoch {
                reason: "the window is locked, expected MPI_Win_unlock or MPI_Win_unlock_all first",
            }),
        }
    }

    /// An error if memory of this rank is exposed to those that MPI_Win_post names.
    pub fn is_not_exposed(&self) -> Result<()> {
        if self.exposure.borrow().is_none() {
            return Ok(());
        }
        Err(Error::Epoch { reason: "an epoch of MPI_Win_post is open, expected MPI_Win_wait first" })
    }

    /// An error unless the window is locked.
    #[inline]
    pub fn is_passive(&self) -> Result<()> {
        match self.access.get() {
            Access::Locked | Access::LockedAll { .. } => Ok(()),
            _ => Err(Error::Epoch {
                reason: "the window is not locked, expected a call of MPI_Win_lock or MPI_Win_lock_all before",
            }),
        }
    }
}

#[cold]
pub(super) fn closed() -> Error {
    Error::Epoch {
        reason: "no epoch is open in which this target may be accessed, expected a call of MPI_Win_fence, MPI_Win_start, \
                 MPI_Win_lock or MPI_Win_lock_all before",
    }
}

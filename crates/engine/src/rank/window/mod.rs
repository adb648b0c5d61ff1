//! Windows (MPI chapter 12): memory that members of a communicator let each other reach.
//!
//! A [`Window`] is a table of its members, with the way to the memory of each, chosen once when the window is made: *near* memory, which this rank addresses (that of
//! threads and fibers, and what the library has allocated for all), is reached by loads, stores and atomic operations of the caller's; *far* memory through
//! the fabric's portal. Neither needs a word of the target's, so a target that computes delays nobody, and an operation is complete when its call returns:
//! what remains of synchronisation is who may begin (`lock`, `synchronise`).
//!
//! | room | subject |
//! | --- | --- |
//! | `create` | the members tell each other what they bring, and share the ground that the window needs |
//! | `mapped` | created windows over memory that the members can map, so that it is near |
//! | `epoch` | which epoch is open, and what may be done in it |
//! | `lock` | passive targets: locks and flushes |
//! | `synchronise` | active targets: fence, post, start, complete, wait |
//! | `transfer` | put and get |
//! | `at_once` | what most operations on near memory come to |
//! | `observe` | what is told of all this to whoever watches |
//! | `accumulate` | what must not be torn by others who do the same |
//! | `errand` | short operations that a target does itself, if it waits anyway |
//! | `block` | blocks of arrays that move while the rank goes on |
//! | `letters` | how data is reached that is not near, through the portal or by asking |
//! | `far` | all that where members share no memory, on ground of another kind |

mod accumulate;
mod at_once;
mod block;
mod create;
mod epoch;
mod errand;
mod far;
mod letters;
mod lock;
mod mapped;
mod observe;
mod synchronise;
mod together;
mod transfer;

use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::vec::Vec;
use core::cell::{Cell, RefCell};
use core::sync::atomic::{AtomicU32, Ordering};

use fabric::{Key, PortalError, Ticket};

use crate::lane::services::Service;
use crate::rank::Rank;
use crate::values::comm::Comm;
use crate::values::datatype::Datatype;
use crate::values::error::{Error, Result};
use crate::values::memory::desk::Desk;
use crate::values::memory::far_ground::FarGround;
use crate::values::memory::ground::Ground;
use crate::values::memory::place::{Near, Place};

use block::UnderWay;
pub use create::Backing;
use epoch::{Epochs, Open};

/// Memory that the members of a communicator let each other reach. Freed by [`Rank::free_window`].
pub struct Window {
    /// The members, in a communicator that nobody else speaks through.
    comm: Comm,
    targets: Box<[Target]>,
    epochs: Epochs,
    /// Integers are accumulated by the processor's atomic operations, since every member has all memory near.
    by_words: bool,
    /// Every member has a core of its own: what members choose by that, all must choose alike.
    own_cores: bool,
    /// Memory is attached, and displacements are addresses.
    is_dynamic: bool,
    /// What the members share, by which they take locks.
    ground: Option<Ground>,
    /// Memory of other members' own that this one has mapped to have it near.
    mapped: Box<[Key]>,
    /// Where members can be asked to do something with memory that others reach only through the system; none if there is no such memory.
    desks: Box<[Desk]>,
    /// This rank at its own desk, if it has one.
    clerk: Option<Rc<dyn Service>>,
    /// What they have instead where they share nothing.
    far: Option<FarGround>,
    /// Blocks that may be under way, and whether there are any.
    under_way: RefCell<Vec<UnderWay>>,
    has_under_way: Cell<bool>,
    /// Exchanged where memory must be in order for all.
    order: AtomicU32,
    /// This rank has stored something since then that others may not see yet.
    stored: Cell<bool>,
    /// Calls that might be looks at memory which another is to change.
    looks: Cell<u32>,
}

/// The processor's atomic operations are in order with all that comes before and after them, so what was changed by them alone is in order already.
const ATOMICS_ARE_IN_ORDER: bool = cfg!(target_arch = "x86_64");

/// A member.
struct Target {
    /// Where its memory lies, if it is near.
    base: *mut u8,
    is_near: bool,
    open: Open,
    size: u64,
    /// Bytes of a displacement.
    unit: u64,
    /// Of its memory, if that is far.
    key: Key,
    /// No portal reaches it.
    by_letters: bool,
}

/// What an operation is about at its target.
#[derive(Clone, Copy, Debug)]
pub struct Aim<'a> {
    /// The member.
    pub target: u32,
    /// Where the data lies, in the target's units of displacement.
    pub displacement: i64,
    /// How many elements there are.
    pub count: u64,
    /// Of which type.
    pub datatype: &'a Datatype,
}

impl Aim<'_> {
    #[inline]
    fn bytes(&self) -> u64 {
        self.count.saturating_mul(self.datatype.size())
    }
}

impl Target {
    /// The place of some bytes in one piece, if they are near and in the window.
    #[inline]
    fn near(&self, displacement: i64, bytes: u64) -> Option<Near> {
        // A negative displacement is a large one, and no window has as many bytes.
        let offset = (displacement as u64).checked_mul(self.unit)?;
        let is_inside = offset.checked_add(bytes)? <= self.size && self.is_near;
        is_inside.then(|| Near(self.base.wrapping_add(offset as usize)))
    }
}

impl Window {
    /// Its members.
    pub fn comm(&self) -> &Comm {
        &self.comm
    }

    /// Where this rank has the memory of a member, how many bytes that is, and how many of them a displacement is; `None` if it does not have it.
    pub fn memory_of(&self, member: u32) -> Option<(*mut u8, u64, u64)> {
        let target = &self.targets[member as usize];
        let is_here = target.is_near || self.far.as_ref().is_some_and(|far| far.shares(member));
        (is_here && !self.is_dynamic).then_some((target.base, target.size, target.unit))
    }

    /// The member that an operation is about, in an epoch in which that may be.
    #[inline]
    fn target(&self, member: u32) -> Result<&Target> {
        let target = &self.targets[member as usize];
        if self.epochs.allows(&target.open) { Ok(target) } else { Err(epoch::closed()) }
    }

    /// Where the data of an operation lies that has so many elements.
    fn place(&self, rank: &Rank, aim: &Aim<'_>, count: u64) -> Result<Place> {
        let target = &self.targets[aim.target as usize];
        // Wider than addresses: nothing that a program says may look as if it fitted.
        let layout = aim.datatype.layout();
        let offset = i128::from(aim.displacement) * i128::from(target.unit);
        let last = i128::from(count.saturating_sub(1)) * i128::from(layout.extent());
        let first = offset + i128::from(layout.true_lower_bound()) + last.min(0);
        let end = offset + i128::from(layout.true_upper_bound()) + last.max(0);
        let clipped = |at: i128| at.clamp(i64::MIN.into(), i64::MAX.into()) as i64;
        let outside =
            |size| Error::WindowRange { target: aim.target, first: clipped(first), end: clipped(end), size };
        if self.is_dynamic {
            let address = |at: i128| u64::try_from(at).map_err(|_| outside(None));
            let (first, end) = (address(first)?, address(end)?);
            let found = match &self.ground {
                Some(ground) => ground.attachment(aim.target, first, end),
                None => rank.far_attachment(self, aim.target, (first, end))?,
            };
            let found = found.ok_or_else(|| outside(None))?;
            return Ok(if target.is_near {
                Place::Near(Near(core::ptr::with_exposed_provenance_mut(aim.displacement as usize)))
            } else if target.by_letters {
                Place::Asked(self.comm.node(aim.target), aim.displacement as u64)
            } else {
                Place::Far(self.comm.node(aim.target), found.1, (offset - i128::from(found.0)) as i64)
            });
        }
        if aim.displacement < 0 {
            return Err(Error::Displacement { given: aim.displacement });
        }
        if first < 0 || end > i128::from(target.size) {
            return Err(outside(Some(target.size)));
        }
        Ok(if target.is_near {
            Place::Near(Near(target.base.wrapping_offset(offset as isize)))
        } else if target.by_letters {
            Place::Asked(self.comm.node(aim.target), (target.base.addr() as u64).wrapping_add(offset as u64))
        } else {
            Place::Far(self.comm.node(aim.target), target.key, offset as i64)
        })
    }

    /// What this rank has done is done for everybody, and what it does from now on comes after it.
    #[inline]
    fn set_in_order(&self) {
        // As good as a fence, and cheaper on the machines of today.
        self.order.swap(0, Ordering::SeqCst);
    }

    /// Why a transfer failed.
    #[cold]
    fn failed(&self, target: u32, error: PortalError) -> Error {
        let node = self.comm.node(target).0;
        match error {
            PortalError::PeerLost => Error::PeerLost { node },
            PortalError::LocalMemory => {
                Error::Buffer { reason: "the data at the origin has memory that cannot be used" }
            }
            PortalError::PeerMemory => {
                Error::WindowReach { target, reason: "the window has memory that cannot be used" }
            }
            PortalError::Exhausted => {
                Error::WindowReach { target, reason: "the system has no memory for the transfer" }
            }
            _ => Error::WindowReach { target, reason: "the system refuses the transfer" },
        }
    }
}

impl Rank {
    /// Waits for a transfer, where the fabric has not done it yet.
    fn settle(&self, ticket: Ticket) -> core::result::Result<(), PortalError> {
        if ticket == Ticket::DONE {
            return Ok(());
        }
        let mut result = Ok(());
        let waited = self.lane.wait_for_memory(&mut || {
            let done = self.fabric().done(ticket);
            result = done.map(|_| ());
            !matches!(done, Ok(false))
        });
        waited.map_err(|_| PortalError::PeerLost)?;
        result
    }
}

impl core::fmt::Debug for Window {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "a window of {} members", self.targets.len())
    }
}

//! The memory that the members of a window share (MPI chapter 12): a control block for each, by which they take locks without a word to each other; what they
//! tell each other; for windows without memory of their own, what is attached to them; and the memory itself, where the library allocates it.
//!
//! ```text
//! | control of 0 | control of 1 | ... | notices of 0 | ... | attachments of 0 | ... | segment of 0 | ... |
//! ```
//!
//! **Invariant:** the memory is mapped from the window's creation until all members have come to free it, so whoever holds a [`Ground`] may use it; whatever
//! several write at once is an atomic.

use core::ptr;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use fabric::{Fabric, Key, PortalError};

use super::desk::Desk;
use crate::values::datatype::{Basic, Datatype};
use crate::values::memory::Region;

/// What others change at one member of a window: all zero at first.
#[repr(C, align(128))]
#[derive(Debug)]
pub(crate) struct Control {
    /// The lock of the member's memory (see [`words`](super::words), as for the others).
    pub lock: AtomicU64,
    /// At the first member, for all: the lock of the window.
    pub all: AtomicU64,
    /// Taken while somebody accumulates at this member by other means than the processor's atomic operations, which then nobody uses there.
    pub accumulating: AtomicU32,
    /// How many entries of the member's attachments are in use, or were.
    pub attachments: AtomicU32,
    _apart: [u32; 10],
    /// This member is changing words somewhere by atomic operations. On a line of its own, which as a rule no other touches.
    pub busy: AtomicU32,
}

const _: () = assert!(size_of::<Control>() == 128);

/// What other members tell one of them in epochs of active targets: all zero at first. Two rows of bits follow, one bit a member: those who have exposed their
/// memory to this one, and those who are done with this one's.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Notices {
    /// The member sleeps until it is told something, or is about to.
    pub sleeps: AtomicU32,
    /// Of fences: how many the member has come to that tells this one in that round.
    pub fences: [AtomicU32; ROUNDS],
}

/// Rounds of a fence, each of which reaches twice as many members: more than there are numbers for them.
const ROUNDS: usize = 33;

/// One of the rows of bits behind the notices of a member.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Row {
    Posted = 0,
    Completed = 1,
}

/// A region that a member has attached; none if it has no bytes.
#[repr(C)]
#[derive(Debug)]
struct Attachment {
    base: AtomicU64,
    bytes: AtomicU64,
    key: [AtomicU64; 4],
}

const _: () = assert!(size_of::<Attachment>() == 48);
const _: () = assert!(size_of::<Notices>().is_multiple_of(size_of::<u64>()));

/// Regions that a member can have attached at a time. Memory is used for those that are.
pub(crate) const ATTACHMENTS: usize = 8192;

/// Where a segment begins that need not follow another: at a page.
const APART: usize = 4096;

/// Members that write to different lines do not take them from each other: a line, and the one that is fetched with it.
const LINE: usize = 128;

/// How the members' memory lies in the ground.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub members: usize,
    pub has_attachments: bool,
    /// Segments follow each other without gaps (MPI section 12.2.3).
    pub is_contiguous: bool,
}

impl Plan {
    /// Bytes in front of the segments.
    fn front(&self) -> usize {
        let attachments = if self.has_attachments { ATTACHMENTS * size_of::<Attachment>() } else { 0 };
        (self.members * (size_of::<Control>() + self.notices() + attachments)).next_multiple_of(APART)
    }

    /// Bytes of the notices of a member, which begin at a line of their own.
    fn notices(&self) -> usize {
        (size_of::<Notices>() + 2 * self.row() * size_of::<u64>()).next_multiple_of(LINE)
    }

    /// Words of a row of bits.
    fn row(&self) -> usize {
        self.members.div_ceil(64)
    }

    /// Where each member's segment begins, and where the last one ends; `None` if that is no number.
    pub fn segments(&self, sizes: impl Iterator<Item = u64>, mut each: impl FnMut(usize)) -> Option<usize> {
        let mut at = self.front();
        for size in sizes {
            each(at);
            at = at.checked_add(usize::try_from(size).ok()?).filter(|end| *end <= isize::MAX as usize / 2)?;
            if !self.is_contiguous {
                at = at.next_multiple_of(APART);
            }
        }
        Some(at)
    }
}

/// The memory, as this rank has it.
#[derive(Clone, Debug)]
pub(crate) struct Ground {
    base: *mut u8,
    key: Key,
    plan: Plan,
}

impl Ground {
    /// Memory for all members, which one of them allocates.
    pub fn allocate(fabric: &dyn Fabric, bytes: usize) -> Result<Key, PortalError> {
        fabric.allocate_shared(bytes).map(|shared| shared.key)
    }

    /// The same memory at every member.
    pub fn attach(fabric: &dyn Fabric, key: Key, plan: Plan) -> Result<Ground, PortalError> {
        let base = fabric.attach_shared(&key)?;
        Ok(Ground { base, key, plan })
    }

    /// Gives memory up that nobody uses any more: the members have said so to each other.
    pub fn release(fabric: &dyn Fabric, key: &Key) {
        // SAFETY: as said.
        unsafe { fabric.release_shared(key) };
    }

    pub fn key(&self) -> &Key {
        &self.key
    }

    /// What others change at a member.
    #[inline]
    pub fn control(&self, member: u32) -> &Control {
        assert!((member as usize) < self.plan.members);
        // SAFETY: the ground begins with as many, at a page; zero bytes are one, and all its parts are atomics.
        unsafe { &*self.base.cast::<Control>().add(member as usize) }
    }

    /// What others tell a member.
    #[inline]
    pub fn notices(&self, member: u32) -> &Notices {
        // SAFETY: as for `control`; one for each member, at a line.
        unsafe { &*self.notices_at(member).cast() }
    }

    #[inline]
    fn notices_at(&self, member: u32) -> *mut u8 {
        assert!((member as usize) < self.plan.members);
        let first = self.plan.members * size_of::<Control>();
        self.base.wrapping_add(first + member as usize * self.plan.notices())
    }

    /// The word of a member's row that has the bit of another, and that bit.
    #[inline]
    pub fn bit(&self, member: u32, row: Row, of: u32) -> (&AtomicU64, u64) {
        assert!((of as usize) < self.plan.members);
        let place = row as usize * self.plan.row() + of as usize / 64;
        // SAFETY: as for `control`; the rows lie behind the notices, whose size is a multiple of that of a word.
        let word =
            unsafe { &*self.notices_at(member).add(size_of::<Notices>()).cast::<AtomicU64>().add(place) };
        (word, 1 << (of % 64))
    }

    /// The desk in a segment that has the room for one.
    pub fn desk(&self, at: usize) -> Desk {
        // SAFETY: the segment begins at a page and is zero at first; whoever plans it as a desk has no other use for it.
        unsafe { Desk::at(self.base.add(at)) }
    }

    /// Where a segment begins, as [`Plan::segments`] tells.
    pub fn segment(&self, at: usize) -> *mut u8 {
        self.base.wrapping_add(at)
    }

    fn attachments(&self, member: u32) -> &[Attachment] {
        assert!((member as usize) < self.plan.members && self.plan.has_attachments);
        let first = self.plan.members * (size_of::<Control>() + self.plan.notices());
        // SAFETY: as for `control`; the tables lie behind the notices, one for each member.
        unsafe {
            let tables = self.base.add(first).cast::<Attachment>();
            core::slice::from_raw_parts(tables.add(member as usize * ATTACHMENTS), ATTACHMENTS)
        }
    }

    /// Tells the members of a region that this one, `me`, has attached. False if it has too many.
    pub fn add_attachment(&self, me: u32, base: u64, bytes: u64, key: &Key) -> bool {
        let (table, used) = (self.attachments(me), &self.control(me).attachments);
        let is_free = |entry: &Attachment| entry.bytes.load(Ordering::Relaxed) == 0;
        let Some(place) = table.iter().position(is_free) else { return false };
        let entry = &table[place];
        for (word, value) in entry.key.iter().zip(key.0) {
            word.store(value, Ordering::Relaxed);
        }
        entry.base.store(base, Ordering::Relaxed);
        entry.bytes.store(bytes, Ordering::Release);
        used.fetch_max(place as u32 + 1, Ordering::Release);
        true
    }

    /// The region that this member has told of is no more.
    pub fn remove_attachment(&self, me: u32, base: u64, bytes: u64) {
        for entry in self.attachments(me) {
            if entry.bytes.load(Ordering::Relaxed) == bytes && entry.base.load(Ordering::Relaxed) == base {
                entry.bytes.store(0, Ordering::Release);
                return;
            }
        }
    }

    /// The region of a member that holds the bytes between two addresses: where it begins, and its key.
    pub fn attachment(&self, member: u32, first: u64, end: u64) -> Option<(u64, Key)> {
        let used = self.control(member).attachments.load(Ordering::Acquire) as usize;
        self.attachments(member).iter().take(used).find_map(|entry| {
            let bytes = entry.bytes.load(Ordering::Acquire);
            let base = entry.base.load(Ordering::Relaxed);
            let holds = bytes > 0 && base <= first && end - base <= bytes;
            holds.then(|| (base, Key(core::array::from_fn(|word| entry.key[word].load(Ordering::Relaxed)))))
        })
    }
}

/// Memory of this rank that a window is to let its members reach.
#[derive(Clone, Copy, Debug)]
pub struct Exposed {
    base: *mut u8,
    bytes: usize,
}

impl Exposed {
    /// # Safety
    /// Until the window is freed, or the memory detached from it, the bytes stay readable and writable, and the program keeps to MPI section 12.7 in what it
    /// does with them. `base` may be anything if there are none.
    pub unsafe fn new(base: *mut u8, bytes: usize) -> Exposed {
        Exposed { base, bytes }
    }

    /// None.
    pub fn nothing() -> Exposed {
        Exposed { base: ptr::null_mut(), bytes: 0 }
    }

    /// Where it begins.
    pub fn base(&self) -> *mut u8 {
        self.base
    }

    /// How long it is.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// A part of it, by its address.
    pub(crate) fn part(&self, address: u64, bytes: u64) -> Option<Region> {
        let offset = address.checked_sub(self.base.expose_provenance() as u64)?;
        let is_inside = offset.checked_add(bytes)? <= self.bytes as u64;
        let base = self.base.wrapping_add(offset as usize);
        is_inside.then(|| Region::at(base, bytes, &Datatype::basic(Basic::Byte)))
    }

    /// Makes it reachable for all members.
    pub(crate) fn expose(&self, fabric: &dyn Fabric) -> Result<Key, PortalError> {
        // SAFETY: the constructor's contract.
        unsafe { fabric.expose(fabric::Region::host(self.base, self.bytes), fabric::Audience::All) }
    }

    /// The same, if it was allocated to be shared.
    pub(crate) fn expose_shared(&self, fabric: &dyn Fabric) -> Result<Key, PortalError> {
        // SAFETY: the constructor's contract.
        unsafe { fabric.expose(fabric::Region::shared(self.base, self.bytes), fabric::Audience::All) }
    }
}
